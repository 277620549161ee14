//! What a launch does with external tensors for which no array is given, by the values that are known before the run starts.
//!
//! Arms and rounds that these values decide are followed one by one, up to a limit; those that a load decides are taken as run once, with no
//! number of their own.

use super::host::HostState;
use super::tensors::TensorTable;
use std::rc::Rc;
use wsp_core::tg::image::{
    GuardRecord, LevelRecord, LoopKind, NONE, NodeKind, NodeRecord, WHEN_NONZERO, WHEN_SKIPPED, WHEN_ZERO,
};
use wsp_core::tg::{Direction, Env, EvalFault, ExprOp, IterNo, Scalar, eval};
use wsp_ordered::OrderedMap;
use wsp_tg::plan::{BindItem, BindTensor, GraphPlan, TensorKind, UnitPlan};

/// Most nodes of a launch that are looked at in rounds of loops.
const MOST_VISITS: u64 = 1 << 14;

/// First byte, and one past the last.
pub(super) type Bytes = (u64, u64);

/// Numbers of the loops around a use that run at run time, the outermost first: of those whose rounds are known one by one.
pub(super) type Rounds = Rc<[(u32, i64)]>;

/// A kernel or copy that reads or writes bytes of a tensor.
pub(super) struct Use {
    pub(super) tensor: u32,
    pub(super) node: u32,
    pub(super) reads: bool,
    /// None of a read whose bytes are not known.
    pub(super) bytes: Option<Bytes>,
    pub(super) rounds: Rounds,
}

/// What is known before a run starts.
#[derive(Clone, Copy)]
pub(super) struct Known<'k> {
    /// Values of declared scalars.
    pub(super) scalars: &'k [i64],
    /// None where there are more than are looked at one by one.
    pub(super) device: Option<u32>,
    pub(super) devices: u32,
}

/// What is known at a place of a host or a launch.
struct Place<'k> {
    known: Known<'k>,
    iteration: Option<i64>,
    rounds: Vec<(u32, i64)>,
}

impl Env for Place<'_> {
    fn iter(&self, iter: IterNo) -> Result<i64, EvalFault> {
        let round = self.rounds.iter().find(|(of, _)| *of == iter.0);
        round.map(|(_, number)| *number).ok_or(EvalFault::Unknown(ExprOp::Iter(iter)))
    }

    fn arg(&self, arg: u32) -> Result<i64, EvalFault> {
        self.known.scalars.get(arg as usize).copied().ok_or(EvalFault::Unknown(ExprOp::Arg(arg)))
    }

    fn iteration(&self) -> Result<i64, EvalFault> {
        self.iteration.ok_or(EvalFault::Unknown(ExprOp::Iteration))
    }

    fn device(&self) -> Result<i64, EvalFault> {
        self.known.device.map(i64::from).ok_or(EvalFault::Unknown(ExprOp::Device))
    }

    fn devices(&self) -> Result<i64, EvalFault> {
        Ok(i64::from(self.known.devices))
    }
}

impl Known<'_> {
    /// The value of a scalar of the host, where that stands.
    pub(super) fn host_value(
        &self,
        unit: &UnitPlan,
        state: &HostState,
        scalar: Scalar,
    ) -> Result<i64, EvalFault> {
        let rounds = (0..).zip(&state.loops).map(|(slot, (number, _))| (slot, *number)).collect();
        match scalar {
            Scalar::Const(value) => Ok(value),
            Scalar::Expr(_) => eval(unit.expr(scalar), &Place { known: *self, iteration: Some(0), rounds }),
        }
    }
}

