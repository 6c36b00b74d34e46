//! What each fuzz target does with an input. `cargo test` tries the inputs of tests/fuzz/corpus;
//! `.ci/fuzz` looks for new ones.

use std::cell::RefCell;

use emulator::development_key;
use lambda_http::http::Request;
use lambda_http::{Body, Context, RequestExt as _, http};
use model::json::JsonText;
use model::limits::MAX_BODY_BYTES;
use model::timestamp::Timestamp;
use service::body::read_body;
use service::context::RequestContext;
use service::prefer::Handling;
use service::problem::Problem;
use service::telemetry::log::Log;
use tokio::runtime::{Builder, Runtime};

use crate::{Item, RequestBuilder, TestApp, template};

/// Tries one input, and panics when it does not hold. Returns whether the input was accepted: a
/// target that accepts none of its inputs has checked little.
pub type Check = fn(&[u8]) -> bool;

/// Every target: the name of its folder in tests/fuzz/corpus, and what it does.
pub const TARGETS: [(&str, Check); 3] = [
    ("event", check_event),
    ("headers", check_headers),
    ("request", check_request),
];

/// The emulator keeps everything in memory, so it is another one after so many inputs.
const INPUTS_PER_APP: usize = 500;

/// An app that knows the key of the examples in `events/`, and how many inputs it has had.
struct FuzzedApp {
    runtime: Runtime,
    app: TestApp,
    inputs: usize,
}

impl FuzzedApp {
    fn new() -> Self {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let app = runtime.block_on(async { TestApp::start() });
        development_key::load(&app.emulator, template()).expect("the key can be stored");
        Self {
            runtime,
            app,
            inputs: 0,
        }
    }
}

thread_local! {
    static FIXTURE: RefCell<Option<FuzzedApp>> = const { RefCell::new(None) };
}

/// Tries an input on the app of this thread. `work` also gets the number of the input, which no
/// other input of the same app has.
fn try_on_app(work: impl AsyncFnOnce(&TestApp, usize) -> bool) -> bool {
    FIXTURE.with_borrow_mut(|fixture| {
        drop(fixture.take_if(|fixture| fixture.inputs >= INPUTS_PER_APP));
        let FuzzedApp {
            runtime,
            app,
            inputs,
        } = fixture.get_or_insert_with(FuzzedApp::new);
        *inputs += 1;
        runtime.block_on(work(app, *inputs))
    })
}

/// Any bytes as the event of an invocation: both functions return a response that is no 5xx
/// and, unless it is a success, a problem. The key of the examples in `events/` is valid.
fn check_event(event: &[u8]) -> bool {
    try_on_app(async |app, _| {
        let mut is_accepted = false;
        for response in app.invoke(event).await {
            assert!((200..500).contains(&response.status), "{}", response.text);
            assert!(!response.header("x-request-id").is_empty());
            if response.status >= 400 {
                let body = response.json();
                response.assert_problem(response.status, body["code"].as_str().expect("a code"));
            }
            is_accepted |= response.status == 200;
        }
        is_accepted
    })
}

/// Any headers and any bytes: a body is read as text within the limit, or refused with a 4xx. The
/// input is lines of `name: value`, an empty line, and the body.
fn check_headers(input: &[u8]) -> bool {
    let mut request = Request::new(Body::Empty).with_lambda_context(Context::default());
    let mut rest = input;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = &rest[..end];
        rest = &rest[end + 1..];
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            break;
        };
        let name = http::HeaderName::from_bytes(line[..colon].trim_ascii());
        let value = http::HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            let _ = request.headers_mut().try_append(name, value);
        }
    }
    *request.body_mut() = Body::Binary(rest.to_vec());
    let _ = Handling::read(request.headers());
    let mut context =
        RequestContext::from_request(&request, Timestamp::now(), Log::new("fuzz", |_| {}));
    let problem = match read_body(&request, &mut context) {
        Ok(body) => {
            assert!(body.len() <= MAX_BODY_BYTES);
            JsonText::parse(&body).err().map(Problem::from)
        }
        Err(problem) => Some(problem),
    };
    if let Some(problem) = &problem {
        assert!((400..500).contains(&problem.problem_type().status));
    }
    problem.is_none()
}

/// Any body to the real functions over an emulator: never a 5xx, every signal counted once, nothing
/// that the parser accepted refused by the database, and as much stored as was acknowledged. The
/// first byte says which endpoint.
fn check_request(input: &[u8]) -> bool {
    try_on_app(async |app, number| {
        let account = format!("account-{number}");
        let key = app.key(&account).await;
        let (endpoint, body) = match input.split_first() {
            Some((first, rest)) => (first % 3, rest),
            None => (0, input),
        };
        let call = match endpoint {
            0 => RequestBuilder::signals(""),
            1 => RequestBuilder::customer(""),
            _ => RequestBuilder::customer("").method("PATCH"),
        };
        let response = app.send(call.key(&key).bytes(body)).await;
        assert!(response.status < 500, "{}", response.text);
        assert!(
            !response.text.contains("refused-by-store"),
            "{}",
            response.text
        );
        let json = response.json();
        let count = |name: &str| json[name].as_u64();
        if let Some(received) = count("received") {
            let accepted = count("accepted").expect("a count of accepted signals");
            let rejected = count("rejected").expect("a count of rejected signals");
            assert_eq!(accepted + rejected, received);
            let items = app.items("SignalsTable").await;
            let is_own = |item: &&Item| item["accountId"].as_s().is_ok_and(|id| *id == account);
            let stored = items.iter().filter(is_own).count();
            assert_eq!(stored as u64, accepted);
        }
        response.status == 200
    })
}
