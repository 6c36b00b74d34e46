//! AWS refuses the signature of a call: the operator hears of a wrong clock or a wrong region.

use harness::TestApp;
use harness::fake_s3::FakeS3;
use harness::fault_proxy::Fault;
use harness::http_server::HttpServer;
use serde_json::json;

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
}

#[tokio::test(flavor = "multi_thread")]
async fn clock_and_region_are_named_when_s3_refuses_the_signature() {
    let app = TestApp::start();
    let s3 = FakeS3::start().await.unwrap();
    let operator = key_snapshot::operator(&app, &s3);
    let clock = "the clock of this machine is wrong. Set it.";
    let region = "it is in another region. Set AWS_REGION.";
    for (status, code, advice) in [
        (403, "RequestTimeTooSkewed", clock),
        (301, "PermanentRedirect", region),
        (400, "AuthorizationHeaderMalformed", region),
    ] {
        s3.faults().set(Fault::refused_as(status, code).always());
        let error = operator.run(&PUBLISH).error_message();
        assert_eq!(error, format!("bucket keys: {advice} ({code}: )"));
    }
}
