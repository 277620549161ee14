//! Launches along a way of the host, compared access by access.

use super::super::access::Access;
use super::super::order::Order;
use super::super::{Cx, LAUNCHES, NOT_ALL, error, warning};
use super::conditions::Forms;
use super::each_device::of_device;
use super::events::Events;
use super::laid::Use;
use super::meets::{is_certain, may_take, meets, meets_on, parts, with_loads};
use super::order::LaunchOrder;
use super::stuck::Stuck;
use super::tell::{launched_by, tell, waits_for};
use super::way::{Launch, Way};
use super::ways::ways;
use super::{MOST_DEVICES, MOST_STEPS, STEPS_TO_KEEP, Steps};
use crate::Certainty;
use std::rc::Rc;
use wsp_core::tg::{Instr, MemLocation};
use wsp_ir::tg::outline::Home;
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// Two accesses of two launches, by place in the list.
#[derive(Clone, Copy)]
pub(super) struct Meeting {
    pub(super) a: usize,
    pub(super) b: usize,
    is_sure: bool,
}

/// Where two launches meet: two nodes, a tensor, and the instructions of both launches.
type Place = (u32, u32, u32, u32, u32);

/// Two launches that meet in no order.
struct Race {
    meeting: Meeting,
    is_same: bool,
    /// A loop that runs no round on the way on which they do.
    skipped: Option<u32>,
}

pub(super) struct Checker<'o> {
    pub(super) events: Events<'o>,
    pub(super) stuck: Stuck,
    /// Accesses of kernels and copies, and what conditions load, by tensor and then in program order.
    pub(super) list: Rc<[Access]>,
    /// Per graph its accesses to what others may see, by tensor.
    pub(super) uses_of: Vec<Vec<usize>>,
    meetings: OrderedMap<(u32, u32), Rc<[Meeting]>>,
    /// What is to be said.
    found: OrderedMap<Place, Race>,
    /// Instructions of launches of which no meeting is in order.
    told: OrderedSet<(u32, u32)>,
    /// Instructions that release or restore tensors that a launch may use: its instruction.
    frees: OrderedMap<(u32, u32), u32>,
    /// Whether the unit saves checkpoints.
    saves: bool,
    /// Of tensors of which not everything is known here two accesses that may meet, the instructions of both launches, and whether an event may order
    /// them.
    pub(super) open: OrderedMap<u32, (Meeting, (u32, u32), bool)>,
    /// What is left to the run: graphs that are launched, and accesses.
    pub(super) uses: OrderedSet<(u32, usize)>,
    /// Whether launches are on several streams.
    pub(super) has_streams: bool,
    /// Whether the host releases or restores something.
    host_writes: bool,
    pub(super) steps: Steps,
    /// Whether not everything was compared.
    pub(super) is_cut: bool,
}

