//! The revisions of MCP that are served, and the `_meta` member that names one (mcp.md §1).

/// A revision of the protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// The only one with batches.
    March2025,
    /// No batches.
    June2025,
    /// What is answered to whoever names none that is served.
    November2025,
    /// Every request for itself.
    July2026,
}

impl Revision {
    /// All of them, newest first.
    pub const ALL: [Self; 4] =
        [Self::July2026, Self::November2025, Self::June2025, Self::March2025];

    /// Its date, which is its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::March2025 => "2025-03-26",
            Self::June2025 => "2025-06-18",
            Self::November2025 => "2025-11-25",
            Self::July2026 => "2026-07-28",
        }
    }

    /// The revision of that date.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == word)
    }

    /// Whether requests need no `initialize`.
    pub fn is_modern(self) -> bool {
        self == Self::July2026
    }

    /// The legacy revision of that date.
    pub fn legacy(word: &str) -> Option<Self> {
        Self::parse(word).filter(|revision| !revision.is_modern())
    }
}

/// The dates of all revisions served, newest first.
pub const SERVED: [&str; 4] = [
    Revision::July2026.as_str(),
    Revision::November2025.as_str(),
    Revision::June2025.as_str(),
    Revision::March2025.as_str(),
];

/// The member of `_meta` that makes a request a modern one.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
