//! Runs: on the calling thread, or on one of their own while the caller waits and looks at signals.

use crate::again::Again;
use crate::errors;
use crate::functions::Functions;
use crate::inner::Inner;
use crate::inputs::Arguments;
use crate::nested;
use crate::outcome::Ran;
use crate::registry::{self, Awaited, Registered};
use crate::timeline;
use crate::turns;
use crate::watch;
use crate::watched::{Failed, LOOK, Watched, lock};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use wsp_backend::{Progress, RunOptions, RunningTask};
use wsp_diag::{Code, Diagnostic};
use wsp_runtime::clock;
use wsp_runtime::look::{LOOKS_FOR, look_for};
use wsp_runtime::nested::{Within, depth};
use wsp_runtime::standing;
use wsp_runtime::timeline::Timeline;
use wsp_trace::python::arrays::{ELSEWHERE, OUTLIVES};

/// Python calls this in the child of a fork.
#[pyfunction]
pub(crate) fn forked() {
    wsp_memory::forked();
    registry::forked();
    turns::forked();
}

/// Refuses a run that may go on when its caller does, inside of a task: it would have the arrays of the task without a claim of its own.
pub(crate) fn may_go_on(py: Python<'_>) -> PyResult<()> {
    if !wsp_memory::is_within_task() {
        return Ok(());
    }
    let fault = Diagnostic::error(OUTLIVES, "`execute_async` is called inside of a task of a Python kernel")
        .note("the run could go on when the task has ended, and its arrays belong to others then")
        .help("call `execute(…)`, which ends before the task does, or start the run outside of the kernel");
    Err(errors::fault(py, fault))
}

/// Codes of runs that were stopped from outside.
const STOPS: [Code; 2] = [Code(574), Code(607)];

/// How long a run may take.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    span: Duration,
    /// When it is over; none of a limit beyond all times.
    end: Option<Instant>,
}

impl Limit {
    /// So many seconds from now on.
    pub(crate) fn seconds(seconds: f64) -> Limit {
        let span = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX);
        Limit { span, end: clock::now().checked_add(span) }
    }
}

/// A limit that has passed.
struct Exceeded {
    span: Duration,
    /// What ran then.
    running: Vec<RunningTask>,
}

impl Failed {
    /// The exception that the caller gets.
    pub(crate) fn raise(self, py: Python<'_>, inner: &Inner) -> PyErr {
        if let Some(signal) = self.signal {
            return signal;
        }
        let cause = self.payload.as_ref().and_then(|payload| payload.downcast_ref::<PyErr>());
        let Some(cause) = cause.map(|cause| cause.clone_ref(py)) else {
            return errors::exception(py, &self.faults, &inner.sources);
        };
        // What is no `Exception`, such as KeyboardInterrupt, is nobody's to wrap.
        if !cause.is_instance_of::<PyException>(py) {
            return cause;
        }
        errors::caused(py, &self.faults, &inner.sources, Some(&cause))
    }
}

/// Runs a program and waits for its end; the interpreter is released meanwhile.
pub(crate) fn execute(
    py: Python<'_>,
    inner: &Arc<Inner>,
    arguments: Arguments,
    mut options: RunOptions,
    limit: Option<Limit>,
) -> PyResult<Ran> {
    // A run on this thread sees between its tasks only that its time is over.
    options.sequential |= limit.is_none() && inner.alone(&arguments.args, &options);
    let outcome = if limit.is_none() && inner.on_caller(&options) {
        on_caller(py, inner, arguments, options)?
    } else {
        let _nested = nested::begin(py)?;
        let running = Running::start(inner, arguments, options, None)?;
        let _awaited = running.awaited()?;
        running.wait_within(py, limit)?;
        running.finish(py, inner)?
    };
    outcome.ok_or_else(|| internal("a run has no outcome").raise(py, inner))
}

