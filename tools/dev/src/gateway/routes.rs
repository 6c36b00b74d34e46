//! The routes of the template: which function gets a request, and what is wrong with a path that no
//! function has. Must not know what a function does.

use axum::http::Method;
use emulator::template::Route;

use crate::exchange::sent_request::SentRequest;

pub(crate) struct Routes(pub(crate) Vec<Route>);

impl Routes {
    /// The function that gets a request, by its name in the template.
    pub(super) fn function_of(&self, sent: &SentRequest) -> Option<&str> {
        let path = sent.uri.path();
        let method = sent.method.as_str();
        let is_match =
            |route: &&Route| route.path == path && ["ANY", method].contains(&route.method.as_str());
        let route = self.0.iter().find(is_match);
        route.map(|route| route.function.as_str())
    }

    /// Why no function gets a request.
    pub(super) fn no_such_path(&self, sent: &SentRequest) -> String {
        let mistake = self.mistake_of(sent);
        let paths = self.paths().join(", ");
        format!("no such path: {mistake}the paths are {paths}")
    }

    /// The paths, each once.
    pub(crate) fn paths(&self) -> Vec<&str> {
        let mut paths: Vec<_> = self.0.iter().map(|route| route.path.as_str()).collect();
        paths.dedup();
        paths
    }

    pub(crate) fn have_path(&self, path: &str) -> bool {
        self.0.iter().any(|route| route.path == path)
    }

    /// The likely mistake of a client that has sent a request to a path that there is not.
    fn mistake_of(&self, sent: &SentRequest) -> &'static str {
        let path = sent.uri.path();
        if path.starts_with("//") {
            return "remove the slash at the end of the base address: ";
        }
        let without_slash = path.strip_suffix('/');
        if self
            .0
            .iter()
            .any(|route| Some(route.path.as_str()) == without_slash)
        {
            return "remove the slash at the end: ";
        }
        if sent.method == Method::OPTIONS {
            return "a page learns only that its request failed: ";
        }
        ""
    }
}
