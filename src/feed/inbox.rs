//! The actor per participant: awake only while someone listens to its inbox or waits for it.
//!
//! The hub casts to it what may concern it, in order; it tells its listeners. A question to anyone
//! is told to the inboxes that listen for such, not to every participant known.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use parley_protocol::entry::Due;
use parley_protocol::feed::{Frame, turn_frame};
use parley_protocol::identity::Participant;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};
use tokio::sync::Notify;

use crate::feed::publication::Publication;
use crate::feed::subscriber::{CloseReason, Subscriber};
use crate::interference::{Interference, give_way};
use crate::metric;

/// Messages that may wait in one inbox actor's mailbox; beyond, its listeners are cut off as slow.
pub const MAILBOX_MAX: usize = 16_384;

/// Someone who listens to an inbox.
#[derive(Clone)]
pub enum InboxListener {
    /// A feed.
    Feed(Arc<Subscriber>),
    /// A held `read_inbox`, woken when something new waits.
    Held {
        /// Woken.
        notify: Arc<Notify>,
        /// Whether a question to anyone is something new for it.
        anyone: bool,
    },
}

impl InboxListener {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Feed(one), Self::Feed(two)) => Arc::ptr_eq(one, two),
            (Self::Held { notify: one, .. }, Self::Held { notify: two, .. }) => {
                Arc::ptr_eq(one, two)
            }
            _ => false,
        }
    }

    fn anyone(&self) -> bool {
        match self {
            Self::Feed(subscriber) => subscriber.subscription.anyone,
            Self::Held { anyone, .. } => *anyone,
        }
    }

    fn publish(&self, participant: &Participant, told: &Arc<Publication>) {
        let Some(frame) = turn_frame(told.act(), participant, self.anyone()) else {
            return;
        };
        match self {
            Self::Feed(subscriber) => subscriber.publish(told, [frame]),
            Self::Held { notify, .. } if frame == Frame::Awaiting => notify.notify_one(),
            Self::Held { .. } => {}
        }
    }

    fn cut(&self, why: CloseReason) {
        match self {
            Self::Feed(subscriber) => subscriber.close(why),
            Self::Held { notify, .. } => notify.notify_one(),
        }
    }
}

/// What an inbox actor is sent.
pub enum InboxMessage {
    /// A listener joins.
    Join(InboxListener),
    /// A listener leaves.
    Leave(InboxListener),
    /// An act that may concern the participant.
    Tell(Arc<Publication>),
    /// How far the hub has looked, for one feed, behind all that was told before.
    Mark(Arc<Subscriber>, u64),
}

/// The actor of one participant's inbox.
struct InboxActor {
    participant: Participant,
    waiting: Arc<AtomicUsize>,
    /// Tests only.
    interference: Option<Arc<dyn Interference>>,
}

impl Actor for InboxActor {
    type Msg = InboxMessage;
    type State = Vec<InboxListener>;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<InboxMessage>,
        (): (),
    ) -> Result<Vec<InboxListener>, ActorProcessingErr> {
        Ok(Vec::new())
    }

    async fn handle(
        &self,
        _myself: ActorRef<InboxMessage>,
        message: InboxMessage,
        listeners: &mut Vec<InboxListener>,
    ) -> Result<(), ActorProcessingErr> {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        if let Some(interference) = &self.interference {
            interference.before_telling();
            give_way(self.interference.as_ref()).await;
        }
        match message {
            InboxMessage::Join(listener) => listeners.push(listener),
            InboxMessage::Leave(listener) => listeners.retain(|other| !other.is(&listener)),
            InboxMessage::Tell(told) => {
                for listener in listeners.iter() {
                    listener.publish(&self.participant, &told);
                }
            }
            InboxMessage::Mark(subscriber, looked) => subscriber.watermark(looked),
        }
        Ok(())
    }
}

/// The inboxes that are awake. Cheap to clone.
#[derive(Clone)]
pub struct Inboxes {
    registry: Arc<Mutex<InboxRegistry>>,
    supervisor: ActorCell,
    /// Tests only.
    interference: Option<Arc<dyn Interference>>,
}

#[derive(Default)]
struct InboxRegistry {
    /// In order: it decides who is told first of a question to anyone.
    awake: BTreeMap<Participant, ActiveInbox>,
    participants: HashMap<ActorId, Participant>,
}

struct ActiveInbox {
    actor: ActorRef<InboxMessage>,
    waiting: Arc<AtomicUsize>,
    listeners: Vec<InboxListener>,
    /// How many of them listen for questions to anyone.
    board: usize,
}

