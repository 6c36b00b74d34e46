//! Every record is delivered while the function is killed and its targets fail.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::fake_targets::FakeTargets;
use testkit::function_process::{FunctionProcess, ProcessOptions};

use crate::support::delivery::{BOTH, id, ids, ids_of, ids_of_lines, options, signals};

/// Records that are added at once, while fewer wait.
const RECORDS: usize = 300;

/// How often the process is killed.
const KILLS: usize = 8;

/// The records of a shard that are not delivered yet, as Lambda reads them: a batch comes again
/// from its first undelivered record.
#[derive(Default)]
struct Shard(VecDeque<Value>);

impl Shard {
    /// The event of a batch of at most so many records.
    fn event(&self, at_most: usize) -> Value {
        json!({"Records": self.0.iter().take(at_most).collect::<Vec<_>>()})
    }

    /// Goes on after the response to a batch: the records before the failed one are delivered.
    fn advance(&mut self, batch: &Value, response: &Value) {
        let records = batch["Records"].as_array().unwrap();
        let failed = &response["batchItemFailures"]
            .as_array()
            .expect("the response to a batch")[..];
        assert!(failed.len() <= 1, "{response}");
        let delivered = failed.first().map_or(records.len(), |failed| {
            let is_failed =
                |record: &Value| record["dynamodb"]["SequenceNumber"] == failed["itemIdentifier"];
            records
                .iter()
                .position(is_failed)
                .expect("a record of the batch failed")
        });
        self.0.drain(..delivered);
    }
}

async fn start(options: &ProcessOptions) -> FunctionProcess {
    FunctionProcess::start(options).await.unwrap()
}

/// The ids in the order of their last copies.
fn last_copies(ids: &[String]) -> Vec<&String> {
    let last: BTreeMap<&String, usize> = ids
        .iter()
        .enumerate()
        .map(|(place, id)| (id, place))
        .collect();
    let mut last: Vec<_> = last.into_iter().collect();
    last.sort_by_key(|(_, place)| *place);
    last.into_iter().map(|(id, _)| id).collect()
}

#[tokio::test]
async fn every_record_is_delivered_while_processes_die_and_targets_fail() {
    let targets = FakeTargets::start().await.unwrap();
    targets.fail_at_random(0.1, fastrand::u64(..));
    let (options, _log) = options(&targets, BOTH);
    let mut process = start(&options).await;
    let mut shard = Shard::default();
    let mut records = 0;
    let mut kills = 0;
    let began = Instant::now();
    while !shard.0.is_empty() || kills < KILLS {
        assert!(
            began.elapsed() < Duration::from_mins(5),
            "{} records are not delivered",
            shard.0.len()
        );
        if kills == KILLS {
            targets.fail_at_random(0.0, 0);
        } else if shard.0.len() < RECORDS {
            let mut more = signals(records..records + RECORDS);
            if records == 0 {
                more[RECORDS / 2]["eventName"] = json!("UPDATE");
            }
            shard.0.extend(more);
            records += RECORDS;
        }
        let batch = shard.event(fastrand::usize(1..80));
        let invocation = options.events.invoke(batch.to_string().into());
        tokio::pin!(invocation);
        let lifetime = if kills < KILLS {
            Duration::from_millis(fastrand::u64(1..200))
        } else {
            Duration::from_mins(1)
        };
        tokio::select! {
            response = &mut invocation => shard.advance(&batch, &response.unwrap().json()),
            () = tokio::time::sleep(lifetime) => {
                process.kill().await.unwrap();
                process = start(&options).await;
                // An event that the killed process had not taken is for the next one.
                if let Some(response) = invocation.await {
                    shard.advance(&batch, &response.json());
                }
                kills += 1;
            }
        }
    }
    assert_eq!(kills, KILLS);
    assert_eq!(process.invocation_errors(), 0);
    let expected = ids_of((0..records).filter(|number| *number != RECORDS / 2));
    let lines: Vec<_> = targets
        .take_records()
        .iter()
        .flat_map(|record| record.lines())
        .map(ToOwned::to_owned)
        .collect();
    let detail = |entry: &Value| serde_json::from_str(entry["Detail"].as_str().unwrap()).unwrap();
    let on_the_bus: Vec<Value> = targets.take_entries().iter().map(detail).collect();
    for delivered in [ids_of_lines(&lines), ids(&on_the_bus)] {
        // Nothing else is delivered, and the last copies are in the order of the stream.
        assert_eq!(last_copies(&delivered), expected.iter().collect::<Vec<_>>());
        assert!(
            delivered.len() > expected.len(),
            "nothing came twice: the faults did nothing"
        );
    }
    assert_eq!(
        targets.objects().len(),
        1,
        "the unreadable record {}",
        id(RECORDS / 2)
    );
}
