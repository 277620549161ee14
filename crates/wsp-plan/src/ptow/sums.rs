//! Prefix sums of a launch, which its AICPUs share.

use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::summary::{summarise, summary_words};
use wsp_core::ptow::{Launch, Verified};

/// Builds the prefix sums of a launch in `memory`, which is made as large as they need.
pub fn prefix_sums<'m>(
    program: &Verified<'_>,
    launch: &Launch<'_>,
    memory: &'m mut Vec<u64>,
) -> Prefixes<'m> {
    let program = program.program();
    let mut summaries = vec![0; summary_words(program)];
    let summaries = summarise(program, launch, &mut summaries);
    memory.clear();
    memory.resize(Prefixes::words_needed(program, launch, &summaries), 0);
    Prefixes::build(program, launch, &summaries, memory)
}
