//! The metrics of this function.

service::metrics! {
    RecordsDelivered "Records whose CloudEvents every target has.";
    RecordsSkipped "Records without a CloudEvent, such as that of an expired signal.";
    // Its name stays, because deployed alarms and dashboards have it.
    RecordsUnreadable "Records that only the failure bucket has: they cannot be read, or no target takes their CloudEvent.";
    RecordsUndelivered "Records that Lambda will deliver again, because a target or the failure bucket failed.";
    EventReferences "Delivered CloudEvents of which the bus has only a reference.";
}
