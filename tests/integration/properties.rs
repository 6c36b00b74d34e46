//! Properties of every request, checked on random requests. Each run checks the same cases:
//! `PROPTEST_RNG_SEED` chooses others, and `INTAKE_PROPERTY_FACTOR` multiplies their number. A
//! failure reports its smallest case and the seed.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    reason = "only tests are in here: to panic is to fail the test"
)]

mod drained;
pub(crate) mod reference_json;
pub(crate) mod strategies;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use harness::{Item, RequestBuilder, TestApp, TestResponse};
use model::number::for_dynamodb;
use model::signal::SIGNAL_FIELDS;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestRunner};

use self::reference_json::{Decimal, Exact};

/// The seed unless `PROPTEST_RNG_SEED` is set.
const SEED: u64 = 20_261_120;

/// Lambda's limit for a response is 6 MB. The rest is for the headers and the JSON around the body.
const MAX_RESPONSE_BYTES: usize = 5_500_000;

/// Checks `property` on `cases` cases of `strategy`, or on `INTAKE_PROPERTY_FACTOR` times as many.
#[track_caller]
pub(crate) fn check<S: Strategy<Value: Debug>>(
    cases: u32,
    strategy: S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let factor: u32 =
        std::env::var("INTAKE_PROPERTY_FACTOR").map_or(1, |factor| factor.parse().unwrap());
    let mut config = ProptestConfig {
        cases: cases * factor,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => SEED,
    };
    config.rng_seed = RngSeed::Fixed(seed);
    if let Err(failure) = TestRunner::new(config).run(&strategy, property) {
        panic!("with PROPTEST_RNG_SEED={seed}: {failure}");
    }
}

/// An app, and another account for each case.
pub(crate) struct PropertyApp {
    pub(crate) runtime: tokio::runtime::Runtime,
    pub(crate) app: TestApp,
    cases: AtomicUsize,
}

impl PropertyApp {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let app = runtime.block_on(async { TestApp::start() });
        Self {
            runtime,
            app,
            cases: AtomicUsize::new(0),
        }
    }

    /// An account that no other case has, and its key.
    pub(crate) fn account(&self) -> (String, String) {
        let account = format!("account-{}", self.cases.fetch_add(1, Ordering::Relaxed));
        let key = self.runtime.block_on(self.app.key(&account));
        (account, key)
    }

    pub(crate) fn send(&self, call: RequestBuilder) -> TestResponse {
        self.runtime.block_on(self.app.send(call))
    }

    /// The stored signals of these customers and emitters by their index, without the attributes
    /// that the service adds.
    fn stored_signals(
        &self,
        account: &str,
        subject_ids: &BTreeSet<String>,
    ) -> BTreeMap<usize, BTreeMap<String, Exact>> {
        let mut signals = BTreeMap::new();
        for item in subject_ids
            .iter()
            .flat_map(|id| self.runtime.block_on(self.app.history(account, id)))
        {
            let (_, index) = item["sk"].as_s().unwrap().rsplit_once('#').unwrap();
            let sent = |name: &str| name == "undocumented" || SIGNAL_FIELDS.contains(&name);
            let members = item.iter().filter(|(name, _)| sent(name));
            let members = members.map(|(name, value)| (name.clone(), Exact::of_attribute(value)));
            signals.insert(index.parse().unwrap(), members.collect());
        }
        signals
    }
}

#[test]
fn number_is_converted_exactly_or_rejected() {
    check(2_000, strategies::number(), |number| {
        let decimal = Decimal::of(&number);
        let written = for_dynamodb(&number);
        prop_assert_eq!(written.is_ok(), decimal.fits_dynamodb());
        prop_assert!(written.is_err() || Decimal::of(&written.unwrap()) == decimal);
        Ok(())
    });
}

#[test]
fn accepted_signals_are_stored_exactly() {
    let fixture = PropertyApp::new();
    let all_accepted = Cell::new(0);
    check(32, strategies::batch(), |(signals, request)| {
        let (account, key) = fixture.account();
        let response = fixture.send(RequestBuilder::signals(&request).key(&key));
        prop_assert!([200, 400].contains(&response.status), "{}", response.text);
        let body = response.json();
        if body.get("received").is_none() {
            return Ok(());
        }
        let count = |name: &str| usize::try_from(body[name].as_u64().unwrap()).unwrap();
        prop_assert_eq!(count("received"), signals.len());
        prop_assert_eq!(count("accepted") + count("rejected"), signals.len());
        prop_assert_eq!(response.status == 200, count("accepted") > 0);
        let errors = response.field_errors();
        prop_assert!(
            errors.iter().all(|(_, code)| code != "refused-by-store"),
            "{}",
            response.text
        );
        let is_rejected = |index: usize| {
            let whole = format!("/signals/{index}");
            errors
                .iter()
                .any(|(pointer, _)| *pointer == whole || pointer.starts_with(&format!("{whole}/")))
        };
        let accepted: Vec<usize> = (0..signals.len())
            .filter(|index| !is_rejected(*index))
            .collect();
        prop_assert_eq!(accepted.len(), count("accepted"));
        all_accepted.set(all_accepted.get() + accepted.len());
        let expected: BTreeMap<_, _> = accepted
            .into_iter()
            .map(|index| (index, expected_signal(&signals[index])))
            .collect();
        let subject_ids = expected.values().map(subject_id).collect();
        prop_assert_eq!(fixture.stored_signals(&account, &subject_ids), expected);
        Ok(())
    });
    // Without this floor, a service that rejects everything would pass.
    let all_accepted = all_accepted.get();
    assert!(all_accepted >= 60, "{all_accepted} accepted signals");
}

