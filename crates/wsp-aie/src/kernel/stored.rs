//! Elements of an operand that a body stores whatever its data is.
//!
//! The stores of a program are followed with the numbers of a task, without tiles. What an element of a tensor or a tile decides is not known: a store under such a condition, or
//! in a loop with such a bound, counts as none.

use super::boxes::{Boxes, Site, Variable, changed};
use super::{Body, Number};
use std::sync::Arc;
use wsp_core::LocalId;
use wsp_ir::{Const, Expr, ExprKind, TileOp, Verified};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tile::{Extent, Head, Known, Loop, LoopId, Node, Op, Tile, TileProgram, fold};

/// Rounds of loops and stores that are followed; what comes after them counts as not stored.
const FOLLOWED: u32 = 1 << 16;
/// Elements of a box that are followed; a larger one fits no tile.
const ELEMENTS: u64 = crate::device::TILE_MEMORY;

/// The stores of a program.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Stores {
    nodes: Vec<Node>,
    sites: OrderedMap<u32, Site>,
    /// Words of the descriptor that decide on a store.
    fields: OrderedSet<u32>,
}

impl Stores {
    pub(super) fn of(program: &TileProgram, boxes: &Boxes) -> Arc<Stores> {
        let mut nodes = kept(&program.body);
        let deciding = deciding(&nodes);
        without(&mut nodes, &deciding);
        let mut fields = OrderedSet::new();
        decides(&nodes, &mut |e| words(e, &mut fields));
        Arc::new(Stores { nodes, sites: boxes.sites.clone(), fields })
    }
}

impl Body {
    /// Words of the descriptor that decide which elements are stored.
    pub(crate) fn deciding(&self) -> impl Iterator<Item = u32> {
        self.stores.fields.iter().copied()
    }

    /// Whether it stores all elements of each operand, with these numbers and whatever data.
    pub(crate) fn stores_all(
        &self,
        module: &Verified,
        number: &dyn Fn(Number) -> Option<Const>,
    ) -> Vec<bool> {
        let box_of = |at: usize| -> Option<Vec<u64>> {
            let operand = &self.operands[at];
            let shape: Option<Vec<u64>> = operand.ty.shaped()?.shape.iter().copied().collect();
            let count = shape.as_ref()?.iter().try_fold(1u64, |all, len| all.checked_mul(*len))?;
            shape.filter(|_| operand.writes && count <= ELEMENTS)
        };
        let shapes: Vec<Option<Vec<u64>>> = (0..self.operands.len()).map(box_of).collect();
        let count = |shape: &Option<Vec<u64>>| {
            shape.as_ref().map_or(0, |shape| shape.iter().product::<u64>() as usize)
        };
        let stored = shapes.iter().map(|shape| vec![false; count(shape)]).collect();
        let (values, past) = (OrderedMap::new(), OrderedMap::new());
        let sites = &self.stores.sites;
        let (left, idle) = (FOLLOWED, FOLLOWED);
        let mut follower =
            Follower { module, number, sites, shapes: &shapes, values, past, stored, left, idle };
        follower.nodes(&self.stores.nodes);
        let all = follower.stored.iter().zip(&shapes);
        all.map(|(stored, shape)| shape.is_some() && stored.iter().all(|stored| *stored)).collect()
    }
}

/// What decides on stores, and them.
fn kept(nodes: &[Node]) -> Vec<Node> {
    let is_kept = |node: &&Node| match node {
        Node::Run(instruction) => match &instruction.op {
            Op::Tile(op) => matches!(op, TileOp::Store { .. }),
            Op::Move { .. } => false,
            Op::Reduce { .. } | Op::LoadScalar { .. } | Op::StoreScalar { .. } => true,
        },
        Node::Sync(_) | Node::Name { .. } => false,
        Node::Set { .. } | Node::If { .. } | Node::Loop(_) => true,
    };
    let mut nodes: Vec<Node> = nodes.iter().filter(is_kept).cloned().collect();
    nodes.iter_mut().flat_map(Node::blocks_mut).for_each(|block| *block = kept(block));
    nodes
}

