//! DynamoDB inside this process: its protocol on a loopback port, its tables in SQLite, as a
//! template declares them.
//!
//! One thread and one database each, a few milliseconds to start, nothing shared: a test starts its
//! own. What the emulator does not do: it never throttles, never returns unprocessed items, and
//! checks no permissions. It answers no page of a browser.

mod data_file;
mod guarded;
mod tables;

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result};
use dynoxide::Database;
use dynoxide::actions::scan::ScanResponse;
use dynoxide::types::{AttributeValue, Item};
use sandbox::http_server::HttpServer;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use self::guarded::Guarded;
use self::tables::request;
use crate::template::{Table, Template};

/// How long requests that are under way may take when the emulator stops.
const TIME_TO_FINISH: Duration = Duration::from_secs(1);

/// Items of a page. Without a limit the whole rest of the table is read for each page.
const PAGE: usize = 2_000;

const CANNOT_START: &str = "Cannot start the DynamoDB emulator";

/// Where an emulator keeps its items.
#[derive(Clone, Debug)]
pub enum Storage {
    /// In memory: gone when the emulator stops.
    Memory,
    /// In this file, which is created when there is none. Its folder must exist.
    File(PathBuf),
}

/// A running emulator. Stops when dropped.
pub struct Emulator {
    address: SocketAddr,
    database: Option<Database>,
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
    /// each answer that says that the emulator failed, such as that the disk is full.
    ///
    /// # Errors
    /// Another emulator uses the file; it cannot be opened, or its tables are not those of the
    /// template.
    pub fn start_on(
        template: &Template,
        storage: &Storage,
        listener: TcpListener,
        failures: Option<mpsc::UnboundedSender<String>>,
    ) -> Result<Self> {
        let lock = match storage {
            Storage::Memory => None,
            Storage::File(path) => Some(data_file::lock(path)?),
        };
        let database = match storage {
            Storage::Memory => Database::memory().context("Cannot open a database in memory")?,
            Storage::File(path) => data_file::open(path)?,
        };
        for table in &template.tables {
            tables::ensure(&database, table)?;
        }
        let (stop, stopping) = watch::channel(());
        let guarded = Guarded::new(database.clone(), failures);
        let address = listener.local_addr().context(CANNOT_START)?;
        listener.set_nonblocking(true).context(CANNOT_START)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context(CANNOT_START)?;
        let thread = std::thread::Builder::new()
            .name("dynamodb".to_owned())
            .spawn(move || runtime.block_on(serve(listener, guarded, stopping)))
            .context(CANNOT_START)?;
        Ok(Self {
            address,
            database: Some(database),
            stop: Some(stop),
            thread: Some(thread),
            lock,
        })
    }

    /// Another program that listens at `address`. It is only an address here: the methods that read
    /// and write items fail.
    pub fn elsewhere(address: SocketAddr) -> Self {
        Self {
            address,
            database: None,
            stop: None,
            thread: None,
            lock: None,
        }
    }

    /// The URL to give to an SDK, such as `http://127.0.0.1:8000`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stores an item, given in DynamoDB's own JSON, without a request over HTTP.
    ///
    /// # Errors
    /// What DynamoDB would answer.
    pub fn put_item(&self, table: &str, item: &Value) -> Result<()> {
        let database = self.database()?;
        let put = request(json!({"TableName": table, "Item": item}))?;
        database
            .put_item(put)
            .map(drop)
            .with_context(|| format!("Cannot store an item in {table}"))
    }

    /// The item with this key, both in DynamoDB's own JSON.
    ///
    /// # Errors
    /// What DynamoDB would answer.
    pub fn item(&self, table: &str, key: &Value) -> Result<Option<Value>> {
        let database = self.database()?;
        let get = request(json!({"TableName": table, "Key": key}))?;
        let found = database
            .get_item(get)
            .with_context(|| format!("Cannot read {table}"))?;
        Ok(found.item.map(serde_json::to_value).transpose()?)
    }

    /// Deletes all items of a table, by creating it anew.
    ///
    /// # Errors
    /// What DynamoDB would answer.
    pub fn clear(&self, table: &Table) -> Result<()> {
        let database = self.database()?;
        let delete = request(json!({"TableName": table.name}))?;
        database
            .delete_table(delete)
            .with_context(|| format!("Cannot empty {}", table.name))?;
        tables::ensure(database, table)
    }