/// Runs a program on this thread.
fn on_caller(
    py: Python<'_>,
    inner: &Arc<Inner>,
    mut arguments: Arguments,
    options: RunOptions,
) -> PyResult<Option<Ran>> {
    let _nested = nested::begin(py)?;
    if let Some(again) = Again::of(inner, &arguments, &options) {
        let _awaited = Awaited::new(again.cancel())?;
        let ran = py.detach(|| again.run(inner, &mut arguments));
        return ran.map(Some).map_err(|failed| failed.raise(py, inner));
    }
    let cancel = Arc::new(AtomicBool::new(false));
    let _awaited = Awaited::new(&cancel)?;
    let watched = Watched::looking(inner.has_functions(), RunOptions { cancel: Some(cancel), ..options });
    let ran = py.detach(|| perform(inner, &arguments, &watched));
    let done = ran.map_err(|failed| failed.raise(py, inner))?;
    inner.keep(done.timeline);
    Ok(done.outcome)
}

/// Runs a program in another way than by itself, and waits for its end; the interpreter is released meanwhile. None when
/// `run` gives none.
///
/// # Errors
/// What failed the run, and what a signal handler raises.
pub(crate) fn executed(
    py: Python<'_>,
    inner: &Inner,
    arguments: Arguments,
    mut options: RunOptions,
    run: impl FnOnce(&Arguments, &RunOptions) -> Option<Result<Ran, Vec<Diagnostic>>> + Send,
) -> PyResult<Option<Ran>> {
    let ran = interruptible(py, |cancel| {
        options.cancel = Some(cancel);
        let outcome = run(&arguments, &options)?;
        Some(outcome.inspect(|outcome| arguments.give_back(&outcome.outputs)))
    })?;
    let Some(outcome) = ran else { return Ok(None) };
    let outcome = outcome.map_err(|faults| errors::exception(py, &faults, &inner.sources))?;
    inner.keep(timeline::of_run(&outcome));
    Ok(Some(outcome))
}

/// Does something that takes long and stops when its flag is set, on a thread of its own, while this one looks at signals.
///
/// # Errors
/// What a signal handler raises.
pub(crate) fn interruptible<R: Send>(
    py: Python<'_>,
    work: impl FnOnce(Arc<AtomicBool>) -> R + Send,
) -> PyResult<R> {
    let cancel = Arc::new(AtomicBool::new(false));
    let _awaited = Awaited::new(&cancel)?;
    let _nested = nested::begin(py)?;
    let depth = depth();
    py.detach(|| {
        std::thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            let flag = cancel.clone();
            scope.spawn(move || {
                let _within = Within::runs(depth);
                send.send(work(flag))
            });
            loop {
                match receive.recv_timeout(LOOK) {
                    Ok(done) => return Ok(done),
                    // The thread panicked, which its scope passes on.
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(PyRuntimeError::new_err("a thread ended early"));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if let Some(Err(raised)) = Python::try_attach(|py| py.check_signals()) {
                    cancel.store(true, Ordering::Relaxed);
                    return Err(raised);
                }
            }
        })
    })
}

/// Runs a program to its end.
fn perform(inner: &Inner, arguments: &Arguments, watched: &Watched) -> Result<Done, Failed> {
    let ran = inner.execute(arguments, watched.options());
    let outcome = ran.map_err(|faults| watched.failed(faults))?;
    arguments.give_back(&outcome.outputs);
    let timeline = timeline::with_coordinates(timeline::of_run(&outcome), inner, arguments);
    Ok(Done { timeline, outcome: Some(outcome) })
}

/// What a run gives that ended well.
pub(crate) struct Done {
    /// Its figures; none where somebody else keeps them.
    pub(crate) outcome: Option<Ran>,
    /// When and where tasks ran, if that was recorded.
    pub(crate) timeline: Option<Timeline>,
}

pub(crate) fn internal(what: &str) -> Failed {
    let fault = Diagnostic::error(Code(639), format!("internal error: {what}"));
    Failed { faults: vec![fault], payload: None, signal: None }
}