/// What kernels and copies of a launch do with external tensors for which no array is given. What reads and writes is both.
pub(super) fn uses(
    table: &TensorTable,
    plan: &GraphPlan,
    known: Known<'_>,
    iteration: Option<i64>,
) -> Vec<Use> {
    let mut kernels = OrderedMap::<u32, Vec<u32>>::new();
    for (at, kernel) in (0..).zip(&plan.kernels) {
        kernels.entry(kernel.node).or_default().push(at);
    }
    let mut copies = OrderedMap::<u32, Vec<u32>>::new();
    for (at, copy) in (0..).zip(&plan.copies) {
        copies.entry(copy.node).or_default().push(at);
    }
    let mut decisions = OrderedMap::new();
    for (at, node) in (0..).zip(&plan.records.nodes) {
        if matches!(NodeKind::from_code(node.kind), Some(NodeKind::Decide | NodeKind::Break)) {
            let decision = &plan.records.decisions[node.item as usize];
            for guard in decision.first..decision.first + decision.len {
                decisions.insert(guard, (decision.condition, at));
            }
        }
    }
    let mut walk = Walk {
        table,
        plan,
        place: Place { known, iteration, rounds: Vec::new() },
        kernels,
        copies,
        decisions,
        nodes: vec![None; plan.records.loops.len()],
        guards: OrderedMap::new(),
        left: MOST_VISITS,
        uses: Vec::new(),
    };
    walk.level(plan.records.top);
    walk.uses
}

/// Whether a guard may be on, and whether it surely is.
#[derive(Clone, Copy)]
struct On {
    may: bool,
    surely: bool,
}

/// A way through a graph, round by round.
struct Walk<'w> {
    table: &'w TensorTable,
    plan: &'w GraphPlan,
    place: Place<'w>,
    /// By node.
    kernels: OrderedMap<u32, Vec<u32>>,
    copies: OrderedMap<u32, Vec<u32>>,
    /// By guard: the condition of its decision, and the node that decides.
    decisions: OrderedMap<u32, (u32, u32)>,
    /// Of each loop how many nodes its body has, with those of loops in it.
    nodes: Vec<Option<u64>>,
    /// Guards in the rounds of now.
    guards: OrderedMap<u32, On>,
    left: u64,
    uses: Vec<Use>,
}

