//! Bytes that several devices use at the same time.
//!
//! Every device runs the statements of the host; external tensors and `SHARED` memory are one for all. Two accesses to them by kernels, copies and
//! conditions of graphs, of which one writes, are in order or apart
//! * if both run on one device, in a `CF_IF(device == N)` or behind a notification that only this one gets;
//! * if the bytes of each device are its own: they move with `device`, by no less than what all of them span on one device;
//! * if one runs on one device, which then notifies, and the other behind a wait for that notification, each in a graph that is launched once.
//!
//! All others are compared device by device where there are few, and where devices or rounds leave it open, in the one order of what all devices do: that two
//! of them touch the same bytes is an error if both accesses surely take place, and no notification orders them; a warning where it is not known that several
//! devices run the unit. Of every other tensor a warning says that it was not compared.

use super::access::Access;
use super::launches::{MOST_DEVICES, Met, OnDevice, Steps, devices, met_between, parts, with_loads};
use super::order::Order;
use super::overlap::range_of;
use super::reach::Lane;
use super::{Cx, LAUNCHES, NOT_ALL, error, warning};
use crate::Certainty;
use std::rc::Rc;
use wsp_core::tg::{ExprOp, Instr, KernelNo, MemLocation, NotifyNo, Scalar, TensorNo};
use wsp_diag::{Code, Diagnostic};
use wsp_ir::tg::outline::{Affine, BlockId, BlockKind, Blocks, Home, NumberMap, Variable};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Steps after which accesses of devices are not compared any further.
const MOST_STEPS: usize = 40_000_000;

pub(super) fn check(cx: &mut Cx<'_>, order: &Order) {
    if !is_for_several(cx) {
        return;
    }
    let (list, launches, notices) = (with_loads(cx, order), launches(cx), notices(cx));
    let checker = Checker { cx, order, list, launches, notices };
    let mut steps = Steps::new(MOST_STEPS);
    let open: Vec<(Access, Access)> =
        (0..cx.outline.tensors.len() as u32).filter_map(|tensor| checker.open(tensor, &mut steps)).collect();
    let met = checker.device_by_device(&open, &mut steps);
    for ((a, b), met) in open.into_iter().zip(met) {
        let (a, b) = match met {
            Met::Never => continue,
            Met::Maybe => (a, b),
            Met::Surely(devices, a, b) => {
                tell(cx, devices, &a, &b);
                continue;
            }
        };
        let message = format!(
            "whether devices use the same bytes of `{}` at the same time was not compared",
            cx.tensor_name(a.tensor)
        );
        let mut found = cx.on(warning(NOT_ALL, message), a.at, a.verb());
        if a.at != b.at {
            found = cx.and(found, b.at, b.verb());
        }
        cx.report(advised(found));
    }
}

/// Says that two devices surely touch the same bytes: an error where it is known that there are two.
fn tell(cx: &mut Cx<'_>, devices: [u32; 2], a: &Access, b: &Access) {
    let [first, second] = devices;
    let (of, condition) = match cx.options.devices {
        Some(_) => (error as fn(Code, String) -> Diagnostic, ""),
        None => (warning as fn(Code, String) -> Diagnostic, ", if several devices run the unit"),
    };
    let name = cx.tensor_name(a.tensor);
    let message =
        format!("devices {first} and {second} use the same bytes of `{name}` in no order{condition}");
    let mut found = cx.on(of(LAUNCHES, message), a.at, &format!("device {first} {} it here", a.verb()));
    if a.at != b.at {
        found = cx.and(found, b.at, &format!("device {second} {} it here", b.verb()));
    }
    cx.report(advised(found));
}

fn advised(found: Diagnostic) -> Diagnostic {
    let found = found.note("all devices have one memory for it, and run at the same time");
    found.help("bind bytes of its own on every device: MC_BIND(…, device * SIZE, SIZE)").help(
        "or write on one device, CF_IF(device == 0), and let it notify the others: SY_NOTIFY, SY_WAIT_NOTIFY",
    )
}

/// Whether several devices run the unit; where that is not said, whether it is made for several.
fn is_for_several(cx: &Cx<'_>) -> bool {
    if let Some(devices) = cx.options.devices {
        return devices > 1;
    }
    cx.module.exprs.iter().any(|op| matches!(op, ExprOp::Device | ExprOp::Devices))
        || cx.module.instrs.iter().any(|instr| matches!(instr, Instr::SyNotify { .. }))
        || cx.outline.tensors.iter().any(|tensor| tensor.location == MemLocation::Shared)
}

