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
