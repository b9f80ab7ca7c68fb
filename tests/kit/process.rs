//! The binary: commands that end, and servers that run until they are told to stop.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::peer;

/// Arguments under which the language holds no conversation up.
pub const GENEROUS: [&str; 8] = [
    "--set",
    "limits.writes_per_minute=0",
    "--set",
    "limits.consecutive_max=1000000",
    "--set",
    "limits.exchange_max=1000000",
    "--set",
    "limits.page_max=1000",
];

/// The folder of the profile that this test was built in: `target/debug`.
fn profile() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).expect("a test lies in target/<profile>/deps").to_owned()
}

/// The folder that all is built in: `target`.
pub fn target() -> PathBuf {
    profile().parent().expect("a profile lies in target").to_owned()
}

/// The binary, in an environment without settings of its own: the one that was built with this
/// test, or the one that `PARLEY_BINARY` names.
pub fn command(arguments: &[&str]) -> Command {
    let built = || profile().join("parley");
    let binary = std::env::var_os("PARLEY_BINARY").map_or_else(built, PathBuf::from);
    let mut command = Command::new(binary);
    command.args(arguments).env_clear().stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// How a run of the binary ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Ended {
    fn of(child: Child, mut out: String) -> Self {
        let output = child.wait_with_output().expect("the binary ends");
        let text = |bytes| String::from_utf8(bytes).expect("output in UTF-8");
        out.push_str(&text(output.stdout));
        Self { code: output.status.code().unwrap_or(-1), out, err: text(output.stderr) }
    }

    /// The one line on standard error of a run that failed with `code`.
    pub fn failed(&self, code: i32) -> &str {
        assert_eq!((self.code, self.err.lines().count()), (code, 1), "{self:?}");
        self.err.trim_end().strip_prefix("error: ").unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The standard output of a run that succeeded, with nothing on standard error.
    pub fn succeeded(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        &self.out
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(self.succeeded()).expect("JSON")
    }
}

/// Runs the binary with `input` on standard input.
pub fn run_with(arguments: &[&str], input: &[u8]) -> Ended {
    let mut child = command(arguments).stdin(Stdio::piped()).spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // Not every command reads what it is given.
    let _ = stdin.write_all(input);
    drop(stdin);
    Ended::of(child, String::new())
}

/// Runs the binary without input.
pub fn run(arguments: &[&str]) -> Ended {
    run_with(arguments, b"")
}

/// A running `parley serve`, killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    /// The administrator's token, as it stood in the data folder at the start.
    pub admin: String,
    data: String,
    /// Held open: it goes on to print its first words.
    words: BufReader<ChildStdout>,
}

impl Process {
    /// Starts one on the folder `data` with more arguments; it is ready when this returns. How it
    /// ended if it does not start.
    pub fn try_start(data: &str, arguments: &[&str]) -> Result<Self, Ended> {
        Self::logging(data, arguments, Stdio::piped())
    }

    /// The same, its log at `log`.
    pub fn logging(data: &str, arguments: &[&str], log: Stdio) -> Result<Self, Ended> {
        let mut line = vec!["serve", "--data", data];
        if !arguments.contains(&"--listen") {
            line.extend(["--listen", "127.0.0.1:0"]);
        }
        line.extend(arguments);
        let mut child = command(&line).stderr(log).spawn().expect("the binary runs");
        let mut words = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        words.read_line(&mut line).expect("text");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split([';', ' ']).next());
        let Some(address) = address.and_then(|text| text.trim().parse().ok()) else {
            return Err(Ended::of(child, line));
        };
        // A test may have damaged it.
        let admin = std::fs::read(Path::new(data).join("admin.token")).expect("a token");
        let admin = String::from_utf8_lossy(&admin).trim().to_owned();
        Ok(Self { child, address, admin, data: data.to_owned(), words })
    }

    /// Starts one that must start.
    pub fn start(data: &str, arguments: &[&str]) -> Self {
        Self::try_start(data, arguments).unwrap_or_else(|ended| panic!("{ended:?}"))
    }

    /// The token of the agent that a first start makes, read from its first words.
    pub fn agent(&mut self) -> String {
        let mut words = self.words.by_ref().lines().map(|line| line.expect("text"));
        let line = words.find(|line| line.starts_with("agent token")).expect("a first start");
        line.rsplit(": ").next().expect("a token").trim().to_owned()
    }

    /// What it prints until it ends, but for the first line.
    pub fn words(&mut self) -> String {
        let mut words = String::new();
        self.words.read_to_string(&mut words).expect("text");
        words
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Where its data lies.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The secret of a new token made of `fields`.
    pub fn token(&self, fields: &Value) -> String {
        let made = peer::post(self.address, &self.admin, "/v1/tokens", fields);
        made["secret"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
    }

    /// Runs a command against it.
    pub fn run(&self, token: &str, arguments: &[&str]) -> Ended {
        run(&[arguments, &["--url", &self.url(), "--token", token]].concat())
    }

    /// The same, as JSON.
    pub fn json(&self, token: &str, arguments: &[&str]) -> Value {
        self.run(token, &[arguments, &["--json"]].concat()).json()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a process"), signal).expect("it runs");
    }

    /// Waits until it ends; gives its exit code.
    pub fn ends(&mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }

    /// Ends it in good order.
    pub fn stop(mut self) {
        self.signal(Signal::TERM);
        assert_eq!(self.ends(), Some(0));
    }

    /// Ends it by `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.ends();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
