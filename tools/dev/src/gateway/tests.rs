use std::net::TcpListener;
use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode};
use emulator::template::{Cors, Route};

use super::Gateway;
use crate::cors::CorsPolicy;
use crate::injected::InjectedShare;

/// A server that echoes its requests. Returns its port.
async fn echo() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let echo = |request: Request<axum::body::Body>| async move {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let line = format!("{} {} {:?} ", parts.method, parts.uri, parts.headers.get("host").unwrap());
        let content_type = parts.headers.get("content-type").cloned().unwrap_or(HeaderValue::from_static(""));
        let headers = [("x-request-id", HeaderValue::from_static("i1")), ("x-content-type", content_type)];
        (StatusCode::IM_A_TEAPOT, headers, [line.as_bytes(), &body].concat())
    };
    tokio::spawn(axum::serve(listener, Router::new().fallback(echo)).into_future());
    port
}

/// A gateway for pages of these origins, in front of the server on this port. Returns its address.
fn gateway(functions_port: u16, origins: &[&str]) -> String {
    gateway_with(functions_port, origins, &[])
}

/// A gateway that also gives these answers.
fn gateway_with(functions_port: u16, origins: &[&str], answers: &[&str]) -> String {
    let cors = Cors {
        preflight: vec![("access-control-allow-methods", "GET,POST".to_owned())],
        other: vec![("access-control-expose-headers", "x-request-id".to_owned())],
    };
    let cors = CorsPolicy { cors, origins: origins.iter().map(|&origin| origin.to_owned()).collect() };
    let routes = [("/", "ANY"), ("/a%20b", "ANY"), ("/get", "GET")];
    let route =
        |(path, method): (&str, &str)| Route { path: path.into(), method: method.into(), function: String::new() };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let answers = answers.iter().map(|text| InjectedShare::parse(text).unwrap()).collect();
    Arc::new(Gateway::new(functions_port, routes.map(route).into(), cors, answers, None)).serve(listener).unwrap();
    address
}

async fn send(request: Request<&'static [u8]>) -> (Response<()>, Vec<u8>) {
    let response = tokio::task::spawn_blocking(move || {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().new_agent();
        let mut response: Response<ureq::Body> = agent.run(request).unwrap();
        let body = response.body_mut().read_to_vec().unwrap();
        (response.map(drop), body)
    });
    response.await.unwrap()
}

fn cors_headers(response: &Response<()>) -> Vec<String> {
    let headers = response.headers().iter().filter(|(name, _)| name.as_str().starts_with("access-control-"));
    let mut headers: Vec<_> = headers.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    headers.sort();
    headers
}

#[tokio::test]
async fn request_and_response_pass_unchanged() {
    let address = gateway(echo().await, &["http://page.example"]);
    let request = Request::builder().method(Method::PATCH).uri(format!("{address}/a%20b?c=%C3%A4&d"));
    let (response, body) = send(request.body(&b"\x00\xff"[..]).unwrap()).await;
    assert_eq!((response.status().as_u16(), cors_headers(&response)), (418, vec![]));
    assert_eq!(response.headers()["x-request-id"], "i1");
    let host = address.trim_start_matches("http://");
    assert_eq!(body, [format!("PATCH /a%20b?c=%C3%A4&d \"{host}\" ").as_bytes(), b"\x00\xff"].concat());
}

#[tokio::test]
async fn only_a_compressed_body_gets_a_type_that_cargo_lambda_takes_for_binary() {
    let address = gateway(echo().await, &[]);
    for (content_type, encoding, expected) in [
        ("application/json", Some("gzip"), "Application/json"),
        ("application/json; charset=utf-8", Some("gzip"), "Application/json; charset=utf-8"),
        ("application/json", None, "application/json"),
        ("text/plain", Some("gzip"), "text/plain"),
    ] {
        let mut request = Request::post(format!("{address}/")).header("content-type", content_type);
        if let Some(encoding) = encoding {
            request = request.header("content-encoding", encoding);
        }
        let (response, _) = send(request.body(&b"x"[..]).unwrap()).await;
        assert_eq!(response.headers()["x-content-type"], expected);
    }
}

