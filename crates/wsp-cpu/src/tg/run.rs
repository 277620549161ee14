//! A run of the host program.
//!
//! With several devices each runs the whole program, with its own number. They take turns on the calling thread: one goes on
//! until it has to wait.

use super::Report;
use super::code::GraphCode;
use super::codes;
use super::faults;
use super::host::{HostState, HostValue, Stop, Turn};
use super::session::Session;
use super::shared::Live;
use super::start::Start;
use std::cell::RefCell;
use wsp_core::tg::{Env, EvalFault, ExprOp, IterNo, Scalar, ScalarType, TensorNo, eval};
use wsp_diag::{Diagnostic, Severity};
use wsp_runtime::tg::LaunchId;
use wsp_tg::plan::{HostKind, HostOp};

/// How far the host program of a device is.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Progress {
    GoesOn,
    /// Until these launches have ended.
    Waits(Vec<LaunchId>),
    Ended,
}

impl Session {
    /// Runs the host program from its beginning, and waits for all launches. A unit that launches nothing has each graph
    /// launched once, in order.
    ///
    /// # Errors
    /// The first failure. The session can be used further; tensors that were being written are in an undefined state.
    pub fn run(&mut self) -> Result<Report, Vec<Diagnostic>> {
        let loops = self.plan.host_loops;
        {
            let mut view = self.shared.view();
            for host in &mut view.hosts {
                let HostState { released, priorities, .. } = std::mem::take(host);
                *host = HostState { released, priorities, ..HostState::new(loops) };
            }
            view.owed.clear();
            view.failed = None;
            view.leading = true;
        }
        self.resumed = None;
        if self.shared.store.is_some()
            && let Err(fault) = self.shared.mark_start()
        {
            self.shared.view().leading = false;
            return Err(vec![*fault]);
        }
        self.go_on()
    }

    /// Goes on where the hosts stand, up to the end.
    pub(super) fn go_on(&mut self) -> Result<Report, Vec<Diagnostic>> {
        let result = self.run_hosts();
        // Whatever is still in flight ends before the caller goes on.
        let rest = self.wait(|_| true);
        let compared = self.shared.waited_for_all();
        self.shared.view().leading = false;
        match result.and(rest).and(compared).and_then(|()| self.replayed()) {
            Ok(()) => self.report().map_err(|fault| vec![*fault]),
            Err(fault) => Err(self.with_notes(*fault)),
        }
    }

    /// Refuses an order of starts of which something is left.
    fn replayed(&self) -> Result<(), Box<Diagnostic>> {
        let left = self.runtime.left_to_replay().map_err(|reason| faults::refused(&reason))?;
        left.map_or(Ok(()), |left| Err(Box::new(faults::not_replayed(&left))))
    }

    /// A fault, and what is worth knowing of checkpoints once the run has failed.
    pub(super) fn with_notes(&self, fault: Diagnostic) -> Vec<Diagnostic> {
        let notes = self.notes.iter().filter(|note| note.code == codes::PASSED_OVER).cloned();
        std::iter::once(fault).chain(notes).chain(self.shared.notes().iter().cloned()).collect()
    }

    fn run_hosts(&mut self) -> Result<(), Box<Diagnostic>> {
        if !self.launches_something() {
            return self.launch_every_graph();
        }
        let mut hosts = vec![Progress::GoesOn; self.shared.devices as usize];
        loop {
            let mut waited = Vec::new();
            for (device, progress) in hosts.iter_mut().enumerate() {
                self.advance(device as u32, progress)?;
                if let Progress::Waits(on) = progress {
                    waited.extend(on.iter().copied());
                }
            }
            if hosts.iter().all(|progress| *progress == Progress::Ended) {
                return Ok(());
            }
            // One that made launches may have been told of the end of those that another waits for.
            if waited.iter().any(|id| self.shared.view().live(*id).is_none()) {
                continue;
            }
            // Of several hosts the one whose launch ends first goes on.
            if hosts.len() > 1 {
                self.runtime.wait_any(&waited).map_err(|reason| faults::refused(&reason))?;
                waited.retain(|id| self.runtime.has_ended(*id) == Ok(true));
            }
            waited.sort_unstable();
            self.wait(|live| waited.binary_search(&live.id).is_ok())?;
        }
    }

    fn launches_something(&self) -> bool {
        let launches = |op: &HostOp| {
            matches!(op.kind, HostKind::Launch { .. } | HostKind::Invoke { .. } | HostKind::Restore { .. })
        };
        self.plan.host.iter().any(launches)
    }

