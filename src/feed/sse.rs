//! Carries a feed as server-sent events (bindings.md §6): `event` is the type of a frame, `id` its
//! cursor, `data` the whole frame.

use std::io::Write;

use bytes::Bytes;
use futures_util::Stream;
use parley_protocol::wire::event_data;
use tokio::time::{Instant, sleep_until};

use super::connection::{ConnectionEnd, ConnectionOptions, SLOW_AFTER, count};
use super::encode::Encoder;
use super::listener::Feed;
use super::replay::OutgoingFrame;
use super::subscriber::CloseReason;

/// The comment that keeps an idle connection open.
const COMMENT: &[u8] = b":\n\n";

/// The state of a stream of events.
struct EventStream {
    feed: Feed,
    encoder: Encoder,
    options: ConnectionOptions,
    hello: Option<OutgoingFrame>,
    /// The time at which the last piece was given.
    given: Instant,
    /// The time at which the next comment is due.
    comment: Instant,
}

/// The events of `feed`, until it ends.
pub fn events(
    feed: Feed,
    encoder: Encoder,
    options: ConnectionOptions,
) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> + Send + 'static {
    let now = Instant::now();
    let hello = Some(feed.hello(options.heartbeat.as_secs()));
    let comment = now + options.heartbeat;
    let events = EventStream { feed, encoder, options, hello, given: now, comment };
    futures_util::stream::unfold(events, |mut events| async move {
        let piece = events.next().await?;
        events.given = Instant::now();
        Some((Ok(piece), events))
    })
}

impl EventStream {
    /// The next piece; `None` at the end of the feed.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(hello) = self.hello.take() {
            return Some(self.write(&[hello]));
        }
        // The next piece is asked for once the peer has taken the last one.
        if self.feed.is_behind() && self.given.elapsed() >= SLOW_AFTER {
            return Self::end(CloseReason::SlowConsumer);
        }
        tokio::select! {
            biased;
            frames = self.feed.next() => match frames {
                Ok(frames) => Some(self.write(&frames)),
                Err(close) => Self::end(close),
            },
            () = sleep_until(self.comment) => {
                self.comment = Instant::now() + self.options.heartbeat;
                Some(Bytes::from_static(COMMENT))
            }
        }
    }

    fn end(close: CloseReason) -> Option<Bytes> {
        count(ConnectionEnd::Ended(close));
        None
    }

    fn write(&self, frames: &[OutgoingFrame]) -> Bytes {
        let bytes = frames.iter().map(|sent| sent.text.len() + 96).sum();
        let mut out = Vec::with_capacity(bytes);
        for OutgoingFrame { kind, cursor, text } in frames {
            let (kind, cursor) = (kind.as_str(), self.encoder.cursor(*cursor));
            let text = event_data(text);
            write!(out, "event: {kind}\nid: {cursor}\ndata: {text}\n\n")
                .expect("memory takes what is written");
        }
        out.into()
    }
}
