//! Whether the signals reach the lake of delivery/template.yaml, and after how long. Must not know what else is in the lake.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::time::{Duration, Instant};

use anyhow::Result;
use flate2::read::MultiGzDecoder;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::{Deserialize, Serialize};
use store::rejected_signals::day;

use super::check::Check;
use super::run::Run;
use crate::aws_call::{AwsClient, element};
use crate::output::note;
use crate::stack::Stack;
use crate::time_args::rfc3339;

/// How long to wait for the lake unless told otherwise. Firehose collects events for five minutes (`BufferingHints` of
/// delivery/template.yaml); two more are for the stream, the function and S3.
pub(super) const TIMEOUT: &str = "7m";

const INTERVAL: Duration = Duration::from_secs(5);

/// The output of delivery/template.yaml that names the bucket.
const BUCKET: &str = "LakeBucketName";

const PROMISE: &str = "Delivery";
const NAME: &str = "Every signal is in the lake";

/// After how many seconds the signals were in the lake.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Delays {
    signals: usize,
    p50_seconds: u64,
    max_seconds: u64,
}

/// What is wanted of an event of the lake.
#[derive(Deserialize)]
struct Event {
    id: String,
    source: String,
    time: Timestamp,
}

/// The lake, and the delays of the events that were found in it, by their ids.
struct Lake<'a> {
    client: AwsClient<'a>,
    bucket: String,
    account: &'a AccountId,
    read: BTreeSet<String>,
    delays: BTreeMap<String, u64>,
}

/// Looks for the events with these ids in the lake of the stack `delivery`, if one is given.
pub(super) async fn check(
    run: &Run<'_>,
    stack: &Stack,
    delivery: Option<(&str, Duration)>,
    ids: &BTreeSet<String>,
    since: Timestamp,
) -> Result<Option<Delays>> {
    let Some((name, timeout)) = delivery else {
        run.add(Check::skipped(PROMISE, NAME, "give --delivery NAME where delivery/template.yaml is deployed"));
        return Ok(None);
    };
    let Some(bucket) = stack.output_of(name, BUCKET).await? else {
        run.add(Check::skipped(PROMISE, NAME, format!("the stack {name} has no lake")));
        return Ok(None);
    };
    let client = AwsClient::new(&stack.config)?;
    let mut lake = Lake { client, bucket, account: run.account, read: BTreeSet::new(), delays: BTreeMap::new() };
    note(&format!("Waiting up to {} s for the lake ...", timeout.as_secs()));
    let began = Instant::now();
    let outcome = loop {
        let outcome = lake.read_new_objects(since).await;
        if outcome.is_err() || ids.iter().all(|id| lake.delays.contains_key(id)) || began.elapsed() > timeout {
            break outcome;
        }
        tokio::time::sleep(INTERVAL).await;
    };
    let missing: Vec<&String> = ids.iter().filter(|id| !lake.delays.contains_key(*id)).collect();
    let delays = delays(&lake.delays);
    run.add(match (outcome, missing.first()) {
        (Err(error), _) => Check::failed(PROMISE, NAME, format!("cannot read the lake: {error:#}")),
        (Ok(()), Some(first)) => {
            let (missing, seconds) = (missing.len(), began.elapsed().as_secs());
            Check::failed(
                PROMISE,
                NAME,
                format!("{missing} of {} are missing after {seconds} s; the first is {first}", ids.len()),
            )
        }
        (Ok(()), None) => {
            let Delays { signals, p50_seconds, max_seconds } = &delays;
            Check::held(
                PROMISE,
                NAME,
                format!(
                    "{signals} signals, half of them {p50_seconds} s after they were received, all {max_seconds} s"
                ),
            )
        }
    });
    Ok(Some(delays))
}

impl Lake<'_> {
    /// Reads the objects that were written since then and not read before.
    async fn read_new_objects(&mut self, since: Timestamp) -> Result<()> {
        for day in BTreeSet::from([day(since), day(Timestamp::now())]) {
            for (key, written) in self.objects(&format!("events/dt={day}/")).await? {
                // S3 lists whole seconds.
                if written.seconds() < since.seconds() || self.read.contains(&key) {
                    continue;
                }
                let object = self.client.read_bucket(&self.bucket, &percent_encoded(&key, b"/")).await?;
                self.note_events(&object, written)?;
                self.read.insert(key);
            }
        }
        Ok(())
    }

    /// The objects whose keys begin with `prefix`, and when they were written.
    async fn objects(&self, prefix: &str) -> Result<Vec<(String, Timestamp)>> {
        let mut objects: Vec<(String, Timestamp)> = Vec::new();
        loop {
            let after = objects.last().map(|(key, _)| format!("&start-after={}", percent_encoded(key, b"")));
            let query = format!("?list-type=2&prefix={}{}", percent_encoded(prefix, b""), after.unwrap_or_default());
            let page = String::from_utf8(self.client.read_bucket(&self.bucket, &query).await?)?;
            let object = |xml: &str| Some((element(xml, "Key")?.to_owned(), rfc3339(element(xml, "LastModified")?)?));
            let count = objects.len();
            objects.extend(page.split("<Contents>").skip(1).filter_map(object));
            if element(&page, "IsTruncated") != Some("true") || objects.len() == count {
                return Ok(objects);
            }
        }
    }

    /// Notes the events of the account in an object: lines of JSON, in gzip.
    fn note_events(&mut self, object: &[u8], written: Timestamp) -> Result<()> {
        let source = format!("/accounts/{}/signals", self.account);
        for line in BufReader::new(MultiGzDecoder::new(object)).lines() {
            let line = line?;
            // Most lines of a busy lake are of other accounts.
            if !line.contains(&source) {
                continue;
            }
            let event: Event = serde_json::from_str(&line)?;
            if event.source == source {
                // An event that was delivered twice was there when the first one was.
                self.delays.entry(event.id).or_insert_with(|| written.duration_since(event.time).as_secs());
            }
        }
        Ok(())
    }
}

fn delays(by_id: &BTreeMap<String, u64>) -> Delays {
    let mut seconds: Vec<u64> = by_id.values().copied().collect();
    seconds.sort_unstable();
    let middle = seconds.len().saturating_sub(1) / 2;
    let [p50_seconds, max_seconds] =
        [seconds.get(middle), seconds.last()].map(|delay| delay.copied().unwrap_or_default());
    Delays { signals: seconds.len(), p50_seconds, max_seconds }
}

/// The text for a URL, with the bytes of `kept` as they are.
fn percent_encoded(text: &str, kept: &[u8]) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if kept.contains(&byte) => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_args::duration;

    #[test]
    fn timeout_is_two_minutes_longer_than_firehose_collects() {
        let delivery = include_str!("../../../../delivery/template.yaml");
        let (_, hints) = delivery.split_once("BufferingHints: {IntervalInSeconds: ").unwrap();
        let collects: u64 = hints.split_once(',').unwrap().0.parse().unwrap();
        assert_eq!(duration(TIMEOUT).unwrap().as_secs(), collects + 120);
        assert!(delivery.contains(&format!("\n  {BUCKET}:\n")));
    }

    #[test]
    fn keys_of_objects_are_encoded_for_a_url() {
        assert_eq!(percent_encoded("events/dt=2026-11-22/a b", b"/"), "events/dt%3D2026-11-22/a%20b");
        assert_eq!(percent_encoded("events/", b""), "events%2F");
    }
}