/// A run on a thread of its own.
pub(crate) struct Running {
    pub(crate) cancel: Arc<AtomicBool>,
    /// How far it is.
    pub(crate) progress: Arc<Progress>,
    state: Mutex<State>,
    ended: Condvar,
    /// Whether it has ended, to be looked at without the lock.
    is_over: AtomicBool,
    /// The time limit that has passed before it ended.
    limit: OnceLock<Exceeded>,
    /// The process whose thread runs it; a child that was forked meanwhile has none of its threads.
    process: u32,
}

#[derive(Default)]
struct State {
    ended: bool,
    result: Option<Result<Done, Failed>>,
}

impl Running {
    /// Starts a run of a program, which refers to its `functions` where its caller may not.
    ///
    /// # Errors
    /// The operating system makes no thread.
    pub(crate) fn start(
        inner: &Arc<Inner>,
        arguments: Arguments,
        mut options: RunOptions,
        functions: Option<Py<Functions>>,
    ) -> PyResult<Arc<Running>> {
        let (cancel, progress) = (Arc::new(AtomicBool::new(false)), Arc::new(Progress::default()));
        options.cancel = Some(cancel.clone());
        options.progress = Some(progress.clone());
        if let Some(tasks) = inner.tasks(&arguments.args) {
            progress.expect(tasks);
        }
        let watched = Watched::new(inner.has_functions(), options);
        let inner = inner.clone();
        Running::spawn(cancel, progress, move || {
            let done = perform(&inner, &arguments, &watched);
            if functions.is_some() {
                // Given back at once: without the interpreter that would be left to the next call of the package.
                let _attached = Python::try_attach(|_| drop(functions));
            }
            done
        })
    }

    /// Runs something on a thread of its own, which `cancel` stops.
    ///
    /// # Errors
    /// The operating system makes no thread.
    pub(crate) fn spawn(
        cancel: Arc<AtomicBool>,
        progress: Arc<Progress>,
        run: impl FnOnce() -> Result<Done, Failed> + Send + 'static,
    ) -> PyResult<Arc<Running>> {
        let registered = Registered::new(&cancel)?;
        let running = Arc::new(Running {
            cancel,
            progress,
            state: Mutex::default(),
            ended: Condvar::new(),
            is_over: AtomicBool::new(false),
            limit: OnceLock::new(),
            process: wsp_memory::process(),
        });
        let on_thread = running.clone();
        let body = move || -> standing::Tell {
            // What `run` holds, arrays among it, is given back before anybody learns that the run is over.
            let done = catch_unwind(AssertUnwindSafe(run));
            let done = done.unwrap_or_else(|panic| Err(internal(&panicked(&*panic))));
            Box::new(move || {
                let _registered = registered;
                on_thread.end(done);
            })
        };
        standing::start(Box::new(body)).map_err(|fault| PyRuntimeError::new_err(fault.to_string()))?;
        Ok(running)
    }

    fn end(&self, result: Result<Done, Failed>) {
        *lock(&self.state) = State { ended: true, result: Some(result) };
        // Release: who sees it sees the result, though it takes the lock as well.
        self.is_over.store(true, Ordering::Release);
        self.ended.notify_all();
    }

    /// For the thread that waits: it comes back to the interpreter, which must not be gone then.
    pub(crate) fn awaited(&self) -> PyResult<Awaited> {
        Awaited::new(&self.cancel)
    }

    /// Whether it has ended, or goes on in another process.
    pub(crate) fn has_ended(&self) -> bool {
        self.is_elsewhere() || lock(&self.state).ended
    }

