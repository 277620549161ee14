//! Tiles that lie in an operand: those that are only brought in, or only brought out.

use super::boxes::Boxes;
use super::sizes;
use wsp_core::LocalId;
use wsp_ir::{BinOp, Expr, ExprKind, TileOp, TileUse};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tile::{BufferId, Extent, Node, Op, TileProgram};

/// A tile whose memory is an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Home {
    pub(super) buffer: BufferId,
    /// The transfer that is none then.
    pub(super) instruction: u32,
}

/// What is known of a buffer.
#[derive(Clone, Default)]
struct Use {
    writes: u32,
    loads: u32,
    stores: u32,
    /// The last load and the last store.
    load: u32,
    store: u32,
    /// The last instruction of any kind.
    last: u32,
    /// Valid rows and columns where it is written first.
    size: Option<[Expr; 2]>,
    /// Whether they are others, or may be, where it is written again or stored.
    resized: bool,
}

/// The tiles that lie in an operand: such a tile has its shape and its elements, nothing else touches the operand, and
/// * a load is all that writes the tile, or
/// * a store is the last that reads it, and as many rows and columns of it are valid there as where it is written: no other elements of the operand are touched.
///
/// The transfer is not in a loop, nor in a branch but one that asks whether there are elements.
pub(super) fn homes(program: &TileProgram, boxes: &Boxes) -> Vec<Home> {
    let mut uses: OrderedMap<BufferId, Use> = OrderedMap::new();
    sizes::each(program, &mut |instruction, values| {
        let is_load = matches!(instruction.op, Op::Tile(TileOp::Load { .. }));
        let is_store = matches!(instruction.op, Op::Tile(TileOp::Store { .. }));
        instruction.op.tiles(&mut |tile, used| {
            let found = uses.entry(tile.buffer).or_default();
            found.writes += u32::from(used != TileUse::Read);
            found.last = instruction.id;
            if used != TileUse::Read || is_store {
                let size = [tile.rows, tile.cols].map(|extent| values.of(extent));
                found.resized |= *found.size.get_or_insert_with(|| size.clone()) != size;
            }
            if is_load {
                (found.loads, found.load) = (found.loads + 1, instruction.id);
            }
            if is_store {
                (found.stores, found.store) = (found.stores + 1, instruction.id);
            }
        });
    });
    let (mut outer, mut extents) = (Vec::new(), OrderedSet::new());
    program.instructions(&mut |instruction| {
        instruction.op.tiles(&mut |tile, _| {
            for extent in [tile.rows, tile.cols] {
                if let Extent::Value { local, .. } = extent {
                    extents.insert(local);
                }
            }
        });
    });
    always(&program.body, &extents, &mut outer);
    let mut taken = Vec::new();
    let mut found = Vec::new();
    for (buffer, of) in &uses {
        let transfer = match of {
            Use { stores: 1, store, last, resized: false, .. } if store == last => *store,
            Use { loads: 1, writes: 1, load, .. } => *load,
            _ => continue,
        };
        let Some(site) = boxes.sites.get(&transfer).filter(|_| outer.contains(&transfer)) else { continue };
        let sites = boxes.sites.values().filter(|other| other.operand == site.operand).count();
        if sites == 1 && !taken.contains(&site.operand) && is_whole(program, boxes, *buffer, transfer) {
            taken.push(site.operand);
            found.push(Home { buffer: *buffer, instruction: transfer });
        }
    }
    found
}

/// Instructions that run once, or have no elements.
fn always(nodes: &[Node], extents: &OrderedSet<LocalId>, found: &mut Vec<u32>) {
    for node in nodes {
        match node {
            Node::Run(instruction) => found.push(instruction.id),
            Node::If { cond, .. } if asks_for_elements(cond, extents) => {
                node.blocks().for_each(|block| always(block, extents, found));
            }
            _ => {}
        }
    }
}

/// Whether a condition is that rows and columns of tiles are above 0.
fn asks_for_elements(cond: &Expr, extents: &OrderedSet<LocalId>) -> bool {
    match &cond.kind {
        ExprKind::Binary(BinOp::And, a, b) => asks_for_elements(a, extents) && asks_for_elements(b, extents),
        ExprKind::Binary(BinOp::Gt, a, b) => match a.kind {
            ExprKind::Local(local) => extents.contains(&local) && b.as_const_int() == Some(0),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a box has the rows, columns and elements of a tile.
fn is_whole(program: &TileProgram, boxes: &Boxes, buffer: BufferId, transfer: u32) -> bool {
    let (tile, site) = (program.buffer(buffer), &boxes.sites[&transfer]);
    let Some(shaped) = boxes.operands[site.operand].ty.shaped() else { return false };
    let room = |along: Option<u8>| match along {
        Some(dim) => shaped.shape.get(usize::from(dim)).copied().flatten(),
        None => Some(1),
    };
    Some(&*shaped.element) == super::type_of(tile.elem).as_ref()
        && [room(site.along[0]), room(site.along[1])] == [Some(tile.rows.into()), Some(tile.cols.into())]
}
