//! The metrics of this function.

service::metrics! {
    SignalsDrained "Deferred signals that the overflow function stored.";
    CustomersDrained "Deferred updates of customers that the overflow function stored, or found replaced by newer ones.";
    AcceptedSignalsRejected "Deferred signals that the overflow function could only store as rejected ones.";
    DrainDelay "Milliseconds from a request to the storing of its deferred signals.";
    DrainFailures "Messages that the overflow function could not drain, or not read.";
}
