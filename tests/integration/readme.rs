//! README.md shows the response that its request gets.

use emulator::development_key;
use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::Value;

use crate::support::page::Page;

#[tokio::test]
async fn request_in_the_readme_gets_the_response_that_it_shows() {
    let readme = Page::read("README.md");
    let heading = "Send a first signal";
    let commands = readme.code(heading, "sh");
    let responses = readme.code(heading, "json");
    assert_eq!(responses.len(), 1);
    assert!(
        commands[0].starts_with(". target/dev.env;"),
        "the variables of the commands"
    );
    let stack = TestApp::start();
    development_key::load(&stack.emulator, harness::template()).unwrap();
    for (command, response) in commands.into_iter().zip(responses) {
        let body = command
            .split("-d '")
            .nth(1)
            .unwrap()
            .trim_end()
            .strip_suffix('\'')
            .unwrap();
        let path = command
            .split("curl -sS \"$BASE_URL")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        assert!(command.contains("-H \"Authorization: Bearer $API_KEY\""));
        let moment: Timestamp = "2026-11-20T22:33:44.123Z".parse().unwrap();
        let call = RequestBuilder::new("POST", path)
            .body(body)
            .key(development_key::API_KEY)
            .received_at(moment);
        let expected: Value = serde_json::from_str(response).unwrap();
        assert_eq!(stack.send(call).await.json(), expected);
    }
}
