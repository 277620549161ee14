//! Devices that wait for each other: notifications that cannot come any more.
//!
//! What all devices do is one order: the launches of a way of each host, and in each the graph as a run lays it out for this device. A wait for a
//! notification goes on once enough were sent to it: each lets one wait through, so a wait behind others for the same ones needs more. Sending and waiting commute,
//! so one way through the order decides. Where it is open whether a kernel runs, or which of two waits comes first, what lets most go on says what is
//! an error, and what lets least go on what may happen.

use super::super::{AT_LAUNCH, Cx, NEVER_HAPPENS, NOT_ALL, error, note, warning};
use super::conditions::Forms;
use super::each_device::{MOST_DEVICES, of_device};
use super::joint::{Mode, Wait};
use super::laid_way::laid_way;
use super::way::Way;
use super::ways::ways_where;
use crate::elaborate::elaborate;
use crate::plan::{ElaborateOptions, UnitPlan};
use std::collections::HashSet;
use wsp_core::tg::{GraphNo, Instr};
use wsp_diag::{Code, Diagnostic};
use wsp_ir::tg::{Namespace, TgModule};
use wsp_ordered::OrderedMap;

/// Ways of all hosts together that are followed.
const MOST_TOGETHER: usize = 128;

/// A device: the unit as it sees it, and as it lays it out.
pub(super) struct Device {
    pub(super) known: Option<TgModule>,
    pub(super) plan: UnitPlan,
}

/// A wait that is never over, or may not be.
struct Found {
    wait: Wait,
    /// How many times the device waits so, and how many notifications it is sent.
    counts: (u64, u64),
    /// Other waits that are not over then.
    others: Vec<Wait>,
    /// On how many ways it is surely so.
    ways: usize,
}

pub(in super::super) fn check(cx: &mut Cx<'_>) {
    if !cx.module.instrs.iter().any(|instr| matches!(instr, Instr::SyWaitNotify { .. })) {
        return;
    }
    let devices = devices(cx);
    if devices < 2 {
        return;
    }
    if devices > MOST_DEVICES {
        return not_looked_at(cx, devices);
    }
    let each: Option<Vec<Device>> = (0..devices).map(|device| Device::new(cx, device, devices)).collect();
    let Some(each) = each else { return };
    let (together, mut is_whole) = together(cx, &each);
    let asked = HashSet::new();
    let (mut found, mut ways): (OrderedMap<(u32, u32), Found>, usize) = (OrderedMap::new(), 0);
    let mut hangs = 0;
    let mut forms = together.forms;
    for way in &together.ways {
        ways += 1;
        let hosts = each.iter().zip(way).map(|(device, way)| (&device.plan, way));
        let Some((joint, _)) = laid_way(cx, &mut forms, hosts, &asked) else {
            is_whole = false;
            continue;
        };
        // What hangs without a notification is told elsewhere.
        if joint.hangs_anyway() {
            hangs += 1;
            continue;
        }
        let surely = joint.stuck(Mode::Most);
        let stuck = match surely.is_empty() {
            false => surely.clone(),
            true => [Mode::Taken, Mode::Left]
                .into_iter()
                .map(|mode| joint.stuck(mode))
                .find(|stuck| !stuck.is_empty())
                .unwrap_or_default(),
        };
        let Some(wait) = stuck.first() else { continue };
        let place = (wait.device, wait.at);
        let found = found.entry(place).or_insert_with(|| Found {
            wait: *wait,
            counts: joint.counts(wait),
            others: stuck[1..].to_vec(),
            ways: 0,
        });
        found.ways += usize::from(!surely.is_empty());
    }
    hangs += found.values().map(|found| found.ways).sum::<usize>();
    let always = is_whole && hangs == ways;
    for found in found.values() {
        tell(cx, found, devices, always);
    }
    if !is_whole {
        let message = "whether devices wait for notifications for ever was not looked at to the end";
        let cut = note(AT_LAUNCH, message)
            .note("hosts have too many ways through their conditions and loops, too many launches, or restore some")
            .note("a run stops where nothing goes on");
        cx.report(cut.help("send and wait in fewer blocks and loops"));
    }
}

/// How many devices run the unit: where that is not known, those that notifications name, and at least two.
pub(in super::super) fn devices(cx: &Cx<'_>) -> u32 {
    let named = cx.module.instrs.iter().filter_map(|instr| match *instr {
        Instr::SyNotify { device_id, .. } | Instr::SyWaitNotify { device_id, .. } => Some(device_id.0),
        _ => None,
    });
    cx.options.devices.unwrap_or_else(|| named.max().unwrap_or(0).saturating_add(1).max(2))
}

/// Says that there are more devices than are followed.
fn not_looked_at(cx: &mut Cx<'_>, devices: u32) {
    let message = format!("whether {devices} devices wait for notifications for ever was not looked at");
    let found = warning(NOT_ALL, message)
        .note(format!("up to {MOST_DEVICES} devices are followed; a run stops where nothing goes on"));
    let help = format!("check it for fewer devices: `--devices {MOST_DEVICES}`");
    cx.report(found.help(help));
}

