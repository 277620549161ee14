//! How a run goes.

use crate::checkpoint::CheckpointStore;
use crate::codes::{OPTION_OF_OTHERS, TOO_MANY_THREADS};
use crate::error::RunError;
use crate::payload::PayloadSlot;
use crate::progress::Progress;
use crate::starts::StartOrder;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::Poll;
use wsp_core::limits::MAX_THREADS;
use wsp_core::policy::Hints;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_memory::{Claim, View};
use wsp_plan::ProgramKind;
use wsp_plan::target::DeviceModel;

/// Order of tokens and heads inside a page of a KV cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum KvLayout {
    /// `[pages, page_size, heads, dim]`
    #[default]
    Nhd,
    /// `[pages, heads, page_size, dim]`
    Hnd,
}

impl KvLayout {
    /// Its name in files, in Python and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            KvLayout::Nhd => "NHD",
            KvLayout::Hnd => "HND",
        }
    }

    /// The layout with this name, in either case.
    pub fn from_name(name: &str) -> Option<KvLayout> {
        [KvLayout::Nhd, KvLayout::Hnd].into_iter().find(|l| l.name().eq_ignore_ascii_case(name))
    }

    /// The shape of an array of pages.
    pub fn shape(self, pages: u64, page_size: u64, heads: u64, dim: u64) -> [u64; 4] {
        match self {
            KvLayout::Nhd => [pages, page_size, heads, dim],
            KvLayout::Hnd => [pages, heads, page_size, dim],
        }
    }

    /// The dimensions of a page array.
    pub fn axes(self) -> &'static str {
        match self {
            KvLayout::Nhd => "[pages, page_size, heads, dim]",
            KvLayout::Hnd => "[pages, heads, page_size, dim]",
        }
    }

    /// The other one.
    pub fn other(self) -> KvLayout {
        match self {
            KvLayout::Nhd => KvLayout::Hnd,
            KvLayout::Hnd => KvLayout::Nhd,
        }
    }
}

impl std::fmt::Display for KvLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a run records what tasks store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Recording {
    /// It does not, but for memory that begins without values: what workspace slots and temporaries are in programs, and what is allocated in task graphs.
    #[default]
    Off,
    /// The outcome lists the elements of outputs that were never stored, and a load of elements of a workspace slot, a temporary
    /// or an output that was not given is a fault where no task has stored them. What a function of the caller stores by address, as a slice or a
    /// view, is found by filling its `out` regions with a pattern first: for a task with `out` regions of integers or 8-bit floats the function is
    /// called twice, and a task that computes from what an `out` region held fails.
    On,
}

/// What tensors of declared kernels begin with that nothing is given for and that [`WorkloadRunOptions::made_up`] does not name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Absent {
    /// Nothing: tasks may read what tasks wrote only. A tensor that they read first is an error before the run. Of one that tasks write under a condition or in part, or read
    /// under a condition that may hold after others have written it, a run records what they store, and a task that loads other
    /// elements stops it. What is never written is zeros in the outputs.
    #[default]
    Refused,
    /// Made-up elements, which differ from place to place and follow from a seed.
    MadeUp,
    /// Zeros.
    Zeros,
}

/// Who makes the tasks that AICPUs issue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Expand {
    /// What the target does by itself: [`Bytecode`](Expand::Bytecode) on `cpu_sim`, [`Loops`](Expand::Loops) of packages.
    #[default]
    Usual,
    /// The host, all of them before the run: every AICPU is given its part of the list. Of `cpu_sim`.
    Host,
    /// Every AICPU its own, from the workload's program.
    Bytecode,
    /// Every AICPU its own, by loops that were compiled. Of packages.
    Loops,
    /// No one: the package holds the tasks of the launch. Of packages.
    Table,
}

impl Expand {
    /// Whether packages alone have it.
    pub fn is_of_packages(self) -> bool {
        matches!(self, Expand::Loops | Expand::Table)
    }
}

/// What becomes of memory that is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Released {
    /// Nothing.
    #[default]
    Keep,
    /// It is filled with a pattern, so that what still reads it gives wrong results every time.
    Poison,
}

/// How a run of a unit begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Begin {
    /// With the first statement of the host.
    #[default]
    Start,
    /// From the newest checkpoint.
    Resume,
}