#[tokio::test]
async fn unknown_path_or_method_is_the_404_of_api_gateway() {
    let address = gateway(echo().await, &[]);
    for (method, path, status) in [
        ("GET", "/get", 418),
        ("POST", "/get", 404),
        ("GET", "/get/", 404),
        ("GET", "/lambda-url/customers/get", 404),
        ("GET", "//", 404),
    ] {
        let request = Request::builder().method(method).uri(format!("{address}{path}"));
        let (response, body) = send(request.body(&b""[..]).unwrap()).await;
        assert_eq!(response.status().as_u16(), status, "{method} {path}");
        if status == 404 {
            assert_eq!(response.headers()["content-type"], "application/json");
            assert_eq!(body, b"{\"message\":\"Not Found\"}");
        }
    }
}

#[tokio::test]
async fn only_allowed_origins_get_cors_headers() {
    let functions = echo().await;
    let preflight = ("access-control-request-method", "POST");
    for (allowed, origin, value) in [
        (&["http://a.example", "http://b.example:3000"][..], "http://b.example:3000", Some("http://b.example:3000")),
        (&["http://a.example"], "http://a.example.net", None),
        (&["http://a.example"], "http://A.example", None),
        (&["http://a.example"], "null", None),
        (&["https://*"], "https://a.example", Some("https://a.example")),
        (&["https://*"], "http://a.example", None),
        (&["*"], "http://a.example", Some("*")),
    ] {
        let address = gateway(functions, allowed);
        for (method, header, added) in [
            ("OPTIONS", preflight, "access-control-allow-methods: GET,POST"),
            ("OPTIONS", ("x", "y"), "access-control-expose-headers: x-request-id"),
            ("POST", preflight, "access-control-expose-headers: x-request-id"),
        ] {
            let request = Request::builder().method(method).uri(&address).header("origin", origin);
            let (response, _) = send(request.header(header.0, header.1).body(&b""[..]).unwrap()).await;
            let origin = value.map(|value| format!("access-control-allow-origin: {value}"));
            let mut expected: Vec<_> = origin.into_iter().flat_map(|origin| [origin, added.to_owned()]).collect();
            expected.sort();
            assert_eq!((response.status().as_u16(), cors_headers(&response)), (418, expected), "{method} {allowed:?}");
        }
    }
}

#[tokio::test]
async fn functions_that_do_not_answer_are_the_503_of_api_gateway() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = gateway(free, &["*"]);
    let request = Request::get(format!("{address}/")).header("origin", "http://a.example");
    let (response, body) = send(request.body(&b""[..]).unwrap()).await;
    assert_eq!(response.status().as_u16(), 503);
    assert!(cors_headers(&response).contains(&"access-control-allow-origin: *".to_owned()));
    assert_eq!(body, b"{\"message\":\"Service Unavailable\"}");
}

#[tokio::test]
async fn answers_of_api_gateway_are_given_in_place_of_the_functions() {
    for (answer, status, message) in
        [("429:1", 429, "Too Many Requests"), ("503:1", 503, "Service Unavailable"), ("429:0", 418, "")]
    {
        let address = gateway_with(echo().await, &["*"], &[answer]);
        let request =
            |method| Request::builder().method(method).uri(format!("{address}/")).header("origin", "http://a");
        let (response, body) = send(request(Method::POST).body(&b""[..]).unwrap()).await;
        assert_eq!(response.status().as_u16(), status, "{answer}");
        assert!(cors_headers(&response).contains(&"access-control-allow-origin: *".to_owned()));
        if status != 418 {
            assert_eq!(body, format!("{{\"message\":\"{message}\"}}").as_bytes());
        }
        let (preflight, _) = send(request(Method::OPTIONS).body(&b""[..]).unwrap()).await;
        assert_eq!(preflight.status().as_u16(), 418, "a page sees no other status of a preflight");
    }
}
