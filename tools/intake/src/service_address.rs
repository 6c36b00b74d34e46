//! The addresses of AWS's services, for calls that no SDK makes. Must not know what is called.

use anyhow::{Context as _, Result, anyhow};
use aws::sdk_config;
use aws::variables::Variables;
use aws_sdk_dynamodb::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};

/// The address of a service: the one in `variable`, which the SDKs read too, or else that of AWS.
pub(crate) async fn service_address(service: &str, variable: &str, region: &str) -> Result<String> {
    if let Some(url) = sdk_config::endpoint(&Variables::from_process(), variable) {
        return Ok(format!("{}/", url.trim_end_matches('/')));
    }
    // Each partition of AWS has a domain of its own. The SDK of DynamoDB knows them.
    let params = Params::builder()
        .region(region)
        .use_fips(false)
        .use_dual_stack(false)
        .build()?;
    let dynamodb = DefaultResolver::new()
        .resolve_endpoint(&params)
        .await
        .map_err(|error| anyhow!(error))?;
    let domain = dynamodb
        .url()
        .strip_prefix(&format!("https://dynamodb.{region}."))
        .with_context(|| format!("{region} is not a region"))?;
    Ok(format!("https://{service}.{region}.{domain}/"))
}
