//! How this program reaches servers: by the SDK's own HTTP client, with the certificate authorities of the
//! system and the proxies of the environment. Must not know what is called.

use std::env;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::http::{
    HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use data_encoding::BASE64;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use crate::output::note;

/// The variables from which the SDK takes proxies.
const PROXIES: [&str; 6] = [
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "all_proxy",
    "https_proxy",
    "http_proxy",
];

/// Whom connections trust, and through which proxies they go.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    tls: TlsContext,
    proxies: ProxyConfig,
}

impl Network {
    /// Trusts the authorities of the system.
    pub(crate) fn trusting_system() -> Result<Self> {
        Self::new(system_authorities(), proxies_of_environment()?)
    }

    /// Trusts only the authorities in this file, as PEM.
    pub(super) fn trusting(ca_bundle: &Path) -> Result<Self> {
        Self::new(authorities_in(ca_bundle)?, proxies_of_environment()?)
    }

    /// Servers on this machine: without TLS, and past every proxy.
    pub(crate) fn loopback() -> Result<Self> {
        Self::new(TrustStore::empty(), ProxyConfig::disabled())
    }

    fn new(authorities: TrustStore, proxies: ProxyConfig) -> Result<Self> {
        let tls = TlsContext::builder()
            .with_trust_store(authorities)
            .build()
            .context("Cannot configure TLS")?;
        Ok(Self { tls, proxies })
    }

    /// The client that the SDK's clients share. Each gives it its timeouts.
    pub(super) fn client(self) -> SharedHttpClient {
        Builder::new().build_with_connector_fn(move |settings, components| {
            self.connector(settings, components)
        })
    }

    /// Connections for requests that no SDK makes. They have no timeouts.
    pub(crate) fn connections(&self) -> SharedHttpConnector {
        SharedHttpConnector::new(self.connector(None, None))
    }

    /// Makes connections, with the timeouts of `settings` if the SDK gives any.
    fn connector(
        &self,
        settings: Option<&HttpConnectorSettings>,
        components: Option<&RuntimeComponents>,
    ) -> Connector {
        let mut connector = Connector::builder()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .tls_context(self.tls.clone())
            .proxy_config(self.proxies.clone());
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.build()
    }
}

/// The proxies of the environment.
///
/// # Errors
/// A variable has a value that is no URL: the SDK would go past the proxy. The error does not show the value,
/// which may have a password.
fn proxies_of_environment() -> Result<ProxyConfig> {
    for variable in PROXIES {
        let value = env::var_os(variable).unwrap_or_default();
        ensure!(
            value.is_empty() || value.to_str().is_some_and(is_proxy),
            "{variable} is not the URL of a proxy, such as http://proxy.example.com:3128."
        );
    }
    Ok(ProxyConfig::from_env())
}

/// Whether the SDK can use this URL of a proxy. Its scheme may be missing.
fn is_proxy(value: &str) -> bool {
    let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
    ["http", "https"].contains(&scheme) && is_http_url(&format!("http://{rest}"))
}

/// Whether this is a URL to which a request can be sent.
pub(super) fn is_http_url(value: &str) -> bool {
    let has_scheme = value.starts_with("http://") || value.starts_with("https://");
    has_scheme && HttpRequest::get(value).is_ok()
}

/// The authorities of the system, or none where none can be loaded: a debug build of the SDK's client panics
/// if it is to read them then. Every TLS connection then fails, which is told, and plain ones work.
fn system_authorities() -> TrustStore {
    let found = rustls_native_certs::load_native_certs();
    let (usable, _unusable) = RootCertStore::empty().add_parsable_certificates(found.certs);
    if usable == 0 {
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        let reasons = if errors.is_empty() {
            "there is none".to_owned()
        } else {
            errors.join("; ")
        };
        note(&format!(
            "No certificate authority of the system can be loaded, so HTTPS does not work: {reasons}. Install the package \
             ca-certificates, or set AWS_CA_BUNDLE or SSL_CERT_FILE."
        ));
    }
    TrustStore::empty().with_native_roots(usable > 0)
}

/// The authorities in a file. Certificates that cannot be read are left out: the SDK's client would
/// panic at the first one, and bundles of systems have some.
fn authorities_in(ca_bundle: &Path) -> Result<TrustStore> {
    let path = ca_bundle.display();
    let pem = std::fs::read(ca_bundle)
        .with_context(|| format!("The bundle of certificate authorities {path} cannot be read"))?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = certificates.with_context(|| {
        format!("The bundle of certificate authorities {path} holds ill-formed PEM")
    })?;
    let mut authorities = TrustStore::empty();
    let mut count = 0;
    for certificate in certificates {
        let is_usable = RootCertStore::empty().add(certificate.clone()).is_ok();
        if is_usable {
            count += 1;
            authorities.add_pem_certificate(to_pem(&certificate));
        }
    }
    ensure!(
        count > 0,
        "The bundle of certificate authorities {path} holds no certificate in PEM."
    );
    Ok(authorities)
}

fn to_pem(certificate: &CertificateDer<'_>) -> String {
    let base64 = BASE64.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
}