    /// Whether a table has no item.
    ///
    /// # Errors
    /// What DynamoDB would answer.
    pub fn is_empty(&self, table: &str) -> Result<bool> {
        let page = self.scan(table, 1, &Value::Null)?;
        Ok(page.count == 0)
    }

    /// Gives all items of a table to `each`, in DynamoDB's own JSON.
    ///
    /// # Errors
    /// What DynamoDB would answer.
    pub fn for_each_item(&self, table: &str, mut each: impl FnMut(&mut Value)) -> Result<()> {
        self.read_all(table, |item| {
            each(&mut serde_json::to_value(item)?);
            Ok(())
        })
    }

    /// Up to `most` items whose `pk` begins with `prefix`, those with the last texts in the
    /// attribute `order`, in this order, and in DynamoDB's own JSON.
    ///
    /// # Errors
    /// What DynamoDB would answer.
    pub fn newest(
        &self,
        table: &str,
        prefix: &str,
        order: &str,
        most: usize,
    ) -> Result<Vec<Value>> {
        let mut newest = BTreeMap::new();
        self.read_all(table, |item| {
            let partition = text_of(&item, "pk");
            if !partition.starts_with(prefix) {
                return Ok(());
            }
            let sort = text_of(&item, "sk");
            newest.insert((text_of(&item, order), partition, sort), item);
            if newest.len() > most {
                newest.pop_first();
            }
            Ok(())
        })?;
        // Only now, because making JSON of all items would take most of the time.
        let newest: Result<Vec<Value>, _> =
            newest.into_values().map(serde_json::to_value).collect();
        Ok(newest?)
    }

    fn read_all(&self, table: &str, mut each: impl FnMut(Item) -> Result<()>) -> Result<()> {
        let mut after = Value::Null;
        loop {
            let page = self.scan(table, PAGE, &after)?;
            for item in page.items.into_iter().flatten() {
                each(item)?;
            }
            let Some(last) = page.last_evaluated_key else {
                return Ok(());
            };
            after = serde_json::to_value(last)?;
        }
    }

    /// Up to `most` items of a partition `pk`, those with the last sort keys, in their order, and
    /// in DynamoDB's own JSON.
    ///
    /// # Errors
    /// What DynamoDB would answer.
    pub fn last_of(&self, table: &str, partition: &str, most: usize) -> Result<Vec<Value>> {
        let database = self.database()?;
        let mut found = Vec::new();
        let mut after = Value::Null;
        while found.len() < most {
            let query = request(json!({
                "TableName": table,
                "KeyConditionExpression": "pk = :pk",
                "ExpressionAttributeValues": {":pk": {"S": partition}},
                "ScanIndexForward": false,
                "Limit": most - found.len(),
                "ExclusiveStartKey": after,
            }))?;
            let page = database
                .query(query)
                .with_context(|| format!("Cannot read {table}"))?;
            for item in page.items.into_iter().flatten() {
                found.push(serde_json::to_value(item)?);
            }
            let Some(last) = page.last_evaluated_key else {
                break;
            };
            after = serde_json::to_value(last)?;
        }
        found.reverse();
        Ok(found)
    }

    fn database(&self) -> Result<&Database> {
        self.database.as_ref().context("The emulator has stopped.")
    }

    fn scan(&self, table: &str, limit: usize, after: &Value) -> Result<ScanResponse> {
        let database = self.database()?;
        let scan =
            request(json!({"TableName": table, "Limit": limit, "ExclusiveStartKey": after}))?;
        database
            .scan(scan)
            .with_context(|| format!("Cannot read {table}"))
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

async fn serve(listener: TcpListener, guarded: Guarded, stop: watch::Receiver<()>) {
    let listener = tokio::net::TcpListener::from_std(listener);
    let server = listener.map(|listener| HttpServer::start_on(listener, guarded, None));
    let Ok(Ok(mut server)) = server else {
        return;
    };
    stopped(stop).await;
    let _ = tokio::time::timeout(TIME_TO_FINISH, server.service.idle()).await;
    server.stop().await;
}

/// The text of an attribute of an item; empty when the item has no such text.
fn text_of(item: &Item, attribute: &str) -> String {
    match item.get(attribute) {
        Some(AttributeValue::S(text)) => text.clone(),
        _ => String::new(),
    }
}

/// Waits until the sender is gone, which is all that it is there for.
async fn stopped(mut stop: watch::Receiver<()>) {
    while stop.changed().await.is_ok() {}
}

#[cfg(test)]
mod tests;
