//! Integration tests, in one program: they link once.

#[path = "../said/mod.rs"]
mod said;
#[path = "../../../wsp-core/tests/stack/mod.rs"]
mod stack;
mod tg_verify;
mod tile_ops;
mod workload_build;
mod workload_gen;
mod workload_malformed;
mod workload_no_panic;
mod workload_random;
mod workload_reference;
mod workload_text;
