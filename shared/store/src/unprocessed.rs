//! The sort keys of the items that DynamoDB left unprocessed in a `BatchWriteItem`.
//!
//! DynamoDB returns unprocessed items whole, and the SDK would build a tree of values of them: 190 MB for a body of 4 MiB.
//! The response is cut down to the keys before the SDK parses it; the store writes the items again from their text.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextMut;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemOutput;
use aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint;
use aws_smithy_types::body::SdkBody;
use bytes::Bytes;
use http_body::{Body, Frame};
use serde::{Deserialize, Serialize};

/// A response of at most this many bytes is not cut down: DynamoDB left nothing unprocessed.
const SHORT_BYTES: usize = 1024;

/// The sort keys of the items that `output` leaves unprocessed.
pub(super) fn sort_keys(output: &BatchWriteItemOutput) -> HashSet<&str> {
    let requests = output.unprocessed_items.iter().flat_map(|tables| tables.values()).flatten();
    requests.filter_map(|request| Some(request.put_request()?.item.get("sk")?.as_s().ok()?.as_str())).collect()
}

/// Cuts the response of a `BatchWriteItem` down to the sort keys.
#[derive(Debug)]
pub(super) struct KeepSortKeys;

#[dyn_dispatch_hint]
impl Intercept for KeepSortKeys {
    fn name(&self) -> &'static str {
        "KeepSortKeys"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response_mut();
        if response.status().is_success() {
            let whole = std::mem::replace(response.body_mut(), SdkBody::taken());
            *response.body_mut() = SdkBody::from_body_1_x(SortKeysBody { whole, read: Vec::new(), ended: false });
        }
        Ok(())
    }
}

/// A body that is read to its end and then replaced by its sort keys.
struct SortKeysBody {
    whole: SdkBody,
    read: Vec<u8>,
    ended: bool,
}

impl Body for SortKeysBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        while let Some(frame) = ready!(Pin::new(&mut self.whole).poll_frame(context)?) {
            if let Ok(data) = frame.into_data() {
                self.read.extend_from_slice(&data);
            }
        }
        self.ended = true;
        Poll::Ready(Some(Ok(Frame::data(cut_down(std::mem::take(&mut self.read)).into()))))
    }
}

/// The response with only the sort keys. One of another shape is returned as it is, for the SDK to reject.
fn cut_down(response: Vec<u8>) -> Vec<u8> {
    if response.len() <= SHORT_BYTES {
        return response;
    }
    let keys = serde_json::from_slice::<Response<'_>>(&response).and_then(|keys| serde_json::to_vec(&keys));
    keys.unwrap_or(response)
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Response<'a> {
    #[serde(borrow)]
    unprocessed_items: BTreeMap<Cow<'a, str>, Vec<WriteRequest<'a>>>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct WriteRequest<'a> {
    #[serde(borrow)]
    put_request: PutRequest<'a>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct PutRequest<'a> {
    #[serde(borrow)]
    item: Item<'a>,
}

#[derive(Deserialize, Serialize)]
struct Item<'a> {
    #[serde(borrow)]
    sk: StringAttribute<'a>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "PascalCase")]
struct StringAttribute<'a> {
    #[serde(borrow)]
    s: Cow<'a, str>,
}
