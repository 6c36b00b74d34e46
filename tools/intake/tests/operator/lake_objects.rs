//! `lake erase` passes over the objects of the lake that it cannot read or write, and names them. An object that
//! it replaces keeps its storage class and its tags.

use testkit::fake_s3::S3Fault;

use crate::lake::{erase, ids, lake, operator};

const ERASE_ADA: [&str; 3] = ["--id=ada", "--id=bob", "--yes"];

/// The object of the lake that has signals of Ada.
const ADAS: &str = "/lake/events/dt=2026-11-20/a.gz";

/// A fault of one object, and what the operator hears of it.
struct BrokenObject {
    fault: S3Fault,
    told: &'static str,
}

const BROKEN_OBJECTS: [BrokenObject; 6] = [
    BrokenObject {
        fault: S3Fault::Refused(403, "InvalidObjectState"),
        told: "it is archived. Restore it, and run the command again. (",
    },
    BrokenObject {
        fault: S3Fault::Locked,
        told: "it is under Object Lock. (",
    },
    BrokenObject {
        fault: S3Fault::WrongChecksum,
        told: "its body does not match its checksum. (",
    },
    BrokenObject {
        fault: S3Fault::Refused(400, "KMS.DisabledException"),
        told: "its KMS key cannot be used. (KMS.DisabledException",
    },
    BrokenObject {
        fault: S3Fault::WriteRefused(400, "KMS.DisabledException"),
        told: "its KMS key cannot be used. (KMS.DisabledException",
    },
    BrokenObject {
        fault: S3Fault::WriteRefused(403, "AccessDenied"),
        told: "these credentials do not permit this. Use those of an operator. (AccessDenied",
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn object_that_cannot_be_read_or_written_is_named_and_the_others_are_erased() {
    for BrokenObject { fault, told } in BROKEN_OBJECTS {
        let s3 = lake().await;
        s3.set_fault_of(ADAS, fault);
        let erased = erase(&s3, &ERASE_ADA);
        assert_eq!(erased.code, Some(1), "{fault:?} {erased:?}");
        assert!(
            erased.stdout.ends_with("Z: 1 event(s) in 1 object(s).\n"),
            "{fault:?} {erased:?}"
        );
        let note = format!("events/dt=2026-11-20/a.gz stays: {told}");
        assert!(erased.stderr.contains(&note), "{fault:?} {erased:?}");
        let error = "error: 1 line(s) or object(s) of the lake cannot be read or written, and stay. Their objects are named above.\n";
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
            "the clock of this machine is wrong.",
        ),
        (301, "PermanentRedirect", "it is in another region."),
    ] {
        let s3 = lake().await;
        s3.set_fault_of(ADAS, S3Fault::Refused(status, code));
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

#[tokio::test(flavor = "multi_thread")]
async fn object_whose_tags_may_not_be_read_or_written_is_erased_and_named() {
    for fault in [S3Fault::TagsUnreadable, S3Fault::TagsUnwritable] {
        let s3 = lake().await;
        s3.set_class_and_tags(ADAS, "STANDARD_IA", "team=a");
        s3.set_fault_of(ADAS, fault);
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
    s3.set_fault_of(ADAS, S3Fault::TagsUnreadable);
    let counted =
        operator(&s3).run(&[&crate::lake::CUSTOMER[..], &["--id=ada", "--dry-run"]].concat());
    assert_eq!(counted.success().stderr.lines().count(), 1);
}
