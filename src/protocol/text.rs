//! What a character is.
