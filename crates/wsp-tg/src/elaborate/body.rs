//! What a graph does, in program order: works, arms, loops, breaks.

use super::emit::{Block, Collected, Emit, Order};
use super::ranges::{Bytes, RangeMap, Touch};
use super::scalars::IterValue;
use super::source::{Holds, Item, LoopSort, LoopSource, Source, WorkKind};
use crate::plan::{
    BindItem, BindTensor, CheckpointItem, CopyItem, EdgeKind, FixedItem, FreeItem, KernelItem, LoopItem,
    NotifyItem,
};
use std::collections::HashSet;
use wsp_core::AccessKind;
use wsp_core::tg::image::{
    DecisionRecord, GuardRecord, LevelRecord, LoopKind, LoopRecord, NONE, NodeKind, WHEN_NONZERO,
    WHEN_SKIPPED, WHEN_ZERO,
};
use wsp_core::tg::{Direction, LoopMode, Scalar, TensorNo, TensorRef};

/// Most iterations of a loop that counts at run time.
const MOST_ITERATIONS: u32 = u32::MAX - 1;

impl Emit<'_, '_> {
    pub(super) fn items(&mut self, source: &Source, items: &[Item]) {
        for item in items {
            match item {
                Item::Work(work) => self.work(source, *work),
                Item::If { condition, instr, then, otherwise } => {
                    self.choice(source, *condition, *instr, then, otherwise);
                }
                Item::Loop(body) => self.any_loop(source, body),
                Item::Break { condition, instr } => self.leave(*condition, *instr),
            }
        }
    }

    fn work(&mut self, source: &Source, at: u32) {
        let work = source.works[at as usize];
        let node = match work.kind {
            _ if self.dead => self.free_node(NodeKind::Join, 0),
            WorkKind::Kernel(def) => self.kernel(source, def, at),
            WorkKind::Copy { copy, src, dst, size, src_offset, dst_offset } => {
                let (src, dst) = (self.tensor(src, work.instr), self.tensor(dst, work.instr));
                let item = self.plan.copies.len() as u32;
                let node = self.node(NodeKind::Copy, item, at);
                let (fixed, instr) = (self.numbers(), work.instr);
                let made = CopyItem { copy, src, dst, size, src_offset, dst_offset, node, fixed, instr };
                self.plan.copies.push(made);
                let bytes = |tensor, first: u64| Bytes { tensor, first, end: first.saturating_add(size) };
                let read = (bytes(src, src_offset), AccessKind::Read, Order::Inferred);
                self.touch(node, &[read, (bytes(dst, dst_offset), AccessKind::Write, Order::Inferred)]);
                node
            }
            WorkKind::Free(tensor) => {
                let tensor = self.tensor(tensor, work.instr);
                let node = self.node(NodeKind::Free, self.plan.frees.len() as u32, at);
                self.plan.frees.push(FreeItem { tensor, node, instr: work.instr });
                self.touch(node, &[(Bytes::all(tensor), AccessKind::Write, Order::Inferred)]);
                node
            }
            WorkKind::Notify { device, notify } => {
                let node = self.node(NodeKind::Notify, self.plan.notifies.len() as u32, at);
                self.plan.notifies.push(NotifyItem { device, notify, node, instr: work.instr });
                let resource = self.resource(NodeKind::Notify, device.0, notify.0);
                self.touch(node, &[(Bytes::all(resource), AccessKind::Write, Order::Inferred)]);
                node
            }
            WorkKind::WaitNotify { device, notify, holds } => {
                let node = self.node(NodeKind::WaitNotify, self.plan.notify_waits.len() as u32, at);
                self.plan.notify_waits.push(NotifyItem { device, notify, node, instr: work.instr });
                let resource = self.resource(NodeKind::WaitNotify, device.0, notify.0);
                self.touch(node, &[(Bytes::all(resource), AccessKind::Write, Order::Inferred)]);
                if let (Holds::Rest, Some(block)) = (holds, self.blocks.last_mut()) {
                    block.hold = node;
                }
                node
            }
            WorkKind::Checkpoint(checkpoint) => {
                let node = self.node(NodeKind::Checkpoint, self.plan.checkpoints.len() as u32, at);
                self.plan.checkpoints.push(CheckpointItem { checkpoint, node, instr: work.instr });
                self.settle(node, EdgeKind::Checkpoint);
                node
            }
        };
        self.cur[at as usize].push(node);
        self.real[at as usize].push(node);
    }

