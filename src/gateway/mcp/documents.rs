//! Constant results of MCP: lists, server info, prompts. Built once per server.

use parley_protocol::limits::Limits;
use parley_protocol::operation::Profiles;
use parley_protocol::schema;
use parley_protocol::wire::{JsonBuffer, raw, text};
use serde_json::{Value, json};

use super::envelope::Params;
use super::error::RpcError;
use super::resources::{RESOURCES, TEMPLATES};
use super::result::{CacheHint, ResultMembers};
use super::revision::{Revision, served};
use super::texts::{INSTRUCTIONS, PROMPTS};
use super::tools::ManifestResults;

/// The lists and the server info, as members of results.
#[derive(Debug)]
pub struct Documents {
    /// The result of `tools/list`.
    pub tools: ResultMembers,
    /// The result of `resources/list`.
    pub resources: ResultMembers,
    /// The result of `resources/templates/list`.
    pub templates: ResultMembers,
    /// The result of `prompts/list`.
    pub prompts: ResultMembers,
    /// The server info, as JSON.
    pub server: Box<str>,
    /// The results of `get_manifest`.
    pub manifests: ManifestResults,
}

impl Documents {
    /// The documents of a server with these profiles and limits.
    pub fn new(profiles: Profiles, limits: &Limits) -> Self {
        let tools = profiles.operations().map(|operation| schema::tool(operation, limits));
        let prompts = PROMPTS.iter().map(|prompt| {
            json!({
                "name": prompt.name,
                "title": prompt.title,
                "description": prompt.description,
                "arguments": [],
            })
        });
        let server = json!({
            "name": "parley",
            "title": "Parley",
            "version": env!("CARGO_PKG_VERSION"),
        });
        Self {
            tools: list("tools", tools),
            resources: list("resources", RESOURCES.iter().map(|resource| resource.listed("uri"))),
            templates: list(
                "resourceTemplates",
                TEMPLATES.iter().map(|template| template.listed("uriTemplate")),
            ),
            prompts: list("prompts", prompts),
            server: server.to_string().into(),
            manifests: ManifestResults::default(),
        }
    }

    /// The answer to `initialize`.
    pub fn initialize(&self, revision: Revision) -> ResultMembers {
        let mut out = JsonBuffer::new();
        raw(&mut out, "\"protocolVersion\":");
        text(&mut out, revision.as_str());
        raw(&mut out, ",\"capabilities\":{\"tools\":{},\"resources\":{},\"prompts\":{}}");
        raw(&mut out, ",\"serverInfo\":");
        raw(&mut out, &self.server);
        instructions(&mut out);
        ResultMembers::new(out)
    }

    /// The answer to `server/discover`.
    pub fn discover() -> ResultMembers {
        let mut out = JsonBuffer::new();
        raw(&mut out, "\"supportedVersions\":");
        raw(&mut out, &json!(served()).to_string());
        raw(&mut out, ",\"capabilities\":{\"tools\":{},\"resources\":{\"subscribe\":true},");
        raw(&mut out, "\"prompts\":{}}");
        instructions(&mut out);
        ResultMembers::cached(out, CacheHint::Steady)
    }

    /// The answer to `prompts/get`.
    ///
    /// # Errors
    /// -32602.
    pub fn prompt(params: &Params<'_>) -> Result<ResultMembers, RpcError> {
        let Some(name) = params.text("name") else {
            return Err(RpcError::params("`name` must be the name of a prompt."));
        };
        if params.get("arguments").is_some_and(|raw| !raw.get().starts_with('{')) {
            return Err(RpcError::params("`arguments` must be an object."));
        }
        let Some(prompt) = PROMPTS.iter().find(|prompt| prompt.name == name) else {
            let names: Vec<_> = PROMPTS.iter().map(|prompt| prompt.name).collect();
            let message = format!("There is no such prompt. There are: {}.", names.join(", "));
            return Err(RpcError::params(message));
        };
        let messages = json!([{
            "role": "user",
            "content": { "type": "text", "text": prompt.text },
        }]);
        let mut out = JsonBuffer::new();
        raw(&mut out, "\"description\":");
        text(&mut out, prompt.description);
        raw(&mut out, ",\"messages\":");
        raw(&mut out, &messages.to_string());
        Ok(ResultMembers::new(out))
    }
}

/// Returns a list that has one page.
///
/// # Errors
/// -32602 for a cursor.
pub fn only_page(list: &ResultMembers, params: &Params<'_>) -> Result<ResultMembers, RpcError> {
    if params.get("cursor").is_some() {
        let message = "This list has one page and gives no cursor. Leave `cursor` out.";
        return Err(RpcError::params(message));
    }
    Ok(list.clone())
}

fn instructions(out: &mut JsonBuffer) {
    raw(out, ",\"instructions\":");
    text(out, INSTRUCTIONS);
}

fn list(name: &str, items: impl Iterator<Item = Value>) -> ResultMembers {
    let mut out = JsonBuffer::new();
    text(&mut out, name);
    raw(&mut out, ":");
    raw(&mut out, &Value::Array(items.collect()).to_string());
    ResultMembers::cached(out, CacheHint::Steady)
}
