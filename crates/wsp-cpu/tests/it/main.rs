//! Integration tests, in one program: they link once.

mod aicpu_faults;
#[cfg(unix)]
mod c_kernels;
mod carried;
#[path = "../../../wsp-isa/tests/choices/mod.rs"]
mod choices;
mod generators;
mod plans;
#[path = "../../../wsp-isa/tests/random_units/mod.rs"]
mod random_units;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod schedule_effects;
mod seam;
mod splits;
mod tg;
mod tg_examples;
mod tiers;
mod tile_integers;
mod tile_words;
mod windows;
mod workload_aicpus;
mod workload_channels;
mod workload_first_reads;
mod workload_kept;
mod workload_library;
mod workload_matrix;
mod workload_pipelines;
mod workload_probes;
mod workload_refusals;
mod workload_stores;
mod workload_view_refusals;
mod workload_views;
mod workloads;
