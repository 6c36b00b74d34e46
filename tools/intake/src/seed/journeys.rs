//! What made-up customers do: they look around a shop, some buy, some leave a full cart and are written to; and now and
//! then their client sends something wrong.

use fastrand::Rng;
use serde_json::{Value, json};
use shared::model::identifier::{RequestIdentifier, UuidText};
use shared::model::timestamp::Timestamp;
use uuid::Builder;

use super::earlier;
use super::people::Person;

/// How far back journeys go, in minutes: a week.
const MINUTES: u64 = 7 * 24 * 60;

/// The workflow that follows an abandoned cart.
const REMINDER_FLOW: &str = "5b1a7a52-0c1e-4c52-9d1b-6f2f3b3f8a01";

/// The workflow that follows a purchase.
const THANKS_FLOW: &str = "c0a80f5e-41e2-4f60-8f0e-2f9d3c1d7b02";

/// Product, brand, category, its three sub-categories, price.
const PRODUCTS: [(&str, &str, [&str; 4], f64); 8] = [
    ("trail-runner-3", "Fernweh", ["shoes", "sport", "running", "trail"], 129.9),
    ("city-sneaker", "Fernweh", ["shoes", "casual", "sneakers", "low"], 89.0),
    ("rain-shell", "Nordlicht", ["clothing", "outdoor", "jackets", "rain"], 219.5),
    ("merino-tee", "Nordlicht", ["clothing", "basics", "shirts", "merino"], 54.95),
    ("daypack-18", "Packesel", ["bags", "backpacks", "day", "18 l"], 74.0),
    ("duffel-60", "Packesel", ["bags", "travel", "duffels", "60 l"], 139.0),
    ("steel-bottle", "Quelle", ["accessories", "drinking", "bottles", "steel"], 24.9),
    ("head-torch", "Lumen", ["accessories", "light", "torches", "head"], 39.99),
];

/// Signals that came in one request.
pub(super) struct Visit {
    pub(super) at: Timestamp,
    pub(super) request: RequestIdentifier,
    pub(super) signals: Vec<String>,
}

/// The week of one person, oldest first.
pub(super) fn draw(person: &Person, today: Timestamp, rng: &mut Rng) -> Vec<Visit> {
    let mut visits = Vec::new();
    for _ in 0..rng.u8(1..=4) {
        let minutes_ago = rng.u64(60..MINUTES);
        visits.extend(visit(person, minutes_ago, today, rng));
    }
    visits.sort_by_key(|visit| visit.at);
    visits
}

/// One visit to the shop, and the workflow that comes of it.
fn visit(person: &Person, minutes_ago: u64, today: Timestamp, rng: &mut Rng) -> Vec<Visit> {
    let at = |minutes_later: u64| earlier(today, minutes_ago.saturating_sub(minutes_later));
    let product = rng.choice(PRODUCTS).unwrap_or_default();
    let event = |kind: &str, data: Value| json!({"customerId": person.id, "eventType": kind, "data": data}).to_string();
    let mut signals = vec![event("pageview", json!({"path": "/"})), event("productView", details(product, 1))];
    let outcome = rng.u8(0..10);
    let mut visits = Vec::new();
    if outcome >= 4 {
        let pieces = rng.u8(1..=3);
        signals.push(event("addToCart", details(product, pieces)));
        let journey = uuid(rng);
        let steps: [(&str, u64); 3] = if outcome >= 7 {
            signals.push(event("purchase", details(product, pieces)));
            [("purchase", 0), ("wait-a-day", 1), ("ask-for-a-review", 30)]
        } else {
            [("addToCart", 0), ("wait-an-hour", 1), ("remind-of-the-cart", 50)]
        };
        let flow = if outcome >= 7 { THANKS_FLOW } else { REMINDER_FLOW };
        for (node, later) in steps {
            let step = json!({"emitterId": journey, "stepNodeId": node, "data": {"customerId": person.id}, "eventflowIdentifier": flow});
            visits.push(Visit { at: at(later), request: request(rng), signals: vec![step.to_string()] });
        }
    }
    // What clients get wrong, as seen in the wild: a variable that was never set, a member that was forgotten.
    match rng.u8(0..40) {
        0 => signals.push(json!({"customerId": "undefined", "eventType": "pageview", "data": {}}).to_string()),
        1 => signals.push(json!({"customerId": person.id, "data": {"path": "/cart"}}).to_string()),
        2 => signals.push(json!({"emitterId": person.id, "stepNodeId": "start", "data": null}).to_string()),
        _ => {}
    }
    visits.push(Visit { at: at(0), request: request(rng), signals });
    visits
}

fn details((product, brand, categories, price): (&str, &str, [&str; 4], f64), pieces: u8) -> Value {
    let [category, first, second, third] = categories;
    json!({
        "productId": product, "brand": brand, "price": price, "pieces": pieces,
        "category": category, "subCategory1": first, "subCategory2": second, "subCategory3": third,
    })
}

fn uuid(rng: &mut Rng) -> String {
    Builder::from_random_bytes(rng.u128(..).to_be_bytes()).into_uuid().to_string()
}

fn request(rng: &mut Rng) -> RequestIdentifier {
    UuidText::parse(uuid(rng)).map_or_else(RequestIdentifier::random, RequestIdentifier::from)
}