    fn tensor(&mut self, no: TensorNo, instr: u32) -> u32 {
        self.around.tensor(self.unit, no).unwrap_or_else(|| {
            self.faults.unverified(self.unit.module, instr as usize, "names a tensor that there is not");
            0
        })
    }

    fn kernel(&mut self, source: &Source, def: u32, work: u32) -> u32 {
        let (item, first_bind) = (self.plan.kernels.len() as u32, self.plan.binds.len() as u32);
        let mut touches = Vec::new();
        for bind in &source.defs[def as usize].binds {
            let offset = self.scalar(bind.offset, bind.instr);
            let size = self.scalar(bind.size, bind.instr);
            let tensor = self.bind_tensor(&bind.tensor, bind.instr);
            let mode = if bind.direction == Direction::In { AccessKind::Read } else { AccessKind::Write };
            for &tensor in self.plan.tensors_of(&tensor) {
                let bytes = self.bytes(tensor, offset, size);
                touches.push((bytes, mode, Order::Declared));
            }
            for scalar in [offset, size, index_of(&tensor)] {
                self.pool.reads(scalar, |bytes| touches.push((bytes, AccessKind::Read, Order::Declared)));
            }
            let (arg, direction, instr) = (bind.arg, bind.direction, bind.instr);
            self.plan.binds.push(BindItem { arg, tensor, offset, size, direction, instr });
        }
        let fixed = self.numbers();
        let node = self.node(NodeKind::Kernel, item, work);
        self.plan.kernels.push(KernelItem {
            def: self.first_def + def,
            node,
            first_bind,
            binds: self.plan.binds.len() as u32 - first_bind,
            fixed,
            batch: Vec::new(),
        });
        self.touch(node, &touches);
        node
    }

    /// Keeps the numbers of the unrolled loops around what is made now.
    pub(super) fn numbers(&mut self) -> FixedItem {
        let first = self.plan.fixed.len() as u32;
        let fixed = self.around.iters.iter().filter_map(|(iter, value)| match value {
            IterValue::Fixed(value) => Some((*iter, *value)),
            IterValue::Loop(_) => None,
        });
        self.plan.fixed.extend(fixed);
        FixedItem { first, len: self.plan.fixed.len() as u32 - first }
    }

    fn bind_tensor(&mut self, tensor: &TensorRef, instr: u32) -> BindTensor {
        let unit = self.unit;
        let TensorRef::Table { index, .. } = *tensor else {
            let no = unit.module.tensors_of(tensor).first().copied().unwrap_or_default();
            return BindTensor::One(self.tensor(no, instr));
        };
        let tensors = unit.module.tensors_of(tensor);
        let index = self.scalar(Scalar::Expr(index), instr);
        if let Scalar::Const(at) = index {
            let chosen = usize::try_from(at).ok().and_then(|at| tensors.get(at)).copied();
            if let Some(no) = chosen {
                return BindTensor::One(self.tensor(no, instr));
            }
            if !self.is_guarded() {
                self.faults.table(unit.module, instr as usize, at, tensors.len());
                return BindTensor::One(0);
            }
        }
        let first = self.plan.tables.len() as u32;
        for &no in tensors {
            let place = self.tensor(no, instr);
            self.plan.tables.push(place);
        }
        BindTensor::Table { first, len: tensors.len() as u32, index }
    }

    /// Bytes that a binding is about: all of the tensor if they are known only at run time.
    pub(super) fn bytes(&self, tensor: u32, offset: Scalar, size: Scalar) -> Bytes {
        let constant = |scalar: Scalar| scalar.as_const().and_then(|value| u64::try_from(value).ok());
        let (Some(first), Some(size)) = (constant(offset), constant(size)) else { return Bytes::all(tensor) };
        let end = match size {
            0 => u64::MAX,
            size => first.saturating_add(size),
        };
        if first < end { Bytes { tensor, first, end } } else { Bytes::all(tensor) }
    }

