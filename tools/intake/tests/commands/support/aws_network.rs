//! A network in which the names of AWS's hosts lead to a stand-in: a proxy that tunnels each connection
//! to it, and an authority that vouches for these names. A command gets there by `HTTPS_PROXY`.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use harness::http_server::Service;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// The names that the authority vouches for. FIPS and dual-stack endpoints have names of their own
/// ("AWS service endpoints" in the AWS General Reference).
const NAMES: [&str; 6] = [
    "*.s3.eu-central-1.amazonaws.com",
    "*.s3-fips.eu-central-1.amazonaws.com",
    "*.s3.dualstack.eu-central-1.amazonaws.com",
    "*.eu-central-1.amazonaws.com",
    "*.eu-central-1.api.aws",
    "api.shop.example",
];

/// A proxy, and the stand-in that its tunnels end at.
pub(crate) struct AwsNetwork<S> {
    pub(crate) service: Arc<S>,
    /// The address of the proxy.
    pub(crate) proxy: String,
    /// The certificate of the authority, as PEM.
    pub(crate) authority: String,
    tunnels: Arc<Mutex<Vec<String>>>,
}

impl<S: Service> AwsNetwork<S> {
    pub(crate) async fn start(service: S) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("http://{}", listener.local_addr().unwrap());
        let service = Arc::new(service);
        let tunnels = Arc::<Mutex<Vec<String>>>::default();
        let (authority, acceptor) = authority();
        let serving = Arc::clone(&service);
        let opened = Arc::clone(&tunnels);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let tunnel = tunnel(
                    stream,
                    acceptor.clone(),
                    Arc::clone(&serving),
                    Arc::clone(&opened),
                );
                tokio::spawn(tunnel);
            }
        });
        Self {
            service,
            proxy,
            authority,
            tunnels,
        }
    }

    /// The hosts that tunnels were opened to, each once.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let mut hosts = self.tunnels.lock().unwrap().clone();
        hosts.sort();
        hosts.dedup();
        hosts
    }
}

/// Accepts `CONNECT`, and serves what comes through the tunnel.
async fn tunnel<S: Service>(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    service: Arc<S>,
    opened: Arc<Mutex<Vec<String>>>,
) {
    let connect = service_fn(move |request: Request<Incoming>| {
        assert_eq!(request.method(), "CONNECT", "{request:?}");
        let host = request.uri().host().unwrap().to_owned();
        opened.lock().unwrap().push(host);
        let acceptor = acceptor.clone();
        let service = Arc::clone(&service);
        tokio::spawn(async move {
            let upgraded = hyper::upgrade::on(request).await.unwrap();
            // A client that does not trust the authority ends the handshake.
            if let Ok(stream) = acceptor.accept(TokioIo::new(upgraded)).await {
                serve(TokioIo::new(stream), service).await;
            }
        });
        async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) }
    });
    // A process that has ended drops its connections.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), connect)
        .with_upgrades()
        .await;
}

async fn serve<S: Service>(
    stream: impl hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
    service: Arc<S>,
) {
    let respond = service_fn(move |request: Request<Incoming>| {
        let service = Arc::clone(&service);
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let request = Request::from_parts(parts, body);
            Ok::<_, Infallible>(service.respond(request).await)
        }
    });
    let _ = http1::Builder::new()
        .serve_connection(stream, respond)
        .await;
}

/// An authority as PEM, and a server that it vouches for.
fn authority() -> (String, TlsAcceptor) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let server_key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(NAMES.map(ToOwned::to_owned)).unwrap();
    let certificate = server.signed_by(&server_key, &issuer).unwrap();
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(server_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    (authority, TlsAcceptor::from(Arc::new(config)))
}
