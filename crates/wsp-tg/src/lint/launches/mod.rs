//! Launches that use the same bytes in no order, and tensors that the host releases under a launch.
//!
//! The statements of the host are gone through along every way that conditions leave open (`ways`); along each, launches that are in no order
//! (`order`, `events`) are compared access by access. What cannot be compared is handed over to the run (`open`).

mod arms;
mod between;
mod choices;
mod conditions;
mod each_device;
mod event_order;
mod events;
mod gangs;
mod goes;
mod items;
mod joint;
mod laid;
mod laid_pairs;
mod laid_way;
mod levels;
mod notices;
mod open;
mod order;
mod restores;
mod rounds;
mod runs;
mod skips;
mod stuck;
mod unlaunched;
mod ways;

use super::access::Access;
use super::flow::verb_of;
use super::order::Order;
use super::overlap::{overlap, overlap_where, takes};
use super::{Cx, LAUNCHES, NOT_ALL, error, warning};
use crate::Certainty;
pub(super) use arms::Arms;
pub(super) use between::{Met, met_between};
use conditions::{Condition, Forms, is_of_launch};
use each_device::of_device;
pub(super) use each_device::{MOST_DEVICES, OnDevice};
pub use event_order::EventOrder;
use events::Events;
pub(super) use gangs::check as check_gangs;
use laid::Use;
pub(super) use laid_pairs::{Asked, InOrder, LaidPairs};
pub(super) use notices::{check as check_notices, devices};
pub use open::{EventWait, GraphEvents, LaunchUse, OpenLaunches, OpenUse, UseWait, UsedBy};
use open::{by_event, user_of};
use order::LaunchOrder;
use runs::{needs, surely_runs};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use stuck::Stuck;
use unlaunched::Needs;
use ways::{Launch, Way, ways};
use wsp_core::tg::{ExprOp, GraphNo, Instr, MemLocation, Scalar, StreamNo, TensorRef};
use wsp_diag::Diagnostic;
use wsp_ir::tg::outline::{BlockKind, Home, Variable};

/// Steps after which launches are not compared any further.
const MOST_STEPS: usize = 40_000_000;
/// What it costs of them to keep something.
const STEPS_TO_KEEP: usize = 64;

/// Steps that are left.
pub(super) struct Steps(usize);

impl Steps {
    pub(super) fn new(most: usize) -> Steps {
        Steps(most)
    }

    /// Takes steps; `false` if there are too few, and then none are left.
    pub(super) fn spend(&mut self, steps: usize) -> bool {
        self.0 = self.0.saturating_sub(steps);
        self.0 > 0
    }

    pub(super) fn are_over(&self) -> bool {
        self.0 == 0
    }
}