impl ActiveInbox {
    /// Sends.
    ///
    /// # Errors
    /// Why its listeners are to be cut: the mailbox is full, or the actor is no more.
    fn send(&self, message: InboxMessage) -> Result<(), CloseReason> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAILBOX_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(CloseReason::SlowConsumer);
        }
        self.actor.send_message(message).map_err(|_| CloseReason::Failed)
    }

    fn cut(&self, why: CloseReason) {
        for listener in &self.listeners {
            listener.cut(why);
        }
    }
}

impl Inboxes {
    /// No inbox awake, under a supervisor of their own.
    ///
    /// # Errors
    /// If the supervisor does not start.
    pub async fn start() -> Result<Self, ractor::SpawnErr> {
        let registry = Arc::<Mutex<InboxRegistry>>::default();
        let (supervisor, _) = Actor::spawn(None, InboxSupervisor, Arc::clone(&registry)).await?;
        Ok(Self { registry, supervisor: supervisor.get_cell(), interference: None })
    }

    /// The same, with what a test puts in its way.
    pub fn with_interference(self, interference: Option<Arc<dyn Interference>>) -> Self {
        Self { interference, ..self }
    }

    fn registry(&self) -> MutexGuard<'_, InboxRegistry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A feed joins the inbox of its participant, waking it if need be.
    pub fn join(&self, subscriber: &Arc<Subscriber>) {
        let participant = &subscriber.subscription.participant;
        self.listen(participant, InboxListener::Feed(Arc::clone(subscriber)));
    }

    /// A feed leaves; the last one lets the inbox sleep.
    pub fn leave(&self, subscriber: &Arc<Subscriber>) {
        let participant = &subscriber.subscription.participant;
        self.forget(participant, &InboxListener::Feed(Arc::clone(subscriber)));
    }

    /// Someone listens to the inbox of `participant`.
    pub fn listen(&self, participant: &Participant, listener: InboxListener) {
        let mut registry = self.registry();
        if !registry.awake.contains_key(participant) && !self.wake(&mut registry, participant) {
            return listener.cut(CloseReason::Failed);
        }
        if let Some(awake) = registry.awake.get_mut(participant) {
            awake.board += usize::from(listener.anyone());
            awake.listeners.push(listener.clone());
            if let Err(why) = awake.send(InboxMessage::Join(listener.clone())) {
                listener.cut(why);
            }
        }
    }

    /// A listener that has gone.
    pub fn forget(&self, participant: &Participant, listener: &InboxListener) {
        let mut registry = self.registry();
        let Some(awake) = registry.awake.get_mut(participant) else {
            return;
        };
        let before = awake.listeners.len();
        awake.listeners.retain(|other| !other.is(listener));
        if awake.listeners.len() == before {
            return;
        }
        awake.board -= usize::from(listener.anyone());
        if awake.listeners.is_empty() {
            registry.sleep(participant);
        } else {
            // If it takes nothing any more its listeners are on their way out too.
            let _ = awake.send(InboxMessage::Leave(listener.clone()));
        }
    }

    /// Listens again, where the inbox was put to sleep meanwhile because it failed.
    pub fn renew(&self, participant: &Participant, listener: &InboxListener) {
        let is_there = self
            .registry()
            .awake
            .get(participant)
            .is_some_and(|awake| awake.listeners.iter().any(|other| other.is(listener)));
        if !is_there {
            self.listen(participant, listener.clone());
        }
    }

    fn wake(&self, registry: &mut InboxRegistry, participant: &Participant) -> bool {
        let waiting = Arc::new(AtomicUsize::new(0));
        let inbox = InboxActor {
            participant: participant.clone(),
            waiting: Arc::clone(&waiting),
            interference: self.interference.clone(),
        };
        let spawned =
            ractor::ActorRuntime::spawn_linked_instant(None, inbox, (), self.supervisor.clone());
        let Ok((actor, _)) = spawned else {
            return false;
        };
        registry.participants.insert(actor.get_id(), participant.clone());
        let awake = ActiveInbox { actor, waiting, listeners: Vec::new(), board: 0 };
        registry.awake.insert(participant.clone(), awake);
        metrics::gauge!(metric::INBOXES_RESIDENT).set(registry.awake.len() as f64);
        true
    }

