//! Profiles: the optional parts of the language (bindings.md §4, operations.md §2).

use super::Operation;

words! {
    /// A part of the language that may be there or not.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Profile {
        /// The part that every instance offers.
        Core = "core",
        /// Claims that carry evidence (parley.md §8).
        Dialectic = "dialectic",
        /// Push to listeners (bindings.md §6).
        Feed = "feed",
        /// Auditable artifacts (artifacts.md).
        Artifacts = "artifacts",
    }
}

impl Profile {
    /// The version that the manifest names.
    pub fn version(self) -> &'static str {
        match self {
            Self::Core | Self::Dialectic | Self::Feed => "1",
            Self::Artifacts => "0.1",
        }
    }

    /// The operations that belong to it; the feed is a way in of its own and has none.
    pub fn operations(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.into_iter().filter(move |operation| operation.spec().profile == self)
    }
}

/// The profiles in force; the core always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profiles(u8);

impl Profiles {
    /// The core alone.
    pub const CORE: Self = Self(1 << Profile::Core as u8);
    /// All of them.
    pub const ALL: Self = Self(0b1111);

    /// These and `profile`.
    pub fn with(self, profile: Profile) -> Self {
        Self(self.0 | 1 << profile as u8)
    }

    /// Whether `profile` is in force.
    pub fn has(self, profile: Profile) -> bool {
        self.0 & 1 << profile as u8 != 0
    }

    /// Those in force, in order.
    pub fn iter(self) -> impl Iterator<Item = Profile> {
        Profile::ALL.into_iter().filter(move |profile| self.has(*profile))
    }

    /// The operations in force, in the order of the table.
    pub fn operations(self) -> impl Iterator<Item = Operation> {
        Operation::ALL.into_iter().filter(move |operation| self.has(operation.spec().profile))
    }
}

impl Default for Profiles {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Profile> for Profiles {
    /// These and the core.
    fn from_iter<T: IntoIterator<Item = Profile>>(profiles: T) -> Self {
        profiles.into_iter().fold(Self::CORE, Self::with)
    }
}