/// The variables that decide on stores: those of conditions, bounds of loops and extents of what is stored, and what they are made of.
fn deciding(nodes: &[Node]) -> OrderedSet<LocalId> {
    fn walk(nodes: &[Node], found: &mut OrderedSet<LocalId>) {
        for node in nodes {
            match node {
                Node::Set { local, value } if found.contains(local) => locals(value, found),
                Node::If { cond, .. } => locals(cond, found),
                Node::Loop(Loop { head: Head::Counted { start, end, step, .. }, .. }) => {
                    [start, end, step].into_iter().for_each(|bound| locals(bound, found));
                }
                Node::Run(instruction) => {
                    if let Op::Tile(TileOp::Store { src, .. }) = &instruction.op {
                        let of = |extent: Extent| match extent {
                            Extent::Value { local, .. } => Some(local),
                            Extent::Known(_) => None,
                        };
                        found.extend([src.rows, src.cols].into_iter().filter_map(of));
                    }
                }
                _ => {}
            }
            node.blocks().for_each(|block| walk(block, found));
        }
    }
    let mut found = OrderedSet::new();
    loop {
        let before = found.len();
        walk(nodes, &mut found);
        if found.len() == before {
            return found;
        }
    }
}

/// Adds the variables of an expression.
fn locals(e: &Expr, found: &mut OrderedSet<LocalId>) {
    if let ExprKind::Local(local) = e.kind {
        found.insert(local);
    }
    e.for_each_child(&mut |child| locals(child, found));
}

/// Takes out what gives other variables values.
fn without(nodes: &mut Vec<Node>, deciding: &OrderedSet<LocalId>) {
    nodes.retain(|node| !matches!(node, Node::Set { local, .. } if !deciding.contains(local)));
    nodes.iter_mut().flat_map(Node::blocks_mut).for_each(|block| without(block, deciding));
}

fn has_store(nodes: &[Node]) -> bool {
    let is_store = |node: &Node| match node {
        Node::Run(instruction) => matches!(instruction.op, Op::Tile(_) | Op::StoreScalar { .. }),
        _ => node.blocks().any(|block| has_store(block)),
    };
    nodes.iter().any(is_store)
}

/// Calls `f` with the values of variables, the conditions and the bounds of loops.
fn decides(nodes: &[Node], f: &mut dyn FnMut(&Expr)) {
    for node in nodes {
        match node {
            Node::Set { value, .. } => f(value),
            Node::If { cond, .. } => f(cond),
            Node::Loop(Loop { head: Head::Counted { start, end, step, .. }, .. }) => {
                [start, end, step].into_iter().for_each(&mut *f);
            }
            _ => {}
        }
        node.blocks().for_each(|block| decides(block, f));
    }
}

fn words(e: &Expr, found: &mut OrderedSet<u32>) {
    if let ExprKind::Field(_, at) = e.kind {
        found.insert(at);
    }
    e.for_each_child(&mut |child| words(child, found));
}

/// A task whose stores are followed.
struct Follower<'a> {
    module: &'a Verified,
    number: &'a dyn Fn(Number) -> Option<Const>,
    sites: &'a OrderedMap<u32, Site>,
    shapes: &'a [Option<Vec<u64>>],
    /// Variables that are known.
    values: OrderedMap<LocalId, Const>,
    /// How far loops are past their starts.
    past: OrderedMap<LoopId, i128>,
    /// By operand and element.
    stored: Vec<Vec<bool>>,
    left: u32,
    /// Rounds of loops without stores that are followed yet.
    idle: u32,
}

