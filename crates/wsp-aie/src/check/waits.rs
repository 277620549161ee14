//! Outputs that sequences wait for.

use super::Findings;
use crate::design::{Design, Move, Step, steps};
use crate::device::{Direction, Tile};
use crate::mlir::Value;
use crate::unwaited::Unwaited;
use wsp_diag::Severity;
use wsp_ordered::OrderedMap;

/// Most steps of a loop that is followed round by round; of a longer one, or one without written bounds, two rounds are.
const FOLLOWED: u64 = 1 << 12;

/// What a transfer is of. One channel may be named in one place and be told by its number in another.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Of {
    Channel(Tile, Direction, i64),
    Fifo(String),
}

impl Of {
    fn name(design: &Design, name: &str) -> Of {
        let given = design.allocations.iter().find(|given| given.name == *name);
        given.map_or_else(
            || Of::Fifo(name.to_owned()),
            |given| Of::Channel(given.tile, given.direction, given.channel),
        )
    }

    fn transfer(design: &Design, transfer: &Move) -> Option<Of> {
        if let Some(name) = &transfer.symbol {
            return Some(Of::name(design, name));
        }
        let (value, direction, number) = transfer.channel?;
        let used = design.tiles.iter().find(|used| used.value == value)?;
        Some(Of::Channel(used.tile, direction, number))
    }
}

/// What a sequence has described, and started.
#[derive(Default)]
struct Open {
    tasks: OrderedMap<Value, Vec<Move>>,
    into: Unwaited<Of>,
    /// The second round of a loop is taken, in which loops inside are taken once.
    again: bool,
}

/// Warns of transfers into the memory of the host that sequences do not wait for, the first of each end.
pub(super) fn check(design: &Design, findings: &mut Findings) {
    for sequence in &design.sequences {
        let mut open = Open::default();
        take(design, &steps(sequence).unwrap_or_default(), &mut open);
        let mut seen: Vec<&Of> = Vec::new();
        for left in open.into.left() {
            if !seen.contains(&&left.of) {
                seen.push(&left.of);
                let mut found = left.diagnostic(&design.module, &sequence.name);
                found.severity = Severity::Warning;
                findings.0.push(found);
            }
        }
    }
}

fn take(design: &Design, steps: &[Step], open: &mut Open) {
    for step in steps {
        match step {
            Step::Move(transfer) => match transfer.task {
                Some(task) => {
                    let of = open.tasks.entry(task).or_default();
                    of.retain(|_| transfer.follows);
                    of.push(transfer.clone());
                }
                // A transfer into the memory of the host tells its end, unless it is a task.
                None => open.start(design, transfer.clone(), true),
            },
            Step::Start(task, _) => {
                for transfer in open.tasks.get(task).cloned().unwrap_or_default() {
                    let token = transfer.token;
                    open.start(design, transfer, token);
                }
            }
            Step::Await(task, _) => open.into.await_task(*task),
            Step::Wait(name, _) => open.into.wait(&Of::name(design, name)),
            Step::Loop(of) if step.count().is_some_and(|count| count <= FOLLOWED) => {
                (0..of.rounds().unwrap_or(0)).for_each(|_| take(design, &of.body, open));
            }
            // What a round leaves open the next one may wait for.
            Step::Loop(of) => {
                take(design, &of.body, open);
                if !std::mem::replace(&mut open.again, true) {
                    take(design, &of.body, open);
                    open.again = false;
                }
            }
            Step::Free(..) | Step::Parameter(_) | Step::Compute(_) => {}
        }
    }
}

impl Open {
    fn start(&mut self, design: &Design, transfer: Move, token: bool) {
        let into_host = design.direction_of(&transfer) == Some(Direction::S2mm);
        if let Some(of) = Of::transfer(design, &transfer).filter(|_| into_host) {
            self.into.start(of, transfer, token);
        }
    }
}
