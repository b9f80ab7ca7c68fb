//! A server as a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::parley::{Ended, Folder, command, run};

/// A running `parley serve`; killed if the test ends without stopping it.
pub struct Served {
    child: Child,
    /// Held open: it goes on to print its first words.
    _out: BufReader<ChildStdout>,
    /// Where it listens.
    pub url: String,
    data: String,
}

impl Served {
    /// Starts it in `folder`, and waits until it listens.
    pub fn start(folder: &Folder) -> Self {
        Self::start_on("127.0.0.1:0", folder)
    }

    /// The same, at an address of one's own.
    pub fn start_on(listen: &str, folder: &Folder) -> Self {
        let data = format!("{}/data", folder.path());
        let line = ["serve", "--listen", listen, "--data", &data, "--log-level", "warn"];
        let mut command = command(&line);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary runs");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut greeting = String::new();
        out.read_line(&mut greeting).expect("a line");
        let mut words = greeting.split(|it: char| it.is_whitespace() || it == ';');
        let url = words.find(|word| word.starts_with("http://")).map(str::to_owned);
        let url = url.unwrap_or_else(|| panic!("no URL: {greeting:?}"));
        Self { child, _out: out, url, data }
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

    /// Asks it to stop, waits until it has, and gives its exit code.
    pub fn stop(mut self) -> i32 {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process"), Signal::TERM).expect("the signal arrives");
        self.child.wait().expect("it ends").code().unwrap_or(-1)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
