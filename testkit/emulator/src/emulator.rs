//! DynamoDB inside this process: its protocol on a loopback port, its tables in SQLite, as a
//! template declares them.
//!
//! One database and a few threads each, a few milliseconds to start, nothing shared: a test starts its
//! own. What the emulator does not do: it never throttles, never returns unprocessed items, and
//! checks no permissions. It responds to no page of a browser.

pub(crate) mod data_file;
mod items;
mod protocol;
mod reserved_names;
mod services;
mod tables;

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context as _, Result};
use dynoxide::Database;
use processes::http_server::HttpServer;
use tokio::sync::{Mutex, watch};

use self::protocol::{Failures, Protocol};
use self::services::{OtherServices, Services};
use crate::s3::FakeS3;
use crate::sqs::FakeSqs;
use crate::template::Template;

/// The table in which the emulator lists its tables.
const LIST_OF_TABLES: &str = "_tables";

const CANNOT_START: &str = "Cannot start the DynamoDB emulator";

/// Where an emulator keeps its items.
#[derive(Clone, Debug)]
pub enum Storage {
    /// In memory: gone when the emulator stops.
    Memory,
    /// In this file, which is created when there is none. [`Storage::file`] makes it.
    File(PathBuf),
}

impl Storage {
    /// In this file, with its symbolic links resolved.
    ///
    /// # Errors
    /// The file's folder does not exist, or the file is a link to a file that does not exist.
    pub fn file(path: &Path) -> Result<Self> {
        data_file::canonical(path).map(Self::File)
    }
}

/// A running emulator. Stops when dropped.
pub struct Emulator {
    address: SocketAddr,
    database: Option<Database>,
    others: OtherServices,
    stop: Option<watch::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Held as long as the data file is used.
    lock: Option<File>,
}

impl Emulator {
    /// Starts an emulator on a port of 127.0.0.1 (0: any free one) that holds the tables of
    /// `template`. It accepts requests when this returns.
    ///
    /// # Errors
    /// The port is taken; the file cannot be opened, or its tables are not those of the template.
    pub fn start(template: &Template, storage: &Storage, port: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("Cannot listen on port {port} of 127.0.0.1"))?;
        Self::start_on(template, storage, listener, None)
    }

    /// As [`Emulator::start`], on a port that the caller has taken. `failures` gets the reason of
    /// each response about a failure of the emulator, such as a full disk.
    ///
    /// # Errors
    /// Another emulator uses the file, or another program or version has made it; it cannot be opened,
    /// or its tables are not those of the template.
    pub fn start_on(
        template: &Template,
        storage: &Storage,
        listener: TcpListener,
        failures: Option<Failures>,
    ) -> Result<Self> {
        let lock = match storage {
            Storage::Memory => None,
            Storage::File(path) => {
                data_file::ensure_own(path, LIST_OF_TABLES)?;
                Some(data_file::lock(path)?)
            }
        };
        let database = match storage {
            Storage::Memory => Database::memory().context("Cannot open a database in memory")?,
            Storage::File(path) => data_file::open(path)?,
        };
        for table in &template.tables {
            tables::ensure(&database, table)?;
        }
        let (stop, stopping) = watch::channel(());
        let others = OtherServices::default();
        let services = Services {
            dynamodb: Protocol {
                database: Arc::new(Mutex::new(database.clone())),
                failures,
            },
            others: others.clone(),
        };
        let address = listener.local_addr().context(CANNOT_START)?;
        listener.set_nonblocking(true).context(CANNOT_START)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context(CANNOT_START)?;
        let thread = std::thread::Builder::new()
            .name("dynamodb".to_owned())
            .spawn(move || runtime.block_on(serve(listener, services, stopping)))
            .context(CANNOT_START)?;
        Ok(Self {
            address,
            database: Some(database),
            others,
            stop: Some(stop),
            thread: Some(thread),
            lock,
        })
    }

    /// Another emulator, a program that listens at `address`. Only its endpoint is known here: the
    /// methods that read and write items fail, and [`Self::delete_expired_items`] deletes none.
    pub fn remote(address: SocketAddr) -> Self {
        Self {
            address,
            database: None,
            others: OtherServices::default(),
            stop: None,
            thread: None,
            lock: None,
        }
    }

    /// Serves this SQS and this S3 at the emulator's address, too. Does nothing the second time.
    pub fn serve_others(&self, sqs: &FakeSqs, s3: &FakeS3) {
        self.others.set(sqs.state(), s3.state());
    }

    /// The URL to give to an SDK, such as `http://127.0.0.1:8000`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Deletes the items whose time to live has passed, of all tables. The emulator never does so
    /// by itself, so that what a test stores stays until the test wants it gone.
    ///
    /// # Errors
    /// The database cannot be read or written.
    pub fn delete_expired_items(&self) -> Result<usize> {
        let Some(database) = &self.database else {
            return Ok(0);
        };
        database.sweep_ttl().context("Cannot delete expired items")
    }

    /// Stops it: what is under way is answered, then connections are refused. Does nothing the
    /// second time.
    pub fn stop(&mut self) {
        self.database = None;
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so on stderr and is as stopped as one that did not.
            let _ = thread.join();
        }
        self.lock = None;
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn serve(listener: TcpListener, services: Services, stop: watch::Receiver<()>) {
    let listener = tokio::net::TcpListener::from_std(listener);
    let server = listener.map(|listener| HttpServer::start_on(listener, services, None));
    let Ok(Ok(mut server)) = server else {
        return;
    };
    stopped(stop).await;
    server.stop().await;
}

/// Waits until the sender is gone, which is all that it is there for.
async fn stopped(mut stop: watch::Receiver<()>) {
    while stop.changed().await.is_ok() {}
}

#[cfg(test)]
mod tests;