/// The customer or emitter of a signal.
fn subject_id(members: &BTreeMap<String, Exact>) -> String {
    match members
        .get("customerId")
        .or_else(|| members.get("emitterId"))
    {
        Some(Exact::String(id)) => id.clone(),
        other => panic!("{other:?} is no identifier"),
    }
}

/// The attributes of an accepted signal, without those that the service adds.
fn expected_signal(text: &str) -> BTreeMap<String, Exact> {
    let empty = || Exact::Object(BTreeMap::new());
    let sent = Exact::from_text(text)
        .into_members()
        .into_iter()
        .filter(|(_, value)| *value != Exact::Null);
    let (mut expected, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
        sent.partition(|(name, _)| SIGNAL_FIELDS.contains(&name.as_str()));
    expected.entry("data".to_owned()).or_insert_with(empty);
    if !others.is_empty() {
        expected.insert("undocumented".to_owned(), Exact::Object(others));
    }
    expected
}

#[test]
fn accepted_customer_is_stored_exactly_and_a_rejected_one_not() {
    let fixture = PropertyApp::new();
    let all_accepted = Cell::new(0);
    check(64, strategies::customer("c"), |(profile, request)| {
        let (account, key) = fixture.account();
        let response = fixture.send(RequestBuilder::customer(&request).key(&key));
        prop_assert!([200, 400].contains(&response.status), "{}", response.text);
        let stored = fixture
            .runtime
            .block_on(fixture.app.customer(&account, "c"));
        prop_assert_eq!(stored.is_some(), response.status == 200);
        if let Some(item) = stored {
            let sent = Exact::from_text(&profile)
                .into_members()
                .into_iter()
                .filter(|(_, value)| *value != Exact::Null);
            prop_assert_eq!(profile_of(&item), sent.collect());
            all_accepted.set(all_accepted.get() + 1);
        }
        Ok(())
    });
    let all_accepted = all_accepted.get();
    assert!(all_accepted >= 30, "{all_accepted} accepted customers");
}

/// The fields of the profile in the item of a customer.
fn profile_of(item: &Item) -> BTreeMap<String, Exact> {
    let kept =
        |(name, _): &(&String, &AttributeValue)| !model::customer::attributes::is_reserved(name);
    item.iter()
        .filter(kept)
        .map(|(name, value)| (name.clone(), Exact::of_attribute(value)))
        .collect()
}

#[test]
fn largest_response_fits_into_the_limit_of_lambda() {
    let fixture = PropertyApp::new();
    let (_, key) = fixture.account();
    let largest = Cell::new(0);
    let piece = select(vec!["\\\"", "\\\\", "\\u0001", "😀", "/~"]);
    // The longest pointer that is still reported has a length between these.
    check(
        6,
        (
            piece,
            select(vec![36, 57, 58, 59, 60, 250]),
            select(vec!["1e999", "1e999", "1"]),
        ),
        |(piece, repeat, value)| {
            let name = piece.repeat(repeat);
            let members: Vec<_> = (0..6).map(|n| format!("\"{name}{n}\":{value}")).collect();
            let signal = format!(
                "{{\"customerId\":\"c\",\"eventType\":\"t\",{}}}",
                members.join(",")
            );
            let signals = (4_000_000 / signal.len()).clamp(1, 500);
            let request = format!("{{\"signals\":[{}]}}", vec![signal; signals].join(","));
            let response = fixture.send(RequestBuilder::signals(&request).key(&key));
            let as_lambda_encodes_it = serde_json::to_string(&response.text).unwrap().len();
            prop_assert!(
                as_lambda_encodes_it < MAX_RESPONSE_BYTES,
                "{} bytes",
                as_lambda_encodes_it
            );
            largest.set(largest.get().max(as_lambda_encodes_it));
            Ok(())
        },
    );
    let largest = largest.get();
    // Without this floor, a service that names no error would pass.
    assert!(
        largest >= 200_000,
        "the largest response has {largest} bytes"
    );
}
