//! What `import` reads, and Ctrl-C while it reads.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::TestApp;

use crate::export::export;
use crate::operator::{Operator, press_ctrl_c};

/// Longer than any step takes, so that only a hang reaches it.
const TIMEOUT: Duration = Duration::from_mins(2);

#[tokio::test]
async fn array_and_gzip_are_errors_that_say_what_to_do() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    operator.file("array", "\u{feff}\n [\n{\"customerId\":\"ada\",\"eventType\":\"buy\"}\n]\n");
    std::fs::write(operator.home.path().join("s.gz"), [0x1f, 0x8b, 8, 0, 0, b'\n', 0, 0]).unwrap();
    let import = |file, more: &[&str]| operator.run(&[&["import", "--account", "shop", file], more].concat());
    let array = "array is an array, and an import reads one JSON object a line. Convert it: \
        `jq -c '.[]' FILE | cargo intake import ... -`.";
    let gzip = "s.gz is gzip. Unpack it: `gunzip -c FILE | cargo intake import ... -`.";
    for more in [&[][..], &["--kind", "signals"]] {
        assert_eq!(import("array", more).error_message(), array);
        assert_eq!(import("s.gz", more).error_message(), gzip);
    }
    let piped = operator.run_with(&["import", "--account", "shop", "-"], "[]\n").error_message();
    assert_eq!(piped, array.replace("array is", "standard input is"));
    assert!(!operator.home.path().join("array.import.json").exists());
}

#[tokio::test]
async fn standard_input_is_imported_without_a_checkpoint() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let input = export(1_200) + "\n\nx\n";
    let done = operator.run_with(&["import", "--account", "shop", "-", "--json"], &input).success();
    let summary = done.json().remove(0);
    assert_eq!((summary["stored"].as_u64(), summary["rejected"].as_u64()), (Some(1_200), Some(1)));
    assert_eq!(app.items("SignalsTable").await.len(), 1_200);
    let files: Vec<_> =
        std::fs::read_dir(operator.home.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(files, [summary["errorFile"].as_str().unwrap()]);
    let errors = operator.read(summary["errorFile"].as_str().unwrap());
    assert_eq!(serde_json::from_str::<Value>(&errors).unwrap()["line"], 1_203);

    let customers = "{\"customerId\":\"ada\",\"customerData\":{}}\n";
    let done = operator.run_with(&["import", "--account", "shop", "-"], customers).success();
    assert_eq!(done.stdout, "1 customers stored, 0 lines rejected.\n");
    let broken = operator.variable("SIGNALS_TABLE", "none").run_with(&["import", "--account", "shop", "-"], &input);
    let how = "The first 0 lines are done; some of the next may be stored. To continue with the next: \
        tail -n +1 FILE | cargo intake import --account shop -\nerror: Table none: it does not exist";
    assert!(broken.code == Some(1) && broken.stderr.starts_with(how), "{broken:?}");
    let operator = Operator::of(&app);
    let empty = operator.run_with(&["import", "--account", "shop", "-"], "").error_message();
    assert!(empty.contains("the first line of standard input"), "{empty}");
}

/// Waits until `condition` holds.
async fn wait_until(process: &mut Child, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !condition().await {
        assert!(Instant::now() < deadline, "it does not come to that");
        assert!(process.try_wait().unwrap().is_none(), "the import ended too early");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The exit code, and what was written to standard error.
fn end(mut process: Child) -> (Option<i32>, String) {
    let mut stderr = String::new();
    process.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    (process.wait().unwrap().code(), stderr)
}

#[tokio::test]
async fn ctrl_c_stops_a_file_import_after_the_chunks_that_are_being_stored() {
    let (app, lines) = (TestApp::start(), 20_000);
    let operator = Operator::of(&app);
    operator.file("s.ndjson", &export(lines));
    let import = ["import", "--received-at", "7d", "--account", "shop", "s.ndjson"];
    let mut process = operator.command(&import).stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let checkpoint = || -> Value {
        let text = std::fs::read_to_string(operator.home.path().join("s.ndjson.import.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    };
    wait_until(&mut process, async || checkpoint()["position"]["line"].as_u64() > Some(0)).await;
    press_ctrl_c(&process);
    let (code, stderr) = end(process);
    let (done, state) = (checkpoint()["position"]["line"].as_u64().unwrap(), checkpoint());
    assert!(done < lines as u64 && state["done"] == false, "{state}");
    let command = "cargo intake import --account shop s.ndjson";
    let error = format!("error: The import was interrupted. {done} lines are done. To continue: {command}\n");
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("Storing the lines that were begun,") && stderr.ends_with(&error), "{stderr}");
    assert_eq!(app.items("SignalsTable").await.len() as u64, done);

    let words: Vec<_> = command.split(' ').skip(2).collect();
    assert_eq!(operator.run(&words).success().stdout, format!("{lines} signals stored, 0 lines rejected.\n"));
    assert_eq!(app.items("SignalsTable").await.len(), lines);
}

#[tokio::test]
async fn ctrl_c_stops_an_import_that_waits_for_standard_input() {
    let app = TestApp::start();
    let operator = Operator::of(&app);
    let mut command = operator.command(&["import", "--account", "shop", "-"]);
    let mut process = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(export(1_200).as_bytes()).unwrap();
    wait_until(&mut process, async || app.items("SignalsTable").await.len() == 1_000).await;
    press_ctrl_c(&process);
    let (code, stderr) = end(process);
    assert_eq!(code, Some(1));
    let how = "The first 1000 lines are done. To continue with the next: \
        tail -n +1001 FILE | cargo intake import --account shop -\n";
    assert!(stderr.ends_with(how), "{stderr}");
    assert_eq!(app.items("SignalsTable").await.len(), 1_000);
}

#[test]
fn second_ctrl_c_stops_an_import_at_once() {
    let dynamodb = TcpListener::bind("127.0.0.1:0").unwrap();
    let operator = Operator::with_credentials(&format!("http://{}", dynamodb.local_addr().unwrap()))
        .variable("CUSTOMERS_TABLE", "Customers");
    operator.file("c", "{\"customerId\":\"ada\",\"customerData\":{}}\n");
    let mut command = operator.command(&["import", "--account", "shop", "c"]);
    let mut process = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let _never_answered = dynamodb.accept().unwrap();
    press_ctrl_c(&process);
    let mut stderr = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("Press Ctrl-C again"), "{line}");
    press_ctrl_c(&process);
    line.clear();
    stderr.read_line(&mut line).unwrap();
    let error =
        "error: The import was interrupted. 0 lines are done. To continue: cargo intake import --account shop c\n";
    assert_eq!((line.as_str(), process.wait().unwrap().code()), (error, Some(1)));
}
