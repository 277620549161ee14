//! Where effects are looked at: each primitive on threads, on AICPUs and in virtual time, or the reason why not.

use super::Effect;
use std::cell::Cell;
use wsp_plan::{Capability, Support};

/// A place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Threads,
    Aicpus,
    VirtualTime,
}
pub(super) use Place::{Aicpus, Threads, VirtualTime};

const ALL: [Place; 3] = [Threads, Aicpus, VirtualTime];

thread_local! {
    /// The places that the measurement of this thread has been to.
    static BEEN: Cell<[bool; 3]> = const { Cell::new([false; 3]) };
}

/// Notes that a program runs there.
pub(super) fn at(place: Place) {
    BEEN.with(|been| {
        let mut all = been.get();
        all[place as usize] = true;
        been.set(all);
    });
}

/// The places that a measurement goes to.
fn of(measure: fn()) -> [bool; 3] {
    BEEN.with(|been| been.set([false; 3]));
    measure();
    BEEN.with(Cell::get)
}

/// What a primitive lacks: the place, and why nothing is measured there.
pub(super) type Lack = (&'static str, Place, &'static str);

/// Measures every primitive of a table, and compares where with what is said to be lacking. `elsewhere` measures those that mean something
/// else on AICPUs, which refuse some. What no target has is measured by its refusal alone.
#[allow(clippy::print_stdout, reason = "a failure is to name the primitive")]
pub(super) fn measure(
    table: impl Iterator<Item = Capability>,
    (effects, elsewhere): (&[Effect], &[Effect]),
    refused: &[&str],
    lacks: &[Lack],
) {
    let (mut wrong, mut left) = (Vec::new(), lacks.to_vec());
    for (row, (primitive, measure)) in table.zip(effects) {
        println!("measuring {primitive}");
        let mut been = of(*measure);
        if let Some((_, measure)) = elsewhere.iter().find(|(other, _)| other == primitive) {
            std::iter::zip(&mut been, of(*measure)).for_each(|(been, there)| *been |= there);
        }
        been[Aicpus as usize] |= refused.contains(primitive);
        for place in ALL.into_iter().filter(|_| row.support != Support::Error) {
            let known = left.iter().position(|(other, at, _)| other == primitive && *at == place);
            let lacks = known.map(|at| left.remove(at)).is_some();
            if been[place as usize] == lacks {
                let what = if lacks { "is measured there" } else { "is not measured there, for no reason" };
                wrong.push(format!("{primitive}, {place:?}: {what}"));
            }
        }
    }
    wrong.extend(left.iter().map(|(primitive, ..)| format!("{primitive} is no row")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
