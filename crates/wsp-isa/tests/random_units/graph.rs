//! Bodies of graphs.

use super::memory::MayWait;
use super::{Current, ENTRIES, Made, Maker};
use wsp_core::tg::{
    AffinityType, CoreType, DependencyType, FenceScope, GraphNo, KernelNo, LoopMode, PartitionNo, TensorNo,
};

const CORES: [CoreType; 4] = [CoreType::Aiv, CoreType::Aic, CoreType::AicAiv, CoreType::Aicpu];

impl Maker<'_, '_> {
    /// A whole graph.
    pub(super) fn graph(&mut self) {
        let graph = match self.may_name("G") {
            Some(name) => self.b.graph(&name),
            None => GraphNo(self.graphs.len() as u32 * 3),
        };
        if self.graphs.iter().any(|made| made.graph == graph) {
            return;
        }
        self.current = Current { graph, inside: true, ..Current::default() };
        self.forget_users();
        self.b.tg_begin(graph);
        for _ in 0..1 + self.choices.below(3) {
            self.allocate(Some(graph));
        }
        if self.choices.once_in(3) {
            self.gang();
        }
        self.block(self.limits.depth);
        if !self.current.has_kernel {
            self.kernel(MayWait::Yes);
        }
        for (tensor, bytes) in std::mem::take(&mut self.current.late) {
            self.b.mc_alloc(tensor, bytes);
        }
        for tensor in std::mem::take(&mut self.current.releasable) {
            if self.choices.once_in(3) {
                self.release(tensor);
            }
        }
        self.b.tg_end(graph);
        self.graphs.push(Made { graph, launched: false });
        self.current = Current::default();
    }

