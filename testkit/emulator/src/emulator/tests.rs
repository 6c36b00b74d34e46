use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;

use serde_json::json;
use tokio::sync::mpsc;

use super::{Emulator, Storage};
use crate::Template;

/// The size of a page of the database, in bytes.
const FIRST_PAGE: u64 = 4096;

const TEMPLATE: &str = "
Resources:
  ApiKeysTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: keyHash, AttributeType: S}]
      KeySchema: [{AttributeName: keyHash, KeyType: HASH}]
  SignalsTable:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{AttributeName: pk, AttributeType: S}, {AttributeName: sk, AttributeType: S}]
      KeySchema: [{AttributeName: pk, KeyType: HASH}, {AttributeName: sk, KeyType: RANGE}]
      StreamSpecification: {StreamViewType: NEW_IMAGE}
      TimeToLiveSpecification: {AttributeName: expiresAt, Enabled: true}
";

fn template() -> Template {
    Template::parse(TEMPLATE).unwrap()
}

#[test]
fn file_with_other_keys_than_the_template_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let storage = Storage::File(folder.path().join("data"));
    drop(Emulator::start(&template(), &storage, 0).unwrap());

    let changed = Template::parse(&TEMPLATE.replace("keyHash", "hash")).unwrap();
    let error = Emulator::start(&changed, &storage, 0)
        .err()
        .unwrap()
        .to_string();
    assert_eq!(
        error,
        "The data file's table ApiKeysTable is not as the template declares it: delete the file, or name another."
    );
}

#[test]
fn data_file_that_is_no_database_is_an_error_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::write(&path, "name,price").unwrap();
    let storage = Storage::File(path.clone());

    let error = Emulator::start(&template(), &storage, 0).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "{} is not a data file of the local stack: name another file.",
            path.display()
        )
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "name,price");
}

#[test]
fn database_of_another_program_is_an_error_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.execute_batch("CREATE TABLE t (a)").unwrap();
    database.close().unwrap();
    let before = std::fs::read(&path).unwrap();

    let error = start_error(&path);
    assert!(
        error.ends_with(" is not a data file of the local stack: name another file."),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(names_in(folder.path()), ["data"]);
}

/// The version of a file of the local stack.
fn version_of(path: &Path) -> u32 {
    let database = rusqlite::Connection::open(path).unwrap();
    database
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

#[test]
fn data_file_of_the_oldest_version_that_is_read_has_its_items_and_another_one_is_refused() {
    const OLDEST: u32 = 1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let storage = Storage::File(path.clone());
    let start = || Emulator::start(&template(), &storage, 0).unwrap();
    let key = json!({"keyHash": {"S": "k"}});
    let put = json!({"TableName": "ApiKeysTable", "Item": key}).to_string();
    let stored = respond(start().address.port(), "PutItem", &put);
    assert!(stored.starts_with("HTTP/1.1 200 "), "{stored}");
    assert_eq!(version_of(&path), OLDEST);
    let get = json!({"TableName": "ApiKeysTable", "Key": key}).to_string();
    let found = respond(start().address.port(), "GetItem", &get);
    assert!(found.contains(r#""Item""#), "{found}");

    for other in [0, OLDEST + 1] {
        let database = rusqlite::Connection::open(&path).unwrap();
        let change = database.pragma_update(None, "user_version", other);
        change.unwrap();
        database.close().unwrap();
        let before = std::fs::read(&path).unwrap();
        let expected = format!(
            "{} is a data file of another version of the local stack: delete it, or name another file.",
            path.display()
        );
        assert_eq!(start_error(&path), expected);
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[test]
fn data_file_that_is_refused_has_no_lock_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text"), "name,price").unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    for name in ["text", "folder"] {
        start_error(&folder.path().join(name));
    }
    assert_eq!(names_in(folder.path()), ["folder", "text"]);
}

#[test]
fn data_file_whose_lock_cannot_be_written_is_named_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    std::fs::create_dir(folder.path().join("data.lock")).unwrap();
    let error = start_error(&path);
    let expected = format!("Cannot use the data file {}: ", path.display());
    assert!(error.starts_with(&expected), "{error}");
}

#[cfg(unix)]
#[test]
fn data_file_of_a_running_emulator_is_refused_under_every_link_to_it() {
    use std::os::unix::fs::symlink;

    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    symlink(&folder, parent.path().join("link")).unwrap();
    symlink(folder.join("data"), folder.join("data-link")).unwrap();
    let dangling = Storage::file(&folder.join("data-link")).unwrap_err();
    assert!(
        dangling
            .to_string()
            .ends_with(": it is a link to a file that does not exist."),
        "{dangling}"
    );

    let storage = Storage::file(&parent.path().join("link/data")).unwrap();
    let first = Emulator::start(&template(), &storage, 0).unwrap();
    for path in ["folder/data", "folder/data-link", "link/data-link"] {
        let error = start_error(&parent.path().join(path));
        assert!(
            error.contains(" belongs to a stack that is running: "),
            "{error}"
        );
    }
    drop(first);
}

/// Why no emulator starts with this data file.
fn start_error(path: &Path) -> String {
    let storage = Storage::file(path).unwrap();
    let error = Emulator::start(&template(), &storage, 0).err().unwrap();
    format!("{error:#}")
}

/// The names of the files in a folder, in order.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// What a port responds to a call.
fn respond(port: u16, operation: &str, call: &str) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\
        Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
        Content-Length: {}\r\nConnection: close\r\n\r\n{call}",
        call.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn failure_of_the_database_is_told_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let storage = Storage::File(path.clone());
    drop(Emulator::start(&template(), &storage, 0).unwrap());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (failures, mut failed) = mpsc::unbounded_channel();
    let emulator = Emulator::start_on(&template(), &storage, listener, Some(failures)).unwrap();

    // A file that is cut off is like a disk that fails.
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(FIRST_PAGE).unwrap();
    let port = emulator.address.port();
    let scan = respond(port, "Scan", r#"{"TableName":"SignalsTable"}"#);
    assert!(scan.starts_with("HTTP/1.1 500 "), "{scan}");
    let reason = failed.try_recv().unwrap();
    assert!(
        reason.contains("database disk image is malformed"),
        "{reason}"
    );
}