    fn launch_every_graph(&mut self) -> Result<(), Box<Diagnostic>> {
        if !self.codes.is_empty() && !self.notes.iter().any(|note| note.code == codes::EVERY_GRAPH) {
            let what = "the unit launches no graph: each is launched once, in order";
            self.notes.push(Diagnostic::new(codes::EVERY_GRAPH, Severity::Note, what));
        }
        for graph in 0..self.codes.len() {
            for device in 0..self.shared.devices {
                // A run that is resumed has launched some already.
                if self.check_launched(device, graph).is_err() {
                    self.start(Start::of(graph, device))?;
                }
            }
        }
        self.wait(|_| true)
    }

    /// Lets a host go on until it has to wait.
    fn advance(&mut self, device: u32, progress: &mut Progress) -> Result<(), Box<Diagnostic>> {
        loop {
            match progress {
                Progress::Ended => return Ok(()),
                Progress::Waits(on) => {
                    let view = self.shared.view();
                    on.retain(|id| view.live(*id).is_some());
                    if !on.is_empty() {
                        return Ok(());
                    }
                }
                Progress::GoesOn => {}
            }
            *progress = self.turn(device)?;
        }
    }

    /// Does the next statement of a host. Where the host stands, a checkpoint may read at any moment, together with the launches
    /// that are in flight; so it moves past a launch in the moment in which that is entered, and past a wait when it is over.
    fn turn(&mut self, device: u32) -> Result<Progress, Box<Diagnostic>> {
        self.shared.check_cancel()?;
        let mut state = self.shared.view().hosts[device as usize].clone();
        let turn = state.next(&self.plan.host, |state, scalar| self.host_value(state, device, scalar));
        let op = match turn {
            Ok(Turn::Do(op)) => op,
            Ok(Turn::End) => {
                self.stand(device, state);
                return Ok(Progress::Ended);
            }
            Ok(Turn::Wait(on)) => {
                self.stand(device, state);
                return Ok(Progress::Waits(on));
            }
            Ok(Turn::Pause) => {
                self.stand(device, state);
                return Ok(Progress::GoesOn);
            }
            Err(Stop::Fault(at, fault)) => return Err(self.located(at, fault)),
            Err(Stop::Value(at, fault)) => return Err(self.no_value(at, device, &fault)),
        };
        let at = state.at - 1;
        self.perform(device, op, state).map_err(|fault| self.located(at, fault))
    }

    /// Notes where a host stands.
    fn stand(&self, device: u32, state: HostState) {
        self.shared.view().hosts[device as usize] = state;
    }

    /// Launches that may be in flight.
    fn in_flight(&self, of: impl Fn(&Live) -> bool) -> Vec<LaunchId> {
        self.shared.view().live.iter().filter(|live| of(live)).map(|live| live.id).collect()
    }

    /// Does a statement; `state` stands behind it.
    fn perform(
        &mut self,
        device: u32,
        op: HostOp,
        mut state: HostState,
    ) -> Result<Progress, Box<Diagnostic>> {
        let start = |graph: u32| Start::of(graph as usize, device);
        match op.kind {
            HostKind::Launch { graph, stream, partition } => {
                self.start(Start { stream, partition, behind: Some(state), ..start(graph) })?;
                return Ok(Progress::GoesOn);
            }
            HostKind::Invoke { graph, iteration } => {
                let at = state.at - 1;
                let value = self.host_value(&state, device, iteration);
                let iteration = match value.map_err(|fault| self.no_value(at, device, &fault))? {
                    HostValue::Known(iteration) => iteration,
                    HostValue::Waits(on) => {
                        state.at = at;
                        self.stand(device, state);
                        return Ok(Progress::Waits(on));
                    }
                };
                self.start(Start { iteration, behind: Some(state), ..start(graph) })?;
                return Ok(Progress::GoesOn);
            }
            HostKind::Sync(graph) => {
                self.check_launched(device, graph as usize)?;
                let no = self.codes[graph as usize].plan.no;
                let waits = self.in_flight(|live| live.device == device && live.code.plan.no == no);
                if !waits.is_empty() {
                    state.at -= 1;
                    self.stand(device, state);
                    return Ok(Progress::Waits(waits));
                }
                self.shared.waited(device, Some(no));
                self.shared.compared(device)?;
                self.stand(device, state);
            }
            HostKind::Alloc(tensor) => self.allocate(device, tensor as usize, Some(state))?,
            HostKind::Free(tensor) => self.release(device, tensor as usize, Some(state))?,
            HostKind::SetPriority { graph, priority } => {
                self.prioritise(device, graph as usize, priority, Some(state))?;
            }
            // A run that is resumed from a record made meanwhile does these again, which changes nothing.
            HostKind::Checkpoint { graph, checkpoint } => {
                self.save(device, graph as usize, checkpoint)?;
                self.stand(device, state);
            }
            HostKind::Restore { graph, checkpoint } => {
                self.bring_back(device, graph as usize, checkpoint, Some(state))?;
            }
            // A state goes through control flow by itself.
            _ => self.stand(device, state),
        }
        Ok(Progress::GoesOn)
    }

