//! Gangs, requests and barriers against the cores of the device.

use super::order::Order;
use super::reach::Lane;
use super::{CAPACITY, Cx, GANG, PARTITION, SHARED_CORES, UNORDERED_BY_BARRIER, error, note, warning};
use crate::matrix::described;
use wsp_core::tg::{CoreType, DependencyType, Instr, PartitionNo};
use wsp_ir::tg::outline::{KernelDef, NumberMap};
use wsp_ordered::Arrange;

/// Kernels with requests beyond which it is not worked out which of them may run together.
const MAX_REQUESTS: usize = 512;

/// Cube cores, vector cores, threads of the AICPU.
type Cores = [u64; 3];

pub(super) fn check(cx: &mut Cx<'_>, order: &Order) {
    let module = cx.module;
    let mut kernels = NumberMap::new(module.instrs.len());
    let mut requests: Vec<(u32, Cores, u32)> = Vec::new();
    for (at, instr) in module.instrs.iter().enumerate() {
        let at = at as u32;
        match *instr {
            Instr::TgBegin { graph_id } => {
                requests.clear();
                if let Some(graph) = cx.outline.graph(graph_id) {
                    cx.outline.kernel_map(graph, &mut kernels);
                }
            }
            Instr::CaPartition { partition_id, .. } => partition(cx, at, partition_id),
            Instr::SyBarrier { kernel_set, .. } => {
                let members: Vec<u32> =
                    module.set(kernel_set).iter().filter_map(|no| kernels.get(no.0)).collect();
                gang(cx, at, &members);
            }
            Instr::CaRequest { kernel_id, aic_count, aiv_count, aicpu_count } => {
                let Some(kernel) = kernels.get(kernel_id.0) else { continue };
                let cores = [aic_count, aiv_count, aicpu_count].map(u64::from);
                if request(cx, at, kernel, cores) {
                    requests.push((kernel, cores, at));
                }
            }
            Instr::TgDepend { src_kernel, dst_kernel, dep_type: DependencyType::Barrier, .. } => {
                let kernel = |node: wsp_core::tg::NodeNo| node.kernel().and_then(|no| kernels.get(no.0));
                if let (Some(from), Some(to)) = (kernel(src_kernel), kernel(dst_kernel)) {
                    between(cx, at, from, to);
                }
            }
            Instr::TgEnd { .. } => together(cx, order, &requests),
            _ => {}
        }
    }
}

/// Cores that all blocks of a kernel take at once.
fn cores_of(cx: &Cx<'_>, kernel: &KernelDef) -> Cores {
    let blocks = u64::from(kernel.block_dim);
    match kernel.core_type {
        CoreType::Aic => [blocks, 0, 0],
        CoreType::Aiv => [0, blocks, 0],
        CoreType::AicAiv => [blocks, blocks * u64::from(cx.options.device.aiv_per_aic), 0],
        CoreType::Aicpu => [0, 0, blocks],
    }
}

/// The cores on which a kernel may run, and what they are called.
fn capacity(cx: &Cx<'_>, partition: PartitionNo) -> (Cores, String) {
    let device = cx.options.device;
    let all = [device.aic, device.aiv, device.aicpu].map(u64::from);
    match cx.outline.partition(partition) {
        Some(def) => {
            let name =
                cx.module.name(wsp_ir::tg::Namespace::Partition, wsp_core::tg::GraphNo(0), partition.0);
            ([u64::from(def.aic.1), u64::from(def.aiv.1), all[2]], format!("partition `{name}`"))
        }
        None => match cx.options.platform {
            Some(platform) => (all, format!("a device of {}", described(platform))),
            None => (all, "the device".to_owned()),
        },
    }
}

fn told(cores: Cores) -> String {
    format!("{} cube cores, {} vector cores, {} threads of the AICPU", cores[0], cores[1], cores[2])
}

/// A partition ends behind the last core of the device.
fn partition(cx: &mut Cx<'_>, at: u32, no: PartitionNo) {
    let Some(def) = cx.outline.partition(no).copied() else { return };
    let (have, device) = capacity(cx, PartitionNo::NONE);
    for (what, (start, count), have) in [("cube", def.aic, have[0]), ("vector", def.aiv, have[1])] {
        let end = u64::from(start) + u64::from(count);
        if count == 0 || end <= have {
            continue;
        }
        let name = cx.module.name(wsp_ir::tg::Namespace::Partition, wsp_core::tg::GraphNo(0), no.0);
        let message = format!("partition `{name}` has {what} cores that {device} does not have");
        let label = format!("{what} cores {start} to {}", end - 1);
        let found = cx.on(error(PARTITION, message), at, &label);
        let found = match have {
            0 => found.note(format!("there are no {what} cores")),
            _ => found.note(format!("there are {have} {what} cores, 0 to {}", have - 1)),
        };
        let fits = have.saturating_sub(u64::from(start));
        cx.report(match fits {
            0 => found.help(format!("begin it at a core below {have}")),
            _ => found.help(format!("give it at most {fits} {what} cores from core {start} on")),
        });
    }
}

