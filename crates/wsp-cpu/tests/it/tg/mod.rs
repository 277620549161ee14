//! Sessions of task-graph units: what runs, and what it gives.

pub(crate) mod common;
mod control;
mod devices;
mod events;
mod launch_loads;
mod launches;
mod library;
mod loops;
mod memory;
mod open;
mod prepared;
mod random;
mod run;
mod saved;
mod turns;
mod views;
