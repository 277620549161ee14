//! Whether two devices use the same bytes in no order, where what all of them do is one order.
//!
//! An access comes before another one if the other does not start as long as the first is not complete, whatever else goes on. What goes on at most
//! (kernels that may be skipped send and do not wait) says that two are in order; what goes on at least says that they are in none.

use super::super::Cx;
use super::super::access::Access;
use super::super::overlap::{range_where, takes};
use super::Steps;
use super::each_device::MOST_DEVICES;
use super::joint::{Joint, Mode};
use super::laid_way::{Done, laid_way};
use super::meets::is_conditional;
use super::notices::{Device, Together, devices, together};
use crate::Certainty;
use std::collections::{HashMap, HashSet};
use wsp_ordered::{OrderedMap, OrderedSet};

/// Whether two devices touch the same bytes of a tensor in no order.
#[derive(Clone, Copy)]
pub(in super::super) enum Met {
    Never,
    Maybe,
    /// These devices, by these accesses.
    Surely([u32; 2], Access, Access),
}

/// An access of a device in a round.
struct Use<'a> {
    device: u32,
    access: &'a Access,
    point: u32,
    /// The first byte that it may touch, and one past the last.
    bytes: (i128, i128),
    /// Whether it surely takes place, with exactly these bytes.
    is_sure: bool,
}

/// Of each of some tensors whether devices meet, with all accesses of the unit. `None` if that cannot be told here.
pub(in super::super) fn met_between(
    cx: &Cx<'_>,
    list: &[Access],
    tensors: &OrderedSet<u32>,
    steps: &mut Steps,
) -> Option<OrderedMap<u32, Met>> {
    let devices = devices(cx);
    if devices > MOST_DEVICES {
        return None;
    }
    let each: Vec<Device> =
        (0..devices).map(|device| Device::new(cx, device, devices)).collect::<Option<_>>()?;
    let (Together { ways, mut forms }, is_whole) = together(cx, &each);
    if !is_whole {
        return None;
    }
    let mut accesses: HashMap<u32, Vec<&Access>> = HashMap::new();
    for access in list.iter().filter(|access| tensors.contains(&access.tensor)) {
        accesses.entry(access.at).or_default().push(access);
    }
    let asked: HashSet<u32> = accesses.keys().copied().collect();
    let mut all: OrderedMap<u32, Met> = OrderedMap::new();
    for way in &ways {
        let hosts = each.iter().zip(way).map(|(device, way)| (&device.plan, way));
        let (joint, done) = laid_way(cx, &mut forms, hosts, &asked)?;
        if !steps.spend(4 * joint.len() + 16 * done.len()) {
            return None;
        }
        let mut uses: OrderedMap<u32, Vec<Use<'_>>> = OrderedMap::new();
        for done in &done {
            for access in &accesses[&done.instr] {
                let known = each[done.device as usize].known.as_ref().unwrap_or(cx.known);
                let made = use_of(&cx.with_known(known), done, access);
                made.into_iter().for_each(|made| uses.entry(access.tensor).or_default().push(made));
            }
        }
        let mut order = Order { joint: &joint, without: HashMap::new() };
        for &tensor in tensors {
            let met = order.met(uses.get(&tensor).map_or(&[], Vec::as_slice), steps);
            let met = match (all.get(&tensor), met) {
                (None, met) | (Some(Met::Never), met @ Met::Never) => met,
                (Some(met @ Met::Surely(..)), Met::Surely(..)) => *met,
                _ => Met::Maybe,
            };
            all.insert(tensor, met);
        }
        if all.values().all(|met| matches!(met, Met::Maybe)) {
            break;
        }
    }
    Some(all)
}

/// What an access does in a round; none if it does not take place, or not to its tensor.
fn use_of<'a>(cx: &Cx<'_>, done: &Done, access: &'a Access) -> Option<Use<'a>> {
    let place = (access, done.values.as_slice());
    let takes = takes(cx.known, cx.outline, place);
    if done.is_done == Certainty::Never || takes == Some(false) || access.low >= access.high {
        return None;
    }
    let range = range_where(cx.known, cx.outline, access, &done.values);
    let exact = range.and_then(|(first, size)| {
        let first = first.as_constant()?;
        Some((first, first.checked_add(size)?))
    });
    let is_sure = done.is_done == Certainty::Surely
        && takes == Some(true)
        && exact.is_some()
        && access.is_known()
        && !is_conditional(access);
    let bytes = exact.unwrap_or((access.low.into(), access.high.into()));
    Some(Use { device: done.device, access, point: done.point, bytes, is_sure })
}

struct Order<'j> {
    joint: &'j Joint,
    /// What is complete without a point.
    without: HashMap<(u32, Mode), Vec<bool>>,
}

impl Order<'_> {
    /// Whether two of some uses of a tensor meet on two devices.
    fn met(&mut self, uses: &[Use<'_>], steps: &mut Steps) -> Met {
        let mut found = Met::Never;
        for (at, a) in uses.iter().enumerate() {
            for b in &uses[at + 1..] {
                if !steps.spend(1) {
                    return Met::Maybe;
                }
                let is_apart = a.bytes.1 <= b.bytes.0 || b.bytes.1 <= a.bytes.0;
                if a.device == b.device || is_apart || !(a.access.writes() || b.access.writes()) {
                    continue;
                }
                if self.are_free([a.point, b.point], Mode::Most, steps) == Some(false) {
                    continue;
                }
                found = Met::Maybe;
                if a.is_sure
                    && b.is_sure
                    && self.are_free([a.point, b.point], Mode::Least, steps) == Some(true)
                {
                    return Met::Surely([a.device, b.device], *a.access, *b.access);
                }
            }
        }
        found
    }

    /// Whether each of two points may be complete without the other. `None` if no steps are left.
    fn are_free(&mut self, [a, b]: [u32; 2], mode: Mode, steps: &mut Steps) -> Option<bool> {
        Some(self.is_free(a, b, mode, steps)? && self.is_free(b, a, mode, steps)?)
    }

    fn is_free(&mut self, point: u32, without: u32, mode: Mode, steps: &mut Steps) -> Option<bool> {
        if let Some(done) = self.without.get(&(without, mode)) {
            return Some(done[point as usize]);
        }
        if !steps.spend(4 * self.joint.len()) {
            return None;
        }
        let done = self.joint.done_without(without, mode);
        let is_done = done[point as usize];
        self.without.insert((without, mode), done);
        Some(is_done)
    }
}
