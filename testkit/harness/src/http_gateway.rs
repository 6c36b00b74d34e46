//! A `TestApp` behind HTTP, as API Gateway puts the functions there.

use std::sync::Arc;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};

use crate::http_server::{HttpServer, Service, response};
use crate::request_builder::RequestBuilder;
use crate::tables::template;
use crate::test_app::TestApp;

/// The gateway, on a port of its own, until it is dropped.
pub struct HttpGateway(HttpServer<App>);

struct App(Arc<TestApp>);

impl HttpGateway {
    /// Starts a gateway before the functions of `app`.
    pub async fn start(app: &Arc<TestApp>) -> Self {
        let app = App(Arc::clone(app));
        let server = HttpServer::start(app, None).await;
        Self(server.expect("loopback has a free port"))
    }

    /// The base address of the API.
    pub fn base_url(&self) -> String {
        self.0.endpoint()
    }
}

impl Service for App {
    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let mut routes = template().routes();
        if !routes.any(|route| route.path == head.uri.path()) {
            let headers = [("content-type", "application/json")];
            return response(404, &headers, r#"{"message":"Not Found"}"#);
        }
        let mut call = RequestBuilder::new(head.method.as_str(), head.uri.path())
            .without_header("content-type");
        for (name, value) in &head.headers {
            call = call.header(name.as_str(), value.to_str().unwrap());
        }
        if !body.is_empty() {
            call = call.bytes(&body);
        }
        let sent = self.0.send(call).await;
        let headers: Vec<_> = sent
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
            .collect();
        response(sent.status, &headers, sent.text)
    }
}
