//! What the launches of a session share with it.

use super::accounts::Accounts;
use super::bodies::{LaunchBodies, cancelled};
use super::checkpoint::{CheckpointKey, CheckpointStore, PendingLaunch, Record, SavedLaunch, SavedTensor};
use super::code::{Bound, GraphCode};
use super::codes;
use super::host::HostState;
use super::memory::TensorRange;
use super::options::{Released, SessionOptions};
use super::tensors::{TensorTable, UnitMemory};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use wsp_core::tg::EvalFault;
use wsp_ir::diag::Diagnostic;
use wsp_kernel::Scratch;
use wsp_runtime::tg::LaunchId;

/// What the launches of a session share with it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) table: TensorTable,
    pub(crate) accounts: Arc<[Accounts]>,
    pub(crate) devices: u32,
    pub(crate) cancel: Option<Arc<AtomicBool>>,
    pub(crate) released: Released,
    pub(crate) store: Option<Arc<dyn CheckpointStore>>,
    /// Tells units apart.
    pub(crate) unit: u64,
    /// Memory of no bytes.
    pub(crate) nothing: TensorRange,
    /// No arguments.
    pub(crate) unbound: Arc<Bound>,
    /// Of each checkpoint the next number.
    pub(crate) sequence: AtomicU64,
    /// Never locked after the view.
    pub(crate) memory: Mutex<UnitMemory>,
    view: Mutex<View>,
    scratch: Mutex<Vec<Scratch>>,
}

/// Where a session stands.
#[derive(Debug, Default)]
pub(crate) struct View {
    /// Of each device.
    pub(crate) hosts: Vec<HostState>,
    /// Launches whose end the session has not been told of, in order.
    pub(crate) live: Vec<Live>,
    /// Values of declared scalars.
    pub(crate) scalars: Vec<i64>,
}

/// A launch that may be in flight.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) id: LaunchId,
    pub(crate) code: Arc<GraphCode>,
    pub(crate) device: u32,
    pub(crate) stream: u32,
    pub(crate) iteration: i64,
    pub(crate) partition: u32,
    /// The runtime lets go of it when the launch has ended.
    pub(crate) bodies: Weak<LaunchBodies>,
}

impl Live {
    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.bodies.strong_count() == 0
    }
}

