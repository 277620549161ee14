//! The launches of a session, and the bytes that they use: which of them meet in no order.
//!
//! Of each byte of a tensor the last uses are kept that another launch may still meet. Which launches come before which others
//! [`LaunchOrder`] knows.

use super::code::GraphCode;
use super::item::Item;
use super::launch_order::{Events, LaunchOrder, Submitted, UseOf};
use super::tensors::TensorTable;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wsp_core::tg::{Direction, EventNo};
use wsp_diag::Diagnostic;
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_tg::runs::Runs;
use wsp_tg::{LaunchUse, OpenLaunches, OpenUse};

/// Launches that are kept before any is forgotten.
const FEWEST_KEPT: usize = 64;

/// A use of bytes by a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Touch {
    pub(super) launch: u64,
    /// By place among those of the unit.
    pub(super) of: u32,
    /// How many of the launch's kernels that wait and may be skipped had started; [`u32::MAX`] if the use was entered before the launch began.
    pub(super) started: u32,
    /// What uses the bytes, if events of its graph may order it.
    pub(super) item: Option<Item>,
}

impl Touch {
    fn of(self, uses: &[OpenUse]) -> UseOf<'_> {
        let Touch { launch, of, started, item } = self;
        UseOf { launch, of: &uses[of as usize], started, item }
    }
}

/// A use with its tensor and its bytes.
pub(super) type Touched = (Touch, u32, Range<u64>);

/// The launches of a device, and the bytes that they use.
#[derive(Debug, Default)]
struct Device {
    order: LaunchOrder,
    /// By tensor.
    touches: OrderedMap<u32, Runs<Touch>>,
    /// Uses that meet in no order, as long as that may change.
    met: Vec<Met>,
    /// Pairs of uses that were told.
    told: OrderedSet<(u32, u32)>,
    /// How many launches there are when some are forgotten.
    most: usize,
}

/// What a session compares of its launches.
#[derive(Debug)]
pub(crate) struct Launches {
    pub(super) uses: Vec<OpenUse>,
    pub(super) events: Arc<Events>,
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
        made.forget(&OrderedSet::new());
        Some(made)
    }

    /// Begins anew, where launches have signalled some events before.
    pub(crate) fn forget(&self, past: &OrderedSet<EventNo>) {
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

    /// Whether a use may yet be entered that comes before those of a launch that begins.
    pub(super) fn is_open(&self, device: u32) -> bool {
        let uses_later = |code: &GraphCode| code.uses.is_late;
        self.device(device).order.is_open(&uses_later)
    }

    /// A kernel of a launch starts, which waits and may have been skipped.
    pub(super) fn start(&self, device: u32, launch: u64, item: Item, waits: &[u32]) {
        self.device(device).order.start(launch, item, waits);
    }

    /// How many kernels of a launch that wait and may be skipped have started.
    pub(super) fn started(&self, device: u32, launch: u64) -> u32 {
        self.device(device).order.started(launch)
    }

    /// Compares uses with those of other launches, and enters them. `prunes` if no use that comes before one of these is entered later.
    pub(super) fn enter(&self, device: u32, touched: &[Touched], prunes: bool) {
        let mut device = self.device(device);
        let mut found = std::mem::take(&mut device.met);
        for (touch, tensor, bytes) in touched {
            device.meet(&self.uses, *touch, *tensor, bytes, &mut found);
        }
        for (touch, tensor, bytes) in touched {
            device.enter(&self.uses, *touch, *tensor, bytes, prunes);
        }
        // A launch that signals what another waits for, or a kernel that waits, may yet bring them into an order.
        device.met = found;
    }

    /// What is to be said of launches that met in no order, if all of the order is known; `has_ended` if no launch runs any more.
    pub(super) fn findings(&self, device: u32, has_ended: bool, table: &TensorTable) -> Vec<Diagnostic> {
        let mut device = self.device(device);
        if device.met.is_empty() || (!has_ended && device.order.is_undecided()) {
            return Vec::new();
        }
        let met = std::mem::take(&mut device.met);
        met.into_iter().filter_map(|met| device.told(&self.uses, met, table)).collect()
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
    fn told(
        &mut self,
        uses: &[OpenUse],
        (ends, tensor, bytes): Met,
        table: &TensorTable,
    ) -> Option<Diagnostic> {
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
        Some(first?.meets(&second?, &table[tensor as usize].name, bytes))
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
