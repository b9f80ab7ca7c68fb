//! Inbox actors: one for each participant whose inbox has a listener, feed or held read.
//!
//! The hub sends an actor the acts that may concern its participant, in order, and it passes their
//! turns on to the listeners. A question to anyone goes to the inboxes that listen for such, not to
//! every participant.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use parley_protocol::entry::Due;
use parley_protocol::identity::Participant;
use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use crate::feed::inbox_listeners::{InboxListener, InboxListeners};
use crate::feed::publication::Publication;
use crate::feed::subscriber::{CloseReason, Subscriber};
use crate::feed::{dues, lock};
use crate::metric;
use crate::yield_points::{Hook, Point};

/// Messages in the mailbox of one inbox actor; beyond, its listeners are closed as slow.
pub const MAILBOX_MAX: usize = 16_384;

/// A message to an inbox actor.
pub enum InboxMessage {
    /// A listener comes.
    Join(InboxListener),
    /// A listener goes.
    Leave(InboxListener),
    /// An act that may concern the participant.
    Publish(Arc<Publication>),
    /// A watermark for one feed, behind all earlier acts.
    Watermark(Arc<Subscriber>, u64),
}

/// The actor of one participant's inbox.
struct InboxActor {
    participant: Participant,
    /// Messages in the mailbox.
    waiting: Arc<AtomicUsize>,
    hook: Hook,
}

impl Actor for InboxActor {
    type Msg = InboxMessage;
    type State = InboxListeners;
    type Arguments = ();

    async fn pre_start(
        &self,
        _myself: ActorRef<InboxMessage>,
        (): (),
    ) -> Result<InboxListeners, ActorProcessingErr> {
        Ok(InboxListeners::default())
    }

    async fn handle(
        &self,
        _myself: ActorRef<InboxMessage>,
        message: InboxMessage,
        listeners: &mut InboxListeners,
    ) -> Result<(), ActorProcessingErr> {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.hook.reach(Point::InboxReceived).await;
        match message {
            InboxMessage::Join(listener) => listeners.add(listener),
            InboxMessage::Leave(listener) => drop(listeners.remove(&listener)),
            InboxMessage::Publish(publication) => {
                for listener in listeners.iter() {
                    listener.publish(&self.participant, &publication);
                }
            }
            InboxMessage::Watermark(subscriber, number) => subscriber.watermark(number),
        }
        Ok(())
    }
}

/// The active inboxes, with their actors under one supervisor. Cheap to clone.
#[derive(Clone)]
pub struct Inboxes {
    registry: Arc<Mutex<InboxRegistry>>,
    supervisor: ActorCell,
    hook: Hook,
}

#[derive(Default)]
struct InboxRegistry {
    /// Ordered: a question to anyone reaches inboxes in this order.
    active: BTreeMap<Participant, ActiveInbox>,
    participants: HashMap<ActorId, Participant>,
}

struct ActiveInbox {
    actor: ActorRef<InboxMessage>,
    waiting: Arc<AtomicUsize>,
    listeners: InboxListeners,
    /// How many of the listeners listen for questions to anyone.
    anyone: usize,
}

impl ActiveInbox {
    /// Sends to the actor.
    ///
    /// # Errors
    /// The reason for which to close its listeners: the mailbox is full, or the actor has ended.
    fn send(&self, message: InboxMessage) -> Result<(), CloseReason> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAILBOX_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(CloseReason::SlowConsumer);
        }
        self.actor.send_message(message).map_err(|_| CloseReason::Failed)
    }

    fn close(&self, why: CloseReason) {
        for listener in self.listeners.iter() {
            listener.close(why);
        }
    }
}

impl Inboxes {
    /// No active inbox, and a supervisor.
    ///
    /// # Errors
    /// If the supervisor does not start.
    pub async fn start(hook: Hook) -> Result<Self, ractor::SpawnErr> {
        let registry = Arc::<Mutex<InboxRegistry>>::default();
        let (supervisor, _) = Actor::spawn(None, InboxSupervisor, Arc::clone(&registry)).await?;
        Ok(Self { registry, supervisor: supervisor.get_cell(), hook })
    }

    /// Adds a feed to the inbox of its participant, activating that if need be.
    pub fn join(&self, subscriber: &Arc<Subscriber>) {
        let participant = &subscriber.subscription.participant;
        self.listen(participant, InboxListener::Feed(Arc::clone(subscriber)));
    }

    /// Removes a feed; the last listener passivates the inbox.
    pub fn leave(&self, subscriber: &Arc<Subscriber>) {
        let participant = &subscriber.subscription.participant;
        self.forget(participant, &InboxListener::Feed(Arc::clone(subscriber)));
    }

    /// Adds a listener to the inbox of `participant`, activating that if need be.
    pub fn listen(&self, participant: &Participant, listener: InboxListener) {
        let mut registry = lock(&self.registry);
        if !registry.active.contains_key(participant) && !self.activate(&mut registry, participant)
        {
            return listener.close(CloseReason::Failed);
        }
        if let Some(inbox) = registry.active.get_mut(participant) {
            inbox.anyone += usize::from(listener.anyone());
            inbox.listeners.add(listener.clone());
            if let Err(why) = inbox.send(InboxMessage::Join(listener.clone())) {
                listener.close(why);
            }
        }
    }

