//! The credentials of a command: asked for once, before its first call, so that the operator hears why
//! there are none, and again when they end. Must not know who gives them.

use std::time::{Duration, SystemTime};

use aws_config::SdkConfig;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, future};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use tokio::sync::Mutex;

/// New credentials are asked for this long before the old ones end.
const NOTICE: Duration = Duration::from_mins(1);

/// The last credentials of a provider. The identity cache of the SDK would ask the provider again at the
/// first call.
#[derive(Debug)]
struct KeptCredentials {
    provider: SharedCredentialsProvider,
    kept: Mutex<Credentials>,
}

/// Asks the provider of `config` for credentials. Returns a provider that keeps them until they end.
pub(super) async fn first_credentials(
    config: &SdkConfig,
) -> Result<SharedCredentialsProvider, CredentialsError> {
    let provider = config
        .credentials_provider()
        .ok_or_else(|| CredentialsError::not_loaded("there is no provider"))?;
    let first = provider.provide_credentials().await?;
    Ok(SharedCredentialsProvider::new(KeptCredentials {
        provider,
        kept: Mutex::new(first),
    }))
}

impl KeptCredentials {
    async fn credentials(&self) -> provider::Result {
        let mut kept = self.kept.lock().await;
        let soon = SystemTime::now() + NOTICE;
        if kept.expiry().is_some_and(|end| end <= soon) {
            *kept = self.provider.provide_credentials().await?;
        }
        Ok(kept.clone())
    }
}

impl ProvideCredentials for KeptCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.credentials())
    }

    fn fallback_on_interrupt(&self) -> Option<Credentials> {
        self.provider.fallback_on_interrupt()
    }
}
