//! The check of an image: every number within its list, every edge within its level.

use super::{
    Image, ImageFault, LevelRecord, LoopKind, NONE, NodeKind, NodeRecord, WHEN_NONZERO, WHEN_SKIPPED,
    WHEN_ZERO,
};

/// Longest list: numbers above are marks of states.
const MOST: usize = 1 << 30;

pub(super) fn check(image: &Image<'_>, scratch: &mut [u32]) -> Result<(), ImageFault> {
    let lists = [
        image.nodes.len(),
        image.succs.len(),
        image.guards.len(),
        image.decisions.len(),
        image.loops.len(),
        image.gangs.len(),
        image.members.len(),
    ];
    if lists.iter().any(|&len| len > MOST) {
        return Err(ImageFault::TooLong);
    }
    let levels = scratch.get_mut(..image.nodes.len()).ok_or(ImageFault::Words)?;
    if image.needs.len() != image.nodes.len() {
        return Err(ImageFault::Words);
    }
    mark_levels(image, levels)?;
    nodes(image, levels)?;
    decisions(image, levels)?;
    gangs(image, levels)?;
    needs(image, levels)
}

/// Writes the level of each node: 0 for the graph, 1 more than its number for a loop.
fn mark_levels(image: &Image<'_>, levels: &mut [u32]) -> Result<(), ImageFault> {
    levels.fill(NONE);
    let bodies = image.loops.iter().map(|l| &l.body);
    let (mut nodes, mut gangs) = (0u64, 0u64);
    for (number, level) in [&image.top].into_iter().chain(bodies).enumerate() {
        if u64::from(level.first) != nodes || u64::from(level.first_gang) != gangs {
            return Err(ImageFault::Levels);
        }
        nodes += u64::from(level.len);
        gangs += u64::from(level.gangs);
        span(level, levels).ok_or(ImageFault::Levels)?.fill(number as u32);
    }
    if nodes != image.nodes.len() as u64 || gangs != image.gangs.len() as u64 {
        return Err(ImageFault::Levels);
    }
    for (at, l) in image.loops.iter().enumerate() {
        let is = |node: u64, kind: NodeKind| {
            image.nodes.get(node as usize).is_some_and(|n| n.kind == kind as u32 && n.item == at as u32)
        };
        let end = (u64::from(l.body.first) + u64::from(l.body.len)).wrapping_sub(1);
        let kind = l.kind == LoopKind::Count as u32 || l.kind == LoopKind::While as u32;
        if !kind || l.body.len == 0 || !is(u64::from(l.node), NodeKind::Loop) || !is(end, NodeKind::LoopEnd) {
            return Err(ImageFault::Loop(at as u32));
        }
    }
    Ok(())
}

fn span<'l>(level: &LevelRecord, levels: &'l mut [u32]) -> Option<&'l mut [u32]> {
    levels.get_mut(level.first as usize..)?.get_mut(..level.len as usize)
}

fn nodes(image: &Image<'_>, levels: &[u32]) -> Result<(), ImageFault> {
    for (at, node) in image.nodes.iter().enumerate() {
        let fault = ImageFault::Node(at as u32);
        let within = |number: u32, len: usize| number == NONE || (number as usize) < len;
        let kind = NodeKind::from_code(node.kind).ok_or(fault)?;
        if !within(node.guard, image.guards.len()) || !within(node.gang, image.gangs.len()) {
            return Err(fault);
        }
        let item = match kind {
            NodeKind::Decide | NodeKind::Break => (node.item as usize) < image.decisions.len(),
            NodeKind::Loop => image.loops.get(node.item as usize).is_some_and(|l| l.node == at as u32),
            NodeKind::LoopEnd => image
                .loops
                .get(node.item as usize)
                .is_some_and(|l| l.body.first + (l.body.len - 1) == at as u32 && node.first == node.end),
            _ => true,
        };
        let succs = image.succs.get(node.first as usize..node.end as usize).ok_or(fault)?;
        if !item || (node.gang != NONE && kind != NodeKind::Kernel) {
            return Err(fault);
        }
        let inside = |&to: &u32| to != at as u32 && levels.get(to as usize) == Some(&levels[at]);
        if !succs.iter().all(inside) {
            return Err(ImageFault::Edge(at as u32));
        }
    }
    Ok(())
}

