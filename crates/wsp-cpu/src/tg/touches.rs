//! Launches on different streams whose bytes the checker could not compare before the run.
//!
//! The checker hands over the uses of bytes that may meet those of another launch. Of each byte of a tensor the last uses are kept that another launch
//! may still meet. A use is compared with them when its bytes are known: before its launch begins, if they follow from declared scalars and the
//! iteration and the kernel surely runs, else before the kernel starts; what conditions load, when they are looked at. Which launches come before
//! which others [`LaunchOrder`] knows.

use super::binding::locate;
use super::code::{GraphCode, Item, When};
use super::launch_order::{Events, LaunchOrder, Submitted, UseOf};
use super::open::loops_around;
use super::shared::Shared;
use super::values::Values;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wsp_core::tg::image::NONE;
use wsp_core::tg::{Direction, EventNo};
use wsp_diag::Diagnostic;
use wsp_tg::plan::{ConditionItem, GraphPlan};
use wsp_tg::runs::Runs;
use wsp_tg::{EventOrder, LaunchUse, OpenLaunches, OpenUse};

/// Launches that are kept before any is forgotten.
const FEWEST_KEPT: usize = 64;

/// The uses of a graph.
#[derive(Debug, Default)]
pub(crate) struct OpenUses {
    /// Of each kernel, as it runs.
    kernels: Vec<Uses>,
    copies: Vec<Uses>,
    conditions: Vec<Uses>,
    /// Of each kernel its waits, if a launch may skip it.
    waits: Vec<Vec<u32>>,
    /// What of it comes before signals and behind waits.
    order: EventOrder,
    /// Whether its launches find out while they run which bytes they use.
    is_late: bool,
}

#[derive(Clone, Debug, Default)]
struct Uses {
    /// By place among those of the unit.
    uses: Vec<u32>,
    /// Whether the bytes are known when the graph is launched, and are surely used.
    is_early: bool,
}

impl OpenUses {
    /// Those of `launches` that are of this graph.
    pub(crate) fn new(plan: &GraphPlan, whens: &[When], launches: &OpenLaunches) -> OpenUses {
        let mut by_instr: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (at, of) in (0u32..).zip(&launches.uses).filter(|(_, of)| of.graph == plan.no) {
            by_instr.entry(of.at).or_default().push(at);
        }
        let events = launches.events.iter().find(|of| of.graph == plan.no);
        let skipped = (0u32..).zip(events.map_or(&[][..], |events| &events.waits));
        let skipped: Vec<(u32, u32)> = skipped.filter_map(|(at, wait)| Some((at, wait.kernel?))).collect();
        if by_instr.is_empty() && skipped.is_empty() {
            return OpenUses::default();
        }
        let of = |instr: u32| by_instr.get(&instr).into_iter().flatten().copied();
        let runs = |node: u32| {
            plan.records.nodes[node as usize].guard == NONE && loops_around(plan, node).is_empty()
        };
        let kernels: Vec<Uses> = plan
            .kernels
            .iter()
            .zip(whens)
            .map(|(kernel, when)| Uses {
                uses: plan.binds_of(kernel).iter().flat_map(|bind| of(bind.instr)).collect(),
                is_early: *when != When::Dispatch && runs(kernel.node),
            })
            .collect();
        let copy = |copy: &wsp_tg::plan::CopyItem| Uses {
            uses: of(copy.instr).collect(),
            is_early: runs(copy.node),
        };
        let copies: Vec<Uses> = plan.copies.iter().map(copy).collect();
        // What a condition loads it may load again and again, and only as the one before it goes.
        let condition =
            |condition: &ConditionItem| Uses { uses: of(condition.instr).collect(), is_early: false };
        let conditions: Vec<Uses> = plan.conditions.iter().map(condition).collect();
        let mut all = kernels.iter().chain(&copies).chain(&conditions);
        let is_late = all.any(|of| !of.is_early && !of.uses.is_empty());
        let waits_of = |def: u32| {
            let instr = plan.defs[def as usize].instr;
            skipped.iter().filter(|(_, kernel)| *kernel == instr).map(|(at, _)| *at).collect()
        };
        let waits = plan.kernels.iter().map(|kernel| waits_of(kernel.def)).collect();
        let order = events.map(|_| EventOrder::new(plan)).unwrap_or_default();
        OpenUses { kernels, copies, conditions, waits, order, is_late }
    }

    /// What of the graph comes before signals and behind waits.
    pub(super) fn order(&self) -> &EventOrder {
        &self.order
    }

