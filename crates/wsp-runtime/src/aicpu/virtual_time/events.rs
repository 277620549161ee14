//! The queue of events: what happens next, and what follows from it.

use super::super::config::{AfterEdges, AicpuConfig};
use super::super::cores::Core;
use super::super::driven::{Driven, StepKind, Trouble};
use super::super::engine::Aicpu;
use super::super::generator::{Generator, NoSlots, Refused};
use super::super::shared::{Moment, Shared};
use super::super::stuck;
use super::super::topology::Topology;
use super::deal::{Deal, Program};
use super::lives::{self, Log};
use super::{AicpuCosts, AicpuWork, SimAicpu, SimAicpus};
use crate::{FailedTask, Failure, Start, Stopped, TracePolicy};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::convert::Infallible;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use wsp_core::TaskId;
use wsp_ordered::Arrange;

pub(super) type Fails<T> = Result<T, Failure<Infallible, Stopped>>;

/// What happens; of what falls into one cycle in this order, and then by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The end of the task of a link can be seen.
    End(usize),
    /// A notice arrives.
    Notice,
    /// An AICPU goes on.
    Aicpu(usize),
    /// A core looks for a task.
    Core(usize),
}

/// An AICPU on the clock.
struct Clocked<'g> {
    driven: Driven<Deal<'g>>,
    /// Which step is next, and whether its time has passed.
    next: usize,
    is_paid: bool,
    /// Whether a step of this round has done something.
    did: bool,
    /// Until when it is busy.
    free_at: u64,
    /// Links whose tasks have ended, as can be seen, and those that it takes them from in the step that it has paid for.
    ended: Vec<usize>,
    taking: Vec<usize>,
    /// Notices that have arrived.
    inbox: VecDeque<(u16, u16, u16)>,
    /// Complete tasks that are gathered in a batch.
    batch: Vec<u32>,
    /// When tasks were left over for want of a core.
    starved: Option<u64>,
    /// Whether its window is full; the task that made room last, and whether it has generated since a wait for it.
    is_full: bool,
    released: Option<u32>,
    resumed: Option<u32>,
    out: SimAicpu,
}

/// A core on the clock.
struct ClockedCore {
    core: Core,
    free_at: u64,
    /// Its newest task, if there was one.
    newest: Option<u32>,
}

/// A run.
pub(super) struct Events<'g> {
    program: &'g Program<'g>,
    config: AicpuConfig,
    costs: AicpuCosts,
    shared: Shared,
    now: u64,
    aicpus: Vec<Clocked<'g>>,
    cores: Vec<ClockedCore>,
    /// When the core of a link sees the task that it was handed.
    seen: Vec<Option<u64>>,
    queue: BinaryHeap<Reverse<(u64, Event)>>,
    /// Notices that are under way, with the cycle of their arrival.
    flying: VecDeque<(u64, (u16, u16, u16))>,
    log: Log,
}