    /// Removes a listener; the last one passivates the inbox.
    pub fn forget(&self, participant: &Participant, listener: &InboxListener) {
        let mut registry = lock(&self.registry);
        let Some(inbox) = registry.active.get_mut(participant) else { return };
        if !inbox.listeners.remove(listener) {
            return;
        }
        inbox.anyone -= usize::from(listener.anyone());
        if inbox.listeners.is_empty() {
            registry.passivate(participant);
        } else {
            // An actor that takes no message has its listeners closed already.
            let _ = inbox.send(InboxMessage::Leave(listener.clone()));
        }
    }

    /// Adds a listener again whose inbox was passivated meanwhile because it failed.
    pub fn renew(&self, participant: &Participant, listener: &InboxListener) {
        let inbox_has = |inbox: &ActiveInbox| inbox.listeners.has(listener);
        let is_there = lock(&self.registry).active.get(participant).is_some_and(inbox_has);
        if !is_there {
            self.listen(participant, listener.clone());
        }
    }

    fn activate(&self, registry: &mut InboxRegistry, participant: &Participant) -> bool {
        let waiting = Arc::new(AtomicUsize::new(0));
        let actor = InboxActor {
            participant: participant.clone(),
            waiting: Arc::clone(&waiting),
            hook: self.hook.clone(),
        };
        let spawned =
            ractor::ActorRuntime::spawn_linked_instant(None, actor, (), self.supervisor.clone());
        let Ok((actor, _)) = spawned else { return false };
        registry.participants.insert(actor.get_id(), participant.clone());
        let inbox = ActiveInbox { actor, waiting, listeners: InboxListeners::default(), anyone: 0 };
        registry.active.insert(participant.clone(), inbox);
        metrics::gauge!(metric::INBOXES_RESIDENT).set(registry.active.len() as f64);
        true
    }

    /// Sends an act to the active inboxes that it may concern.
    pub fn publish(&self, publication: &Arc<Publication>) {
        let mut registry = lock(&self.registry);
        if registry.active.is_empty() {
            return;
        }
        let anyone = concerns_anyone(publication);
        let mut closed = Vec::new();
        let mut send = |participant: &Participant, inbox: &ActiveInbox| {
            if let Err(why) = inbox.send(InboxMessage::Publish(Arc::clone(publication))) {
                inbox.close(why);
                closed.push(participant.clone());
            }
        };
        if anyone {
            for (participant, inbox) in registry.active.iter().filter(|(_, one)| one.anyone > 0) {
                send(participant, inbox);
            }
        }
        for participant in directed(publication) {
            // Those that listen for questions to anyone have it already.
            let inbox = registry.active.get(&participant).filter(|one| !anyone || one.anyone == 0);
            if let Some(inbox) = inbox {
                send(&participant, inbox);
            }
        }
        for participant in closed {
            registry.passivate(&participant);
        }
    }

    /// Sends a feed a watermark, behind all earlier acts.
    pub fn watermark(&self, subscriber: &Arc<Subscriber>, number: u64) {
        let registry = lock(&self.registry);
        if let Some(inbox) = registry.active.get(&subscriber.subscription.participant) {
            // A full mailbox loses no more than this watermark.
            let _ = inbox.send(InboxMessage::Watermark(Arc::clone(subscriber), number));
        }
    }

    /// Wakes every held read, which then looks at the inbox itself.
    pub fn wake_held(&self) {
        for inbox in lock(&self.registry).active.values() {
            for listener in inbox.listeners.iter() {
                if let InboxListener::Held { notify, .. } = listener {
                    notify.notify_one();
                }
            }
        }
    }

    /// How many inboxes are active.
    pub fn count(&self) -> usize {
        lock(&self.registry).active.len()
    }

    /// Stops the supervisor and with it the actors.
    pub fn stop(&self) {
        self.supervisor.stop(None);
    }
}

impl InboxRegistry {
    fn passivate(&mut self, participant: &Participant) {
        if let Some(inbox) = self.active.remove(participant) {
            let _ = inbox.actor.drain();
        }
        metrics::gauge!(metric::INBOXES_RESIDENT).set(self.active.len() as f64);
    }
}

/// Supervises the inbox actors: one that fails is removed and its listeners are closed; they resume
/// from their cursors without a loss.
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
        let mut registry = lock(registry);
        let Some(participant) = registry.participants.remove(&id) else { return Ok(()) };
        if failed {
            metrics::counter!(metric::ACTOR_RESTARTS, "actor" => "inbox").increment(1);
            let inbox = registry.active.get(&participant);
            if let Some(inbox) = inbox.filter(|inbox| inbox.actor.get_id() == id) {
                inbox.close(CloseReason::Failed);
                registry.passivate(&participant);
            }
        }
        Ok(())
    }
}

/// The participants whose turn an act may change by name: each one due, and its identity without an
/// extension.
fn directed(publication: &Publication) -> impl Iterator<Item = Participant> {
    let mut found: Vec<Participant> = Vec::new();
    for due in dues(publication.act()) {
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

/// Whether an act asks anyone, or settles a question to anyone.
fn concerns_anyone(publication: &Publication) -> bool {
    dues(publication.act()).any(|due| *due == Due::Anyone)
}
