//! The bucket of the key snapshot.

use std::time::{Duration, SystemTime};

use aws_smithy_types::date_time::{DateTime, Format};
use model::timestamp::Timestamp;
use serde_json::Value;

use super::dynamodb::Answer;
use super::outcome::Outcome;

/// The bucket's name.
pub const BUCKET: &str = "keys";

/// The object of the key snapshot, if there is one.
#[derive(Debug, Default)]
pub struct Objects {
    snapshot: Option<Object>,
}

#[derive(Debug)]
struct Object {
    path: String,
    body: Vec<u8>,
    last_modified: Timestamp,
}

impl Objects {
    /// Writes the object with this key.
    pub fn put(&mut self, key: &str, body: Vec<u8>, at: Timestamp) {
        self.snapshot = Some(Object {
            path: format!("/{BUCKET}/{key}"),
            body,
            last_modified: at,
        });
    }

    pub(super) fn get(&self, path: &str) -> Outcome {
        let object = self.snapshot.as_ref().filter(|object| object.path == path);
        let Some(object) = object else {
            return Outcome::Answer(Answer {
                status: 404,
                body: Value::Null,
            });
        };
        let seconds = Duration::from_secs(object.last_modified.seconds());
        let date = DateTime::from(SystemTime::UNIX_EPOCH + seconds);
        let date = date.fmt(Format::HttpDate).expect("a date of this century");
        Outcome::Bytes {
            headers: vec![
                ("last-modified", date),
                ("etag", format!("\"{}\"", object.last_modified.millis())),
            ],
            body: object.body.clone(),
        }
    }
}
