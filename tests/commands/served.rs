//! A server as a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::parley::{Ended, Folder, command, run};

/// A running `parley serve`; killed if the test ends without stopping it.
pub struct Served {
    child: Child,
    out: BufReader<ChildStdout>,
    /// Where it listens.
    pub url: String,
    data: String,
}

/// How a server ended.
#[derive(Debug)]
pub struct Stopped {
    pub code: i32,
    /// What it printed after its greeting.
    pub out: String,
}

/// `parley serve` on a free port, in the data folder `data`.
pub fn serve(data: &str, more: &[&str]) -> Command {
    let mut command = command(&["serve", "--listen", "127.0.0.1:0", "--data", data]);
    command.args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Served {
    /// Starts it in `folder`, and waits until it listens.
    pub fn start(folder: &Folder) -> Self {
        let data = format!("{}/data", folder.path());
        let mut child = serve(&data, &["--log-level", "warn"]).spawn().expect("the binary runs");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut greeting = String::new();
        out.read_line(&mut greeting).expect("a line");
        let mut words = greeting.split(|it: char| it.is_whitespace() || it == ';');
        let url = words.find(|word| word.starts_with("http://")).map(str::to_owned);
        let url = url.unwrap_or_else(|| panic!("no URL: {greeting:?}"));
        Self { child, out, url, data }
    }

    /// The administrator's token.
    pub fn admin(&self) -> String {
        let token = std::fs::read_to_string(format!("{}/admin.token", self.data));
        token.expect("the administrator's token").trim().to_owned()
    }

    /// Where its data lies.
    pub fn data(&self) -> &str {
        &self.data
    }

    /// A new token, by the command line.
    pub fn token(&self, arguments: &[&str]) -> String {
        let line = [&["token", "create", "--url", &self.url, "--data", &self.data], arguments];
        run(&line.concat()).succeeded().trim_end().to_owned()
    }

    /// Runs a command against it.
    pub fn run(&self, token: &str, arguments: &[&str]) -> Ended {
        run(&[arguments, &["--url", &self.url, "--token", token]].concat())
    }

    /// The same, as JSON.
    pub fn json(&self, token: &str, arguments: &[&str]) -> serde_json::Value {
        let ended = self.run(token, &[arguments, &["--json"]].concat());
        serde_json::from_str(ended.succeeded()).expect("JSON")
    }

    /// Asks it to stop and waits until it has.
    pub fn stop(mut self) -> Stopped {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), Signal::TERM).expect("the signal arrives");
        let mut out = String::new();
        self.out.read_to_string(&mut out).expect("text");
        Stopped { code: self.child.wait().expect("it ends").code().unwrap_or(-1), out }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
