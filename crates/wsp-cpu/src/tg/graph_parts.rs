//! A graph of a unit as the runtime takes it.

use rustc_hash::FxHashMap;
use wsp_core::tg::EventNo;
use wsp_runtime::tg::{
    Affinity, CoreRange, EventInfo, Granted, GraphParts, KernelInfo, NotifyInfo, Partition,
};
use wsp_tg::plan::{EventItem, GraphPlan, NotifyItem, PlanPartition, UnitPlan};

/// What the runtime knows of a graph.
pub(super) fn parts(plan: &GraphPlan, unit: &UnitPlan) -> GraphParts {
    let records = plan.records.clone();
    let event_name = |event: EventNo| {
        let found = unit.events.iter().find(|of| of.no == event);
        found.map_or_else(|| event.0.to_string(), |of| of.name.clone())
    };
    let notify = |item: &NotifyItem| NotifyInfo {
        device: item.device.0,
        id: item.notify.0,
        name: item.notify.0.to_string(),
    };
    let event = |of: &EventItem| EventInfo { event: of.event.0, name: event_name(of.event) };
    GraphParts {
        nodes: records.nodes,
        needs: records.needs,
        succs: records.succs,
        guards: records.guards,
        decisions: records.decisions,
        loops: records.loops,
        gangs: records.gangs,
        members: records.members,
        top: records.top,
        name: plan.name.clone(),
        kernels: (0..plan.kernels.len()).map(|item| kernel_info(plan, unit, item)).collect(),
        copies: plan.copies.iter().map(|copy| format!("copy.{}", copy.copy)).collect(),
        frees: plan
            .frees
            .iter()
            .map(|free| format!("the release of `{}`", unit.tensors[free.tensor as usize].name))
            .collect(),
        notifies: plan.notifies.iter().map(notify).collect(),
        waits: plan.notify_waits.iter().map(notify).collect(),
        checkpoints: plan.checkpoints.iter().map(|of| of.checkpoint.0).collect(),
        event_waits: plan.event_waits.iter().map(event).collect(),
        signals: plan.signals.iter().map(event).collect(),
        affinities: affinities(plan),
    }
}

fn kernel_info(plan: &GraphPlan, unit: &UnitPlan, item: usize) -> KernelInfo {
    let kernel = &plan.kernels[item];
    let def = &plan.defs[kernel.def as usize];
    let with = |item: &u32| plan.defs[plan.kernels[*item as usize].def as usize].block_dim;
    KernelInfo {
        name: plan.kernel_name(item as u32),
        blocks: def.block_dim + kernel.batch.iter().map(with).sum::<u32>(),
        core_type: def.core_type,
        partition: partitions(unit).get(&def.partition.0).copied(),
        request: def.request.map(|[aic, aiv, aicpu]| Granted { aic, aiv, aicpu }),
        persistent: def.persistent,
    }
}

fn affinities(plan: &GraphPlan) -> Vec<Affinity> {
    let items = |def: &u32| {
        (0..plan.kernels.len() as u32).filter(|&k| plan.kernels[k as usize].def == *def).collect::<Vec<u32>>()
    };
    plan.affinities
        .iter()
        .map(|of| Affinity { kind: of.kind, members: of.members.iter().map(items).collect() })
        .collect()
}

pub(super) fn partitions(unit: &UnitPlan) -> FxHashMap<u32, Partition> {
    let of = |p: &PlanPartition| Partition {
        aic: CoreRange { start: p.aic_start, count: p.aic_count },
        aiv: CoreRange { start: p.aiv_start, count: p.aiv_count },
    };
    unit.partitions.iter().map(|partition| (partition.no.0, of(partition))).collect()
}