impl Device {
    pub(super) fn new(cx: &Cx<'_>, device: u32, devices: u32) -> Option<Device> {
        let known = of_device(cx, device, Some(devices));
        let module = known.as_ref().unwrap_or(cx.known);
        let plan = elaborate(module, cx.signatures, &ElaborateOptions::default()).ok()?;
        Some(Device { known, plan })
    }
}

/// Ways of the hosts of all devices that may go together.
pub(super) struct Together {
    pub(super) ways: Vec<Vec<Way>>,
    pub(super) forms: Forms,
}

/// Those of some devices, and whether they are all.
pub(super) fn together(cx: &Cx<'_>, each: &[Device]) -> (Together, bool) {
    let mut all = Together { ways: vec![Vec::new()], forms: Forms::default() };
    let mut is_whole = true;
    for device in each {
        let cx = &cx.with_known(device.known.as_ref().unwrap_or(cx.known));
        let mut next: Vec<Vec<Way>> = Vec::new();
        for before in &all.ways {
            // Scalars are the same on all devices.
            let known = before.last().map(|way| way.known().clone()).unwrap_or_default();
            is_whole &= ways_where(cx, &mut all.forms, &known, |way, _| {
                next.push(before.iter().chain([way]).cloned().collect());
                next.len() < MOST_TOGETHER
            });
            if next.len() >= MOST_TOGETHER {
                is_whole = false;
                break;
            }
        }
        all.ways = next;
    }
    (all, is_whole)
}

fn tell(cx: &mut Cx<'_>, found: &Found, devices: u32, always: bool) {
    let Wait { device, from, notify, at } = found.wait;
    let name = cx.module.name(Namespace::Notify, GraphNo(0), notify);
    let (waits, sent) = found.counts;
    let times = |count: u64| match count {
        0 => "never sends it".to_owned(),
        1 => "sends it once".to_owned(),
        count => format!("sends it {count} times"),
    };
    let (of, condition): (fn(Code, String) -> Diagnostic, _) = match (always, cx.options.devices) {
        (true, Some(_)) => (error, String::new()),
        (true, None) => (warning, format!(", if {devices} devices run the unit")),
        (false, _) => (note, ", as conditions and loops may go".to_owned()),
    };
    let waits_for =
        format!("device {device} {} for notification `{name}`", if always { "waits" } else { "may wait" });
    let message = match waits > sent {
        true if waits == 1 => format!("{waits_for} for ever: device {from} {}{condition}", times(sent)),
        true => {
            format!(
                "{waits_for} for ever: it waits {waits} times, and device {from} {}{condition}",
                times(sent)
            )
        }
        false => format!("{waits_for} of device {from} for ever: devices wait for each other{condition}"),
    };
    let mut told = cx.on(of(NEVER_HAPPENS, message), at, &format!("device {device} waits here"));
    for other in found.others.iter().filter(|other| other.at != at || other.device != device).take(4) {
        let of = cx.module.name(Namespace::Notify, GraphNo(0), other.notify);
        let text = format!("device {} waits for `{of}` of device {} here", other.device, other.from);
        told = cx.and(told, other.at, &text);
    }
    let sends = |instr: &Instr| match *instr {
        Instr::SyNotify { device_id, notify_id, .. } => (device_id.0, notify_id.0) == (device, notify),
        _ => false,
    };
    let sender = cx.module.instrs.iter().position(sends);
    told = match sender.filter(|_| waits <= sent) {
        Some(sender) => cx.and(told, sender as u32, &format!("device {from} sends it here")),
        None => told,
    };
    let mut stuck = std::iter::once(&found.wait).chain(&found.others);
    if waits <= sent && stuck.any(|wait| is_in_text_order(cx, wait)) {
        told = told.note(
            "the SY_NOTIFY of one notification to one device, and its SY_WAIT_NOTIFY, take place in the order of the text: each waits for those before it",
        );
    }
    let help = match waits > sent {
        true => format!("send it for each wait, on device {from}: SY_NOTIFY({device}, {name})"),
        false => {
            format!(
                "send it before device {from} waits: SY_NOTIFY({device}, {name}, after = KERNEL), of a kernel that comes behind no wait"
            )
        }
    };
    cx.report(told.help(help));
}

/// Whether several statements send a notification, or wait for it.
fn is_in_text_order(cx: &Cx<'_>, wait: &Wait) -> bool {
    let (mut sends, mut waits) = (0, 0);
    for instr in &cx.module.instrs {
        match *instr {
            Instr::SyNotify { device_id, notify_id, .. } => {
                sends += u32::from((device_id.0, notify_id.0) == (wait.device, wait.notify));
            }
            Instr::SyWaitNotify { device_id, notify_id, .. } => {
                waits += u32::from((device_id.0, notify_id.0) == (wait.from, wait.notify));
            }
            _ => {}
        }
    }
    sends > 1 || waits > 1
}
