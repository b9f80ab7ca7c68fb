//! The publishing hop: passes committed batches to the hub, which tells feeds and inboxes.

use std::sync::Arc;

use super::hub::Hub;
use crate::clock::Clock;
use crate::journal::{BatchStream, StreamItem};
use crate::yield_points::{Hook, Point};

/// Batches that may wait for the hub; above, all feeds fall behind and read the log instead.
pub const HUB_BATCHES_MAX: usize = 64;

/// Passes batches on in their order until the journal has ended. It waits for no listener.
pub async fn publish_batches(
    mut stream: BatchStream,
    hub: Arc<Hub>,
    clock: Arc<dyn Clock>,
    hook: Hook,
) {
    while let Some(published) = stream.next().await {
        hook.reach(Point::BeforePublish).await;
        match published {
            StreamItem::Batch(batch) => hub.deliver(&batch.committed, clock.now()),
            StreamItem::Missed(upto) => {
                tracing::warn!(upto, "publishing fell behind: all feeds read the log");
                hub.skip(upto);
            }
        }
    }
}
