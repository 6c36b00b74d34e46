//! The version that is deployed, against that of this command line: no release newer than that one is known here.

use crate::check_result::Verdict;

/// `deployed` is the output of template.yaml, which is deployed together with the functions.
pub(super) fn check(deployed: Option<&str>, own: &str) -> Verdict {
    let Some(deployed) = deployed else {
        return Verdict::skipped("the stack does not say its version");
    };
    let (Some(stack), Some(known)) = (parse(deployed), parse(own)) else {
        return Verdict::failed(format!("{deployed} is no version"));
    };
    if stack < known {
        return Verdict::failed(format!("{deployed} is deployed, this command line is {own}: upgrade the stack"));
    }
    let seen = if stack > known {
        format!("{deployed} is deployed, newer than this command line ({own}): get the command line of that release")
    } else {
        format!("{deployed}, as this command line; whether there is a newer release is not known here")
    };
    Verdict::held(seen)
}

/// The numbers of a version. What follows a hyphen, as in 1.2.3-rc.1, does not count.
fn parse(version: &str) -> Option<Vec<u64>> {
    let numbers = version.split('-').next()?.split('.').map(|number| number.parse().ok());
    numbers.collect::<Option<Vec<u64>>>().filter(|numbers| numbers.len() == 3)
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
