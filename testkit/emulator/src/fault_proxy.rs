//! Makes calls to DynamoDB, SQS and S3 fail on purpose, for tests and `cargo dev --faults`.
//!
//! A [`Plan`] says which calls fail, and how. A [`FaultInjector`] carries it out in front of a service of this
//! process. A [`FaultProxy`] is an injector with an address of its own, which passes calls on to another
//! address. An injector knows of a call only the service, the operation and the bytes. This module must not
//! know how a function handles a fault.
//!
//! | module | is for | must not know |
//! |---|---|---|
//! | `call` | which service and which operation a request is for | why it fails |
//! | `fault`, `plan` | the ways in which a call fails; which calls have which fault | how a fault is carried out |
//! | `injector` | carrying out a fault in front of a service | which service it is |
//! | `fault_response` | responses in a service's place | why a call has them |
//! | `clock` | a service whose clock is ahead | what is called |

mod call;
mod clock;
mod fault;
mod fault_response;
mod injector;
mod plan;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::header::TRANSFER_ENCODING;
use hyper::http::uri::{Authority, PathAndQuery};
use hyper::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use processes::http_server::{HttpServer, Service};
use tokio::sync::watch;

pub use self::call::AwsService;
pub use self::fault::Fault;
use self::fault_response::broken;
pub use self::injector::{CallCounts, FaultInjector, ServiceCounts};
pub use self::plan::{Order, Outcome, Plan, Rule};

/// A fault injector on a port of its own, in front of a service at another address, until it is dropped.
#[derive(Debug)]
pub struct FaultProxy(HttpServer<FaultInjector<Upstream>>);

/// The service at the other address.
#[derive(Debug)]
struct Upstream {
    authority: Authority,
    client: Client<HttpConnector, Full<Bytes>>,
    /// Connections that are open, and calls that are under way.
    busy: Arc<watch::Sender<usize>>,
}

impl FaultProxy {
    /// Starts a proxy before `upstream`, an URL such as `http://127.0.0.1:8000`, that fails as
    /// `plan` says.
    ///
    /// # Errors
    /// `upstream` is not such an URL, or loopback has no free port.
    pub async fn start(upstream: &str, plan: impl Into<Plan>) -> Result<Self> {
        let upstream: Uri = upstream.parse()?;
        let authority = upstream.into_parts().authority;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let upstream = Upstream {
            authority: authority.context("the URL has no port")?,
            client: Client::builder(TokioExecutor::new()).build(connector),
            busy: Arc::new(watch::Sender::new(0)),
        };
        let injector = FaultInjector::new(upstream, plan);
        HttpServer::start(injector, None).await.map(Self)
    }

    /// The URL to give to an SDK instead of the emulator's.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// Fails as `plan` says from the next call on; what was counted stays.
    pub fn set(&self, plan: impl Into<Plan>) {
        self.0.service.set(plan);
    }

    /// Responds to nothing any more on the connections that there are, as if the client had been frozen
    /// for so long that what is between forgot them. New ones are served.
    pub fn forget_connections(&self) {
        self.0.service.forget_connections();
    }

    /// The calls that passed the proxy so far.
    pub fn counts(&self) -> CallCounts {
        self.0.service.counts()
    }

    /// Waits until no connection is open and no call under way: then nothing that a killed process
    /// sent is still on its way.
    pub async fn idle(&self) {
        let mut busy = self.0.service.service.busy.subscribe();
        // Waiting cannot fail, because the sender is in `self`.
        let _ = busy.wait_for(|busy| *busy == 0).await;
    }
}

impl Service for Upstream {
    fn connected(&self, _number: u64) {
        self.busy.send_modify(|busy| *busy += 1);
    }

    fn disconnected(&self) {
        self.busy.send_modify(|busy| *busy -= 1);
    }

    /// The service's response to a call. If the service cannot be reached, the connection is reset.
    async fn respond(&self, call: Request<Bytes>) -> Response<Full<Bytes>> {
        let mut call = call.map(Full::new);
        *call.uri_mut() = self.uri(call.uri());
        let (client, busy) = (self.client.clone(), Arc::clone(&self.busy));
        busy.send_modify(|busy| *busy += 1);
        // A task of its own: a call takes effect although its caller abandons it or is killed.
        let calling = tokio::spawn(async move {
            let response = response_of(&client, call).await;
            busy.send_modify(|busy| *busy -= 1);
            response
        });
        match calling.await {
            Ok(Ok(response)) => response,
            Ok(Err(_)) | Err(_) => broken(),
        }
    }
}

impl Upstream {
    /// Where the service gets a call for this URI.
    fn uri(&self, uri: &Uri) -> Uri {
        Uri::builder()
            .scheme("http")
            .authority(self.authority.clone())
            .path_and_query(uri.path_and_query().map_or("/", PathAndQuery::as_str))
            .build()
            .expect("a path of a URI makes another URI")
    }
}

async fn response_of(
    client: &Client<HttpConnector, Full<Bytes>>,
    call: Request<Full<Bytes>>,
) -> Result<Response<Full<Bytes>>> {
    let (mut head, body) = client.request(call).await?.into_parts();
    let body = body.collect().await?.to_bytes();
    // What was sent in chunks is sent on as a whole.
    head.headers.remove(TRANSFER_ENCODING);
    Ok(Response::from_parts(head, Full::new(body)))
}
