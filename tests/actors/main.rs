//! The forum behind the gateway, with everything in its way that can be: actors that sleep, panic
//! and dawdle, disks that fail, faults that are planted and must be found.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[expect(dead_code, reason = "not every test needs every fault")]
#[path = "../support/disk.rs"]
mod disk;

mod budget;
mod crowd;
mod failure;
mod keys;
mod planted;
mod shadow;
mod site;
mod storm;

use std::sync::Once;

/// Leaves out of the log the panics that tests ask for.
fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let text = panic.payload_as_str().unwrap_or_default();
            if !text.contains("as the test asked") {
                shown(panic);
            }
        }));
    });
}