    fn block(&mut self, depth: usize) {
        // What stands in a block is the end of a dependence from behind it, too, but its allocations are the graph's.
        for _ in 0..1 + self.choices.below(self.limits.statements) {
            if self.choices.is_spent() && self.current.has_kernel {
                return;
            }
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: usize) {
        match self.choices.below(24) {
            9 | 10 => self.copy(),
            11 | 12 => self.edge(),
            13 | 14 if depth > 0 => self.branch(depth),
            15 if depth > 0 => self.counted_loop(depth),
            16 if depth > 0 => self.while_loop(depth),
            17 => self.fence(),
            18 => self.cores(),
            19 | 20 => self.event(),
            21 if !self.is_run() => self.notification(),
            22 => self.checkpoint_here(),
            _ => {
                self.kernel(MayWait::Yes);
            }
        }
    }

    fn kernel(&mut self, may_wait: MayWait) -> KernelNo {
        let kernel = match self.may_name("K") {
            Some(name) => self.b.kernel(&name),
            None => KernelNo(self.current.nodes.len() as u32 + 1000),
        };
        let entry = self.choices.pick(&ENTRIES).copied().unwrap_or("fill");
        let blocks = 1 + self.choices.below(3) as u32;
        // A device has few AICPUs, and members of a gang take theirs at once.
        let known = if may_wait == MayWait::Yes { &CORES[..] } else { &CORES[..3] };
        let cores = self.choices.pick(known).copied().unwrap_or(CoreType::Aiv);
        let workspace = if self.choices.once_in(4) { 256 } else { 0 };
        let partition = if may_wait == MayWait::Yes && self.choices.once_in(4) {
            self.choices.pick(&self.partitions).copied()
        } else {
            None
        };
        let made = self.b.tg_kernel(kernel, entry, blocks, cores, workspace);
        if let Some(partition) = partition {
            made.in_partition(partition);
        }
        self.bind_all(kernel, may_wait);
        let in_loop = self.current.loops > 0;
        self.current.nodes.push(kernel.into());
        if may_wait == MayWait::Yes {
            self.current.kernels.push((kernel, in_loop));
        }
        self.current.has_kernel = true;
        kernel
    }

    /// Kernels that start together: the first of the graph, so that nothing orders them.
    fn gang(&mut self) {
        let members: Vec<KernelNo> =
            (0..2 + self.choices.below(2)).map(|_| self.kernel(MayWait::No)).collect();
        let barrier = self.name("together");
        self.b.sy_barrier(&members[..], barrier.as_str());
    }

    /// An edge from a kernel or copy to a later kernel that may wait.
    fn edge(&mut self) {
        let Some(&(to, _)) = self.choices.pick(&self.current.kernels) else { return };
        let place = self.current.nodes.iter().position(|node| *node == to.into()).unwrap_or(0);
        let Some(from) = self.choices.pick(&self.current.nodes[..place]).copied() else { return };
        let is_gang = |no: KernelNo| !self.current.kernels.iter().any(|(kernel, _)| *kernel == no);
        match self.choices.below(6) {
            0 => {
                self.b.tg_depend(from, to).dep_type(DependencyType::Soft);
            }
            1 if !self.is_run() => {
                let tensor = self.visible_or_none();
                self.b.tg_depend(from, to).dep_type(DependencyType::Data).tensor_id(tensor);
            }
            // A barrier behind the first members of a gang would part it.
            2 if from.kernel().is_some_and(|kernel| !is_gang(kernel)) => {
                self.b.tg_depend(from, to).dep_type(DependencyType::Barrier);
            }
            _ => {
                self.b.tg_depend(from, to);
            }
        }
    }

    fn visible_or_none(&mut self) -> TensorNo {
        let tensors = self.visible_tensors();
        self.choices.pick(&tensors).copied().unwrap_or(TensorNo::NONE)
    }

    fn branch(&mut self, depth: usize) {
        let condition = self.condition();
        self.b.cf_if(condition);
        self.block(depth - 1);
        if self.choices.once_in(2) {
            self.b.cf_else();
            self.block(depth - 1);
        }
        self.b.cf_endif();
    }

    fn counted_loop(&mut self, depth: usize) {
        let count = self.count();
        let name = self.name("i");
        let iter = self.b.iter(&name);
        let made = self.b.cf_loop(count, iter);
        if self.choices.once_in(3) {
            made.mode(LoopMode::Sequential);
        }
        self.iters.push(iter);
        self.current.loops += 1;
        self.block(depth - 1);
        if self.choices.once_in(3) {
            let condition = self.condition();
            self.b.cf_break(condition);
            self.kernel(MayWait::Yes);
        }
        self.current.loops -= 1;
        self.iters.pop();
        self.b.cf_endloop();
    }

    fn while_loop(&mut self, depth: usize) {
        let condition = self.condition();
        let made = self.b.cf_while(condition);
        if self.choices.once_in(2) {
            made.max_iterations(1000u64);
        }
        self.current.loops += 1;
        self.block(depth - 1);
        if self.is_run() {
            // Whatever the condition is, it ends.
            self.b.cf_break(1);
        }
        self.current.loops -= 1;
        self.b.cf_endwhile();
    }

    fn fence(&mut self) {
        let scope = FenceScope::ALL[self.choices.below(3)].0;
        self.b.mc_fence(scope);
    }

    fn cores(&mut self) {
        let Some(&(kernel, _)) = self.choices.pick(&self.current.kernels) else { return };
        if self.choices.once_in(3) {
            let kind = AffinityType::ALL[self.choices.below(3)].0;
            let other = self.current.kernels[0].0;
            if other == kernel {
                self.b.ca_affinity([kernel], kind);
            } else {
                self.b.ca_affinity([kernel, other], kind);
            }
            return;
        }
        if self.current.asked.contains(&kernel) {
            return;
        }
        self.current.asked.push(kernel);
        match self.choices.below(3) {
            0 => {
                self.b.ca_request(kernel, 1, 2);
            }
            1 => {
                self.b.ca_request(kernel, 0, 0).aicpu_count(1u32);
            }
            _ => {
                let duration = self.choices.below(3) as u32;
                self.b.tg_persistent(kernel, duration);
            }
        }
    }

    /// A signal, or a wait for an event that something signals.
    fn event(&mut self) {
        let run = self.is_run();
        let kernels: Vec<KernelNo> = self
            .current
            .kernels
            .iter()
            .filter(|(_, in_loop)| !(run && *in_loop))
            .map(|(kernel, _)| *kernel)
            .collect();
        let Some(kernel) = self.choices.pick(&kernels).copied() else { return };
        let graph = self.current.graph;
        if self.choices.once_in(2) {
            // Other graphs are launched again, which would signal again.
            let known: Vec<_> =
                self.events.iter().filter(|(_, by)| !run && *by != Some(graph)).copied().collect();
            if let Some((event, _)) = self.choices.pick(&known).copied() {
                self.b.sy_wait(event, kernel);
            }
            return;
        }
        let name = self.name("done");
        let event = self.b.event(&name);
        self.b.sy_signal(event, kernel);
        if !run {
            self.events.push((event, Some(graph)));
        }
        // A later kernel of this graph waits.
        let later = kernels.iter().copied().skip_while(|other| *other != kernel).nth(1);
        if let Some(later) = later {
            self.b.sy_wait(event, later);
        }
    }

    fn notification(&mut self) {
        let Some(&(kernel, _)) = self.choices.pick(&self.current.kernels) else { return };
        let device = self.choices.below(3) as u32;
        self.notifies += 1;
        let notify = self.notifies;
        match self.choices.below(4) {
            0 => {
                self.b.sy_notify(device, notify).after(kernel);
                self.b.sy_wait_notify(device, notify);
            }
            1 => {
                self.b.sy_notify(device, "note").after(kernel);
                self.b.sy_wait_notify(device, "note").before(kernel);
            }
            _ => {
                self.b.sy_notify(device, notify).after(kernel);
            }
        }
    }

    fn checkpoint_here(&mut self) {
        let name = self.name("saved");
        let checkpoint = self.b.checkpoint(&name);
        let graph = self.current.graph;
        self.b.tg_checkpoint(graph, checkpoint);
        self.checkpoints.push((graph, checkpoint));
    }

    /// Defines a partition of 2 cube and 4 vector cores of its own.
    pub(super) fn partition(&mut self) {
        let at = self.partitions.len() as u32;
        let name = self.name("P");
        let partition: PartitionNo = self.b.partition(&name);
        self.b.ca_partition(partition, 2 * at, 2, 4 * at, 4);
        self.partitions.push(partition);
    }
}
