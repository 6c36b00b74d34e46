//! The sample data in events/seed, which `cargo dev --seed` imports, can be imported as it is.

use std::collections::{HashMap, HashSet};

use aws_sdk_dynamodb::types::AttributeValue;
use harness::TestApp;

use crate::support::operator::Operator;

#[tokio::test]
async fn sample_data_is_stored_whole_with_events_and_steps() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    for (name, stored) in [("customers.ndjson", 200), ("signals.ndjson", 1957)] {
        let path = format!("{}/../../events/seed/{name}", env!("CARGO_MANIFEST_DIR"));
        operator.file(name, &std::fs::read_to_string(path).unwrap());
        let import = [
            "import",
            "--account",
            "dev",
            "--received-at",
            "2026-01-01",
            name,
            "--json",
        ];
        let summary = &operator.run(&import).success().json()[0];
        assert_eq!(summary["stored"], stored, "{name}");
        assert_eq!(summary["rejected"], 0, "{name}");
    }
    let ids = |items: &[HashMap<String, AttributeValue>], name: &str| -> HashSet<String> {
        items
            .iter()
            .filter_map(|item| Some(item.get(name)?.as_s().unwrap().clone()))
            .collect()
    };
    let signals = app.items("SignalsTable").await;
    let customers = ids(&app.items("CustomersTable").await, "customerId");
    assert!(ids(&signals, "customerId").is_subset(&customers));
    assert!(ids(&signals, "emitterId").len() > 100);
    // The README shows the history of this customer.
    assert!(app.history("dev", "customer-00017").await.len() > 10);
}
