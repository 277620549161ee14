//! Integration tests, in one program: they link once.

mod access_soundness;
mod decode_example;
mod expected_accesses;
mod lowering;
mod ptow_differential;
mod ptow_limits;
mod ptow_lowering;
mod ptow_support;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod schedule_order;
mod schedule_property;
mod split;
mod support;
mod tg_any_unit;
mod tg_blocks;
mod tg_conditions;
mod tg_launch_loads;
mod tg_launch_rounds;
mod tg_launches;
mod tg_lint;
mod tg_machine;
mod tg_matrix;
mod tg_notices;
mod workload_bind;
mod workload_expand;
mod workload_graphs;
mod workload_oracle;
mod workload_pipeline;
mod workload_schedule;
mod workload_support;