fn decisions(image: &Image<'_>, levels: &[u32]) -> Result<(), ImageFault> {
    for (at, decision) in image.decisions.iter().enumerate() {
        let end = u64::from(decision.first) + u64::from(decision.len);
        let leaves = decision.leaves == NONE || (decision.leaves as usize) < image.loops.len();
        if end > image.guards.len() as u64 || !leaves {
            return Err(ImageFault::Decision(at as u32));
        }
    }
    for (at, guard) in image.guards.iter().enumerate() {
        let known = WHEN_SKIPPED | WHEN_ZERO | WHEN_NONZERO;
        if (guard.parent != NONE && guard.parent as usize >= at) || guard.when & !known != 0 {
            return Err(ImageFault::Guard(at as u32));
        }
    }
    for (at, node) in image.nodes.iter().enumerate() {
        if let Some(decision) = deciding(image, node)
            && decision != NONE
            && decision + 1 != levels[at]
        {
            return Err(ImageFault::Node(at as u32));
        }
    }
    Ok(())
}

/// The loop that a decision leaves, of a node that decides.
fn deciding(image: &Image<'_>, node: &NodeRecord) -> Option<u32> {
    let decides = node.kind == NodeKind::Decide as u32 || node.kind == NodeKind::Break as u32;
    decides.then(|| image.decisions[node.item as usize].leaves)
}

fn gangs(image: &Image<'_>, levels: &[u32]) -> Result<(), ImageFault> {
    let of_level = |level: u32| match level {
        0 => Some(&image.top),
        level => image.loops.get(level as usize - 1).map(|l| &l.body),
    };
    for (at, gang) in image.gangs.iter().enumerate() {
        let fault = ImageFault::Gang(at as u32);
        let members =
            image.members.get(gang.first as usize..).and_then(|m| m.get(..gang.len as usize)).ok_or(fault)?;
        if !members.is_sorted_by(|a, b| a < b) {
            return Err(fault);
        }
        for &member in members {
            let node = image.nodes.get(member as usize).ok_or(fault)?;
            let level = of_level(levels[member as usize]).ok_or(fault)?;
            let inside = (at as u32).checked_sub(level.first_gang).is_some_and(|place| place < level.gangs);
            if node.gang != at as u32 || !inside {
                return Err(fault);
            }
        }
    }
    let of_gangs = image.nodes.iter().filter(|node| node.gang != NONE).count();
    let all: u64 = image.gangs.iter().map(|gang| u64::from(gang.len)).sum();
    if all == of_gangs as u64 { Ok(()) } else { Err(ImageFault::Gang(0)) }
}

/// Counts the edges to each node; what `scratch` held is lost.
fn needs(image: &Image<'_>, counts: &mut [u32]) -> Result<(), ImageFault> {
    counts.fill(0);
    for node in image.nodes {
        for &to in &image.succs[node.first as usize..node.end as usize] {
            counts[to as usize] += 1;
        }
    }
    match counts.iter().zip(image.needs).position(|(count, need)| count != need) {
        None => Ok(()),
        Some(node) => Err(ImageFault::Need(node as u32)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LoopRecord;
    use super::*;

    fn node(kind: NodeKind, succs: [u32; 2]) -> NodeRecord {
        let [first, end] = succs;
        NodeRecord { kind: kind as u32, item: 0, guard: NONE, gang: NONE, first, end }
    }

    /// What is wrong with a loop over these two nodes, with an edge from the second to the first for it.
    fn fault(body: [NodeRecord; 2], needs: [u32; 3]) -> Option<ImageFault> {
        let level = |first, len| LevelRecord { first, len, ..LevelRecord::default() };
        let loops =
            [LoopRecord { node: 0, kind: LoopKind::Count as u32, condition: 0, most: 9, body: level(1, 2) }];
        let image = Image {
            nodes: &[node(NodeKind::Loop, [0, 0]), body[0], body[1]],
            needs: &needs,
            succs: &[1],
            guards: &[],
            decisions: &[],
            loops: &loops,
            gangs: &[],
            members: &[],
            top: level(0, 1),
            fingerprint: 0,
        };
        check(&image, &mut [0; 3]).err()
    }

    #[test]
    fn a_loop_ends_at_the_last_node_of_its_body_which_nothing_follows() {
        let (kernel, end) = (node(NodeKind::Kernel, [0, 0]), node(NodeKind::LoopEnd, [0, 0]));
        assert_eq!(fault([kernel, end], [0; 3]), None);
        assert_eq!(fault([end, end], [0; 3]), Some(ImageFault::Node(1)));
        let followed = node(NodeKind::LoopEnd, [0, 1]);
        assert_eq!(fault([kernel, followed], [0, 1, 0]), Some(ImageFault::Node(2)));
        assert_eq!(fault([end, kernel], [0; 3]), Some(ImageFault::Loop(0)));
    }
}
