//! `subscriptions/listen` (mcp.md §5): an event stream of notifications about changed resources.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::select_all;
use parley_protocol::command::{Call, PageQuery, ReadCall};
use parley_protocol::feed::Scope;
use parley_protocol::identity::{Principal, Right};
use parley_protocol::ids::ThreadId;
use parley_protocol::json::{self, JsonValue, NESTING_CEILING};
use parley_protocol::refusal::Result;
use parley_protocol::text::is_handle;
use parley_protocol::wire::{JsonBuffer, array, raw, text};
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::super::answer::HttpResponse;
use super::super::sender::SenderShut;
use super::super::{Gateway, RequestContext, check_rights};
use super::dispatch::McpTask;
use super::envelope::Params;
use super::error::RpcError;
use super::resources::{ResourceUri, is_missing};
use super::result::event;
use super::rpc_id::RpcId;
use crate::feed::hub::Hub;
use crate::feed::subscriber::{CloseReason, FeedItem, Subscriber, Subscription, Taken};

/// Threads that one stream follows, at most, as for a feed.
const THREADS_MAX: usize = 1_000;
/// Inboxes that one stream follows, at most; each is a subscriber of its own.
const INBOXES_MAX: usize = 16;
/// Items taken from a queue at a time, at most.
const TAKEN_MAX: usize = 16;
/// The interval of comments, which keep proxies from closing an idle stream.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
const COMMENT: &[u8] = b": still here\n\n";

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The requested resources that can change, with the URIs as the client wrote them.
#[derive(Debug, Default, PartialEq)]
struct RequestedResources {
    threads: BTreeMap<ThreadId, Vec<String>>,
    inboxes: Vec<RequestedInbox>,
}

/// A requested inbox.
#[derive(Debug, PartialEq)]
struct RequestedInbox {
    extension: Option<Arc<str>>,
    /// Whether questions to anyone are in it.
    anyone: bool,
    uri: String,
}

impl RequestedResources {
    /// Picks the resources that can change.
    fn of(addresses: &[String]) -> Self {
        let mut wanted = Self::default();
        for uri in addresses {
            match ResourceUri::parse(uri) {
                Some(ResourceUri::Thread(thread)) => {
                    let Some(thread) = ThreadId::parse(&thread) else { continue };
                    let is_below = wanted.threads.len() < THREADS_MAX;
                    if is_below || wanted.threads.contains_key(&thread) {
                        let known = wanted.threads.entry(thread).or_default();
                        if !known.contains(uri) {
                            known.push(uri.clone());
                        }
                    }
                }
                Some(ResourceUri::Inbox(extension)) => {
                    if extension.as_deref().is_none_or(is_handle) {
                        wanted.add_inbox(extension.as_deref(), true, uri);
                    }
                }
                Some(ResourceUri::OpenInbox(anyone)) => match &*anyone {
                    "" | "true" => wanted.add_inbox(None, true, uri),
                    "false" => wanted.add_inbox(None, false, uri),
                    _ => {}
                },
                // The manifest does not change while the server runs.
                Some(ResourceUri::Manifest) | None => {}
            }
        }
        wanted
    }

    fn add_inbox(&mut self, extension: Option<&str>, anyone: bool, uri: &str) {
        let known = self.inboxes.iter().any(|known| known.uri == uri);
        if !known && self.inboxes.len() < INBOXES_MAX {
            let extension = extension.map(Arc::from);
            self.inboxes.push(RequestedInbox { extension, anyone, uri: uri.to_owned() });
        }
    }

    /// The URIs that are followed, each once, in the requested order.
    fn honoured<'u>(&'u self, requested: &'u [String]) -> impl Iterator<Item = &'u String> {
        let threads = self.threads.values().flatten();
        let all: Vec<&String> =
            threads.chain(self.inboxes.iter().map(|inbox| &inbox.uri)).collect();
        let mut named: Vec<&String> = Vec::new();
        requested.iter().filter(move |uri| {
            let first = all.contains(uri) && !named.contains(uri);
            if first {
                named.push(uri);
            }
            first
        })
    }
}

