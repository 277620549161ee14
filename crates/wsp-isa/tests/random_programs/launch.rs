//! What launches give programs.

use super::Choices;
use wsp_core::MAX_RANK;
use wsp_core::ptow::{Launch, Program};

/// How a launch is made up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Temper {
    /// Small numbers, long tables that never decrease.
    Friendly,
    /// Numbers at the limits, tables that are short, missing or in no order.
    Hostile,
}

/// A launch and what it owns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OwnedLaunch {
    values: Vec<i64>,
    tables: Vec<Vec<i64>>,
    extents: Vec<[u32; MAX_RANK]>,
}

impl OwnedLaunch {
    /// The tables, as [`OwnedLaunch::launch`] needs them.
    pub(crate) fn tables(&self) -> Vec<&[i64]> {
        self.tables.iter().map(Vec::as_slice).collect()
    }

    /// The launch.
    pub(crate) fn launch<'a>(&'a self, tables: &'a [&'a [i64]]) -> Launch<'a> {
        Launch { values: &self.values, tables, extents: &self.extents }
    }
}

/// Numbers at which mistakes show.
const EDGES: [i64; 14] = [
    0,
    1,
    -1,
    2,
    i64::MAX,
    i64::MIN,
    i64::MIN + 1,
    i32::MAX as i64,
    i32::MIN as i64,
    u32::MAX as i64,
    1 << 32,
    1 << 62,
    -(1 << 62),
    100,
];

/// A launch for a program.
pub(crate) fn launch(choices: &mut Choices<'_>, program: &Program<'_>, temper: Temper) -> OwnedLaunch {
    let counts = program.counts;
    let mut launch = OwnedLaunch { values: Vec::new(), tables: Vec::new(), extents: Vec::new() };
    let hostile = temper == Temper::Hostile;
    // Few missing ones are as good as many.
    let given = |choices: &mut Choices<'_>, rows: usize| {
        let rows = rows.min(1 << 12);
        if hostile && choices.once_in(16) { rows.saturating_sub(1) } else { rows }
    };
    for _ in 0..given(choices, usize::from(counts.values)) {
        launch.values.push(number(choices, temper));
    }
    for _ in 0..given(choices, usize::from(counts.tables)) {
        launch.tables.push(table(choices, temper));
    }
    for _ in 0..given(choices, program.tensors.len()) {
        launch.extents.push(std::array::from_fn(|_| match temper {
            Temper::Friendly => 1 + choices.below(64) as u32,
            Temper::Hostile => number(choices, temper) as u32,
        }));
    }
    launch
}

fn number(choices: &mut Choices<'_>, temper: Temper) -> i64 {
    match temper {
        Temper::Friendly => choices.below(6) as i64,
        Temper::Hostile if choices.once_in(2) => choices.below(8) as i64,
        Temper::Hostile => choices.pick(&EDGES).copied().unwrap_or(0),
    }
}

fn table(choices: &mut Choices<'_>, temper: Temper) -> Vec<i64> {
    match temper {
        Temper::Friendly => {
            let mut next = 0;
            let entry = |_| {
                let entry = next;
                next += choices.below(4) as i64;
                entry
            };
            (0..24).map(entry).collect()
        }
        Temper::Hostile => (0..choices.below(12)).map(|_| number(choices, temper)).collect(),
    }
}
