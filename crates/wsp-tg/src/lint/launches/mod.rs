//! Launches that use the same bytes in no order, and tensors that the host releases under a launch.
//!
//! The statements of the host are gone through along every way that conditions leave open (`ways`, out of `statements`); along each, launches that are in no order
//! (`order`, `events`) are compared access by access (`checker`, `meets`). What cannot be compared is handed over to the run (`open`).

mod arms;
mod between;
mod checker;
mod choices;
mod conditions;
mod each_device;
mod event_order;
mod events;
mod exclusive;
mod gangs;
mod goes;
mod handed_over;
mod items;
mod joint;
mod laid;
mod laid_pairs;
mod laid_way;
mod levels;
mod meets;
mod notices;
mod open;
mod order;
mod restores;
mod rounds;
mod runs;
mod skips;
mod statements;
mod steps;
mod stuck;
mod tell;
mod unlaunched;
mod way;
mod ways;

use super::Cx;
use super::order::Order;
pub(super) use arms::Arms;
pub(super) use between::{Met, met_between};
use checker::Checker;
use each_device::of_device;
pub(super) use each_device::{MOST_DEVICES, OnDevice};
pub use event_order::EventOrder;
pub(crate) use exclusive::{Arm, ExclusiveArms};
pub(super) use gangs::check as check_gangs;
pub(super) use laid_pairs::{Asked, InOrder, LaidPairs};
pub(super) use meets::{parts, with_loads};
pub(super) use notices::{check as check_notices, devices};
pub use open::{EventWait, GraphEvents, LaunchUse, OpenLaunches, OpenUse, UseWait, UsedBy};
pub(super) use steps::Steps;
use steps::{MOST_STEPS, STEPS_TO_KEEP};
use unlaunched::Needs;
use ways::ways;
use wsp_core::tg::{Instr, StreamNo};
use wsp_ordered::OrderedSet;

pub(super) fn check(cx: &mut Cx<'_>, order: &Order) {
    let mut streams = OrderedSet::new();
    let (mut has_free, mut has_restore) = (false, false);
    for instr in &cx.module.instrs {
        match *instr {
            Instr::TgLaunch { stream, .. } => _ = streams.insert(stream),
            Instr::TgInvoke { .. } => _ = streams.insert(StreamNo(0)),
            Instr::McFree { .. } => has_free = true,
            Instr::TgRestore { .. } => has_restore = true,
            _ => {}
        }
    }
    // Launches on one stream are in order; what the host releases or restores is in none.
    let has_streams = streams.len() > 1;
    let host_writes = has_free || has_restore;
    let waits = cx.module.instrs.iter().any(|instr| matches!(instr, Instr::SyWait { .. }));
    let mut checker =
        (has_streams || host_writes || waits).then(|| Checker::new(cx, order, has_streams, host_writes));
    let mut needs = Needs::new(cx);
    if checker.is_none() && needs.are_fine() {
        return;
    }
    let is_whole = ways(cx, |way, forms| {
        needs.way(way);
        let Some(checker) = &mut checker else { return true };
        checker.way(cx, way, forms);
        !checker.steps.are_over()
    });
    needs.report(cx, is_whole);
    if let Some(mut checker) = checker {
        checker.is_cut |= !is_whole || checker.steps.are_over();
        if checker.stuck.is_open() {
            checker.each_device(cx, order);
        }
        checker.report(cx);
    }
}
