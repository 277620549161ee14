//! Kernels, their edges and arguments.

use super::rule::{self, Placed as _};
use super::{Checker, Report as _, listed};
use crate::tg::Namespace;
use wsp_core::tg::{
    CoreType, DependencyType, Instr, KernelNo, MAX_BLOCK_DIM, NodeNo, PartitionNo, Symbol, TensorNo,
};
use wsp_ordered::Arrange;

/// Vector cores that one block of an `AIC_AIV` kernel takes beside its cube core.
const AIV_PER_MIXED_BLOCK: u32 = 2;

impl Checker<'_> {
    #[inline]
    pub(super) fn kernel(
        &mut self,
        no: KernelNo,
        entry: Symbol,
        block_dim: u32,
        core_type: CoreType,
        partition: PartitionNo,
    ) {
        if block_dim == 0 || block_dim > MAX_BLOCK_DIM {
            let name = self.kernel_name(no);
            self.fault(rule::BLOCK_DIM, format!("kernel `{name}` has {block_dim} blocks"), "")
                .help(format!("choose a `blockDim` from 1 to {MAX_BLOCK_DIM}"))
                .report(self);
        }
        if entry.0 as usize >= self.module.strings.len() || self.module.str(entry).is_empty() {
            let name = self.kernel_name(no);
            self.fault(rule::MALFORMED, format!("kernel `{name}` has no entry symbol"), "").report(self);
        }
        if partition != PartitionNo::NONE {
            let what = format!("kernel `{}`", self.kernel_name(no));
            self.cores_of(partition, 1 << core_type as u8, &what);
        }
    }

    /// Checks that a partition exists and has the cores of these types, a bit each.
    pub(super) fn cores_of(&mut self, no: PartitionNo, core_types: u8, what: &str) {
        let name = self.name(Namespace::Partition, no.0);
        let Some(partition) = self.outline.partition(no).copied() else {
            let known: Vec<String> =
                self.outline.partitions.iter().map(|p| self.name(Namespace::Partition, p.no.0)).collect();
            let help = match known.as_slice() {
                [] => "define it with CA_PARTITION".to_owned(),
                known => format!("define it with CA_PARTITION; the unit has {}", listed(known)),
            };
            let message = format!("there is no partition `{name}`");
            return self.fault(rule::UNKNOWN_PARTITION, message, "").help(help).report(self);
        };
        for &(core_type, type_name, _) in CoreType::ALL {
            let (aic, aiv) = match core_type {
                CoreType::Aic => (1, 0),
                CoreType::Aiv => (0, 1),
                CoreType::AicAiv => (1, AIV_PER_MIXED_BLOCK),
                CoreType::Aicpu => (0, 0),
            };
            let lacks = partition.aic.1 < aic || partition.aiv.1 < aiv;
            if core_types & (1 << core_type as u8) == 0 || !lacks {
                continue;
            }
            let has = format!("{} cube and {} vector cores", partition.aic.1, partition.aiv.1);
            self.fault(
                rule::PARTITION_CORES,
                format!("{what} needs cores that partition `{name}` does not have"),
                &format!("{type_name} blocks take {aic} cube and {aiv} vector cores each"),
            )
            .and(self.module, partition.at, &format!("has {has}"))
            .help("give the partition such cores, or choose another partition")
            .report(self);
        }
    }

    #[inline]
    pub(super) fn depend(&mut self, src: NodeNo, dst: NodeNo, kind: DependencyType, tensor: TensorNo) {
        let from = self.node(src);
        let to = self.node(dst);
        if tensor != TensorNo::NONE {
            self.visible_tensor(tensor);
        }
        if src == dst {
            let name = self.node_name(src);
            return self
                .fault(rule::SELF_EDGE, format!("`{name}` depends on itself"), "from and to the same kernel")
                .help("name two kernels, or remove the edge; rounds of one kernel follow each other in a CF_LOOP")
                .report(self);
        }
        if kind == DependencyType::Barrier
            && let (Some(from), Some(to)) = (from, to)
            && from >= to
        {
            self.barrier_order(src, dst, (from, to));
        }
    }

    #[cold]
    fn barrier_order(&mut self, src: NodeNo, dst: NodeNo, (from, to): (u32, u32)) {
        let (src, dst) = (self.node_name(src), self.node_name(dst));
        self.fault(
            rule::BARRIER_ORDER,
            format!("`{dst}` of this barrier is defined before `{src}`"),
            "everything up to the first is before the barrier, everything from the second on after it",
        )
        .and(self.module, from, &format!("`{src}` is defined here"))
        .and(self.module, to, &format!("`{dst}` is defined here"))
        .help(format!("define `{src}` first, or turn the edge round"))
        .report(self);
    }

    pub(super) fn node_name(&self, node: NodeNo) -> String {
        match (node.kernel(), node.copy()) {
            (Some(kernel), _) => self.kernel_name(kernel),
            (None, copy) => format!("copy.{}", copy.unwrap_or(0)),
        }
    }

    /// The instruction that defines a kernel or copy of the open graph.
    #[inline]
    fn node(&mut self, node: NodeNo) -> Option<u32> {
        match node.kernel() {
            Some(kernel) => {
                let at = self.known_kernel(kernel)?;
                Some(self.outline.kernels[at as usize].at)
            }
            None => self.copy_node(node.copy().unwrap_or(0)),
        }
    }

    fn copy_node(&mut self, copy: u32) -> Option<u32> {
        let copies = self.graph.map_or(0..0, |graph| self.outline.graphs[graph as usize].copies.clone());
        if u64::from(copies.start) + u64::from(copy) < u64::from(copies.end) {
            return Some(self.outline.copies[(copies.start + copy) as usize].at);
        }
        let graph = self.graph_name(self.graph_no());
        let count = copies.len();
        self.fault(
            rule::UNKNOWN_NODE,
            format!("graph `{graph}` has no `copy.{copy}`"),
            "copies are counted from 0 in program order",
        )
        .note(format!("the graph has {count} of MC_COPY"))
        .help("name one of its copies, or add an MC_COPY")
        .report(self);
        None
    }

    /// Records that an argument is bound; a fault if it was.
    #[inline]
    pub(super) fn argument(&mut self, kernel: u32, arg: u32) {
        if arg >= 64 {
            return self.more_args.push((kernel, arg, self.at));
        }
        let bound = &mut self.args[kernel as usize];
        let bit = 1 << arg;
        if *bound & bit != 0 {
            self.bound_twice(kernel, arg, self.at);
        } else {
            *bound |= bit;
        }
    }

    #[cold]
    fn bound_twice(&mut self, kernel: u32, arg: u32, at: u32) {
        let kernel = self.outline.kernels[kernel as usize];
        let begin = self.outline.graphs[kernel.graph as usize].at;
        let first = (begin..at).find(|&at| {
            matches!(self.module.instrs.get(at as usize),
                Some(Instr::McBind { kernel_id, arg_index, .. }) if *kernel_id == kernel.no && *arg_index == arg)
        });
        let graph = self.outline.graphs[kernel.graph as usize].no;
        let name = self.module.name(Namespace::Kernel, graph, kernel.no.0);
        wsp_diag::Diagnostic::error(
            rule::ARG_TWICE,
            format!("argument {arg} of kernel `{name}` is bound twice"),
        )
        .on(self.module, at, "bound again here")
        .and(self.module, first.unwrap_or(at), "first bound here")
        .help("remove one of the two, or give it the index of another argument")
        .report(self);
    }

    /// Checks that the arguments of each kernel of a graph are bound without a hole.
    pub(super) fn arguments_of(&mut self, graph: u32) {
        self.more_args.arrange();
        let more = std::mem::take(&mut self.more_args);
        for pair in more.windows(2) {
            if pair[0].0 == pair[1].0 && pair[0].1 == pair[1].1 {
                self.bound_twice(pair[1].0, pair[1].1, pair[1].2);
            }
        }
        let kernels = self.outline.graphs[graph as usize].kernels.clone();
        let low = &self.args[kernels.start as usize..kernels.end as usize];
        let hole = |bound: u64| bound & bound.wrapping_add(1) != 0;
        let holes: Vec<u32> =
            kernels.clone().zip(low).filter(|(_, bound)| hole(**bound)).map(|(kernel, _)| kernel).collect();
        for kernel in holes {
            self.hole(kernel, self.args[kernel as usize].trailing_ones());
        }
        for group in more.chunk_by(|a, b| a.0 == b.0) {
            let kernel = group[0].0;
            if hole(self.args[kernel as usize]) {
                continue;
            }
            let low = self.args[kernel as usize].trailing_ones();
            let mut next = low;
            for &(_, arg, _) in group {
                if arg > next {
                    break;
                }
                next = arg + 1;
            }
            if low < 64 || next <= group[group.len() - 1].1 {
                self.hole(kernel, next);
            }
        }
    }

    fn hole(&mut self, kernel: u32, arg: u32) {
        let kernel = self.outline.kernels[kernel as usize];
        let name = self.kernel_name(kernel.no);
        let message = format!("argument {arg} of kernel `{name}` is not bound, but a later one is");
        wsp_diag::Diagnostic::error(rule::ARG_HOLE, message)
            .on(self.module, kernel.at, "the kernel")
            .help(format!("add MC_BIND({name}, {arg}, …), or number its arguments from 0 without a hole"))
            .report(self);
    }

    pub(super) fn persistent(&mut self, no: KernelNo) {
        let Some(kernel) = self.known_kernel(no) else { return };
        if let Some(first) = self.sync.persist(kernel, self.at) {
            let name = self.kernel_name(no);
            self.fault(rule::REQUEST, format!("kernel `{name}` is made persistent twice"), "again here")
                .and(self.module, first, "first here")
                .help("remove one of the two")
                .report(self);
        }
    }
}