fn exceeds(need: Cores, have: Cores) -> bool {
    need.iter().zip(have).any(|(need, have)| *need > have)
}

fn gang(cx: &mut Cx<'_>, at: u32, members: &[u32]) {
    let kernels: Vec<KernelDef> = members.iter().map(|kernel| cx.outline.kernels[*kernel as usize]).collect();
    let mut partitions: Vec<PartitionNo> = kernels.iter().map(|kernel| kernel.partition).collect();
    partitions.push(PartitionNo::NONE);
    partitions.arrange();
    partitions.dedup();
    for partition in partitions {
        // All members run on the device, and each on its partition.
        let here = kernels.iter().filter(|k| partition == PartitionNo::NONE || k.partition == partition);
        let need =
            here.map(|kernel| cores_of(cx, kernel)).fold([0; 3], |a, b| [0, 1, 2].map(|i| a[i] + b[i]));
        let (have, name) = capacity(cx, partition);
        if exceeds(need, have) {
            let found =
                cx.on(error(GANG, format!("a gang is larger than {name}")), at, "its members start together");
            let found =
                found.note(format!("it takes {}", told(need))).note(format!("there are {}", told(have)));
            return cx
                .report(found.help("give its kernels fewer blocks, or take some of them out of the gang"));
        }
    }
}

/// Checks a request; whether it can be met.
fn request(cx: &mut Cx<'_>, at: u32, kernel: u32, cores: Cores) -> bool {
    let partition = cx.outline.kernels[kernel as usize].partition;
    let (have, name) = capacity(cx, partition);
    let fits = !exceeds(cores, have);
    if !fits {
        let kernel = cx.kernel_name(kernel);
        let message = format!("kernel `{kernel}` asks for more cores than {name} has");
        let found = cx.on(error(CAPACITY, message), at, "");
        let found =
            found.note(format!("it asks for {}", told(cores))).note(format!("there are {}", told(have)));
        cx.report(found.help("ask for fewer: more blocks than cores run one after another"));
    }
    fits
}

/// Kernels that may run at the same time and together ask for more than there is.
fn together(cx: &mut Cx<'_>, order: &Order, requests: &[(u32, Cores, u32)]) {
    if requests.len() < 2 || requests.len() > MAX_REQUESTS {
        return;
    }
    let mut sorted = requests.to_vec();
    sorted.arrange_by_key(|(kernel, ..)| order.rank[*kernel as usize]);
    let ranks: Vec<u32> = sorted.iter().map(|(kernel, ..)| order.rank[*kernel as usize]).collect();
    let lanes: Vec<Lane> =
        ranks.iter().map(|&rank| Lane { starts: vec![rank], targets: ranks.clone() }).collect();
    let reached = order.ordered().reached(&lanes);
    let apart = |a: usize, b: usize| {
        let block = |at: usize| cx.outline.kernels[sorted[at].0 as usize].block;
        reached[a][b] || reached[b][a] || cx.outline.blocks.exclude(block(a), block(b))
    };
    let (have, name) = capacity(cx, PartitionNo::NONE);
    for first in 0..sorted.len() {
        let mut group = vec![first];
        for other in first + 1..sorted.len() {
            if group.iter().all(|&member| !apart(member, other)) {
                group.push(other);
            }
        }
        let need = group.iter().fold([0; 3], |sum: Cores, &at| [0, 1, 2].map(|i| sum[i] + sorted[at].1[i]));
        if exceeds(need, have) {
            let names: Vec<String> =
                group.iter().map(|&at| format!("`{}`", cx.kernel_name(sorted[at].0))).collect();
            let message = format!("{} together ask for more cores than {name} has", names.join(", "));
            let found = cx.on(note(SHARED_CORES, message), sorted[group[0]].2, "one of the requests");
            let found =
                found.note(format!("they ask for {}", told(need))).note(format!("there are {}", told(have)));
            return cx.report(found.note("they take turns where they run at the same time"));
        }
    }
}

/// Kernels between the two of a barrier are on neither side of it.
fn between(cx: &mut Cx<'_>, at: u32, from: u32, to: u32) {
    if to <= from + 1 {
        return;
    }
    let names: Vec<String> =
        (from + 1..to).take(6).map(|kernel| format!("`{}`", cx.kernel_name(kernel))).collect();
    let more = (to - from - 1) as usize - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!("a barrier does not order {}{more}", names.join(", "));
    let first = cx.outline.kernels[from as usize + 1].at;
    let found = cx.on(
        warning(UNORDERED_BY_BARRIER, message),
        at,
        "ends with its first kernel, begins with its second",
    );
    let found = cx.and(found, first, "stands between the two");
    let next = cx.kernel_name(from + 1);
    let kernel = cx.kernel_name(from);
    cx.report(found.help(format!("TG_DEPEND({kernel}, {next}, BARRIER)")));
}
