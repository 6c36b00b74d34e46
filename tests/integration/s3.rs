//! Conditions of a write to S3. (`key_snapshot` has its answers and failures.)

use std::time::Duration;

use aws::deadline::Deadline;
use aws::s3::{Bucket, S3Error, WritePrecondition};
use harness::fake_s3::{FakeS3, bucket_at};

const KEY: &str = "a/key.bin";

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

async fn put(
    bucket: &Bucket,
    body: &[u8],
    precondition: WritePrecondition<'_>,
) -> Result<(), S3Error> {
    bucket
        .put(
            KEY,
            body.to_vec(),
            "application/octet-stream",
            precondition,
            soon(),
        )
        .await
}

#[tokio::test]
async fn write_replaces_only_what_it_names() {
    let s3 = FakeS3::start().await.unwrap();
    let bucket = bucket_at(&s3.endpoint(), "keys");
    assert_eq!(
        put(&bucket, b"1", WritePrecondition::ObjectIsVersion("\"0\"")).await,
        Err(S3Error::Changed)
    );
    assert_eq!(
        put(&bucket, b"1", WritePrecondition::ObjectIsMissing).await,
        Ok(())
    );
    assert_eq!(
        put(&bucket, b"2", WritePrecondition::ObjectIsMissing).await,
        Err(S3Error::Changed)
    );
    let first = bucket.get(KEY, 10, soon()).await.unwrap().etag;
    assert_eq!(
        put(&bucket, b"2", WritePrecondition::ObjectIsVersion(&first)).await,
        Ok(())
    );
    assert_eq!(
        put(&bucket, b"3", WritePrecondition::ObjectIsVersion(&first)).await,
        Err(S3Error::Changed)
    );
    assert_eq!(bucket.get(KEY, 10, soon()).await.unwrap().body, b"2");
    assert_eq!(
        put(&bucket, b"4", WritePrecondition::Unconditional).await,
        Ok(())
    );
    assert_eq!(bucket.get(KEY, 10, soon()).await.unwrap().body, b"4");
}
