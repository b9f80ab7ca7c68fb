//! Pools of threads for work that may take long or touch the disk: no runtime worker waits for it.
//!
//! A queue is bounded, and of its places one caller fills at most a quarter. Queues serve callers
//! in turn, one job each, so that a caller with many jobs delays others by one job at most for each
//! thread.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::fast::RandomState;
use parley_protocol::identity::Identity;
use parley_protocol::refusal::{Refusal, Result};
use tokio::sync::oneshot;

/// The part of a queue that the jobs of one caller fill at most.
pub const CALLER_PART: usize = 4;

/// Callers whose empty queues are kept, and the jobs that such a queue holds without allocating.
const CALLERS_KEPT: usize = 1_024;
const JOBS_KEPT: usize = 64;
/// How long a thread that stands by sleeps.
const STAND_BY: Duration = Duration::from_millis(1);
/// Jobs that wait from which on a thread that sleeps is woken though another runs.
const MANY_JOBS: usize = 32;
/// Times that a thread lets others run before it sleeps.
const LOOKS: usize = 64;

type Job = Box<dyn FnOnce() + Send>;

/// The size of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolOptions {
    /// Threads; with none a job runs where it is submitted, which suits tests of one thread.
    pub threads: usize,
    /// Jobs that may wait; beyond them 503 `overloaded`.
    pub waiting_max: usize,
}

/// A pool. Its threads end once it is dropped and the jobs that wait are done.
pub struct WorkPool {
    shared: Arc<Shared>,
    inline: bool,
}

struct Shared {
    queue: Mutex<FairQueue>,
    submitted: Condvar,
    /// Whether jobs wait, for a thread that looks for one without the lock.
    has_jobs: AtomicBool,
    /// Set when the server stops: long jobs look at it.
    stop: AtomicBool,
}

/// The jobs that wait, by caller.
struct FairQueue {
    jobs: HashMap<Identity, VecDeque<Job>, RandomState>,
    /// The callers with jobs, in the order in which they are served.
    callers: VecDeque<Identity>,
    waiting: usize,
    waiting_max: usize,
    threads: usize,
    /// Threads that sleep.
    asleep: usize,
    /// Whether one of these stands by: it looks for jobs from time to time while others run.
    stands_by: bool,
    /// Whether a thread is looking for a job before it sleeps; one at a time does.
    is_looking: bool,
    closed: bool,
}

impl FairQueue {
    fn push(&mut self, caller: &Identity, job: Job) -> Result<()> {
        if self.waiting >= self.waiting_max {
            return Err(Refusal::overloaded());
        }
        let jobs = match self.jobs.get_mut(caller) {
            Some(jobs) => jobs,
            None => self.jobs.entry(Arc::clone(caller)).or_default(),
        };
        if jobs.len() >= (self.waiting_max / CALLER_PART).max(1) {
            return Err(Refusal::share_used());
        }
        if jobs.is_empty() {
            self.callers.push_back(Arc::clone(caller));
        }
        jobs.push_back(job);
        self.waiting += 1;
        Ok(())
    }

    /// Whether a thread must be woken for the jobs that wait: all sleep, or no thread looks for
    /// jobs soon, or there are many.
    fn needs_thread(&self) -> bool {
        let is_looked_for = self.is_looking || self.stands_by;
        self.asleep == self.threads
            || (self.asleep > 0 && (!is_looked_for || self.waiting >= MANY_JOBS))
    }

    fn pop(&mut self) -> Option<Job> {
        let caller = self.callers.pop_front()?;
        let callers = self.jobs.len();
        let jobs = self.jobs.get_mut(&caller)?;
        let job = jobs.pop_front();
        self.waiting -= usize::from(job.is_some());
        if !jobs.is_empty() {
            self.callers.push_back(caller);
        } else if callers > CALLERS_KEPT || jobs.capacity() > JOBS_KEPT {
            self.jobs.remove(&caller);
        }
        job
    }
}