/// `params.notifications.resourceSubscriptions`; `None` if it is not there.
fn addresses(params: &Params<'_>) -> Result<Option<Vec<String>>, RpcError> {
    let wrong = || {
        let message = "`notifications` must be an object, and its `resourceSubscriptions` a list \
                       of addresses.";
        RpcError::params(message)
    };
    let filter = params.get("notifications").ok_or_else(wrong)?;
    let filter = json::parse_keeping_surrogates(filter.get().as_bytes(), NESTING_CEILING);
    let Ok(JsonValue::Object(filter)) = filter else { return Err(wrong()) };
    match filter.get("resourceSubscriptions") {
        None | Some(JsonValue::Null) => Ok(None),
        Some(JsonValue::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<String>>>().map(Some).ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

/// One subscription that feeds the stream, and the URIs that it stands for.
struct FollowedQueue {
    hub: Arc<Hub>,
    subscriber: Arc<Subscriber>,
    threads: Vec<ThreadId>,
    /// The URI of an inbox; `None` for threads.
    inbox: Option<String>,
}

impl FollowedQueue {
    /// Registers a subscriber, which receives publications from now on.
    fn join(
        hub: &Arc<Hub>,
        subscription: Subscription,
        threads: Vec<ThreadId>,
        inbox: Option<String>,
    ) -> Result<Self> {
        let subscriber = Subscriber::new(subscription, hub.caps.buffer);
        hub.register(&subscriber)?;
        hub.join(&subscriber, &threads);
        Ok(Self { hub: Arc::clone(hub), subscriber, threads, inbox })
    }
}

impl Drop for FollowedQueue {
    fn drop(&mut self) {
        self.hub.leave(&self.subscriber, &self.threads);
    }
}

/// The state of a stream.
struct ListenStream {
    /// The first message, until it is sent.
    first: Option<JsonBuffer>,
    id: RpcId,
    server: Box<str>,
    threads: BTreeMap<ThreadId, Vec<String>>,
    followed: Vec<FollowedQueue>,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    stop: CancellationToken,
    comments: Interval,
    is_over: bool,
}

impl ListenStream {
    /// The next bytes; `None` once the stream has ended.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(event(&first));
        }
        while !self.is_over {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return Some(self.last()),
                () = &mut self.ended => return None,
                (index, taken) = any(&self.followed) => match taken {
                    Ok(Taken::Items(items)) => {
                        let changed = self.changed(index, &items);
                        if !changed.is_empty() {
                            return Some(changed.into());
                        }
                    }
                    Err(CloseReason::ShuttingDown) => return Some(self.last()),
                    // The client subscribes again and reads its resources first.
                    Ok(Taken::Behind) | Err(_) => return None,
                },
                _ = self.comments.tick() => return Some(Bytes::from_static(COMMENT)),
            }
        }
        None
    }

    /// The response to the request, which ends the stream at a shutdown.
    fn last(&mut self) -> Bytes {
        self.is_over = true;
        let mut out = JsonBuffer::new();
        raw(&mut out, "{\"jsonrpc\":\"2.0\",\"id\":");
        raw(&mut out, self.id.text());
        raw(&mut out, ",\"result\":{\"resultType\":\"complete\",\"_meta\":{");
        raw(&mut out, "\"io.modelcontextprotocol/serverInfo\":");
        raw(&mut out, &self.server);
        raw(&mut out, ",");
        tag(&mut out, &self.id);
        raw(&mut out, "}}}");
        event(&out)
    }

    /// One notification for each URI that these items change.
    fn changed(&self, index: usize, items: &[FeedItem]) -> Vec<u8> {
        let mut changed: Vec<&str> = Vec::new();
        for item in items {
            let FeedItem::Frame(_, publication) = item else { continue };
            let uris = match &self.followed[index].inbox {
                Some(uri) => std::slice::from_ref(uri),
                None => self.threads.get(&publication.act().thread).map_or(&[][..], Vec::as_slice),
            };
            for uri in uris {
                if !changed.contains(&uri.as_str()) {
                    changed.push(uri);
                }
            }
        }
        let events = changed.iter().map(|uri| {
            let mut out = notification("notifications/resources/updated", &self.id);
            raw(&mut out, ",\"uri\":");
            text(&mut out, uri);
            raw(&mut out, "}}");
            event(&out)
        });
        events.collect::<Vec<_>>().concat()
    }
}

