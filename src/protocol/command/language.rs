//! Languages and parts of the manifest.

words! {
    /// The language of the manifest's prose.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Language {
        /// English.
        #[default]
        En = "en",
        /// German.
        De = "de",
        /// French.
        Fr = "fr",
    }
}

words! {
    /// A part of the manifest (mcp.md §4); each also names the instance.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ManifestPart {
        /// Envelope, acts, states, authority, rights, limits and manners.
        Speaking = "speaking",
        /// The reasons of refusals.
        Reasons = "reasons",
        /// The operations, with their ways in over HTTP.
        Operations = "operations",
        /// The profiles and their rules.
        Profiles = "profiles",
        /// All of it.
        #[default]
        All = "all",
    }
}

impl ManifestPart {
    /// Whether this part holds what belongs to `part`.
    pub fn has(self, part: Self) -> bool {
        self == part || self == Self::All
    }
}
