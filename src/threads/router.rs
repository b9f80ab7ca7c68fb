//! The router actor: finds, spawns, supervises and passivates the threads of one shard.
//!
//! Calls reach a thread's actor through the published map; only misses come here. A supervisor
//! that dies takes its children along, so this one has no code apart from routing, and a fault in
//! that ends nothing but the request at hand.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::{Reason, Refusal};
use ractor::{
    Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, MessagingErr, SupervisionEvent,
};

use super::active_threads::ActiveThreads;
use crate::interference::Flaw;
use crate::metric;
use crate::threads::actor::{Deps, ThreadActor, ThreadRequest};

/// Restarts of one thread's actor within [`RESTART_WINDOW_TICKS`]; then it refuses.
pub const RESTARTS_MAX: usize = 5;
/// Seconds that a restart counts.
pub const RESTART_WINDOW_TICKS: u64 = 60;
/// Threads of a shard whose restarts are remembered; beyond, the oldest are forgotten.
pub const RESTARTING_MAX: usize = 4_096;

/// A request that found its thread asleep.
pub struct Route(pub ThreadId, pub ThreadRequest);

/// The router of one shard.
pub struct Router;

/// What a router works with.
pub struct RouterState {
    active_threads: Arc<ActiveThreads>,
    deps: Arc<Deps>,
    children: HashMap<ActorId, ThreadId>,
    /// Requests for a thread whose actor is on its way to sleep; the permits they hold bound them.
    parked: HashMap<ThreadId, VecDeque<ThreadRequest>>,
    /// The ticks of the last restarts.
    restarts: HashMap<ThreadId, VecDeque<u64>>,
}

impl RouterState {
    async fn route(&mut self, myself: &ActorRef<Route>, thread: ThreadId, request: ThreadRequest) {
        if self.is_exhausted(thread) {
            return request.reply.send(Err(exhausted(thread)));
        }
        let awake = self
            .active_threads
            .with(thread, Clone::clone)
            .filter(|_| !self.deps.plants(Flaw::TwoActors));
        let actor = match awake {
            Some(actor) => actor,
            None => match self.wake(myself, thread).await {
                Ok(actor) => actor,
                Err(error) => {
                    tracing::error!(%thread, %error, "a thread's actor did not start");
                    return request.reply.send(Err(Refusal::internal()));
                }
            },
        };
        self.deps.give_way().await;
        match actor.send_message(request) {
            Ok(()) => {}
            Err(MessagingErr::SendErr(request)) => {
                // It is going to sleep: its successor may only start once it has ended.
                self.parked.entry(thread).or_default().push_back(request);
            }
            Err(error) => tracing::error!(%thread, %error, "a request reached no actor"),
        }
    }

    async fn wake(
        &mut self,
        myself: &ActorRef<Route>,
        thread: ThreadId,
    ) -> Result<ActorRef<ThreadRequest>, ractor::SpawnErr> {
        let actor = ThreadActor::new(thread, Arc::clone(&self.deps));
        // Starting loads nothing, so this does not wait for the disk.
        let (actor, _) = Actor::spawn_linked(None, actor, (), myself.get_cell()).await?;
        self.children.insert(actor.get_id(), thread);
        self.active_threads.insert(thread, actor.clone());
        Ok(actor)
    }

    async fn ended(&mut self, myself: &ActorRef<Route>, cell: &ActorCell, failed: bool) {
        let Some(thread) = self.children.remove(&cell.get_id()) else {
            return;
        };
        self.active_threads.remove(thread, cell.get_id());
        if failed {
            metrics::counter!(metric::ACTOR_RESTARTS, "actor" => "thread").increment(1);
            self.count_restart(thread);
        }
        for request in self.parked.remove(&thread).unwrap_or_default() {
            self.route(myself, thread, request).await;
        }
    }

    fn count_restart(&mut self, thread: ThreadId) {
        let now = self.active_threads.tick();
        if self.restarts.len() >= RESTARTING_MAX {
            self.restarts.retain(|_, ticks| {
                ticks.back().is_some_and(|tick| now - tick < RESTART_WINDOW_TICKS)
            });
        }
        if self.restarts.len() >= RESTARTING_MAX && !self.restarts.contains_key(&thread) {
            let oldest = self.restarts.iter().min_by_key(|(_, ticks)| ticks.back().copied());
            if let Some(oldest) = oldest.map(|(thread, _)| *thread) {
                self.restarts.remove(&oldest);
            }
        }
        let ticks = self.restarts.entry(thread).or_default();
        ticks.push_back(now);
        if ticks.len() > RESTARTS_MAX {
            ticks.pop_front();
        }
        if self.is_exhausted(thread) {
            tracing::error!(%thread, "a thread's actor failed too often and refuses for a while");
        }
    }

    fn is_exhausted(&self, thread: ThreadId) -> bool {
        let now = self.active_threads.tick();
        self.restarts.get(&thread).is_some_and(|ticks| {
            let recent = ticks.iter().filter(|tick| now - **tick < RESTART_WINDOW_TICKS);
            recent.count() >= RESTARTS_MAX
        })
    }
}

impl Actor for Router {
    type Msg = Route;
    type State = RouterState;
    type Arguments = (Arc<ActiveThreads>, Arc<Deps>);

    async fn pre_start(
        &self,
        _myself: ActorRef<Route>,
        (active_threads, deps): Self::Arguments,
    ) -> Result<RouterState, ActorProcessingErr> {
        Ok(RouterState {
            active_threads,
            deps,
            children: HashMap::new(),
            parked: HashMap::new(),
            restarts: HashMap::new(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<Route>,
        Route(thread, request): Route,
        state: &mut RouterState,
    ) -> Result<(), ActorProcessingErr> {
        let routed = AssertUnwindSafe(state.route(&myself, thread, request)).catch_unwind();
        if routed.await.is_err() {
            faulted();
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Route>,
        event: SupervisionEvent,
        state: &mut RouterState,
    ) -> Result<(), ActorProcessingErr> {
        let (cell, failed) = match event {
            SupervisionEvent::ActorTerminated(cell, ..) => (cell, false),
            SupervisionEvent::ActorFailed(cell, _) => (cell, true),
            _ => return Ok(()),
        };
        let ended = AssertUnwindSafe(state.ended(&myself, &cell, failed)).catch_unwind();
        if ended.await.is_err() {
            faulted();
        }
        Ok(())
    }
}

/// A router has panicked and goes on: its maps are whole after each step, and whoever waited for
/// what it held is answered 500 `internal`.
fn faulted() {
    metrics::counter!(metric::ACTOR_RESTARTS, "actor" => "router").increment(1);
    tracing::error!("routing a request panicked");
}

/// 503 `overloaded` of a thread whose actor has spent its restarts.
fn exhausted(thread: ThreadId) -> Refusal {
    let detail = "The server failed on this thread too often and lets it rest. Other threads are \
                  served; try this one again later.";
    Refusal::new(Reason::Overloaded, detail).of(thread).retry_after(RESTART_WINDOW_TICKS * 1_000)
}
