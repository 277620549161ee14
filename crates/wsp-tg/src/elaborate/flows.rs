//! What nodes must see that no edge of the records says of them: a node of a loop stands for its body, a point for many nodes, and one round
//! follows another without an edge.

use super::emit::{Emit, Order};
use super::ranges::{Bytes, RangeMap, Touch};
use super::source::{Source, WorkKind};
use crate::plan::{EdgeKind, Flow, FlowFrom};
use crate::progression::Progression;
use std::collections::HashSet;
use wsp_core::AccessKind;
use wsp_core::tg::image::NodeKind;
use wsp_core::tg::{Direction, ExprOp, Scalar};
use wsp_ir::tg::outline::{Affine, Variable};
use wsp_ordered::{Arrange, OrderedSet};

/// Touches of a body beyond which rounds are compared tensor by tensor.
const MOST_COMPARED: usize = 2048;

/// A touch of a node in the body of a loop that runs at run time.
#[derive(Clone, Debug)]
pub(super) struct Inner {
    pub(super) touch: Touch,
    pub(super) order: Order,
    /// How the bytes move with the rounds of loops, if they move evenly.
    steps: Option<Steps>,
}

/// `size` bytes from `first` on, and in round `n` of a loop `n` times its step behind that.
#[derive(Clone, Debug)]
struct Steps {
    first: i128,
    /// Loops by place, rising, and their steps, none of them 0.
    loops: Vec<(u32, i128)>,
    size: i128,
}

impl Emit<'_, '_> {
    /// Notes what works of a graph or body must see of others, where that passes the border of a loop or a point.
    pub(super) fn flow(&mut self, source: &Source, from: &[u32], to: &[u32], kind: EdgeKind) {
        if !self.options.flows {
            return;
        }
        let count = |works: &[u32]| works.iter().map(|&work| self.cur[work as usize].len()).sum::<usize>();
        let has_point = count(from) * count(to) > count(from) + count(to) + 1;
        let crosses = |work: &u32| self.cur[*work as usize] != self.real[*work as usize];
        if !has_point && !from.iter().chain(to).any(crosses) {
            return;
        }
        if kind == EdgeKind::After && !self.has_fences {
            return;
        }
        for &work in to {
            for &dst in &self.real[work as usize] {
                for &before in from {
                    let from = FlowFrom::Before(source.works[before as usize].instr);
                    add(&mut self.plan.flows, dst, kind, from);
                }
            }
        }
    }

    /// Notes what a barrier makes visible to works behind it.
    pub(super) fn barrier_flow(&mut self, source: &Source, end: u32, works: std::ops::Range<u32>) {
        if !self.options.flows {
            return;
        }
        let Some(before) = end.checked_sub(1).and_then(|at| source.works.get(at as usize)) else { return };
        let from = FlowFrom::Before(before.instr);
        for work in works {
            let kind = source.works[work as usize].kind;
            if !matches!(kind, WorkKind::Kernel(_) | WorkKind::Copy { .. } | WorkKind::Free(_)) {
                continue;
            }
            if self.has_fences || self.cur[work as usize] != self.real[work as usize] {
                for &dst in &self.real[work as usize] {
                    add(&mut self.plan.flows, dst, EdgeKind::Barrier, from);
                }
            }
        }
    }

    /// Notes which nodes in a loop are behind something outside of it that touches the same bytes: `behind` says what a touch is behind.
    pub(super) fn range_flow(
        &mut self,
        node: u32,
        kind: EdgeKind,
        from: Option<FlowFrom>,
        behind: impl Fn(&Inner, &mut dyn FnMut(u32)),
    ) {
        let Some(inside) = self.inside.get(&node) else { return };
        let mut found = OrderedSet::new();
        for inner in inside {
            behind(inner, &mut |other| {
                found.insert((inner.touch.node, other));
            });
        }
        for (dst, other) in found {
            let from = from.unwrap_or_else(|| FlowFrom::Before(self.instr(other).unwrap_or(u32::MAX)));
            add(&mut self.plan.flows, dst, kind, from);
        }
    }

    /// Notes which nodes in a loop a node outside is behind.
    pub(super) fn range_flow_from(
        &mut self,
        node: u32,
        before: &[u32],
        touches: &[(Bytes, AccessKind, Order)],
    ) {
        for other in before {
            for inner in self.inside.get(other).into_iter().flatten() {
                let conflicts =
                    |(bytes, mode, _): &(Bytes, AccessKind, Order)| conflict(&inner.touch, *bytes, *mode);
                if touches.iter().any(conflicts)
                    && let Some(instr) = self.instr(inner.touch.node)
                {
                    let from = FlowFrom::Before(instr);
                    add(&mut self.plan.flows, node, EdgeKind::Range, from);
                }
            }
        }
    }

