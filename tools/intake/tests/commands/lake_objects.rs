//! `lake erase` passes over the objects of the lake that it cannot read or write, and names them. An object that
//! it replaces keeps its storage class and its tags.

use harness::fault_proxy::{Fault, Rule};

use crate::lake::{erase, ids, lake, operator};

const ERASE_ADA: [&str; 3] = ["--id=ada", "--id=bob", "--yes"];

/// The object of the lake that has signals of Ada.
const ADAS: &str = "/lake/events/dt=2026-11-20/a.gz";

/// A fault of one object, and what the operator hears of it.
struct BrokenObject {
    fault: Fault,
    /// The call that has it.
    operation: &'static str,
    told: &'static str,
}

const KMS_KEY_DISABLED: Fault = Fault::refused_as(400, "KMS.DisabledException");

const BROKEN_OBJECTS: [BrokenObject; 6] = [
    BrokenObject {
        fault: Fault::refused_as(403, "InvalidObjectState"),
        operation: "GetObject",
        told: "it is archived. Restore it, and run the command again. (",
    },
    BrokenObject {
        fault: Fault::RefusedAs {
            status: 403,
            code: "AccessDenied",
            message: "Access Denied because object protected by object lock.",
        },
        operation: "PutObject",
        told: "it is under Object Lock. (",
    },
    BrokenObject {
        fault: Fault::ResponseHeader("x-amz-checksum-crc32", "AAAAAA=="),
        operation: "GetObject",
        told: "its body does not match its checksum. (",
    },
    BrokenObject {
        fault: KMS_KEY_DISABLED,
        operation: "GetObject",
        told: "its KMS key cannot be used. (KMS.DisabledException",
    },
    BrokenObject {
        fault: KMS_KEY_DISABLED,
        operation: "PutObject",
        told: "its KMS key cannot be used. (KMS.DisabledException",
    },
    BrokenObject {
        fault: Fault::FORBIDDEN,
        operation: "PutObject",
        told: "these credentials do not permit this. Use those of an operator. (AccessDenied",
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn object_that_cannot_be_read_or_written_is_named_and_the_others_are_erased() {
    for broken in BROKEN_OBJECTS {
        let BrokenObject {
            fault,
            operation,
            told,
        } = broken;
        let s3 = lake().await;
        let of_ada = fault.always().for_path(ADAS).for_operation(operation);
        s3.faults().set(of_ada);
        let erased = erase(&s3, &ERASE_ADA);
        assert_eq!(erased.code, Some(1), "{fault:?} {erased:?}");
        assert!(
            erased.stdout.ends_with("Z: 1 event(s) in 1 object(s).\n"),
            "{fault:?} {erased:?}"
        );
        let note = format!("events/dt=2026-11-20/a.gz stays: {told}");
        assert!(erased.stderr.contains(&note), "{fault:?} {erased:?}");
        let error = "error: 1 line(s) or object(s) of the lake cannot be read or written, and were not erased. Their objects \
            are named above.\n";
        assert!(erased.stderr.ends_with(error), "{fault:?} {erased:?}");
        assert_eq!(ids(&s3), ["1", "2", "3", "4", "5", "6"], "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_that_is_about_no_object_ends_the_erasure() {
    for (status, code, told) in [
        (403, "InvalidAccessKeyId", "AWS rejected the credentials."),
        (
            403,
            "RequestTimeTooSkewed",
            "the clock of this machine is wrong. Set it. (",
        ),
        (
            301,
            "PermanentRedirect",
            "it is in another region. Set AWS_REGION. (",
        ),
        (
            400,
            "AuthorizationHeaderMalformed",
            "it is in another region. Set AWS_REGION. (",
        ),
    ] {
        let s3 = lake().await;
        let refused = Fault::refused_as(status, code);
        s3.faults().set(refused.always().for_path(ADAS));
        let error = erase(&s3, &ERASE_ADA).error_message();
        assert!(
            error.starts_with(&format!("bucket lake: {told}")),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replaced_object_keeps_its_storage_class_and_its_tags() {
    let s3 = lake().await;
    s3.set_class_and_tags(ADAS, "STANDARD_IA", "team=a%20b&cost%3Dcenter=7");
    erase(&s3, &ERASE_ADA).success();
    let object = s3.object(ADAS).unwrap();
    assert_eq!(object.storage_class(), Some("STANDARD_IA"));
    let tags = [("team", "a b"), ("cost=center", "7")];
    let tags = tags.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(object.tags(), tags);
    assert_eq!(ids(&s3), ["3", "4", "5", "6"]);
}

/// These credentials may not read the tags of Ada's object.
fn tags_unreadable() -> Rule {
    let refused = Fault::FORBIDDEN.always().for_path(ADAS);
    refused.for_operation("GetObjectTagging")
}

/// These credentials may not write tags.
fn tags_unwritable() -> Rule {
    let refused = Fault::FORBIDDEN.always().for_path(ADAS);
    refused
        .for_operation("PutObject")
        .where_header_is("x-amz-tagging")
}

#[tokio::test(flavor = "multi_thread")]
async fn object_whose_tags_may_not_be_read_or_written_is_erased_and_named() {
    for fault in [tags_unreadable(), tags_unwritable()] {
        let s3 = lake().await;
        s3.set_class_and_tags(ADAS, "STANDARD_IA", "team=a");
        s3.faults().set(fault.clone());
        let erased = erase(&s3, &ERASE_ADA).success();
        let note = "events/dt=2026-11-20/a.gz has lost its tags: bucket lake: these credentials do not permit this.";
        assert!(erased.stderr.contains(note), "{fault:?} {erased:?}");
        let object = s3.object(ADAS).unwrap();
        assert_eq!(object.tags(), []);
        assert_eq!(object.storage_class(), Some("STANDARD_IA"));
        assert_eq!(ids(&s3), ["3", "4", "5", "6"], "{fault:?}");
    }
}

/// S3 counts the tags only for those who may read them.
#[tokio::test(flavor = "multi_thread")]
async fn tags_of_an_object_are_read_only_when_it_is_replaced() {
    let s3 = lake().await;
    s3.set_class_and_tags(ADAS, "STANDARD_IA", "team=a");
    s3.faults().set(tags_unreadable());
    let counted =
        operator(&s3).run(&[&crate::lake::CUSTOMER[..], &["--id=ada", "--dry-run"]].concat());
    assert_eq!(counted.success().stderr.lines().count(), 1);
}
