//! Reads threads back over HTTP and compares them with the acknowledgements.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, bail};
use indicatif::ProgressBar;

use super::audit::{Audit, ThreadRecord};
use super::shadow::{Shadow, StateChange};
use super::transitions::{State, Transitions};
use super::{Findings, turn};
use crate::http::Connection;
use crate::objects::{self, Claim, Event, List, Page, Thread};
use crate::participants::Participants;
use crate::wire::{Binding, Caller, Operation, Outcome, outcome};

/// A connection that reads; connects anew after a rest.
#[derive(Debug)]
pub struct Reader {
    address: SocketAddr,
    connection: Connection,
    caller: Caller,
    request: Vec<u8>,
}

/// Threads that are read concurrently.
const READERS: usize = 8;
const PAGE: &str = "200";

impl Reader {
    /// Connects.
    pub async fn open(address: SocketAddr, caller: Caller) -> anyhow::Result<Self> {
        let connection = Connection::open(address).await?;
        Ok(Self { address, connection, caller, request: Vec::new() })
    }

    /// Reads; a refusal is an error, and so is a caller over MCP.
    pub async fn read(&mut self, operation: &Operation) -> anyhow::Result<&[u8]> {
        self.caller.write(&mut self.request, operation);
        self.connection.refresh(self.address).await?;
        let answer = self.connection.call(&self.request).await?;
        match outcome(self.caller.binding(), answer) {
            Outcome::Done(json) if self.caller.binding() == Binding::Http => Ok(json),
            Outcome::Done(_) => bail!("a reader goes over HTTP"),
            Outcome::Refused { reason, detail, .. } => {
                bail!("{} {}: {reason}: {detail}", operation.tool, operation.path)
            }
            Outcome::Broken(text) => bail!("{} {}: {text}", operation.tool, operation.path),
        }
    }

    /// Reads a thread whole and checks its messages against the record, its turn and its
    /// transitions; and all of these against the shadow, if given. Returns the number of messages.
    pub async fn audit(
        &mut self,
        record: &ThreadRecord,
        expected: Option<(&Shadow, &Participants)>,
        findings: &Findings,
    ) -> anyhow::Result<u64> {
        let id = record.thread;
        let path = format!("/v1/threads/th_{id}");
        let place = format!("\"thread\":\"th_{id}\"");
        let mut audit = Audit::new(record, findings);
        let mut since = String::new();
        loop {
            let mut query = vec![("format", "flat"), ("limit", PAGE)];
            if !since.is_empty() {
                query.push(("since", &since));
            }
            let page = Operation::read("read_thread", path.clone(), place.clone(), &query);
            let json = self.read(&page).await?;
            if since.is_empty() {
                let thread: Thread<'_> = serde_json::from_slice(json).context("no thread")?;
                findings.check(turn::check(&thread));
                if let Some((shadow, participants)) = expected {
                    findings.check(shadow.compare(&thread, participants));
                }
            }
            let page: Page<'_> = serde_json::from_slice(json).context("no page of a thread")?;
            for message in &page.messages {
                audit.message(message);
            }
            if !page.more {
                break;
            }
            since = page.cursor.into_owned();
        }
        let seen = audit.finish();
        let changes = self.events(id, findings).await?;
        if let Some((shadow, _)) = expected
            && shadow.changes() != changes
        {
            findings
                .add(format!("th_{id}: the events {changes:?}, must be {:?}", shadow.changes()));
        }
        Ok(seen)
    }

    /// Reads the claims of a thread, which must equal `expected`: number and status of each.
    pub async fn claims(
        &mut self,
        id: u64,
        expected: &[(u64, &str)],
        findings: &Findings,
    ) -> anyhow::Result<()> {
        let path = format!("/v1/threads/th_{id}/claims");
        let read = Operation::read("list_claims", path, String::new(), &[("limit", PAGE)]);
        let json = self.read(&read).await?;
        let list: List<'_, Claim<'_>> = serde_json::from_slice(json).context("no claims")?;
        let shown: Vec<_> =
            list.items.iter().map(|it| (objects::number(&it.id, "cl_"), &*it.status)).collect();
        let wanted: Vec<_> = expected.iter().map(|(id, status)| (Some(*id), *status)).collect();
        if shown != wanted {
            findings.add(format!("th_{id}: the claims {shown:?}, must be {wanted:?}"));
        }
        Ok(())
    }

    async fn events(&mut self, id: u64, findings: &Findings) -> anyhow::Result<Vec<StateChange>> {
        let mut changes = Vec::new();
        let mut moves = Transitions::default();
        let mut cursor = String::new();
        loop {
            let mut query = vec![("limit", PAGE)];
            if !cursor.is_empty() {
                query.push(("cursor", &cursor));
            }
            let path = format!("/v1/threads/th_{id}/events");
            let read = Operation::read("read_events", path, String::new(), &query);
            let json = self.read(&read).await?;
            let list: List<'_, Event<'_>> = serde_json::from_slice(json).context("no events")?;
            for event in &list.items {
                let result = moves.event(event);
                findings.check(result.map_err(|text| format!("th_{id}: {text}")));
                if let Some(to) = State::parse(&event.to) {
                    let from = event.from.as_deref().and_then(State::parse);
                    changes.push(StateChange { from, to, confirmed: event.confirmed });
                }
            }
            if !list.more {
                return Ok(changes);
            }
            cursor = list.cursor.into_owned();
        }
    }
}

/// Reads threads back concurrently; returns the number of their messages.
pub async fn threads(
    address: SocketAddr,
    caller: &Caller,
    records: Vec<ThreadRecord>,
    findings: &Arc<Findings>,
    bar: &ProgressBar,
) -> anyhow::Result<u64> {
    let records = Arc::new(records);
    let next = Arc::new(AtomicUsize::new(0));
    let mut readers = Vec::new();
    for _ in 0..READERS.min(records.len()) {
        let (records, next) = (Arc::clone(&records), Arc::clone(&next));
        let (findings, caller, bar) = (Arc::clone(findings), caller.clone(), bar.clone());
        readers.push(tokio::spawn(async move {
            let mut reader = Reader::open(address, caller).await?;
            let mut seen = 0;
            while let Some(record) = records.get(next.fetch_add(1, Ordering::Relaxed)) {
                if record.thread != 0 {
                    seen += reader.audit(record, None, &findings).await?;
                }
                bar.inc(1);
            }
            anyhow::Ok(seen)
        }));
    }
    let mut seen = 0;
    for reader in readers {
        seen += reader.await??;
    }
    Ok(seen)
}