    /// `CF_IF`.
    fn choice(&mut self, source: &Source, condition: Scalar, instr: u32, then: &[Item], otherwise: &[Item]) {
        if self.dead {
            self.items(source, then);
            return self.items(source, otherwise);
        }
        let value = self.scalar(condition, instr);
        if let Scalar::Const(value) = value {
            for (items, taken) in [(then, value != 0), (otherwise, value == 0)] {
                let block = self.blocks.last().copied().unwrap_or(Block::FREE);
                self.blocks.push(block);
                self.dead = !taken;
                self.items(source, items);
                self.dead = false;
                self.blocks.pop();
            }
            return;
        }
        let condition = self.condition(value, instr);
        let records = &mut self.plan.records;
        let (item, first) = (records.decisions.len() as u32, records.guards.len() as u32);
        records.decisions.push(DecisionRecord { condition, first, len: 2, leaves: NONE });
        let parent = self.blocks.last().map_or(NONE, |block| block.guard);
        records.guards.push(GuardRecord { parent, when: WHEN_NONZERO });
        records.guards.push(GuardRecord { parent, when: WHEN_ZERO });
        self.arms.resize(first as usize, None);
        self.arms.extend([Some((instr, true)), Some((instr, false))]);
        let decide = self.node(NodeKind::Decide, item, NONE);
        self.touch(decide, &self.condition_reads(value));
        self.levels[self.level as usize].written.push(Vec::new());
        for (items, guard) in [(then, first), (otherwise, first + 1)] {
            self.blocks.push(Block { guard, gate: decide, gate_kind: EdgeKind::Control, hold: NONE });
            self.items(source, items);
            self.blocks.pop();
        }
        self.end_arms(decide);
    }

    /// `CF_BREAK`.
    fn leave(&mut self, condition: Scalar, instr: u32) {
        if self.dead {
            return;
        }
        let Some(leaves) = self.level.checked_sub(1) else {
            return self.faults.unverified(self.unit.module, instr as usize, "leaves no loop");
        };
        let value = self.scalar(condition, instr);
        if value == Scalar::Const(0) {
            return;
        }
        let condition = self.condition(value, instr);
        let item = self.plan.records.decisions.len() as u32;
        let node = self.node(NodeKind::Break, item, NONE);
        self.touch(node, &self.condition_reads(value));
        self.settle(node, EdgeKind::Control);
        let records = &mut self.plan.records;
        let first = records.guards.len() as u32;
        let mut guards: Vec<(u32, u32)> = Vec::new();
        for block in &mut self.blocks[self.base..] {
            let known = guards.iter().find(|(old, _)| *old == block.guard).map(|(_, new)| *new);
            block.guard = known.unwrap_or_else(|| {
                let new = records.guards.len() as u32;
                records.guards.push(GuardRecord { parent: block.guard, when: WHEN_ZERO | WHEN_SKIPPED });
                guards.push((block.guard, new));
                new
            });
        }
        let len = records.guards.len() as u32 - first;
        records.decisions.push(DecisionRecord { condition, first, len, leaves });
    }

    fn any_loop(&mut self, source: &Source, body: &LoopSource) {
        if self.dead {
            // What has no value there is not looked at: nothing of it runs.
            let count = self.pool.scalar(self.unit, &self.around, body.condition);
            return self.no_loop(source, body, count.unwrap_or(Scalar::Const(0)));
        }
        let value = self.scalar(body.condition, body.instr);
        match (body.sort, value) {
            (LoopSort::Count(..), Scalar::Const(count)) if count < 0 && !self.is_guarded() => {
                self.faults.count(self.unit.module, body.instr as usize, count);
            }
            (_, Scalar::Const(0)) => self.no_loop(source, body, value),
            (LoopSort::Count(..), Scalar::Const(count)) if self.is_unrolled(body, value) => {
                self.unroll(source, body, count);
            }
            (LoopSort::Count(..), Scalar::Const(count))
                if count > i64::from(MOST_ITERATIONS) && !self.is_guarded() =>
            {
                self.faults.count(self.unit.module, body.instr as usize, count);
            }
            _ => self.run_loop(source, body, value),
        }
    }

    /// Whether the rounds of a loop with this count have nodes of their own.
    fn is_unrolled(&self, body: &LoopSource, count: Scalar) -> bool {
        let is_few = |count: u64| self.unrolled.saturating_mul(count) <= self.options.unroll_limit;
        let count = count.as_const().and_then(|count| u64::try_from(count).ok());
        matches!(body.sort, LoopSort::Count(LoopMode::Auto, _)) && !body.breaks && count.is_some_and(is_few)
    }