    /// The waits of a kernel that a launch may skip.
    fn waits(&self, item: Item) -> &[u32] {
        match item {
            Item::Kernel(at) => self.waits.get(at as usize).map_or(&[], Vec::as_slice),
            Item::Copy(_) | Item::Condition(_) => &[],
        }
    }

    fn of(&self, item: Item) -> Option<&Uses> {
        match item {
            Item::Kernel(at) => self.kernels.get(at as usize),
            Item::Copy(at) => self.copies.get(at as usize),
            Item::Condition(at) => self.conditions.get(at as usize),
        }
    }

    /// Kernels and copies that are compared before a launch begins. One that goes on from a state runs only what is not complete in that.
    fn early<'a>(
        &'a self,
        plan: &'a GraphPlan,
        is_complete: &'a dyn Fn(u32) -> bool,
    ) -> impl Iterator<Item = Item> + 'a {
        let kernels = (0..).zip(&plan.kernels).map(|(at, kernel)| (Item::Kernel(at), kernel.node));
        let all = kernels.chain((0..).zip(&plan.copies).map(|(at, copy)| (Item::Copy(at), copy.node)));
        let is_early = |item: Item| self.of(item).is_some_and(|of| of.is_early && !of.uses.is_empty());
        all.filter(move |(item, node)| is_early(*item) && !is_complete(*node)).map(|(item, _)| item)
    }
}

/// A use of bytes by a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Touch {
    launch: u64,
    /// By place among those of the unit.
    of: u32,
    /// How many of the launch's kernels that wait and may be skipped had started; [`u32::MAX`] if the use was entered before the launch began.
    started: u32,
    /// What uses the bytes, if events of its graph may order it.
    item: Option<Item>,
}

impl Touch {
    fn of(self, uses: &[OpenUse]) -> UseOf<'_> {
        let Touch { launch, of, started, item } = self;
        UseOf { launch, of: &uses[of as usize], started, item }
    }
}

/// A use with its tensor and its bytes.
type Touched = (Touch, u32, Range<u64>);

/// The launches of a device, and the bytes that they use.
#[derive(Debug, Default)]
struct Device {
    order: LaunchOrder,
    /// By tensor.
    touches: BTreeMap<u32, Runs<Touch>>,
    /// Uses that meet in no order, as long as that may change.
    met: Vec<Met>,
    /// Pairs of uses that were told.
    told: BTreeSet<(u32, u32)>,
    /// How many launches there are when some are forgotten.
    most: usize,
}

/// What a session compares of its launches.
#[derive(Debug)]
pub(crate) struct Launches {
    uses: Vec<OpenUse>,
    events: Arc<Events>,
    devices: Vec<Mutex<Device>>,
}

impl Launches {
    /// None if there is nothing to compare.
    pub(crate) fn new(launches: OpenLaunches, devices: u32) -> Option<Launches> {
        if launches.uses.is_empty() {
            return None;
        }
        let events = launches.events.into_iter().map(|events| (events.graph.0, events)).collect();
        let made = Launches {
            uses: launches.uses,
            events: Arc::new(events),
            devices: (0..devices).map(|_| Mutex::default()).collect(),
        };
        made.forget(&BTreeSet::new());
        Some(made)
    }

    /// Begins anew, where launches have signalled some events before.
    pub(crate) fn forget(&self, past: &BTreeSet<EventNo>) {
        for device in 0..self.devices.len() as u32 {
            let order = LaunchOrder::new(Arc::clone(&self.events), past.clone());
            *self.device(device) = Device { order, most: FEWEST_KEPT, ..Device::default() };
        }
    }

