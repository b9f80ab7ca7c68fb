//! Metrics and log of one test, apart from those of the tests beside it in the same process.

use std::sync::Mutex;

use metrics::LocalRecorderGuard;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tokio::runtime::{Builder, Runtime};
use tracing_subscriber::fmt::MakeWriter;

/// What the threads that belong to one test record. It is never freed: a thread that ends may
/// still record.
#[derive(Clone)]
pub struct Observed {
    recorder: &'static PrometheusRecorder,
    metrics: PrometheusHandle,
    log: &'static Mutex<Vec<u8>>,
}

impl Default for Observed {
    fn default() -> Self {
        let recorder: &'static _ = Box::leak(Box::new(PrometheusBuilder::new().build_recorder()));
        Self { recorder, metrics: recorder.handle(), log: Box::leak(Box::default()) }
    }
}

impl Observed {
    /// Takes the metrics of this thread until the guard is dropped.
    pub fn thread(&self) -> LocalRecorderGuard<'static> {
        metrics::set_default_local_recorder(self.recorder)
    }

    /// A runtime of `workers` threads whose metrics and log are this test's.
    pub fn runtime(&self, workers: usize) -> Runtime {
        let this = self.clone();
        let begins = move || {
            let lines = this.log;
            let log = tracing_subscriber::fmt().with_writer(|| lines.make_writer());
            let log = log.with_ansi(false).finish();
            // Both last as long as the thread.
            std::mem::forget(tracing::subscriber::set_default(log));
            std::mem::forget(this.thread());
        };
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(workers).enable_all().on_thread_start(begins).build().unwrap()
    }

    /// A metric's value, 0 if nothing has recorded it. Labels are part of the name.
    pub fn metric(&self, name: &str) -> f64 {
        let text = self.metrics.render();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.map_or(0.0, |value| value.parse().unwrap())
    }

    /// What was logged.
    pub fn log(&self) -> String {
        String::from_utf8(self.log.lock().unwrap().clone()).unwrap()
    }
}
