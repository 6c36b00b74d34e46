//! Own rule for the URL of a service instead of the SDK's, which parses a list of all partitions at each start: 335 k instructions.
//!
//! A test compares the rule with the SDK's for each partition and service. Must not know which service is called for what.

/// How the regions of a partition begin, and what its hosts end with: with IPv4 alone, and with IPv6 too.
struct Partition(&'static str, &'static str, &'static str);

/// Every partition but the first one, whose regions have no common beginning.
const PARTITIONS: [Partition; 7] = [
    Partition("cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    Partition("eusc-", "amazonaws.eu", "api.amazonwebservices.eu"),
    Partition("us-iso-", "c2s.ic.gov", "api.aws.ic.gov"),
    Partition("us-isob-", "sc2s.sgov.gov", "api.aws.scloud"),
    Partition("eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
    Partition("us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    Partition("", "amazonaws.com", "api.aws"),
];

/// The endpoint of `service` in `region`.
pub fn url(service: &str, region: &str, fips: bool, dual_stack: bool) -> String {
    // In AWS GovCloud, the plain endpoints of some services are those for FIPS 140.
    let is_plain = region.starts_with("us-gov-")
        && match service {
            "events" => true,
            "dynamodb" | "sqs" => !dual_stack,
            _ => false,
        };
    let fips = if fips && !is_plain { "-fips" } else { "" };
    format!("https://{service}{fips}.{region}.{}", domain(region, dual_stack))
}

/// What the hosts of a region end with.
pub fn domain(region: &str, dual_stack: bool) -> &'static str {
    let partition = PARTITIONS.iter().find(|Partition(prefix, ..)| region.starts_with(prefix));
    partition.map_or("", |Partition(_, domain, dual)| if dual_stack { dual } else { domain })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One region of each partition, two of the largest, and one that the SDK does not know yet.
    const REGIONS: [&str; 11] = [
        "us-east-1",
        "eu-central-1",
        "eu-central-9",
        "cn-north-1",
        "eusc-de-east-1",
        "us-iso-east-1",
        "us-isob-east-1",
        "eu-isoe-west-1",
        "us-isof-south-1",
        "us-gov-west-1",
        "us-gov-east-1",
    ];

    /// The endpoints are compared with those of the SDK's client of the service.
    macro_rules! compare {
        ($service:literal, $sdk:ident) => {
            for (region, fips, dual_stack) in REGIONS
                .iter()
                .flat_map(|region| [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(fips, dual)| (region, fips == 1, dual == 1)))
            {
                use $sdk::config::endpoint::{DefaultResolver, Params, ResolveEndpoint as _};
                let params =
                    Params::builder().region(*region).use_fips(fips).use_dual_stack(dual_stack).build().unwrap();
                let endpoint = DefaultResolver::new().resolve_endpoint(&params).await.unwrap();
                assert_eq!(url($service, region, fips, dual_stack), endpoint.url(), "FIPS: {fips}");
            }
        };
    }

    #[tokio::test]
    async fn endpoint_of_each_partition_is_the_sdks() {
        compare!("dynamodb", aws_sdk_dynamodb);
        compare!("sqs", aws_sdk_sqs);
        compare!("events", aws_sdk_eventbridge);
        compare!("firehose", aws_sdk_firehose);
    }
}
