//! The methods of MCP that are served (mcp.md §2).

use super::revision::ProtocolFamily;

/// The methods that are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpMethod {
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

/// The methods by name.
const METHODS: [(&str, McpMethod, bool, bool, Option<&str>); 12] = [
    // Name, method, in legacy revisions, in modern ones, member that `Mcp-Name` repeats.
    ("initialize", McpMethod::Initialize, true, false, None),
    ("server/discover", McpMethod::Discover, false, true, None),
    ("ping", McpMethod::Ping, true, false, None),
    ("logging/setLevel", McpMethod::SetLevel, true, false, None),
    ("tools/list", McpMethod::ListTools, true, true, None),
    ("tools/call", McpMethod::CallTool, true, true, Some("name")),
    ("resources/list", McpMethod::ListResources, true, true, None),
    ("resources/templates/list", McpMethod::ListTemplates, true, true, None),
    ("resources/read", McpMethod::ReadResource, true, true, Some("uri")),
    ("prompts/list", McpMethod::ListPrompts, true, true, None),
    ("prompts/get", McpMethod::GetPrompt, true, true, Some("name")),
    ("subscriptions/listen", McpMethod::Listen, false, true, None),
];

impl McpMethod {
    /// The method of a name; `None` if the family lacks it.
    pub fn parse(name: &str, family: ProtocolFamily) -> Option<Self> {
        let row = METHODS.into_iter().find(|(known, ..)| *known == name);
        let (_, method, legacy, modern, _) = row?;
        let is_served = if family == ProtocolFamily::Modern { modern } else { legacy };
        is_served.then_some(method)
    }

    /// The member of `params` that the header `Mcp-Name` repeats (mcp.md §3).
    pub fn mirrored(self) -> Option<&'static str> {
        METHODS.into_iter().find(|(_, method, ..)| *method == self).and_then(|(.., member)| member)
    }
}
