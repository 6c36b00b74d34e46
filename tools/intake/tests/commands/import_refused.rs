//! Lines of customers that DynamoDB refuses.

use harness::TestApp;
use model::timestamp::Timestamp;
use serde_json::{Value, json};

use crate::support::clock::days_ago;
use crate::support::fault::{OperatorBehindProxy, operator_with_refused_value};
use crate::support::operator::{Operator, json_lines};

fn line(updated_at: Timestamp, data: &Value) -> String {
    let customer = json!({"customerId": "ada", "customerData": data, "updatedAt": updated_at});
    format!("{customer}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_line_says_that_earlier_lines_have_to_be_imported_again() {
    let app = TestApp::start();
    let OperatorBehindProxy {
        operator,
        proxy: _proxy,
    } = operator_with_refused_value(&app).await;
    let time = days_ago(3);
    let first = line(time, &json!({"city": "Ulm", "zip": "1"}));
    let last = line(time, &json!({"city": "an-invalid-value"}));
    operator.file("c", &format!("{first}{last}"));
    let import = ["import", "--account", "shop", "c"];
    let imported = operator.run(&import);
    assert_eq!(imported.code, Some(1), "{imported:?}");
    assert_eq!(
        imported.stdout,
        "0 customers stored, 1 stored in part: the other fields are newer in the table, 1 line rejected.\n"
    );
    assert_eq!(
        codes(&operator),
        [vec!["refused-by-store", "earlier-lines-left-out"]]
    );
    // As the error says.
    operator.file("c", &first);
    operator.run(&import).success();
    let stored = app.customer("shop", "ada").await.unwrap();
    assert_eq!(stored["city"].as_s().unwrap(), "Ulm");
}

#[tokio::test]
async fn line_that_makes_a_customer_too_large_is_rejected_with_its_own_code() {
    let app = TestApp::start();
    let operator = Operator::new(&app);
    let value = "x".repeat(1000);
    let mut lines = String::new();
    // An item has room for 400 KB.
    for number in 0..21 {
        let data = (0..20).map(|n| (format!("m{number}-{n}"), json!(value)));
        let data: serde_json::Map<_, _> = data.collect();
        lines += &line(days_ago(number), &json!(data));
    }
    operator.file("c", &lines);
    let imported = operator.run(&["import", "--account", "shop", "c"]);
    assert_eq!(imported.code, Some(1), "{imported:?}");
    let codes = codes(&operator);
    assert_eq!(codes.last().unwrap(), &["customer-too-large"]);
    assert!(codes.len() <= 2, "{codes:?}");
}

/// The codes of the errors of each rejected line of the file `c`.
fn codes(operator: &Operator) -> Vec<Vec<String>> {
    let lines = json_lines(&operator.read("c.errors.ndjson"));
    let codes = lines.iter().map(|line| {
        let errors = line["errors"].as_array().unwrap();
        let codes = errors.iter().map(|error| error["code"].as_str().unwrap());
        codes.map(str::to_owned).collect()
    });
    codes.collect()
}
