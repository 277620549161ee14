//! Buffers and locks that a design puts at places of its own.

use super::Findings;
use crate::codes;
use crate::design::{Buffer, Design, Lock};
use crate::device::{LOCK_MAX, STACK, Tile, TileKind};
use std::collections::BTreeMap;

pub(super) fn check(design: &Design, findings: &mut Findings) {
    let mut placed: Vec<Placed<'_>> =
        design.buffers.iter().filter_map(|buffer| place(design, buffer, findings)).collect();
    apart(&mut placed, findings);
    let mut numbered: BTreeMap<(Tile, i64), &Lock> = BTreeMap::new();
    for lock in &design.locks {
        // A tile that the array does not have is refused where it is named.
        let Some(kind) = design.device.kind(lock.tile) else { continue };
        let most = kind.model().locks;
        if lock.id.is_some_and(|id| !(0..i64::from(most)).contains(&id)) {
            let message =
                format!("lock {} is on a tile with locks 0 to {}", lock.id.unwrap_or(0), i64::from(most) - 1);
            findings.add(codes::LOCKS, lock.span, message);
        }
        if !(0..=LOCK_MAX).contains(&lock.init) {
            findings.add(
                codes::LOCKS,
                lock.span,
                format!("a lock begins at {}, and locks have values from 0 to {LOCK_MAX}", lock.init),
            );
        }
        let Some(id) = lock.id else { continue };
        let other = *numbered.entry((lock.tile, id)).or_insert(lock);
        if other.value != lock.value {
            let message = format!("lock {id} of tile {} is two locks", lock.tile);
            let found = findings.add(codes::LOCKS, lock.span, message);
            found.labels.push(wsp_diag::Label { span: other.span, text: "the other one".to_owned() });
        }
    }
}

/// A buffer with an address: its first byte, and the one behind it.
type Placed<'d> = (u64, u64, &'d Buffer);

/// A buffer lies in its tile's memory, and in its bank.
fn place<'d>(design: &Design, buffer: &'d Buffer, findings: &mut Findings) -> Option<Placed<'d>> {
    let model = design.device.kind(buffer.tile).map(TileKind::model).filter(|model| model.memory > 0)?;
    let size = design.module.ty(buffer.value).bytes().unwrap_or(0);
    let bank = model.memory / u64::from(model.banks);
    if size > model.memory {
        return wrong(
            buffer,
            findings,
            format!("a buffer of {size} bytes on tile {}, which has {}", buffer.tile, model.memory),
        );
    }
    if let Some(number) = buffer.bank.filter(|number| *number >= model.banks) {
        return wrong(
            buffer,
            findings,
            format!("bank {number} of tile {}, which has banks 0 to {}", buffer.tile, model.banks - 1),
        );
    }
    let from = buffer.address?;
    let end = from.saturating_add(size);
    let core = design.cores.iter().find(|core| core.tile == buffer.tile);
    let stack = core.map_or(0, |core| core.stack.unwrap_or(STACK));
    if from < stack && size > 0 {
        let message = format!(
            "a buffer has bytes {from} to {end} of tile {}, and the stack of its core those from 0 to {stack}",
            buffer.tile
        );
        let help = format!("put it at {stack} or above, or give the core a `stack_size` of at most {from}");
        findings.add(codes::MEMORY, buffer.span, message).help.push(help);
        return None;
    }
    if end > model.memory {
        return wrong(
            buffer,
            findings,
            format!("a buffer ends at byte {end} of a memory of {}", model.memory),
        );
    }
    if let Some(number) = buffer.bank {
        let first = u64::from(number) * bank;
        if from < first || end > first + bank {
            return wrong(
                buffer,
                findings,
                format!(
                    "a buffer has bytes {from} to {end}, and bank {number} those from {first} to {}",
                    first + bank
                ),
            );
        }
    }
    Some((from, end, buffer))
}

fn wrong<'d>(buffer: &'d Buffer, findings: &mut Findings, message: String) -> Option<Placed<'d>> {
    findings.add(codes::MEMORY, buffer.span, message);
    None
}

/// Buffers of a tile have bytes of their own.
fn apart(placed: &mut [Placed<'_>], findings: &mut Findings) {
    placed.sort_by_key(|(from, _, buffer)| (buffer.tile, *from));
    let mut last: Option<Placed<'_>> = None;
    // What follows in memory meets what ends last of all before it, or none of them.
    for next in placed.iter().filter(|(from, end, _)| from < end) {
        let Some(before) = last.filter(|(.., buffer)| buffer.tile == next.2.tile) else {
            last = Some(*next);
            continue;
        };
        if next.0 < before.1 {
            let (one, other) =
                if next.2.span.start < before.2.span.start { (&before, next) } else { (next, &before) };
            let message = format!(
                "a buffer has bytes {} to {} of tile {}, and another one those from {} to {}",
                one.0, one.1, one.2.tile, other.0, other.1
            );
            let found = findings.add(codes::MEMORY, one.2.span, message);
            found.labels.push(wsp_diag::Label { span: other.2.span, text: "the other one".to_owned() });
        }
        last = Some(if next.1 > before.1 { *next } else { before });
    }
}