impl Follower<'_> {
    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Set { local, value } => {
                    let value = self.value(value);
                    self.set(*local, value);
                }
                Node::If { cond, then, otherwise } => match self.value(cond) {
                    Some(Const::Bool(true)) => self.nodes(then),
                    Some(Const::Bool(false)) => self.nodes(otherwise),
                    _ => node.blocks().for_each(|block| self.forget(block)),
                },
                Node::Loop(inner) => self.rounds(inner),
                Node::Run(instruction) => match &instruction.op {
                    Op::Tile(TileOp::Store { src, .. }) => self.store(instruction.id, Some(src)),
                    Op::StoreScalar { .. } => self.store(instruction.id, None),
                    Op::Reduce { local, .. } | Op::LoadScalar { local, .. } => self.set(*local, None),
                    _ => {}
                },
                Node::Name { .. } | Node::Sync(_) => {}
            }
        }
    }

    fn set(&mut self, local: LocalId, value: Option<Const>) {
        match value {
            Some(value) => self.values.insert(local, value),
            None => self.values.remove(&local),
        };
    }

    /// Variables that nodes may have given values are not known.
    fn forget(&mut self, nodes: &[Node]) {
        let changed = changed(nodes);
        self.values.retain(|local, _| !changed.contains(local));
    }

    fn rounds(&mut self, inner: &Loop) {
        let Head::Counted { var, start, end, step } = &inner.head else {
            return self.forget(&inner.body);
        };
        let bounds = [start, end, step].map(|bound| self.value(bound));
        let [Some(Const::Int(start)), Some(Const::Int(end)), Some(Const::Int(step))] = bounds else {
            return self.forget(&inner.body);
        };
        // What a loop without stores sets may decide on those after it; it takes none of their steps.
        let has_store = has_store(&inner.body);
        let mut at = start;
        while step > 0 && at < end && (has_store || !changed(&inner.body).is_empty()) {
            let left = if has_store { &mut self.left } else { &mut self.idle };
            if *left == 0 {
                self.forget(&inner.body);
                break;
            }
            *left -= 1;
            self.values.insert(*var, Const::Int(at));
            self.past.insert(inner.id, at - start);
            self.nodes(&inner.body);
            at = at.saturating_add(step);
        }
        self.values.remove(var);
    }

    fn store(&mut self, instruction: u32, tile: Option<&Tile>) {
        let Some(site) = self.sites.get(&instruction).filter(|_| self.left > 0) else { return };
        self.left -= 1;
        let Some(shape) = &self.shapes[site.operand] else { return };
        let past = |of: &Variable| match of {
            Variable::Loop(id) => self.past.get(id).copied(),
            Variable::Number(_) => None,
        };
        let mut first = Vec::new();
        for index in &site.index {
            let sum = |sum: i128, (of, factor): &(Variable, i128)| Some(sum + past(of)? * factor);
            let Some(at) = index.terms.iter().try_fold(index.constant, sum) else { return };
            first.push(at);
        }
        let [rows, cols] = tile.map_or([1, 1], |tile| [tile.rows, tile.cols].map(|of| self.extent(of)));
        for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
            let mut index = first.clone();
            for (dim, by) in site.along.iter().zip([row, col]) {
                if let Some(at) = dim.and_then(|dim| index.get_mut(usize::from(dim))) {
                    *at += i128::from(by);
                }
            }
            let place = index.iter().zip(shape).try_fold(0, |place, (at, len)| {
                let len = i128::from(*len);
                (0..len).contains(at).then(|| place * len + at)
            });
            let found = place.and_then(|place| self.stored[site.operand].get_mut(place as usize));
            found.into_iter().for_each(|stored| *stored = true);
        }
    }

    /// Rows or columns that a tile has at least.
    fn extent(&self, of: Extent) -> u32 {
        match of {
            Extent::Value { local, low, .. } => match self.values.get(&local) {
                Some(Const::Int(value)) => u32::try_from(*value).unwrap_or(low),
                _ => low,
            },
            Extent::Known(value) => value,
        }
    }

    fn value(&self, e: &Expr) -> Option<Const> {
        if let ExprKind::Const(value) = e.kind {
            return Some(value);
        }
        let mut e = e.clone();
        self.put(&mut e);
        match fold(self.module, Known { params: &[], elems: &[] }, &e).kind {
            ExprKind::Const(value) => Some(value),
            _ => None,
        }
    }

    /// Puts what is known in its place.
    fn put(&self, e: &mut Expr) {
        let known = match &e.kind {
            ExprKind::Local(local) => self.values.get(local).copied(),
            ExprKind::Field(_, at) => (self.number)(Number::Field(*at)),
            ExprKind::Param(id) => (self.number)(Number::Param(*id)),
            ExprKind::AxisExtent(axis) => (self.number)(Number::Extent(*axis)),
            _ => return e.for_each_child_mut(&mut |child| self.put(child)),
        };
        known.into_iter().for_each(|value| e.kind = ExprKind::Const(value));
    }
}