    /// A loop that is not run, so that order through it stays: where rounds have nodes of their own it is one round that is skipped, else one point stands
    /// for everything in it.
    fn no_loop(&mut self, source: &Source, body: &LoopSource, count: Scalar) {
        if let LoopSort::Count(_, iter) = body.sort
            && self.is_unrolled(body, count)
        {
            self.around.iters.push((iter, IterValue::Fixed(0)));
            let dead = std::mem::replace(&mut self.dead, true);
            self.copy_of(source, body.scope, &body.body);
            self.dead = dead;
            self.around.iters.pop();
            return;
        }
        let join = self.free_node(NodeKind::Join, 0);
        let scope = source.scopes[body.scope as usize];
        for work in scope.first..scope.end {
            self.cur[work as usize].push(join);
            self.real[work as usize].push(join);
        }
    }

    /// A copy of the body of a loop or of a graph, with the orders that the program declares in it.
    pub(super) fn copy_of(&mut self, source: &Source, scope: u32, items: &[Item]) {
        let works = source.scopes[scope as usize].first as usize..source.scopes[scope as usize].end as usize;
        let before: Vec<Vec<u32>> = self.cur[works.clone()].iter_mut().map(std::mem::take).collect();
        let real: Vec<Vec<u32>> = self.real[works.clone()].iter_mut().map(std::mem::take).collect();
        let outer = self.frame;
        self.frames += 1;
        self.frame = self.frames;
        self.items(source, items);
        self.orders(source, scope);
        self.frame = outer;
        let lists = self.cur[works.clone()].iter_mut().chain(&mut self.real[works]);
        for (nodes, mut before) in lists.zip(before.into_iter().chain(real)) {
            if !before.is_empty() {
                before.append(nodes);
                *nodes = before;
            }
        }
    }

    /// A loop whose iterations all have nodes of their own: those that touch the same bytes are ordered.
    fn unroll(&mut self, source: &Source, body: &LoopSource, count: i64) {
        let LoopSort::Count(_, iter) = body.sort else { return };
        let written = self.written(source, body.scope);
        let (mut past, mut all) = (RangeMap::default(), Vec::new());
        self.unrolled *= count as u64;
        for iteration in 0..count {
            if self.full {
                break;
            }
            self.around.iters.push((iter, IterValue::Fixed(iteration)));
            let block = self.blocks.last().copied().unwrap_or(Block::FREE);
            self.blocks.push(block);
            self.collectors.push(Collected::default());
            self.copy_of(source, body.scope, &body.body);
            let collected = self.collectors.pop().unwrap_or_default();
            self.blocks.pop();
            self.around.iters.pop();
            all.extend_from_slice(&collected.all);
            let matters = |touch: &Touch| written.contains(&touch.bytes.tensor);
            self.carry(&mut past, &collected, Some(body.instr), matters);
            if let Some(outer) = self.collectors.last_mut() {
                let unwritten = |touch: &&Touch| !written.contains(&touch.bytes.tensor);
                outer.last.extend(collected.last.iter().filter(unwritten));
            }
        }
        self.unrolled /= count as u64;
        if let Some(outer) = self.collectors.last_mut() {
            outer.all.append(&mut all);
            outer.last.extend(past.touches());
        }
    }

    /// Orders an iteration behind earlier ones that touched the same bytes, and adds it to them.
    pub(super) fn carry(
        &mut self,
        past: &mut RangeMap,
        now: &Collected,
        instr: Option<u32>,
        matters: impl Fn(&Touch) -> bool,
    ) {
        let mut before = Vec::new();
        for touch in now.all.iter().filter(|touch| matters(touch)) {
            past.conflicts(touch.bytes, touch.mode, |other| before.push((other, touch.node)));
        }
        before.sort_unstable();
        before.dedup();
        if self.options.flows {
            self.carried_flows(past, &now.all, &before, instr.unwrap_or(u32::MAX));
        }
        before.into_iter().for_each(|(from, to)| self.edge(from, to, EdgeKind::Carried));
        // Whoever conflicts with what an iteration writes over also conflicts with that iteration, which comes after it.
        let last = || now.last.iter().filter(|touch| matters(touch));
        last()
            .filter(|touch| touch.mode == AccessKind::Write)
            .for_each(|touch| past.forget(touch.bytes, |_| true));
        last().for_each(|touch| past.insert(*touch));
    }

