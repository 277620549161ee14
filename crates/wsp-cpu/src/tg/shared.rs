//! What the launches of a session share with it.

use super::accounts::Accounts;
use super::code::{Bound, GraphCode};
use super::codes;
use super::fault::cancelled;
use super::host::HostState;
use super::identity::Identity;
use super::instance::Instance;
use super::launched::Launched;
use super::launches::Launches;
use super::memory::TensorRange;
use super::options::SessionOptions;
use super::record::SavedLaunch;
use super::tensors::{TensorTable, UnitMemory};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use wsp_backend::Released;
use wsp_backend::{CheckpointKey, CheckpointStore};
use wsp_core::tg::{EvalFault, GraphNo, TensorNo};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_kernel::Scratch;
use wsp_memory::Claimed;
use wsp_ordered::OrderedMap;
use wsp_plan::target::model::Model;
use wsp_runtime::tg::{EventsOf, LaunchId};

/// What the launches of a session share with it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) table: TensorTable,
    pub(crate) accounts: Arc<[Accounts]>,
    pub(crate) devices: u32,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
    pub(crate) released: Released,
    /// What says what blocks and copies take in virtual time.
    pub(crate) machine: Option<Arc<Model>>,
    pub(crate) store: Option<Arc<dyn CheckpointStore>>,
    /// What a run of the session is; empty without a store.
    pub(crate) identity: Identity,
    /// Graphs and checkpoints that the host restores.
    pub(crate) restores: Vec<(u32, u32)>,
    /// What is compared of launches on different streams.
    pub(crate) launches: Option<Launches>,
    /// Whether a release of the host is compared with the launches of the host: the checks before the run have not gone through all of its ways.
    pub(crate) releases_are_open: bool,
    /// Events of the runtime.
    pub(crate) events: OnceLock<EventsOf>,
    /// Memory of no bytes.
    pub(crate) nothing: TensorRange,
    /// No arguments.
    pub(crate) unbound: Arc<Bound>,
    /// Never locked after the view.
    pub(crate) memory: Mutex<UnitMemory>,
    view: Mutex<View>,
    run: Mutex<RunState>,
    /// Held by the thread that saves a record.
    pub(super) saving: Mutex<()>,
    notes: Mutex<Vec<Diagnostic>>,
    scratch: Mutex<Vec<Scratch>>,
    /// On the arrays of the caller, which launches use that go on.
    _claim: Option<Claimed>,
}

/// Where a session stands.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// Of each device.
    pub(crate) hosts: Vec<HostState>,
    /// Launches whose end the session has not been told of, in order.
    pub(crate) live: Vec<Live>,
    /// Launches that a run which is being resumed has to enter, in order. The hosts stand behind them already.
    pub(crate) owed: Vec<SavedLaunch>,
    /// Values of declared scalars.
    pub(crate) scalars: Vec<i64>,
    /// Memory of launches, by graph and stream.
    pub(crate) held: Vec<Held>,
    /// External events that the caller has signalled.
    pub(crate) signalled: Vec<u32>,
    /// Whether the host program leads the session, and not the caller step by step.
    pub(crate) leading: bool,
    /// The graph of a launch of this run whose failure was returned: nothing that is saved from then on is a state of a run.
    pub(crate) failed: Option<String>,
    /// Whether something was launched, or a tensor changed, since the session was made.
    pub(crate) has_changed: bool,
}

/// The memory of launches of a graph on a stream.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) code: Arc<GraphCode>,
    pub(crate) stream: u32,
    /// Gone when no launch can use it again.
    pub(crate) instance: Weak<Instance>,
}

/// The run whose records a session saves.
#[derive(Debug, Default)]
pub(crate) struct RunState {
    /// Its number; 0 before the first.
    pub(crate) run: u64,
    /// The number of the next record.
    pub(crate) next: u64,
    /// By graph, checkpoint and device: the last record, with its number. `TG_RESTORE` takes no other.
    pub(crate) known: OrderedMap<(u32, u32, u32), (CheckpointKey, u64)>,
}

/// A launch that may be in flight.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) id: LaunchId,
    pub(crate) code: Arc<GraphCode>,
    pub(crate) device: u32,
    /// Whether a statement of the host has made it.
    pub(crate) is_of_host: bool,
    pub(crate) stream: u32,
    pub(crate) iteration: i64,
    pub(crate) partition: u32,
    /// The runtime lets go of it when the launch has ended.
    pub(crate) launched: Weak<Launched>,
}

impl Live {
    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.launched.strong_count() == 0
    }
}

impl View {
    fn place(&self, id: LaunchId) -> Option<usize> {
        self.live.binary_search_by_key(&id, |live| live.id).ok()
    }

    /// A launch whose end the session has not been told of.
    pub(crate) fn live(&self, id: LaunchId) -> Option<&Live> {
        self.place(id).map(|at| &self.live[at])
    }

    /// Notes that the end of a launch was reported: the session forgets the launch soon.
    pub(crate) fn told(&mut self, id: LaunchId) {
        if let Some(at) = self.place(id) {
            self.live[at].launched = Weak::new();
        }
    }
}

