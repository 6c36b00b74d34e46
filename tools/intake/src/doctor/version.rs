//! Whether the deployed version is that of this command line. Must not know how results are printed.

use crate::check_result::CheckOutcome;

/// Compares the deployed version with that of this command line, which knows no newer release.
/// `deployed` is the output of template.yaml, which is deployed together with the functions.
pub(super) fn check(deployed: Option<&str>, own: &str) -> CheckOutcome {
    let Some(deployed) = deployed else {
        return CheckOutcome::skipped("the stack does not say its version");
    };
    let (Some(stack), Some(known)) = (version_numbers(deployed), version_numbers(own)) else {
        return CheckOutcome::failed(format!("{deployed} is no version"));
    };
    if stack < known {
        return CheckOutcome::failed(format!(
            "{deployed} is deployed, this command line is {own}: upgrade the stack"
        ));
    }
    let seen = if stack > known {
        format!(
            "{deployed} is deployed, newer than this command line ({own}): get the command line of that release"
        )
    } else {
        format!(
            "{deployed}, as this command line; whether there is a newer release is not known here"
        )
    };
    CheckOutcome::held(seen)
}

/// The numbers of a version. What follows a hyphen, as in 1.2.3-rc.1, does not count.
fn version_numbers(version: &str) -> Option<Vec<u64>> {
    let (version, _) = version.split_once('-').unwrap_or((version, ""));
    let numbers: Option<Vec<u64>> = version
        .split('.')
        .map(|number| number.parse().ok())
        .collect();
    numbers.filter(|numbers| numbers.len() == 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_result::CheckResult;

    #[test]
    fn version_is_compared_by_its_numbers() {
        let result = |deployed| check(deployed, "0.10.0").result;
        assert_eq!(result(Some("0.9.3")), CheckResult::Failed);
        assert_eq!(result(Some("0.10.0")), CheckResult::Held);
        assert_eq!(result(Some("1.0.0-rc.1")), CheckResult::Held);
        assert_eq!(result(Some("next")), CheckResult::Failed);
        assert_eq!(result(None), CheckResult::Skipped);
    }
}
