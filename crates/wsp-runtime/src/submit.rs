//! The planner's side: submits tasks in elaboration order.

use crate::depend::{AccessMap, Hazard};
use crate::interval::Access;
use crate::ready::Route;
use crate::shared::Shared;
use crate::slot::{FENCE, NIL};
use crate::window::Window;
use crate::{EdgeStats, PrefetchStats, Stopped, TaskRunner, TaskSpec};
use std::sync::atomic::Ordering;
use wsp_core::{TaskId, limits};

/// Tasks remembered for prefetching, as a multiple of the window.
const REMEMBERED: u32 = 4;
/// The list of tasks since the last fence is not pruned below this length.
const PRUNE_AT_LEAST: usize = 64;

/// A task to wait for; without a hazard, a fence or what a fence waits for.
#[derive(Clone, Copy)]
struct Pred {
    access: Access,
    hazard: Option<Hazard>,
}

/// Takes tasks from the source of a run.
pub struct Submitter<'r, R: TaskRunner> {
    shared: &'r Shared<'r, R>,
    window: Window<'r, R>,
    accesses: AccessMap,
    next_task: u32,
    /// Whose turn it is among the workers, for tasks to spread.
    turn: u32,
    /// Scratch: predecessors of the task at hand, and per slot the last task that named it as one.
    preds: Vec<Pred>,
    named_by: Vec<u32>,
    /// The last fence, while it has not completed.
    fence: Option<Access>,
    /// Tasks since then that may be unfinished.
    since_fence: Vec<Access>,
    prune_at: usize,
    fences: u32,
    /// Slot of each recent task, at its id modulo the length once that is full.
    recent: Vec<u32>,
    edges: EdgeStats,
    roots: u64,
    prefetch_missed: u64,
    lineage: Lineage,
}

/// Predecessors of every task, for the trace.
#[derive(Default)]
pub(crate) struct Lineage {
    /// Where each task's predecessors end, and the fences before it.
    ends: Vec<(usize, u32)>,
    preds: Vec<TaskId>,
}

impl Lineage {
    /// Predecessors of a task and the number of fences before it.
    pub(crate) fn of(&self, task: TaskId) -> (&[TaskId], u32) {
        let begin = task.index().checked_sub(1).map_or(0, |before| self.ends[before].0);
        let (end, fences) = self.ends[task.index()];
        (&self.preds[begin..end], fences)
    }
}

/// What the planner knows at the end of a run.
pub(crate) struct PlannerReport {
    pub(crate) tasks: u64,
    pub(crate) edges: EdgeStats,
    pub(crate) roots: u64,
    pub(crate) max_in_flight: u32,
    pub(crate) window_stalls: u64,
    pub(crate) edge_stalls: u64,
    pub(crate) prefetch: PrefetchStats,
    pub(crate) lineage: Lineage,
}

