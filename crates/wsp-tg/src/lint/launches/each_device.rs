//! What launches of two devices touch at the same time, each device with its number.

use super::super::Cx;
use super::super::access::Access;
use super::super::overlap::{Values, overlap_in_any_round};
use super::super::values::with_values;
use super::Steps;
use super::conditions::{Condition, Forms};
use super::meets::{is_conditional, parts};
use super::runs::{needs, runs_its_loops};
use super::ways::ways;
use crate::Certainty;
use wsp_core::tg::ExprOp;
use wsp_ir::tg::TgModule;
use wsp_ir::tg::outline::Variable;
use wsp_ordered::OrderedSet;

/// Devices that are looked at together.
pub(in super::super) const MOST_DEVICES: u32 = 16;

/// A launch: the graph, and the iteration if it is known.
type Launched = (u32, Option<i64>);

/// An access on a device.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Use {
    pub(in super::super) access: Access,
    iteration: Option<i64>,
    /// Whether it surely takes place.
    is_sure: bool,
}

/// What one device does.
pub(in super::super) struct OnDevice {
    pub(in super::super) device: u32,
    uses: Vec<Use>,
    /// Whether it does nothing else.
    pub(in super::super) is_whole: bool,
}

impl OnDevice {
    /// What a device does with tensors that all have in common, of all accesses of the unit.
    pub(in super::super) fn new(
        cx: &Cx<'_>,
        list: &[Access],
        device: u32,
        is_common: &dyn Fn(u32) -> bool,
        steps: &mut Steps,
    ) -> OnDevice {
        let known = of_device(cx, device, cx.options.devices);
        let cx = &cx.with_known(known.as_ref().unwrap_or(cx.known));
        let (surely, maybe, is_whole) = launched(cx);
        let (parts, mut forms, mut uses) = (parts(cx), Forms::default(), Vec::new());
        for &(graph, iteration) in &maybe {
            if !steps.spend(list.len()) {
                return OnDevice { device, uses, is_whole: false };
            }
            let is_part = |access: &&Access| parts[graph as usize].contains(&access.graph);
            for access in list.iter().filter(|access| is_common(access.tensor)).filter(is_part) {
                if access.low >= access.high {
                    continue;
                }
                let goes = needs(cx, &mut forms, access, iteration);
                if goes.iter().any(|(holds, goes)| matches!(holds, Condition::Known(known) if known != goes))
                {
                    continue;
                }
                let is_sure = surely.contains(&(graph, iteration))
                    && goes.iter().all(|(holds, _)| matches!(holds, Condition::Known(_)))
                    && runs_its_loops(cx, access)
                    && !is_conditional(access);
                uses.push(Use { access: *access, iteration, is_sure });
            }
        }
        OnDevice { device, uses, is_whole }
    }

    /// Accesses of two devices to a tensor, one of which writes, with whether they touch the same bytes. `None` if that takes too many steps.
    pub(in super::super) fn meetings<'d>(
        &'d self,
        other: &'d OnDevice,
        cx: &'d Cx<'_>,
        tensor: u32,
        steps: &'d mut Steps,
    ) -> impl Iterator<Item = Option<(Access, Access, Certainty)>> + 'd {
        let of = move |all: &'d [Use]| all.iter().filter(move |of| of.access.tensor == tensor);
        let pairs = of(&self.uses).flat_map(move |a| of(&other.uses).map(move |b| (a, b)));
        let pairs = pairs.filter(|(a, b)| a.access.writes() || b.access.writes());
        pairs.map(move |(a, b)| {
            if !steps.spend(8) {
                return None;
            }
            let (of_a, of_b) = (self.values(cx, a), other.values(cx, b));
            let overlap = overlap_in_any_round(
                cx.known,
                cx.outline,
                (&a.access, &of_a as Values<'_>),
                (&b.access, &of_b as Values<'_>),
            );
            let is_sure = [a, b].iter().all(|of| of.is_sure && of.access.is_known());
            let overlap = if overlap == Certainty::Surely && !is_sure { Certainty::Maybe } else { overlap };
            Some((a.access, b.access, overlap))
        })
    }

    /// Values that an access is done with.
    fn values(&self, cx: &Cx<'_>, of: &Use) -> Vec<(Variable, i64)> {
        let device = Some((Variable::Device, i64::from(self.device)));
        let devices = cx.options.devices.map(|devices| (Variable::Devices, i64::from(devices)));
        let iteration = of.iteration.map(|iteration| (Variable::Iteration, iteration));
        [device, devices, iteration].into_iter().flatten().collect()
    }
}

/// The unit with the number of a device, and that of all if it is known, in their places; none if it names neither.
pub(super) fn of_device(cx: &Cx<'_>, device: u32, devices: Option<u32>) -> Option<TgModule> {
    let value = |op: &ExprOp| match *op {
        ExprOp::Device => Some(i64::from(device)),
        ExprOp::Devices => devices.map(i64::from),
        _ => None,
    };
    with_values(cx.known, &value)
}

/// Launches that are made whatever is not known, those that may be, and whether there are no others.
pub(super) fn launched(cx: &Cx<'_>) -> (OrderedSet<Launched>, OrderedSet<Launched>, bool) {
    let (mut surely, mut maybe) = (None::<OrderedSet<Launched>>, OrderedSet::new());
    let is_whole = ways(cx, |way, _| {
        let here: OrderedSet<Launched> =
            way.launches.iter().map(|launch| (launch.graph, launch.iteration)).collect();
        surely = Some(
            surely.take().map_or_else(|| here.clone(), |all| all.intersection(&here).copied().collect()),
        );
        maybe.extend(here);
        true
    });
    (surely.unwrap_or_default(), maybe, is_whole)
}
