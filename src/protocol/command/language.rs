//! Languages of the manifest.

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