    /// What a run came to, with a time that was over before its end as a failure.
    fn within_limit(&self, result: Result<Done, Failed>, inner: &Inner) -> Result<Done, Failed> {
        let stopped = |fault: Diagnostic| match STOPS.contains(&fault.code) {
            true => watch::stopped(fault, &self.progress, inner),
            false => fault,
        };
        let Some(exceeded) = self.limit.get() else {
            return result.map_err(|failed| {
                let faults = failed.faults.into_iter().map(stopped).collect();
                Failed { faults, ..failed }
            });
        };
        let fault =
            |ended| watch::over_time((exceeded.span, &exceeded.running), ended, &self.progress, inner);
        match result {
            Ok(_) => Err(Failed { faults: vec![fault(true)], payload: None, signal: None }),
            Err(failed)
                if failed.signal.is_none()
                    && failed.faults.iter().any(|fault| STOPS.contains(&fault.code)) =>
            {
                Err(Failed { faults: vec![fault(false)], ..failed })
            }
            other => other,
        }
    }

    fn is_elsewhere(&self) -> bool {
        self.process != wsp_memory::process()
    }

    /// The result of the ended run, once.
    ///
    /// # Errors
    /// What failed the run.
    pub(crate) fn finish(&self, py: Python<'_>, inner: &Inner) -> PyResult<Option<Ran>> {
        if self.is_elsewhere() {
            let fault = Diagnostic::error(ELSEWHERE, "the run goes on in the process that started it")
                .note("this process was forked meanwhile: it has the memory and none of the threads")
                .help("wait for runs before a fork, or start processes anew: `multiprocessing.set_start_method(\"spawn\")`");
            return Err(Failed { faults: vec![fault], payload: None, signal: None }.raise(py, inner));
        }
        let result = lock(&self.state).result.take();
        let result = result.unwrap_or_else(|| Err(internal("a run gave its result twice")));
        let done = self.within_limit(result, inner).map_err(|failed| failed.raise(py, inner))?;
        inner.keep(done.timeline);
        Ok(done.outcome)
    }

    /// Waits at most until `deadline`; whether it has ended.
    fn wait_until(&self, deadline: Option<Instant>) -> bool {
        if look_for(LOOKS_FOR, || self.is_over.load(Ordering::Acquire)) {
            return true;
        }
        let mut state = lock(&self.state);
        while !state.ended {
            let Some(deadline) = deadline else {
                state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(clock::now());
            if left.is_zero() {
                return false;
            }
            state = self.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn wait_until_end(&self) {
        self.wait_until(None);
    }

    /// Stops the run if it goes on when its time is over.
    pub(crate) fn keep_to(&self, limit: Limit) {
        if !self.wait_until(limit.end) {
            self.exceed(limit);
        }
    }

    fn exceed(&self, limit: Limit) {
        let _ = self.limit.set(Exceeded { span: limit.span, running: self.progress.running() });
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Waits for the end, which `limit` may bring about, and looks at signals.
    ///
    /// # Errors
    /// What a signal handler raises, when the run has been stopped.
    pub(crate) fn wait_within(&self, py: Python<'_>, limit: Option<Limit>) -> PyResult<()> {
        if let Some(limit) = limit
            && !self.wait(py, limit.end)?
        {
            self.exceed(limit);
        }
        self.wait(py, None).map(drop)
    }

    /// Waits for the end, at most until `deadline`, and looks at signals; whether it has ended.
    ///
    /// # Errors
    /// What a signal handler raises, when the run has been stopped.
    pub(crate) fn wait(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<bool> {
        if self.is_elsewhere() {
            return Ok(true);
        }
        turns::leave();
        loop {
            let look = clock::now() + LOOK;
            let until = deadline.map_or(look, |deadline| deadline.min(look));
            if py.detach(|| self.wait_until(Some(until))) {
                return Ok(true);
            }
            if let Err(raised) = py.check_signals() {
                self.cancel.store(true, Ordering::Relaxed);
                py.detach(|| self.wait_until_end());
                return Err(raised);
            }
            if deadline.is_some_and(|deadline| clock::now() >= deadline) {
                return Ok(false);
            }
        }
    }
}

/// What a panic says.
fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a run panicked").to_owned()
}
