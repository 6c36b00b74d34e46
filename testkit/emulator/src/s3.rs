//! An S3 that keeps objects in memory. It decides conditional writes, and dates objects, as AWS
//! documents it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use hyper::{HeaderMap, Method, Request, Response};
use processes::http_server::{HttpServer, Service, response};

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeS3(HttpServer<S3State>);

/// What requests meet instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum S3Fault {
    /// An error with this status and code.
    Refused(u16, &'static str),
    /// The same for each write. Other requests meet nothing.
    WriteRefused(u16, &'static str),
    /// A 503 for each read of an object. Other requests meet nothing.
    SlowDownForReads,
    /// The answer comes this much later.
    Slow(Duration),
    /// The next write takes effect, and is answered with a 500. Other requests meet nothing.
    ErrorAfterWrite,
    /// The next write takes effect, and is answered this much later. Other requests meet nothing.
    LateAfterWrite(Duration),
    /// Writes are refused as for an object under Object Lock. Other requests meet nothing.
    Locked,
    /// Reads of tags are refused. Other requests meet nothing.
    TagsUnreadable,
    /// Writes with tags are refused. Other requests meet nothing.
    TagsUnwritable,
    /// The object that is read has another checksum than its body. Other requests meet nothing.
    WrongChecksum,
}

impl S3Fault {
    pub const UNAVAILABLE: Self = Self::Refused(500, "InternalError");

    /// As for a missing object without the permission to list.
    pub const FORBIDDEN: Self = Self::Refused(403, "AccessDenied");
}

/// A header of an object that another one replaces, or of its answer.
const STORAGE_CLASS: &str = "x-amz-storage-class";

/// The tags of an object, as the query of a URL.
const TAGGING: &str = "x-amz-tagging";

#[derive(Clone, Debug)]
pub struct StoredObject {
    pub body: Bytes,
    /// The headers of the request that wrote it.
    pub headers: HeaderMap,
    last_modified: SystemTime,
    etag: String,
}

#[derive(Debug, Default)]
pub(crate) struct S3State(Mutex<Objects>);

#[derive(Debug, Default)]
struct Objects {
    by_path: BTreeMap<String, StoredObject>,
    fault: Option<S3Fault>,
    /// What requests for single objects meet, by their paths.
    faults: BTreeMap<String, S3Fault>,
    requests: Vec<String>,
    written: u64,
}

impl FakeS3 {
    /// Starts an S3 without objects.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        let server = HttpServer::start(S3State::default(), None).await?;
        Ok(Self(server))
    }

    /// As [`FakeS3::start`], in a thread of its own.
    ///
    /// # Errors
    /// When loopback has no free port, or the thread cannot be started.
    pub fn start_in_thread() -> Result<Self> {
        HttpServer::start_in_thread(S3State::default()).map(Self)
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// What answers its requests.
    pub(crate) fn state(&self) -> Arc<S3State> {
        Arc::clone(&self.0.service)
    }

    /// Every request meets this from here on, or none does.
    pub fn set_fault(&self, fault: Option<S3Fault>) {
        self.use_objects(|objects| objects.fault = fault);
    }

    /// Every request for the object `/bucket/key` meets this from here on.
    pub fn set_fault_of(&self, path: &str, fault: S3Fault) {
        self.use_objects(|objects| objects.faults.insert(path.to_owned(), fault));
    }

    /// Gives the object `/bucket/key` a storage class and tags, the latter as the query of a URL.
    ///
    /// # Panics
    /// When there is no such object.
    pub fn set_class_and_tags(&self, path: &str, class: &'static str, tags: &'static str) {
        self.use_objects(|objects| {
            let object = objects.by_path.get_mut(path);
            let object = object.expect("a test gives them to an object that it has written");
            let headers = [(STORAGE_CLASS, class), (TAGGING, tags)];
            let headers = headers.map(|(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            });
            object.headers.extend(headers);
        });
    }

    /// Writes an object, `/bucket/key`.
    pub fn put(&self, path: &str, body: impl Into<Bytes>) {
        self.put_at(path, body, SystemTime::now());
    }

    /// Writes an object as if at this time.
    pub fn put_at(&self, path: &str, body: impl Into<Bytes>, at: SystemTime) {
        self.use_objects(|objects| objects.put(path, body.into(), HeaderMap::new(), at));
    }

    /// The object `/bucket/key`.
    pub fn object(&self, path: &str) -> Option<StoredObject> {
        self.use_objects(|objects| objects.by_path.get(path).cloned())
    }

    /// The paths of all objects that begin with this, in order.
    pub fn paths(&self, beginning: &str) -> Vec<String> {
        self.use_objects(|objects| {
            let paths = objects.by_path.keys();
            paths
                .filter(|path| path.starts_with(beginning))
                .cloned()
                .collect()
        })
    }

    /// Takes the method and the path of each request so far, also of those that met a fault.
    pub fn take_requests(&self) -> Vec<String> {
        self.use_objects(|objects| std::mem::take(&mut objects.requests))
    }

    fn use_objects<T>(&self, work: impl FnOnce(&mut Objects) -> T) -> T {
        self.0.service.use_objects(work)
    }
}

impl S3State {
    fn use_objects<T>(&self, work: impl FnOnce(&mut Objects) -> T) -> T {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut objects)
    }
}

