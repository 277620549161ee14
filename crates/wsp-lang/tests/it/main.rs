//! Integration tests, in one program: they link once.

mod codes;
mod deep;
mod documents;
mod entries;
mod include;
mod malformed;
mod messages;
mod modules;
mod no_panic;
mod reference;
#[path = "../../../wsp-core/tests/stack/mod.rs"]
mod stack;
mod suggestions;
mod warnings;
