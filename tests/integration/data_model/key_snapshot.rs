//! The key snapshot of docs/data-model.md is one that a function reads.

use aws::s3::S3Object;
use model::api_key::KeyHash;
use store::key_snapshot::KeySnapshot;

use super::page;
use crate::support::clock::NOW;
use crate::support::gzip::gzip;

/// It has version 1, the oldest that is read.
#[test]
fn example_of_the_key_snapshot_is_one_that_functions_read() {
    let text = page().text;
    let section = text.split("\n## Key snapshot\n").nth(1).unwrap();
    let json = section.split("```json\n").nth(1);
    let json = json.and_then(|rest| rest.split("```").next()).unwrap();
    let object = S3Object {
        body: gzip(json.as_bytes()),
        last_modified: NOW,
    };
    let snapshot = KeySnapshot::parse(&object).unwrap();
    let hash: KeyHash = "48f2823899ab99f111a20588cad89ed555ee11eec56dbaafd53120a9727aca8e"
        .parse()
        .unwrap();
    let entry = snapshot.find(hash).unwrap();
    assert_eq!(entry.key_id.as_str(), "key_3f2a9c81d04e");
    assert_eq!(entry.expires_at.unwrap().seconds(), 1_802_990_024);
}
