//! How `cargo dev` ends: with every process that it started.

use crate::sandbox::Sandbox;

#[test]
fn sigint_or_sigterm_ends_every_process() {
    for signal in ["INT", "TERM"] {
        let sandbox = Sandbox::new();
        sandbox.function("trap '' INT TERM; touch running; exec sleep 600");
        let running = sandbox.start(&[]);
        sandbox.wait_for("running");
        running.signal(signal);

        // Every child process inherits standard error, so it is closed when the last of them has
        // ended.
        let ended = running.end();
        assert!(ended.status.success(), "{}", ended.stderr);
        assert!(ended.stderr.ends_with("Stopped.\n"), "{}", ended.stderr);
    }
}

#[test]
fn function_is_asked_to_end_while_its_dynamodb_answers() {
    let sandbox = Sandbox::new();
    let asked = "trap 'bash -c \"exec 3<>/dev/tcp/${AWS_ENDPOINT_URL_DYNAMODB#http://}\" && touch in_order; exit' TERM";
    let asked = asked.replace(
        "${AWS_ENDPOINT_URL_DYNAMODB#http://}",
        "$(echo ${AWS_ENDPOINT_URL_DYNAMODB#http://} | tr : /)",
    );
    sandbox.function(&format!(
        "{asked}; touch running; while :; do sleep 0.05; done"
    ));
    let running = sandbox.start(&[]);
    sandbox.wait_for("running");
    running.signal("INT");
    assert!(running.end().stderr.ends_with("Stopped.\n"));
    assert!(sandbox.exists("in_order"));
}

#[test]
fn sigterm_during_the_build_ends_it() {
    let sandbox = Sandbox::new();
    sandbox.append(
        "functions/customers/build.rs",
        "fn main() { std::fs::write(\"../../running\", \"\").unwrap(); loop { std::thread::park(); } }",
    );
    let running = sandbox.start(&[]);
    sandbox.wait_for("running");
    running.signal("TERM");

    assert!(running.end().stderr.ends_with("Stopped.\n"));
}
