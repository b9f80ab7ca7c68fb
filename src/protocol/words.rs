//! Enumerations whose values are words on the wire.

/// Defines an enumeration with the word of each value: `ALL` in the order of the page, `as_str`,
/// and `parse`, which compares exactly. A value cannot be left out of any of them.
macro_rules! words {
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
