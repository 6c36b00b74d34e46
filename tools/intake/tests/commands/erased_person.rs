//! After an erasure in the tables and in the lake, nothing is left of a person, whatever was stored: valid,
//! invalid or deferred.

use harness::fake_s3::FakeS3;
use harness::fault_proxy::Plan;
use harness::{AppBehindProxy, RequestBuilder};
use model::timestamp::Timestamp;
use serde_json::json;

use crate::support::invalid_signals::{
    Expected, Generator, ID, OTHERS, expect_what_the_function_read, markers, send_invalid,
    without_filler,
};
use crate::support::lake::events;
use crate::support::operator::Operator;
use crate::support::requests::{FLOW, send};

const TABLES: [&str; 4] = [
    "CustomersTable",
    "SignalsTable",
    "RejectedSignalsTable",
    "IdempotencyTable",
];

/// How many requests with valid data are sent. DynamoDB is unavailable for one of eight.
const REQUESTS: usize = 48;

/// The functions with their queue, and the lake.
struct World {
    functions: AppBehindProxy,
    s3: FakeS3,
}

impl World {
    async fn start() -> Self {
        Self {
            functions: AppBehindProxy::start(Plan::none()).await,
            s3: FakeS3::start().await.unwrap(),
        }
    }

    fn operator(&self) -> Operator {
        Operator::new(&self.functions.app)
            .with_queues(&self.functions.app.sqs)
            .variable("AWS_ENDPOINT_URL_S3", &self.s3.endpoint())
    }

    /// All that the tables have, as text.
    async fn stored(&self) -> String {
        let mut stored = Vec::new();
        for table in TABLES {
            stored.extend(self.functions.app.items(table).await);
        }
        without_filler(&format!("{stored:?}"))
    }

    fn lake(&self) -> String {
        without_filler(&json!(events(&self.s3)).to_string())
    }
}

/// A request with valid data of this id, at random, with this marker.
fn valid_request(random: &mut fastrand::Rng, id: &str, marker: &str) -> RequestBuilder {
    let data = json!({ "marker": marker });
    match random.usize(..3) {
        0 => {
            // Another field each time, so that no update replaces what another has stored.
            let profile = json!({ marker: marker });
            RequestBuilder::customer(json!({"customerId": id, "customerData": profile}))
        }
        1 => RequestBuilder::signals(
            json!({"signals": [{"customerId": id, "eventType": "t", "data": data}]}),
        ),
        _ => RequestBuilder::signals(
            json!({"signals": [{"emitterId": id, "stepNodeId": "n", "eventflowIdentifier": FLOW, "data": data}]}),
        ),
    }
}

/// Those of the markers that the text has.
fn found<'a>(markers: &'a [String], text: &str) -> Vec<&'a String> {
    markers
        .iter()
        .filter(|marker| text.contains(marker.as_str()))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_an_erased_person_in_tables_queue_lake_and_export() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let world = World::start().await;
    let functions = &world.functions;
    let operator = world.operator();
    let mut generator = Generator::new(seed);
    let mut invalid: Vec<_> = (0..20).map(|_| generator.signal(ID)).collect();
    invalid.extend((0..20).map(|n| generator.signal(OTHERS[n % OTHERS.len()])));
    send_invalid(&functions.app, &functions.key, &invalid, Timestamp::now()).await;
    expect_what_the_function_read(&functions.app, &mut invalid).await;

    let (mut persons, mut others) = (Vec::new(), Vec::new());
    for n in 0..REQUESTS {
        let is_persons = n % 2 == 0;
        let id = if is_persons {
            ID
        } else {
            OTHERS[random.usize(..OTHERS.len())]
        };
        let marker = format!("v{n:04}");
        let call = valid_request(&mut random, id, &marker);
        if n % 16 < 2 {
            functions.send_deferred(call).await;
        } else {
            send(&functions.app, &functions.key, call).await;
        }
        let markers = if is_persons {
            &mut persons
        } else {
            &mut others
        };
        markers.push(marker);
    }

    let backfill = ["lake", "backfill", "--bucket", "lake"];
    operator.run(&backfill).success();
    let erase = ["customers", "erase", "--account", "shop", ID];
    let erase = operator.local(&[&erase[..], &["--yes"]].concat());
    let refused = operator.run(&erase).error_message();
    assert!(
        refused.starts_with("The overflow queue has "),
        "seed {seed}: {refused}"
    );
    functions.drain().await;
    operator.run(&backfill).success();
    let (stored, in_lake) = (world.stored().await, world.lake());
    let all = [&persons[..], &others].concat();
    assert_eq!(found(&all, &stored).len(), REQUESTS, "seed {seed}");
    assert_eq!(found(&all, &in_lake).len(), REQUESTS, "seed {seed}");

    let counted = operator.run(&[&erase[..], &["--dry-run", "--json"]].concat());
    let doubtful = counted.json()[0]["doubtfulRejectedSignals"].clone();
    let doubtful = doubtful.as_array().unwrap().iter();
    let named = doubtful.flat_map(|id| ["--rejected", id.as_str().unwrap()]);
    let named: Vec<_> = erase.iter().copied().chain(named).collect();
    let erased = operator.run(&named).success().stdout;
    let beginning = "Erased what is stored of \"1001\" in the account shop, at 20";
    assert!(erased.starts_with(beginning), "seed {seed}: {erased}");
    let in_lake = ["lake", "erase", "customer", "--bucket", "lake"];
    let this = ["--account", "shop", "--yes"];
    let id = format!("--id={ID}");
    operator
        .run(&[&in_lake[..], &this, &[&id]].concat())
        .success();

    persons.extend(markers(&invalid, &[Expected::Certain, Expected::Doubtful]));
    let others_invalid = markers(&invalid, &[Expected::Absent]);
    let none: [&String; 0] = [];
    let (stored, in_lake) = (world.stored().await, world.lake());
    assert_eq!(found(&persons, &stored), none, "seed {seed}");
    assert_eq!(found(&persons, &in_lake), none, "seed {seed}");
    assert_eq!(
        functions.app.sqs.remaining() + functions.app.sqs.dead_letters(),
        0
    );
    let export = ["customers", "export", "--account", "shop", ID];
    assert_eq!(
        operator.run(&export).error_message(),
        "Nothing is stored of \"1001\" in the account shop.",
        "seed {seed}"
    );
    assert_eq!(found(&others, &stored).len(), others.len(), "seed {seed}");
    assert_eq!(found(&others, &in_lake).len(), others.len(), "seed {seed}");
    let left = found(&others_invalid, &stored).len();
    assert_eq!(left, others_invalid.len(), "seed {seed}");
}