impl<'o> Checker<'o> {
    pub(super) fn new(cx: &Cx<'_>, order: &'o Order, has_streams: bool, host_writes: bool) -> Checker<'o> {
        let parts = parts(cx);
        let mut own = vec![Vec::new(); cx.outline.graphs.len()];
        let list = with_loads(cx, order);
        for (at, access) in list.iter().enumerate() {
            let def = &cx.outline.tensors[access.tensor as usize];
            let is_hidden = matches!(def.home, Home::Graph(_)) && def.location != MemLocation::Shared;
            if !is_hidden && access.low < access.high {
                own[access.graph as usize].push(at);
            }
        }
        let of = |parts: &Vec<u32>| {
            let mut uses: Vec<usize> =
                parts.iter().flat_map(|part| own[*part as usize].iter().copied()).collect();
            uses.arrange();
            uses
        };
        let mut steps = Steps::new(MOST_STEPS);
        Checker {
            events: Events::new(cx, order, &parts, &mut steps),
            stuck: Stuck::default(),
            list,
            uses_of: parts.iter().map(of).collect(),
            meetings: OrderedMap::new(),
            found: OrderedMap::new(),
            told: OrderedSet::new(),
            frees: OrderedMap::new(),
            saves: cx.module.instrs.iter().any(|instr| matches!(instr, Instr::TgCheckpoint { .. })),
            open: OrderedMap::new(),
            uses: OrderedSet::new(),
            has_streams,
            host_writes,
            steps,
            is_cut: false,
        }
    }

    pub(super) fn way(&mut self, cx: &Cx<'_>, way: &Way, forms: &mut Forms) {
        let mut order = LaunchOrder::new(cx, (way, &mut *forms), &mut self.events, &mut self.steps);
        let is_whole = way.is_whole && !self.steps.are_over();
        self.stuck.way(cx, (way, &mut *forms), (&order, &self.events), is_whole, &mut self.steps);
        let compared = if self.has_streams || self.host_writes { way.launches.len() } else { 0 };
        for first in 0..compared {
            for second in first + 1..way.launches.len() {
                if !self.steps.spend(1) {
                    break;
                }
                if !order.is_behind(first, second, &mut self.steps) {
                    self.pair(cx, (way, &mut *forms), &mut order, first, second);
                }
            }
        }
        for free in &way.frees {
            if !self.steps.spend(way.launches.len()) {
                break;
            }
            let user = (0..free.launches).find(|&at| {
                self.may_use(cx, (way, &mut *forms), free.tensor, &way.launches[at])
                    && !order.is_over(at, free.waits, &mut self.steps)
            });
            if let Some(user) = user {
                self.frees.entry((free.at, free.tensor)).or_insert(way.launches[user].at);
            }
        }
    }

    /// Looks on each device by itself for launches that wait for ever; where it is not known how many there are, on the first.
    pub(super) fn each_device(&mut self, cx: &Cx<'_>, order: &Order) {
        for device in 0..cx.options.devices.unwrap_or(1).min(MOST_DEVICES) {
            let Some(known) = of_device(cx, device, cx.options.devices) else { return };
            let cx = &cx.with_known(&known);
            let (mut stuck, mut steps) = (Stuck::default(), Steps::new(MOST_STEPS));
            let mut events = Events::new(cx, order, &parts(cx), &mut steps);
            let is_whole = ways(cx, |way, forms| {
                let order = LaunchOrder::new(cx, (way, &mut *forms), &mut events, &mut steps);
                let is_whole = way.is_whole && !steps.are_over();
                stuck.way(cx, (way, forms), (&order, &events), is_whole, &mut steps);
                !steps.are_over()
            });
            if is_whole && !steps.are_over() {
                self.stuck.on_device(device, stuck);
            }
        }
    }

    /// Whether a launch on a way may use a tensor. One that is saved is resumed with all that its graph names.
    fn may_use(
        &mut self,
        cx: &Cx<'_>,
        (way, forms): (&Way, &mut Forms),
        tensor: u32,
        launch: &Launch,
    ) -> bool {
        let uses = &self.uses_of[launch.graph as usize];
        let from = uses.partition_point(|&at| self.list[at].tensor < tensor);
        let uses = uses[from..].iter().map(|&at| &self.list[at]);
        let mut uses = uses.take_while(|access| access.tensor == tensor);
        let of = |access| Use { graph: launch.graph, access, iteration: None };
        uses.any(|access| {
            self.saves
                || (may_take(cx, (way, &mut *forms), access, launch, &mut self.steps)
                    && self.events.laid(cx).may_meet(cx, [of(access); 2]))
        })
    }

    fn pair(
        &mut self,
        cx: &Cx<'_>,
        (way, forms): (&Way, &mut Forms),
        order: &mut LaunchOrder,
        first: usize,
        second: usize,
    ) {
        let (a, b) = (way.launches[first], way.launches[second]);
        if self.told.contains(&(a.at, b.at)) {
            return;
        }
        let (mut is_told, list) = (true, Rc::clone(&self.list));
        for meeting in &*self.meetings_of(cx, a.graph, b.graph) {
            let (x, y) = (list[meeting.a], list[meeting.b]);
            let place = (x.node, y.node, x.tensor, a.at, b.at);
            if !self.steps.spend(1) || self.found.contains_key(&place) {
                continue;
            }
            // What a restored launch had behind it when it was saved does not run again.
            let is_over = x.place < a.from || y.place < b.from;
            let steps = &mut self.steps;
            let ends = [(first, &x), (second, &y)];
            let mut is_ordered = |may, forms: &mut Forms, steps: &mut Steps| {
                let mut ordered =
                    |ends| order.is_ordered(cx, (way, &mut *forms), &mut self.events, ends, may, &mut *steps);
                ordered(ends) || ordered([ends[1], ends[0]])
            };
            let meets = match is_over || is_ordered(false, forms, steps) || steps.are_over() {
                true => Certainty::Never,
                false => meets_on(cx, (way, forms), (meeting.is_sure, (&x, &a), (&y, &b)), steps),
            };
            // Only a run knows which kernels are skipped.
            let may_wait = meets != Certainty::Never && is_ordered(true, forms, steps);
            let meets = if may_wait { Certainty::Maybe } else { meets };
            is_told &= meets == Certainty::Surely;
            // Only a run knows which arms it takes, and which loops it leaves.
            if meets != Certainty::Never
                && (meets == Certainty::Maybe || !is_certain(cx, &x) || !is_certain(cx, &y))
            {
                self.uses.extend([(a.graph, meeting.a), (b.graph, meeting.b)]);
            }
            if meets == Certainty::Surely {
                steps.spend(STEPS_TO_KEEP);
                let race = Race { meeting: *meeting, is_same: a.graph == b.graph, skipped: b.skipped };
                self.found.insert(place, race);
            } else if meets == Certainty::Maybe {
                self.open.entry(place.2).or_insert((*meeting, (a.at, b.at), may_wait));
            }
        }
        if is_told {
            self.told.insert((a.at, b.at));
        }
    }

    fn meetings_of(&mut self, cx: &Cx<'_>, first: u32, second: u32) -> Rc<[Meeting]> {
        if let Some(meetings) = self.meetings.get(&(first, second)) {
            return Rc::clone(meetings);
        }
        self.steps.spend(STEPS_TO_KEEP);
        let meetings: Rc<[Meeting]> = self.meet(cx, first, second).into();
        self.meetings.insert((first, second), Rc::clone(&meetings));
        meetings
    }

    /// Accesses of two graphs that touch the same bytes, one of which writes: of each pair of nodes and tensor those first that are sure.
    fn meet(&mut self, cx: &Cx<'_>, first: u32, second: u32) -> Vec<Meeting> {
        let list = &self.list;
        let mut meetings: OrderedMap<(u32, u32, u32), Vec<Meeting>> = OrderedMap::new();
        let mut rest = self.uses_of[second as usize].as_slice();
        for of_tensor in self.uses_of[first as usize].chunk_by(|a, b| list[*a].tensor == list[*b].tensor) {
            let tensor = list[of_tensor[0]].tensor;
            rest = &rest[rest.partition_point(|&at| list[at].tensor < tensor)..];
            let others = &rest[..rest.partition_point(|&at| list[at].tensor == tensor)];
            for (&at, &other) in of_tensor.iter().flat_map(|a| others.iter().map(move |b| (a, b))) {
                if !self.steps.spend(1) {
                    return Vec::new();
                }
                let (a, b) = (&list[at], &list[other]);
                let key = (a.node, b.node, tensor);
                if !(a.writes() || b.writes()) {
                    continue;
                }
                let of = |graph, access| Use { graph, access, iteration: None };
                let ends = [of(first, a), of(second, b)];
                let is_sure = meets(cx, a, b).filter(|_| self.events.laid(cx).may_meet(cx, ends));
                if let Some(is_sure) = is_sure {
                    self.steps.spend(STEPS_TO_KEEP);
                    meetings.entry(key).or_default().push(Meeting { a: at, b: other, is_sure });
                }
            }
        }
        // Of a node's findings one that is sure is reported, and no other.
        meetings.values_mut().for_each(|all| all.arrange_by_key(|meeting| !meeting.is_sure));
        meetings.into_values().flatten().collect()
    }

    pub(super) fn report(mut self, cx: &mut Cx<'_>) {
        self.stuck.report(cx, &self.events, !self.is_cut);
        for ((.., first, second), race) in &self.found {
            let ends = [race.meeting.a, race.meeting.b].map(|at| self.list[at]);
            tell(cx, (*first, *second), (race.is_same, race.skipped), &ends);
        }
        for ((at, tensor), launch) in &self.frees {
            let name = cx.tensor_name(*tensor);
            let graph = launched_by(cx, *launch);
            let is_free = matches!(cx.module.instrs[*at as usize], Instr::McFree { .. });
            let done = if is_free { "released" } else { "restored" };
            let message = format!("`{name}` is {done} while a launch of graph `{graph}` may use it");
            let found = error(LAUNCHES, message);
            let found = cx.on(found, *at, &format!("{done} here"));
            let found = cx.and(found, *launch, "launched here, and not waited for");
            cx.report(waits_for(cx, found, *launch));
        }
        if self.is_cut && self.host_writes {
            cx.releases_are_open = true;
            let message = "not all that the host releases or restores was compared with launches";
            let found = warning(NOT_ALL, message)
                .note("the host has too many ways through its conditions and loops, or too many launches");
            cx.report(found.help(
                "wait with TG_SYNC, in fewer blocks, for launches that use what it releases or restores",
            ));
        }
        self.leave_open(cx);
    }
}
