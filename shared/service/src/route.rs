//! Routes: which paths and methods a function serves.

use lambda_http::http::Method;
use lambda_http::{Request, RequestExt as _};

/// A path that a function serves, and its methods. A test compares them with `template.yaml`.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// The whole path, without variables.
    pub path: &'static str,
    /// The methods, apart from OPTIONS, which every path has.
    pub methods: &'static [&'static str],
}

impl Route {
    /// The one of `routes` that has the path of `request`.
    pub fn find(routes: &'static [Self], request: &Request) -> Option<&'static Self> {
        routes
            .iter()
            .find(|route| route.path == request.raw_http_path())
    }

    pub fn has(&self, method: &Method) -> bool {
        method == Method::OPTIONS || self.methods.iter().any(|name| method == *name)
    }

    /// The value of `Allow`, the same in a 204 and in a 405: every method of the path (RFC 9110,
    /// section 10.2.1).
    pub fn allow(&self) -> String {
        format!("{}, {}", self.methods.join(", "), Method::OPTIONS)
    }
}