impl<'g> Events<'g> {
    pub(super) fn new(program: &'g Program<'g>, config: &AicpuConfig, costs: &AicpuCosts) -> Events<'g> {
        let count = program.dealt.aicpus;
        let config = AicpuConfig {
            trace: TracePolicy::Measured,
            // One task at a time is generated, so that each is there when its time has passed.
            step_tasks: 1,
            after: AfterEdges::Kept,
            ..config.clone()
        };
        let topology = Topology::new(config.pools, config.threads, count.into());
        let mut shared = Shared::with(&config, count.into(), topology);
        shared.moment = Some(Box::<Moment>::default());
        let clocked = |own| {
            let deal = Deal::new(program, own);
            Clocked {
                driven: Driven::new(Aicpu::new(&shared, own), deal, 1),
                next: 0,
                is_paid: false,
                did: false,
                free_at: 0,
                ended: Vec::new(),
                taking: Vec::new(),
                inbox: VecDeque::new(),
                batch: Vec::new(),
                starved: None,
                is_full: false,
                released: None,
                resumed: None,
                out: SimAicpu::default(),
            }
        };
        let core = |id| ClockedCore { core: Core::new(&shared, id), free_at: 0, newest: None };
        Events {
            aicpus: (0..count).map(clocked).collect(),
            cores: (0..shared.topology.units.len() as u32).map(core).collect(),
            seen: vec![None; shared.links.len()],
            log: Log::new(program.nodes.len()),
            queue: BinaryHeap::new(),
            flying: VecDeque::new(),
            now: 0,
            costs: *costs,
            config,
            shared,
            program,
        }
    }

    pub(super) fn run(mut self) -> Fails<SimAicpus> {
        for at in 0..self.aicpus.len() {
            // Which task is an AICPU's first is known before it begins.
            let watermark = self.aicpus[at].driven.generator.watermark();
            self.shared.publish_watermark(at as u16, watermark);
            self.queue.push(Reverse((self.costs.begin, Event::Aicpu(at))));
        }
        if self.config.start == Start::Immediate {
            self.log.opened = Some(0);
        }
        while !self.shared.is_finished() {
            let Some(Reverse((cycle, event))) = self.queue.pop() else {
                self.force_start()?;
                continue;
            };
            if self.config.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
                return Err(Failure::Cancelled);
            }
            self.set_now(cycle);
            match event {
                Event::End(link) => {
                    let at = usize::from(self.shared.links[link].aicpu);
                    self.aicpus[at].ended.push(link);
                    self.queue.push(Reverse((self.now, Event::Aicpu(at))));
                }
                Event::Notice => self.arrive(),
                Event::Aicpu(at) => self.go_on(at)?,
                Event::Core(at) => self.look(at)?,
            }
        }
        Ok(self.finish())
    }

    fn set_now(&mut self, cycle: u64) {
        self.now = cycle;
        if let Some(moment) = &self.shared.moment {
            moment.cycle.store(cycle, Ordering::Relaxed);
        }
    }

    /// So many cycles after the one before.
    fn later(cycle: u64, by: u64, task: u64) -> Fails<u64> {
        cycle.checked_add(by).ok_or(Failure::Source(Stopped::TooLong(TaskId(task as u32))))
    }

    /// Nothing else can go on: tasks start, or wait for each other.
    fn force_start(&mut self) -> Fails<()> {
        if !self.shared.force_start() {
            let aicpus: Vec<Driven<Deal<'g>>> = self.aicpus.drain(..).map(|clocked| clocked.driven).collect();
            return Err(Failure::Stuck(stuck::report(&self.shared, &aicpus)));
        }
        self.log.forced = Some(self.now);
        self.note_start();
        (0..self.aicpus.len()).for_each(|at| self.queue.push(Reverse((self.now, Event::Aicpu(at)))));
        Ok(())
    }

    fn note_start(&mut self) {
        if self.log.opened.is_none() && self.shared.has_started() {
            self.log.opened = Some(self.now);
        }
    }

    /// Puts notices whose time has come before those whom they are for.
    fn arrive(&mut self) {
        while let Some((cycle, notice)) = self.flying.front().copied()
            && cycle <= self.now
        {
            self.flying.pop_front();
            let to = usize::from(notice.1);
            self.aicpus[to].inbox.push_back(notice);
            self.queue.push(Reverse((self.now, Event::Aicpu(to))));
        }
    }

    /// An AICPU takes steps until one takes time or a round of them does nothing.
    fn go_on(&mut self, at: usize) -> Fails<()> {
        if self.now < self.aicpus[at].free_at {
            return Ok(());
        }
        loop {
            let clocked = &mut self.aicpus[at];
            let Some(&kind) = StepKind::ALL.get(clocked.next) else {
                (clocked.next, clocked.is_paid) = (0, false);
                if !std::mem::take(&mut clocked.did) {
                    return Ok(());
                }
                continue;
            };
            if !clocked.is_paid && self.pay(at, kind)? {
                return Ok(());
            }
            let did = self.step(at, kind)?;
            let is_free = self.now >= self.aicpus[at].free_at;
            let clocked = &mut self.aicpus[at];
            clocked.did |= did;
            clocked.is_paid = false;
            if did && kind == StepKind::Generate && self.costs.generation == 0 {
                // All that takes no time is done before tasks are handed out, and tasks become ready in their order.
                self.step(at, StepKind::Resolve)?;
            } else {
                clocked.next += 1;
            }
            if !is_free {
                return Ok(());
            }
        }
    }

    /// Begins a step that takes time; whether it does.
    fn pay(&mut self, at: usize, kind: StepKind) -> Fails<bool> {
        let AicpuCosts { generation, poll, retire, .. } = self.costs;
        let clocked = &mut self.aicpus[at];
        let work = match kind {
            StepKind::PollAicoreCompletion => {
                clocked.taking = std::mem::take(&mut clocked.ended);
                if clocked.taking.is_empty() {
                    return Ok(false);
                }
                let looks = clocked.driven.aicpu.cores.iter().filter(|core| core.task.is_some()).count();
                let looks = poll.saturating_mul(looks as u64);
                let complete = retire.saturating_mul(clocked.taking.len() as u64);
                [(AicpuWork::Polls, looks), (AicpuWork::Retirement, complete)]
            }
            StepKind::Generate if clocked.driven.generator.has_next() => {
                if clocked.driven.room(&self.shared).contains(&0) {
                    clocked.is_full = true;
                    return Ok(false);
                }
                [(AicpuWork::Generation, generation), (AicpuWork::Polls, 0)]
            }
            _ => return Ok(false),
        };
        clocked.is_paid = true;
        self.occupy(at, &work)
    }

    /// Keeps an AICPU for the time of its work; whether that takes any.
    fn occupy(&mut self, at: usize, work: &[(AicpuWork, u64)]) -> Fails<bool> {
        let clocked = &mut self.aicpus[at];
        let mut end = self.now;
        for &(work, cycles) in work {
            let begin = end;
            end = Self::later(begin, cycles, clocked.driven.generator.next)?;
            clocked.out.busy[work as usize] += cycles;
            match clocked.out.spans.last_mut() {
                _ if cycles == 0 => {}
                Some(last) if last.0 == work && last.2 == begin => last.2 = end,
                _ => clocked.out.spans.push((work, begin, end)),
            }
        }
        clocked.free_at = end;
        if end > self.now {
            self.queue.push(Reverse((end, Event::Aicpu(at))));
        }
        Ok(end > self.now)
    }

    /// Takes a step of the engine, and sees to what follows from it.
    fn step(&mut self, at: usize, kind: StepKind) -> Fails<bool> {
        let Events { shared, aicpus, .. } = self;
        let clocked = &mut aicpus[at];
        match kind {
            StepKind::PollRings => {
                while let Some(&(from, to, slot)) = clocked.inbox.front()
                    && shared.deliver(from, to, slot)
                {
                    clocked.inbox.pop_front();
                }
            }
            StepKind::PollAicoreCompletion => {
                if clocked.taking.is_empty() {
                    return Ok(false);
                }
                clocked.taking.drain(..).for_each(|link| shared.links[link].handshake.complete());
            }
            // The engine does so only where a round did nothing.
            StepKind::PollAllCounters | StepKind::ReleaseDone if clocked.did => return Ok(false),
            _ => {}
        }
        let (generated, retired) = (clocked.driven.aicpu.stats.tasks, clocked.driven.aicpu.trace.len());
        let idle = clocked.driven.aicpu.cores.iter().map(|core| core.task.is_none());
        let idle: Vec<bool> = if kind == StepKind::DispatchReadyTasks { idle.collect() } else { Vec::new() };
        let next = clocked.driven.generator.next;
        let did = clocked.driven.step(shared, &NoSlots, kind).map_err(|trouble| self.trouble(at, trouble))?;
        if did {
            self.shared.advance_epoch();
        }
        match kind {
            StepKind::Generate if self.aicpus[at].driven.aicpu.stats.tasks > generated => {
                self.note_generated(at, next);
            }
            StepKind::DispatchReadyTasks => self.hand_out(at, &idle)?,
            _ => self.note_complete(at, retired),
        }
        let is_told = match kind {
            StepKind::Generate | StepKind::PollAicoreCompletion | StepKind::ReleaseDone => did,
            StepKind::DispatchReadyTasks => did && !self.shared.gates.is_empty(),
            _ => false,
        };
        self.tell(at, is_told)?;
        Ok(did)
    }

    /// Sends the notices of an AICPU on their way, and lets the others look where something has changed.
    fn tell(&mut self, at: usize, has_changed: bool) -> Fails<()> {
        let arrival = Self::later(self.now, self.costs.notice, 0)?;
        if let Some(moment) = &self.shared.moment {
            let mut notices = moment.notices.lock().unwrap_or_else(PoisonError::into_inner);
            if !notices.is_empty() {
                self.flying.extend(notices.drain(..).map(|notice| (arrival, notice)));
                self.queue.push(Reverse((arrival, Event::Notice)));
            }
        }
        if has_changed {
            let others = (0..self.aicpus.len()).filter(|other| *other != at);
            self.queue.extend(others.map(|other| Reverse((arrival, Event::Aicpu(other)))));
        }
        Ok(())
    }

    fn note_generated(&mut self, at: usize, ordinal: u64) {
        let clocked = &mut self.aicpus[at];
        let room = clocked.released.filter(|_| std::mem::take(&mut clocked.is_full));
        clocked.resumed = room.or(clocked.resumed);
        self.log.generated(ordinal, (room, clocked.resumed));
        self.note_start();
    }

    /// Notes tasks that are complete since so many were, and those that were released.
    fn note_complete(&mut self, at: usize, retired: usize) {
        let clocked = &mut self.aicpus[at];
        let aicpu = &clocked.driven.aicpu;
        for trace in &aicpu.trace[retired..] {
            self.log.retired(trace.ordinal, self.now);
            clocked.batch.push(trace.ordinal as u32);
        }
        if let Some(&with) = clocked.batch.last()
            && aicpu.done.is_empty()
        {
            let gathers = self.config.batch > 1;
            let noted = clocked.batch.drain(..);
            noted.for_each(|task| self.log.released(task, self.now, if gathers { with } else { task }));
            clocked.released = Some(with);
        }
    }

    /// Tasks were handed to cores of an AICPU that were idle: each sees its own when it has been handed out.
    fn hand_out(&mut self, at: usize, idle: &[bool]) -> Fails<()> {
        let clocked = &mut self.aicpus[at];
        let (mut handed, aicpu) = (0, &clocked.driven.aicpu);
        for (core, _) in aicpu.cores.iter().zip(idle).filter(|(_, was_idle)| **was_idle) {
            let Some(slot) = core.task else { continue };
            handed += 1;
            let task = aicpu.queue.task(slot);
            let by = self.costs.dispatch.saturating_mul(handed).saturating_add(self.costs.start);
            let seen = Self::later(self.now, by, task.ordinal)?;
            let number = self.shared.links[core.link].core as usize;
            let was_left = clocked.starved.is_some_and(|since| since >= task.ready_ns);
            let newest = self.cores[number].newest.filter(|_| was_left);
            let opener =
                if task.was_refused { self.log.opener(self.program, &self.config, task) } else { None };
            self.log.handed(task.ordinal, (newest, opener), seen);
            self.seen[core.link] = Some(seen);
            self.queue.push(Reverse((seen, Event::Core(number))));
        }
        if !aicpu.ready.is_empty() && self.shared.has_started() {
            clocked.starved = Some(self.now);
        }
        self.occupy(at, &[(AicpuWork::Dispatch, self.costs.dispatch.saturating_mul(handed))])?;
        Ok(())
    }

    /// A core takes a task that it sees, if it is free, and runs it.
    fn look(&mut self, at: usize) -> Fails<()> {
        let Events { now, costs, ref shared, ref seen, .. } = *self;
        let clocked = &mut self.cores[at];
        if now < clocked.free_at {
            return Ok(());
        }
        let sees = |link: usize| seen[link].is_some_and(|seen| seen <= now);
        let Some((link, task)) = clocked.core.take(shared, sees) else { return Ok(()) };
        shared.gates.note_start(task.stream);
        let (ordinal, spec) = (task.ordinal, self.program.spec(task.ordinal));
        let taken = costs.task.saturating_add(if clocked.newest.is_none() { costs.first } else { 0 });
        let start = Self::later(now, taken, ordinal)?;
        let end = Self::later(start, spec.cost, ordinal)?;
        let told = Self::later(end, costs.completion, ordinal)?;
        shared.links[link].started_ns.store(start, crate::sync::Ordering::Relaxed);
        shared.links[link].finished_ns.store(end, crate::sync::Ordering::Relaxed);
        self.log.taken(ordinal, clocked.newest, now);
        clocked.newest = Some(ordinal as u32);
        clocked.free_at = end;
        clocked.core.stats.tasks += 1;
        *clocked.core.stats.busy_ns.get_or_insert(0) += spec.cost;
        self.seen[link] = None;
        self.queue.push(Reverse((told, Event::End(link))));
        // The cores that it may be handed to by other AICPUs, and those that wait for the next of the stream.
        self.queue.push(Reverse((end, Event::Core(at))));
        if shared.gates.orders_streams() && task.stream.is_some() {
            let links = self.seen.iter().zip(&*self.shared.links).filter(|(seen, _)| seen.is_some());
            self.queue.extend(links.map(|(_, link)| Reverse((now, Event::Core(link.core as usize)))));
        }
        Ok(())
    }

    /// Why a step cannot be taken, in the terms of virtual time.
    fn trouble(&self, at: usize, trouble: Trouble<Infallible>) -> Failure<Infallible, Stopped> {
        let (ordinal, refused) = match trouble {
            Trouble::Refused { ordinal, refused } => (ordinal, refused),
            Trouble::Fault { fault, .. } => match fault {},
            Trouble::NoticeLost(lost) => return self.broken(0, format!("{lost:?}")),
        };
        Failure::Source(match refused {
            Refused::WindowFull { capacity } => {
                let active = self.aicpus[at].driven.aicpu.queue.in_flight();
                Stopped::WindowOverflow { capacity, active, task: TaskId(ordinal as u32) }
            }
            Refused::AfterLater { after } => Stopped::UnknownTask(TaskId(after as u32)),
            Refused::NoOrderedScope => Stopped::NoOrderedScope,
            other => return self.broken(ordinal, other.to_string()),
        })
    }

    /// AICPUs disagree with themselves.
    fn broken(&self, ordinal: u64, message: String) -> Failure<Infallible, Stopped> {
        let (id, kernel) = (TaskId(ordinal as u32), self.program.spec(ordinal).kernel);
        Failure::Panic { task: FailedTask { id, kernel, payload: Vec::new(), cancelled: 0 }, message }
    }

    fn finish(mut self) -> SimAicpus {
        let mut traces = Vec::with_capacity(self.program.nodes.len());
        let mut out = SimAicpus::default();
        for clocked in &mut self.aicpus {
            let aicpu = &mut clocked.driven.aicpu;
            traces.append(&mut aicpu.trace);
            clocked.out.tasks = aicpu.stats.tasks;
            out.simulation.max_in_flight += aicpu.stats.max_in_flight;
            out.simulation.window_stalls += aicpu.stats.window_stalls;
            out.simulation.deferred += aicpu.stats.deferred;
            out.aicpus.push(std::mem::take(&mut clocked.out));
        }
        traces.arrange_by_key(|trace| trace.ordinal);
        out.simulation.workers = self.cores.iter().map(|clocked| lives::worker(clocked.core.stats)).collect();
        self.log.tell(self.program, &self.costs, &traces, &mut out.simulation);
        out
    }
}