/// Options of a run. Those of one kind of program are refused for others.
///
/// They are written with the rest of the defaults, `RunOptions { threads: 4, ..RunOptions::default() }`: then an option that is new changes no
/// program.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Threads that run tasks; 0 takes what the schedule's pools need, else one per core of this machine.
    pub threads: u32,
    /// Picks among choices that schedules leave open; never changes a result. Of task graphs in virtual time only.
    pub seed: u64,
    /// Most tasks in flight, in place of what the schedule says. Not of task graphs.
    pub window: Option<u32>,
    /// Keeps to an order of starts, each task on its worker: `seed` has no effect then. On as many threads as the order has workers, which 0
    /// threads are, or on one. Refused with `sequential` and for runs that go on from a checkpoint, and with
    /// AICPUs where it is that of a seed.
    pub replay: Option<StartOrder>,
    /// Records when and where each task ran.
    pub trace: bool,
    /// Whether to record what tasks store.
    pub recording: Recording,
    /// Runs on one thread, in elaboration order and with plain tile operations: the oracle for all other ways. It takes the place of
    /// threads, seed, window, AICPUs, hints and schedule, fills memory that is released with a pattern, and is refused with
    /// `trace`.
    pub sequential: bool,
    /// Runs plain tile operations in place of fast ones. Not of task graphs; refused where no kernel comes from a file.
    pub plain: bool,
    /// Stops the run when it becomes true.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Asked on the calling thread, now and then, whether to stop: between tasks of a sequential run, and while tasks are generated. Of
    /// workloads only; refused where the calling thread does neither.
    pub poll: Option<Arc<dyn Poll>>,
    /// Receives what a function of the caller hands over when it fails. Not of programs of spaces, which have none.
    pub payload: Option<PayloadSlot>,
    /// Where the run writes how far it is; a backend whose tasks run in another process writes nothing there. Not of task graphs.
    pub progress: Option<Arc<Progress>>,
    /// The claim that the caller has made on its arrays for the runs; without it each run makes its own.
    pub claim: Option<Arc<Claim>>,
    /// Of programs of spaces.
    pub spaces: SpaceOptions,
    /// Of workloads.
    pub workload: WorkloadRunOptions,
    /// Of task graphs.
    pub unit: UnitOptions,
}

/// Options of programs of spaces.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SpaceOptions {
    /// Layout of every paged cache.
    pub kv_layout: KvLayout,
}

/// Options of workloads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkloadRunOptions {
    /// AICPUs that generate the tasks, of programs of spaces too, each its own, and issue them to cores; 0 leaves generation to the host.
    pub aicpus: u16,
    /// Who makes the tasks that AICPUs issue. Without AICPUs it has no meaning.
    pub expand: Expand,
    /// Tensors of declared kernels whose elements are made up. Refused for one that an array or view is given for.
    pub made_up: Vec<String>,
    /// What tensors of declared kernels begin with that neither array nor view is given for.
    pub absent: Absent,
    /// Made-up elements follow from it.
    pub data_seed: u64,
    /// Has tasks of kernels without a body mix what they read into what they write. Without it such a kernel is an error.
    pub mixing: bool,
    /// Fails tasks of declared kernels that leave elements of a region unwritten which their kernel declares `out`.
    pub whole_outs: bool,
    /// Has the host and cores take turns: a task waits for all earlier ones of the other side, and not for single ones. Of packages of
    /// workloads with kernels of the host.
    pub phases: bool,
}

/// Options of task graphs.
#[derive(Clone, Debug)]
pub struct UnitOptions {
    /// Simulated devices.
    pub devices: u32,
    /// Cores of each device; none takes those of the target.
    pub cores: Option<DeviceModel>,
    /// What becomes of partitions, requests and affinities.
    pub hints: Hints,
    /// External events that are signalled before anything runs.
    pub events: Vec<String>,
    /// Bytes of memory of each device; without it only the machine sets a bound.
    pub memory: Option<u64>,
    /// What becomes of memory that is released.
    pub released: Released,
    /// Where checkpoints are kept.
    pub checkpoints: Option<Arc<dyn CheckpointStore>>,
    /// How the run begins.
    pub begin: Begin,
    /// Where arrays come from, by name, such as `read from x.npy`: messages say it if a checkpoint was saved with other contents.
    pub origins: BTreeMap<String, String>,
    /// Where arrays of the caller lie of which arguments are copies, by name: they are refused as views are, and not claimed.
    pub copied: BTreeMap<String, View>,
}

impl Default for UnitOptions {
    fn default() -> UnitOptions {
        UnitOptions {
            devices: 1,
            cores: None,
            hints: Hints::Ignore,
            events: Vec::new(),
            memory: None,
            released: Released::Keep,
            checkpoints: None,
            begin: Begin::Start,
            origins: BTreeMap::new(),
            copied: BTreeMap::new(),
        }
    }
}

