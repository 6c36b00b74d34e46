//! What commands have left in a lake.

use std::io::Read as _;

use flate2::read::MultiGzDecoder;
use harness::fake_s3::FakeS3;
use serde_json::Value;

/// The events in all objects of the bucket `lake`.
pub(crate) fn events(s3: &FakeS3) -> Vec<Value> {
    let mut events = Vec::new();
    for path in s3.paths("/lake/events/") {
        let object = s3.object(&path).unwrap();
        let mut text = String::new();
        MultiGzDecoder::new(&*object.body)
            .read_to_string(&mut text)
            .unwrap();
        events.extend(
            text.lines()
                .map(|line| -> Value { serde_json::from_str(line).unwrap() }),
        );
    }
    events
}