pub(super) fn check(cx: &mut Cx<'_>, order: &Order) {
    let mut streams = BTreeSet::new();
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

/// Two accesses of two launches, by place in the list.
#[derive(Clone, Copy)]
struct Meeting {
    a: usize,
    b: usize,
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

struct Checker<'o> {
    events: Events<'o>,
    stuck: Stuck,
    /// Accesses of kernels and copies, and what conditions load, by tensor and then in program order.
    list: Rc<[Access]>,
    /// Per graph its accesses to what others may see, by tensor.
    uses_of: Vec<Vec<usize>>,
    meetings: BTreeMap<(u32, u32), Rc<[Meeting]>>,
    /// What is to be said.
    found: BTreeMap<Place, Race>,
    /// Instructions of launches of which no meeting is in order.
    told: BTreeSet<(u32, u32)>,
    /// Instructions that release or restore tensors that a launch may use: its instruction.
    frees: BTreeMap<(u32, u32), u32>,
    /// Whether the unit saves checkpoints.
    saves: bool,
    /// Of tensors of which not everything is known here two accesses that may meet, the instructions of both launches, and whether an event may order
    /// them.
    open: BTreeMap<u32, (Meeting, (u32, u32), bool)>,
    /// What is left to the run: graphs that are launched, and accesses.
    uses: BTreeSet<(u32, usize)>,
    /// Whether launches are on several streams.
    has_streams: bool,
    /// Whether the host releases or restores something.
    host_writes: bool,
    steps: Steps,
    /// Whether not everything was compared.
    is_cut: bool,
}

impl<'o> Checker<'o> {
    fn new(cx: &Cx<'_>, order: &'o Order, has_streams: bool, host_writes: bool) -> Checker<'o> {
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
            uses.sort_unstable();
            uses
        };
        let mut steps = Steps::new(MOST_STEPS);
        Checker {
            events: Events::new(cx, order, &parts, &mut steps),
            stuck: Stuck::default(),
            list,
            uses_of: parts.iter().map(of).collect(),
            meetings: BTreeMap::new(),
            found: BTreeMap::new(),
            told: BTreeSet::new(),
            frees: BTreeMap::new(),
            saves: cx.module.instrs.iter().any(|instr| matches!(instr, Instr::TgCheckpoint { .. })),
            open: BTreeMap::new(),
            uses: BTreeSet::new(),
            has_streams,
            host_writes,
            steps,
            is_cut: false,
        }
    }

    fn way(&mut self, cx: &Cx<'_>, way: &Way, forms: &mut Forms) {
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
    fn each_device(&mut self, cx: &Cx<'_>, order: &Order) {
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
        let mut meetings: BTreeMap<(u32, u32, u32), Vec<Meeting>> = BTreeMap::new();
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
        // One that is sure is told, and no other of its nodes.
        meetings.values_mut().for_each(|all| all.sort_by_key(|meeting| !meeting.is_sure));
        meetings.into_values().flatten().collect()
    }

    fn report(mut self, cx: &mut Cx<'_>) {
        self.stuck.report(cx, &self.events, !self.is_cut);
        for ((.., first, second), race) in &self.found {
            let ends = [race.meeting.a, race.meeting.b].map(|at| self.list[at]);
            tell(cx, (*first, *second), race, &ends);
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

/// Per graph the graphs that it is made of.
pub(super) fn parts(cx: &Cx<'_>) -> Vec<Vec<u32>> {
    let mut parts: Vec<Vec<u32>> = Vec::new();
    for (at, graph) in (0u32..).zip(&cx.outline.graphs) {
        let of = |no: GraphNo| cx.outline.graph(no).filter(|part| *part < at);
        let made = match graph.parts {
            Some((first, second)) => {
                let fused = [first, second].into_iter().filter_map(of);
                fused.flat_map(|part| parts[part as usize].clone()).collect()
            }
            None => vec![at],
        };
        parts.push(made);
    }
    parts
}

/// Accesses of kernels and copies, and what conditions load, by tensor and then in program order.
pub(super) fn with_loads(cx: &Cx<'_>, order: &Order) -> Rc<[Access]> {
    let decisions = order.decisions();
    let loads = cx.accesses.loads.iter();
    let loads = loads.filter_map(|load| decisions.get(&load.at).map(|&node| Access { node, ..*load }));
    let mut list: Vec<Access> = cx.accesses.list.iter().copied().chain(loads).collect();
    list.sort_by_key(|access| (access.tensor, access.place, access.at));
    list.into()
}

/// Whether two accesses touch the same bytes, and whether they surely do.
fn meets(cx: &Cx<'_>, a: &Access, b: &Access) -> Option<bool> {
    let moves = moves(cx, a) || moves(cx, b);
    match overlap(cx.known, cx.outline, a, b) {
        Certainty::Surely => Some(!moves && !is_conditional(a) && !is_conditional(b)),
        Certainty::Maybe => Some(false),
        Certainty::Never => moves.then_some(false),
    }
}

/// Whether two accesses of two launches touch the same bytes on a way.
fn meets_on(
    cx: &Cx<'_>,
    (way, forms): (&Way, &mut Forms),
    (is_sure, (x, a), (y, b)): (bool, (&Access, &Launch), (&Access, &Launch)),
    steps: &mut Steps,
) -> Certainty {
    let needs: Vec<(Condition, bool)> = [(x, a), (y, b)]
        .into_iter()
        .flat_map(|(of, launch)| needs(cx, forms, of, launch.iteration))
        .collect();
    if !needs.is_empty() && !way.allows(forms, &needs, steps) {
        return Certainty::Never;
    }
    let overlap = match (is_sure, a.iteration, b.iteration) {
        (true, ..) => Certainty::Surely,
        (false, Some(of_a), Some(of_b)) => {
            let [of_a, of_b] = [of_a, of_b].map(|iteration| [(Variable::Iteration, iteration)]);
            overlap_where(cx.known, cx.outline, (x, &of_a), (y, &of_b))
        }
        _ => Certainty::Maybe,
    };
    match overlap {
        Certainty::Surely if is_conditional(x) || is_conditional(y) => Certainty::Maybe,
        overlap => overlap,
    }
}

/// Whether a launch on a way may do an access, to its tensor.
fn may_take(
    cx: &Cx<'_>,
    (way, forms): (&Way, &mut Forms),
    access: &Access,
    launch: &Launch,
    steps: &mut Steps,
) -> bool {
    let iteration: Vec<(Variable, i64)> =
        launch.iteration.iter().map(|iteration| (Variable::Iteration, *iteration)).collect();
    if takes(cx.known, cx.outline, (access, &iteration)) == Some(false) {
        return false;
    }
    let needs = needs(cx, forms, access, launch.iteration);
    needs.is_empty() || way.allows(forms, &needs, steps)
}

/// Whether an access is done only as the left side of an operator goes.
fn is_conditional(access: &Access) -> bool {
    access.load.is_some_and(|load| load.is_conditional)
}

/// Whether an access takes place each time that its graph runs.
fn is_certain(cx: &Cx<'_>, access: &Access) -> bool {
    surely_runs(cx, access) && !is_conditional(access)
}

/// Whether the tensor or the bytes of an access differ from launch to launch.
fn moves(cx: &Cx<'_>, access: &Access) -> bool {
    if let Some(load) = access.load {
        return !access.exact && load.offset(cx.module).contains(&ExprOp::Iteration);
    }
    let Instr::McBind { tensor_id, offset, size, .. } = cx.module.instrs[access.at as usize] else {
        return false;
    };
    let moves = |scalar: Scalar| cx.module.scalar(scalar).contains(&ExprOp::Iteration);
    // A scalar of the host may have another value for each launch; sums with it are not compared anyway.
    let differs = |op: &ExprOp| match *op {
        ExprOp::Iteration => true,
        ExprOp::Arg(arg) => !is_of_launch(cx, arg),
        _ => false,
    };
    let is_other = match tensor_id {
        TensorRef::Table { index, .. } => cx.module.expr(index).iter().any(differs),
        _ => false,
    };
    is_other || (!access.exact && (moves(offset) || moves(size)))
}

/// The name of the graph that an instruction launches.
fn launched_by(cx: &Cx<'_>, at: u32) -> String {
    match cx.module.instrs[at as usize] {
        Instr::TgBegin { graph_id }
        | Instr::TgLaunch { graph_id, .. }
        | Instr::TgInvoke { graph_id, .. }
        | Instr::TgRestore { graph_id, .. } => {
            cx.outline.graph(graph_id).map_or_else(String::new, |graph| cx.graph_name(graph))
        }
        _ => String::new(),
    }
}

fn tell(cx: &mut Cx<'_>, (first, second): (u32, u32), race: &Race, [a, b]: &[Access; 2]) {
    let is_same = race.is_same;
    let is_sure = a.is_known() && b.is_known() && is_certain(cx, a) && is_certain(cx, b) && !is_same;
    let of = if is_sure { error } else { warning };
    if cx.is_full() {
        return cx.report(of(LAUNCHES, "no order".to_owned()));
    }
    let graphs = [launched_by(cx, first), launched_by(cx, second)];
    let tensor = cx.tensor_name(a.tensor);
    let ends = [a, b].map(|of| user_of(cx, of));
    let users = ends.each_ref().map(|(user, name)| user.said(name));
    let message = match is_same {
        true => format!("two launches of graph `{}` use `{tensor}` in no order", graphs[0]),
        false => format!("launches of graphs `{}` and `{}` use `{tensor}` in no order", graphs[0], graphs[1]),
    };
    let mut found = cx.on(of(LAUNCHES, message), second, "submitted while the other may run");
    if first != second {
        found = cx.and(found, first, "the other launch");
    }
    found = cx.and(found, a.at, &format!("{} of the other {} it here", users[0], verb_of(a.direction)));
    found = cx.and(found, b.at, &format!("{} {} it here", users[1], verb_of(b.direction)));
    if let Some(at) = race.skipped {
        found = cx.and(found, at, "where this loop runs no round");
    }
    if is_same {
        found = found.note("a simulation runs them one after another; a device does not");
    }
    found = found.note("TG_SYNC behind the other launch orders them, and so does one stream for both");
    found = waits_for(cx, found, first);
    if !is_same {
        let [of_a, of_b] = &ends;
        found = by_event(found, (of_a.0, &of_a.1, &graphs[0]), (of_b.0, &of_b.1, &graphs[1]));
    }
    cx.report(found);
}

/// Says what to write to wait for a launch, and where it may stand: a graph that was never launched cannot be waited for.
fn waits_for(cx: &Cx<'_>, found: Diagnostic, launch: u32) -> Diagnostic {
    let graph = launched_by(cx, launch);
    let found = found.help(format!("TG_SYNC({graph})"));
    let around = cx.outline.blocks.get(cx.outline.blocks.around(launch)).kind;
    if around == BlockKind::Host {
        return found;
    }
    let opener = around.opener();
    found.help(format!(
        "directly behind the launch of `{graph}`, in its `{opener}`: where that does not run, there is no launch to wait for"
    ))
}
