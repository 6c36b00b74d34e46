//! A hostile request, and the parts that hostile bodies are made of.

use flate2::Compression;
use harness::RequestBuilder;
use model::limits::MAX_BODY_BYTES;

use crate::support::gzip::gzip_at_level;

/// The largest event that Lambda takes.
const EVENT_BYTES: usize = 6 * 1024 * 1024;

/// Bytes of the largest body without what is around the filled part.
pub(super) const ROOM: usize = MAX_BODY_BYTES - 1_000;

/// A request, and the expected response.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostileBody {
    /// Why the body is expensive.
    pub(super) name: &'static str,
    /// Makes the request, without its key.
    pub(super) call: fn() -> RequestBuilder,
    /// The status of the response.
    pub(super) status: u16,
    /// The code of the problem; `None` in a 200.
    pub(super) code: Option<&'static str>,
    /// Whether all of its signals are deferred.
    pub(super) is_deferred: bool,
}

pub(super) const fn accepted(name: &'static str, call: fn() -> RequestBuilder) -> HostileBody {
    HostileBody {
        name,
        call,
        status: 200,
        code: None,
        is_deferred: false,
    }
}

pub(super) const fn deferred(name: &'static str, call: fn() -> RequestBuilder) -> HostileBody {
    HostileBody {
        is_deferred: true,
        ..accepted(name, call)
    }
}

pub(super) const fn invalid(name: &'static str, call: fn() -> RequestBuilder) -> HostileBody {
    HostileBody {
        name,
        call,
        status: 400,
        code: Some("validation-failed"),
        is_deferred: false,
    }
}

pub(super) const fn malformed(name: &'static str, call: fn() -> RequestBuilder) -> HostileBody {
    HostileBody {
        name,
        call,
        status: 400,
        code: Some("malformed-json"),
        is_deferred: false,
    }
}

/// A request with this body: as text where the event has room for it, since text has its quotes
/// escaped there.
pub(super) fn plain(path: &str, body: &str) -> RequestBuilder {
    assert!(body.len() <= MAX_BODY_BYTES, "{} bytes", body.len());
    let call = RequestBuilder::new("POST", path);
    let escaped = serde_json::to_string(body).unwrap();
    if escaped.len() < EVENT_BYTES - 2_000 {
        call.body(body)
    } else {
        call.bytes(body.as_bytes())
    }
}

/// A request with this body in a gzip that compresses nothing: so it is there three times, in
/// base64, packed and unpacked.
pub(super) fn packed(path: &str, body: &str) -> RequestBuilder {
    RequestBuilder::new("POST", path)
        .header("content-encoding", "gzip")
        .bytes(&gzip_at_level(body.as_bytes(), Compression::none()))
}

/// As many copies of an element as fit into `bytes`, with commas between.
pub(super) fn copies(bytes: usize, element: &str) -> String {
    let with_comma = format!("{element},");
    let mut text = with_comma.repeat(bytes / with_comma.len());
    text.pop();
    text
}

/// As many elements as fit into `bytes`, with commas between. Where all are the same, [`copies`] is faster.
pub(super) fn elements(bytes: usize, element: impl Fn(usize) -> String) -> String {
    let mut text = element(0);
    for index in 1.. {
        let next = element(index);
        if text.len() + next.len() >= bytes {
            break;
        }
        text.push(',');
        text.push_str(&next);
    }
    text
}

/// Members with the shortest names, all different. `before` stands before each name.
pub(super) fn members(bytes: usize, before: &str) -> String {
    elements(bytes, |index| {
        format!("\"{before}{}\":0", short_name(index))
    })
}

pub(super) fn short_name(index: usize) -> String {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    let mut name = String::new();
    let mut rest = index;
    loop {
        name.push(char::from(LETTERS[rest % LETTERS.len()]));
        rest /= LETTERS.len();
        if rest == 0 {
            return name;
        }
    }
}