impl WorkPool {
    /// A pool whose threads bear `name`.
    ///
    /// # Errors
    /// If a thread does not start.
    pub fn start(name: &str, options: PoolOptions) -> std::io::Result<Self> {
        let queue = FairQueue {
            jobs: HashMap::default(),
            callers: VecDeque::new(),
            waiting: 0,
            waiting_max: options.waiting_max,
            threads: options.threads,
            asleep: 0,
            stands_by: false,
            is_looking: false,
            closed: false,
        };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            submitted: Condvar::new(),
            has_jobs: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        for number in 0..options.threads {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new().name(format!("{name}-{number}"));
            thread.spawn(move || shared.work())?;
        }
        Ok(Self { shared, inline: options.threads == 0 })
    }

    /// Runs `work` for `caller` on a thread of the pool and gives its result. A job whose caller
    /// has gone before its turn is not run.
    ///
    /// # Errors
    /// 503 `overloaded` if the queue, or the caller's part of it, is full; 500 `internal` if `work`
    /// panics; else those of `work`.
    pub async fn run<T: Send + 'static>(
        &self,
        caller: &Identity,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let caught = move || {
            catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Refusal::internal()))
        };
        if self.inline {
            return caught();
        }
        let (sender, receiver) = oneshot::channel();
        let job = move || {
            if !sender.is_closed() {
                // A caller that has gone meanwhile does not take the result.
                let _ = sender.send(caught());
            }
        };
        self.shared.submit(caller, Box::new(job))?;
        receiver.await.unwrap_or_else(|_| Err(Refusal::internal()))
    }

    /// Whether the server stops, for jobs that take long: they end with 503 `shutting_down`.
    pub fn stop_flag(&self) -> StopFlag {
        StopFlag(Arc::clone(&self.shared))
    }

    /// Tells the jobs that take long that the server stops.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Jobs that wait.
    pub fn waiting(&self) -> usize {
        self.shared.queue().waiting
    }
}

impl Drop for WorkPool {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.submitted.notify_all();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, FairQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&self, caller: &Identity, job: Job) -> Result<()> {
        let needs_thread = {
            let mut queue = self.queue();
            queue.push(caller, job)?;
            self.has_jobs.store(true, Ordering::Relaxed);
            queue.needs_thread()
        };
        if needs_thread {
            self.submitted.notify_one();
        }
        Ok(())
    }

    /// Lets other threads run until a job waits, a number of times: waking a thread that sleeps
    /// costs more than most jobs.
    fn look(&self) {
        for _ in 0..LOOKS {
            if self.has_jobs.load(Ordering::Relaxed) {
                return;
            }
            std::thread::yield_now();
        }
    }

    /// Sleeps until a job needs a thread. While others run, one thread sleeps for a short time
    /// only, so that no job waits long behind one that takes long.
    fn sleep<'q>(&self, mut queue: MutexGuard<'q, FairQueue>) -> MutexGuard<'q, FairQueue> {
        queue.asleep += 1;
        if queue.stands_by || queue.asleep == queue.threads {
            queue = self.submitted.wait(queue).unwrap_or_else(PoisonError::into_inner);
        } else {
            queue.stands_by = true;
            let waited = self.submitted.wait_timeout(queue, STAND_BY);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            queue.stands_by = false;
        }
        queue.asleep -= 1;
        queue
    }

    /// Runs jobs until the pool is dropped.
    fn work(&self) {
        let mut queue = self.queue();
        // Whether the last look has found no job.
        let mut has_looked = false;
        loop {
            if let Some(job) = queue.pop() {
                if queue.waiting == 0 {
                    self.has_jobs.store(false, Ordering::Relaxed);
                }
                drop(queue);
                job();
                queue = self.queue();
            } else if queue.closed {
                return;
            } else if has_looked || queue.is_looking {
                queue = self.sleep(queue);
                has_looked = queue.waiting == 0;
                continue;
            } else {
                queue.is_looking = true;
                drop(queue);
                self.look();
                queue = self.queue();
                queue.is_looking = false;
                has_looked = queue.waiting == 0;
                continue;
            }
            has_looked = false;
        }
    }
}

