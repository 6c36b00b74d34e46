//! The metrics of this function.

service::metrics! {
    DrainMetric {
        SignalsDrained "Deferred signals that the overflow function stored.";
        CustomersDrained "Deferred updates of customers that the overflow function stored, or found replaced by newer ones.";
        AcceptedSignalsRejected "Deferred signals that the overflow function could only store as rejected ones.";
        DrainDelay "Milliseconds from the arrival of the request that queued a message to the drain of the message.";
        DrainFailures "Messages that the overflow function could not drain, or not read.";
    }
}
