//! Live ranges of buffers: from the first instruction to the last, over the whole loop where a loop carries a value.

use crate::{BufferId, Extent, Loop, LoopId, Node, TileProgram, Touch, Touched, UnitId};
use wsp_core::LocalId;
use wsp_ir::{BinOp, Expr, ExprKind, TileUse};
use wsp_ordered::{OrderedMap, OrderedSet};

/// When a buffer is in use, in steps of the text.
#[derive(Clone, Debug)]
pub(super) struct Live {
    /// First step.
    pub(super) from: u32,
    /// Last step.
    pub(super) to: u32,
    /// The loop whose rounds may use two addresses in turn, and its first and last step.
    pub(super) turns: Option<(LoopId, u32, u32)>,
}

#[derive(Default)]
struct Uses {
    first: u32,
    last: u32,
    /// Loops around every use, outermost first.
    around: Vec<LoopId>,
    /// The outermost loops around some use that are not around all.
    partly: OrderedSet<LoopId>,
    units: OrderedSet<UnitId>,
}

#[derive(Default)]
struct Walk<'p> {
    step: u32,
    open: Vec<LoopId>,
    loops: OrderedMap<LoopId, (u32, u32, Option<&'p Loop>)>,
    uses: OrderedMap<BufferId, Uses>,
}

/// Buffers that an instruction may read before anything is written there.
pub(crate) fn read_too_early(program: &TileProgram) -> Vec<BufferId> {
    let mut walk = Walk::default();
    walk.block(&program.body);
    let early = |buffer: &BufferId| exposed(&program.body, *buffer, |touch| touch.needs, &mut false);
    walk.uses.into_keys().filter(early).collect()
}

/// Pairs of buffers that are in use at the same time and share bytes.
pub(crate) fn shared(program: &TileProgram) -> Vec<(BufferId, BufferId)> {
    let live: Vec<(BufferId, Live)> = ranges(program).into_iter().collect();
    let mut found = Vec::new();
    for (at, (a, one)) in live.iter().enumerate() {
        for (b, other) in &live[at + 1..] {
            let (x, y) = (program.buffer(*a), program.buffer(*b));
            let [(from, to), (begin, end)] =
                [(one, x), (other, y)].map(|(live, buffer)| live.steps(buffer.at.len()));
            let meets = |p: &u64, q: &u64| *p < q.saturating_add(y.bytes) && *q < p.saturating_add(x.bytes);
            let share = x.memory == y.memory && x.at.iter().any(|p| y.at.iter().any(|q| meets(p, q)));
            if share && from <= end && begin <= to {
                found.push((*a, *b));
            }
        }
    }
    found
}

impl Live {
    /// First and last step at which an address is in use: of two addresses both are, all the time.
    pub(super) fn steps(&self, addresses: usize) -> (u32, u32) {
        match self.turns {
            Some((_, from, to)) if addresses > 1 => (from, to),
            _ => (self.from, self.to),
        }
    }
}

/// Live ranges of the buffers that instructions use.
pub(super) fn ranges(program: &TileProgram) -> OrderedMap<BufferId, Live> {
    let mut walk = Walk::default();
    walk.block(&program.body);
    let Walk { loops, uses, .. } = walk;
    uses.into_iter().map(|(buffer, uses)| (buffer, live(buffer, &uses, &loops))).collect()
}

fn live(buffer: BufferId, uses: &Uses, loops: &OrderedMap<LoopId, (u32, u32, Option<&Loop>)>) -> Live {
    let mut live = Live { from: uses.first, to: uses.last, turns: None };
    let mut cover = |of: &LoopId| {
        let (from, to, _) = loops[of];
        (live.from, live.to) = (live.from.min(from), live.to.max(to));
    };
    uses.partly.iter().for_each(&mut cover);
    let carried =
        |of: &LoopId| loops[of].2.is_some_and(|l| exposed(&l.body, buffer, |touch| touch.reads, &mut false));
    uses.around.iter().filter(|of| carried(of)).for_each(&mut cover);
    // Where one unit does it all there is nothing to overlap.
    live.turns = uses.around.last().filter(|of| uses.units.len() > 1 && !carried(of)).map(|of| {
        let (from, to, _) = loops[of];
        (*of, from, to)
    });
    live
}

