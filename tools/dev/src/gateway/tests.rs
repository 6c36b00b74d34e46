use std::net::TcpListener;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::{Method, Request, Response};
use emulator::template::{Cors, Route};
use sandbox::runtime_api::{EventQueue, Invocation};
use serde_json::{Value, json};

use super::Gateway;
use crate::cors::CorsPolicy;
use crate::functions::Functions;
use crate::injected::InjectedShare;

/// A function that returns the events that it gets.
fn echo() -> Functions {
    let events = EventQueue::default();
    let served = events.clone();
    tokio::spawn(async move {
        while let Some(event) = served.next().await {
            let body: Value = serde_json::from_slice(&event.body).unwrap();
            let headers = json!({"x-request-id": "i1", "content-type": "text/plain"});
            let response = json!({"statusCode": 418, "headers": headers, "body": body.to_string()})
                .to_string()
                .into();
            let _ = event.invocation.send(Invocation {
                response,
                duration: Duration::ZERO,
                process: None,
            });
        }
    });
    Functions::of_test("F", events)
}

/// A gateway for pages of these origins, in front of these functions, that gives these answers.
/// Returns its address.
fn gateway(functions: Option<Functions>, origins: &[&str], answers: &[&str]) -> String {
    let cors = Cors {
        preflight: vec![("access-control-allow-methods", "GET,POST".to_owned())],
        other: vec![("access-control-expose-headers", "x-request-id".to_owned())],
    };
    let cors = CorsPolicy {
        cors,
        origins: origins.iter().map(|&origin| origin.to_owned()).collect(),
    };
    let routes = [("/", "ANY"), ("/a%20b", "ANY"), ("/get", "GET")];
    let route = |(path, method): (&str, &str)| Route {
        path: path.into(),
        method: method.into(),
        function: "F".to_owned(),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answers = answers
        .iter()
        .map(|text| InjectedShare::parse(text).unwrap())
        .collect();
    let functions = functions.map(OnceLock::from).unwrap_or_default();
    let gateway = Arc::new(Gateway {
        functions,
        routes: routes.map(route).into(),
        cors,
        injected: answers,
        ..Gateway::default()
    });
    gateway.serve(listener).unwrap();
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
async fn function_that_ends_or_returns_no_response_is_the_500_of_api_gateway() {
    let events = EventQueue::default();
    let address = gateway(Some(Functions::of_test("F", events.clone())), &[], &[]);
    for returned in [None, Some("{\"errorMessage\":\"x\"}")] {
        let events = events.clone();
        let function = tokio::spawn(async move {
            let event = events.next().await.unwrap();
            let response = returned.map(|text| Invocation {
                response: text.into(),
                duration: Duration::ZERO,
                process: None,
            });
            if let Some(response) = response {
                event.invocation.send(response).unwrap();
            }
        });
        let (response, body) = send(
            Request::get(format!("{address}/get"))
                .body(&b""[..])
                .unwrap(),
        )
        .await;
        assert_eq!(
            (response.status().as_u16(), &body[..]),
            (500, &b"{\"message\":\"Internal Server Error\"}"[..])
        );
        function.await.unwrap();
    }
}

#[tokio::test]
async fn only_allowed_origins_get_cors_headers() {
    let functions = echo();
    let preflight = ("access-control-request-method", "POST");
    for (allowed, origin, value) in [
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
        let address = gateway(Some(functions.clone()), allowed, &[]);
        for (method, header, added) in [
            (
                "OPTIONS",
                preflight,
                "access-control-allow-methods: GET,POST",
            ),
            (
                "OPTIONS",
                ("x", "y"),
                "access-control-expose-headers: x-request-id",
            ),
            (
                "POST",
                preflight,
                "access-control-expose-headers: x-request-id",
            ),
        ] {
            let request = Request::builder()
                .method(method)
                .uri(&address)
                .header("origin", origin);
            let (response, _) =
                send(request.header(header.0, header.1).body(&b""[..]).unwrap()).await;
            let origin = value.map(|value| format!("access-control-allow-origin: {value}"));
            let mut expected: Vec<_> = origin
                .into_iter()
                .flat_map(|origin| [origin, added.to_owned()])
                .collect();
            expected.sort();
            assert_eq!(
                (response.status().as_u16(), cors_headers(&response)),
                (418, expected),
                "{method} {allowed:?}"
            );
        }
    }
}

#[tokio::test]
async fn functions_that_do_not_run_yet_are_the_503_of_api_gateway() {
    let address = gateway(None, &["*"], &[]);
    let request = Request::get(format!("{address}/")).header("origin", "http://a.example");
    let (response, body) = send(request.body(&b""[..]).unwrap()).await;
    assert_eq!(response.status().as_u16(), 503);
    assert!(cors_headers(&response).contains(&"access-control-allow-origin: *".to_owned()));
    assert_eq!(body, b"{\"message\":\"Service Unavailable\"}");
}

#[tokio::test]
async fn answers_of_api_gateway_are_given_in_place_of_the_functions() {
    for (answer, status, message) in [
        ("429:1", 429, "Too Many Requests"),
        ("503:1", 503, "Service Unavailable"),
        ("429:0", 418, ""),
    ] {
        let address = gateway(Some(echo()), &["*"], &[answer]);
        let request = |method| {
            Request::builder()
                .method(method)
                .uri(format!("{address}/"))
                .header("origin", "http://a")
        };
        let (response, body) = send(request(Method::POST).body(&b""[..]).unwrap()).await;
        assert_eq!(response.status().as_u16(), status, "{answer}");
        assert!(cors_headers(&response).contains(&"access-control-allow-origin: *".to_owned()));
        if status != 418 {
            assert_eq!(body, format!("{{\"message\":\"{message}\"}}").as_bytes());
        }
        let (preflight, _) = send(request(Method::OPTIONS).body(&b""[..]).unwrap()).await;
        assert_eq!(
            preflight.status().as_u16(),
            418,
            "a page sees no other status of a preflight"
        );
    }
}
