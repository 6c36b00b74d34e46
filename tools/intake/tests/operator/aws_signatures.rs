//! AWS refuses the signature of a call: the operator hears of a wrong clock or a wrong region.

use serde_json::json;
use testkit::TestApp;
use testkit::fake_s3::{FakeS3, S3Fault};
use testkit::http_server::HttpServer;

use crate::aws_profiles::CREATE;
use crate::support::fake_aws::{Change, FakeAws, operator_at};
use crate::support::key_snapshot::{self, PUBLISH};

/// The XML and JSON with which AWS's services refuse a signature that was made with a wrong clock
/// ("Troubleshoot Signature Version 4 signing for AWS API requests", IAM User Guide).
#[tokio::test(flavor = "multi_thread")]
async fn wrong_clock_is_named_whichever_service_refuses_the_signature() {
    let refusal = |code: &str, message: &str| json!({"code": code, "message": message});
    let late = "Signature expired: 20260101T000000Z is now earlier than 20260101T010000Z";
    let early = "Signature not yet current: 20260101T020000Z is still later than 20260101T010000Z";
    let refusals = [
        refusal("SignatureDoesNotMatch", late),
        refusal("SignatureDoesNotMatch", early),
        refusal("RequestExpired", "Request has expired."),
    ];
    for value in refusals {
        let change = Change {
            operation: "DescribeStacks",
            about: "",
            place: "",
            value,
        };
        let aws = HttpServer::start(FakeAws::new(Some(change)), None)
            .await
            .unwrap();
        let error = operator_at(&aws.endpoint()).run(&CREATE).error_message();
        let told = "CloudFormation refused the call: the clock of this machine is wrong. Set it. (";
        assert!(error.contains(told), "{error}");
        // Signed with AWS's time, it would be accepted, and write times of this machine.
        assert_eq!(aws.service.count("DescribeStacks"), 1);
    }
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    s3.set_fault(Some(S3Fault::Refused(403, "RequestTimeTooSkewed")));
    let error = key_snapshot::operator(&app, &s3)
        .run(&PUBLISH)
        .error_message();
    let told = "bucket keys: the clock of this machine is wrong. Set it. (RequestTimeTooSkewed: )";
    assert_eq!(error, told);
}

#[tokio::test(flavor = "multi_thread")]
async fn bucket_of_another_region_is_told() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    s3.set_fault(Some(S3Fault::Refused(301, "PermanentRedirect")));
    let error = key_snapshot::operator(&app, &s3)
        .run(&PUBLISH)
        .error_message();
    let told = "bucket keys: it is in another region. Set AWS_REGION. (PermanentRedirect: )";
    assert_eq!(error, told);
}
