//! Integration tests, in one program: they link once.

mod access_soundness;
#[path = "../../../wsp-isa/tests/choices/mod.rs"]
mod choices;
mod costs;
mod decode_example;
mod expected_accesses;
mod flow;
mod flow_closed;
mod flow_pipelines;
mod flow_throughput;
mod layouts;
mod layouts_astray;
mod layouts_random;
mod layouts_right;
mod layouts_wrong;
mod lowering;
mod models;
mod pipelines_by_data;
mod pipelines_named;
mod ptow_differential;
mod ptow_expand;
mod ptow_limits;
mod ptow_lowering;
mod ptow_support;
mod ptow_workload;
#[path = "../../../wsp-isa/tests/random_programs/mod.rs"]
mod random_programs;
#[path = "../../../wsp-core/tests/randomised/mod.rs"]
mod randomised;
mod schedule_order;
mod schedule_property;
mod split;
mod support;
mod workload_bind;
mod workload_expand;
mod workload_graphs;
mod workload_oracle;
mod workload_pipeline;
mod workload_schedule;
mod workload_support;