    /// The instruction of a node that has one.
    pub(super) fn instr(&self, node: u32) -> Option<u32> {
        let draft = &self.nodes[node as usize];
        let at = draft.item as usize;
        match draft.kind {
            NodeKind::Kernel => Some(self.plan.defs[self.plan.kernels[at].def as usize].instr),
            NodeKind::Copy => Some(self.plan.copies[at].instr),
            NodeKind::Free => Some(self.plan.frees[at].instr),
            _ => None,
        }
    }

    /// What the nodes of a loop's body touch, those of loops in it too.
    pub(super) fn inner_touches(&self, level: u32) -> Vec<Inner> {
        let mut inner = Vec::new();
        for &node in &self.levels[level as usize].nodes {
            let draft = &self.nodes[node as usize];
            let (order, at) = (Order::Inferred, draft.item as usize);
            let mut touch = |bytes: Bytes, mode: AccessKind, order: Order, steps: Option<Steps>| {
                inner.push(Inner { touch: Touch { node, bytes, mode }, order, steps });
            };
            match draft.kind {
                NodeKind::Kernel => {
                    for bind in self.plan.binds_of(&self.plan.kernels[at]) {
                        let mode = if bind.direction == Direction::In {
                            AccessKind::Read
                        } else {
                            AccessKind::Write
                        };
                        let steps = self.steps(bind.offset, bind.size);
                        for &tensor in self.plan.tensors_of(&bind.tensor) {
                            touch(
                                self.bytes(tensor, bind.offset, bind.size),
                                mode,
                                Order::Declared,
                                steps.clone(),
                            );
                        }
                        for scalar in [bind.offset, bind.size] {
                            self.pool
                                .reads(scalar, |bytes| touch(bytes, AccessKind::Read, Order::Declared, None));
                        }
                    }
                }
                NodeKind::Copy => {
                    let copy = self.plan.copies[at];
                    let ends = [
                        (copy.src, copy.src_offset, AccessKind::Read),
                        (copy.dst, copy.dst_offset, AccessKind::Write),
                    ];
                    for (tensor, first, mode) in ends {
                        let end = first.saturating_add(copy.size);
                        touch(Bytes { tensor, first, end }, mode, order, None);
                    }
                }
                NodeKind::Free => {
                    touch(Bytes::all(self.plan.frees[at].tensor), AccessKind::Write, order, None);
                }
                NodeKind::Loop => {
                    inner.extend(self.inside.get(&node).into_iter().flatten().cloned());
                }
                _ => {}
            }
        }
        inner
    }

    /// Notes which nodes of a body come behind nodes of earlier rounds that touch the same bytes. `count` rounds, if that is known.
    pub(super) fn between_rounds(&mut self, inside: &[Inner], at: u32, count: Option<i64>, instr: u32) {
        if count.is_some_and(|count| count < 2) {
            return;
        }
        let behind =
            if inside.len() > MOST_COMPARED { by_tensor(inside) } else { by_bytes(inside, at, count) };
        let mut found = OrderedSet::new();
        for (earlier, later) in behind {
            let from = self.instr(earlier).filter(|_| self.has_fences).unwrap_or(u32::MAX);
            found.insert((later, from));
        }
        for (dst, from) in found {
            add(&mut self.plan.flows, dst, EdgeKind::Carried, FlowFrom::Round { instr, from });
        }
    }

    /// Notes the same of an iteration of an unrolled loop, for nodes of loops in it, and for all nodes where fences may strengthen what is made visible.
    pub(super) fn carried_flows(&mut self, past: &RangeMap, now: &[Touch], edges: &[(u32, u32)], instr: u32) {
        let from = |from: Option<u32>| FlowFrom::Round { instr, from: from.unwrap_or(u32::MAX) };
        let loops: HashSet<u32> = now.iter().map(|touch| touch.node).collect();
        let mut loops: Vec<u32> = loops.into_iter().filter(|node| self.inside.contains_key(node)).collect();
        loops.arrange();
        for node in loops {
            self.range_flow(node, EdgeKind::Carried, Some(from(None)), |inner, found| {
                past.conflicts(inner.touch.bytes, inner.touch.mode, &mut *found);
            });
        }
        if self.has_fences {
            for &(src, dst) in edges.iter().filter(|(_, dst)| !self.inside.contains_key(dst)) {
                let from = match (instr, self.instr(src)) {
                    (u32::MAX, Some(src)) => FlowFrom::Before(src),
                    (_, src) => from(src),
                };
                add(&mut self.plan.flows, dst, EdgeKind::Carried, from);
            }
        }
    }

