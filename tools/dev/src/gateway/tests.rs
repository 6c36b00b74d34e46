use std::net::TcpListener;
use std::sync::Arc;

use axum::http::{Method, Request, Response};
use emulator::Template;
use emulator::template::Cors;
use tokio::sync::mpsc;

use super::Gateway;
use crate::exchange::recent_exchanges::RecentExchanges;
use crate::functions::Functions;
use crate::functions::tests::variables_without_aws;
use crate::gateway::cors::CorsPolicy;
use crate::gateway::cors::allowed_origin::AllowedOrigin;
use crate::gateway::host_names::HostNames;
use crate::gateway::injected_response::{InjectedResponseShare, InjectedResponses};
use crate::gateway::preflights::Preflights;
use crate::gateway::routes::Routes;

/// A path of the customers function, which responds with 401 without a key, and with 204 to OPTIONS.
const PATH: &str = "/api/customers";

fn template() -> Template {
    Template::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../template.yaml").as_ref()).unwrap()
}

/// The functions without a DynamoDB. They do not call it, since no request has a key.
fn functions() -> Functions {
    let template = template();
    let variables = variables_without_aws(&template);
    Functions::start(&template, &variables, &mpsc::unbounded_channel().0).unwrap()
}

/// Starts a gateway for pages of these origins that injects these responses. Returns the address of a
/// path of it.
fn gateway(origins: &[&str], injected_responses: &[&str]) -> String {
    let cors = Cors {
        preflight: vec![("access-control-allow-methods", "GET,POST".to_owned())],
        other: vec![("access-control-expose-headers", "x-request-id".to_owned())],
    };
    let cors = CorsPolicy {
        cors,
        origins: origins
            .iter()
            .map(|origin| AllowedOrigin::parse(origin).unwrap())
            .collect(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}{PATH}", listener.local_addr().unwrap());
    let injected_responses = injected_responses
        .iter()
        .map(|text| InjectedResponseShare::parse(text).unwrap())
        .collect();
    let injected_responses = InjectedResponses::new(injected_responses, 0, Vec::new());
    let gateway = Arc::new(Gateway {
        functions: functions(),
        routes: Routes(template().routes().cloned().collect()),
        host_names: HostNames::default(),
        cors,
        injected_responses,
        preflights: Preflights::default(),
        keys: None,
        event_contracts: None,
        prints_lines: false,
        exchanges: RecentExchanges::default(),
    });
    // It listens until the runtime of the test ends.
    std::mem::forget(gateway.listen(listener).unwrap());
    address
}

async fn send(request: Request<&'static [u8]>) -> (Response<()>, Vec<u8>) {
    let response = tokio::task::spawn_blocking(move || {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .build()
            .new_agent();
        let mut response: Response<ureq::Body> = agent.run(request).unwrap();
        let body = response.body_mut().read_to_vec().unwrap();
        (response.map(drop), body)
    });
    response.await.unwrap()
}

fn cors_headers(response: &Response<()>) -> Vec<String> {
    let headers = response
        .headers()
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("access-control-"));
    let mut headers: Vec<_> = headers
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    headers.sort();
    headers
}

#[tokio::test]
async fn only_allowed_origins_get_cors_headers() {
    for (allowed, origin, expected) in [
        (
            &["http://a.example", "http://b.example:3000"][..],
            "http://b.example:3000",
            Some("http://b.example:3000"),
        ),
        (&["http://a.example"], "http://a.example.net", None),
        (&["http://a.example"], "http://A.example", None),
        (&["http://a.example"], "null", None),
        (
            &["https://*"],
            "https://a.example",
            Some("https://a.example"),
        ),
        (&["https://*"], "http://a.example", None),
        (&["*"], "http://a.example", Some("*")),
    ] {
        let request = Request::post(gateway(allowed, &[])).header("origin", origin);
        let (response, _) = send(request.body(&b""[..]).unwrap()).await;
        assert_eq!(response.status(), 401);
        let headers = cors_headers(&response);
        let added = match expected {
            Some(value) => vec![
                format!("access-control-allow-origin: {value}"),
                "access-control-expose-headers: x-request-id".to_owned(),
            ],
            None => Vec::new(),
        };
        assert_eq!(headers, added, "{origin} {allowed:?}");
    }
}

#[tokio::test]
async fn preflight_gets_the_cors_headers_of_preflights_and_another_request_those_of_others() {
    let address = gateway(&["*"], &[]);
    let asked_method = ("access-control-request-method", "POST");
    let of_preflights = "access-control-allow-methods: GET,POST";
    let of_others = "access-control-expose-headers: x-request-id";
    for (method, (name, value), added) in [
        ("OPTIONS", asked_method, of_preflights),
        ("OPTIONS", ("x", "y"), of_others),
        ("POST", asked_method, of_others),
    ] {
        let request = Request::builder().method(method).uri(&address);
        let request = request.header("origin", "http://a").header(name, value);
        let (response, _) = send(request.body(&b""[..]).unwrap()).await;
        let mut expected = ["access-control-allow-origin: *", added];
        expected.sort_unstable();
        assert_eq!(cors_headers(&response), expected, "{method} {name}");
    }
}

#[tokio::test]
async fn injected_responses_are_given_in_place_of_the_functions() {
    for (injected, status, message) in [
        ("429:1", 429, "Too Many Requests"),
        ("503:1", 503, "Service Unavailable"),
        ("429:0", 401, ""),
    ] {
        let address = gateway(&["*"], &[injected]);
        let request = |method| {
            Request::builder()
                .method(method)
                .uri(&address)
                .header("origin", "http://a")
        };
        let (response, body) = send(request(Method::POST).body(&b""[..]).unwrap()).await;
        assert_eq!(response.status().as_u16(), status, "{injected}");
        assert!(cors_headers(&response).contains(&"access-control-allow-origin: *".to_owned()));
        if status != 401 {
            assert_eq!(body, format!("{{\"message\":\"{message}\"}}").as_bytes());
        }
        let (preflight, _) = send(request(Method::OPTIONS).body(&b""[..]).unwrap()).await;
        assert_eq!(
            preflight.status().as_u16(),
            204,
            "a page sees no other status of a preflight"
        );
    }
}

#[tokio::test]
async fn request_whose_lambda_event_is_too_large_gets_the_413_of_api_gateway() {
    let address = gateway(&[], &[]);
    let megabyte = 1024 * 1024;
    let cases = [
        ("", 5 * megabyte, 401),
        ("", 6 * megabyte, 413),
        // In base64, a body is a third larger.
        ("gzip", 9 * megabyte / 2 - 10_000, 401),
        ("gzip", 9 * megabyte / 2, 413),
    ];
    for (encoding, bytes, expected) in cases {
        let body: &'static [u8] = Vec::leak(vec![b' '; bytes]);
        let mut request = Request::post(&address).header("content-type", "application/json");
        if !encoding.is_empty() {
            request = request.header("content-encoding", encoding);
        }
        let (response, text) = send(request.body(body).unwrap()).await;
        assert_eq!(response.status(), expected, "{bytes} bytes, {encoding}");
        let is_of_function = response.headers().contains_key("x-request-id");
        assert_eq!(is_of_function, expected == 401);
        if expected == 413 {
            assert_eq!(text, br#"{"message":"Request Entity Too Large"}"#);
        }
    }
}
