//! Integration tests, in one program: they link once.

mod depth;
mod faults;
mod names;
mod no_panic;
mod places;
#[path = "../../../wsp-ir/tests/said/mod.rs"]
mod said;
#[path = "../../../wsp-core/tests/stack/mod.rs"]
mod stack;
mod support;
mod tour;
