//! The inputs that fuzzing keeps, without its instrumentation.

use testkit::fuzz_targets::TARGETS;

use crate::support::page::root;

#[test]
fn every_kept_input_of_a_fuzz_target_holds() {
    for (target, check) in TARGETS {
        let inputs = std::fs::read_dir(root().join("tests/fuzz/corpus").join(target)).unwrap();
        let mut paths: Vec<_> = inputs.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        assert!(!paths.is_empty(), "{target} has no inputs");
        for path in paths {
            // Shown when the input does not hold.
            println!("{}", path.display());
            check(&std::fs::read(path).unwrap());
        }
    }
}
