//! Signals that are invalid and that name a person, in all forms that a client might send.

use harness::{RequestBuilder, TestApp};
use model::timestamp::Timestamp;
use serde_json::json;

/// The person who is erased.
pub(crate) const ID: &str = "1001";

/// Others, whose ids look like it.
pub(crate) const OTHERS: [&str; 5] = ["1002", "10010", "ada", "01001", "1001a"];

/// Longer than what is kept of a payload.
pub(crate) const CUT_AFTER: usize = 310_000;

/// How many signals of a generator are so long: a command reads each of them for seconds in a debug build.
const CUT_SIGNALS: usize = 1;

/// Whether a signal is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Certain,
    Doubtful,
    Absent,
}

/// An invalid signal.
pub(crate) struct InvalidSignal {
    pub(crate) json: String,
    /// A text in it that no other signal has.
    pub(crate) marker: String,
    pub(crate) expected: Expected,
}

/// Makes invalid signals that name a person in all forms, at random.
pub(crate) struct Generator {
    random: fastrand::Rng,
    count: usize,
    cut: usize,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            count: 0,
            cut: 0,
        }
    }

    fn choose<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.random.usize(..from.len())]
    }

    /// The id as a JSON value that is no valid identifier, or is one with white space around it.
    fn value(&mut self, id: &str) -> String {
        let is_number = id.bytes().all(|byte| byte.is_ascii_digit()) && !id.starts_with('0');
        let form = self.random.usize(..if is_number { 6 } else { 3 });
        let mut value = match form {
            0 => format!("\"{id}\""),
            1 => format!("\" {id}\\n\""),
            2 => {
                let (first, rest) = id.split_at(1);
                format!("\"\\u{:04x}{rest}\"", first.as_bytes()[0])
            }
            3 => id.to_owned(),
            4 => format!("{id}.0"),
            _ => format!("{id}00e-2"),
        };
        for _ in 0..self.random.usize(..3) {
            value = match self.random.usize(..3) {
                0 => format!("[{value}]"),
                1 => format!("[null,{{}},{value},true]"),
                _ => format!("{{\"kind\":\"crm\",\"id\":{value}}}"),
            };
        }
        value
    }

    /// Members that name this id, as a client might have written them.
    fn members(&mut self, id: &str, is_top: bool) -> String {
        let names: &[&str] = if is_top {
            &["customerId", "emitterId", "customer_id", "userId"]
        } else {
            &["customerId", "emitterId"]
        };
        let member = |name: &str, value: &str| format!("\"{name}\":{value}");
        let (name, value) = (self.choose(names), self.value(id));
        let wanted = member(name, &value);
        let other = self.choose(&OTHERS);
        let other = member(self.choose(names), &self.value(other));
        match self.random.usize(..4) {
            0 => format!("{wanted},{other}"),
            1 => format!("{other},{wanted}"),
            _ => wanted,
        }
    }

    /// An invalid signal of this id.
    pub(crate) fn signal(&mut self, id: &str) -> InvalidSignal {
        self.count += 1;
        let marker = format!("m{:04}x", self.count);
        let rest = format!("\"marker\":\"{marker}\",\"eventType\":\"\"");
        let (json, expected) = match self.random.usize(..13) {
            0 => {
                let members = self.members(id, false);
                (
                    format!("{{\"signals\":[{{{members},{rest}}}]}}"),
                    Expected::Certain,
                )
            }
            1 => {
                let members = self.members(id, true);
                (format!("[{{{rest},{members}}}]"), Expected::Certain)
            }
            2 if self.cut < CUT_SIGNALS => {
                self.cut += 1;
                let members = self.members(id, true);
                let filler = "x".repeat(CUT_AFTER);
                (
                    format!("{{{rest},{members},\"data\":{{\"filler\":\"{filler}\"}}}}"),
                    Expected::Doubtful,
                )
            }
            3 => {
                let members = self.members(id, true);
                let text = format!("{{{members},{rest}}}");
                (json!(text).to_string(), Expected::Doubtful)
            }
            4 => {
                // What is in the data of another's signal is not reached.
                let other = self.choose(&OTHERS);
                let members = self.members(id, true);
                (
                    format!("{{\"customerId\":\"{other}\",{rest},\"data\":{{{members}}}}}"),
                    Expected::Absent,
                )
            }
            5 => {
                let other = self.choose(&OTHERS);
                let members = self.members(id, false);
                (
                    format!("{{\"customerId\":\"{other}\",{rest},\"referrer\":{{{members}}}}}"),
                    Expected::Doubtful,
                )
            }
            6 => {
                // Nothing but the data says whose signal it is.
                let members = self.members(id, true);
                (
                    format!("{{{rest},\"data\":{{{members}}}}}"),
                    Expected::Doubtful,
                )
            }
            7 => {
                let members = self.members(id, true);
                let text = json!(format!("{{{members}}}"));
                (format!("{{{rest},\"body\":{text}}}"), Expected::Doubtful)
            }
            _ => {
                let members = self.members(id, true);
                (format!("{{{members},{rest}}}"), Expected::Certain)
            }
        };
        InvalidSignal {
            json,
            marker,
            expected: if id == ID { expected } else { Expected::Absent },
        }
    }
}

/// Sends signals that are all rejected.
pub(crate) async fn send_invalid(
    app: &TestApp,
    key: &str,
    signals: &[InvalidSignal],
    received_at: Timestamp,
) {
    for batch in signals.chunks(20) {
        let texts: Vec<_> = batch.iter().map(|signal| signal.json.as_str()).collect();
        let body = format!("{{\"signals\":[{}]}}", texts.join(","));
        let call = RequestBuilder::signals(body).received_at(received_at);
        let response = app.send(call.key(key)).await;
        assert_eq!(response.status, 400, "{}", response.text);
    }
}

/// The markers of those that are to be found so.
pub(crate) fn markers(signals: &[InvalidSignal], expected: &[Expected]) -> Vec<String> {
    let wanted = signals
        .iter()
        .filter(|signal| expected.contains(&signal.expected));
    wanted.map(|signal| signal.marker.clone()).collect()
}

/// A text without what only makes a payload too long: to search all of it for each marker takes minutes.
pub(crate) fn without_filler(text: &str) -> String {
    text.replace(&"x".repeat(1000), "")
}

/// Expects a signal whose subject the function could read to be found for certain.
pub(crate) async fn expect_what_the_function_read(app: &TestApp, signals: &mut [InvalidSignal]) {
    for item in app.items("RejectedSignalsTable").await {
        let subject = item.get("subjectId").map(|subject| subject.as_s().unwrap());
        let payload = without_filler(item["payload"].as_s().unwrap());
        for signal in signals.iter_mut() {
            if payload.contains(&signal.marker) && subject.is_some_and(|subject| subject == ID) {
                signal.expected = Expected::Certain;
            }
        }
    }
}
