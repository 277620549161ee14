//! A table with the memories, units and transfers that a core of the published kind has.

use wsp_core::DType;
use wsp_ir::TileRole;
use wsp_tile::{Compute, Events, Memories, Memory, MemoryId, Move, Side, Unit, UnitId};

pub(crate) const UB: MemoryId = MemoryId(0);
pub(crate) const L1: MemoryId = MemoryId(1);
pub(crate) const L0A: MemoryId = MemoryId(2);
pub(crate) const L0B: MemoryId = MemoryId(3);
pub(crate) const L0C: MemoryId = MemoryId(4);

pub(crate) const S: UnitId = UnitId(0);
pub(crate) const MTE1: UnitId = UnitId(1);
pub(crate) const MTE2: UnitId = UnitId(2);
pub(crate) const MTE3: UnitId = UnitId(3);
pub(crate) const V: UnitId = UnitId(4);
pub(crate) const M: UnitId = UnitId(5);
pub(crate) const FIX: UnitId = UnitId(6);

/// Operations of the vector unit.
pub(crate) const VECTOR: [&str; 20] = [
    "fill",
    "unary",
    "binary",
    "clamp",
    "select",
    "row_reduce",
    "col_reduce",
    "cumsum",
    "gather",
    "reshape",
    "random",
    "transpose",
    "mask",
    "mask_causal",
    "mask_band",
    "iota",
    "insert",
    "extract",
    "top_k",
    "tile_max",
];

/// Capacities in KiB: 192, 512, 64, 64 and 128; 8 events per pair of units, one of them reserved.
pub(crate) fn core() -> Memories {
    let memory = |name: &str, kib: u64| Memory {
        name: name.to_owned(),
        capacity: kib * 1024,
        alignment: 32,
        granule: 32,
    };
    let unit = |name: &str, completes_in_order| Unit { name: name.to_owned(), completes_in_order };
    let step = |unit, from, to| Move { unit, from, to };
    let compute = |ops: &[&str], unit, then, tiles: &[MemoryId]| Compute {
        ops: ops.iter().map(|op| (*op).to_owned()).collect(),
        unit,
        then,
        tiles: tiles.to_vec(),
        elems: vec![DType::F32, DType::F16],
    };
    Memories {
        name: "core".to_owned(),
        memories: vec![
            memory("UB", 192),
            memory("L1", 512),
            memory("L0A", 64),
            memory("L0B", 64),
            memory("L0C", 128),
        ],
        units: vec![
            unit("S", true),
            unit("MTE1", true),
            unit("MTE2", true),
            unit("MTE3", true),
            unit("V", false),
            unit("M", true),
            unit("FIX", true),
        ],
        scalar: S,
        second: Vec::new(),
        moves: vec![
            step(MTE2, Side::Global, Side::Memory(UB)),
            step(MTE3, Side::Memory(UB), Side::Global),
            step(MTE2, Side::Global, Side::Memory(L1)),
            step(MTE1, Side::Memory(L1), Side::Memory(L0A)),
            step(MTE1, Side::Memory(L1), Side::Memory(L0B)),
            step(FIX, Side::Memory(L0C), Side::Global),
        ],
        computes: vec![
            compute(&VECTOR[..19], V, None, &[UB]),
            compute(&["tile_max", "tile_sum"], V, Some(S), &[UB]),
            compute(&["matmul"], M, None, &[L0C, L0A, L0B]),
        ],
        homes: vec![(TileRole::Vec, UB), (TileRole::Left, L0A), (TileRole::Right, L0B), (TileRole::Acc, L0C)],
        events: Events { per_pair: 7, without: Vec::new(), between: 0 },
    }
}

/// As [`core`], and products may be of tiles in UB, as on machines with one memory.
pub(crate) fn core_with_products_in_ub() -> Memories {
    let mut memories = core();
    memories.computes.push(Compute {
        ops: vec!["matmul".to_owned()],
        unit: V,
        then: None,
        tiles: vec![UB],
        elems: Vec::new(),
    });
    memories
}
