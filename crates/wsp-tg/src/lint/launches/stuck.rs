//! Launches that wait for launches which cannot come.
//!
//! A launch that waits for an event waits for ever where no launch signals it, and where the one that does comes behind it: behind a wait of the host
//! for it, behind it on its stream, or by events. On a way of the host that is a cycle of edges that surely hold.

use super::super::{AT_LAUNCH, Cx, NEVER_HAPPENS, error, note};
use super::Steps;
use super::conditions::Forms;
use super::events::Events;
use super::order::LaunchOrder;
use super::skips::may_all_run;
use super::tell::launched_by;
use super::way::Way;
use wsp_core::tg::{EventNo, GraphNo, Instr};
use wsp_diag::{Code, Diagnostic};
use wsp_ir::tg::Namespace;
use wsp_ordered::OrderedMap;

/// A wait that is never over.
struct Found {
    event: EventNo,
    /// The kernel that waits.
    kernel: u32,
    /// What the launch that signals comes behind.
    behind: Option<Behind>,
    /// Other kernels that wait in a cycle with it.
    others: Vec<(EventNo, u32)>,
    /// On how many ways it is surely so.
    ways: usize,
    /// Whether it is so on some way where a kernel runs that its graph may skip.
    is_open: bool,
    /// A device on which it is surely so, if it is not on all.
    device: Option<u32>,
}

/// What keeps a launch from coming.
#[derive(Clone, Copy)]
enum Behind {
    /// A wait of the host, by its instruction.
    Host(u32),
    /// A launch on the same stream, by the instruction of the later one.
    Stream(u32),
    /// Nothing but events: launches wait for each other, or one for itself.
    Events,
}

/// What ways so far say.
#[derive(Default)]
pub(super) struct Stuck {
    /// By the instruction of the launch that waits, and the event.
    found: OrderedMap<(u32, EventNo), Found>,
    ways: usize,
    /// Ways on which something surely waits for ever.
    hung: usize,
}

