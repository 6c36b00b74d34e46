//! The inspector: a page and a JSON API that show what clients sent to the local stack, and what
//! became of it (docs/local.md, Inspector). It listens on a port of its own, and must not know
//! how the gateway responds.
//!
//! [`requests`], [`signals`], [`accounts`] and [`stored`] are the parts of the API that show
//! something, and [`rows`] is what only the page reads; [`redrive`] and [`reset`] change what is stored, and [`answers`] what clients get. [`query`] has the parameters,
//! [`response`] the responses, and [`page`] the page.
//!
//! A body may have been sent by an attacker, and other pages are open in the developer's browser.
//! Therefore [`page`] lets only its own script run, and [`guard`] refuses the requests of other
//! pages, but for a link to the page.

mod accounts;
mod answers;
mod guard;
mod page;
mod query;
mod redrive;
mod requests;
mod reset;
mod response;
mod rows;
mod signals;
mod stored;
pub(crate) mod stored_data;

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{get, post};
use model::limits::MAX_BODY_BYTES;
use operator::Tables;

use self::response::ApiError;
use self::stored_data::StoredData;
use crate::fakes::overflow_queue::QueueHandle;
use crate::gateway::Gateway;
use crate::gateway::host_names::HostNames;

/// The largest body of a request to the inspector, in bytes. It is more than the functions accept,
/// so that a developer can also send a request again with a body that is too large.
const MAX_INSPECTOR_BODY_BYTES: usize = 2 * MAX_BODY_BYTES;

/// What the page and the API need.
pub(crate) struct Inspector {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) host_names: HostNames,
    pub(crate) stored: Arc<StoredData>,
    pub(crate) tables: Tables,
    pub(crate) queue: QueueHandle,
    /// Tells this run of the stack from an earlier one, whose requests had the same numbers.
    pub(crate) stack_id: String,
    /// The port of the API, which the page shows in its first example.
    pub(crate) api_port: u16,
}

type Shared = State<Arc<Inspector>>;

async fn no_such_path() -> ApiError {
    let why = "There is no such path: docs/local.md lists them (Test a client).";
    ApiError::new(StatusCode::NOT_FOUND, why)
}

async fn wrong_method() -> ApiError {
    let why = "The path has other methods: docs/local.md lists them (Test a client).";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, why)
}

/// The body of a request, or the error for one that is too large.
fn read_body(body: Result<Bytes, BytesRejection>) -> Result<Bytes, ApiError> {
    body.map_err(|rejection| {
        let megabytes = MAX_INSPECTOR_BODY_BYTES / 1024 / 1024;
        let why = format!("The body did not arrive whole, or is larger than {megabytes} MiB.");
        ApiError::new(rejection.status(), why)
    })
}

impl Inspector {
    /// Reads or changes what is stored, in a thread of its own: the tables may be busy for seconds, and
    /// the gateway and the queue go on meanwhile.
    async fn with_stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StoredData) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let stored = Arc::clone(&self.stored);
        tokio::task::spawn_blocking(move || work(&stored)).await?
    }

    /// Starts to serve requests on `listener`, until the runtime ends.
    ///
    /// # Errors
    /// The runtime cannot watch the listener.
    pub(crate) fn listen(self, listener: TcpListener) -> Result<()> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let host_names = self.host_names.clone();
        let routes = Router::new()
            .route("/", get(page::page))
            .route("/requests", get(requests::list).delete(requests::clear))
            .route("/requests/{n}", get(requests::one))
            .route("/requests/{n}/event", get(requests::lambda_event))
            .route("/requests/{n}/replay", post(requests::replay))
            .route("/rows", get(rows::list))
            .route("/rows/matches", get(rows::matches))
            .route("/signals", get(signals::list))
            .route("/counts", get(signals::counts))
            .route("/reset", post(reset::reset))
            .route("/accounts", get(accounts::list))
            .route(
                "/answers",
                get(answers::list)
                    .post(answers::plan)
                    .delete(answers::clear),
            )
            .route("/customers/{id}", get(stored::customer))
            .route("/rejected", get(stored::rejected))
            .route("/rejected/redrive", post(redrive::redrive))
            .fallback(no_such_path)
            .method_not_allowed_fallback(wrong_method)
            .layer(DefaultBodyLimit::max(MAX_INSPECTOR_BODY_BYTES))
            .layer(middleware::from_fn(move |request, next| {
                guard::guard(host_names.clone(), request, next)
            }))
            .with_state(Arc::new(self));
        tokio::spawn(axum::serve(listener, routes).into_future());
        Ok(())
    }
}
