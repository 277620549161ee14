//! What tests of the interpreter share.
#![allow(dead_code, clippy::missing_docs_in_private_items)]

pub mod asm;
pub mod oracle;
pub mod run;
