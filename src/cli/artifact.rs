//! `parley artifact`: canonical form, identity, semantics, closure, from files and without a
//! server (artifacts.md §4).
