//! The lines that tests and the benchmark import.

use serde_json::json;

/// Signals as a shop might export them, 20 for each customer.
pub(crate) fn export(signals: usize) -> String {
    let line = |number: usize| {
        json!({
            "customerId": format!("customer-{}", number % (signals / 20 + 1)),
            "eventType": "productView",
            "data": {
                "productId": format!("product-{}", number % 977), "brand": "Fernweh", "price": 129.9,
                "category": "shoes", "subCategory1": "sport", "subCategory2": "running", "n": number,
            },
        })
        .to_string()
    };
    (0..signals).map(|number| line(number) + "\n").collect()
}
