//! The forum behind the gateway, with everything in its way that can be: actors that sleep, panic
//! and dawdle, disks that fail, faults that are planted and must be found.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::float_cmp,
    clippy::format_push_string,
    clippy::needless_for_each,
    clippy::unused_async,
    clippy::struct_field_names,
    reason = "a test that cannot go on panics, and says what it did"
)]

#[expect(dead_code, reason = "not every test needs every fault")]
#[path = "../../support/disk.rs"]
mod disk;

mod budget;
mod crowd;
mod failure;
mod keys;
#[path = "../../support/numbers.rs"]
mod numbers;
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
            let payload = panic.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            if !text.is_some_and(|text| text.contains("as the test asked")) {
                shown(panic);
            }
        }));
    });
}