impl Service for S3State {
    async fn answer(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let method_and_path = format!("{} {}", request.method(), path_of(&request));
        let fault = self.use_objects(|objects| {
            objects.requests.push(method_and_path);
            objects.take_fault(&request)
        });
        match fault {
            None => self.use_objects(|objects| objects.answer(&request)),
            Some(S3Fault::Refused(status, code) | S3Fault::WriteRefused(status, code)) => {
                error(status, code)
            }
            Some(S3Fault::Locked) => refused_by_lock(),
            Some(S3Fault::TagsUnreadable | S3Fault::TagsUnwritable) => error(403, "AccessDenied"),
            Some(S3Fault::WrongChecksum) => {
                let mut answer = self.use_objects(|objects| objects.answer(&request));
                let of_nothing = HeaderValue::from_static("AAAAAA==");
                answer
                    .headers_mut()
                    .insert("x-amz-checksum-crc32", of_nothing);
                answer
            }
            Some(S3Fault::SlowDownForReads) => error(503, "SlowDown"),
            Some(S3Fault::Slow(duration)) => {
                tokio::time::sleep(duration).await;
                self.use_objects(|objects| objects.answer(&request))
            }
            Some(S3Fault::ErrorAfterWrite) => {
                self.use_objects(|objects| objects.answer(&request));
                error(500, "InternalError")
            }
            Some(S3Fault::LateAfterWrite(duration)) => {
                let answer = self.use_objects(|objects| objects.answer(&request));
                tokio::time::sleep(duration).await;
                answer
            }
        }
    }
}

impl StoredObject {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The names and values of the tags.
    pub fn tags(&self) -> Vec<(String, String)> {
        let decode = |text: &str| text.replace("%20", " ").replace("%3D", "=");
        let tags = self.header(TAGGING).unwrap_or_default();
        tags.split('&')
            .filter_map(|tag| tag.split_once('='))
            .map(|(key, value)| (decode(key), decode(value)))
            .collect()
    }

    /// The storage class, if one was given.
    pub fn storage_class(&self) -> Option<&str> {
        self.header(STORAGE_CLASS)
    }
}

impl Objects {
    /// The fault that a request meets.
    fn take_fault(&mut self, request: &Request<Bytes>) -> Option<S3Fault> {
        let is_write = *request.method() == Method::PUT;
        let of_object = self.faults.get(&path_of(request)).copied();
        match of_object.or(self.fault) {
            Some(S3Fault::TagsUnreadable) if !is_about_tags(request) => None,
            Some(S3Fault::TagsUnwritable) if !request.headers().contains_key(TAGGING) => None,
            Some(S3Fault::SlowDownForReads | S3Fault::WrongChecksum)
                if is_write || is_list(request) =>
            {
                None
            }
            Some(S3Fault::WriteRefused(..) | S3Fault::Locked) if !is_write => None,
            Some(S3Fault::ErrorAfterWrite | S3Fault::LateAfterWrite(_)) if is_write => {
                self.fault.take()
            }
            Some(S3Fault::ErrorAfterWrite | S3Fault::LateAfterWrite(_)) => None,
            fault => fault,
        }
    }

    fn put(&mut self, path: &str, body: Bytes, headers: HeaderMap, last_modified: SystemTime) {
        self.written += 1;
        let etag = format!("\"{:032x}\"", self.written);
        let object = StoredObject {
            body,
            headers,
            last_modified,
            etag,
        };
        self.by_path.insert(path.to_owned(), object);
    }

