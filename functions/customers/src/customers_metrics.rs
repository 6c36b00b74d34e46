//! The metrics of this function.

service::metrics! {
    CustomersMetric {
        CustomersCreated "Customers created.";
        CustomersUpdated "Customers updated.";
        CustomersDeferred "Updates of customers sent to the overflow queue.";
    }
}