    /// Tensors that something in a loop writes.
    fn written(&self, source: &Source, scope: u32) -> HashSet<u32> {
        let scope = source.scopes[scope as usize];
        let mut tensors: Vec<TensorNo> = Vec::new();
        for work in &source.works[scope.first as usize..scope.end as usize] {
            match work.kind {
                WorkKind::Kernel(def) => {
                    let binds = &source.defs[def as usize].binds;
                    for bind in binds.iter().filter(|bind| bind.direction != Direction::In) {
                        tensors.extend_from_slice(self.unit.module.tensors_of(&bind.tensor));
                    }
                }
                WorkKind::Copy { dst, .. } => tensors.push(dst),
                WorkKind::Free(tensor) => tensors.push(tensor),
                _ => {}
            }
        }
        tensors.into_iter().filter_map(|no| self.around.tensor(self.unit, no)).collect()
    }

    /// A loop whose body runs again and again, one iteration after the other.
    fn run_loop(&mut self, source: &Source, body: &LoopSource, value: Scalar) {
        let at = self.plan.loops.len() as u32;
        let (kind, iter, most) = match body.sort {
            LoopSort::Count(_, iter) => (LoopKind::Count, Some(iter), MOST_ITERATIONS),
            LoopSort::While(most) => (LoopKind::While, None, most.min(u64::from(MOST_ITERATIONS)) as u32),
        };
        let condition = self.condition(value, body.instr);
        let node = self.node(NodeKind::Loop, at, NONE);
        self.plan.loops.push(LoopItem { iter, instr: body.instr });
        let record = LoopRecord { node, kind: kind as u32, condition, most, body: LevelRecord::default() };
        self.plan.records.loops.push(record);
        if body.saves {
            self.settle(node, EdgeKind::Checkpoint);
        }
        let outer = (self.level, self.base, self.unrolled, std::mem::take(&mut self.collectors));
        (self.level, self.base) = (at + 1, self.blocks.len());
        self.levels.push(Default::default());
        self.blocks.push(Block::FREE);
        let scoped = iter.map(|iter| self.around.iters.push((iter, IterValue::Loop(at))));
        let works = source.scopes[body.scope as usize].first..source.scopes[body.scope as usize].end;
        let before: Vec<usize> = works.clone().map(|work| self.cur[work as usize].len()).collect();
        self.copy_of(source, body.scope, &body.body);
        self.waits(source, body.scope);
        self.end_loop(at);
        if self.options.flows {
            let inside = self.inner_touches(at + 1);
            let count = value.as_const().filter(|_| iter.is_some());
            self.between_rounds(&inside, at, count, body.instr);
            self.inside.insert(node, inside);
        }
        if scoped.is_some() {
            self.around.iters.pop();
        }
        self.blocks.pop();
        (self.level, self.base, self.unrolled, self.collectors) = outer;
        for (work, len) in works.zip(before) {
            self.cur[work as usize].truncate(len);
            self.cur[work as usize].push(node);
        }
        let touches = self.loop_touches(at, value);
        self.touch(node, &touches);
    }

    /// Adds the end of a loop's body, behind everything in it that nothing else is behind.
    fn end_loop(&mut self, at: u32) {
        let nodes = &self.levels[self.level as usize].nodes;
        let last: Vec<u32> = nodes.iter().copied().filter(|&node| !self.leads[node as usize]).collect();
        let end = self.free_node(NodeKind::LoopEnd, at);
        last.into_iter().for_each(|node| self.edge(node, end, EdgeKind::Control));
    }

    /// What a loop touches, for those around it: all that its body does, and what its condition reads.
    fn loop_touches(&self, at: u32, value: Scalar) -> Vec<(Bytes, AccessKind, Order)> {
        let hulls = self.levels[at as usize + 1].touches.iter();
        let mut touches: Vec<_> = hulls
            .map(|(&(tensor, mode, order), &(first, end))| (Bytes { tensor, first, end }, mode, order))
            .collect();
        touches.sort_unstable_by_key(|(bytes, mode, order)| (bytes.tensor, *mode, *order as u32));
        touches.extend(self.condition_reads(value));
        touches
    }
}

fn index_of(tensor: &BindTensor) -> Scalar {
    match tensor {
        BindTensor::One(_) => Scalar::Const(0),
        BindTensor::Table { index, .. } => *index,
    }
}
