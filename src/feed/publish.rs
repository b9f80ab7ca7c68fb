//! The publishing hop: passes committed batches to the hub, which tells feeds and inboxes.

use std::sync::Arc;

use super::hub::Hub;
use crate::clock::Clock;
use crate::journal::BatchStream;
use crate::yield_points::{Hook, Point};

/// Batches that may wait for the hub; above, the journal waits with them.
pub const HUB_BATCHES_MAX: usize = 64;

/// Passes batches on in their order until the journal has ended. It waits for no listener.
pub async fn publish_batches(
    mut stream: BatchStream,
    hub: Arc<Hub>,
    clock: Arc<dyn Clock>,
    hook: Hook,
) {
    while let Some(batch) = stream.batches.recv().await {
        hook.reach(Point::BeforePublish).await;
        hub.deliver(&batch.committed, clock.now());
    }
}