impl Stuck {
    /// Takes a way up; `is_whole` says whether all of its launches are in the order.
    pub(super) fn way(
        &mut self,
        cx: &Cx<'_>,
        (way, forms): (&Way, &mut Forms),
        (order, events): (&LaunchOrder, &Events<'_>),
        is_whole: bool,
        steps: &mut Steps,
    ) {
        self.ways += 1;
        let mut found = OrderedMap::new();
        let wait_of = |(launch, number): (usize, u32)| {
            let wait = &events.waits_of(way.launches[launch].graph)[number as usize];
            (wait.event, wait.nodes[0])
        };
        let mut add = |of: (usize, u32), behind: Option<Behind>, others: Vec<(EventNo, u32)>, is_sure| {
            let (event, kernel) = wait_of(of);
            found.entry((way.launches[of.0].at, event)).or_insert((kernel, behind, others, is_sure));
        };
        // Whether a kernel runs may go by the round of a loop of the host: then nothing is said of those that may be skipped.
        let is_known = |launch: usize| !way.launches[launch].by_rounds;
        let unsignalled = order.unsignalled().iter().filter(|_| is_whole);
        for &(wait, is_sure) in unsignalled.filter(|((launch, _), is_sure)| *is_sure || is_known(*launch)) {
            add(wait, None, Vec::new(), is_sure);
        }
        let waits: OrderedMap<u32, (usize, u32)> = order.places_of_waits().collect();
        let told = |places: Option<Vec<u32>>| places.and_then(|places| cycle(way, order, &waits, &places));
        let mut is_sure = true;
        let mut stuck = told(order.cycle(|_| false));
        if stuck.is_none() && order.is_open() {
            is_sure = false;
            stuck = told(order.cycle(|place| waits.get(&place).is_some_and(|(launch, _)| is_known(*launch))));
            stuck = stuck.filter(|Cycle { wait, others, .. }| {
                let waits = std::iter::once(wait).chain(others);
                let kernels = waits.map(|wait| (wait_of(*wait).1, way.launches[wait.0].iteration));
                may_all_run(cx, (way, forms), kernels, steps)
            });
        }
        if let Some(Cycle { wait, behind, others }) = stuck {
            add(wait, Some(behind), others.into_iter().map(wait_of).collect(), is_sure);
        }
        self.hung += usize::from(found.values().any(|(.., is_sure)| *is_sure));
        for ((at, event), (kernel, behind, others, is_sure)) in found {
            let found = Found { event, kernel, behind, others, ways: 0, is_open: false, device: None };
            let found = self.found.entry((at, event)).or_insert(found);
            found.ways += usize::from(is_sure);
            found.is_open |= !is_sure;
        }
    }

    /// Whether something waits for ever, but not on all ways.
    pub(super) fn is_open(&self) -> bool {
        self.hung < self.ways && !self.found.is_empty()
    }

    /// Takes up what waits for ever where something does on all ways of the host of a device, which `of` has followed.
    pub(super) fn on_device(&mut self, device: u32, of: Stuck) {
        let all = of.found.into_iter().filter(|(_, found)| found.ways > 0 && of.hung == of.ways);
        for (place, mut found) in all {
            let known = self.found.remove(&place).filter(|known| known.device.is_some());
            found.device = Some(device);
            self.found.insert(place, known.unwrap_or(found));
        }
    }

    /// `is_whole` says whether there are no other ways.
    pub(super) fn report(&self, cx: &mut Cx<'_>, events: &Events<'_>, is_whole: bool) {
        for ((at, _), found) in &self.found {
            let always = found.device.is_some() || (is_whole && found.ways > 0 && self.hung == self.ways);
            tell(cx, *at, found, events, always);
        }
        let waits = (0..cx.outline.graphs.len() as u32).any(|graph| !events.waits_of(graph).is_empty());
        if !is_whole && waits {
            let message = "whether launches wait for events for ever was not looked at to the end";
            let found = note(AT_LAUNCH, message)
                .note("the host has too many ways through its conditions and loops, or too many launches")
                .note("a run stops where nothing goes on");
            cx.report(found.help("make launches that wait for events in fewer blocks and loops"));
        }
    }
}

/// Launches that wait for each other.
struct Cycle {
    wait: (usize, u32),
    /// What keeps the launch from coming that signals.
    behind: Behind,
    others: Vec<(usize, u32)>,
}

/// A wait in a cycle of places, if there is one; `waits` are those of the order by place.
fn cycle(
    way: &Way,
    order: &LaunchOrder,
    waits: &OrderedMap<u32, (usize, u32)>,
    cycle: &[u32],
) -> Option<Cycle> {
    // Nothing but a wait for an event leads back to an earlier launch.
    let (start, wait) = cycle
        .iter()
        .enumerate()
        .filter_map(|(at, place)| Some((at, *waits.get(place)?)))
        .min_by_key(|(_, wait)| *wait)?;
    let around = cycle[start..].iter().chain(&cycle[..start]);
    let pairs = around.clone().zip(around.skip(1));
    let mut behind = pairs.filter_map(|(from, to)| match (order.launch_of_end(*from), order.begun(*to)) {
        (Some(_), Some(launch)) => Some(Behind::Stream(way.launches[launch].at)),
        _ => order.host_wait(*to).map(|wait| Behind::Host(way.waits[wait])),
    });
    let others = cycle.iter().filter_map(|place| waits.get(place)).filter(|other| **other != wait);
    Some(Cycle { wait, behind: behind.next().unwrap_or(Behind::Events), others: others.copied().collect() })
}

fn tell(cx: &mut Cx<'_>, at: u32, found: &Found, events: &Events<'_>, always: bool) {
    let name = cx.module.name(Namespace::Event, GraphNo(0), found.event.0);
    let graph = launched_by(cx, at);
    let (of, message): (fn(Code, String) -> Diagnostic, _) = match always {
        true => {
            let on = found.device.map_or_else(String::new, |device| format!("on device {device} "));
            (
                error,
                format!("{on}graph `{graph}` waits for event `{name}`, which no launch can signal by then"),
            )
        }
        false => {
            let ways = match found.is_open {
                true => "where the conditions and loops of graphs let its kernel run",
                false => "as the conditions and loops of the host may go",
            };
            (note, format!("graph `{graph}` may wait for event `{name}` for ever, {ways}"))
        }
    };
    let mut told = cx.on(of(NEVER_HAPPENS, message), at, "launched here");
    let is_cycle = matches!(found.behind, Some(Behind::Events));
    for (number, of) in std::iter::once((found.event, found.kernel)).chain(found.others.clone()).enumerate() {
        if let Some(wait) = wait_of(cx, of).filter(|_| number == 0 || is_cycle) {
            told = cx.and(told, wait, "waits here");
        }
    }
    told = match found.behind {
        Some(Behind::Host(wait)) if wait != at => cx.and(told, wait, "the host waits here for ever"),
        Some(Behind::Stream(other)) if other != at => {
            cx.and(told, other, "this launch is behind it on the same stream")
        }
        _ => told,
    };
    let graphs = 0..cx.outline.graphs.len() as u32;
    let by = graphs.filter(|graph| events.signalled_by(*graph).contains(&found.event));
    let by: Vec<String> = by.map(|graph| format!("`{}`", cx.graph_name(graph))).collect();
    let Some(first) = by.first() else {
        return cx.report(told.help(format!("signal it: SY_SIGNAL({name}, KERNEL)")));
    };
    told = told.note(format!("signalled by {}", by.join(", ")));
    if matches!(cx.module.instrs[at as usize], Instr::TgBegin { .. }) {
        told =
            told.note("the host launches nothing, so each graph is launched once, in order, on one stream");
        return cx.report(
            told.help(format!("write {first} before, or launch the graphs: TG_LAUNCH({graph}, STREAM)")),
        );
    }
    if is_cycle {
        told = told.note(match found.others.is_empty() {
            true => "the first launch that signals it is this one, behind the wait".to_owned(),
            false => "these launches wait for each other".to_owned(),
        });
        return cx.report(told.help(format!(
            "remove a wait, or launch before it a graph that signals `{name}` and does not wait so"
        )));
    }
    let help = format!("launch {first} before, or on another stream and before the host waits");
    cx.report(told.help(help));
}

/// The instruction by which a kernel waits.
fn wait_of(cx: &Cx<'_>, (event, kernel): (EventNo, u32)) -> Option<u32> {
    let kernel = &cx.outline.kernels[kernel as usize];
    let graph = &cx.outline.graphs[kernel.graph as usize];
    (graph.at..graph.end).find(|&at| match cx.module.instrs[at as usize] {
        Instr::SyWait { event_id, dst_kernel } => event_id == event && dst_kernel == kernel.no,
        _ => false,
    })
}
