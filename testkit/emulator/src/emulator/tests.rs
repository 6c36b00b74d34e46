#[cfg(target_os = "linux")]
use std::io::{Read as _, Write as _};
#[cfg(target_os = "linux")]
use std::net::{Ipv4Addr, TcpStream};
#[cfg(target_os = "linux")]
use std::time::Duration;

use super::{Emulator, Storage};
use crate::Template;

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

/// What a port answers to a page of this origin, which has found it.
#[cfg(target_os = "linux")]
fn answer_to_a_page(port: u16) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    // Only a port that does not answer takes so long.
    stream
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let request = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://page.example\r\n\
        Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n\
        Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0\r\n\
        X-Amz-Date: 20260101T000000Z\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // It ends with a timeout where nothing answers.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn no_port_of_an_emulator_answers_a_page() {
    let emulator = Emulator::start(&template(), &Storage::Memory, 0).unwrap();
    let ports = own_ports();
    assert!(
        ports.contains(&emulator.address.port()),
        "{ports:?} {}",
        emulator.endpoint()
    );
    for port in ports {
        let answer = answer_to_a_page(port);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 403 "),
            "{port}: {answer}"
        );
    }
}
