//! Log and metrics recorder (operations.md §4). Logs go to standard error, without bodies and
//! tokens; no label holds a value that a client chose.

use std::io::IsTerminal;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::{Counter, Histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use parley_protocol::operation::Operation;
use parley_protocol::refusal::Reason;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::{LogConfig, LogFormat};
use crate::metric::{self, METRICS, MetricKind, MetricSpec};

/// The metrics of this process; the first call installs the recorder.
pub fn metrics() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        let mut builder = PrometheusBuilder::new();
        for MetricSpec { name, kind, .. } in METRICS {
            if let MetricKind::Histogram(buckets) = kind {
                builder = builder
                    .set_buckets_for_metric(Matcher::Full((*name).to_owned()), buckets)
                    .expect("the lists of buckets are not empty");
            }
        }
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        // Only a program that embeds the server can have installed another recorder.
        if metrics::set_global_recorder(recorder).is_ok() {
            for MetricSpec { name, kind, labels, values, about } in METRICS {
                match kind {
                    MetricKind::Counter => {
                        metrics::describe_counter!(*name, *about);
                        if labels.is_empty() {
                            metrics::counter!(*name).absolute(0);
                        }
                        for value in *values {
                            let labels = [(labels[0], *value)];
                            metrics::counter!(*name, &labels).absolute(0);
                        }
                    }
                    MetricKind::Gauge => {
                        metrics::describe_gauge!(*name, *about);
                        metrics::gauge!(*name).set(0.0);
                    }
                    MetricKind::Histogram(_) => metrics::describe_histogram!(*name, *about),
                }
            }
        }
        handle
    })
}

/// Moves recorded values into the buckets; until then each takes memory.
pub fn upkeep() {
    metrics().run_upkeep();
}

/// The label under which a request is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestLabel {
    /// An operation of the table.
    Operation(Operation),
    /// Managing tokens.
    Tokens,
    /// The feed and its tickets.
    Feed,
    /// A copy of everything.
    Backup,
    /// Every other request. The last label: the count rests on it.
    Other,
}

impl RequestLabel {
    const COUNT: usize = Self::Other.index() + 1;

    const fn index(self) -> usize {
        match self {
            Self::Operation(operation) => operation.index(),
            Self::Tokens => Operation::COUNT,
            Self::Feed => Operation::COUNT + 1,
            Self::Backup => Operation::COUNT + 2,
            Self::Other => Operation::COUNT + 3,
        }
    }

    /// The label's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operation(operation) => operation.as_str(),
            Self::Tokens => "tokens",
            Self::Feed => "feed",
            Self::Backup => "backup",
            Self::Other => "other",
        }
    }
}

/// Counts and times requests; keeps the handles of each pair of labels after their first use.
pub struct RequestMetrics {
    handles: Box<[OnceLock<(Counter, Histogram)>]>,
}

impl Default for RequestMetrics {
    fn default() -> Self {
        metrics();
        let pairs = RequestLabel::COUNT * (Reason::ALL.len() + 1);
        Self { handles: (0..pairs).map(|_| OnceLock::new()).collect() }
    }
}

impl RequestMetrics {
    /// Counts one request: refused for `reason`, or `ok`.
    pub fn count(&self, label: RequestLabel, reason: Option<Reason>, took: Duration) {
        let outcome = reason.map_or(0, |reason| reason as usize + 1);
        let place = label.index() * (Reason::ALL.len() + 1) + outcome;
        let (counter, histogram) = self.handles[place].get_or_init(|| {
            let outcome = reason.map_or("ok", Reason::as_str);
            let labels = [("operation", label.as_str()), ("outcome", outcome)];
            (
                metrics::counter!(metric::OPERATIONS, &labels),
                metrics::histogram!(metric::OPERATION_SECONDS, &labels),
            )
        });
        counter.increment(1);
        histogram.record(took.as_secs_f64());
    }
}

/// The requests turned away with 503, summed up: one line a second and reason.
pub struct TurnedAway {
    counts: [AtomicU64; Reason::ALL.len()],
}

impl Default for TurnedAway {
    fn default() -> Self {
        Self { counts: [const { AtomicU64::new(0) }; Reason::ALL.len()] }
    }
}

impl TurnedAway {
    /// Counts a request that was turned away for `reason`.
    pub fn count(&self, reason: Reason) {
        self.counts[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Logs the counts since the last call.
    pub fn log(&self) {
        for (reason, count) in Reason::ALL.iter().zip(&self.counts) {
            let count = count.swap(0, Ordering::Relaxed);
            if count > 0 {
                let reason = reason.as_str();
                tracing::info!(reason, count, "requests were turned away");
            }
        }
    }
}

/// Lines of the log that may wait to be written; beyond them lines are dropped and counted.
const LOG_LINES_MAX: usize = 8_192;

/// The log of this process while it is open: its lines are written by a thread of its own, so that
/// a log which nobody reads holds nothing up. Dropping this writes what is left.
pub struct LogGuard {
    _worker: WorkerGuard,
}

/// Logs how many lines of the log were dropped since the last call.
pub fn log_dropped_lines() {
    static TOLD: AtomicU64 = AtomicU64::new(0);
    let dropped = DROPPED.get().map_or(0, |counter| counter.dropped_lines() as u64);
    let told = TOLD.swap(dropped, Ordering::Relaxed);
    if dropped > told {
        let count = dropped - told;
        tracing::warn!(count, "lines of the log were dropped: nobody reads it fast enough");
    }
}

static DROPPED: OnceLock<ErrorCounter> = OnceLock::new();

/// Starts the log of this process; a second call changes nothing.
pub fn start_log(log: &LogConfig) -> LogGuard {
    let level = log.level.parse().unwrap_or(LevelFilter::INFO);
    // Of the libraries only warnings and errors are logged.
    let filter = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target(crate::audit::TARGET, level)
        .with_target("parley", level)
        .with_target("parley_protocol", level);
    let terminal = std::io::stderr().is_terminal();
    let text = log.format.map_or(terminal, |format| format == LogFormat::Text);
    let writer = NonBlockingBuilder::default().lossy(true).buffered_lines_limit(LOG_LINES_MAX);
    let (writer, worker) = writer.thread_name("log").finish(std::io::stderr());
    DROPPED.get_or_init(|| writer.error_counter());
    let lines =
        tracing_subscriber::fmt::layer().with_writer(writer).with_span_events(FmtSpan::CLOSE);
    let registry = tracing_subscriber::registry();
    // An installed log stays: only tests start several servers in one process.
    let _ = if text {
        registry.with(lines.with_ansi(terminal).with_filter(filter)).try_init()
    } else {
        let lines = lines.json().flatten_event(true).with_span_list(false);
        registry.with(lines.with_filter(filter)).try_init()
    };
    LogGuard { _worker: worker }
}
