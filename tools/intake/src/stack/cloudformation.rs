//! What CloudFormation says of a stack. Must not know what its outputs are for.

use std::fmt;

use aws_config::SdkConfig;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::http::HttpResponse;
use crate::signed_calls::{Service, SigningClient};

const CLOUDFORMATION: Service = Service {
    name: "cloudformation",
    endpoint_variable: "AWS_ENDPOINT_URL_CLOUDFORMATION",
};

/// The version of CloudFormation's API, which its query protocol names in each call.
const API_VERSION: &str = "2010-05-15";

/// The code with which CloudFormation refuses a call for a stack that does not exist.
const NO_SUCH_STACK: &str = "ValidationError";

/// The outputs and the parameters of a stack.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Description {
    #[serde(default)]
    pub(super) outputs: Members<Output>,
    #[serde(default)]
    pub(super) parameters: Members<Parameter>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Output {
    pub(super) output_key: String,
    pub(super) output_value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Parameter {
    pub(super) parameter_key: String,
    /// Empty for a parameter without a value.
    #[serde(default)]
    pub(super) parameter_value: String,
}

/// A list of the query protocol.
#[derive(Debug, Deserialize)]
pub(super) struct Members<T> {
    #[serde(default = "Vec::new", rename = "member")]
    pub(super) members: Vec<T>,
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self {
            members: Vec::new(),
        }
    }
}

/// Why a stack is not described.
#[derive(Debug)]
pub(super) enum NotDescribed {
    /// There is no such stack.
    Missing,
    /// CloudFormation refused the call for another reason.
    Refused(Refusal),
    /// The call, or the answer to it, was lost.
    Unreachable,
    /// The answer is not what CloudFormation's documentation says.
    Unreadable(quick_xml::DeError),
}

/// Why CloudFormation refused a call, in its own words.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Refusal {
    pub(super) code: String,
    #[serde(default)]
    pub(super) message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// Calls `DescribeStacks` for one stack.
pub(super) async fn describe(config: &SdkConfig, stack: &str) -> Result<Description, NotDescribed> {
    let body = form_urlencoded::Serializer::new(String::new())
        .append_pair("Action", "DescribeStacks")
        .append_pair("Version", API_VERSION)
        .append_pair("StackName", stack)
        .finish();
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let client = SigningClient::new(config).map_err(|_| NotDescribed::Unreachable)?;
    let received = client
        .post(&CLOUDFORMATION, &headers, &body)
        .await
        .map_err(|_| NotDescribed::Unreachable)?;
    read(&received)
}

fn read(received: &HttpResponse) -> Result<Description, NotDescribed> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct DescribeStacksResponse {
        describe_stacks_result: DescribeStacksResult,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct DescribeStacksResult {
        stacks: Members<Description>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct ErrorResponse {
        error: Refusal,
    }

    if received.status != 200 {
        let refusal = from_xml::<ErrorResponse>(&received.body)?.error;
        return Err(if refusal.code == NO_SUCH_STACK {
            NotDescribed::Missing
        } else {
            NotDescribed::Refused(refusal)
        });
    }
    let response: DescribeStacksResponse = from_xml(&received.body)?;
    let stacks = response.describe_stacks_result.stacks.members;
    stacks.into_iter().next().ok_or(NotDescribed::Missing)
}

fn from_xml<T: DeserializeOwned>(body: &[u8]) -> Result<T, NotDescribed> {
    quick_xml::de::from_reader(body).map_err(NotDescribed::Unreadable)
}
