//! The metrics of this function.

service::metrics! {
    RecordsDelivered "Records whose CloudEvents every target has.";
    RecordsSkipped "Records without a CloudEvent, such as that of an expired signal.";
    RecordsUnreadable "Records that could not be read and are in the failure bucket.";
    RecordsUndelivered "Records that Lambda will deliver again, because a target or the failure bucket failed.";
    EventReferences "Delivered CloudEvents of which the bus has only a reference.";
}
