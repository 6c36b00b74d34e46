//! The metrics of this function.

/// The second dimension of [`SignalsMetric::SignalsRejected`], for its values by error code.
pub const CODE: &str = "Code";

service::metrics! {
    SignalsMetric {
        SignalsAccepted "Signals stored or deferred.";
        SignalsDeferred "Accepted signals sent to the overflow queue.";
        SignalsRejected "Signals rejected; also by error code, counting the first five errors of each signal.";
        RejectionRate "The percentage of the signals of a request that was rejected, if any was.";
        RejectedNotStored "Requests whose rejected signals could not be stored.";
        Replays "Retried requests.";
    }
}