    /// How a binding moves with the rounds of loops.
    fn steps(&self, offset: Scalar, size: Scalar) -> Option<Steps> {
        let size = match size.as_const()? {
            0 => i128::from(u64::MAX),
            size => i128::from(size),
        };
        let id = match offset {
            Scalar::Const(first) => return Some(Steps { first: i128::from(first), loops: Vec::new(), size }),
            Scalar::Expr(id) => id,
        };
        let ops = self.pool.ops[id.0 as usize..].iter().copied().take_while(|op| *op != ExprOp::End);
        let bytes = Affine::of_ops(ops)?;
        let loops = bytes.terms.iter().map(|&(variable, step)| match variable {
            Variable::Loop(iter) => Some((iter.0, step)),
            _ => None,
        });
        Some(Steps { first: bytes.constant, loops: loops.collect::<Option<_>>()?, size })
    }
}

fn add(flows: &mut Option<Vec<Flow>>, dst: u32, kind: EdgeKind, from: FlowFrom) {
    flows.iter_mut().for_each(|flows| flows.push(Flow { dst, kind, from }));
}

fn conflict(touch: &Touch, bytes: Bytes, mode: AccessKind) -> bool {
    let writes = touch.mode == AccessKind::Write || mode == AccessKind::Write;
    let (a, b) = (touch.bytes, bytes);
    writes && a.tensor == b.tensor && a.first < b.end && b.first < a.end
}

/// Nodes behind others of earlier rounds: of tensors that the body writes, every node that touches them.
fn by_tensor(inside: &[Inner]) -> Vec<(u32, u32)> {
    let written: HashSet<u32> = inside
        .iter()
        .filter(|inner| inner.touch.mode == AccessKind::Write)
        .map(|inner| inner.touch.bytes.tensor)
        .collect();
    let touches = inside.iter().filter(|inner| written.contains(&inner.touch.bytes.tensor));
    touches.map(|inner| (inner.touch.node, inner.touch.node)).collect()
}

/// Nodes behind others of earlier rounds of a loop: those with bytes in common.
fn by_bytes(inside: &[Inner], at: u32, count: Option<i64>) -> Vec<(u32, u32)> {
    let mut sorted: Vec<&Inner> = inside.iter().collect();
    sorted.arrange_by_key(|inner| (inner.touch.bytes.tensor, inner.touch.bytes.first));
    let mut behind = Vec::new();
    for (place, a) in sorted.iter().enumerate() {
        let bytes = a.touch.bytes;
        let is_near = |b: &&&Inner| b.touch.bytes.tensor == bytes.tensor && b.touch.bytes.first < bytes.end;
        for b in sorted[place..].iter().take_while(is_near) {
            for (earlier, later) in [(a, b), (b, a)] {
                let meets = conflict(&earlier.touch, later.touch.bytes, later.touch.mode)
                    && match (&earlier.steps, &later.steps) {
                        (Some(a), Some(b)) => meets(a, b, at, count).unwrap_or(true),
                        _ => true,
                    };
                if meets {
                    behind.push((earlier.touch.node, later.touch.node));
                }
            }
        }
    }
    behind
}

/// Whether bytes of one round of a loop may be bytes of a later one; none if that takes numbers of more than 128 bits. Loops around it, which come
/// before it, are in one round; those in it in any.
fn meets(earlier: &Steps, later: &Steps, at: u32, count: Option<i64>) -> Option<bool> {
    let around = |steps: &Steps| steps.loops.iter().copied().filter(|(of, _)| *of < at).collect::<Vec<_>>();
    let has_inner = |steps: &Steps| steps.loops.iter().any(|(of, _)| *of > at);
    let step_of = |steps: &Steps| steps.loops.iter().find(|(of, _)| *of == at).map_or(0, |(_, step)| *step);
    let step = step_of(later);
    if has_inner(earlier) || has_inner(later) || around(earlier) != around(later) || step_of(earlier) != step
    {
        return Some(true);
    }
    let most = count.map_or(i128::from(u32::MAX), |count| i128::from(count) - 1);
    // `later` begins `apart + n * step` bytes behind `earlier` after n rounds; they meet if that is above `-later.size` and below `earlier.size`.
    let start = later.first.checked_sub(earlier.first)?.checked_add(step)?;
    Progression { start, step, values: most }.has_between(-later.size, earlier.size)
}
