//! Buffers and locks that a design puts at places of its own.

use super::Findings;
use crate::codes;
use crate::design::{Buffer, Design};
use crate::device::{LOCK_MAX, TileKind};

pub(super) fn check(design: &Design, findings: &mut Findings) {
    for (at, buffer) in design.buffers.iter().enumerate() {
        place(design, &design.buffers[..at], buffer, findings);
    }
    for (at, lock) in design.locks.iter().enumerate() {
        let most = design.device.kind(lock.tile).map_or(0, |kind| kind.model().locks);
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
        let same = |other: &&crate::design::Lock| other.tile == lock.tile && other.id == lock.id;
        if let (Some(id), Some(other)) = (lock.id, design.locks[..at].iter().find(same)) {
            let message = format!("lock {id} of tile {} is two locks", lock.tile);
            let found = findings.add(codes::LOCKS, lock.span, message);
            found.labels.push(wsp_diag::Label { span: other.span, text: "the other one".to_owned() });
        }
    }
}

/// A buffer lies in its tile's memory, in its bank, and apart from those before it.
fn place(design: &Design, before: &[Buffer], buffer: &Buffer, findings: &mut Findings) {
    let model = design.device.kind(buffer.tile).map(TileKind::model).filter(|model| model.memory > 0);
    let Some(model) = model else { return };
    let bytes = |buffer: &Buffer| design.module.ty(buffer.value).bytes().unwrap_or(0);
    let mut wrong = |message: String| {
        findings.add(codes::MEMORY, buffer.span, message);
    };
    let (size, bank) = (bytes(buffer), model.memory / u64::from(model.banks));
    if size > model.memory {
        return wrong(format!(
            "a buffer of {size} bytes on tile {}, which has {}",
            buffer.tile, model.memory
        ));
    }
    if let Some(number) = buffer.bank.filter(|number| *number >= model.banks) {
        return wrong(format!(
            "bank {number} of tile {}, which has banks 0 to {}",
            buffer.tile,
            model.banks - 1
        ));
    }
    let Some(from) = buffer.address else { return };
    let end = from.saturating_add(size);
    if end > model.memory {
        return wrong(format!("a buffer ends at byte {end} of a memory of {}", model.memory));
    }
    if let Some(number) = buffer.bank {
        let first = u64::from(number) * bank;
        if from < first || end > first + bank {
            return wrong(format!(
                "a buffer has bytes {from} to {end}, and bank {number} those from {first} to {}",
                first + bank
            ));
        }
    }
    let meets = |other: &&Buffer| {
        let start = other.address.unwrap_or(0);
        let is_there = other.tile == buffer.tile && other.address.is_some();
        is_there && start < end && from < start.saturating_add(bytes(other))
    };
    if let Some(other) = before.iter().find(meets) {
        let start = other.address.unwrap_or(0);
        let message = format!(
            "a buffer has bytes {from} to {end} of tile {}, and another one those from {start} to {}",
            buffer.tile,
            start.saturating_add(bytes(other))
        );
        let found = findings.add(codes::MEMORY, buffer.span, message);
        found.labels.push(wsp_diag::Label { span: other.span, text: "the other one".to_owned() });
    }
}