impl Shared {
    /// None if the machine has no memory.
    pub(crate) fn new(
        table: TensorTable,
        accounts: Vec<Accounts>,
        identity: Identity,
        restores: Vec<(u32, u32)>,
        scalars: Vec<i64>,
        host_loops: u32,
        options: &SessionOptions,
    ) -> Option<Shared> {
        let devices = options.runtime.devices;
        let memory = UnitMemory::new(&table, devices);
        let hosts = vec![HostState::new(host_loops); devices as usize];
        Some(Shared {
            table,
            accounts: accounts.into(),
            devices,
            cancel: options.runtime.cancel.clone(),
            released: options.released,
            machine: options.machine.clone(),
            store: options.checkpoints.clone(),
            identity,
            restores,
            launches: None,
            releases_are_open: true,
            events: OnceLock::new(),
            nothing: TensorRange::zeros(0, 1)?,
            unbound: Arc::new(Bound::Function(Box::default())),
            memory: Mutex::new(memory),
            view: Mutex::new(View { hosts, scalars, ..View::default() }),
            run: Mutex::default(),
            saving: Mutex::default(),
            notes: Mutex::default(),
            scratch: Mutex::default(),
            _claim: None,
        })
    }

    /// The host of a device has waited for the launches of a graph, or for all.
    pub(crate) fn waited(&self, device: u32, graph: Option<GraphNo>) {
        if let Some(launches) = &self.launches {
            launches.waited(device, graph.map(|graph| graph.0));
        }
    }

    /// All launches have ended.
    ///
    /// # Errors
    /// Some met in no order.
    pub(crate) fn waited_for_all(&self) -> Result<(), Box<Diagnostic>> {
        (0..self.devices).for_each(|device| self.waited(device, None));
        let told: Vec<Result<(), Box<Diagnostic>>> =
            (0..self.devices).map(|device| self.tell(device, true)).collect();
        told.into_iter().collect()
    }

    /// Says of launches of a device whether they met in no order, if that is known by now.
    ///
    /// # Errors
    /// Some did.
    pub(crate) fn compared(&self, device: u32) -> Result<(), Box<Diagnostic>> {
        self.tell(device, false)
    }

    fn tell(&self, device: u32, has_ended: bool) -> Result<(), Box<Diagnostic>> {
        let Some(launches) = &self.launches else { return Ok(()) };
        let mut findings = launches.findings(device, has_ended, &self.table).into_iter();
        findings.try_for_each(|finding| self.found(finding))
    }

    /// With the claim on the arrays of the caller, which it keeps.
    pub(crate) fn with_claim(self, claim: Claimed) -> Shared {
        Shared { _claim: Some(claim), ..self }
    }

    pub(crate) fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, UnitMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a finding of a launch, each once.
    ///
    /// # Errors
    /// It is an error.
    pub(crate) fn found(&self, finding: Diagnostic) -> Result<(), Box<Diagnostic>> {
        if finding.is_error() {
            return Err(Box::new(finding));
        }
        let mut notes = self.notes();
        if !notes.iter().any(|other| (other.code, &other.message) == (finding.code, &finding.message)) {
            notes.push(finding);
        }
        Ok(())
    }

    /// Working memory for a block of a compiled kernel, to be given back.
    pub(crate) fn take_scratch(&self) -> Scratch {
        let kept = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_default()
    }

    pub(crate) fn put_scratch(&self, scratch: Scratch) {
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
    }

    /// # Errors
    /// When the run was cancelled.
    pub(crate) fn check_cancel(&self) -> Result<(), Box<Diagnostic>> {
        match &self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(cancelled()),
            _ => Ok(()),
        }
    }

    /// Why an expression has no value, with tensors by name; `held` has the memory of those that have some.
    pub(crate) fn why_not(&self, fault: &EvalFault, held: impl Fn(TensorNo) -> bool) -> String {
        let (EvalFault::Load { tensor, .. } | EvalFault::Large { tensor, .. }) = fault else {
            return fault.to_string();
        };
        if tensor.0 as usize >= self.table.len() {
            return fault.to_string();
        }
        let info = &self.table[tensor.0 as usize];
        let (offset, ty) = match *fault {
            EvalFault::Large { offset, value, .. } => {
                let most = i64::MAX;
                return format!(
                    "the U64 at byte {offset} of `{}` is {value}, and expressions hold at most {most}",
                    info.name
                );
            }
            EvalFault::Load { offset, ty, .. } => (offset, ty),
            _ => return fault.to_string(),
        };
        let end = offset.checked_add(ty.size() as i64).and_then(|end| u64::try_from(end).ok());
        if offset >= 0 && end.is_some_and(|end| info.bytes.is_some_and(|bytes| end <= bytes)) {
            let name = &info.name;
            return match held(*tensor) {
                true => format!(
                    "no {ty:?} can be read at byte {offset} of `{name}`, where nothing has stored anything: let a kernel or an `MC_COPY` write it before"
                ),
                false => format!("no {ty:?} can be read at byte {offset} of `{name}`: it was released"),
            };
        }
        let bytes = info.bytes.map_or_else(
            || "an unknown number of bytes".to_owned(),
            |bytes| counted(bytes, "byte").to_string(),
        );
        format!("no {ty:?} can be read at byte {offset} of `{}`, which has {bytes}", info.name)
    }

    /// The run whose records are saved. Locked after memory and view.
    pub(crate) fn run_state(&self) -> MutexGuard<'_, RunState> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is worth knowing of the run.
    pub(crate) fn notes(&self) -> MutexGuard<'_, Vec<Diagnostic>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn no_store() -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(codes::NO_STORE, "there is no place to keep checkpoints")
            .help("name a folder: `--checkpoints DIR`")
            .python("leave out TG_CHECKPOINT: runs in Python keep no checkpoints"),
    )
}

pub(crate) fn store_failed(key: CheckpointKey, reason: &str) -> Box<Diagnostic> {
    let message = format!("{key} cannot be kept or loaded");
    Box::new(Diagnostic::error(codes::STORE_FAILED, message).note(reason.to_owned()))
}
