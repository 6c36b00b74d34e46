//! Routes: which paths and methods a function answers.

use lambda_http::http::Method;
use lambda_http::{Request, RequestExt as _};

/// A path that a function answers, and its methods. A test compares the routes with those of `template.yaml`.
#[derive(Debug, PartialEq, Eq)]
pub struct Route {
    /// The whole path.
    pub path: &'static str,
    /// The methods, apart from OPTIONS, which every path has.
    pub methods: &'static [&'static str],
}

/// Why a request has no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// No route has this path.
    #[error("no such endpoint")]
    NotFound,
    /// The route has other methods.
    #[error("method not allowed")]
    MethodNotAllowed(&'static Route),
}

impl Route {
    /// The one of `routes` that `request` was sent to.
    ///
    /// # Errors
    /// [`RouteError`]
    pub fn find(routes: &'static [Self], request: &Request) -> Result<&'static Self, RouteError> {
        let path = request.raw_http_path();
        let route = routes.iter().find(|route| route.path == path).ok_or(RouteError::NotFound)?;
        if request.method() == Method::OPTIONS || route.methods.iter().any(|method| request.method() == *method) {
            Ok(route)
        } else {
            Err(RouteError::MethodNotAllowed(route))
        }
    }

    /// The value of `Allow`, the same in a 204 and in a 405: every method of the path (RFC 9110, section 10.2.1).
    pub fn allow(&self) -> String {
        format!("{}, {}", self.methods.join(", "), Method::OPTIONS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &[Route] = &[Route { path: "/api/customers", methods: &["PATCH", "POST"] }];

    fn find(method: &str, path: &str) -> Result<&'static Route, RouteError> {
        let mut request = Request::default().with_raw_http_path(path);
        *request.method_mut() = method.parse().unwrap();
        Route::find(ROUTES, &request)
    }

    #[test]
    fn route_is_found_by_its_path_and_method() {
        for method in ["PATCH", "POST", "OPTIONS"] {
            assert_eq!(find(method, "/api/customers"), Ok(&ROUTES[0]), "{method}");
            assert_eq!(find(method, "/api/customers/"), Err(RouteError::NotFound), "{method}");
        }
        for method in ["GET", "HEAD", "PUT", "DELETE", "TRACE", "CONNECT", "options"] {
            assert_eq!(find(method, "/api/customers"), Err(RouteError::MethodNotAllowed(&ROUTES[0])), "{method}");
        }
        assert_eq!(ROUTES[0].allow(), "PATCH, POST, OPTIONS");
    }
}
