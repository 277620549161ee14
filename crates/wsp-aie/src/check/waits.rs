//! Outputs that sequences wait for.

use super::Findings;
use crate::design::{Design, Move, Step, steps};
use crate::device::Direction;
use crate::mlir::Value;
use crate::unwaited::{Transfer, Unwaited};
use wsp_diag::Severity;
use wsp_ordered::OrderedMap;

/// What a transfer is of: a name, or a channel.
type Of = (Option<String>, Option<(Value, Direction, i64)>);

/// What a sequence has described, and started.
#[derive(Default)]
struct Open {
    tasks: OrderedMap<Value, Move>,
    into: Unwaited<Of>,
    /// The second round of a loop is taken, in which loops inside are taken once.
    again: bool,
}

/// Warns of transfers into the memory of the host that sequences do not wait for, the first of each end.
pub(super) fn check(design: &Design, findings: &mut Findings) {
    for sequence in &design.sequences {
        let mut open = Open::default();
        take(design, &steps(sequence).unwrap_or_default(), &mut open);
        let mut told: Vec<&Of> = Vec::new();
        for left in open.into.left() {
            if !told.contains(&&left.of) {
                told.push(&left.of);
                let mut found = left.told(&design.module, &sequence.name);
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
                    open.tasks.insert(task, transfer.clone());
                }
                // A transfer into the memory of the host tells its end, unless it is a task.
                None => open.start(design, transfer.clone(), true),
            },
            Step::Start(task, _) => {
                if let Some(transfer) = open.tasks.get(task).cloned() {
                    let token = transfer.token;
                    open.start(design, transfer, token);
                }
            }
            Step::Await(task, _) => open.into.await_task(*task),
            Step::Wait(name, _) => open.into.wait(&(Some(name.clone()), None)),
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
        if design.direction_of(&transfer) == Some(Direction::S2mm) {
            let of = (transfer.symbol.clone(), transfer.channel);
            self.into.start(Transfer { of, transfer, token });
        }
    }
}
