//! What is put in the way of the shipped parts: delays at every send, panics, and in the tests of
//! the simulation itself the fault that it must find.

use std::collections::BTreeMap;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::time::Duration;

use parley::interference::{Flaw, Interference};
use parley_protocol::command::Command;
use parley_protocol::identity::{AuthorKind, Principal, Right, Rights};
use parley_protocol::ids::ThreadId;
use parley_protocol::limits::Limits;
use parley_protocol::thread::{Context, Thread};
use parley_protocol::time::Millis;

use crate::chance::Chance;
use crate::clock::elapse;
use crate::numbers::Nowhere;

/// A fault that is planted in the shipped code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// One of those that have a place of their own in it.
    Flaw(Flaw),
    /// What somebody asks for is applied to the thread before it is judged.
    ApplyBeforeAdmit,
    /// Whoever confirms is taken for a lock holder.
    ConfirmWithoutLock,
    /// A refusal leaves without waiting for what it depends on.
    SkipBarrier,
}

/// Whoever interferes.
#[derive(Debug)]
pub struct Meddler {
    chance: Chance,
    /// Milliseconds that a send is delayed at most.
    delay_ms_max: u64,
    /// Panics in a thousand acts, before and after judging.
    panics: u64,
    calm: AtomicBool,
    fault: Option<Fault>,
    planted: AtomicU64,
    panicked: Mutex<BTreeMap<ThreadId, u64>>,
    inboxes_panicked: AtomicU64,
}

/// The text of a panic that was asked for.
const ASKED: &str = "as the simulation asked";

impl Meddler {
    /// Of this temper.
    pub fn new(chance: Chance, delay_ms_max: u64, panics: u64, fault: Option<Fault>) -> Self {
        quiet_panics();
        Self {
            chance,
            delay_ms_max,
            panics,
            calm: AtomicBool::new(false),
            fault,
            planted: AtomicU64::new(0),
            panicked: Mutex::default(),
            inboxes_panicked: AtomicU64::new(0),
        }
    }

    /// Whether nothing is to go wrong for a while: no panics, and no fault.
    pub fn set_calm(&self, calm: bool) {
        self.calm.store(calm, Ordering::Relaxed);
    }

    /// How often the fault has happened.
    pub fn planted(&self) -> u64 {
        self.planted.load(Ordering::Relaxed)
    }

    /// How often actors have panicked.
    pub fn panicked(&self) -> u64 {
        self.panicked.lock().unwrap().values().sum()
    }

    /// How often the actor of `thread` has.
    pub fn panicked_at(&self, thread: ThreadId) -> u64 {
        self.panicked.lock().unwrap().get(&thread).copied().unwrap_or_default()
    }

    /// How often actors of inboxes have.
    pub fn inboxes_panicked(&self) -> u64 {
        self.inboxes_panicked.load(Ordering::Relaxed)
    }

    /// Lets some time pass, as at every send.
    pub async fn dawdle(&self) {
        for _ in 0..self.yields() {
            tokio::task::yield_now().await;
        }
        let millis = self.delay_ms();
        if millis > 0 {
            elapse(millis).await;
        }
    }

    fn delay_ms(&self) -> u64 {
        match self.delay_ms_max {
            0 => 0,
            max if self.chance.percent(50) => self.chance.below(max + 1),
            _ => 0,
        }
    }

    fn is_to_panic(&self) -> bool {
        let calm = self.panics == 0 || self.calm.load(Ordering::Relaxed);
        !calm && self.chance.below(1_000) < self.panics
    }

    fn maybe_panic(&self, thread: ThreadId) {
        if self.is_to_panic() {
            *self.panicked.lock().unwrap().entry(thread).or_default() += 1;
            panic!("{ASKED}");
        }
    }

    /// Whether this fault happens now: one time in so many.
    fn happens(&self, fault: Fault, rarity: u64) -> bool {
        let happens = self.fault == Some(fault)
            && !self.calm.load(Ordering::Relaxed)
            && self.chance.below(rarity) == 0;
        self.planted.fetch_add(happens.into(), Ordering::Relaxed);
        happens
    }
}

impl Interference for Meddler {
    fn before_act(&self, thread: ThreadId, _command: &Command) {
        self.maybe_panic(thread);
    }

    fn before_judging(
        &self,
        thread: &mut Thread,
        principal: &mut Principal,
        command: &Command,
        now: Millis,
    ) {
        if self.happens(Fault::ApplyBeforeAdmit, 8) {
            let anybody = Principal {
                author_kind: AuthorKind::Human,
                rights: Rights::HUMAN,
                ..principal.clone()
            };
            let mut ctx = Context {
                now,
                principal: &anybody,
                limits: &Limits::default(),
                numbers: &mut Nowhere,
                key: None,
            };
            if let Ok(Some(act)) = thread.admit(&mut ctx, command) {
                thread.apply(&act);
            }
        }
        if matches!(command, Command::Confirm(_)) && self.happens(Fault::ConfirmWithoutLock, 1) {
            principal.rights = principal.rights.with(Right::Lock);
        }
    }

    fn after_act(&self, thread: ThreadId) {
        self.maybe_panic(thread);
    }

    fn before_telling(&self) {
        if self.is_to_panic() {
            self.inboxes_panicked.fetch_add(1, Ordering::Relaxed);
            panic!("{ASKED}");
        }
    }

    fn yields(&self) -> u32 {
        self.chance.below(3) as u32
    }

    fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms())
    }

    fn skips_barrier(&self) -> bool {
        self.happens(Fault::SkipBarrier, 2)
    }

    fn plants(&self, flaw: Flaw) -> bool {
        let rarity = match flaw {
            // It shows only where a key is used again, or a commit fails.
            Flaw::ForgetKey | Flaw::AcknowledgeBeforeSync | Flaw::ForgetRevocation => 2,
            _ => 16,
        };
        self.happens(Fault::Flaw(flaw), rarity)
    }
}

/// Leaves out of the log the panics that were asked for.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let payload = panic.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            if text != Some(ASKED) {
                shown(panic);
            }
        }));
    });
}
