//! The fuzzer of the target that the variable FUZZ_TARGET names.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use harness::fuzz_targets::{Check, TARGETS};

static CHECK: LazyLock<Check> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET is set");
    let (_, check) = TARGETS
        .into_iter()
        .find(|(target, _)| *target == name)
        .expect("FUZZ_TARGET names a target");
    check
});

fuzz_target!(|input: &[u8]| {
    CHECK(input);
});