impl<'r, R: TaskRunner> Submitter<'r, R> {
    pub(crate) fn new(shared: &'r Shared<'r, R>) -> Submitter<'r, R> {
        Submitter {
            shared,
            window: Window::new(shared),
            accesses: AccessMap::default(),
            next_task: 0,
            turn: 0,
            preds: Vec::new(),
            named_by: Vec::new(),
            fence: None,
            since_fence: Vec::new(),
            prune_at: PRUNE_AT_LEAST,
            fences: 0,
            recent: Vec::new(),
            edges: EdgeStats::default(),
            roots: 0,
            prefetch_missed: 0,
            lineage: Lineage::default(),
        }
    }

    /// Submits a task: it starts once every earlier task that conflicts with it, and every task before the last fence, is
    /// complete. Parks while the window is full. Ids count up from 0.
    ///
    /// # Errors
    /// The run is stopping, the payload is too long, or there are too many tasks. The task is then not submitted.
    pub fn submit(&mut self, spec: TaskSpec<'_>) -> Result<TaskId, Stopped> {
        if self.cancelled() {
            return Err(Stopped::Stopping);
        }
        if spec.payload.len() > limits::MAX_PAYLOAD_WORDS as usize {
            return Err(Stopped::PayloadTooLong { words: spec.payload.len() });
        }
        if self.next_task >= limits::MAX_DESCRIPTORS {
            return Err(Stopped::TooManyTasks);
        }
        let task = self.next_task;
        self.next_task += 1;
        let slot = self.window.take(task);
        self.find_predecessors(task, &spec);
        self.reserve_edges();
        let route = self.shared.queues.topology.route(spec.affinity, &mut self.turn);
        if let Some(moments) = &self.shared.moments {
            // Relaxed: edge or queue orders it, as all of the record.
            moments.get(slot).submitted.store(self.shared.now(), Ordering::Relaxed);
            self.remember_lineage();
        }
        let pending = self.preds.len() as u32 + 1;
        self.window.slot(slot).fill(task, spec.kernel, spec.payload, route.encode(), pending);
        let open = self.link(slot);
        self.record(&spec, Access { task, slot });
        if open == 0 {
            self.roots += 1;
        }
        if self.close_pending(slot, pending - open) {
            self.make_ready(slot, route);
        }
        Ok(TaskId(task))
    }

    /// Tasks submitted later start only when all submitted so far are complete. Does not wait: the cost is proportional to
    /// the number of unfinished tasks since the last fence.
    pub fn fence(&mut self) {
        // Whatever comes later is ordered after these accesses by the fence.
        self.accesses.clear();
        self.fences += 1;
        if self.cancelled() || !self.anything_since_fence() {
            return;
        }
        let slot = self.window.take(FENCE);
        // The wait for a slot may have been long.
        if !self.anything_since_fence() {
            return self.window.release(slot);
        }
        self.preds.clear();
        self.preds.extend(self.since_fence.drain(..).map(|access| Pred { access, hazard: None }));
        self.reserve_edges();
        let pending = self.preds.len() as u32 + 1;
        self.window.slot(slot).fill(FENCE, wsp_core::KernelId(0), &[], Route::Any.encode(), pending);
        let open = self.link(slot);
        if self.close_pending(slot, pending - open) {
            self.window.release(slot);
        } else {
            self.fence = Some(Access { task: FENCE, slot });
        }
    }

    /// Asks that the inputs of `target` be brought near by the worker that starts `starting`, just before it does. Never
    /// changes a result. If it is too late for that the request is counted as missed.
    pub fn prefetch_when_starts(&mut self, starting: TaskId, target: TaskId) {
        let added = match (self.slot_of(starting), self.slot_of(target)) {
            (Some(first), Some(second)) => self.window.slot(first).add_target(target, second),
            _ => false,
        };
        self.prefetch_missed += u64::from(!added);
    }

    /// Whether the run is stopping, because a task failed or the caller asked for it.
    pub fn cancelled(&self) -> bool {
        self.shared.stop.stopping()
    }

    /// Waits until everything submitted has been retired.
    pub(crate) fn drain(&mut self) {
        self.window.drain();
    }

    pub(crate) fn into_report(self) -> PlannerReport {
        PlannerReport {
            tasks: u64::from(self.next_task),
            edges: self.edges,
            roots: self.roots,
            max_in_flight: self.window.peak,
            window_stalls: self.window.window_stalls,
            edge_stalls: self.window.edge_stalls,
            prefetch: PrefetchStats { issued: 0, missed: self.prefetch_missed },
            lineage: self.lineage,
        }
    }

    /// Fills `preds`, each task once.
    fn find_predecessors(&mut self, task: u32, spec: &TaskSpec<'_>) {
        let Submitter { window, preds, named_by, .. } = self;
        preds.clear();
        named_by.resize(window.len(), NIL);
        self.accesses.infer(
            spec.reads,
            spec.writes,
            |access| window.is_live(access),
            |access, hazard| {
                let by = &mut named_by[access.slot as usize];
                if *by != task {
                    *by = task;
                    preds.push(Pred { access, hazard: Some(hazard) });
                }
            },
        );
        if let Some(fence) = self.fence {
            if self.window.is_complete(fence) {
                self.fence = None;
            } else {
                self.preds.push(Pred { access: fence, hazard: None });
            }
        }
    }

    /// Makes sure that there is an edge for each of `preds`; while it waits, predecessors complete.
    fn reserve_edges(&mut self) {
        if self.preds.len() <= self.window.edges.available() {
            return;
        }
        self.window.collect();
        let mut waited = false;
        loop {
            let window = &self.window;
            self.preds.retain(|pred| !window.is_complete(pred.access));
            if self.preds.len() <= self.window.edges.available() {
                break;
            }
            waited = true;
            self.window.wait_for_some(1);
        }
        self.window.edge_stalls += u64::from(waited);
    }

    /// Adds an edge from each of `preds` that has not completed, and returns how many.
    fn link(&mut self, slot: u32) -> u32 {
        let pool = &self.shared.edges;
        let (mut chain, mut open) = (NIL, 0);
        for pred in &self.preds {
            chain = self.window.edges.take(pool, chain);
            if pool.link(self.window.slot(pred.access.slot), chain, slot) {
                open += 1;
                match pred.hazard {
                    Some(Hazard::Raw) => self.edges.raw += 1,
                    Some(Hazard::Waw) => self.edges.waw += 1,
                    Some(Hazard::War) => self.edges.war += 1,
                    None => self.edges.fence += 1,
                }
            } else {
                chain = self.window.edges.release_first(chain);
            }
        }
        self.window.set_edges(slot, chain);
        open
    }

    /// Takes the planner's share off `pending`; true if nothing is left.
    fn close_pending(&self, slot: u32, share: u32) -> bool {
        let pending = &self.window.slot(slot).pending;
        // AcqRel: passes on the writes of predecessors found complete, and takes over those of the others.
        pending.fetch_sub(share, Ordering::AcqRel) == share
    }

    fn make_ready(&mut self, slot: u32, route: Route) {
        self.shared.mark_ready(slot);
        self.shared.queues.push(slot, route, None);
        self.shared.sleep.notify(route);
    }

    /// Remembers a task for later ones.
    fn record(&mut self, spec: &TaskSpec<'_>, access: Access) {
        let window = &self.window;
        self.accesses.insert(spec.reads, spec.writes, access, |earlier| window.is_live(earlier));
        if self.since_fence.len() >= self.prune_at {
            self.since_fence.retain(|earlier| window.is_live(*earlier));
            self.prune_at = (2 * self.since_fence.len()).max(PRUNE_AT_LEAST);
        }
        self.since_fence.push(access);
        let remembered = self.remembered();
        if self.recent.len() < remembered {
            self.recent.push(access.slot);
        } else {
            self.recent[access.task as usize & (remembered - 1)] = access.slot;
        }
    }

    /// A power of two.
    fn remembered(&self) -> usize {
        self.shared.config.window.saturating_mul(REMEMBERED).next_power_of_two() as usize
    }

    fn slot_of(&self, task: TaskId) -> Option<u32> {
        let slot = *self.recent.get(task.index() & (self.remembered() - 1))?;
        self.window.is_live(Access { task: task.0, slot }).then_some(slot)
    }

    /// Whether an unfinished task has been submitted since the last fence; drops the others.
    fn anything_since_fence(&mut self) -> bool {
        let window = &self.window;
        self.since_fence.retain(|access| !window.is_complete(*access));
        !self.since_fence.is_empty()
    }

    fn remember_lineage(&mut self) {
        let begin = self.lineage.preds.len();
        let tasks = self.preds.iter().filter(|pred| pred.hazard.is_some());
        self.lineage.preds.extend(tasks.map(|pred| TaskId(pred.access.task)));
        self.lineage.preds[begin..].sort_unstable();
        self.lineage.ends.push((self.lineage.preds.len(), self.fences));
    }
}
