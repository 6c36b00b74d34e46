//! What API Gateway does for browser pages of other origins, in front of `cargo lambda watch`: it adds the headers of the
//! template's `CorsConfiguration` to the functions' answers. The functions answer preflights themselves, as they do behind
//! API Gateway, whose routes have the method ANY.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::body::Body;
use axum::extract::Request;
use axum::handler::HandlerWithoutStateExt as _;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_REQUEST_METHOD, HeaderName, ORIGIN};
use axum::http::uri::{Authority, PathAndQuery, Scheme, Uri};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::serve::ListenerExt as _;
use dev::template::Cors;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;

/// Answers on `port` of 127.0.0.1 what the functions on `functions_port` answer, with the headers that `cors` has for pages
/// of `origins`, until the runtime ends.
///
/// # Errors
/// The port is taken.
pub(crate) async fn serve(port: u16, functions_port: u16, cors: Cors, origins: Vec<String>) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener = listener.with_context(|| format!("Cannot listen on port {port} of 127.0.0.1 (--port)"))?;
    let listener = listener.tap_io(|stream| {
        // Without it, a response may only be a little later.
        let _ = stream.set_nodelay(true);
    });
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let functions = Authority::try_from(format!("127.0.0.1:{functions_port}")).context("Cannot reach the functions")?;
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let gateway = Arc::new(Gateway { client, functions, cors, origins });
    let handle = move |request: Request| {
        let gateway = Arc::clone(&gateway);
        async move { gateway.answer(request).await }
    };
    tokio::spawn(axum::serve(listener, handle.into_make_service()).into_future());
    Ok(())
}

struct Gateway {
    client: Client<HttpConnector, Body>,
    functions: Authority,
    cors: Cors,
    origins: Vec<String>,
}

impl Gateway {
    async fn answer(&self, request: Request) -> Response {
        let added = self.headers_for(request.method(), request.headers());
        let mut response = self.forward(request).await;
        response.headers_mut().extend(added);
        response
    }

