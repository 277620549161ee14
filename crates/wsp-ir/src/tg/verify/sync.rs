//! Cores, sets of kernels, gangs, events and notifications.

use super::rule::{self, Placed as _};
use super::{Checker, Report as _};
use crate::tg::outline::NumberMap;
use crate::tg::{Namespace, TgModule};
use wsp_core::tg::{
    BarrierNo, DependencyType, DeviceNo, EventNo, GraphNo, Instr, KernelNo, KernelSet, NodeNo, NotifyNo,
};
use wsp_diag::Diagnostic;
use wsp_ordered::Arrange;

/// What the rules of cores and synchronisation remember.
pub(super) struct Seen {
    /// Events that are signalled or external.
    signalled: NumberMap,
    waits: Vec<(EventNo, u32)>,
    notified: NumberMap,
    notify_waits: Vec<(NotifyNo, DeviceNo, u32)>,
    /// Instructions that make kernels persistent or ask for cores, by kernel.
    persistent: NumberMap,
    requested: NumberMap,
    /// The gang of each kernel: its instruction.
    gang: NumberMap,
    /// The instruction of each barrier of the open graph.
    barriers: Vec<(BarrierNo, u32)>,
}

impl Seen {
    pub(super) fn new(module: &TgModule) -> Seen {
        let map = || NumberMap::new(module.instrs.len());
        let mut signalled = map();
        for &(event, _) in &module.extern_events {
            signalled.insert(event.0, 0);
        }
        Seen {
            signalled,
            waits: Vec::new(),
            notified: map(),
            notify_waits: Vec::new(),
            persistent: map(),
            requested: map(),
            gang: map(),
            barriers: Vec::new(),
        }
    }

    /// Records that instruction `at` makes a kernel persistent; the instruction that already does.
    pub(super) fn persist(&mut self, kernel: u32, at: u32) -> Option<u32> {
        let before = self.persistent.get(kernel);
        self.persistent.insert(kernel, at);
        before
    }
}

