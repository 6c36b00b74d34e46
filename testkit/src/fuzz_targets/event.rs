//! Any bytes as the event of an invocation: both functions answer with a response that is no 5xx and, unless it is a
//! success, a problem. The key of the examples in `events/` is valid.

use super::on_app;

/// Tries one input.
pub(super) fn check(event: &[u8]) {
    on_app(async |app, _| {
        for answer in app.invoke(event).await {
            assert!((200..500).contains(&answer.status), "{}", answer.text);
            assert!(!answer.header("x-request-id").is_empty());
            if answer.status >= 400 {
                let body = answer.json();
                answer.assert_problem(answer.status, body["code"].as_str().expect("a code"));
            }
        }
    });
}
