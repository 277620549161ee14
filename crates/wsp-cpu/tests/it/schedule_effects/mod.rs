//! Every row of the capability tables has an effect that is measured, and that is not there without the primitive.

mod aicpus;
mod measure;
mod places;
mod spaces;
mod workloads;

use wsp_plan::{AICPU_SPACES, CAPABILITIES, Capability, Support, aicpu_capabilities, workload_capabilities};

/// A primitive, as the table spells it, and what measures its effect: with it and without it.
type Effect = (&'static str, fn());

fn every_row_is_measured(table: impl Iterator<Item = Capability>, effects: &[Effect]) {
    let rows: Vec<&str> = table.map(|row| row.primitive).collect();
    let measured: Vec<&str> = effects.iter().map(|(primitive, _)| *primitive).collect();
    assert_eq!(rows, measured, "no row without a measured effect, in the order of the table");
}

#[allow(clippy::print_stdout, reason = "a failure is to name the primitive")]
fn measure_all(table: impl Iterator<Item = Capability>, effects: &[Effect]) {
    every_row_is_measured(table, effects);
    for (primitive, measure) in effects {
        println!("measuring {primitive}");
        measure();
    }
}

#[test]
fn every_primitive_of_a_workload_has_its_effect() {
    every_row_is_measured(workload_capabilities(), workloads::EFFECTS);
    let refused = |row: &Capability| row.support == Support::Error;
    let refused: Vec<&str> = aicpu_capabilities().filter(refused).map(|row| row.primitive).collect();
    let effects = (workloads::EFFECTS, aicpus::EFFECTS);
    places::measure(workload_capabilities(), effects, &refused, workloads::LACKS);
}

#[test]
fn every_primitive_that_means_something_else_on_aicpus_has_its_effect_there() {
    let has_own = |row: &Capability| aicpus::EFFECTS.iter().any(|(primitive, _)| *primitive == row.primitive);
    let (refused, kept) =
        aicpu_capabilities().partition::<Vec<_>, _>(|row| row.support == Support::Error && !has_own(row));
    measure_all(kept.into_iter(), aicpus::EFFECTS);
    refused.iter().for_each(|row| aicpus::is_refused(row.primitive));
}

#[test]
fn every_primitive_of_a_space_that_means_something_else_on_aicpus_has_its_effect_there() {
    measure_all(AICPU_SPACES.iter().copied(), spaces::ON_AICPUS);
}

#[test]
fn every_primitive_of_a_space_has_its_effect() {
    every_row_is_measured(CAPABILITIES.iter().copied(), spaces::EFFECTS);
    let effects = (spaces::EFFECTS, spaces::ON_AICPUS);
    places::measure(CAPABILITIES.iter().copied(), effects, &[], spaces::LACKS);
}
