//! Reads request bodies, bounded in bytes and in time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use parley_protocol::refusal::{Refusal, Result};

use crate::budget::Hold;

/// Bytes of a body nobody wants that are dropped before the answer, at most.
const SKIMMED_BYTES_MAX: usize = 256 << 10;

/// Refuses a body that is declared to have more than `bytes_max` bytes.
///
/// # Errors
/// 413 `request_too_large`.
pub fn check_declared(body: &Incoming, bytes_max: u64) -> Result<()> {
    if body.size_hint().lower() > bytes_max {
        return Err(Refusal::body_too_large(bytes_max));
    }
    Ok(())
}

/// Reads a body of at most `bytes_max` bytes `within` the time. A body that comes in pieces counts
/// in the budget that `begin` gives a hold of, while it is being read.
///
/// # Errors
/// 413 `request_too_large`; 400 `invalid_body` if it breaks off or comes too slowly; 503
/// `overloaded` if the budget is used up.
pub async fn read(
    body: &mut Incoming,
    bytes_max: u64,
    within: Duration,
    begin: impl Fn() -> Result<Hold>,
) -> Result<Bytes> {
    let mut collected = pin!(collect(body, bytes_max, begin));
    // Most bodies come with their header and are complete at the second poll; only the others need
    // a timer.
    let mut is_second = false;
    let at_once = poll_fn(|context| match collected.as_mut().poll(context) {
        Poll::Ready(read) => Poll::Ready(Some(read)),
        Poll::Pending if is_second => Poll::Ready(None),
        Poll::Pending => {
            is_second = true;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    });
    if let Some(read) = at_once.await {
        return read;
    }
    match tokio::time::timeout(within, collected).await {
        Ok(read) => read,
        Err(_) => Err(Refusal::body(
            None,
            format!("The body did not come within {} s. Send it again, faster.", within.as_secs()),
        )),
    }
}

async fn collect(
    body: &mut Incoming,
    bytes_max: u64,
    begin: impl Fn() -> Result<Hold>,
) -> Result<Bytes> {
    let mut hold = None;
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    // With a known length the end is known without another poll.
    while !body.is_end_stream()
        && let Some(frame) = body.frame().await
    {
        let Ok(frame) = frame else {
            return Err(Refusal::body(None, "The body broke off. Send it again, whole."));
        };
        let Ok(data) = frame.into_data() else { continue };
        if (first.len() + all.len() + data.len()) as u64 > bytes_max {
            return Err(Refusal::body_too_large(bytes_max));
        }
        if !body.is_end_stream() {
            let hold = match &mut hold {
                Some(hold) => hold,
                None => hold.insert(begin()?),
            };
            hold.grow(data.len())?;
        }
        // Most bodies are one frame, which is not copied.
        if first.is_empty() && all.is_empty() {
            first = data;
        } else {
            all.extend_from_slice(&std::mem::take(&mut first));
            all.extend_from_slice(&data);
        }
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// Drops what has come of a body that nobody wants, and waits for nothing; whether that was all of
/// it. A connection is used again only after a body that was read whole.
pub async fn skim(body: &mut Incoming) -> bool {
    let mut bytes = 0;
    while !body.is_end_stream() && bytes <= SKIMMED_BYTES_MAX {
        // What has come is there at the second poll.
        let mut is_second = false;
        let frame = poll_fn(|context| match Pin::new(&mut *body).poll_frame(context) {
            Poll::Pending if !is_second => {
                is_second = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Poll::Pending => Poll::Ready(None),
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
        });
        match frame.await {
            Some(Some(Ok(frame))) => bytes += frame.data_ref().map_or(0, Bytes::len),
            Some(None) => return true,
            Some(Some(Err(_))) | None => return false,
        }
    }
    body.is_end_stream()
}
