//! A feed as server-sent events: `event` is the type, `id` the cursor, `data` the whole frame.

use std::io::Write;

use bytes::Bytes;
use futures_util::Stream;
use tokio::time::{Instant, sleep_until};

use super::connection::{ConnectionOptions, SLOW_AFTER, cause};
use super::listener::Feed;
use super::replay::OutgoingFrame;
use crate::feed::encode::Encoder;
use crate::feed::subscriber::CloseReason;
use crate::metric;

/// What keeps a connection alive, and tells that it is.
const COMMENT: &[u8] = b":\n\n";

/// A stream and what it is made of.
struct EventStream {
    feed: Feed,
    encoder: Encoder,
    options: ConnectionOptions,
    hello: Option<OutgoingFrame>,
    /// When the last piece was given away.
    given: Instant,
    /// When the next comment is due.
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
    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(hello) = self.hello.take() {
            return Some(self.write(&[hello]));
        }
        // Nobody asks for the next piece while the last one waits to be taken.
        let is_behind = self.feed.subscriber().is_behind() && !self.feed.is_replaying();
        if is_behind && self.given.elapsed() >= SLOW_AFTER {
            return Self::over(CloseReason::SlowConsumer);
        }
        tokio::select! {
            biased;
            frames = self.feed.next() => match frames {
                Ok(frames) => Some(self.write(&frames)),
                Err(close) => Self::over(close),
            },
            () = sleep_until(self.comment) => {
                self.comment = Instant::now() + self.options.heartbeat;
                Some(Bytes::from_static(COMMENT))
            }
        }
    }

    fn over(close: CloseReason) -> Option<Bytes> {
        if let Some(cause) = cause(close) {
            metrics::counter!(metric::FEED_DROPPED, "cause" => cause).increment(1);
        }
        None
    }

    fn write(&self, frames: &[OutgoingFrame]) -> Bytes {
        let bytes = frames.iter().map(|sent| sent.text.len() + 96).sum();
        let mut out = Vec::with_capacity(bytes);
        for OutgoingFrame { kind, cursor, text } in frames {
            let (kind, cursor) = (kind.as_str(), self.encoder.cursor(*cursor));
            write!(out, "event: {kind}\nid: {cursor}\ndata: {text}\n\n")
                .expect("memory takes what is written");
        }
        out.into()
    }
}
