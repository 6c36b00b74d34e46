//! One address for several services of AWS, as `AWS_ENDPOINT_URL` names it: the header that names
//! an operation says which service a call is for. This module must not know what a call asks for.

use std::sync::{Arc, OnceLock};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use processes::http_server::Service;

use super::protocol::Protocol;
use crate::fault_proxy::FaultInjector;
use crate::s3::S3State;
use crate::sqs::{SqsState, TARGET_PREFIX};

/// What responds at the address of an emulator.
pub(super) struct Services {
    pub(super) dynamodb: Protocol,
    pub(super) others: OtherServices,
}

/// The services beside DynamoDB, once there are any.
#[derive(Clone, Default)]
pub(super) struct OtherServices(Arc<OnceLock<OtherStates>>);

struct OtherStates {
    sqs: Arc<FaultInjector<SqsState>>,
    s3: Arc<FaultInjector<S3State>>,
}

impl OtherServices {
    /// Adds them, unless there are some.
    pub(super) fn set(&self, sqs: Arc<FaultInjector<SqsState>>, s3: Arc<FaultInjector<S3State>>) {
        let _ = self.0.set(OtherStates { sqs, s3 });
    }
}

impl Service for Services {
    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let Some(OtherStates { sqs, s3 }) = self.others.0.get() else {
            return self.dynamodb.respond(request).await;
        };
        // DynamoDB and SQS have this header, and S3 has none.
        let Some(target) = request.headers().get("x-amz-target") else {
            return s3.respond(request).await;
        };
        if target.as_bytes().starts_with(TARGET_PREFIX.as_bytes()) {
            return sqs.respond(request).await;
        }
        self.dynamodb.respond(request).await
    }
}
