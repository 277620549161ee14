//! Programs as designs: what the examples compute on an array, and what has no form there.

mod examples;
mod fields;
mod lengths;
mod lines;
mod mutations;
mod placements;
mod refused;
mod stored;
mod transfers;

use crate::programs::{Simulated, args, array, backend, numbers, plan, run, run_with, text, written};
