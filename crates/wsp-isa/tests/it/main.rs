//! Integration tests, in one program: they link once.

#[path = "../choices/mod.rs"]
mod choices;
mod fuzz;
mod fuzz_corpus;
mod ptow_reference;
mod ptow_text;
#[path = "../random_programs/mod.rs"]
mod random_programs;
#[path = "../random_units/mod.rs"]
mod random_units;
mod tg_binary;
mod tg_fuzz;
mod tg_fuzz_corpus;
mod tg_random;
mod tg_reference;
mod tg_text;
mod tg_units;
