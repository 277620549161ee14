//! Memory, events, notifications, partitions and graphs that nothing uses.

use super::{Cx, NEVER_READ, NEVER_USED, NEVER_WRITTEN, note, warning};
use wsp_core::tg::{Direction, GraphNo, Instr, PartitionNo, TensorNo};
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Span, UNUSED_ITEM, is_meant, unused};
use wsp_ir::tg::outline::{Home, NumberMap};
use wsp_ir::tg::{Namespace, RefValue};
use wsp_ordered::Arrange;

pub(super) fn check(cx: &mut Cx<'_>) {
    tensors(cx);
    events(cx);
    notifications(cx);
    partitions(cx);
    graphs(cx);
}

fn tensors(cx: &mut Cx<'_>) {
    let mut is_loaded = vec![false; cx.outline.tensors.len()];
    for tensor in cx.accesses.loaded() {
        is_loaded[tensor as usize] = true;
    }
    let host_loads = host_loads(cx);
    let referenced = |no: TensorNo| {
        let mut values = cx.module.references.iter().flat_map(|reference| &reference.bindings);
        values.any(|(_, value)| *value == RefValue::Tensor(no))
    };
    let residents = residents(cx);
    let mut found = Vec::new();
    for (at, tensor) in cx.outline.tensors.iter().enumerate() {
        let uses = cx.accesses.of(at as u32);
        let name = cx.tensor_name(at as u32);
        if tensor.home == Home::Extern {
            let is_resident = residents.as_ref().is_none_or(|names| names.contains(&name.as_str()));
            let is_read = is_loaded[at] || host_loads.contains(&tensor.no) || referenced(tensor.no);
            if uses.is_empty() && !is_read && !is_resident && !is_meant(&name) {
                found.push(extern_unused(cx, tensor.no, &name));
            }
            continue;
        }
        let is_read = is_loaded[at] || host_loads.contains(&tensor.no) || !uses.is_empty();
        if is_read && uses.iter().all(|access| access.direction == Direction::In) {
            let message = format!("`{name}` is read and never written");
            let mut finding =
                cx.on(warning(NEVER_WRITTEN, message), tensor.at, "holds what was in memory before");
            if let Some(access) = uses.first() {
                finding = cx.and(finding, access.at, "read here");
            }
            found.push(finding.help(format!(
                "let a kernel or a copy write it, or declare it as external: `extern {name}` instead of MC_ALLOC"
            )));
            continue;
        }
        if is_loaded[at] || host_loads.contains(&tensor.no) || referenced(tensor.no) {
            continue;
        }
        if uses.is_empty() {
            let label = tensor
                .bytes
                .map_or(String::new(), |bytes| format!("{} that nothing uses", counted(bytes, "byte")));
            let finding = cx.on(warning(NEVER_USED, format!("`{name}` is never used")), tensor.at, &label);
            found.push(finding.help(format!("remove MC_ALLOC({name}, …), or bind it to a kernel")));
        } else if uses.iter().all(|access| access.direction == Direction::Out) {
            let finding =
                cx.on(warning(NEVER_READ, format!("`{name}` is written and never read")), tensor.at, "");
            let finding = cx.and(finding, uses[0].at, "written here");
            found.push(finding.help(format!(
                "remove it, or declare it as external if it is a result: `extern {name}` instead of MC_ALLOC"
            )));
        }
    }
    found.into_iter().for_each(|finding| cx.report(finding));
}

/// An external tensor that nothing uses.
fn extern_unused(cx: &Cx<'_>, tensor: TensorNo, name: &str) -> Diagnostic {
    let declared = cx.module.externs.iter().find(|of| of.tensor == tensor);
    unused(
        UNUSED_ITEM,
        format!("external tensor `{name}` is never used"),
        declared.map_or(Span::default(), |of| of.span),
    )
    .help(format!("remove `extern {name}`, or bind it to a kernel: MC_BIND(KERNEL, ARGUMENT, {name})"))
}

/// Names of what kernels keep resident, which an external tensor of the same name is; none where a kernel has no signature.
fn residents<'m>(cx: &Cx<'m>) -> Option<Vec<&'m str>> {
    let mut names = Vec::new();
    for instr in &cx.module.instrs {
        let Instr::TgKernel { entry_symbol, .. } = instr else { continue };
        let signature = cx.signatures.get(cx.module.str(*entry_symbol))?;
        names.extend(signature.resident.iter().map(|arg| arg.name.as_str()));
    }
    Some(names)
}

/// Tensors that conditions of the host read.
fn host_loads(cx: &Cx<'_>) -> Vec<TensorNo> {
    let mut loaded = Vec::new();
    for instr in &cx.module.instrs {
        let condition = match *instr {
            Instr::CfIf { condition } | Instr::CfWhile { condition, .. } | Instr::CfBreak { condition } => {
                condition
            }
            Instr::CfLoop { count, .. } => count,
            Instr::TgInvoke { iteration, .. } => iteration,
            _ => continue,
        };
        loaded.extend(cx.module.scalar(condition).iter().filter_map(|op| match op {
            wsp_core::tg::ExprOp::Load(tensor, _) => Some(*tensor),
            _ => None,
        }));
    }
    loaded
}

