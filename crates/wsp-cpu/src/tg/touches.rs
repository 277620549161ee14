//! Launches on different streams whose bytes the checker could not compare before the run.
//!
//! The checker hands over the uses of bytes that may meet those of another launch. Of each byte of a tensor the last uses are kept that another launch
//! may still meet. A use is compared with them when its bytes are known: before its launch begins, if they follow from declared scalars and the
//! iteration and the kernel surely runs, else before the kernel starts; what conditions load, when they are looked at. Which launches come before
//! which others [`LaunchOrder`] knows.

use super::binding::locate;
use super::code::{GraphCode, When};
use super::launch_order::{Events, LaunchOrder, Submitted};
use super::open::loops_around;
use super::shared::Shared;
use super::values::Values;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wsp_core::tg::Direction;
use wsp_core::tg::image::NONE;
use wsp_ir::diag::Diagnostic;
use wsp_plan::tg::plan::{ConditionItem, GraphPlan};
use wsp_plan::tg::runs::Runs;
use wsp_plan::tg::{LaunchUse, OpenLaunches, OpenUse};

/// Launches that are kept before any is forgotten.
const FEWEST_KEPT: usize = 64;

/// The uses of a graph.
#[derive(Debug, Default)]
pub(crate) struct OpenUses {
    /// Of each kernel, as it runs.
    kernels: Vec<Uses>,
    copies: Vec<Uses>,
    conditions: Vec<Uses>,
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

/// A kernel or a copy of a graph, or a condition or count, by place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Item {
    Kernel(u32),
    Copy(u32),
    Condition(u32),
}

impl OpenUses {
    /// Those of `launches` that are of this graph.
    pub(crate) fn new(plan: &GraphPlan, whens: &[When], launches: &OpenLaunches) -> OpenUses {
        let mut by_instr: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (at, of) in (0u32..).zip(&launches.uses).filter(|(_, of)| of.graph == plan.no) {
            by_instr.entry(of.at).or_default().push(at);
        }
        if by_instr.is_empty() {
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
        let copy = |copy: &wsp_plan::tg::plan::CopyItem| Uses {
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
        OpenUses { kernels, copies, conditions, is_late }
    }

    fn of(&self, item: Item) -> Option<&Uses> {
        match item {
            Item::Kernel(at) => self.kernels.get(at as usize),
            Item::Copy(at) => self.copies.get(at as usize),
            Item::Condition(at) => self.conditions.get(at as usize),
        }
    }

    /// What may be known before a launch begins.
    fn early(&self) -> impl Iterator<Item = Item> {
        let kernels = (0..self.kernels.len() as u32).map(Item::Kernel);
        let all = kernels.chain((0..self.copies.len() as u32).map(Item::Copy));
        all.filter(|item| self.of(*item).is_some_and(|of| of.is_early))
    }
}

/// A use of bytes by a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Touch {
    launch: u64,
    /// By place among those of the unit.
    of: u32,
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
        made.forget();
        Some(made)
    }

    /// Begins anew.
    pub(crate) fn forget(&self) {
        for device in 0..self.devices.len() as u32 {
            let order = LaunchOrder::new(Arc::clone(&self.events));
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

    /// Compares what a launch uses, as far as that is known before it begins.
    ///
    /// # Errors
    /// It uses bytes that another launch uses in no order; or a kernel cannot be bound.
    pub(crate) fn compare_known(
        &self,
        launch: u64,
        values: &Values<'_>,
        shared: &Shared,
    ) -> Result<(), Box<Diagnostic>> {
        let mut touched = Vec::new();
        for item in values.code.uses.early() {
            self.touched(launch, item, values, shared, &mut touched)?;
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
        let Some(_) = values.code.uses.of(item).filter(|of| !of.is_early && !of.uses.is_empty()) else {
            return Ok(());
        };
        let mut touched = Vec::new();
        self.touched(launch, item, values, shared, &mut touched)?;
        // Whatever comes before it in the order has been entered by now.
        self.touch(&touched, true, values, shared)
    }

    /// The bytes that a kernel, a copy or a condition uses, of tensors that launches have in common.
    fn touched(
        &self,
        launch: u64,
        item: Item,
        values: &Values<'_>,
        shared: &Shared,
        touched: &mut Vec<Touched>,
    ) -> Result<(), Box<Diagnostic>> {
        let Some(of) = values.code.uses.of(item) else { return Ok(()) };
        let plan = &values.code.plan;
        for &of in &of.uses {
            let open = &self.uses[of as usize];
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
            touched.extend(common.map(|(tensor, bytes)| (Touch { launch, of }, tensor, bytes)));
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
        // A launch that signals what another waits for may yet bring them into an order.
        if device.order.is_unbound() {
            device.met = found;
            return Ok(());
        }
        let told = found.into_iter().filter_map(|met| device.told(&self.uses, met, shared));
        let told: Vec<Diagnostic> = told.collect();
        drop(device);
        told.into_iter().try_for_each(|finding| shared.found(finding))
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
        let of = |touch: Touch| (touch.launch, &uses[touch.of as usize]);
        for (run, kept) in runs.within(bytes.clone()) {
            for &other in kept {
                let conflict = of(touch).1.writes() || of(other).1.writes();
                if other.launch == touch.launch || !conflict {
                    continue;
                }
                let ends = if other.launch < touch.launch { [other, touch] } else { [touch, other] };
                let adjacent = |met: &&mut Met| met.0 == ends && met.2.end == run.start;
                if let Some(met) = found.iter_mut().find(adjacent) {
                    met.2.end = run.end;
                } else if !self.told.contains(&(ends[0].of, ends[1].of))
                    && !self.order.is_before(of(other), of(touch))
                    && !self.order.is_before(of(touch), of(other))
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
        let of = |touch: Touch| (touch.launch, &uses[touch.of as usize]);
        let runs = self.touches.entry(tensor).or_default();
        runs.cut(bytes.clone());
        for kept in runs.within_mut(bytes.clone()) {
            if kept.contains(&touch) {
                continue;
            }
            kept.retain(|&other| {
                let is_covered = prunes && other.launch != touch.launch && covers(of(touch).1, of(other).1);
                !(is_covered && self.order.is_before(of(other), of(touch)))
            });
            kept.push(touch);
        }
    }

    /// What is to be said of two uses, once.
    fn told(&mut self, uses: &[OpenUse], (ends, tensor, bytes): Met, shared: &Shared) -> Option<Diagnostic> {
        let of = |touch: Touch| (touch.launch, &uses[touch.of as usize]);
        let [first, second] = ends.map(of);
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
