//! What is put in the way of the shipped parts: delays at every send, panics, and in the tests of
//! the simulation itself the fault that it must find. Such a fault sits at a seam that the
//! simulation owns: the disk, the listener, the caller.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parley::yield_points::{Point, YieldPoints};
use parley_kit::panics::ASKED;
use parley_kit::{Op, Rng, elapse, panics};
use parley_protocol::ids::ThreadId;

/// A fault that is injected at a seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The disk says that the log is synced, and has not synced it.
    AcknowledgeBeforeSync,
    /// The disk syncs no more of the tokens from a revocation on, and says that it does.
    ForgetRevocation,
    /// A listener does not get one frame.
    DropNotification,
    /// A feed that resumes begins one entry late.
    SkipCursor,
    /// A listener that catches up gets some frames twice.
    ReplayTwice,
    /// A permit does not come back.
    LosePermit,
    /// A call under a key comes without it.
    ForgetKey,
    /// The author of a confirmation is taken for a lock holder.
    ConfirmWithoutLock,
}

impl Fault {
    pub const ALL: [Self; 8] = [
        Self::AcknowledgeBeforeSync,
        Self::ForgetRevocation,
        Self::DropNotification,
        Self::SkipCursor,
        Self::ReplayTwice,
        Self::LosePermit,
        Self::ForgetKey,
        Self::ConfirmWithoutLock,
    ];

    /// One opportunity in so many is taken.
    pub fn rarity(self) -> u64 {
        match self {
            Self::ConfirmWithoutLock => 1,
            // It shows only where a key is used again, or the power goes.
            Self::AcknowledgeBeforeSync | Self::ForgetRevocation | Self::ForgetKey => 2,
            Self::DropNotification | Self::SkipCursor | Self::ReplayTwice | Self::LosePermit => 16,
        }
    }
}

/// The fault injector.
#[derive(Debug, Default)]
pub struct FaultInjector {
    rng: Rng,
    /// Milliseconds that a send is delayed at most.
    delay_ms_max: u64,
    /// Panics in a thousand acts, before and after judging.
    panics: u64,
    calm: AtomicBool,
    fault: Option<Fault>,
    injected: AtomicU64,
    forgets_tokens: AtomicBool,
    panicked: Mutex<BTreeMap<ThreadId, u64>>,
    inboxes_panicked: AtomicU64,
}

impl FaultInjector {
    /// Of this options.
    pub fn new(rng: Rng, delay_ms_max: u64, panics: u64, fault: Option<Fault>) -> Self {
        panics::quiet();
        Self { rng, delay_ms_max, panics, fault, ..Self::default() }
    }

    /// Whether nothing is to go wrong for a while: no panics, and no fault.
    pub fn set_calm(&self, calm: bool) {
        self.calm.store(calm, Ordering::Relaxed);
    }

    /// How often the fault has happened.
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    /// A revocation comes, from which on the disk may forget what becomes of the tokens.
    pub fn forget_tokens(&self) {
        if self.injects(Fault::ForgetRevocation) {
            self.forgets_tokens.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the disk says that an operation on the file `name` is done and does nothing.
    pub fn skips(&self, name: &str, op: &Op) -> bool {
        match op {
            Op::Sync(_) if name == "tokens.redb" => self.forgets_tokens.load(Ordering::Relaxed),
            Op::Sync(_) if name.starts_with("log-") => self.injects(Fault::AcknowledgeBeforeSync),
            _ => false,
        }
    }

    /// Another server begins.
    pub fn begin_run(&self) {
        self.forgets_tokens.store(false, Ordering::Relaxed);
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
        for _ in 0..self.rng.below(3) {
            tokio::task::yield_now().await;
        }
        if self.delay_ms_max > 0 && self.rng.percent(50) {
            elapse(self.rng.below(self.delay_ms_max + 1)).await;
        }
    }

    fn is_to_panic(&self) -> bool {
        let calm = self.panics == 0 || self.calm.load(Ordering::Relaxed);
        !calm && self.rng.below(1_000) < self.panics
    }

    fn maybe_panic(&self, thread: ThreadId) {
        if self.is_to_panic() {
            *self.panicked.lock().unwrap().entry(thread).or_default() += 1;
            panic!("{ASKED}");
        }
    }

    /// Whether this fault happens now.
    pub fn injects(&self, fault: Fault) -> bool {
        let happens = self.fault == Some(fault)
            && !self.calm.load(Ordering::Relaxed)
            && self.rng.below(fault.rarity()) == 0;
        self.injected.fetch_add(happens.into(), Ordering::Relaxed);
        happens
    }
}

impl YieldPoints for FaultInjector {
    fn reach(&self, point: Point) -> BoxFuture<'_, ()> {
        async move {
            match point {
                Point::AfterAdmit(thread) => return self.maybe_panic(thread),
                Point::Received(thread) => self.maybe_panic(thread),
                Point::InboxReceived => {
                    if self.is_to_panic() {
                        self.inboxes_panicked.fetch_add(1, Ordering::Relaxed);
                        panic!("{ASKED}");
                    }
                }
                Point::BeforeSend(_)
                | Point::BeforeForward(_)
                | Point::BeforeAdmit(_)
                | Point::OnStop(_)
                | Point::BeforePublish => {}
            }
            self.dawdle().await;
        }
        .boxed()
    }
}
