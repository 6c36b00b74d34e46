//! The listeners of a stack, which take its ports before anything else starts. Must not know what
//! is served on a port.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, TcpListener};

use anyhow::{Context as _, Result, bail};

use crate::options::Options;
use crate::stack_info::Addresses;

/// The port of the inspector, unless an option names another one or another program has it.
const INSPECTOR_PORT: u16 = 9001;

/// The listeners of a stack. While they exist, no other program can take its ports.
pub(super) struct Listeners {
    /// For the HTTP API.
    pub(super) api: TcpListener,
    /// For the DynamoDB emulator.
    pub(super) dynamodb: TcpListener,
    /// For the inspector.
    pub(super) inspector: TcpListener,
}

/// A port that an option names.
struct PortOption {
    name: &'static str,
    port: u16,
}

impl Listeners {
    /// Takes all ports, so that nothing else is touched when one of them is taken.
    ///
    /// # Errors
    /// A port is taken, or two are the same.
    pub(super) fn bind(options: &Options) -> Result<Self> {
        ensure_different_ports(options)?;
        let api = bind(options.host, options.port, "--port")?;
        let loopback = Ipv4Addr::LOCALHOST.into();
        let dynamodb = bind(loopback, options.dynamodb_port, "--dynamodb-port")?;
        let bind_inspector = |port| bind(options.host, port, "--inspector-port");
        let inspector = match options.inspector_port {
            Some(port) => bind_inspector(port)?,
            None => bind_inspector(INSPECTOR_PORT).or_else(|_| bind_inspector(0))?,
        };
        Ok(Self {
            api,
            dynamodb,
            inspector,
        })
    }

    /// Where the API and the inspector listen.
    pub(super) fn addresses(&self) -> Result<Addresses> {
        Ok(Addresses {
            api: self.api.local_addr()?,
            inspector: self.inspector.local_addr()?,
        })
    }
}

/// Checks that no two options name the same port. Port 0 chooses a free one, also twice.
fn ensure_different_ports(options: &Options) -> Result<()> {
    let named = [
        ("--port", Some(options.port)),
        ("--dynamodb-port", Some(options.dynamodb_port)),
        ("--inspector-port", options.inspector_port),
    ];
    let mut seen: Vec<PortOption> = Vec::new();
    for (name, port) in named {
        let Some(port) = port.filter(|port| *port != 0) else {
            continue;
        };
        if let Some(other) = seen.iter().find(|other| other.port == port) {
            bail!("{} and {name} are both {port}: give two ports.", other.name);
        }
        seen.push(PortOption { name, port });
    }
    Ok(())
}

fn bind(address: IpAddr, port: u16, option: &str) -> Result<TcpListener> {
    let listener = TcpListener::bind((address, port));
    let is_taken = |error: &std::io::Error| error.kind() == ErrorKind::AddrInUse;
    if listener.as_ref().is_err_and(is_taken) {
        bail!(
            "Port {port} of {address} is in use. Stop the program that listens there, or choose another port with {option} (0 \
             chooses a free one)."
        );
    }
    listener.with_context(|| format!("Cannot listen on port {port} of {address} ({option})"))
}
