use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

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
fn data_file_of_a_running_emulator_is_refused_to_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let storage = Storage::File(path.clone());
    let first = Emulator::start(&template(), &storage, 0).unwrap();

    let error = Emulator::start(&template(), &storage, 0).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!(
            "The data file {} belongs to a stack that is running: stop that one, or name another file.",
            path.display()
        )
    );
    drop(first);
    assert!(Emulator::start(&template(), &storage, 0).is_ok());
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

/// Every port of this process that listens on loopback.
#[cfg(target_os = "linux")]
fn own_ports() -> Vec<u16> {
    let sockets: Vec<_> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .map(|target| target.display().to_string())
        .collect();
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let listening = table.lines().filter_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [_, local, _, state, .., inode] = fields.get(..10)? else {
            return None;
        };
        let port = local.strip_prefix("0100007F:")?;
        let is_own = sockets.contains(&format!("socket:[{inode}]"));
        (*state == "0A" && is_own).then(|| u16::from_str_radix(port, 16).unwrap())
    });
    listening.collect()
}

/// What a port answers to a call with this header.
fn answer(port: u16, header: &str, operation: &str, call: &str) -> String {
    // An emulator of another test may have ended meanwhile.
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else {
        return String::new();
    };
    // Only a port that does not answer takes so long.
    stream
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\
        Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.{operation}\r\n\
        Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n\
        X-Amz-Date: 20260101T000000Z\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{call}",
        call.len()
    );
    let mut answer = Vec::new();
    // Where nothing answers, reading ends with a timeout.
    let _ = stream
        .write_all(request.as_bytes())
        .and_then(|()| stream.read_to_end(&mut answer));
    String::from_utf8(answer).unwrap()
}

/// What a port answers to a page that has found it.
#[cfg(target_os = "linux")]
fn answer_to_a_page(port: u16) -> String {
    answer(port, "Origin: http://page.example\r\n", "ListTables", "{}")
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
    let scan = answer(port, "", "Scan", r#"{"TableName":"SignalsTable"}"#);
    assert!(scan.starts_with("HTTP/1.1 500 "), "{scan}");
    let reason = failed.try_recv().unwrap();
    assert!(
        reason.contains("database disk image is malformed"),
        "{reason}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn no_port_of_an_emulator_answers_a_page() {
    let emulator = Emulator::start(&template(), &Storage::Memory, 0).unwrap();
    let ports = own_ports();
    assert!(ports.contains(&emulator.address.port()), "{ports:?}");
    let own = answer_to_a_page(emulator.address.port());
    assert!(own.starts_with("HTTP/1.1 403 "), "{own}");
    for port in ports {
        let answer = answer_to_a_page(port);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 403 "),
            "{port}: {answer}"
        );
    }
}
