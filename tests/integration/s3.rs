//! Objects of S3: conditions of a write, limits of size and time.

use std::time::Duration;

use model::timestamp::Timestamp;
use store::deadline::Deadline;
use store::error::Cause;
use store::s3::{Bucket, Object, Replaces, S3Error};
use testkit::fake_s3::{FakeS3, S3Fault};

const KEY: &str = "a/key.bin";

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

async fn put(bucket: &Bucket, body: &[u8], replaces: Replaces<'_>) -> Result<(), S3Error> {
    bucket.put(KEY, body.to_vec(), "application/octet-stream", replaces, soon()).await
}

#[tokio::test]
async fn object_is_read_as_written_with_its_date() {
    let s3 = FakeS3::start().await.unwrap();
    let bucket = s3.bucket("keys");
    assert_eq!(bucket.get(KEY, 10, soon()).await, Err(S3Error::Missing));
    s3.put("/keys/a/key.bin", &b"\xff\x00"[..], Timestamp::from_millis(1_795_213_000_009));
    let last_modified = Timestamp::from_millis(1_795_213_000_000);
    assert_eq!(
        bucket.get(KEY, 2, soon()).await,
        Ok(Object { body: b"\xff\x00".to_vec(), last_modified, etag: format!("\"{:032x}\"", 1) })
    );
    assert_eq!(bucket.get(KEY, 1, soon()).await, Err(S3Error::TooLarge));
    assert_eq!(s3.take_requests(), ["GET /keys/a/key.bin"; 3]);
}

#[tokio::test]
async fn write_replaces_only_what_it_names() {
    let s3 = FakeS3::start().await.unwrap();
    let bucket = s3.bucket("keys");
    assert_eq!(put(&bucket, b"1", Replaces::Version("\"0\"")).await, Err(S3Error::Changed));
    assert_eq!(put(&bucket, b"1", Replaces::Nothing).await, Ok(()));
    assert_eq!(put(&bucket, b"2", Replaces::Nothing).await, Err(S3Error::Changed));
    let first = bucket.get(KEY, 10, soon()).await.unwrap().etag;
    assert_eq!(put(&bucket, b"2", Replaces::Version(&first)).await, Ok(()));
    assert_eq!(put(&bucket, b"3", Replaces::Version(&first)).await, Err(S3Error::Changed));
    assert_eq!(bucket.get(KEY, 10, soon()).await.unwrap().body, b"2");
    assert_eq!(put(&bucket, b"4", Replaces::Anything).await, Ok(()));
    assert_eq!(bucket.get(KEY, 10, soon()).await.unwrap().body, b"4");
}

#[tokio::test]
async fn failure_to_answer_and_a_refusal_are_different_errors() {
    let s3 = FakeS3::start().await.unwrap();
    let bucket = s3.bucket("keys");
    for (fault, error) in [
        (S3Fault::Failing, S3Error::Unavailable(Cause::ServerError)),
        (S3Fault::Forbidden, S3Error::Refused { status: 403, code: "AccessDenied".to_owned() }),
        (S3Fault::Hanging, S3Error::Unavailable(Cause::Timeout)),
    ] {
        s3.set_fault(Some(fault));
        let limit = if fault == S3Fault::Hanging { Duration::from_millis(100) } else { Duration::from_secs(20) };
        assert_eq!(bucket.get(KEY, 10, Deadline::after(limit)).await, Err(error));
    }
}
