//! Integration tests, in one program: they link once.

mod again;
mod aicpus_virtual;
mod cases;
mod common;
mod contract;
mod exchange;
mod failure;
mod infer_bytes;
mod infer_common;
mod infer_limits;
mod infer_oracle;
mod infer_reference;
mod list_scheduler;
mod oracle;
mod order;
mod placement;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod replay;
mod simulate_probes;
mod simulate_properties;
mod simulate_runtime;
mod streams;
mod teams;
mod tg_common;
mod tg_cores;
mod tg_launch;
mod tg_others;
mod tg_random;
mod tiles;
mod together;
mod why_late;
