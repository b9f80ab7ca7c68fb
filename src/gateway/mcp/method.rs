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
const METHODS: [(&str, McpMethod, bool, bool); 12] = [
    // Name, method, in legacy revisions, in modern ones.
    ("initialize", McpMethod::Initialize, true, false),
    ("server/discover", McpMethod::Discover, false, true),
    ("ping", McpMethod::Ping, true, false),
    ("logging/setLevel", McpMethod::SetLevel, true, false),
    ("tools/list", McpMethod::ListTools, true, true),
    ("tools/call", McpMethod::CallTool, true, true),
    ("resources/list", McpMethod::ListResources, true, true),
    ("resources/templates/list", McpMethod::ListTemplates, true, true),
    ("resources/read", McpMethod::ReadResource, true, true),
    ("prompts/list", McpMethod::ListPrompts, true, true),
    ("prompts/get", McpMethod::GetPrompt, true, true),
    ("subscriptions/listen", McpMethod::Listen, false, true),
];

impl McpMethod {
    /// The method of a name; `None` if the family lacks it.
    pub fn parse(name: &str, family: ProtocolFamily) -> Option<Self> {
        let (_, method, legacy, modern) = METHODS.into_iter().find(|(known, ..)| *known == name)?;
        let is_served = if family == ProtocolFamily::Modern { modern } else { legacy };
        is_served.then_some(method)
    }

    /// The member of `params` that the header `Mcp-Name` repeats (mcp.md §3).
    pub fn mirrored(self) -> Option<&'static str> {
        match self {
            Self::CallTool | Self::GetPrompt => Some("name"),
            Self::ReadResource => Some("uri"),
            Self::Initialize
            | Self::Discover
            | Self::Ping
            | Self::SetLevel
            | Self::ListTools
            | Self::ListResources
            | Self::ListTemplates
            | Self::ListPrompts
            | Self::Listen => None,
        }
    }
}
