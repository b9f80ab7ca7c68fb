//! The revisions of MCP that are served, their two families, and the `_meta` member that names a
//! revision (mcp.md §1).

/// A revision of the protocol, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// 2024-11-05, served as 2025-03-26.
    November2024,
    /// 2025-03-26, the last revision with batches.
    March2025,
    /// 2025-06-18.
    June2025,
    /// 2025-11-25, the answer to a client that names no served revision.
    November2025,
    /// 2026-07-28, with self-contained requests.
    July2026,
}

impl Revision {
    /// All of them, newest first.
    pub const ALL: [Self; 5] =
        [Self::July2026, Self::November2025, Self::June2025, Self::March2025, Self::November2024];

    /// Its date, which names it on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::November2024 => "2024-11-05",
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

    /// Whether it has batches.
    pub fn has_batches(self) -> bool {
        self <= Self::March2025
    }

    /// The legacy revision of that date.
    pub fn legacy(word: &str) -> Option<Self> {
        Self::parse(word).filter(|revision| *revision != Self::July2026)
    }
}

/// The dates of all revisions served, newest first.
pub fn served() -> [&'static str; 5] {
    Revision::ALL.map(Revision::as_str)
}

/// The member of `_meta` that marks a request as modern.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// The protocol family of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolFamily {
    /// Sessions begin with `initialize`; for `initialize`, the revision of the answer.
    Legacy(Revision),
    /// Each request has `_meta` with a version, which may be one that is not served.
    Modern,
}