impl Shared {
    /// None if the machine has no memory.
    pub(crate) fn new(
        table: TensorTable,
        accounts: Vec<Accounts>,
        unit: u64,
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
            store: options.checkpoints.clone(),
            unit,
            nothing: TensorRange::zeros(0, 1)?,
            unbound: Arc::new(Bound::Function(Box::default())),
            sequence: AtomicU64::new(0),
            memory: Mutex::new(memory),
            view: Mutex::new(View { hosts, live: Vec::new(), scalars }),
            scratch: Mutex::default(),
        })
    }

    pub(crate) fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, UnitMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Why an expression has no value, with tensors by name.
    pub(crate) fn why_not(&self, fault: &EvalFault) -> String {
        let EvalFault::Load { tensor, offset, ty } = fault else { return fault.to_string() };
        if tensor.0 as usize >= self.table.len() {
            return fault.to_string();
        }
        let info = &self.table[tensor.0 as usize];
        let bytes = info.bytes.map_or_else(|| "an unknown number of".to_owned(), |bytes| bytes.to_string());
        format!("no {ty:?} can be read at byte {offset} of `{}`, which has {bytes} bytes", info.name)
    }

    /// Saves a launch between two of its tasks.
    ///
    /// # Errors
    /// The store refuses it, or there is none.
    pub(crate) fn save(
        &self,
        of: &LaunchBodies,
        checkpoint: u32,
        launch: Option<SavedLaunch>,
    ) -> Result<(), Box<Diagnostic>> {
        let own = |local: usize| of.instance.own(local).cloned();
        self.save_graph(&of.code, of.instance.device(), checkpoint, launch, &own)
    }

    /// Saves a graph; `launch` is the one that is in flight, and `own` has the memory of the graph's own tensors.
    ///
    /// # Errors
    /// The store refuses it, or there is none.
    pub(crate) fn save_graph(
        &self,
        code: &GraphCode,
        device: u32,
        checkpoint: u32,
        launch: Option<SavedLaunch>,
        own: &dyn Fn(usize) -> Option<TensorRange>,
    ) -> Result<(), Box<Diagnostic>> {
        let store = self.store.as_ref().ok_or_else(no_store)?;
        let key = CheckpointKey { graph: code.plan.no.0, checkpoint, device };
        let mut record = Record {
            unit: self.unit,
            graph: code.plan.no.0,
            checkpoint,
            device,
            devices: self.devices,
            sequence: self.sequence.fetch_add(1, Ordering::Relaxed),
            ..Record::default()
        };
        self.describe(&mut record, code, launch);
        self.save_tensors(&mut record, code, own)?;
        store.save(key, &record.encode()).map_err(|reason| store_failed(key, &reason))
    }

    /// What of the session goes into a record.
    fn describe(&self, record: &mut Record, code: &GraphCode, launch: Option<SavedLaunch>) {
        let view = self.view();
        record.scalars.clone_from(&view.scalars);
        record.host = view.hosts[record.device as usize].clone();
        if self.devices > 1 {
            record.obstacle = "the run has several devices".to_owned();
        }
        let stream = launch.as_ref().map(|launch| launch.stream);
        for live in view.live.iter().filter(|live| !live.has_ended()) {
            let begun = live.bodies.upgrade().is_some_and(|bodies| bodies.begun.load(Ordering::Acquire));
            let this = live.code.plan.no == code.plan.no && live.device == record.device && begun;
            if this && launch.is_some() {
                continue;
            }
            // What comes later in the same stream has not begun and cannot begin now.
            if !begun && Some(live.stream) == stream && live.device == record.device {
                record.pending.push(PendingLaunch {
                    graph: live.code.plan.no.0,
                    stream: live.stream,
                    iteration: live.iteration,
                    partition: live.partition,
                });
            } else if record.obstacle.is_empty() {
                record.obstacle = format!("another launch was in flight, of graph `{}`", live.code.plan.name);
            }
        }
        record.launch = launch;
    }

    /// Contents of what the graph writes. Without obstacle nothing else runs, and everything that a run may have written is saved.
    fn save_tensors(
        &self,
        record: &mut Record,
        code: &GraphCode,
        own: &dyn Fn(usize) -> Option<TensorRange>,
    ) -> Result<(), Box<Diagnostic>> {
        let mut saved = vec![false; self.table.len()];
        for (local, tensor) in code.tensors.iter().enumerate() {
            if !tensor.own {
                saved[tensor.unit as usize] = tensor.written;
                continue;
            }
            if let Some(range) = own(local) {
                record.tensors.push(SavedTensor {
                    graph: Some(code.plan.no.0),
                    tensor: self.table[tensor.unit as usize].no.0,
                    bytes: range.to_vec(),
                });
            }
        }
        let mut memory = self.memory();
        for (at, info) in self.table.iter() {
            let wanted = saved[at] || (record.obstacle.is_empty() && memory.is_written(at));
            if wanted && let Some(range) = memory.held(at, record.device) {
                record.tensors.push(SavedTensor { graph: None, tensor: info.no.0, bytes: range.to_vec() });
            }
        }
        Ok(())
    }
}

pub(crate) fn no_store() -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(codes::NO_STORE, "there is no place to keep checkpoints")
            .help("name a folder: `--checkpoints DIR`"),
    )
}

pub(crate) fn store_failed(key: CheckpointKey, reason: &str) -> Box<Diagnostic> {
    let message = format!("{key} cannot be kept or loaded");
    Box::new(Diagnostic::error(codes::STORE_FAILED, message).note(reason.to_owned()))
}