/// A notification that a graph sends, or waits for.
struct Notice {
    graph: u32,
    number: NotifyNo,
    /// Whether it is sent.
    is_sent: bool,
    /// The device that it is sent to, or that is waited for.
    device: i64,
    block: BlockId,
    /// The instruction.
    at: u32,
    /// The kernel that it follows or holds back, if one is named.
    node: Option<u32>,
}

struct Checker<'c, 'm> {
    cx: &'c Cx<'m>,
    order: &'c Order,
    /// Accesses of kernels and copies, and what conditions load, by tensor.
    list: Rc<[Access]>,
    /// Of each graph the blocks in which it is launched.
    launches: Vec<Vec<BlockId>>,
    notices: Vec<Notice>,
}

impl Checker<'_, '_> {
    /// Of tensors, each with two accesses to it, whether devices touch the same bytes of it.
    fn device_by_device(&self, open: &[(Access, Access)], steps: &mut Steps) -> Vec<Met> {
        let tensors: OrderedSet<u32> = open.iter().map(|(a, _)| a.tensor).collect();
        if tensors.is_empty() {
            return Vec::new();
        }
        let devices = devices(self.cx).min(MOST_DEVICES);
        let is_common = |tensor: u32| tensors.contains(&tensor);
        let each: Vec<OnDevice> = (0..devices)
            .map(|device| OnDevice::new(self.cx, &self.list, device, &is_common, steps))
            .collect();
        let are_all = self.cx.options.devices == Some(devices);
        let is_whole = are_all && each.iter().all(|device| device.is_whole);
        let may_poll = self.may_poll();
        let mut met: OrderedMap<u32, Met> =
            tensors.iter().map(|of| (*of, self.met(&each, (is_whole, may_poll), *of, steps))).collect();
        let left: OrderedSet<u32> =
            met.iter().filter(|(_, met)| matches!(met, Met::Maybe)).map(|(tensor, _)| *tensor).collect();
        if !left.is_empty() && !may_poll {
            let between = met_between(self.cx, &self.list, &left, steps).unwrap_or_default();
            met.extend(between.into_iter().filter(|(_, met)| are_all || !matches!(met, Met::Never)));
        }
        met.into_values().collect()
    }

    /// Whether devices touch the same bytes of a tensor; `is_whole` says that these devices do nothing else, and are all, and `may_poll` that one may wait
    /// for memory.
    fn met(
        &self,
        each: &[OnDevice],
        (is_whole, may_poll): (bool, bool),
        tensor: u32,
        steps: &mut Steps,
    ) -> Met {
        let may_wait = may_poll || self.notices.iter().any(|notice| !notice.is_sent);
        let mut found = if is_whole { Met::Never } else { Met::Maybe };
        let pairs = each.iter().enumerate().flat_map(|(at, a)| each[at + 1..].iter().map(move |b| (a, b)));
        for (first, second) in pairs {
            let meetings: Vec<_> = first.meetings(second, self.cx, tensor, steps).collect();
            for meeting in meetings {
                let Some((a, b, overlap)) = meeting else { return Met::Maybe };
                match overlap {
                    Certainty::Never => {}
                    Certainty::Surely if !may_wait => {
                        return Met::Surely([first.device, second.device], a, b);
                    }
                    _ if self.is_in_order(&a, &b) => {}
                    _ => found = Met::Maybe,
                }
            }
        }
        found
    }

    /// Whether a device may wait for another in a loop that goes on until memory that all have holds something.
    fn may_poll(&self) -> bool {
        let is_common = |tensor: TensorNo| {
            self.cx.outline.tensor_index(tensor).is_some_and(|tensor| self.is_common(tensor))
        };
        let loads = |scalar: Scalar| {
            let ops = self.cx.module.scalar(scalar).iter();
            ops.filter_map(|op| match op {
                ExprOp::Load(tensor, _) => Some(*tensor),
                _ => None,
            })
            .any(is_common)
        };
        let blocks = &self.cx.outline.blocks;
        let may_leave = |at: u32| blocks.outwards(blocks.around(at)).any(|(_, block)| block.breaks);
        (0..).zip(&self.cx.module.instrs).any(|(at, instr)| match *instr {
            Instr::CfWhile { condition, .. } => loads(condition),
            Instr::CfIf { condition } | Instr::CfBreak { condition } => loads(condition) && may_leave(at),
            _ => false,
        })
    }

