//! Runs the flat form.

use super::super::eval::{Halt, NotClosed, eval};
use super::affine::REGISTER_BOUND;
use super::faults::{self, Fault};
use super::program::{CompiledModule, Loop, Op, Site, SiteArg, Upper, set_bounds};
use super::scope::{Live, OfSchedule, Quiet, bounds, is_inside};
use super::sink::{Refused, Sink};
use super::turns::Turns;
use super::{ExpandError, ExpandStats, Placement, TaskRecord};
use std::ops::Range;
use wsp_core::{Region, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::workload::IntExpr;

/// Iterations and calls between two looks at the sink's wish to stop.
const STRIDE: u32 = 1024;
/// No task, for a label.
pub(super) const NONE: u64 = u64::MAX;

/// Why a run ends.
pub(super) enum Stop<E> {
    Fault(Fault),
    Sink(E),
    Cancelled,
}

/// A loop under way.
#[derive(Clone, Copy, Default)]
pub(super) struct LoopState {
    /// Its index; of a row of a sparse axis, the position of the entry.
    pub(super) at: i64,
    pub(super) step: i64,
    /// Iterations after this one.
    pub(super) remaining: u64,
    /// The axis's index outside.
    pub(super) outer_axis: i64,
}

/// The state of a run. What is indexed by ids of the program is as long as there.
pub(super) struct Machine<'p, 'm> {
    pub(super) program: &'p CompiledModule<'m>,
    registers: Vec<i64>,
    pub(super) axes: Vec<i64>,
    pub(super) loops: Vec<LoopState>,
    /// Rounds done and most rounds of each `while`.
    pub(super) rounds: Vec<(u64, u64)>,
    /// Where each workload returns to.
    returns: Vec<u32>,
    /// The last task of each label.
    pub(super) labels: Vec<u64>,
    regions: Vec<Region>,
    scalars: Vec<i64>,
    /// Arguments at fault, by statement.
    at_fault: Vec<u32>,
    /// Whether each argument is among them: fast regions, regions, scalars.
    fast_tree_regions_bad: Vec<bool>,
    tree_regions_bad: Vec<bool>,
    scalars_bad: Vec<bool>,
    /// Ids and indices of the loops around, outermost first.
    pub(super) path: Vec<u32>,
    pub(super) indices: Vec<i64>,
    after: Vec<u64>,
    /// Of the pipeline under way: whose turn it is.
    pub(super) turns: Turns<'p>,
    /// Whether some register has been outside the bound of forms.
    wide: bool,
    fuel: u32,
    steps: u64,
    pub(super) ordinal: u64,
    pub(super) stats: ExpandStats,
}

impl<'p, 'm> Machine<'p, 'm> {
    pub(super) fn new(program: &'p CompiledModule<'m>) -> Machine<'p, 'm> {
        Machine {
            program,
            registers: vec![0; program.register_count as usize],
            axes: vec![0; program.module.axes.len()],
            loops: vec![LoopState::default(); program.loops.len()],
            rounds: vec![(0, 0); program.whiles.len()],
            returns: vec![program.ops.len() as u32 - 1; program.workloads.len()],
            labels: vec![NONE; program.label_count as usize],
            regions: program.regions.clone(),
            scalars: vec![0; program.scalar_count as usize],
            at_fault: vec![0; program.sites.len()],
            fast_tree_regions_bad: vec![false; program.fast_regions.len()],
            tree_regions_bad: vec![false; program.tree_regions.len()],
            scalars_bad: vec![false; program.scalars.len()],
            path: Vec::new(),
            indices: Vec::new(),
            after: Vec::new(),
            turns: Turns::new(program),
            wide: false,
            fuel: STRIDE,
            steps: 0,
            ordinal: 0,
            stats: ExpandStats::default(),
        }
    }

    /// Runs to the end.
    pub(super) fn run(mut self, sink: &mut Sink<'_>) -> Result<ExpandStats, ExpandError<Refused>> {
        match self.go(sink) {
            Ok(()) => Ok(ExpandStats { tasks: self.ordinal, ..self.stats }),
            Err(Stop::Sink(error)) => Err(ExpandError::Sink(error)),
            Err(Stop::Cancelled) => Err(ExpandError::Cancelled),
            Err(Stop::Fault(fault)) => {
                Err(ExpandError::Fault(Box::new(self.diagnostic(&fault, Some(self.ordinal)))))
            }
        }
    }

    /// Runs to the end or to a fault.
    pub(super) fn go(&mut self, sink: &mut Sink<'_>) -> Result<(), Stop<Refused>> {
        if sink.cancelled() {
            return Err(Stop::Cancelled);
        }
        self.refresh(0);
        self.refresh(self.entry_level());
        self.steps(sink)
    }

    /// What a fault is to the user, behind so many tasks.
    pub(super) fn diagnostic(&self, fault: &Fault, ordinal: Option<u64>) -> Diagnostic {
        let (loops, indices) = (&self.path[..], &self.indices[..]);
        let context = faults::Context { loops, indices, ordinal };
        faults::diagnostic(self.program, fault, &context)
    }

    /// The loop under way that has most iterations before it: where it stands, its variable and how many they are.
    pub(super) fn longest(&self) -> Option<(Span, &'m str, u64)> {
        let suspended = self.turns.processes.iter().filter(|process| !process.ended);
        let under_way = self.path.iter().chain(suspended.flat_map(|process| &process.path));
        let longest = under_way.max_by_key(|id| self.loops[**id as usize].remaining)?;
        let Loop { workload, var, span, .. } = &self.program.loops[*longest as usize];
        let name = &self.program.module.workloads[workload.index()].vars[var.index()].name;
        Some((*span, name, self.loops[*longest as usize].remaining))
    }

    /// What depends on nothing but the entry workload's formal arguments, of which it has none.
    fn entry_level(&self) -> usize {
        let entry = self.program.module.entry.unwrap_or_default();
        self.program.workloads[entry.index()].level as usize
    }

    fn steps(&mut self, sink: &mut Sink<'_>) -> Result<(), Stop<Refused>> {
        let program = self.program;
        let mut pc = program.entry as usize;
        loop {
            let next = pc + 1;
            pc = match program.ops[pc] {
                Op::Task(site) => {
                    self.task(site, sink)?;
                    next
                }
                Op::Next { id, body } => {
                    if self.next(id as usize, sink)? {
                        body as usize
                    } else {
                        next
                    }
                }
                Op::Enter { id, exit } => {
                    if self.enter(id as usize, sink)? {
                        next
                    } else {
                        exit as usize
                    }
                }
                Op::Branch { id, otherwise } => {
                    let branch = &program.branches[id as usize];
                    let holds = self.eval(branch.condition, branch.base, sink)? != 0;
                    if holds { next } else { otherwise as usize }
                }
                Op::Jump(to) => to as usize,
                Op::While { id, exit } => {
                    if self.enter_while(id as usize, sink)? {
                        next
                    } else {
                        exit as usize
                    }
                }
                Op::Again { id, body } => {
                    if self.again(id as usize, sink)? {
                        body as usize
                    } else {
                        next
                    }
                }
                Op::Begin => {
                    self.stats.ordered_scopes += 1;
                    sink.ordered_begin().map_err(Stop::Sink)?;
                    next
                }
                Op::Step => {
                    sink.ordered_step().map_err(Stop::Sink)?;
                    next
                }
                Op::End => {
                    sink.ordered_end().map_err(Stop::Sink)?;
                    next
                }
                Op::Pipeline(id) => self.enter_pipeline(id) as usize,
                Op::Ended => self.end_process()? as usize,
                Op::Send(id) => self.send(id, pc as u32, sink)? as usize,
                Op::Sent(id) => self.sent(id, next as u32)? as usize,
                Op::Taken(id) => self.taken(id, pc as u32)? as usize,
                Op::Consume(id) => self.consume(id, pc as u32, sink)? as usize,
                Op::Consumed(id) => {
                    self.consumed(id);
                    next
                }
                Op::Close(id) => {
                    self.close(id)?;
                    next
                }
                Op::Call(id) => {
                    let workload = self.call(id as usize, sink)?;
                    self.returns[workload.index()] = next as u32;
                    program.workloads[workload.index()].start as usize
                }
                Op::Return(workload) => self.returns[workload.index()] as usize,
                Op::Halt => return Ok(()),
            }
        }
    }

    /// Counts a step, and looks at the sink's wish and at the limit now and then.
    #[inline]
    pub(super) fn tick(&mut self, sink: &Sink<'_>) -> Result<(), Stop<Refused>> {
        self.fuel -= 1;
        if self.fuel > 0 {
            return Ok(());
        }
        self.fuel = STRIDE;
        self.steps += u64::from(STRIDE);
        if sink.cancelled() {
            return Err(Stop::Cancelled);
        }
        if self.steps > limits::MAX_GENERATOR_STEPS { Err(Stop::Fault(Fault::Steps)) } else { Ok(()) }
    }

    pub(super) fn eval(&self, expr: &IntExpr, base: u32, sink: &mut Sink<'_>) -> Result<i64, Stop<Refused>> {
        let registers = &self.registers[base as usize..];
        let values = &self.program.bindings.values;
        Ok(eval(expr, &mut Live { values, registers, axes: &self.axes, sink })?)
    }

    /// Sets a register to a loop's index or an argument.
    #[inline]
    pub(super) fn set(&mut self, register: u32, value: i64) {
        self.wide |= !(-REGISTER_BOUND..REGISTER_BOUND).contains(&value);
        self.registers[register as usize] = value;
    }

    /// Brings arguments of statements up to date whose last variable has changed.
    #[inline(always)]
    pub(super) fn refresh(&mut self, level: usize) {
        let program = self.program;
        let level = &program.levels[level];
        for partial in part(&program.partials, &level.partials) {
            self.registers[partial.to as usize] = partial.sum.value(&self.registers);
        }
        self.refresh_fast(level.fast_regions.clone());
        for scalar in part(&program.fast_scalars, &level.fast_scalars) {
            self.scalars[scalar.at as usize] = scalar.sum.value(&self.registers);
        }
        if !level.tree_regions.is_empty() || !level.scalars.is_empty() {
            self.refresh_trees(level.tree_regions.clone(), level.scalars.clone());
        }
    }

    #[inline(always)]
    fn refresh_fast(&mut self, range: Range<u32>) {
        let program = self.program;
        let range = range.start as usize..range.end as usize;
        for (fast, bad) in
            program.fast_regions[range.clone()].iter().zip(&mut self.fast_tree_regions_bad[range])
        {
            let lo = fast.lo.value(&self.registers);
            let hi = match &fast.hi {
                Upper::Len(len) => lo.wrapping_add(*len),
                Upper::Sum(sum) => sum.value(&self.registers),
            };
            let good = 0 <= lo && lo <= hi && hi <= fast.extent;
            if good {
                set_bounds(&mut self.regions, &fast.places, fast.dim, lo, hi);
            }
            if good == *bad {
                mark(&mut self.at_fault[fast.site as usize], bad);
            }
        }
    }

    fn refresh_trees(&mut self, tree_regions: Range<u32>, scalars: Range<u32>) {
        let program = self.program;
        let values = &program.bindings.values;
        for index in tree_regions.start as usize..tree_regions.end as usize {
            let tree = &program.tree_regions[index];
            let registers = &self.registers[tree.base as usize..];
            let extent = program.bindings.shape(tree.access.tensor)[tree.dim as usize];
            let bounds = bounds(tree.access, tree.dim, extent, &mut Quiet { values, registers });
            let inside = bounds.ok().filter(|(lo, hi)| is_inside(*lo, *hi, extent));
            if let Some((lo, hi)) = inside {
                set_bounds(&mut self.regions, &tree.places, tree.dim, lo, hi);
            }
            let bad = &mut self.tree_regions_bad[index];
            if inside.is_some() == *bad {
                mark(&mut self.at_fault[tree.site as usize], bad);
            }
        }
        for index in scalars.start as usize..scalars.end as usize {
            let tree = &program.scalars[index];
            let registers = &self.registers[tree.base as usize..];
            let value = eval(tree.expr, &mut Quiet { values, registers }).ok();
            if let Some(value) = value {
                self.scalars[tree.at as usize] = value;
            }
            let bad = &mut self.scalars_bad[index];
            if value.is_some() == *bad {
                mark(&mut self.at_fault[tree.site as usize], bad);
            }
        }
    }

    /// Generates a task of a statement.
    #[inline]
    fn task(&mut self, id: u32, sink: &mut Sink<'_>) -> Result<(), Stop<Refused>> {
        let program = self.program;
        let site = &program.sites[id as usize];
        if site.late || self.wide || self.at_fault[id as usize] != 0 {
            self.evaluate(id, sink)?;
        }
        let place = if program.placer.plain {
            Placement { pool: site.unit, ..Placement::default() }
        } else {
            self.place(site)?
        };
        if !site.after.is_empty() {
            self.named(&site.after);
        }
        let record = TaskRecord {
            ordinal: self.ordinal,
            kernel: site.kernel,
            scalars: part(&self.scalars, &site.scalars),
            task: site.task,
            span: site.span,
            reads: part(&self.regions, &site.reads),
            writes: part(&self.regions, &site.writes),
            regions: part(&self.regions, &site.regions),
            after: if site.after.is_empty() { &[] } else { &self.after },
            place,
            indices: &self.indices,
        };
        sink.task(&record).map_err(Stop::Sink)?;
        if let Some(label) = site.label {
            self.labels[label as usize] = self.ordinal;
        }
        self.ordinal += 1;
        Ok(())
    }

    /// Evaluates all arguments of a statement in order: for those that name slots, and to find the first fault.
    #[cold]
    fn evaluate(&mut self, id: u32, sink: &mut Sink<'_>) -> Result<(), Stop<Refused>> {
        let program = self.program;
        let site = &program.sites[id as usize];
        let values = &program.bindings.values;
        for (arg, index) in site.args.iter().zip(0u32..) {
            let registers = &self.registers[site.base as usize..];
            let mut live = Live { values, registers, axes: &self.axes, sink };
            match arg {
                SiteArg::Scalar { expr, at } => self.scalars[*at as usize] = eval(expr, &mut live)?,
                SiteArg::Region { access, places } => {
                    for (dim, extent) in (0u8..).zip(program.bindings.shape(access.tensor)) {
                        let (lo, hi) = bounds(access, dim, *extent, &mut live)?;
                        if !is_inside(lo, hi, *extent) {
                            let fault = Fault::Outside { site: id, arg: index, dim, lo, hi };
                            return Err(Stop::Fault(fault));
                        }
                        set_bounds(&mut self.regions, places, dim, lo, hi);
                    }
                }
            }
        }
        Ok(())
    }

    /// Where the schedule puts a task.
    fn place<E>(&self, site: &Site<'_>) -> Result<Placement, Stop<E>> {
        let values = &self.program.bindings.values;
        let mut scope = OfSchedule { values, axes: &self.axes };
        match self.program.placer.place(self.ordinal, site.unit, &mut scope) {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(none)) => Err(Stop::Fault(Fault::Place(none, site.span))),
            Err(Halt::Fault(fault)) => Err(Stop::Fault(fault.into())),
            Err(Halt::Stop(NotClosed)) => Ok(Placement { pool: site.unit, ..Placement::default() }),
        }
    }

    /// Collects the tasks that labels name.
    fn named(&mut self, labels: &[u32]) {
        self.after.clear();
        for label in labels {
            let task = self.labels[*label as usize];
            if task != NONE && !self.after.contains(&task) {
                self.after.push(task);
            }
        }
    }
}

/// Notes that an argument is at fault, or no longer.
#[cold]
fn mark(at_fault: &mut u32, bad: &mut bool) {
    *bad = !*bad;
    if *bad { *at_fault += 1 } else { *at_fault -= 1 }
}

#[inline]
fn part<'s, T>(all: &'s [T], range: &Range<u32>) -> &'s [T] {
    &all[range.start as usize..range.end as usize]
}

impl<E> From<Halt<E>> for Stop<E> {
    fn from(halt: Halt<E>) -> Stop<E> {
        match halt {
            Halt::Fault(fault) => Stop::Fault(fault.into()),
            Halt::Stop(error) => Stop::Sink(error),
        }
    }
}
