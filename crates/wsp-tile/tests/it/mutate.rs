//! Programs with a fault in them.

use wsp_tile::{Event, Instruction, Node, Sync, TileProgram, UnitId};

/// All synchronisations, in the order of the text.
pub(crate) fn syncs(program: &TileProgram) -> Vec<Sync> {
    let mut found = Vec::new();
    walk(&program.body, &mut |node| {
        if let Node::Sync(sync) = node {
            found.push(*sync);
        }
    });
    found
}

fn walk(nodes: &[Node], f: &mut dyn FnMut(&Node)) {
    for node in nodes {
        f(node);
        node.blocks().for_each(|block| walk(block, f));
    }
}

/// The event of a synchronisation.
pub(crate) fn event_of(sync: Sync) -> Option<Event> {
    match sync {
        Sync::Set(event) | Sync::Wait(event) => Some(event),
        Sync::Barrier(_) | Sync::BarrierAll(_) => None,
    }
}

/// Without the synchronisations for which `drop` holds, of their number and what they are.
pub(crate) fn without(program: &TileProgram, drop: impl Fn(usize, Sync) -> bool) -> TileProgram {
    fn prune(nodes: &mut Vec<Node>, next: &mut usize, drop: &dyn Fn(usize, Sync) -> bool) {
        nodes.retain(|node| {
            let Node::Sync(sync) = node else { return true };
            *next += 1;
            !drop(*next - 1, *sync)
        });
    }
    // Numbers are those of the text, so blocks inside are visited where they stand.
    fn block(nodes: &mut Vec<Node>, next: &mut usize, drop: &dyn Fn(usize, Sync) -> bool) {
        let old = std::mem::take(nodes);
        for mut node in old {
            node.blocks_mut().for_each(|inner| block(inner, next, drop));
            let mut one = vec![node];
            prune(&mut one, next, drop);
            nodes.append(&mut one);
        }
    }
    let mut program = program.clone();
    block(&mut program.body, &mut 0, &drop);
    program
}

/// With every synchronisation changed.
pub(crate) fn with_syncs(program: &TileProgram, f: impl Fn(Sync) -> Sync) -> TileProgram {
    let mut program = program.clone();
    each_mut(&mut program.body, &mut |node| {
        if let Node::Sync(sync) = node {
            *sync = f(*sync);
        }
    });
    program
}

/// With every instruction changed.
pub(crate) fn with_instructions(program: &TileProgram, mut f: impl FnMut(&mut Instruction)) -> TileProgram {
    let mut program = program.clone();
    each_mut(&mut program.body, &mut |node| {
        if let Node::Run(instruction) = node {
            f(instruction);
        }
    });
    program
}

/// Without conditions: what they guard is always done.
pub(crate) fn without_guards(program: &TileProgram) -> TileProgram {
    fn block(nodes: &mut Vec<Node>) {
        let old = std::mem::take(nodes);
        for mut node in old {
            node.blocks_mut().for_each(block);
            match node {
                Node::If { then, .. } => nodes.extend(then),
                other => nodes.push(other),
            }
        }
    }
    let mut program = program.clone();
    block(&mut program.body);
    program
}

/// With the first set of an event from this unit before the instruction in front of it, or the first wait for one behind the next instruction.
pub(crate) fn too_early(program: &TileProgram, unit: UnitId, set: bool) -> TileProgram {
    fn block(nodes: &mut Vec<Node>, unit: UnitId, set: bool) -> bool {
        let is_it = |node: &Node| match node {
            Node::Sync(Sync::Set(event)) => set && event.from == unit,
            Node::Sync(Sync::Wait(event)) => !set && event.from == unit,
            _ => false,
        };
        for at in 0..nodes.len() {
            if is_it(&nodes[at]) {
                let run = |node: &Node| matches!(node, Node::Run(_) | Node::If { .. });
                let other = match set {
                    true => (0..at).rev().find(|other| run(&nodes[*other])),
                    false => (at..nodes.len()).find(|other| run(&nodes[*other])),
                };
                if let Some(other) = other {
                    let node = nodes.remove(at);
                    nodes.insert(other, node);
                    return true;
                }
            }
            if nodes[at].blocks_mut().any(|inner| block(inner, unit, set)) {
                return true;
            }
        }
        false
    }
    let mut program = program.clone();
    assert!(block(&mut program.body, unit, set), "no event of the unit can be moved");
    program
}

/// With the synchronisation of this number behind the node that follows it; none where nothing follows.
pub(crate) fn later(program: &TileProgram, number: usize) -> Option<TileProgram> {
    fn block(nodes: &mut [Node], left: &mut usize) -> Option<bool> {
        for at in 0..nodes.len() {
            if matches!(nodes[at], Node::Sync(_)) {
                if *left == 0 {
                    let follows = at + 1 < nodes.len();
                    if follows {
                        nodes.swap(at, at + 1);
                    }
                    return Some(follows);
                }
                *left -= 1;
            }
            if let Some(found) = nodes[at].blocks_mut().find_map(|inner| block(inner, left)) {
                return Some(found);
            }
        }
        None
    }
    let mut program = program.clone();
    (block(&mut program.body, &mut { number })?).then_some(program)
}

fn each_mut(nodes: &mut [Node], f: &mut dyn FnMut(&mut Node)) {
    for node in nodes {
        f(node);
        node.blocks_mut().for_each(|block| each_mut(block, f));
    }
}
