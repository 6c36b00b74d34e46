//! The inputs that fuzzing keeps, without its instrumentation.

use harness::fuzz_targets::TARGETS;

use crate::support::page::root;

/// The fewest inputs of each target that are accepted: without them, only refusals are checked.
const MIN_ACCEPTED: [(&str, usize); 3] = [("event", 1), ("headers", 1), ("request", 5)];

#[test]
fn every_kept_input_of_a_fuzz_target_holds() {
    for (target, check) in TARGETS {
        let inputs = std::fs::read_dir(root().join("tests/fuzz/corpus").join(target)).unwrap();
        let mut paths: Vec<_> = inputs.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "{target} has no inputs");
        let mut accepted = 0;
        for path in paths {
            // Shown when the input does not hold.
            println!("{}", path.display());
            let is_accepted = check(&std::fs::read(path).unwrap());
            accepted += usize::from(is_accepted);
        }
        println!("{target}: {accepted}");
        let (_, min_accepted) = MIN_ACCEPTED
            .into_iter()
            .find(|(name, _)| *name == target)
            .unwrap();
        assert!(accepted >= min_accepted, "{target}: {accepted} accepted");
    }
}
