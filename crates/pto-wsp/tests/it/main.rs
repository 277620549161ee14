//! Integration tests, in one program: they link once.

mod arguments;
mod counting;
mod document_004;
mod errors;
mod examples;
mod graph;
#[cfg(unix)]
mod hosted;
mod on_device;
mod program;
mod public;
mod selection;
mod sharded_layer;
mod unit_of_workload;
mod words;