    /// Whether all devices have one memory for a tensor.
    fn is_common(&self, tensor: u32) -> bool {
        let def = &self.cx.outline.tensors[tensor as usize];
        def.home == Home::Extern || def.location == MemLocation::Shared
    }

    /// The first two accesses to a tensor that may touch the same bytes on two devices in no order.
    fn open(&self, tensor: u32, steps: &mut Steps) -> Option<(Access, Access)> {
        if !self.is_common(tensor) {
            return None;
        }
        let runs =
            |access: &&Access| !self.launches[access.graph as usize].is_empty() && access.low < access.high;
        let from = self.list.partition_point(|access| access.tensor < tensor);
        let of_tensor = self.list[from..].iter().take_while(|access| access.tensor == tensor);
        let all: Vec<&Access> = of_tensor.filter(runs).collect();
        if !all.iter().any(|access| access.writes()) || self.are_apart(&all) {
            return None;
        }
        for (at, a) in all.iter().enumerate() {
            for b in &all[at..] {
                let cost = 1 + self.notices.len() * self.order.first.len();
                let is_compared = steps.spend(cost) && self.is_in_order(a, b);
                if (a.writes() || b.writes()) && !is_compared {
                    return Some((**a, **b));
                }
            }
        }
        None
    }

    /// Whether accesses move with the device by no less than what all of them span on one.
    fn are_apart(&self, all: &[&Access]) -> bool {
        let spans: Option<Vec<(i128, i128, i128)>> = all.iter().map(|access| self.span(access)).collect();
        let Some(spans) = spans else { return false };
        let low = spans.iter().map(|span| span.0).min().unwrap_or(0);
        let high = spans.iter().map(|span| span.1).max().unwrap_or(0);
        let Some(width) = high.checked_sub(low) else { return false };
        let step = spans[0].2;
        spans.iter().all(|span| span.2 == step) && step.checked_abs().is_some_and(|step| step >= width)
    }

    /// The first byte of an access on device 0, one past the last, and how far both move from device to device.
    fn span(&self, access: &Access) -> Option<(i128, i128, i128)> {
        let (mut offset, size) = range_of(self.cx.known, self.cx.outline, access)?;
        let step = offset.terms.iter().find(|term| term.0 == Variable::Device).map_or(0, |term| term.1);
        offset = offset.add(&Affine { constant: 0, terms: vec![(Variable::Device, step.checked_neg()?)] })?;
        let ends = self.cx.outline.extremes(self.cx.known, access.block, &offset)?;
        Some((ends.low, ends.high.checked_add(size)?, step))
    }

    fn is_in_order(&self, a: &Access, b: &Access) -> bool {
        let (on_a, on_b) = (self.device_of(a), self.device_of(b));
        (on_a.is_some() && on_a == on_b) || self.is_notified(a, b) || self.is_notified(b, a)
    }

    /// The only device on which an access takes place, if there is one.
    fn device_of(&self, access: &Access) -> Option<i64> {
        let by_launch = || {
            let mut devices =
                self.launches[access.graph as usize].iter().map(|block| self.device_around(*block));
            devices.next().flatten().filter(|device| devices.all(|other| other == Some(*device)))
        };
        let by_notice = || {
            let mut waits = self.notices.iter().filter(|wait| !wait.is_sent && self.is_behind(access, wait));
            waits.find_map(|wait| {
                let mut to = self.sent(wait.number).map(|notice| notice.device);
                to.next().filter(|device| to.all(|other| other == *device))
            })
        };
        self.device_around(access.block).or_else(by_launch).or_else(by_notice)
    }

    fn sent(&self, number: NotifyNo) -> impl Iterator<Item = &Notice> {
        self.notices.iter().filter(move |notice| notice.is_sent && notice.number == number)
    }

    fn device_around(&self, block: BlockId) -> Option<i64> {
        let mut around =
            self.cx.outline.blocks.outwards(block).filter(|(_, block)| block.kind == BlockKind::Then);
        around.find_map(|(_, block)| match self.cx.module.instrs[block.open as usize] {
            Instr::CfIf { condition } => match *self.cx.known.scalar(condition) {
                [ExprOp::Device, ExprOp::Const(device), ExprOp::Eq]
                | [ExprOp::Const(device), ExprOp::Device, ExprOp::Eq] => Some(device),
                _ => None,
            },
            _ => None,
        })
    }