impl RunOptions {
    /// Refuses options that a kind of program does not take, and more threads than a run has.
    ///
    /// # Errors
    /// One for each such option, by its name.
    pub fn check(&self, kind: ProgramKind) -> Result<(), RunError> {
        use ProgramKind::{Spaces, Unit, Workload};
        let UnitOptions {
            devices,
            cores,
            hints,
            events,
            memory,
            released,
            checkpoints,
            begin,
            origins,
            copied,
        } = &self.unit;
        let WorkloadRunOptions { aicpus, expand, made_up, absent, data_seed, mixing, whole_outs, phases } =
            &self.workload;
        let usual = UnitOptions::default();
        let given: [(&str, &[ProgramKind], bool); 26] = [
            ("window", &[Spaces, Workload], self.window.is_some()),
            ("kv_layout", &[Spaces], self.spaces.kv_layout != KvLayout::default()),
            ("aicpus", &[Spaces, Workload], *aicpus != 0),
            ("expand", &[Spaces, Workload], *expand != Expand::default()),
            ("made_up", &[Workload], !made_up.is_empty()),
            ("absent", &[Workload], *absent != Absent::default()),
            ("data_seed", &[Workload], *data_seed != 0),
            ("mixing", &[Workload], *mixing),
            ("whole_outs", &[Workload], *whole_outs),
            ("phases", &[Workload], *phases),
            ("devices", &[Unit], *devices != usual.devices),
            ("cores", &[Unit], cores.is_some()),
            ("hints", &[Unit], *hints != usual.hints),
            ("events", &[Unit], !events.is_empty()),
            ("memory", &[Unit], memory.is_some()),
            ("released", &[Unit], *released != usual.released),
            ("checkpoints", &[Unit], checkpoints.is_some()),
            ("begin", &[Unit], *begin != usual.begin),
            ("origins", &[Unit], !origins.is_empty()),
            ("copied", &[Unit], !copied.is_empty()),
            ("plain", &[Spaces, Workload], self.plain),
            ("poll", &[Workload], self.poll.is_some()),
            ("payload", &[Workload, Unit], self.payload.is_some()),
            ("progress", &[Spaces, Workload], self.progress.is_some()),
            ("trace", &[], self.trace && self.sequential),
            ("replay", &[], self.replay.is_some() && self.sequential),
        ];
        let refused = |(name, kinds, _): (&str, &[ProgramKind], bool)| {
            let of = if kinds.is_empty() { "a sequential run".to_owned() } else { format!("a {kind}") };
            let fault = format!("option `{name}` has no meaning for {of}");
            let fault = Diagnostic::error(OPTION_OF_OTHERS, fault).help("leave it out");
            match kinds {
                [] => fault,
                kinds => {
                    let kinds: Vec<String> = kinds.iter().map(|kind| format!("a {kind}")).collect();
                    fault.note(format!("it is an option of {}", kinds.join(" or ")))
                }
            }
        };
        let refused =
            given.into_iter().filter(|(_, kinds, given)| *given && !kinds.contains(&kind)).map(refused);
        let too_many = (self.threads > MAX_THREADS && !self.sequential).then(|| {
            let message = format!("{} are asked for", counted(self.threads, "thread"));
            Diagnostic::error(TOO_MANY_THREADS, message)
                .help(format!("ask for at most {MAX_THREADS}: `--threads N`"))
        });
        let refused: Vec<Diagnostic> = refused.chain(too_many).collect();
        if refused.is_empty() { Ok(()) } else { Err(RunError::Refused(refused.into())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_other_kinds_are_refused_by_name() {
        let unit = UnitOptions { devices: 2, ..UnitOptions::default() };
        let workload = WorkloadRunOptions { aicpus: 4, ..WorkloadRunOptions::default() };
        let spaces = SpaceOptions { kv_layout: KvLayout::Hnd };
        let all = RunOptions { window: Some(8), spaces, workload, unit, ..RunOptions::default() };
        let refused = |kind| {
            let error = all.check(kind).expect_err("some are of others");
            let named = |fault: &Diagnostic| fault.message.split('`').nth(1).unwrap_or_default().to_owned();
            error.diagnostics().iter().map(named).collect::<Vec<_>>()
        };
        assert_eq!(refused(ProgramKind::Spaces), ["devices"]);
        assert_eq!(refused(ProgramKind::Workload), ["kv_layout", "devices"]);
        assert_eq!(refused(ProgramKind::Unit), ["window", "kv_layout", "aicpus"]);
        for kind in [ProgramKind::Spaces, ProgramKind::Workload, ProgramKind::Unit] {
            assert_eq!(RunOptions::default().check(kind), Ok(()));
        }
    }

    #[test]
    fn more_threads_than_a_run_has_are_one_fault_for_every_kind() {
        let with = |threads, sequential| RunOptions { threads, sequential, ..RunOptions::default() };
        for kind in [ProgramKind::Spaces, ProgramKind::Workload, ProgramKind::Unit] {
            let error = with(1025, false).check(kind).expect_err("1024 are the most");
            assert_eq!(error.diagnostics()[0].code.0, 1610, "{error}");
            assert_eq!((with(1024, false).check(kind), with(1025, true).check(kind)), (Ok(()), Ok(())));
        }
    }

    #[test]
    fn a_sequential_run_has_no_trace() {
        let options = RunOptions { sequential: true, trace: true, ..RunOptions::default() };
        assert!(options.check(ProgramKind::Workload).is_err());
    }
}
