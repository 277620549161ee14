//! Integration tests, in one program: they link once.

mod fuzz;
mod fuzz_corpus;
mod ptow_reference;
mod ptow_text;
#[path = "../random_units/mod.rs"]
mod random_units;
mod tg_binary;
mod tg_fuzz;
mod tg_fuzz_corpus;
mod tg_random;
mod tg_reference;
mod tg_text;
mod tg_units;