fn events(cx: &mut Cx<'_>) {
    let mut waited = NumberMap::new(cx.module.instrs.len());
    for instr in &cx.module.instrs {
        if let Instr::SyWait { event_id, .. } = instr {
            waited.insert(event_id.0, 0);
        }
    }
    let mut told = NumberMap::new(cx.module.instrs.len());
    for (at, instr) in cx.module.instrs.iter().enumerate() {
        let Instr::SySignal { event_id, .. } = *instr else { continue };
        if waited.get(event_id.0).is_some() || told.get(event_id.0).is_some() {
            continue;
        }
        told.insert(event_id.0, 0);
        let name = cx.module.name(Namespace::Event, GraphNo(0), event_id.0);
        let finding = cx.on(warning(NEVER_USED, format!("nothing waits for event `{name}`")), at as u32, "");
        cx.report(finding.help(format!("wait for it: SY_WAIT({name}, KERNEL); or remove the signal")));
    }
}

/// Notifications that go to no device, or that nothing waits for.
fn notifications(cx: &mut Cx<'_>) {
    let mut waited = NumberMap::new(cx.module.instrs.len());
    for instr in &cx.module.instrs {
        if let Instr::SyWaitNotify { notify_id, .. } = instr {
            waited.insert(notify_id.0, 0);
        }
    }
    let mut told = NumberMap::new(cx.module.instrs.len());
    // On one device notifications do nothing, which another check reports.
    let devices = cx.options.devices.filter(|devices| *devices > 1);
    for (at, instr) in cx.module.instrs.iter().enumerate() {
        let Instr::SyNotify { device_id, notify_id, .. } = *instr else { continue };
        let name = cx.module.name(Namespace::Notify, GraphNo(0), notify_id.0);
        let to = device_id.0;
        if let Some(devices) = devices.filter(|devices| to >= *devices) {
            let message = format!("notification `{name}` is sent to device {to}, which does not exist");
            let finding = cx.on(warning(NEVER_USED, message), at as u32, "");
            let there = format!("there are {}, counted from 0", counted(devices, "device"));
            cx.report(finding.note(there).help("send it to one of these, or remove it"));
        } else if waited.get(notify_id.0).is_none() && told.get(notify_id.0).is_none() {
            told.insert(notify_id.0, 0);
            let message = format!("nothing waits for notification `{name}`");
            let finding = cx.on(warning(NEVER_USED, message), at as u32, "");
            cx.report(finding.help(format!(
                "wait for it on device {to}: SY_WAIT_NOTIFY(SENDER, {name}, before = KERNEL); or remove it"
            )));
        }
    }
}

fn partitions(cx: &mut Cx<'_>) {
    let mut used: Vec<PartitionNo> = cx.outline.kernels.iter().map(|kernel| kernel.partition).collect();
    used.extend(cx.module.instrs.iter().filter_map(|instr| match instr {
        Instr::TgLaunch { partition, .. } => Some(*partition),
        _ => None,
    }));
    used.arrange();
    used.dedup();
    let unused = cx.outline.partitions.iter().filter(|partition| used.binary_search(&partition.no).is_err());
    let unused: Vec<_> = unused.copied().collect();
    for partition in unused {
        let name = cx.module.name(Namespace::Partition, GraphNo(0), partition.no.0);
        let finding =
            cx.on(note(NEVER_USED, format!("nothing runs in partition `{name}`")), partition.at, "");
        cx.report(finding.help(format!("name it: TG_KERNEL(…, partition = {name}) or TG_LAUNCH(…, {name})")));
    }
}

/// Graphs that a unit which launches some does not launch.
fn graphs(cx: &mut Cx<'_>) {
    let mut used = vec![false; cx.outline.graphs.len()];
    let mut launches = false;
    for instr in &cx.module.instrs {
        let graphs: &[GraphNo] = match instr {
            Instr::TgLaunch { graph_id, .. }
            | Instr::TgInvoke { graph_id, .. }
            | Instr::TgRestore { graph_id, .. } => {
                launches = true;
                &[*graph_id]
            }
            Instr::TgFuse { graph1, graph2, .. } => &[*graph1, *graph2],
            _ => continue,
        };
        for graph in graphs.iter().filter_map(|graph| cx.outline.graph(*graph)) {
            used[graph as usize] = true;
        }
    }
    if !launches {
        return;
    }
    for graph in (0..used.len() as u32).filter(|graph| !used[*graph as usize]) {
        let name = cx.graph_name(graph);
        let at = cx.outline.graphs[graph as usize].at;
        let finding = cx.on(warning(NEVER_USED, format!("graph `{name}` is never launched")), at, "");
        cx.report(finding.help(format!("TG_LAUNCH({name}, default)")));
    }
}