    async fn forward(&self, mut request: Request) -> Response {
        let mut parts = std::mem::take(request.uri_mut()).into_parts();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(self.functions.clone());
        parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
        let answered = match Uri::from_parts(parts) {
            Ok(uri) => {
                *request.uri_mut() = uri;
                self.client
                    .request(request)
                    .await
                    .map(|response| response.map(Body::new))
                    .map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        answered.unwrap_or_else(|error| (StatusCode::BAD_GATEWAY, format!("cargo dev: {error}")).into_response())
    }

    /// What API Gateway adds: nothing without an Origin, nor for one that is not allowed.
    fn headers_for(&self, method: &Method, request: &HeaderMap) -> HeaderMap {
        let Some(origin) = request.get(ORIGIN).and_then(|origin| self.allowed(origin)) else { return HeaderMap::new() };
        let is_preflight = method == Method::OPTIONS && request.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let configured = if is_preflight { &self.cors.preflight } else { &self.cors.other };
        let configured = configured
            .iter()
            .filter_map(|(name, value)| Some((HeaderName::from_static(name), HeaderValue::from_str(value).ok()?)));
        configured.chain([(ACCESS_CONTROL_ALLOW_ORIGIN, origin)]).collect()
    }

    /// The value of `access-control-allow-origin` for a page of `origin`, if it is allowed. As in API Gateway an allowed
    /// origin may be `*`, or a scheme with it: `https://*`.
    fn allowed(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        let text = origin.to_str().ok()?;
        let matching = self.origins.iter().find(|allowed| match allowed.strip_suffix('*') {
            Some(start) => text.starts_with(start),
            None => text == *allowed,
        })?;
        Some(if matching == "*" { HeaderValue::from_static("*") } else { origin.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use axum::Router;
    use axum::http::{Method, Request, Response, StatusCode};
    use dev::template::Cors;

    use super::serve;

    /// A free port of 127.0.0.1.
    fn free_port() -> u16 {
        TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }

    /// A gateway for pages of these origins, in front of a server that echoes its requests. Returns its address.
    async fn gateway(origins: &[&str]) -> String {
        let behind = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let behind_port = behind.local_addr().unwrap().port();
        let echo = |request: Request<axum::body::Body>| async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let line = format!("{} {} {:?} ", parts.method, parts.uri, parts.headers.get("host").unwrap());
            (StatusCode::IM_A_TEAPOT, [("x-request-id", "i1")], [line.as_bytes(), &body].concat())
        };
        tokio::spawn(axum::serve(behind, Router::new().fallback(echo)).into_future());
        let cors = Cors {
            preflight: vec![("access-control-allow-methods", "GET,POST".to_owned())],
            other: vec![("access-control-expose-headers", "x-request-id".to_owned())],
        };
        let port = free_port();
        serve(port, behind_port, cors, origins.iter().map(|&origin| origin.to_owned()).collect()).await.unwrap();
        format!("http://127.0.0.1:{port}")
    }

    async fn send(request: Request<&'static [u8]>) -> (u16, Vec<String>, Vec<u8>) {
        let response = tokio::task::spawn_blocking(move || {
            let agent = ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().new_agent();
            let mut response: Response<ureq::Body> = agent.run(request).unwrap();
            let body = response.body_mut().read_to_vec().unwrap();
            (response, body)
        });
        let (response, body) = response.await.unwrap();
        let cors = response.headers().iter().filter(|(name, _)| name.as_str().starts_with("access-control-"));
        let mut cors: Vec<_> = cors.map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        cors.sort();
        (response.status().as_u16(), cors, body)
    }

    #[tokio::test]
    async fn request_and_response_pass_unchanged() {
        let address = gateway(&["http://page.example"]).await;
        let request = Request::builder().method(Method::PATCH).uri(format!("{address}/a%20b?c=%C3%A4&d"));
        let (status, cors, body) = send(request.body(&b"\x00\xff"[..]).unwrap()).await;
        assert_eq!((status, cors), (418, vec![]));
        let host = address.trim_start_matches("http://");
        assert_eq!(body, [format!("PATCH /a%20b?c=%C3%A4&d \"{host}\" ").as_bytes(), b"\x00\xff"].concat());
    }

    #[tokio::test]
    async fn only_allowed_origins_get_cors_headers() {
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
            (&["https://*"], "https://a.example", Some("https://a.example")),
            (&["https://*"], "http://a.example", None),
            (&["*"], "http://a.example", Some("*")),
        ] {
            let address = gateway(allowed).await;
            for (method, header, added) in [
                ("OPTIONS", preflight, "access-control-allow-methods: GET,POST"),
                ("OPTIONS", ("x", "y"), "access-control-expose-headers: x-request-id"),
                ("POST", preflight, "access-control-expose-headers: x-request-id"),
            ] {
                let request = Request::builder().method(method).uri(&address).header("origin", origin);
                let (status, cors, _) = send(request.header(header.0, header.1).body(&b""[..]).unwrap()).await;
                let origin = value.map(|value| format!("access-control-allow-origin: {value}"));
                let mut expected: Vec<_> = origin.into_iter().flat_map(|origin| [origin, added.to_owned()]).collect();
                expected.sort();
                assert_eq!((status, cors), (418, expected), "{method} {allowed:?}");
            }
        }
    }

    #[tokio::test]
    async fn unreachable_functions_are_a_502() {
        let port = free_port();
        serve(port, free_port(), Cors::default(), vec!["*".to_owned()]).await.unwrap();
        let request = Request::get(format!("http://127.0.0.1:{port}/")).header("origin", "http://a.example");
        let (status, cors, body) = send(request.body(&b""[..]).unwrap()).await;
        assert_eq!((status, cors), (502, vec!["access-control-allow-origin: *".to_owned()]));
        assert!(body.starts_with(b"cargo dev: "));
    }
}
