//! Enumerations whose values are words on the wire.

/// Defines an enumeration with the word of each value: `ALL` in the order of the page, `as_str`
/// and `Display`.
/// A value cannot be left out of either.
macro_rules! names {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$about])*
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All of them, in the order of the page.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.as_str())
            }
        }
    };
}

/// The same with `parse`, which compares exactly.
macro_rules! words {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        names! {
            $(#[$about])*
            pub enum $name { $($(#[$doc])* $variant = $word,)+ }
        }

        impl $name {
            /// The value of a word; `None` if there is none.
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
