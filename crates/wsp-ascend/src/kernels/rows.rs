//! What decides how many rows and columns a tile has, of all that write it.

use super::values::decides;
use wsp_core::LocalId;
use wsp_ir::{Block, Expr, Function, Part, StmtKind, TileExtent, TileOp, TileUse, walk};
use wsp_ordered::{OrderedMap, OrderedSet};

/// What decides the extents of a tile.
#[derive(Clone, Default)]
pub(super) struct Deciders<'f> {
    /// Conditions and counts of rounds around what writes it, and numbers that it is written with.
    pub(super) decides: Vec<&'f Expr>,
    /// Places of loads, which end with the tensor.
    pub(super) places: Vec<&'f Expr>,
    /// Tiles that it has extents of.
    of: OrderedSet<LocalId>,
}

impl<'f> Deciders<'f> {
    /// By tile.
    pub(super) fn of(kernel: &'f Function) -> OrderedMap<LocalId, Deciders<'f>> {
        let mut found = OrderedMap::new();
        written(&kernel.body, &mut Vec::new(), &mut found);
        let alone = found.clone();
        for extents in found.values_mut() {
            let mut left: Vec<LocalId> = extents.of.iter().copied().collect();
            while let Some(tile) = left.pop() {
                let Some(more) = alone.get(&tile) else { continue };
                extents.decides.extend(&more.decides);
                extents.places.extend(&more.places);
                left.extend(more.of.iter().filter(|of| extents.of.insert(**of)));
            }
        }
        found
    }

    fn add(&mut self, extent: TileExtent<'f>) {
        match extent {
            TileExtent::Rows(tile) | TileExtent::Cols(tile) | TileExtent::Outer(tile, _) => {
                self.of.insert(tile);
            }
            TileExtent::AtMost(number) | TileExtent::Exactly(number) => self.decides.extend(number),
            TileExtent::One | TileExtent::Capacity => {}
        }
    }
}

/// Adds what the statements of a block write, under what decides whether they run.
fn written<'f>(block: &'f Block, under: &mut Vec<&'f Expr>, found: &mut OrderedMap<LocalId, Deciders<'f>>) {
    for stmt in block {
        if let StmtKind::Tile(op) = &stmt.kind {
            op.each(&mut |part| {
                let Part::Tile(tile, TileUse::Written | TileUse::Listed) = part else { return };
                let own = found.entry(*tile).or_default();
                own.decides.extend(under.iter());
                op.gives()
                    .into_iter()
                    .flat_map(|(rows, cols)| [rows, cols])
                    .for_each(|extent| own.add(extent));
                if let TileOp::Load { at, .. } = op {
                    own.places.extend(&at.index);
                }
            });
        }
        let before = under.len();
        under.extend(decides(stmt));
        walk::blocks(stmt).for_each(|block| written(block, under, found));
        under.truncate(before);
    }
}
