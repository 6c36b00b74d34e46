//! Which events of the lake an erasure removes: a pure rule. Must not know where the events are.

use std::borrow::Cow;
use std::io::{self, BufRead as _, BufReader, Write as _};

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use model::account::AccountId;
use model::timestamp::Timestamp;
use serde::Deserialize;

/// The events of an account that are removed.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    pub(super) account: AccountId,
    pub(super) events: SelectedEvents,
}

#[derive(Clone, Debug)]
pub(super) enum SelectedEvents {
    /// All, of signals and of customers.
    All,
    /// Those of customers and emitters with these ids.
    Subjects(Vec<String>),
    /// Signals of an eventType or a stepNodeId that arrived from `since` on and before `until`.
    Type {
        signal_type: String,
        since: Timestamp,
        until: Timestamp,
    },
}

/// What the rule needs of a line of the lake, which is a CloudEvent.
#[derive(Deserialize)]
struct EventLine<'a> {
    #[serde(borrow)]
    source: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    event_type: Cow<'a, str>,
    #[serde(borrow)]
    subject: Cow<'a, str>,
    #[serde(borrow)]
    time: Cow<'a, str>,
}

/// An object without the events that are removed.
#[derive(Debug, Default)]
pub(super) struct Remaining {
    /// The lines that stay, as gzip.
    pub(super) body: Vec<u8>,
    /// How many events were removed.
    pub(super) removed: usize,
    /// How many lines are no events that this module can read. They stay.
    pub(super) unreadable: usize,
}

impl Selection {
    fn selects(&self, event: &EventLine<'_>) -> bool {
        let is_from = |kind: &str| event.source == format!("/accounts/{}/{kind}", self.account);
        match &self.events {
            SelectedEvents::All => is_from("signals") || is_from("customers"),
            SelectedEvents::Subjects(ids) => {
                let is_named = ids.iter().any(|id| *id == event.subject);
                is_named && (is_from("signals") || is_from("customers"))
            }
            SelectedEvents::Type {
                signal_type,
                since,
                until,
            } => {
                // Timestamps of the service sort as text (docs/data-model.md).
                let is_in_period =
                    *event.time >= *since.to_string() && *event.time < *until.to_string();
                is_from("signals") && event.event_type == *signal_type && is_in_period
            }
        }
    }

    /// Removes the events from an object.
    ///
    /// # Errors
    /// The object is no gzip.
    pub(super) fn remove_from(&self, object: &[u8]) -> io::Result<Remaining> {
        let mut lines = BufReader::new(MultiGzDecoder::new(object));
        let mut kept = GzEncoder::new(Vec::new(), Compression::default());
        let mut remaining = Remaining::default();
        if object.is_empty() {
            // A program that shows S3 as folders may have made it.
            return Ok(remaining);
        }
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            let is_blank = line.iter().all(u8::is_ascii_whitespace);
            let is_removed = match serde_json::from_slice::<EventLine<'_>>(&line) {
                Ok(event) => self.selects(&event),
                Err(_) if is_blank => false,
                Err(_) => {
                    remaining.unreadable += 1;
                    false
                }
            };
            if is_removed {
                remaining.removed += 1;
            } else {
                kept.write_all(&line)?;
            }
            line.clear();
        }
        remaining.body = kept.finish()?;
        Ok(remaining)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use serde_json::{Value, json};

    use super::*;

    fn event(number: u32, more: &Value) -> Value {
        let time = format!("2026-11-20T00:00:0{number}.000Z");
        let mut event = json!({
            "specversion": "1.0", "id": format!("{number}"), "source": "/accounts/acme/signals", "type": "purchase",
            "subject": "c", "time": time, "data": {"customerId": "c", "subject": "other", "source": "x"},
        });
        for (name, value) in more.as_object().unwrap() {
            event[name] = value.clone();
        }
        event
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn removed(events: SelectedEvents, lines: &[Value]) -> Vec<String> {
        let selection = Selection {
            account: "acme".parse().unwrap(),
            events,
        };
        // Firehose joins members of gzip.
        let object: Vec<u8> = lines
            .iter()
            .flat_map(|line| gzip(&format!("{line}\n")))
            .collect();
        let remaining = selection.remove_from(&object).unwrap();
        let mut text = String::new();
        MultiGzDecoder::new(&remaining.body[..])
            .read_to_string(&mut text)
            .unwrap();
        let kept: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let gone: Vec<&Value> = lines.iter().filter(|line| !kept.contains(line)).collect();
        assert_eq!(remaining.removed, gone.len());
        assert_eq!(remaining.unreadable, 0);
        assert_eq!(kept.len() + gone.len(), lines.len());
        gone.iter()
            .map(|line| line["id"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn events_of_subjects_are_removed_with_signals_and_changes() {
        let lines = [
            event(1, &json!({})),
            event(
                2,
                &json!({"source": "/accounts/acme/customers", "type": "intake.customer.deleted"}),
            ),
            event(3, &json!({"subject": "*"})),
            event(4, &json!({"source": "/accounts/other/signals"})),
            event(5, &json!({"subject": "--all"})),
            event(6, &json!({"subject": "C"})),
        ];
        let of = |ids: &[&str]| {
            let ids = ids.iter().map(|id| (*id).to_owned()).collect();
            removed(SelectedEvents::Subjects(ids), &lines)
        };
        assert_eq!(of(&["c"]), ["1", "2"]);
        assert_eq!(of(&["*", "--all"]), ["3", "5"]);
        assert_eq!(of(&[""]), Vec::<String>::new());
        assert_eq!(
            removed(SelectedEvents::All, &lines),
            ["1", "2", "3", "5", "6"]
        );
    }

    #[test]
    fn signals_of_one_type_and_period_are_removed() {
        let lines = [
            event(1, &json!({})),
            event(2, &json!({})),
            event(3, &json!({})),
            event(4, &json!({})),
            event(
                5,
                &json!({"type": "login", "time": "2026-11-20T00:00:02.000Z"}),
            ),
            event(
                6,
                &json!({"source": "/accounts/acme/customers", "time": "2026-11-20T00:00:02.000Z"}),
            ),
        ];
        let selected = SelectedEvents::Type {
            signal_type: "purchase".to_owned(),
            since: "2026-11-20T00:00:02.000Z".parse().unwrap(),
            until: "2026-11-20T00:00:04.000Z".parse().unwrap(),
        };
        assert_eq!(removed(selected, &lines), ["2", "3"]);
    }

    #[test]
    fn line_that_is_no_event_stays_and_is_counted() {
        let selection = Selection {
            account: "acme".parse().unwrap(),
            events: SelectedEvents::All,
        };
        let text = format!("{{\"source\":\n\n{}\n{{}}", event(1, &json!({})));
        let remaining = selection.remove_from(&gzip(&text)).unwrap();
        assert_eq!((remaining.removed, remaining.unreadable), (1, 2));
        assert!(selection.remove_from(b"no gzip").is_err());
    }
}