    fn device(&self, device: u32) -> MutexGuard<'_, Device> {
        self.devices[device as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a launch, which has not ended as long as the caller keeps what is returned.
    pub(crate) fn submit(&self, device: u32, launch: Submitted) -> Arc<u64> {
        let mut device = self.device(device);
        if device.order.len() >= device.most {
            device.tidy();
        }
        device.order.submit(launch)
    }

    /// Forgets what a launch uses that does not begin.
    pub(crate) fn withdraw(&self, device: u32, launch: u64) {
        self.device(device).touches.values_mut().for_each(|runs| runs.retain(|of| of.launch != launch));
    }

    /// The host of a device has waited for the launches of a graph, or for all.
    pub(crate) fn waited(&self, device: u32, graph: Option<u32>) {
        self.device(device).order.waited(graph);
    }

    /// Says which launches met in no order, if all of the order is known; `has_ended` if no launch runs any more.
    ///
    /// # Errors
    /// Some did.
    pub(crate) fn tell(&self, device: u32, has_ended: bool, shared: &Shared) -> Result<(), Box<Diagnostic>> {
        let mut device = self.device(device);
        if device.met.is_empty() || (!has_ended && device.order.is_undecided()) {
            return Ok(());
        }
        let met = std::mem::take(&mut device.met);
        let told: Vec<Diagnostic> =
            met.into_iter().filter_map(|met| device.told(&self.uses, met, shared)).collect();
        drop(device);
        told.into_iter().try_for_each(|finding| shared.found(finding))
    }

    /// Compares the uses of a launch that are known before it begins; a launch that goes on from a state says which nodes are complete.
    ///
    /// # Errors
    /// It uses bytes that another launch uses in no order; or a kernel cannot be bound.
    pub(crate) fn compare_known(
        &self,
        launch: u64,
        is_complete: &dyn Fn(u32) -> bool,
        values: &Values<'_>,
        shared: &Shared,
    ) -> Result<(), Box<Diagnostic>> {
        let mut touched = Vec::new();
        for item in values.code.uses.early(&values.code.plan, is_complete) {
            self.touched((launch, u32::MAX), item, values, shared, &mut touched)?;
        }
        let prunes = {
            let uses_later = |code: &GraphCode| code.uses.is_late;
            !touched.is_empty() && !self.device(values.device).order.is_open(&uses_later)
        };
        self.touch(&touched, prunes, values, shared)
    }

    /// Compares what a kernel or a copy uses that is about to start, if it was not compared before its launch began; or what a condition loads that is
    /// about to be looked at.
    ///
    /// # Errors
    /// As [`compare_known`](Self::compare_known).
    pub(crate) fn compare(
        &self,
        launch: u64,
        item: Item,
        values: &Values<'_>,
        shared: &Shared,
    ) -> Result<(), Box<Diagnostic>> {
        let uses = &values.code.uses;
        if !uses.waits(item).is_empty() {
            self.device(values.device).order.start(launch, item, uses.waits(item));
        }
        let Some(_) = uses.of(item).filter(|of| !of.is_early && !of.uses.is_empty()) else {
            return Ok(());
        };
        let started = self.device(values.device).order.started(launch);
        let mut touched = Vec::new();
        self.touched((launch, started), item, values, shared, &mut touched)?;
        // Whatever comes before it in the order has been entered by now.
        self.touch(&touched, true, values, shared)
    }

    /// The bytes that a kernel, a copy or a condition uses, of tensors that launches have in common.
    fn touched(
        &self,
        (launch, started): (u64, u32),
        item: Item,
        values: &Values<'_>,
        shared: &Shared,
        touched: &mut Vec<Touched>,
    ) -> Result<(), Box<Diagnostic>> {
        let Some(of) = values.code.uses.of(item) else { return Ok(()) };
        let plan = &values.code.plan;
        for &of in &of.uses {
            let open = &self.uses[of as usize];
            let has_events = self.events.contains_key(&plan.no.0);
            let touch = Touch { launch, of, started, item: has_events.then_some(item) };
            let bytes: Vec<(u32, Range<u64>)> = match item {
                Item::Kernel(at) => {
                    let binds = plan.binds_of(&plan.kernels[at as usize]);
                    let Some(bind) = binds.iter().find(|bind| bind.instr == open.at) else { continue };
                    vec![locate(at, bind, values, shared)?]
                }
                Item::Copy(at) => {
                    let copy = &plan.copies[at as usize];
                    let (tensor, first) = match open.direction {
                        Direction::In => (copy.src, copy.src_offset),
                        _ => (copy.dst, copy.dst_offset),
                    };
                    vec![(tensor, first..first.saturating_add(copy.size))]
                }
                Item::Condition(at) => values.loaded(plan.conditions[at as usize].value),
            };
            let is_own = |tensor: u32| values.code.tensors[values.code.local(tensor) as usize].own;
            let common = bytes.into_iter().filter(|(tensor, _)| !is_own(*tensor));
            touched.extend(common.map(|(tensor, bytes)| (touch, tensor, bytes)));
        }
        Ok(())
    }

    /// Compares uses with those of other launches, and enters them. `prunes` if no use that comes before one of these is entered later.
    fn touch(
        &self,
        touched: &[Touched],
        prunes: bool,
        values: &Values<'_>,
        shared: &Shared,
    ) -> Result<(), Box<Diagnostic>> {
        let mut device = self.device(values.device);
        let mut found = std::mem::take(&mut device.met);
        for (touch, tensor, bytes) in touched {
            device.meet(&self.uses, *touch, *tensor, bytes, &mut found);
        }
        for (touch, tensor, bytes) in touched {
            device.enter(&self.uses, *touch, *tensor, bytes, prunes);
        }
        // A launch that signals what another waits for, or a kernel that waits, may yet bring them into an order.
        device.met = found;
        drop(device);
        self.tell(values.device, false, shared)
    }
}

/// Whether whatever is to be said of a meeting with `other` is to be said of one with `of`.
fn covers(of: &OpenUse, other: &OpenUse) -> bool {
    let is_as_sure = of.direction != Direction::Auto || other.direction == Direction::Auto;
    of.graph == other.graph && is_as_sure && (of.writes() || !other.writes())
}

/// Two uses that meet, the tensor, and bytes in common.
type Met = ([Touch; 2], u32, Range<u64>);

impl Device {
    /// Uses of other launches that meet one in no order.
    fn meet(
        &mut self,
        uses: &[OpenUse],
        touch: Touch,
        tensor: u32,
        bytes: &Range<u64>,
        found: &mut Vec<Met>,
    ) {
        let Some(runs) = self.touches.get_mut(&tensor).filter(|_| !bytes.is_empty()) else { return };
        runs.cut(bytes.clone());
        for (run, kept) in runs.within(bytes.clone()) {
            for &other in kept {
                let (a, b) = (other.of(uses), touch.of(uses));
                let conflict = a.of.writes() || b.of.writes();
                if other.launch == touch.launch || !conflict {
                    continue;
                }
                let ends = if other.launch < touch.launch { [other, touch] } else { [touch, other] };
                let is_known = |met: &&mut Met| met.0 == ends && met.1 == tensor;
                if let Some(met) = found.iter_mut().find(is_known) {
                    // The first bytes in common are told.
                    if met.2.end == run.start {
                        met.2.end = run.end;
                    }
                } else if !self.told.contains(&(ends[0].of, ends[1].of))
                    && !self.order.is_before(a, b)
                    && !self.order.is_before(b, a)
                {
                    found.push((ends, tensor, run.clone()));
                }
            }
        }
    }

