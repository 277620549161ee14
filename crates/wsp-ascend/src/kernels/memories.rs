//! The memories and units of the cores, as tables for tile programs.
//!
//! Sizes, transfers and units are those of the published descriptions of the platforms. Of 192 KB of UB on a2 and a3 the last 8 KB are
//! left to the instruction library, which broadcasts columns there.

use super::Chip;
use wsp_core::DType;
use wsp_ir::{TILE_OPS, TileRole};
use wsp_tile::{Compute, Events, Memories, Memory, MemoryId, Move, Side, Unit, UnitId};

pub(super) const UB: MemoryId = MemoryId(0);
pub(super) const L1: MemoryId = MemoryId(1);
pub(super) const L0A: MemoryId = MemoryId(2);
pub(super) const L0B: MemoryId = MemoryId(3);
pub(super) const L0C: MemoryId = MemoryId(4);

pub(super) const S: UnitId = UnitId(0);
pub(super) const MTE1: UnitId = UnitId(1);
pub(super) const MTE2: UnitId = UnitId(2);
pub(super) const MTE3: UnitId = UnitId(3);
pub(super) const V: UnitId = UnitId(4);
pub(super) const M: UnitId = UnitId(5);
pub(super) const FIX: UnitId = UnitId(6);
/// MTE2 of the cube core, where a program is for both kinds.
pub(super) const MTE2_CUBE: UnitId = UnitId(7);

/// What the instructions of a unit are called in the emitted text, by unit.
pub(super) const PIPES: [&str; 8] =
    ["PIPE_S", "PIPE_MTE1", "PIPE_MTE2", "PIPE_MTE3", "PIPE_V", "PIPE_M", "PIPE_FIX", "PIPE_MTE2"];

/// Events of a pair of units that programs may use; the eighth is kept for the end of a kernel, and for what an instruction of two
/// units waits for inside.
const EVENTS: u8 = 7;

/// Events from one core of a task to the other: eight flags, for all pairs of their units.
const EVENTS_BETWEEN: u8 = 8;

/// The event that is kept.
pub(super) const KEPT_EVENT: u8 = EVENTS;

/// KB of UB and of L0C.
fn sizes(chip: Chip) -> (u64, u64) {
    match chip {
        Chip::A2 | Chip::A3 => (184, 128),
        Chip::A5 => (256, 256),
    }
}

/// The table of a platform.
pub fn memories(chip: Chip) -> Memories {
    let memory = |name: &str, kib: u64, granule: u64| Memory {
        name: name.to_owned(),
        capacity: kib * 1024,
        alignment: 32,
        granule,
    };
    let unit = |name: &str, completes_in_order| Unit { name: name.to_owned(), completes_in_order };
    let step = |unit, from, to| Move { unit, from, to };
    let inside = Side::Memory;
    let (ub, l0c) = sizes(chip);
    Memories {
        name: chip.name().to_owned(),
        memories: vec![
            memory("UB", ub, 32),
            memory("L1", 512, 32),
            memory("L0A", 64, 32),
            memory("L0B", 64, 32),
            memory("L0C", l0c, 32),
        ],
        units: vec![
            unit("S", true),
            unit("MTE1", true),
            unit("MTE2", true),
            unit("MTE3", true),
            // On a5 its instructions see what earlier ones wrote, and there is no barrier for it.
            unit("V", chip == Chip::A5),
            unit("M", true),
            unit("FIX", true),
        ],
        scalar: S,
        second: Vec::new(),
        moves: vec![
            step(MTE2, Side::Global, inside(UB)),
            step(MTE3, inside(UB), Side::Global),
            step(MTE2, Side::Global, inside(L1)),
            step(MTE1, inside(L1), inside(L0A)),
            step(MTE1, inside(L1), inside(L0B)),
            step(FIX, inside(L0C), Side::Global),
        ],
        computes: computes(),
        homes: vec![(TileRole::Vec, UB), (TileRole::Left, L0A), (TileRole::Right, L0B), (TileRole::Acc, L0C)],
        events: Events { per_pair: EVENTS, without: Vec::new(), between: 0 },
    }
}

/// The table of a vector core and a cube core of a5 that work on one program, by that of one core. What each has is its own, and two
/// transfers lead from one to the other.
pub(super) fn pair(one: &Memories) -> Memories {
    let mut both = one.clone();
    both.units.push(Unit { name: "MTE2 of the cube core".to_owned(), completes_in_order: true });
    both.second = vec![MTE1, M, FIX, MTE2_CUBE];
    both.events.between = EVENTS_BETWEEN;
    for step in both.moves.iter_mut().filter(|step| step.to == Side::Memory(L1)) {
        step.unit = MTE2_CUBE;
    }
    for rule in both.computes.iter_mut().filter(|rule| rule.unit == MTE2) {
        rule.unit = MTE2_CUBE;
    }
    both.moves.push(Move { unit: FIX, from: Side::Memory(L0C), to: Side::Memory(UB) });
    both.moves.push(Move { unit: MTE3, from: Side::Memory(UB), to: Side::Memory(L1) });
    both
}

/// Products on M, a fill with 0 of an accumulator there as well, all other operations on V. Which of them a platform has
/// is a matter of [`super::table`], which says why not.
fn computes() -> Vec<Compute> {
    let rule = |ops: Vec<String>, unit, then, tiles: &[MemoryId]| Compute {
        ops,
        unit,
        then,
        tiles: tiles.to_vec(),
        elems: Vec::new(),
    };
    let others = |form: &&str| !matches!(*form, "load" | "store" | "matmul");
    let mut vector: Vec<String> =
        TILE_OPS.iter().map(|row| row.form).filter(others).map(str::to_owned).collect();
    vector.dedup();
    let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut rules = vec![
        rule(vector, V, None, &[UB]),
        rule(own(&["tile_max", "tile_sum"]), V, Some(S), &[UB]),
        rule(own(&["fill"]), M, None, &[L0C]),
        rule(own(&["fill"]), MTE2, None, &[L1]),
    ];
    let inputs = [DType::F32, DType::F16, DType::Bf16];
    rules.extend(inputs.map(|elem| Compute {
        elems: if elem == DType::F32 { vec![DType::F32] } else { vec![DType::F32, elem] },
        ..rule(own(&["matmul"]), M, None, &[L0C, L0A, L0B])
    }));
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_name_only_what_they_have() {
        for chip in Chip::ALL {
            assert_eq!(memories(chip).verify(), []);
            assert_eq!(pair(&memories(chip)).verify(), []);
        }
    }
}
