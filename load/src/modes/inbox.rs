//! `inbox`: concurrent resumption of listeners, the cost of a question to anyone, and inboxes of a
//! participant with half a million questions.

mod anyone;
mod own_questions;
mod resume;

use crate::body::push_body;
use crate::options::Options;
use crate::report::Report;
use crate::server::raise_files;

/// Runs each part whose size is not 0.
pub async fn run(options: &Options) -> anyhow::Result<Report> {
    // Each listener is an open file of the generator, and one of the server.
    raise_files(options.listeners + 1_024)?;
    let mut report = Report::new(options);
    if options.listeners > 0 {
        resume::run(options, &mut report).await?;
    }
    if options.agents > 0 {
        anyone::run(options, &mut report).await?;
    }
    if options.threads > 0 {
        own_questions::run(options, &mut report).await?;
    }
    Ok(report)
}

/// Appends the members of a question that opens a thread, without the speaker.
fn question(out: &mut Vec<u8>, options: &Options, serial: usize) {
    out.extend_from_slice(b"\"kind\":\"ask\",\"body\":\"");
    push_body(out, options.seed, serial as u64, options.body);
    out.push(b'"');
}
