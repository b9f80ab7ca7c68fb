//! From headers and bytes to what is to be done, before anything is done (mcp.md §1 to §3).

use serde_json::value::RawValue;

use super::envelope::{self, Body, Id, Message, Params, Request};
use super::era::{self, Era, Revision};
use super::failure::Failure;
use super::headers::{self, Headers};

/// Entries of a batch at most.
pub const BATCH_MAX: usize = 50;

/// What a body comes down to.
#[derive(Debug)]
pub enum Decision<'b> {
    /// One message.
    One(Step<'b>),
    /// Several, to be judged one by one and answered together.
    Batch(Vec<Step<'b>>),
}

/// What one message comes down to.
#[derive(Debug)]
pub enum Step<'b> {
    /// Nothing is said to it.
    Silent,
    /// It fails, answered to the id if it had one.
    Fail(Option<Id>, Failure),
    /// It is to be carried out.
    Do(Task<'b>),
}

/// A request that may be carried out.
#[derive(Debug)]
pub struct Task<'b> {
    /// What the answer names.
    pub id: Id,
    /// The era, which forms the answer.
    pub era: Era,
    /// What is asked for.
    pub method: Method,
    /// With what.
    pub params: Params<'b>,
}

/// The methods served, in one era or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `initialize`.
    Initialize,
    /// `server/discover`.
    Discover,
    /// `ping`.
    Ping,
    /// `logging/setLevel`.
    SetLevel,
    /// `tools/list`.
    ListTools,
    /// `tools/call`.
    CallTool,
    /// `resources/list`.
    ListResources,
    /// `resources/templates/list`.
    ListTemplates,
    /// `resources/read`.
    ReadResource,
    /// `prompts/list`.
    ListPrompts,
    /// `prompts/get`.
    GetPrompt,
    /// `subscriptions/listen`.
    Listen,
}

const METHODS: [(&str, Method, bool, bool); 12] = [
    // Name, method, in legacy revisions, in modern ones.
    ("initialize", Method::Initialize, true, false),
    ("server/discover", Method::Discover, false, true),
    ("ping", Method::Ping, true, false),
    ("logging/setLevel", Method::SetLevel, true, false),
    ("tools/list", Method::ListTools, true, true),
    ("tools/call", Method::CallTool, true, true),
    ("resources/list", Method::ListResources, true, true),
    ("resources/templates/list", Method::ListTemplates, true, true),
    ("resources/read", Method::ReadResource, true, true),
    ("prompts/list", Method::ListPrompts, true, true),
    ("prompts/get", Method::GetPrompt, true, true),
    ("subscriptions/listen", Method::Listen, false, true),
];

impl Method {
    /// The method of a name, if the era has it.
    pub fn parse(name: &str, era: Era) -> Option<Self> {
        let (_, method, legacy, modern) = METHODS.into_iter().find(|(known, ..)| *known == name)?;
        let there = if era == Era::Modern { modern } else { legacy };
        there.then_some(method)
    }
}

/// Decides about a body.
pub fn decide<'b>(headers: &Headers<'_>, bytes: &'b [u8]) -> Decision<'b> {
    match Body::read(bytes) {
        Err(failure) => Decision::One(Step::Fail(None, failure)),
        Ok(Body::One(text)) => Decision::One(step(headers, text)),
        Ok(Body::Batch(entries)) => batch(headers, &entries),
    }
}

fn step<'b>(headers: &Headers<'_>, text: &'b str) -> Step<'b> {
    match envelope::read(text) {
        Ok(Message::Silent) => Step::Silent,
        Ok(Message::Request(request)) => {
            let id = request.id.clone();
            task(headers, request).map_or_else(|failure| Step::Fail(Some(id), failure), Step::Do)
        }
        Err((id, failure)) => Step::Fail(id, failure),
    }
}

fn task<'b>(headers: &Headers<'_>, request: Request<'b>) -> Result<Task<'b>, Failure> {
    let era = era::judge(&request, headers)?;
    if era == Era::Modern
        && let Ok(params) = &request.params
    {
        headers::check(&request, params, headers)?;
    }
    let Request { id, method: name, params } = request;
    let params = params.map_err(Failure::params)?;
    let status = if era == Era::Modern { 404 } else { 200 };
    match Method::parse(&name, era) {
        Some(method) => Ok(Task { id, era, method, params }),
        None => Err(Failure::no_method(status, &name)),
    }
}

/// A batch exists in the first revision only.
fn batch<'b>(headers: &Headers<'_>, entries: &[&'b RawValue]) -> Decision<'b> {
    let whole =
        |message: &'static str| Decision::One(Step::Fail(None, Failure::no_request(message)));
    if era::legacy_of(headers.version) != Ok(Revision::March2025) {
        return whole("Batches exist in revision 2025-03-26 only. Send one message at a time.");
    }
    if entries.is_empty() || entries.len() > BATCH_MAX {
        return whole("A batch has 1 to 50 entries.");
    }
    Decision::Batch(entries.iter().map(|entry| entry_of_batch(headers, entry.get())).collect())
}

fn entry_of_batch<'b>(headers: &Headers<'_>, text: &'b str) -> Step<'b> {
    let request = match envelope::read(text) {
        Ok(Message::Silent) => return Step::Silent,
        Ok(Message::Request(request)) => request,
        Err((id, failure)) => return Step::Fail(id, failure),
    };
    let id = request.id.clone();
    let modern = request.params.as_ref().is_ok_and(|params| params.meta(era::VERSION).is_some());
    if modern || request.method == "initialize" {
        let message = "This cannot stand in a batch. Send it alone.";
        return Step::Fail(Some(id), Failure::no_request(message));
    }
    task(headers, request).map_or_else(|failure| Step::Fail(Some(id), failure), Step::Do)
}