    /// Casts an act to the inboxes that it may concern.
    pub fn publish(&self, told: &Arc<Publication>) {
        let mut registry = self.registry();
        if registry.awake.is_empty() {
            return;
        }
        let anyone = concerns_anyone(told);
        let mut cut = Vec::new();
        let mut send = |participant: &Participant, awake: &ActiveInbox| {
            if let Err(why) = awake.send(InboxMessage::Tell(Arc::clone(told))) {
                awake.cut(why);
                cut.push(participant.clone());
            }
        };
        if anyone {
            for (participant, awake) in registry.awake.iter().filter(|(_, one)| one.board > 0) {
                send(participant, awake);
            }
        }
        for participant in directed(told) {
            // Those at the board have it already.
            let awake = registry.awake.get(&participant).filter(|one| !anyone || one.board == 0);
            if let Some(awake) = awake {
                send(&participant, awake);
            }
        }
        for participant in cut {
            registry.sleep(&participant);
        }
    }

    /// Tells this feed how far the hub has looked, behind all that it was told before.
    pub fn mark(&self, subscriber: &Arc<Subscriber>, looked: u64) {
        let registry = self.registry();
        if let Some(awake) = registry.awake.get(&subscriber.subscription.participant) {
            // It is no loss: a feed that is told much needs no mark.
            let _ = awake.send(InboxMessage::Mark(Arc::clone(subscriber), looked));
        }
    }

    /// How many inboxes are awake.
    pub fn count(&self) -> usize {
        self.registry().awake.len()
    }

    /// Stops the supervisor and with it the actors.
    pub fn stop(&self) {
        self.supervisor.stop(None);
    }
}

impl InboxRegistry {
    fn sleep(&mut self, participant: &Participant) {
        if let Some(awake) = self.awake.remove(participant) {
            let _ = awake.actor.drain();
        }
        metrics::gauge!(metric::INBOXES_RESIDENT).set(self.awake.len() as f64);
    }
}

/// Supervises the inbox actors: one that fails is forgotten and its listeners are cut; they resume
/// from their cursors and miss nothing.
struct InboxSupervisor;

impl Actor for InboxSupervisor {
    type Msg = ();
    type State = Arc<Mutex<InboxRegistry>>;
    type Arguments = Arc<Mutex<InboxRegistry>>;

    async fn pre_start(
        &self,
        _myself: ActorRef<()>,
        registry: Self::Arguments,
    ) -> Result<Self::State, ActorProcessingErr> {
        Ok(registry)
    }

    async fn handle_supervisor_evt(
        &self,
        _myself: ActorRef<()>,
        event: SupervisionEvent,
        registry: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        let (id, failed) = match &event {
            SupervisionEvent::ActorTerminated(cell, ..) => (cell.get_id(), false),
            SupervisionEvent::ActorFailed(cell, _) => (cell.get_id(), true),
            _ => return Ok(()),
        };
        let mut registry = registry.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(participant) = registry.participants.remove(&id) else {
            return Ok(());
        };
        if failed {
            metrics::counter!(metric::ACTOR_RESTARTS, "actor" => "inbox").increment(1);
            let same = registry.awake.get(&participant).is_some_and(|it| it.actor.get_id() == id);
            if same {
                if let Some(awake) = registry.awake.get(&participant) {
                    awake.cut(CloseReason::Failed);
                }
                registry.sleep(&participant);
            }
        }
        Ok(())
    }
}

/// The participants whose directed turn an act may change, as inboxes are found: each due one,
/// and the bare line of it.
fn directed(told: &Publication) -> impl Iterator<Item = Participant> {
    let act = told.act();
    let now = act.awaiting.as_ref().filter(|_| act.awaiting_set);
    let both = [now, act.awaiting_was.as_ref()];
    let mut found: Vec<Participant> = Vec::new();
    for due in both.into_iter().flatten().map(|awaiting| &awaiting.due) {
        let Due::Participant(due) = due else { continue };
        let line = Participant { identity: Arc::clone(&due.identity), extension: None };
        for participant in [due.clone(), line] {
            if !found.contains(&participant) {
                found.push(participant);
            }
        }
    }
    found.into_iter()
}

/// Whether an act puts a question to anyone, or settles one.
fn concerns_anyone(told: &Publication) -> bool {
    let act = told.act();
    let set = act.awaiting_set.then_some(act.awaiting.as_ref()).flatten();
    let both = [set, act.awaiting_was.as_ref()];
    both.into_iter().flatten().any(|awaiting| awaiting.due == Due::Anyone)
}