/// Tells a job that takes long whether to end early.
#[derive(Clone)]
pub struct StopFlag(Arc<Shared>);

impl StopFlag {
    /// Whether the server stops.
    pub fn is_set(&self) -> bool {
        self.0.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parley_protocol::refusal::Reason;
    use std::sync::mpsc;

    fn pool(threads: usize, waiting_max: usize) -> Arc<WorkPool> {
        let options = PoolOptions { threads, waiting_max };
        Arc::new(WorkPool::start("test", options).expect("threads"))
    }

    fn identity(name: &str) -> Identity {
        name.into()
    }

    /// Goal: a caller with many jobs delays another by one job, and fills no more than its part.
    /// Method: one thread, held by a first job until all others wait.
    #[tokio::test]
    async fn callers_in_turn() {
        let pool = pool(1, 16);
        let (release, held) = mpsc::sync_channel::<()>(1);
        let (begun, first_runs) = oneshot::channel();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut calls = tokio::task::JoinSet::new();
        let first = Arc::clone(&pool);
        calls.spawn(async move {
            let wait = move || {
                let _ = begun.send(());
                held.recv().map_err(|_| Refusal::internal())
            };
            first.run(&identity("local:eve"), wait).await
        });
        first_runs.await.expect("the first job runs");
        for (before, caller) in ["eve", "eve", "eve", "eve", "ada", "bob"].into_iter().enumerate() {
            let (submitting, order) = (Arc::clone(&pool), Arc::clone(&order));
            let noted = move || {
                order.lock().expect("no panic").push(caller);
                Ok(())
            };
            calls.spawn(async move { submitting.run(&identity(caller), noted).await });
            while pool.waiting() == before {
                tokio::task::yield_now().await;
            }
        }
        let beyond = pool.run(&identity("eve"), || Ok(())).await.map_err(|one| one.reason);
        assert_eq!(beyond, Err(Reason::Overloaded));
        release.send(()).expect("the first job waits");
        while let Some(done) = calls.join_next().await {
            done.expect("no panic").expect("it runs");
        }
        let order = order.lock().expect("no panic").clone();
        assert_eq!(order, ["eve", "ada", "bob", "eve", "eve", "eve"]);
    }

    /// Goal: a panic of a job is the refusal of its call alone. Method: a job that panics, then one
    /// that does not, on one thread and inline.
    #[tokio::test]
    async fn panics() {
        for threads in [0, 1] {
            let pool = pool(threads, 4);
            let ada = identity("local:ada");
            let failed = pool.run(&ada, || -> Result<()> { panic!("planted") }).await;
            assert_eq!(failed.map_err(|one| one.reason), Err(Reason::Internal));
            assert_eq!(pool.run(&ada, || Ok(7)).await, Ok(7));
        }
    }

    /// Goal: a job whose caller has gone is not run. Method: one thread, held; the waiting call is
    /// dropped.
    #[tokio::test]
    async fn abandoned() {
        let pool = pool(1, 16);
        let (release, held) = mpsc::sync_channel::<()>(1);
        let (begun, first_runs) = oneshot::channel();
        let first = Arc::clone(&pool);
        let first = tokio::spawn(async move {
            let wait = move || {
                let _ = begun.send(());
                held.recv().map_err(|_| Refusal::internal())
            };
            first.run(&identity("local:eve"), wait).await
        });
        first_runs.await.expect("the first job runs");
        let ran = Arc::new(AtomicBool::new(false));
        let noted = Arc::clone(&ran);
        let second = Arc::clone(&pool);
        let second = tokio::spawn(async move {
            let note = move || {
                noted.store(true, Ordering::Relaxed);
                Ok(())
            };
            second.run(&identity("local:eve"), note).await
        });
        while pool.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        second.abort();
        assert!(second.await.is_err_and(|error| error.is_cancelled()));
        release.send(()).expect("the first job waits");
        first.await.expect("no panic").expect("it runs");
        pool.run(&identity("local:eve"), || Ok(())).await.expect("it runs");
        assert!(!ran.load(Ordering::Relaxed));
    }
}