/// Takes items from the first queue that has some.
async fn any(followed: &[FollowedQueue]) -> (usize, Result<Taken, CloseReason>) {
    if followed.is_empty() {
        return pending().await;
    }
    let takes = followed.iter().map(|one| Box::pin(one.subscriber.take(TAKEN_MAX)));
    let (taken, index, _) = select_all(takes).await;
    (index, taken)
}

/// The start of a notification, up to `_meta`.
fn notification(method: &str, id: &RpcId) -> JsonBuffer {
    let mut out = JsonBuffer::new();
    raw(&mut out, "{\"jsonrpc\":\"2.0\",\"method\":");
    text(&mut out, method);
    raw(&mut out, ",\"params\":{\"_meta\":{");
    tag(&mut out, id);
    raw(&mut out, "}");
    out
}

fn tag(out: &mut JsonBuffer, id: &RpcId) {
    text(out, SUBSCRIPTION);
    raw(out, ":");
    raw(out, id.text());
}

fn acknowledged(
    id: &RpcId,
    wanted: &RequestedResources,
    requested: Option<&[String]>,
) -> JsonBuffer {
    let mut out = notification("notifications/subscriptions/acknowledged", id);
    raw(&mut out, ",\"notifications\":{");
    if let Some(requested) = requested {
        raw(&mut out, "\"resourceSubscriptions\":");
        array(&mut out, wanted.honoured(requested), |out, uri| text(out, uri));
    }
    raw(&mut out, "}}}");
    out
}

impl Gateway {
    /// Opens the stream, which notifies of changes after its acknowledgement.
    pub(super) async fn listen(
        &self,
        context: &RequestContext<'_>,
        principal: &Arc<Principal>,
        task: &McpTask<'_>,
    ) -> Result<HttpResponse, RpcError> {
        check_rights(principal, &[Right::Read])?;
        let requested = addresses(&task.params)?;
        let mut wanted = RequestedResources::of(requested.as_deref().unwrap_or_default());
        let mut unknown = Vec::new();
        for thread in wanted.threads.keys() {
            let first = PageQuery { cursor: None, limit: Some(1) };
            let read = Call::Read(ReadCall::Flat(*thread, first));
            if let Err(refusal) = self.parts.forum.perform(principal, read, None).await {
                if !is_missing(refusal.reason) {
                    return Err(refusal.into());
                }
                unknown.push(*thread);
            }
        }
        wanted.threads.retain(|thread, _| !unknown.contains(thread));
        let followed = self.follow(principal, &wanted)?;
        let mut comments = interval(COMMENT_EVERY);
        comments.set_missed_tick_behavior(MissedTickBehavior::Delay);
        comments.reset();
        let (tokens, token) = (Arc::clone(&self.parts.tokens), principal.token);
        let stream = ListenStream {
            first: Some(acknowledged(&task.id, &wanted, requested.as_deref())),
            id: task.id.clone(),
            server: self.documents.server.clone(),
            threads: wanted.threads,
            followed,
            ended: Box::pin(async move { tokens.ended(token).await }),
            stop: context.connection.lifetime.stop.clone(),
            comments,
            is_over: false,
        };
        let frames = futures_util::stream::unfold(stream, |mut stream| async move {
            let bytes = stream.next().await?;
            Some((Ok::<_, Infallible>(bytes), stream))
        });
        let frames = frames.take_until(SenderShut::new(&context.connection.sender));
        Ok(super::events(Body::from_stream(frames)))
    }

    fn follow(
        &self,
        principal: &Principal,
        wanted: &RequestedResources,
    ) -> Result<Vec<FollowedQueue>, RpcError> {
        let join = |scope, extension, anyone, threads, inbox| {
            let subscription = Subscription {
                participant: principal.participant(extension),
                scope,
                anyone,
                token: principal.token,
                // The stream watches its token itself.
                expires_at: None,
            };
            FollowedQueue::join(&self.parts.feed_deps.hub, subscription, threads, inbox)
        };
        let mut followed = Vec::new();
        if !wanted.threads.is_empty() {
            let threads = wanted.threads.keys().copied().collect();
            followed.push(join(Scope::Threads, None, true, threads, None)?);
        }
        for RequestedInbox { extension, anyone, uri } in &wanted.inboxes {
            let uri = Some(uri.clone());
            followed.push(join(Scope::Inbox, extension.as_ref(), *anyone, Vec::new(), uri)?);
        }
        Ok(followed)
    }
}