    /// Whether the first takes place on one device, which notifies behind it, and the second behind a wait for that.
    fn is_notified(&self, first: &Access, second: &Access) -> bool {
        let Some(device) = self.device_of(first) else { return false };
        if !self.runs_once(first) || !self.runs_once(second) {
            return false;
        }
        let mut waits = self.notices.iter().filter(|wait| !wait.is_sent && wait.device == device);
        waits.any(|wait| {
            self.is_behind(second, wait)
                && self.sent(wait.number).next().is_some()
                && self.sent(wait.number).all(|notice| self.is_before(first, notice))
        })
    }

    /// Whether a graph is launched once, and the access stands in no loop.
    fn runs_once(&self, access: &Access) -> bool {
        let blocks = &self.cx.outline.blocks;
        let is_free = |block: BlockId| !blocks.outwards(block).any(|(_, block)| block.kind.is_loop());
        is_free(access.block)
            && matches!(self.launches[access.graph as usize].as_slice(), [launch] if is_free(*launch))
    }

    fn is_before(&self, access: &Access, notice: &Notice) -> bool {
        notice.graph == access.graph && notice.node.is_some_and(|node| self.leads(access.node, node))
    }

    /// A wait in an arm holds back only what stands in that arm.
    fn is_behind(&self, access: &Access, wait: &Notice) -> bool {
        wait.graph == access.graph
            && self.cx.outline.blocks.is_within(access.block, wait.block)
            && match wait.node {
                Some(node) => self.leads(node, access.node),
                None => access.place > wait.at,
            }
    }

    /// Whether a node is another one, or comes before it.
    fn leads(&self, from: u32, to: u32) -> bool {
        let rank = |node: u32| self.order.rank[node as usize];
        let lane = Lane { starts: vec![rank(from)], targets: vec![rank(to)] };
        self.order.ordered().reached(&[lane]).iter().flatten().any(|reached| *reached)
    }
}

/// Of each graph the blocks in which it, or one that is made of it, is launched.
fn launches(cx: &Cx<'_>) -> Vec<Vec<BlockId>> {
    let parts = parts(cx);
    let mut launches = vec![Vec::new(); cx.outline.graphs.len()];
    for (at, instr) in (0u32..).zip(&cx.module.instrs) {
        let (Instr::TgLaunch { graph_id, .. } | Instr::TgInvoke { graph_id, .. }) = *instr else { continue };
        let launched = cx.outline.graph(graph_id).map_or(&[][..], |graph| &parts[graph as usize]);
        launched.iter().for_each(|part| launches[*part as usize].push(cx.outline.blocks.around(at)));
    }
    // A unit that launches nothing has each graph launched once.
    if launches.iter().all(Vec::is_empty) {
        launches.iter_mut().for_each(|of| of.push(Blocks::HOST));
    }
    launches
}

/// Every notification of the unit. One that names no kernel follows the last before it.
fn notices(cx: &Cx<'_>) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut kernels = NumberMap::new(cx.module.instrs.len());
    let (mut graph, mut last) = (0, None);
    for (at, instr) in (0u32..).zip(&cx.module.instrs) {
        let named = |kernel: KernelNo| (kernel != KernelNo::NONE).then(|| kernels.get(kernel.0)).flatten();
        let (number, is_sent, device, node) = match *instr {
            Instr::TgBegin { graph_id } => {
                (graph, last) = (cx.outline.graph(graph_id).unwrap_or(0), None);
                cx.outline.kernel_map(graph, &mut kernels);
                continue;
            }
            Instr::TgKernel { kernel_id, .. } => {
                last = named(kernel_id);
                continue;
            }
            Instr::SyNotify { device_id, notify_id, after } => {
                (notify_id, true, device_id, named(after).or(last))
            }
            Instr::SyWaitNotify { device_id, notify_id, before } => {
                (notify_id, false, device_id, named(before))
            }
            _ => continue,
        };
        let block = cx.outline.blocks.around(at);
        let device = i64::from(device.0);
        notices.push(Notice { graph, number, is_sent, device, block, at, node });
    }
    notices
}