impl<'p> Walk<'p> {
    fn block(&mut self, nodes: &'p [Node]) {
        for node in nodes {
            self.step += 1;
            match node {
                Node::Run(instruction) => {
                    instruction.each_touch(&mut |touch| {
                        if let Touched::Buffer(buffer) = touch.what {
                            self.touch(buffer, instruction.units());
                        }
                    });
                }
                Node::Loop(inner) => {
                    let from = self.step;
                    self.open.push(inner.id);
                    self.block(&inner.body);
                    self.open.pop();
                    self.step += 1;
                    self.loops.insert(inner.id, (from, self.step, Some(inner)));
                }
                _ => node.blocks().for_each(|block| self.block(block)),
            }
        }
    }

    fn touch(&mut self, buffer: BufferId, units: impl Iterator<Item = UnitId>) {
        let step = self.step;
        let open = &self.open;
        let uses = self.uses.entry(buffer).or_insert_with(|| Uses {
            first: step,
            around: open.clone(),
            ..Uses::default()
        });
        uses.last = step;
        uses.units.extend(units);
        let common = uses.around.iter().zip(open).take_while(|(a, b)| a == b).count();
        uses.partly.extend(uses.around.get(common));
        uses.partly.extend(open.get(common));
        uses.around.truncate(common);
    }
}

/// Whether a block may read a buffer before it writes it; `written` says whether it did before, and is true afterwards where it
/// surely did.
pub(crate) fn exposed(
    nodes: &[Node],
    buffer: BufferId,
    reads: fn(&Touch) -> bool,
    written: &mut bool,
) -> bool {
    for node in nodes {
        match node {
            Node::Run(instruction) => {
                let (mut read, mut wrote) = (false, false);
                instruction.each_touch(&mut |touch| {
                    let own = touch.what == Touched::Buffer(buffer);
                    read |= own && reads(&touch);
                    wrote |= own && touch.writes;
                });
                if read && !*written {
                    return true;
                }
                *written |= wrote;
            }
            Node::If { cond, then, otherwise } => {
                let (mut yes, mut no) = (*written, *written);
                if exposed(then, buffer, reads, &mut yes) || exposed(otherwise, buffer, reads, &mut no) {
                    return true;
                }
                *written = yes && (no || is_guard(cond, then, buffer));
            }
            Node::Loop(inner) => {
                // It may have no rounds.
                if exposed(&inner.body, buffer, reads, &mut written.clone()) {
                    return true;
                }
            }
            Node::Set { .. } | Node::Name { .. } | Node::Sync(_) => {}
        }
    }
    false
}

/// Whether a condition only keeps the instructions that write a buffer from extents of 0: what they would write has no elements then,
/// and nor has the tile. Extents of other tiles do not count: where those are 0, the buffer may hold an older value. A list of largest
/// values does not change where the rows to select from have no elements.
fn is_guard(cond: &Expr, then: &[Node], buffer: BufferId) -> bool {
    let mut extents = OrderedSet::new();
    for node in then {
        let Node::Run(instruction) = node else { continue };
        let mut lists = false;
        instruction.op.tiles(&mut |tile, used| lists |= tile.buffer == buffer && used == TileUse::Listed);
        instruction.op.tiles(&mut |tile, used| {
            if lists || (tile.buffer == buffer && used.writes()) {
                extents.extend([tile.rows, tile.cols].into_iter().filter_map(Extent::local));
            }
        });
    }
    tests_only(cond, &extents)
}

fn tests_only(cond: &Expr, extents: &OrderedSet<LocalId>) -> bool {
    match &cond.kind {
        ExprKind::Binary(BinOp::And, a, b) => tests_only(a, extents) && tests_only(b, extents),
        ExprKind::Binary(BinOp::Gt, a, b) => {
            b.as_const_int() == Some(0)
                && matches!(a.kind, ExprKind::Local(local) if extents.contains(&local))
        }
        _ => false,
    }
}
