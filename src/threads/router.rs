//! The router actor: starts and supervises the thread actors of one shard, and routes to them.
//!
//! A call finds an active actor in [`ActiveThreads`]; only misses come here. A supervisor that ends
//! takes its children with it, so a panic while routing is caught and ends one request alone.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use parley_protocol::ids::ThreadId;
use parley_protocol::refusal::Refusal;
use ractor::{
    Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, MessagingErr, SupervisionEvent,
};

use super::active_threads::ActiveThreads;
use super::actor::{ThreadActor, ThreadRequest};
use super::deps::Deps;
use crate::metric;
use crate::yield_points::Point;

/// Restarts of one thread's actor within [`RESTART_WINDOW_TICKS`]; at so many, its requests are
/// refused.
pub const RESTARTS_MAX: usize = 5;
/// Ticks, in the server seconds, for which a restart counts.
pub const RESTART_WINDOW_TICKS: u64 = 60;
/// Threads of a shard whose restarts are counted; beyond, the oldest are dropped.
pub const RESTARTING_MAX: usize = 4_096;

/// A request that found no active actor of its thread.
pub struct Route(pub ThreadId, pub ThreadRequest);

/// The router of one shard.
///
/// It starts at most one actor of a thread at a time: the next one only once the last has ended,
/// with the requests parked meanwhile. Every request that it takes is passed on or answered.
pub struct Router;

/// The state of a router.
pub struct RouterState {
    active_threads: Arc<ActiveThreads>,
    deps: Arc<Deps>,
    children: HashMap<ActorId, ThreadId>,
    /// Requests for a thread whose actor is stopping; their permits bound them.
    parked: HashMap<ThreadId, VecDeque<ThreadRequest>>,
    /// The ticks of the last [`RESTARTS_MAX`] restarts.
    restarts: HashMap<ThreadId, VecDeque<u64>>,
}

impl RouterState {
    async fn route(&mut self, myself: &ActorRef<Route>, thread: ThreadId, request: ThreadRequest) {
        if self.is_exhausted(thread) {
            return request
                .reply
                .send(Err(Refusal::restarts_spent(thread, RESTART_WINDOW_TICKS * 1_000)));
        }
        let actor = match self.active_threads.with(thread, Clone::clone) {
            Some(actor) => actor,
            None => match self.start(myself, thread).await {
                Ok(actor) => actor,
                Err(error) => {
                    tracing::error!(%thread, %error, "a thread's actor did not start");
                    return request.reply.send(Err(Refusal::internal()));
                }
            },
        };
        self.deps.hook.reach(Point::BeforeForward(thread)).await;
        match actor.send_message(request) {
            Ok(()) => {}
            Err(MessagingErr::SendErr(request)) => {
                // It is stopping: its successor may only start once it has ended.
                self.parked.entry(thread).or_default().push_back(request);
            }
            Err(error) => tracing::error!(%thread, %error, "a request reached no actor"),
        }
    }

    async fn start(
        &mut self,
        myself: &ActorRef<Route>,
        thread: ThreadId,
    ) -> Result<ActorRef<ThreadRequest>, ractor::SpawnErr> {
        let actor = ThreadActor::new(thread, Arc::clone(&self.deps));
        // An actor loads its state with its first request: this does not wait for the disk.
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
            panicked();
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
            panicked();
        }
        Ok(())
    }
}

/// Counts a panic of a router, which goes on: its maps are whole after each step, and the caller of
/// the request is answered 500 `internal`.
fn panicked() {
    metrics::counter!(metric::ACTOR_RESTARTS, "actor" => "router").increment(1);
    tracing::error!("routing a request panicked");
}
