//! The metrics of this function.

service::metrics! {
    RecordsDelivered "Records whose events every target has.";
    RecordsSkipped "Records without an event, such as that of an expired signal.";
    RecordsUnreadable "Records that could not be read and are in the failure bucket.";
    RecordsUndelivered "Records that Lambda will deliver again, because a target or the failure bucket failed.";
    EventReferences "Delivered events of which the bus has only a reference.";
}
