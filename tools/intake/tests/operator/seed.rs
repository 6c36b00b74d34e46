//! Something to look around in.

use tests::{Stack, Tables};

use crate::operator::{Operator, VARIABLES};

#[tokio::test]
async fn a_local_stack_is_filled_with_valid_customers_and_journeys_and_some_rejects() {
    let stack = Stack::start();
    let operator = Operator::with_nothing();
    let mut variables = format!(
        "AWS_ENDPOINT_URL_DYNAMODB={}\nAWS_REGION=eu-central-1\nAWS_ACCESS_KEY_ID=local\nAWS_SECRET_ACCESS_KEY=local\n\
         SIGNAL_RETENTION_DAYS=365\n",
        stack.emulator.endpoint()
    );
    for (variable, table) in VARIABLES {
        variables.extend([variable, "=", Tables::name(table), "\n"]);
    }
    operator.file("dev.env", &variables);
    let mut written = Vec::new();
    for _ in 0..2 {
        written.push(operator.run(&["--local=dev.env", "seed", "--customers", "100", "--json"]).done().json());
    }
    // Written on two days, should midnight lie between, it is not the same.
    assert_eq!(written[0], written[1]);
    let stored = |name: &str| usize::try_from(written[0][0][name].as_u64().unwrap()).unwrap();
    assert_eq!((stored("customers"), stack.items("CustomersTable").await.len()), (100, 100));
    assert!(stored("signals") > 500 && stored("rejectedSignals") > 5, "{written:?}");
    let signals = stack.items("SignalsTable").await.len();
    assert!(signals == stored("signals") || signals == 2 * stored("signals"), "{signals} {written:?}");
}

#[test]
fn only_a_local_stack_is_seeded() {
    let stack = Stack::start();
    let ignored = Operator::of(&stack).variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
    let elsewhere = Operator::of(&stack).variable("AWS_ENDPOINT_URL_DYNAMODB", "http://127.0.0.1.example.com");
    for operator in [ignored, elsewhere] {
        assert!(operator.run(&["seed"]).refusal().contains("add --local"));
    }
}