    fn answer(&mut self, request: &Request<Bytes>) -> Response<Full<Bytes>> {
        if !request.headers().contains_key("authorization") {
            return error(403, "AccessDenied");
        }
        match *request.method() {
            Method::GET if is_list(request) => self.list(request.uri().path()),
            Method::GET if is_about_tags(request) => self.tags(request),
            Method::GET | Method::HEAD => self.read(request),
            Method::PUT => self.write(request),
            _ => error(405, "MethodNotAllowed"),
        }
    }

    /// The keys of all objects in a bucket (`ListObjectsV2`).
    fn list(&self, bucket: &str) -> Response<Full<Bytes>> {
        let bucket = format!("{}/", bucket.trim_end_matches('/'));
        let keys = self
            .by_path
            .keys()
            .filter_map(|path| path.strip_prefix(&bucket));
        let contents: Vec<_> = keys
            .map(|key| format!("<Contents><Key>{key}</Key></Contents>"))
            .collect();
        let contents = contents.concat();
        let text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>"
        );
        response(200, &[("content-type", "application/xml")], text)
    }

    /// The answer to a GET or a HEAD.
    fn read(&self, request: &Request<Bytes>) -> Response<Full<Bytes>> {
        let Some(object) = self.by_path.get(&path_of(request)) else {
            return error(404, "NoSuchKey");
        };
        let body = if request.method() == Method::GET {
            object.body.clone()
        } else {
            Bytes::new()
        };
        let written = httpdate::fmt_http_date(object.last_modified);
        let mut headers = vec![("etag", object.etag.as_str()), ("last-modified", &written)];
        if let Some(class) = object.header(STORAGE_CLASS) {
            headers.push((STORAGE_CLASS, class));
        }
        let count = object.tags().len().to_string();
        if count != "0" {
            headers.push(("x-amz-tagging-count", &count));
        }
        response(200, &headers, body)
    }

    /// The tags of an object (`GetObjectTagging`).
    fn tags(&self, request: &Request<Bytes>) -> Response<Full<Bytes>> {
        let Some(object) = self.by_path.get(&path_of(request)) else {
            return error(404, "NoSuchKey");
        };
        let tags: Vec<_> = object
            .tags()
            .into_iter()
            .map(|(key, value)| format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>"))
            .collect();
        let tags = tags.concat();
        let text = format!("<Tagging><TagSet>{tags}</TagSet></Tagging>");
        response(200, &[("content-type", "application/xml")], text)
    }

    /// Writes an object, if the conditions of the request hold.
    fn write(&mut self, request: &Request<Bytes>) -> Response<Full<Bytes>> {
        let path = path_of(request);
        let etag = self.by_path.get(&path).map(|object| object.etag.as_str());
        let header = |name: HeaderName| request.headers().get(name)?.to_str().ok();
        if let Some(expected) = header(IF_MATCH) {
            let Some(etag) = etag else {
                return error(404, "NoSuchKey");
            };
            if etag != expected {
                return error(412, "PreconditionFailed");
            }
        }
        if header(IF_NONE_MATCH).is_some() && etag.is_some() {
            return error(412, "PreconditionFailed");
        }
        let headers = request.headers().clone();
        self.put(&path, request.body().clone(), headers, SystemTime::now());
        response(200, &[], "")
    }
}

/// The path of an object. The SDK encodes the equals sign of a partition's folder.
fn path_of(request: &Request<Bytes>) -> String {
    request.uri().path().replace("%3D", "=")
}

/// Whether a request is for the keys of a bucket (`ListObjectsV2`).
fn is_list(request: &Request<Bytes>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.contains("list-type=2")
}

/// Whether a request is for the tags of an object (`GetObjectTagging`).
fn is_about_tags(request: &Request<Bytes>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query
        .split('&')
        .any(|part| part == "tagging" || part == "tagging=")
}

fn refused_by_lock() -> Response<Full<Bytes>> {
    let text = "<Error><Code>AccessDenied</Code><Message>Access Denied because object protected by object lock.</Message></Error>";
    response(403, &[], text)
}

fn error(status: u16, code: &str) -> Response<Full<Bytes>> {
    let text =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code></Error>");
    response(status, &[], text)
}
