//! The server under attack: a process of its own, what it costs, and a witness that it serves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parley_kit::{Connection, Folder, Process, http};

use super::Force;

/// Of one core, what an attack may cost.
const SHARE_MAX: f64 = 0.2;
/// Ticks of a process's time in a second: what Linux tells, whatever it counts itself.
const TICKS_PER_SECOND: f64 = 100.0;
/// How long a client that does not attack waits for an answer at most.
const WITNESS_WAITS_MAX: Duration = Duration::from_secs(1);
/// Between two requests of the witness.
const WITNESS_EVERY: Duration = Duration::from_millis(200);

/// In place of a header: no token.
pub const NOBODY: &str = "Authorization:";

/// A running server.
pub struct Target {
    process: Process,
    folder: Folder,
    /// Where it listens.
    pub address: SocketAddr,
    /// The administrator's secret.
    pub admin: String,
    /// The secret of an agent that reads and writes.
    pub agent: String,
}

impl Target {
    /// Starts one with these settings over the defaults.
    pub fn start(settings: &[&str]) -> Arc<Self> {
        let folder = Folder::new("attack");
        let mut arguments = vec!["--log-format", "json", "--set", "limits.writes_per_minute=0"];
        arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
        let log = std::fs::File::create(folder.join("log")).unwrap().into();
        let mut process = Process::logging(&folder.text("data"), &arguments, log).unwrap();
        let (admin, agent) = (process.admin.clone(), process.agent());
        Arc::new(Self { address: process.address, process, folder, admin, agent })
    }

    /// The process's time so far, in seconds.
    pub fn cpu(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        // The name, in brackets, may hold anything.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) / TICKS_PER_SECOND
    }

    /// The process's memory, in bytes.
    pub fn memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    /// What the server has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap()
    }

    /// Runs `attack`, which gives how often it struck, while a witness is served; holds that it
    /// cost no more than it may, and says so.
    pub async fn under(&self, name: &str, attack: impl Future<Output = u64>) {
        let (cpu, began) = (self.cpu(), Instant::now());
        let longest = std::cell::Cell::new(Duration::ZERO);
        let struck = tokio::select! {
            struck = attack => struck,
            () = self.witness(&longest) => unreachable!("the witness goes on for ever"),
        };
        let took = began.elapsed().as_secs_f64();
        let share = (self.cpu() - cpu) / took;
        let (rate, memory) = (struck as f64 / took, self.memory() >> 20);
        println!(
            "{name}: {struck} in {took:.1} s, {rate:.0}/s, {:.1} % of a core, {memory} MiB; \
             a witness waited {:?} at most",
            share * 100.0,
            longest.get()
        );
        assert!(share <= SHARE_MAX, "{name}: {share:.3} of a core");
        let log = self.log();
        for secret in [&self.admin, &self.agent] {
            assert!(!log.contains(&**secret), "{name}: a token is in the log");
        }
        for line in log.lines() {
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
            assert!(parsed.is_ok_and(|line| line.is_object()), "{name}: {line}");
        }
    }

    /// Asks with a right token, on a new connection each time.
    async fn witness(&self, longest: &std::cell::Cell<Duration>) {
        let mut turns = tokio::time::interval(WITNESS_EVERY);
        loop {
            turns.tick().await;
            let began = Instant::now();
            let mut wire = Connection::open(self.address).await.expect("the witness connects");
            let answer = wire.ask(&self.get("/v1/threads?limit=1")).await;
            let answer = answer.expect("the witness is answered");
            assert_eq!(answer.status, 200, "the witness: {answer:?}");
            let took = began.elapsed();
            longest.set(longest.get().max(took));
            // A machine that does other things beside says nothing about the server.
            if Force::read().is_full() {
                assert!(took < WITNESS_WAITS_MAX, "the witness waited {took:?}");
            }
        }
    }

    /// A GET with the agent's token.
    pub fn get(&self, path: &str) -> Vec<u8> {
        self.request(&format!("GET {path}"), &[], "")
    }

    /// A request with the agent's token, if `lines` name none.
    pub fn request(&self, line: &str, lines: &[&str], body: &str) -> Vec<u8> {
        let token = if lines.contains(&NOBODY) { "" } else { &self.agent };
        let lines = lines.iter().filter(|line| **line != NOBODY);
        let headers = lines.fold(String::new(), |text, line| text + line + "\r\n");
        http::request(self.address, token, line, &headers, body)
    }
}
