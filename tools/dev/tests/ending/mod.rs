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

        // Every child process inherits standard error, so it is closed when the last of them has ended.
        let ended = running.end();
        assert!(ended.status.success(), "{}", ended.stderr);
        assert!(ended.stderr.ends_with("Stopped.\n"), "{}", ended.stderr);
    }
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
