//! Variables that nodes read, and that they give a value.

use crate::{Extent, Head, Instruction, Loop, Node, Op, TileProgram};
use wsp_core::LocalId;
use wsp_ir::{Expr, ExprKind, Part};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Variables of an expression.
pub(super) fn locals(e: &Expr, f: &mut dyn FnMut(LocalId)) {
    wsp_ir::walk::each_subexpr(e, &mut |e| {
        if let ExprKind::Local(local) = e.kind {
            f(local);
        }
    });
}

pub(super) fn head(head: &Head, f: &mut dyn FnMut(&Expr)) {
    match head {
        Head::Counted { start, end, step, .. } => [start, end, step].into_iter().for_each(f),
        Head::While { cond } => f(cond),
    }
}

/// Variables that an instruction reads.
pub(super) fn read_by(instruction: &Instruction, f: &mut dyn FnMut(LocalId)) {
    match &instruction.op {
        Op::Tile(op) => op.each(&mut |part| match part {
            Part::Number(e, ..) => locals(e, f),
            Part::Place(place) => place.index.iter().for_each(|e| locals(e, f)),
            Part::Tile(..) | Part::Tensor(..) => {}
        }),
        Op::LoadScalar { index, .. } => index.iter().for_each(|e| locals(e, f)),
        Op::StoreScalar { index, value, .. } => {
            index.iter().for_each(|e| locals(e, f));
            locals(value, f);
        }
        Op::Move { .. } | Op::Reduce { .. } => {}
    }
    let mut extents = Vec::new();
    instruction.op.tiles(&mut |tile, _| extents.extend([tile.rows, tile.cols].map(Extent::local)));
    extents.into_iter().flatten().for_each(f);
}

/// Variables that nodes give a value.
pub(super) fn assigned(nodes: &[Node], f: &mut dyn FnMut(LocalId)) {
    for node in nodes {
        match node {
            Node::Set { local, .. } => f(*local),
            Node::Run(Instruction {
                op: Op::Reduce { local, .. } | Op::LoadScalar { local, .. }, ..
            }) => f(*local),
            Node::Loop(Loop { head: Head::Counted { var, .. }, .. }) => f(*var),
            _ => {}
        }
        node.blocks().for_each(|block| assigned(block, f));
    }
}

/// How often variables are read and written.
pub(super) fn count(nodes: &[Node]) -> OrderedMap<LocalId, u32> {
    let mut found = OrderedMap::new();
    let mut one = |local: LocalId| *found.entry(local).or_default() += 1;
    assigned(nodes, &mut one);
    reads(nodes, &mut one);
    found
}

/// Variables that a node reads itself, apart from the nodes inside.
pub fn read(node: &Node, f: &mut dyn FnMut(LocalId)) {
    match node {
        Node::Set { value, .. } => locals(value, f),
        Node::If { cond, .. } => locals(cond, f),
        Node::Loop(inner) => head(&inner.head, &mut |e| locals(e, f)),
        Node::Run(instruction) => read_by(instruction, f),
        Node::Name { .. } | Node::Sync(_) => {}
    }
}

pub(super) fn reads(nodes: &[Node], f: &mut dyn FnMut(LocalId)) {
    for node in nodes {
        read(node, f);
        node.blocks().for_each(|block| reads(block, f));
    }
}

/// Variables that instructions decide on: they give them their value, or a value of which it is made, or the condition under which they get it.
pub fn decided(program: &TileProgram) -> OrderedSet<LocalId> {
    fn walk(nodes: &[Node], under: bool, found: &mut OrderedSet<LocalId>) {
        for node in nodes {
            let mut depends = under;
            let mut look = |e: &Expr| locals(e, &mut |local| depends |= found.contains(&local));
            match node {
                Node::Set { value, .. } => look(value),
                Node::If { cond, .. } => look(cond),
                Node::Loop(inner) => head(&inner.head, &mut look),
                Node::Run(_) => depends = true,
                Node::Name { .. } | Node::Sync(_) => {}
            }
            if depends {
                assigned(std::slice::from_ref(node), &mut |local| {
                    found.insert(local);
                });
            }
            node.blocks().for_each(|block| walk(block, depends, found));
        }
    }
    let mut found = OrderedSet::new();
    loop {
        let before = found.len();
        walk(&program.body, false, &mut found);
        if found.len() == before {
            return found;
        }
    }
}

/// Variables that are read before they surely get a value.
pub(super) fn inputs(nodes: &[Node]) -> Vec<LocalId> {
    fn walk(nodes: &[Node], set: &mut OrderedSet<LocalId>, found: &mut OrderedSet<LocalId>) {
        for node in nodes {
            let mut own = Vec::new();
            read(node, &mut |local| own.push(local));
            let own_var = match node {
                Node::Loop(Loop { head: Head::Counted { var, .. }, .. }) => Some(*var),
                _ => None,
            };
            found.extend(own.into_iter().filter(|local| !set.contains(local)));
            for block in node.blocks() {
                let mut inner = set.clone();
                inner.extend(own_var);
                walk(block, &mut inner, found);
            }
            match node {
                Node::Set { .. } | Node::Run(_) => assigned(std::slice::from_ref(node), &mut |local| {
                    set.insert(local);
                }),
                _ => {}
            }
        }
    }
    let (mut set, mut found) = (OrderedSet::new(), OrderedSet::new());
    walk(nodes, &mut set, &mut found);
    found.into_iter().collect()
}