    /// The value of a scalar of the host program, or the launches of the device in flight that may write what it loads next. What is not loaded, as the left
    /// side of an `&&` or `||` goes, is not waited for.
    fn host_value(&self, state: &HostState, device: u32, scalar: Scalar) -> Result<HostValue, EvalFault> {
        if let Some(value) = scalar.as_const() {
            return Ok(HostValue::Known(value));
        }
        let values = HostValues { session: self, state, device, waits: RefCell::default() };
        let value = eval(self.plan.expr(scalar), &values);
        match values.waits.into_inner() {
            waits if waits.is_empty() => value.map(HostValue::Known),
            waits => Ok(HostValue::Waits(waits)),
        }
    }

    /// Launches of a device in flight that may write a tensor. If there are none, the host has waited for all that did.
    fn writers_in_flight(&self, device: u32, tensor: u32) -> Vec<LaunchId> {
        let may_write =
            |code: &GraphCode| code.tensors.iter().any(|of| of.written && !of.own && of.unit == tensor);
        let on = self.in_flight(|live| live.device == device && may_write(&live.code));
        if on.is_empty() {
            for code in self.codes.iter().filter(|code| may_write(code)) {
                self.shared.waited(device, Some(code.plan.no));
            }
        }
        on
    }

    fn no_value(&self, at: u32, device: u32, fault: &EvalFault) -> Box<Diagnostic> {
        let held = |tensor: TensorNo| self.shared.memory().held(tensor.0 as usize, device).is_some();
        let why = self.shared.why_not(fault, held);
        let what = Diagnostic::error(codes::BAD_EXPRESSION, format!("a scalar has no value: {why}"));
        self.located(at, Box::new(what))
    }

    /// A fault of a statement, with its place.
    fn located(&self, at: u32, fault: Box<Diagnostic>) -> Box<Diagnostic> {
        match self.plan.host.get(at as usize) {
            Some(op) if fault.primary.is_none() && !self.module.spans.is_empty() => {
                Box::new(fault.at(self.module.span(op.instr as usize), "by this statement"))
            }
            _ => fault,
        }
    }
}

/// Where a host stands.
struct HostValues<'a> {
    session: &'a Session,
    state: &'a HostState,
    device: u32,
    /// Launches that may write what was to be loaded: it has no value before they have ended.
    waits: RefCell<Vec<LaunchId>>,
}

impl Env for HostValues<'_> {
    fn iter(&self, iter: IterNo) -> Result<i64, EvalFault> {
        let number = self.state.loops.get(iter.0 as usize);
        number.map(|(number, _)| *number).ok_or(EvalFault::Unknown(ExprOp::Iter(iter)))
    }

    fn arg(&self, arg: u32) -> Result<i64, EvalFault> {
        let view = self.session.shared.view();
        view.scalars.get(arg as usize).copied().ok_or(EvalFault::Unknown(ExprOp::Arg(arg)))
    }

    fn load(&self, tensor: TensorNo, ty: ScalarType, offset: i64) -> Result<i64, EvalFault> {
        let on = self.session.writers_in_flight(self.device, tensor.0);
        if !on.is_empty() {
            self.waits.replace(on);
            return Err(EvalFault::Load { tensor, offset, ty });
        }
        let shared = &self.session.shared;
        let range = shared.memory().range(&shared.table, &shared.accounts, tensor.0 as usize, self.device);
        range.map_err(|_| EvalFault::Load { tensor, offset, ty })?.scalar(tensor, offset, ty)
    }

    fn device(&self) -> Result<i64, EvalFault> {
        Ok(i64::from(self.device))
    }

    fn devices(&self) -> Result<i64, EvalFault> {
        Ok(i64::from(self.session.shared.devices))
    }
}
