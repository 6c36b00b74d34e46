//! Boots the function: log, tables, runtime.

use customers::CustomersFunction;
use lambda_http::{Error, Request};
use service::invocation::Invocation;
use service::{runtime, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    telemetry::init();
    let customers: &'static CustomersFunction = Box::leak(Box::new(CustomersFunction::from_environment().await?));
    customers.warm_up().await;
    runtime::run(async move |request: Request| {
        let invocation = Invocation::from_request(&request);
        customers.handle(&request, &invocation).await
    })
    .await
}
