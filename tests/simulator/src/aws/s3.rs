//! The bucket of the key snapshot.

use std::time::{Duration, SystemTime};

use aws_smithy_types::date_time::{DateTime, Format};
use model::timestamp::Timestamp;

use super::call_outcome::CallOutcome;

/// The bucket's name.
pub const BUCKET: &str = "keys";

/// The response for a missing object: template.yaml's roles may not list the bucket (`GetObject` in the
/// S3 API reference, Permissions).
const ACCESS_DENIED: &str =
    "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";

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

    pub(super) fn get(&self, path: &str) -> CallOutcome {
        let object = self.snapshot.as_ref().filter(|object| object.path == path);
        let Some(object) = object else {
            return CallOutcome::Bytes {
                status: 403,
                headers: Vec::new(),
                body: ACCESS_DENIED.into(),
            };
        };
        let seconds = Duration::from_secs(object.last_modified.seconds());
        let date = DateTime::from(SystemTime::UNIX_EPOCH + seconds);
        let date = date.fmt(Format::HttpDate).expect("a date of this century");
        CallOutcome::Bytes {
            status: 200,
            headers: vec![("last-modified", date)],
            body: object.body.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_object_is_an_access_that_is_denied() {
        let mut objects = Objects::default();
        let status = |objects: &Objects| match objects.get("/keys/snapshot") {
            CallOutcome::Bytes { status, .. } => status,
            _ => 0,
        };
        assert_eq!(status(&objects), 403);
        objects.put("snapshot", Vec::new(), Timestamp::from_millis(0));
        assert_eq!(status(&objects), 200);
    }
}
