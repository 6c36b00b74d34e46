//! Carries out the faults of a plan in front of a service.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{DATE, HeaderName, HeaderValue};
use hyper::{Request, Response};
use processes::http_server::{Break, ConnectionNumber, Service, response};
use tokio::time::sleep;

use super::call::{AwsService, operation};
use super::clock::is_signature_too_old;
use super::fault::Fault;
use super::fault_response::{all_unprocessed, broken, json_response, refusal, server_error};
use super::plan::{Order, Plan};

/// The message of a call that is refused.
const ON_PURPOSE: &str = "on purpose";

/// The message of a call whose signature has an old time.
const SIGNATURE_EXPIRED: &str =
    "Signature expired: 20261120T221640Z is now earlier than 20261120T222140Z";

/// A service whose calls fail as a plan says.
#[derive(Debug)]
pub struct FaultInjector<S> {
    pub(crate) service: S,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    plan: Plan,
    /// The newest connection.
    accepted: u64,
    /// The newest connection whose calls hang.
    frozen: u64,
    /// The connections on which a call was faulted.
    faulted: HashSet<u64>,
    counts: CallCounts,
}

/// The calls that passed an injector so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallCounts {
    /// Calls by operation (`PutItem`), each attempt counted, whatever came of it.
    pub operations: BTreeMap<String, u64>,
    /// How many of them were faulted.
    pub faulted: u64,
    /// The calls of each service.
    services: BTreeMap<AwsService, ServiceCounts>,
    /// Calls on a connection on which an earlier call was faulted.
    pub after_a_fault: u64,
}

/// The calls of one service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceCounts {
    pub calls: u64,
    pub faulted: u64,
}

impl<S> FaultInjector<S> {
    pub(crate) fn new(service: S, plan: impl Into<Plan>) -> Self {
        Self {
            service,
            state: Mutex::new(State {
                plan: plan.into(),
                accepted: 0,
                frozen: 0,
                faulted: HashSet::new(),
                counts: CallCounts::default(),
            }),
        }
    }

    /// Fails as `plan` says from the next call on; what was counted stays.
    pub fn set(&self, plan: impl Into<Plan>) {
        self.state().plan = plan.into();
    }

    /// Gives the next calls that the order is about its faults, after those of earlier orders.
    pub fn order(&self, order: Order) {
        self.state().plan.add(order);
    }

    /// The calls so far.
    pub fn counts(&self) -> CallCounts {
        self.state().counts.clone()
    }

    pub(super) fn forget_connections(&self) {
        let mut state = self.state();
        state.frozen = state.accepted;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallCounts {
    /// Calls of one operation.
    pub fn calls_of(&self, operation: &str) -> u64 {
        self.operations.get(operation).copied().unwrap_or_default()
    }

    /// Calls to one service.
    pub fn of_service(&self, service: AwsService) -> ServiceCounts {
        self.services.get(&service).copied().unwrap_or_default()
    }

    /// All calls.
    pub fn calls(&self) -> u64 {
        self.operations.values().sum()
    }
}

impl State {
    /// Counts a call, and chooses its fault.
    fn decide(&mut self, call: &Request<Bytes>) -> Option<Fault> {
        let connection = call
            .extensions()
            .get()
            .map_or(0, |ConnectionNumber(number)| *number);
        let calls = self.counts.operations.entry(operation(call).to_owned());
        *calls.or_default() += 1;
        let is_frozen = connection <= self.frozen && self.frozen > 0;
        let fault = if is_frozen {
            Some(Fault::Hanging)
        } else {
            self.plan.decide(call)
        };
        let is_faulted = match fault {
            None => false,
            Some(Fault::ClockAhead(ahead)) => is_signature_too_old(call, SystemTime::now() + ahead),
            Some(_) => true,
        };
        let of_service = self.counts.services.entry(AwsService::of(call));
        let of_service = of_service.or_default();
        of_service.calls += 1;
        of_service.faulted += u64::from(is_faulted);
        if self.faulted.contains(&connection) {
            self.counts.after_a_fault += 1;
        }
        if is_faulted {
            self.counts.faulted += 1;
            self.faulted.insert(connection);
        }
        fault
    }
}

impl<S: Service> Service for FaultInjector<S> {
    fn connected(&self, number: u64) {
        self.state().accepted = number;
        self.service.connected(number);
    }

    fn disconnected(&self) {
        self.service.disconnected();
    }

    async fn respond(&self, call: Request<Bytes>) -> Response<Full<Bytes>> {
        let fault = self.state().decide(&call);
        match fault {
            None => self.service.respond(call).await,
            Some(fault) => self.carry_out(fault, call).await,
        }
    }
}

impl<S: Service> FaultInjector<S> {
    async fn carry_out(&self, fault: Fault, call: Request<Bytes>) -> Response<Full<Bytes>> {
        let service = AwsService::of(&call);
        match fault {
            Fault::ResetBefore => broken(),
            Fault::ResetAfter => {
                self.service.respond(call).await;
                broken()
            }
            Fault::ErrorAfter => {
                self.service.respond(call).await;
                server_error(service)
            }
            Fault::CutBody => {
                let mut response = self.service.respond(call).await;
                response.extensions_mut().insert(Break::BeforeLastByte);
                response
            }
            Fault::ResponseReplaced(body) => {
                self.service.respond(call).await;
                response(200, &[], body)
            }
            Fault::ResponseHeader(name, value) => {
                let mut response = self.service.respond(call).await;
                let name = HeaderName::from_static(name);
                response
                    .headers_mut()
                    .insert(name, HeaderValue::from_static(value));
                response
            }
            Fault::Slow(delay) => {
                let response = self.service.respond(call).await;
                sleep(delay).await;
                response
            }
            // As long as the caller waits.
            Fault::Hanging => std::future::pending().await,
            Fault::Swallowed(delay) => {
                sleep(delay).await;
                json_response(200, "{\"UnprocessedItems\":{}}")
            }
            Fault::Unprocessed => all_unprocessed(call.body()),
            Fault::Refused(code) => refusal(service, 400, code, ON_PURPOSE),
            Fault::RefusedAs {
                status,
                code,
                message,
            } => refusal(service, status, code, message),
            Fault::InternalServerError => server_error(service),
            Fault::Status(status) => response(status, &[], ""),
            Fault::ClockAhead(ahead) => self.respond_at(SystemTime::now() + ahead, call).await,
        }
    }
}

impl<S: Service> FaultInjector<S> {
    /// The response of a service whose clock says `now`, with this time.
    async fn respond_at(&self, now: SystemTime, call: Request<Bytes>) -> Response<Full<Bytes>> {
        let service = AwsService::of(&call);
        let mut response = if is_signature_too_old(&call, now) {
            signature_expired(service)
        } else {
            self.service.respond(call).await
        };
        let date = HeaderValue::try_from(httpdate::fmt_http_date(now));
        let date = date.expect("a date is a value of a header");
        response.headers_mut().insert(DATE, date);
        response
    }
}

fn signature_expired(service: AwsService) -> Response<Full<Bytes>> {
    refusal(service, 400, "InvalidSignatureException", SIGNATURE_EXPIRED)
}