impl Walk<'_> {
    fn value(&self, scalar: Scalar) -> Option<i64> {
        match scalar {
            Scalar::Const(value) => Some(value),
            Scalar::Expr(_) => eval(self.plan.expr(scalar), &self.place).ok(),
        }
    }

    fn condition(&self, condition: u32) -> Option<i64> {
        self.value(self.plan.conditions[condition as usize].value)
    }

    fn level(&mut self, level: LevelRecord) {
        let rounds = Rounds::from(self.place.rounds.as_slice());
        self.left = self.left.saturating_sub(u64::from(level.len));
        for node in level.first..level.first + level.len {
            let NodeRecord { kind, item, guard, .. } = self.plan.records.nodes[node as usize];
            if !self.is_on(guard).may {
                continue;
            }
            match NodeKind::from_code(kind) {
                Some(NodeKind::Loop) => self.rounds(item),
                Some(NodeKind::Kernel) => self.of_kernels(node, &rounds),
                Some(NodeKind::Copy) => self.of_copies(node, &rounds),
                _ => {}
            }
        }
    }

    /// The rounds of a loop; its body once where they are not known, or too many.
    fn rounds(&mut self, number: u32) {
        let records = &self.plan.records;
        let of = &records.loops[number as usize];
        let is_left = records.decisions.iter().any(|decision| decision.leaves == number);
        let count = match (self.condition(of.condition), of.kind == LoopKind::Count as u32) {
            (Some(0), _) => Some(0),
            (count, true) => count.filter(|_| !is_left),
            (_, false) => None,
        };
        let outside = std::mem::take(&mut self.guards);
        match count.map(|count| u64::try_from(count).unwrap_or(0)) {
            Some(count) if self.nodes_of(number).saturating_mul(count) <= self.left => {
                for round in 0..count.cast_signed() {
                    self.place.rounds.push((number, round));
                    self.level(of.body);
                    self.place.rounds.pop();
                    self.guards.clear();
                }
            }
            _ => self.level(of.body),
        }
        self.guards = outside;
    }

    fn nodes_of(&mut self, number: u32) -> u64 {
        if let Some(nodes) = self.nodes[number as usize] {
            return nodes;
        }
        let records = &self.plan.records;
        let body = records.loops[number as usize].body;
        let mut nodes = u64::from(body.len);
        for node in &records.nodes[body.first as usize..][..body.len as usize] {
            if node.kind == NodeKind::Loop as u32 {
                nodes = nodes.saturating_add(self.nodes_of(node.item));
            }
        }
        self.nodes[number as usize] = Some(nodes);
        nodes
    }

    fn is_on(&mut self, guard: u32) -> On {
        if guard == NONE {
            return On { may: true, surely: true };
        }
        if let Some(on) = self.guards.get(&guard) {
            return *on;
        }
        let GuardRecord { parent, when } = self.plan.records.guards[guard as usize];
        let parent = self.is_on(parent);
        // A guard that nothing decides is one of a graph that is not well formed, which a run refuses.
        let outcomes = self.decisions.get(&guard).copied().map_or(0, |decision| self.outcomes(decision));
        let on =
            On { may: parent.may && when & outcomes != 0, surely: parent.surely && outcomes & !when == 0 };
        self.guards.insert(guard, on);
        on
    }

    /// What may come of a decision: bits `WHEN_…`.
    fn outcomes(&mut self, (condition, node): (u32, u32)) -> u32 {
        let decides = self.is_on(self.plan.records.nodes[node as usize].guard);
        let skipped = if decides.surely { 0 } else { WHEN_SKIPPED };
        match self.condition(condition) {
            _ if !decides.may => skipped,
            Some(0) => skipped | WHEN_ZERO,
            Some(_) => skipped | WHEN_NONZERO,
            None => skipped | WHEN_ZERO | WHEN_NONZERO,
        }
    }

    fn of_kernels(&mut self, node: u32, rounds: &Rounds) {
        let plan = self.plan;
        for at in self.kernels.get(&node).cloned().unwrap_or_default() {
            for bind in plan.binds_of(&plan.kernels[at as usize]) {
                let tensors = match bind.tensor {
                    BindTensor::Table { index, .. } => {
                        let all = plan.tensors_of(&bind.tensor);
                        let one = self.value(index).and_then(|index| usize::try_from(index).ok());
                        one.and_then(|index| all.get(index)).map_or(all, std::slice::from_ref)
                    }
                    BindTensor::One(_) => plan.tensors_of(&bind.tensor),
                };
                for &tensor in tensors.iter().filter(|tensor| is_open(self.table, **tensor)) {
                    let whole = (0, self.table[tensor as usize].bytes.unwrap_or(u64::MAX));
                    let known = self.bytes(bind, whole.1);
                    let of = |reads, bytes| Use { tensor, node, reads, bytes, rounds: rounds.clone() };
                    if bind.direction != Direction::In {
                        self.uses.push(of(false, Some(known.unwrap_or(whole))));
                    }
                    if bind.direction != Direction::Out && tensors.len() == 1 {
                        self.uses.push(of(true, known));
                    }
                }
            }
        }
    }

    fn of_copies(&mut self, node: u32, rounds: &Rounds) {
        for at in self.copies.get(&node).cloned().unwrap_or_default() {
            let copy = &self.plan.copies[at as usize];
            let ends = [(copy.src, copy.src_offset, true), (copy.dst, copy.dst_offset, false)];
            for (tensor, first, reads) in ends.into_iter().filter(|(tensor, ..)| is_open(self.table, *tensor))
            {
                let bytes = Some((first, first.saturating_add(copy.size)));
                self.uses.push(Use { tensor, node, reads, bytes, rounds: rounds.clone() });
            }
        }
    }

    /// The bytes of a binding, if they are known.
    fn bytes(&self, bind: &BindItem, whole: u64) -> Option<Bytes> {
        let low = u64::try_from(self.value(bind.offset)?).ok()?;
        match u64::try_from(self.value(bind.size)?).ok()? {
            0 => Some((low, whole)),
            size => Some((low, low.saturating_add(size))),
        }
    }
}

/// Whether a tensor is external and has no array.
pub(super) fn is_open(table: &TensorTable, tensor: u32) -> bool {
    let info = &table[tensor as usize];
    info.home == TensorKind::Extern && !info.given
}
