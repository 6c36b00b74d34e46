//! An S3 that keeps objects in memory. It decides conditional writes, and dates objects, as AWS
//! documents it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use hyper::{HeaderMap, Method, Request, Response};
use processes::http_server::{HttpServer, Service, response};

use crate::fault_proxy::{FaultInjector, Plan};

/// A server on loopback, until it is dropped.
#[derive(Debug)]
pub struct FakeS3(HttpServer<FaultInjector<S3State>>);

/// A header of an object that another one replaces, or of its response.
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
pub struct S3State(Mutex<Objects>);

#[derive(Debug, Default)]
struct Objects {
    by_path: BTreeMap<String, StoredObject>,
    requests: Vec<String>,
    written: u64,
}

impl FakeS3 {
    /// Starts an S3 without objects.
    ///
    /// # Errors
    /// When loopback has no free port.
    pub async fn start() -> Result<Self> {
        let s3 = FaultInjector::new(S3State::default(), Plan::none());
        HttpServer::start(s3, None).await.map(Self)
    }

    /// As [`FakeS3::start`], in a thread of its own.
    ///
    /// # Errors
    /// When loopback has no free port, or the thread cannot be started.
    pub fn start_in_thread() -> Result<Self> {
        let s3 = FaultInjector::new(S3State::default(), Plan::none());
        HttpServer::start_in_thread(s3).map(Self)
    }

    /// The endpoint, as the SDK takes it.
    pub fn endpoint(&self) -> String {
        self.0.endpoint()
    }

    /// What responds to its requests.
    pub(crate) fn state(&self) -> Arc<FaultInjector<S3State>> {
        Arc::clone(&self.0.service)
    }

    /// Has requests fail.
    pub fn faults(&self) -> &FaultInjector<S3State> {
        &self.0.service
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

    /// Takes the method and the path of each request so far that met no fault.
    pub fn take_requests(&self) -> Vec<String> {
        self.use_objects(|objects| std::mem::take(&mut objects.requests))
    }

    fn use_objects<T>(&self, work: impl FnOnce(&mut Objects) -> T) -> T {
        self.0.service.service.use_objects(work)
    }
}

impl S3State {
    fn use_objects<T>(&self, work: impl FnOnce(&mut Objects) -> T) -> T {
        let mut objects = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut objects)
    }
}

impl Service for S3State {
    async fn respond(&self, request: Request<Bytes>) -> Response<Full<Bytes>> {
        let method_and_path = format!("{} {}", request.method(), path_of(&request));
        self.use_objects(|objects| {
            objects.requests.push(method_and_path);
            objects.respond(&request)
        })
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

    fn respond(&mut self, request: &Request<Bytes>) -> Response<Full<Bytes>> {
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

    /// The response to a GET or a HEAD.
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

fn error(status: u16, code: &str) -> Response<Full<Bytes>> {
    let text =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>{code}</Code></Error>");
    response(status, &[], text)
}
