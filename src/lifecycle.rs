//! `parley serve`: loads the configuration, starts the server, stops it on a signal (operations.md
//! §1, §4).

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::audit;
use crate::clock::SystemClock;
use crate::config::{Config, ConfigError, ConfigSources, url_of};
use crate::server::{self, Running, StartError, StopError};
use crate::telemetry;

/// The exit code after a second signal.
const INTERRUPTED: i32 = 130;

/// A failure of `serve`, in one line.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Wrong configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It ran, and did not stop in good order, or a part of it ended.
    #[error(transparent)]
    Stop(#[from] StopError),
    /// The system refused a resource.
    #[error("the system refused {what}: {source}")]
    System {
        /// The resource.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

/// Runs the forum until a signal ends it.
///
/// # Errors
/// Wrong configuration, or a failed start.
pub fn serve(sources: &ConfigSources) -> Result<(), ServeError> {
    let config = Config::load(sources)?;
    let _log = telemetry::start_log(&config.log);
    for name in sources.unknown_variables() {
        tracing::warn!(name, "this variable sets no key; config/parley.toml shows every key");
    }
    let runtime =
        Runtime::new().map_err(|source| ServeError::System { what: "a runtime", source })?;
    let served = runtime.block_on(run(config));
    // A thread that the disk or a long read holds is not waited for.
    runtime.shutdown_background();
    served
}

async fn run(config: Config) -> Result<(), ServeError> {
    let refused = |source| ServeError::System { what: "to tell of signals", source };
    let mut signals = Signals::new().map_err(refused)?;
    let public = config.public_url.as_ref().map(|url| url.text.clone());
    let folder = config.data.clone();
    let listener = server::listen(config.listen)?;
    let started = tokio::select! {
        started = start(config, listener) => started?,
        name = signals.next() => {
            tracing::info!(signal = name, "stopped while the store was opened");
            return Ok(());
        }
    };
    audit::started(started.address, &folder);
    greet(&started, public.as_deref());
    let ended = tokio::select! {
        name = signals.next() => {
            audit::stopping(name);
            tracing::info!(signal = name, "stopping; a second signal exits at once");
            None
        }
        end = started.part_ended() => Some(end),
    };
    let stopped = tokio::select! {
        stopped = started.stop() => stopped,
        _ = signals.next() => std::process::exit(INTERRUPTED),
    };
    if let Some(end) = ended {
        return Err(StopError::Part(end).into());
    }
    stopped?;
    tracing::info!("stopped");
    Ok(())
}

/// Starts the server on a thread of its own: opening a store takes as long as its log is, and
/// signals are heard meanwhile.
async fn start(config: Config, listener: TcpListener) -> Result<Running, ServeError> {
    let refused = |source| ServeError::System { what: "a thread", source };
    let (told, started) = oneshot::channel();
    let runtime = Handle::current();
    let opening = std::thread::Builder::new().name("start".to_owned()).spawn(move || {
        let running = server::start(config, Arc::new(SystemClock), listener);
        let _ = told.send(runtime.block_on(running));
    });
    opening.map_err(refused)?;
    let started = started.await.map_err(|_| std::io::Error::other("its start panicked"));
    Ok(started.map_err(refused)??)
}

/// The signals that end a process: SIGTERM and SIGINT.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to receive them.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new() -> std::io::Result<Self> {
        let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
        Ok(Self { terminate: signal(terminate)?, interrupt: signal(interrupt)? })
    }

    /// Waits for the next signal; returns its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

/// Prints the address, and on the first start the tokens. A closed standard output is no failure.
fn greet(running: &Running, public: Option<&str>) {
    let mut text = greeting(running.address);
    if let Some(first) = &running.first_start {
        let own = url_of(running.address);
        text.push_str(&first_start_text(public.unwrap_or(&own), &first.admin, &first.agent));
    }
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// The first line of a server that listens on `address`; a second one if it does so everywhere,
/// which is no address that a client can call.
fn greeting(address: SocketAddr) -> String {
    let own = url_of(address);
    let everywhere = if address.ip().is_unspecified() {
        "It can be called at every address of this machine.
"
    } else {
        ""
    };
    format!("parley listens on {own}; begin with: curl {own}/v1/manifest\n{everywhere}")
}

/// The text of the first start: two tokens, and the configuration of an agent.
fn first_start_text(url: &str, admin: &str, agent: &str) -> String {
    let snippet = serde_json::json!({
        "mcpServers": {
            "parley": {
                "type": "http",
                "url": format!("{url}/mcp"),
                "headers": { "Authorization": format!("Bearer {agent}") },
            }
        }
    });
    format!(
        "admin token (human:admin; also in admin.token in the data folder): {admin}\n\
         agent token (handle agent; read, write): {agent}\n\
         MCP configuration for an agent:\n{snippet:#}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goal: the address that is printed can be called. Method: a row an address.
    #[test]
    fn greetings() {
        for (address, url, lines) in [
            ("127.0.0.1:7467", "http://127.0.0.1:7467", 1),
            ("0.0.0.0:7467", "http://127.0.0.1:7467", 2),
            ("[::]:7467", "http://[::1]:7467", 2),
        ] {
            let text = greeting(address.parse().unwrap());
            assert!(text.contains(&format!("parley listens on {url}; ")), "{text}");
            assert!(text.contains(&format!("curl {url}/v1/manifest")), "{text}");
            assert_eq!(text.lines().count(), lines, "{text}");
        }
    }
}