impl Checker<'_> {
    pub(super) fn synchronise(&mut self, instr: &Instr) {
        match *instr {
            Instr::CaRequest { kernel_id, aic_count, aiv_count, aicpu_count } => {
                self.request(kernel_id, [aic_count, aiv_count, aicpu_count]);
            }
            Instr::CaAffinity { kernel_set, affinity_type: _ } => {
                self.set(kernel_set, "affinity");
            }
            Instr::SySignal { event_id, src_kernel } => {
                self.known_kernel(src_kernel);
                self.sync.signalled.insert(event_id.0, self.at);
            }
            Instr::SyWait { event_id, dst_kernel } => {
                self.known_kernel(dst_kernel);
                self.sync.waits.push((event_id, self.at));
            }
            Instr::SyBarrier { kernel_set, barrier_id } => self.gang(kernel_set, barrier_id),
            Instr::SyNotify { device_id: _, notify_id, after } => self.notify(notify_id, after),
            Instr::SyWaitNotify { device_id, notify_id, before } => {
                if before != KernelNo::NONE {
                    self.known_kernel(before);
                }
                self.sync.notify_waits.push((notify_id, device_id, self.at));
            }
            _ => {}
        }
    }

    fn request(&mut self, no: KernelNo, cores: [u32; 3]) {
        let Some(kernel) = self.known_kernel(no) else { return };
        let name = self.kernel_name(no);
        if cores == [0; 3] {
            self.fault(rule::REQUEST, format!("kernel `{name}` asks for 0 cores"), "")
                .help("ask for at least one, or remove the request")
                .report(self);
        }
        if let Some(first) = self.sync.requested.get(kernel) {
            self.fault(rule::REQUEST, format!("kernel `{name}` asks for cores twice"), "again here")
                .and(self.module, first, "first here")
                .help("remove one of the two")
                .report(self);
        }
        self.sync.requested.insert(kernel, self.at);
    }

    /// Checks a set of kernels; their places in the outline.
    fn set(&mut self, set: KernelSet, what: &str) -> Vec<u32> {
        let module = self.module;
        let numbers = module.set(set);
        if numbers.len() != set.len as usize {
            self.fault(
                rule::MALFORMED,
                format!("the set of this {what} lies outside of the sets of the unit"),
                "",
            )
            .help("the file was written by a tool that is at fault")
            .report(self);
            return Vec::new();
        }
        if numbers.is_empty() {
            self.fault(rule::SET, format!("the set of this {what} is empty"), "")
                .help("name kernels: {A, B}")
                .report(self);
        }
        let mut kernels: Vec<u32> = numbers.iter().filter_map(|&no| self.known_kernel(no)).collect();
        let mut sorted = kernels.clone();
        sorted.arrange();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = self.kernel_name(self.outline.kernels[pair[0] as usize].no);
            self.fault(rule::SET, format!("kernel `{name}` stands twice in the set of this {what}"), "")
                .help("name it once")
                .report(self);
            sorted.dedup();
            kernels = sorted;
        }
        kernels
    }

    fn gang(&mut self, set: KernelSet, barrier: BarrierNo) {
        if let Some(&(_, first)) = self.sync.barriers.iter().find(|(no, _)| *no == barrier) {
            let name = self.name(Namespace::Barrier, barrier.0);
            self.fault(rule::GANG, format!("barrier `{name}` is defined twice"), "again here")
                .and(self.module, first, "first here")
                .help("give each barrier of a graph a number of its own")
                .report(self);
        }
        self.sync.barriers.push((barrier, self.at));
        let members = self.set(set, "gang");
        for &member in &members {
            if let Some(first) = self.sync.gang.get(member) {
                let name = self.kernel_name(self.outline.kernels[member as usize].no);
                self.fault(rule::GANG, format!("kernel `{name}` is a member of two gangs"), "again here")
                    .and(self.module, first, "first here")
                    .help("make one gang of the two")
                    .report(self);
            } else {
                self.sync.gang.insert(member, self.at);
            }
        }
        let Some((&first, rest)) = members.split_first() else { return };
        let first = self.outline.kernels[first as usize];
        for &other in rest {
            let other = self.outline.kernels[other as usize];
            if other.block != first.block {
                let (a, b) = (self.kernel_name(first.no), self.kernel_name(other.no));
                self.fault(rule::GANG, format!("`{a}` and `{b}` of a gang stand in different blocks"), "")
                    .and(self.module, first.at, &format!("`{a}`"))
                    .and(self.module, other.at, &format!("`{b}`"))
                    .help("move them into one block: members of a gang all run, as often as each other")
                    .report(self);
                break;
            }
        }
    }

    /// Checks that no edge joins two members of a gang of the graph.
    pub(super) fn gangs_of(&mut self, graph: u32) {
        if self.sync.barriers.is_empty() {
            return;
        }
        self.sync.barriers.clear();
        let (begin, end) = (self.outline.graphs[graph as usize].at, self.outline.graphs[graph as usize].end);
        // The graph is no longer open: its kernels are still those of the map.
        let gang = |checker: &Self, node: NodeNo| {
            let at = checker.kernels.get(node.kernel()?.0)?;
            checker.sync.gang.get(at)
        };
        for at in begin..end {
            let Instr::TgDepend { src_kernel, dst_kernel, dep_type, .. } = self.module.instrs[at as usize]
            else {
                continue;
            };
            if dep_type == DependencyType::Soft {
                continue;
            }
            let (Some(src), Some(dst)) = (gang(self, src_kernel), gang(self, dst_kernel)) else { continue };
            if src == dst && src_kernel != dst_kernel {
                let no = self.outline.graphs[graph as usize].no;
                let name = |node: NodeNo| self.module.name(Namespace::Kernel, no, node.0);
                let message =
                    format!("`{}` waits for `{}`, which starts with it", name(dst_kernel), name(src_kernel));
                Diagnostic::error(rule::GANG, message)
                    .on(self.module, at, "this edge can never be met")
                    .and(self.module, src, "members of this gang start together")
                    .help("remove the edge, or one of the two from the gang")
                    .report(self);
            }
        }
    }

    fn notify(&mut self, notify: NotifyNo, after: KernelNo) {
        self.sync.notified.insert(notify.0, self.at);
        if after != KernelNo::NONE {
            self.known_kernel(after);
            return;
        }
        let before = self.kernels_here().next().is_some_and(|first| first.at < self.at);
        if !before {
            self.fault(rule::NOTIFY, "a notification without a kernel before it", "")
                .help("put it behind the kernel after which it is sent, or name that: `after = KERNEL`")
                .report(self);
        }
    }

    /// Checks that whatever is waited for is signalled.
    pub(super) fn waits(&mut self) {
        for (event, at) in std::mem::take(&mut self.sync.waits) {
            if self.sync.signalled.get(event.0).is_some() {
                continue;
            }
            let name = self.module.name(Namespace::Event, GraphNo(0), event.0);
            Diagnostic::error(rule::NO_SIGNAL, format!("nothing signals event `{name}`"))
                .on(self.module, at, "waits for ever")
                .help(format!("signal it: SY_SIGNAL({name}, KERNEL)"))
                .help(format!("or, if whoever runs the unit signals it, declare it: `extern event {name}`"))
                .report(self);
        }
        for (notify, device, at) in std::mem::take(&mut self.sync.notify_waits) {
            if self.sync.notified.get(notify.0).is_some() {
                continue;
            }
            let name = self.module.name(Namespace::Notify, GraphNo(0), notify.0);
            let device = self.module.name(Namespace::Device, GraphNo(0), device.0);
            Diagnostic::error(rule::NO_SIGNAL, format!("nothing sends notification `{name}`"))
                .on(self.module, at, &format!("waits for device {device} for ever"))
                .help(format!("send it in a graph of that device: SY_NOTIFY(DEVICE, {name})"))
                .report(self);
        }
    }

    /// Checks that partitions have cores, and none in common.
    pub(super) fn partitions(&mut self) {
        for partition in &self.outline.partitions {
            let ends = [partition.aic, partition.aiv].map(|(start, count)| start.checked_add(count));
            let empty = partition.aic.1 == 0 && partition.aiv.1 == 0;
            if !empty && ends.iter().all(Option::is_some) {
                continue;
            }
            let name = self.module.name(Namespace::Partition, GraphNo(0), partition.no.0);
            let what = if empty { "has no cores" } else { "ends behind the largest number of a core" };
            Diagnostic::error(rule::PARTITION, format!("partition `{name}` {what}"))
                .on(self.module, partition.at, "")
                .help("give it cores that the device has")
                .report(self);
        }
        for (what, range) in [("cube", 0), ("vector", 1)] {
            self.overlaps(what, range);
        }
    }

    fn overlaps(&mut self, what: &str, kind: usize) {
        let cores = |at: u32| {
            let partition = &self.outline.partitions[at as usize];
            let (start, count) = [partition.aic, partition.aiv][kind];
            (start, start.saturating_add(count))
        };
        let count = self.outline.partitions.len() as u32;
        let mut order: Vec<u32> = (0..count).filter(|&at| cores(at).0 < cores(at).1).collect();
        order.arrange_by_key(|&at| (cores(at), at));
        let mut widest: Option<u32> = None;
        for &at in &order {
            let Some(other) = widest.filter(|&other| cores(other).1 > cores(at).0) else {
                widest = Some(at);
                continue;
            };
            let end = cores(other).1.min(cores(at).1);
            let both = [self.outline.partitions[other as usize], self.outline.partitions[at as usize]];
            let names = both.map(|p| self.module.name(Namespace::Partition, GraphNo(0), p.no.0));
            let message = format!("partitions `{}` and `{}` share {what} cores", names[0], names[1]);
            let label = format!("{what} cores {} to {} are in both", cores(at).0, end - 1);
            Diagnostic::error(rule::PARTITION, message)
                .on(self.module, both[1].at, &label)
                .and(self.module, both[0].at, &format!("`{}`", names[0]))
                .help("choose ranges that do not overlap")
                .report(self);
            if cores(at).1 > cores(other).1 {
                widest = Some(at);
            }
        }
    }
}
