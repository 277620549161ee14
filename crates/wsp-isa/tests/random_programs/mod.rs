//! Programs, launches and damage made from bytes, for tests and fuzzers.
//!
//! Every decision takes bytes from a [`Choices`]; behind its end all decisions are the simplest ones. The same bytes give
//! the same results, nothing else does any randomness. Programs come from the tables of instructions and operations, so
//! what is added there is generated too, or does not compile.

#![allow(dead_code, unused_imports, reason = "not every program of tests needs all of it")]

mod dispatch;
mod expr;
#[path = "../../../wsp-core/tests/ptow_format/image.rs"]
mod image;
mod launch;
mod mutate;
mod program;
mod statement;

use crate::choices::Choices;
pub(crate) use dispatch::dispatch;
pub(crate) use launch::{OwnedLaunch, Temper, launch};
pub(crate) use mutate::mutate;
pub(crate) use program::valid_program;
