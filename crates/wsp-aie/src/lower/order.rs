//! What the order of tasks has to hold of the host's memory: a box is changed there after it was read.
//!
//! The sequence starts transfers in order, and waits for none but those into the host: so a read and a later write of one box are in order only where
//! something that the array does orders them. That is so where the task that writes last comes after a task that read the box from the host: on the same core, or along
//! values that flow from core to core.

use super::assign::Assigned;
use super::refused;
use super::trace::{Piece, Trace};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;

/// Of each core how many of its tasks come before something.
type Clock = Vec<u32>;

/// What became of a box.
#[derive(Default)]
struct Seen {
    /// The first task that read it as the host had it: its core, and which of the core's tasks it is, from 1.
    reader: Option<(usize, u32, usize)>,
    /// The task that wrote it last, and what comes before that is done.
    written: Option<(usize, Clock)>,
}

/// # Errors
/// A box that one core reads from the host and another writes, without anything that orders them.
pub(super) fn keeps_order(trace: &Trace, assigned: &Assigned) -> Result<(), Diagnostic> {
    let mut clocks: Vec<Clock> = vec![vec![0; assigned.names.len()]; assigned.names.len()];
    let mut boxes: OrderedMap<(usize, &Piece), Seen> = OrderedMap::new();
    for (at, task) in trace.tasks.iter().enumerate() {
        let core = assigned.core_of[at];
        for touch in task.touches.iter().filter(|touch| touch.read) {
            let of = boxes.entry((touch.tensor, &touch.region)).or_default();
            match &of.written {
                Some((_, before)) => {
                    clocks[core].iter_mut().zip(before).for_each(|(own, before)| *own = (*own).max(*before));
                }
                None => _ = of.reader.get_or_insert((core, clocks[core][core] + 1, at)),
            }
        }
        clocks[core][core] += 1;
        for touch in task.touches.iter().filter(|touch| touch.write) {
            let of = boxes.entry((touch.tensor, &touch.region)).or_default();
            of.written = Some((at, clocks[core].clone()));
        }
    }
    for ((tensor, piece), of) in boxes {
        let (Some((reader, number, task)), Some((writer, before))) = (of.reader, of.written) else {
            continue;
        };
        if trace.tensors[tensor].host && before[reader] < number {
            return Err(unordered(trace, assigned, (tensor, piece), (task, writer)));
        }
    }
    Ok(())
}

#[cold]
fn unordered(
    trace: &Trace,
    assigned: &Assigned,
    (tensor, piece): (usize, &Piece),
    (reader, writer): (usize, usize),
) -> Diagnostic {
    let of = &trace.tensors[tensor];
    let name = |task: usize| &assigned.names[assigned.core_of[task]];
    let (reads, writes) = (name(reader), name(writer));
    refused(format!(
        "`{reads}` reads {piece} of `{}` from the host, and `{writes}` changes it later",
        of.name
    ))
    .at(of.span, "")
    .note("nothing that flows between the two cores orders the transfers, so that the change may come first")
    .help(format!("write to another tensor than `{}`, or have one core do both", of.name))
}
