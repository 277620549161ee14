//! The sequence of a launch: transfers in order, and waits where shim tiles are short of descriptors.

use super::flow::Flows;
use super::host::{Fed, HostEnd, Transfer, in_windows, memcpy, ordered, wait};
use super::trace::Trace;
use crate::device::{QUEUE, TileKind};
use crate::mlir::{Attr, Op};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedMap;

/// The operations of a sequence.
///
/// # Errors
/// There are too many transfers.
pub(crate) fn sequence(
    trace: &Trace,
    flows: &Flows,
    (ends, fed): (&[HostEnd], &[Fed<'_>]),
) -> Result<Vec<Op>, Diagnostic> {
    let whole = ordered(trace, flows, ends)?;
    if let Some(ops) = started(&whole, fed, true) {
        return Ok(ops);
    }
    let mut window = trace.tasks.len().next_power_of_two();
    while window > 1 {
        window /= 2;
        let Ok(cut) = in_windows(trace, flows, ends, window) else { break };
        if let Some(ops) = started(&cut, fed, true) {
            return Ok(ops);
        }
    }
    // What cores have room for may still be enough: the checks of a design say whether it is.
    Ok(started(&whole, fed, false).unwrap_or_default())
}

/// Transfers as operations, with waits where descriptors are short. Where it has to be `sure`, none if there is a wait for what may need a later transfer.
fn started(all: &[(usize, usize, Transfer)], fed: &[Fed<'_>], sure: bool) -> Option<Vec<Op>> {
    let mut ops: Vec<Op> = Vec::new();
    let most = TileKind::Shim.model().descriptors as i64;
    // By shim tile: descriptors in use, each with its fifo, the operation that has it and the task before which it ends.
    let mut used: OrderedMap<u32, Vec<(i64, usize, usize, usize)>> = OrderedMap::new();
    let mut queued: Vec<Vec<usize>> = vec![Vec::new(); fed.len()];
    for (at, tensor, transfer) in all {
        // A full queue makes the host wait for the transfer at its head.
        let of_fifo = &mut queued[*at];
        let head = of_fifo.len().checked_sub(QUEUE + 1).map_or(0, |head| of_fifo[head]);
        if sure && head > transfer.first {
            return None;
        }
        of_fifo.push(transfer.last);
        let open = used.entry(fed[*at].shim).or_default();
        if open.len() as i64 == most {
            // Tokens of a fifo come in its order.
            let is_head = |place: &usize| open[..*place].iter().all(|(_, of, ..)| *of != open[*place].1);
            let place = (0..open.len()).filter(is_head).min_by_key(|place| open[*place].3)?;
            let (_, of, op, last) = open.remove(place);
            if sure && last > transfer.first {
                return None;
            }
            ops[op].set("issue_token", Attr::Bool(true));
            ops.push(wait(fed[of].name));
        }
        let id = (0..most).find(|id| open.iter().all(|(used, ..)| used != id)).unwrap_or(0);
        open.push((id, *at, ops.len(), transfer.last));
        ops.push(memcpy(transfer, (&fed[*at], fed[*at].arrays[tensor]), id));
    }
    for (_, of, ..) in used.iter().flat_map(|(_, open)| open).filter(|(_, of, ..)| fed[*of].end.into) {
        ops.push(wait(fed[*of].name));
    }
    Some(ops)
}
