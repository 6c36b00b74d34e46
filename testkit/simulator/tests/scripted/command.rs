//! `cargo simulate` as a process: what it refuses before a run, and how it ends when its output is not
//! read.

use std::process::{Command, Output, Stdio};

fn simulate(arguments: &[&str], stdout: impl Into<Stdio>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_simulate"));
    command
        .args(arguments)
        .stdout(stdout)
        .stderr(Stdio::piped());
    command.spawn().unwrap().wait_with_output().unwrap()
}

/// Checks that these options are an error with this text, and that nothing ran.
#[track_caller]
fn assert_refused(arguments: &[&str], text: &str) {
    let ended = simulate(arguments, Stdio::piped());
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(text), "{stderr}");
    assert!(ended.stdout.is_empty());
}

#[test]
fn record_that_cannot_be_written_is_refused_before_the_run() {
    let folder = env!("CARGO_MANIFEST_DIR");
    assert_refused(&["--seed", "17", "--record", folder], "cannot be written");
}

#[test]
fn cut_that_leaves_out_nothing_is_refused_before_the_run() {
    for cut in ["client-999", "kills,rule-999"] {
        assert_refused(
            &["--seed", "17", "--without", cut],
            "-999 leaves out nothing",
        );
    }
}

#[test]
fn reader_that_has_left_ends_the_command_without_a_panic() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = simulate(&["--seed", "17"], writer);
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(141), "{stderr}");
    assert_eq!(stderr, "");
}
