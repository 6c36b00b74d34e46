//! A signal of a client: the text that is sent, and what has to be stored of it. Both are written
//! out here, so that nothing of the service decides what is expected.

use serde_json::{Value, json};
use uuid::{Builder, Uuid};

/// A signal that a client generates.
#[derive(Debug)]
pub struct GeneratedSignal<'a> {
    /// The account that sends it.
    pub account_id: &'a str,
    /// The id of its customer or emitter.
    pub subject_id: &'a str,
    /// The number of its customer within the account, if it is even, or of its emitter.
    pub subject_in_account: u32,
    /// Its eventType or its stepNodeId.
    pub action: &'a str,
    /// The number of its request.
    pub request: u64,
    /// Its index in the request.
    pub n: usize,
    /// A number in it, by which signals differ in what else they have.
    pub price: u16,
}

impl GeneratedSignal<'_> {
    fn is_event(&self) -> bool {
        self.subject_in_account.is_multiple_of(2)
    }

    /// One signal in four has fields that the contract does not know.
    fn has_unknown_fields(&self) -> bool {
        self.price.is_multiple_of(4)
    }

    /// A number with 38 digits, the most that DynamoDB stores. In one signal of eight it is an
    /// integer, which the bus does not take.
    fn digits(&self) -> String {
        let point = if self.price.is_multiple_of(8) {
            ""
        } else {
            "."
        };
        format!("1{point}{:036}7", self.price)
    }

    fn flow(&self) -> Uuid {
        Builder::from_random_bytes(u128::from(self.subject_in_account).to_be_bytes()).into_uuid()
    }

    /// The text that is sent.
    pub fn text(&self) -> String {
        let Self {
            subject_id: subject,
            action,
            request,
            n,
            price,
            ..
        } = self;
        let digits = self.digits();
        let flow = self.flow();
        let unknown = if self.has_unknown_fields() {
            format!(r#""sessionId":"{subject}-s","rank":{price},"#)
        } else {
            String::new()
        };
        let identity = if self.is_event() {
            format!(r#""customerId":"{subject}","eventType":"{action}""#)
        } else {
            format!(
                r#""emitterId":"{subject}","stepNodeId":"{action}","eventflowIdentifier":"{flow}""#
            )
        };
        format!(
            r#"{{{unknown}{identity},"data":{{"request":{request},"n":{n},"note":"{subject} \u00e9\n😀","price":{price}.5,"digits":{digits},"tiny":-1.5e-7,"list":[1,true,null,"x",{{}}]}}}}"#
        )
    }

    /// What has to be stored of it. A rejected signal is stored as it was sent.
    pub fn stored(&self, is_rejected: bool) -> String {
        if is_rejected {
            self.text()
        } else {
            self.item().to_string()
        }
    }

    /// The attributes of its item that follow from its text, as DynamoDB's JSON.
    fn item(&self) -> Value {
        let Self {
            account_id,
            subject_id: subject,
            action,
            request,
            n,
            price,
            ..
        } = self;
        let data = json!({
            "request": {"N": request.to_string()},
            "n": {"N": n.to_string()},
            "note": {"S": format!("{subject} é\n😀")},
            "price": {"N": format!("{price}.5")},
            "digits": {"N": self.digits()},
            "tiny": {"N": "-0.00000015"},
            "list": {"L": [{"N": "1"}, {"BOOL": true}, {"NULL": true}, {"S": "x"}, {"M": {}}]},
        });
        let identity = if self.is_event() {
            json!({"customerId": {"S": subject}, "eventType": {"S": action}})
        } else {
            let flow = self.flow().to_string();
            json!({"emitterId": {"S": subject}, "stepNodeId": {"S": action}, "eventflowIdentifier": {"S": flow}})
        };
        let unknown = if self.has_unknown_fields() {
            let session = format!("{subject}-s");
            let rank = price.to_string();
            json!({"undocumented": {"M": {"sessionId": {"S": session}, "rank": {"N": rank}}}})
        } else {
            json!({})
        };
        let mut item = json!({"accountId": {"S": account_id}, "data": {"M": data}});
        for part in [identity, unknown] {
            let attributes = part.as_object().into_iter().flatten();
            for (name, value) in attributes {
                item[name] = value.clone();
            }
        }
        item
    }
}
