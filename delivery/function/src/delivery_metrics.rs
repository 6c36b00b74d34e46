//! The metrics of this function.

service::metrics! {
    DeliveryMetric {
        RecordsDelivered "Records whose CloudEvents the target has.";
        RecordsSkipped "Records without a CloudEvent, such as that of an expired signal.";
        // Alarms and the folder `unreadable/` of the failure bucket have this name. Records that a
        // target refuses are counted and stored with the records that cannot be read.
        RecordsUnreadable "Records that only the failure bucket has: they cannot be read, or the target does not take their CloudEvent.";
        RecordsUndelivered "Records that Lambda will deliver again, because the target or the failure bucket failed.";
        EventClaimChecks "Delivered CloudEvents of which the bus has only a claim check.";
    }
}
