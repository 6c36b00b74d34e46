//! Any body to the real functions over an emulator: never a 5xx, every signal counted once, nothing that the parser
//! accepted refused by the database, and as much stored as was acknowledged. The first byte says which endpoint.

use super::on_app;
use crate::RequestBuilder;

/// Tries one input.
pub(super) fn check(input: &[u8]) {
    on_app(async |app, number| {
        let account = format!("account-{number}");
        let key = app.key(&account).await;
        let (endpoint, body) = input.split_first().map_or((0, input), |(first, rest)| (first % 3, rest));
        let call = match endpoint {
            0 => RequestBuilder::signals(""),
            1 => RequestBuilder::customer(""),
            _ => RequestBuilder::customer("").method("PATCH"),
        };
        let answer = app.send(call.key(&key).bytes(body)).await;
        assert!(answer.status < 500, "{}", answer.text);
        assert!(!answer.text.contains("refused-by-store"), "{}", answer.text);
        let json = answer.json();
        let count = |name: &str| json[name].as_u64();
        if let Some(received) = count("received") {
            assert_eq!(count("accepted").zip(count("rejected")).map(|(one, other)| one + other), Some(received));
            let items = app.items("SignalsTable").await;
            let stored = items.iter().filter(|item| item["accountId"].as_s().is_ok_and(|id| *id == account)).count();
            assert_eq!(Some(stored as u64), count("accepted"));
        }
    });
}
