//! Profiles: what an instance offers beside the core (bindings.md §4, operations.md §2).

use super::Operation;

/// A part of the language that may be there or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Profile {
    /// What every instance offers.
    Core,
    /// Claims that carry evidence (parley.md §8).
    Dialectic,
    /// Push to listeners (bindings.md §6).
    Feed,
    /// Auditable artifacts (artifacts.md).
    Artifacts,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Core, Self::Dialectic, Self::Feed, Self::Artifacts];

    /// The word in manifest and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Dialectic => "dialectic",
            Self::Feed => "feed",
            Self::Artifacts => "artifacts",
        }
    }

    /// The version that the manifest names.
    pub fn version(self) -> &'static str {
        match self {
            Self::Core | Self::Dialectic | Self::Feed => "1",
            Self::Artifacts => "0.1",
        }
    }

    /// The profile of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == word)
    }

    /// The operations that belong to it; the feed is a way in of its own and has none.
    pub fn operations(self) -> impl Iterator<Item = Operation> {
        Operation::all().filter(move |operation| operation.spec().profile == self)
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
        Operation::all().filter(move |operation| self.has(operation.spec().profile))
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
