//! The events in events/, as `cargo lambda invoke` sends them: each is answered as its name says.

use std::path::Path;

use dev::development_key;
use lambda_http::RequestExt as _;
use lambda_http::request::from_str;
use testkit::{RequestBuilder, TestApp, read_event};

#[tokio::test]
async fn sample_events_get_their_documented_responses() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../events");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // The sample data in events/seed is for `cargo intake import`, whose tests read it.
        if path.is_dir() {
            continue;
        }
        let event = std::fs::read_to_string(&path).unwrap();
        let stack = TestApp::start();
        development_key::load(&stack.emulator, testkit::template()).unwrap();
        let call = RequestBuilder::from_event(&event);
        assert_read_as_lambda_http_does(&event);
        let function = if call.is_for_signals() { "signals" } else { "customers" };
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.starts_with(function), "{name} is for {function}");
        let answer = stack.send(call).await;
        let expected = if name.ends_with("-preflight.json") { 204 } else { 200 };
        assert_eq!(answer.status, expected, "{name}: {}", answer.text);
        seen += 1;
    }
    assert!(seen >= 6, "only {seen} events");
}

/// Its query string and its other extensions are for nobody.
fn assert_read_as_lambda_http_does(event: &str) {
    let (ours, theirs) = (read_event(event.as_bytes(), "i1".to_owned()), from_str(event).unwrap());
    assert_eq!((ours.method(), ours.raw_http_path()), (theirs.method(), theirs.raw_http_path()));
    assert_eq!(ours.headers(), theirs.headers());
    assert_eq!(ours.body(), theirs.body());
}
