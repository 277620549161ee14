//! Locks that keep no two users of memory apart.

use super::Findings;
use crate::codes;
use crate::design::{Design, TileDma};
use crate::device::Tile;
use crate::mlir::Op;
use std::collections::BTreeSet;
use wsp_diag::Diagnostic;

/// Who uses a lock: the core of a tile, or a chain of its channels by the block that it begins with.
type User = (Tile, Option<u32>);

/// Who acquires a lock, and who releases it.
#[derive(Clone, Default)]
struct Users {
    acquire: BTreeSet<User>,
    release: BTreeSet<User>,
}

pub(super) fn check(design: &Design, findings: &mut Findings) {
    let mut users = vec![Users::default(); design.locks.len()];
    for core in &design.cores {
        let ops = core.body.blocks.iter().flat_map(|block| &block.ops);
        ops.for_each(|op| op.walk(&mut |op| see(design, (core.tile, None), op, &mut users)));
    }
    design.dmas.iter().for_each(|dma| chains(design, dma, &mut users));
    for (lock, Users { acquire, release }) in design.locks.iter().zip(&users) {
        let alone = acquire.first().filter(|_| acquire.len() == 1 && acquire == release);
        let what = match (acquire.is_empty(), release.is_empty()) {
            (true, true) => continue,
            (true, false) => "released, and nothing acquires it".to_owned(),
            (false, true) => "acquired, and nothing releases it".to_owned(),
            (false, false) => match alone {
                Some((tile, None)) => format!("used by the core on tile {tile} alone"),
                Some((tile, Some(_))) => format!("used by one channel of tile {tile} alone"),
                None => continue,
            },
        };
        let name = lock.name.as_ref().map_or("a lock".to_owned(), |name| format!("lock `@{name}`"));
        let found = Diagnostic::warning(codes::GUARD, format!("{name} of tile {} is {what}", lock.tile));
        findings.0.push(found.at(lock.span, "").help(
            "have who uses its memory next acquire what who uses it before releases, or leave the lock out",
        ));
    }
}

fn see(design: &Design, user: User, op: &Op, users: &mut [Users]) {
    let value = op.operands.first().filter(|_| op.name == "aie.use_lock");
    let Some(at) = value.and_then(|value| design.locks.iter().position(|lock| lock.value == *value)) else {
        return;
    };
    let of = if op.find_int("action") == Some(1) { &mut users[at].release } else { &mut users[at].acquire };
    of.insert(user);
}

/// Each chain of a tile's channels, from where it is started.
fn chains(design: &Design, dma: &TileDma, users: &mut [Users]) {
    let blocks = &dma.body.blocks;
    for start in blocks.iter().flat_map(|block| &block.ops).filter(|op| op.name == "aie.dma_start") {
        let (first, mut seen) = (start.successors.first().copied(), BTreeSet::new());
        let mut next = first;
        while let Some(block) = next.filter(|at| seen.insert(*at)).and_then(|at| blocks.get(at as usize)) {
            block.ops.iter().for_each(|op| see(design, (dma.tile, first), op, users));
            let goes_on = block.ops.iter().find(|op| op.name == "aie.next_bd");
            next = goes_on.and_then(|op| op.successors.first().copied());
        }
    }
}