    /// Enters a use. Where it comes behind another, each later use that meets the earlier one in no order meets this one as well: if the findings
    /// are of one severity, it takes the place of the earlier one.
    fn enter(&mut self, uses: &[OpenUse], touch: Touch, tensor: u32, bytes: &Range<u64>, prunes: bool) {
        if bytes.is_empty() {
            return;
        }
        let runs = self.touches.entry(tensor).or_default();
        runs.cut(bytes.clone());
        for kept in runs.within_mut(bytes.clone()) {
            if kept.contains(&touch) {
                continue;
            }
            kept.retain(|&other| {
                let (a, b) = (other.of(uses), touch.of(uses));
                let is_covered = prunes && a.launch != b.launch && covers(b.of, a.of);
                !(is_covered && self.order.is_before(a, b))
            });
            kept.push(touch);
        }
    }

    /// What is to be said of two uses, once.
    fn told(&mut self, uses: &[OpenUse], (ends, tensor, bytes): Met, shared: &Shared) -> Option<Diagnostic> {
        let [first, second] = ends.map(|touch| touch.of(uses));
        let is_ordered = self.order.is_before(first, second) || self.order.is_before(second, first);
        if is_ordered || !self.told.insert((ends[0].of, ends[1].of)) {
            return None;
        }
        let end = |touch: Touch| {
            let launch = self.order.launch(touch.launch)?;
            Some(LaunchUse {
                of: &uses[touch.of as usize],
                graph: &launch.code.plan.name,
                launch: touch.launch,
                stream: &launch.on,
                iteration: launch.iteration,
                launched: launch.span,
            })
        };
        let [first, second] = ends.map(end);
        Some(first?.meets(&second?, &shared.table[tensor as usize].name, bytes))
    }

    /// Forgets uses that no launch can meet any more.
    fn tidy(&mut self) {
        let running = self.order.running();
        let order = &self.order;
        self.touches.values_mut().for_each(|runs| runs.retain(|touch| !order.is_over(touch.launch, running)));
        self.touches.retain(|_, runs| runs.kept().next().is_some());
        let met = self.met.iter().flat_map(|met| &met.0);
        let kept = self.touches.values().flat_map(Runs::kept).chain(met);
        let used = kept.map(|touch| touch.launch).collect();
        self.order.forget(&used);
        self.most = FEWEST_KEPT.max(2 * self.order.len());
    }
}
