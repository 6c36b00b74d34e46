//! How many files this process may have open. A test program has hundreds of sockets at once, and macOS starts it with a limit of 256.

use std::sync::Once;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than a test program needs, and not more than macOS accepts.
const FILES: u64 = 10_240;

/// Raises the limit to [`FILES`], or as far as the process may. Only the first call does anything.
pub(crate) fn raise() {
    static RAISED: Once = Once::new();
    RAISED.call_once(|| {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = maximum.map_or(FILES, |maximum| maximum.min(FILES));
        if current.is_some_and(|current| current < wanted) {
            let raised = Rlimit {
                current: Some(wanted),
                maximum,
            };
            // Without it, the limit stays, and is told by whatever meets it.
            let _ = setrlimit(Resource::Nofile, raised);
        }
    });
}
