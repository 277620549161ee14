//! How a checkpoint is taken: all that a record holds, at one moment.
//!
//! The memory of the unit and the view are locked while a record is put together. The host moves past a statement that launches,
//! allocates, releases or sets a priority under the lock of the view, together with what the statement does. So a record has such a
//! statement whole or not at all, and nothing that it copies can begin to change meanwhile.

use super::code::GraphCode;
use super::codes;
use super::instance::Instance;
use super::launched::Launched;
use super::record::{Record, SavedLaunch, SavedTensor};
use super::shared::{Held, Live, RunState, Shared, View, no_store, store_failed};
use super::tensors::UnitMemory;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use wsp_backend::codes::CANNOT_RESUME;
use wsp_backend::{CheckpointKey, RecordKind};
use wsp_diag::Diagnostic;
use wsp_memory::Stored;
use wsp_ordered::OrderedMap;
use wsp_runtime::tg::LaunchId;

/// What is between two of its tasks while a checkpoint is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Paused<'a> {
    /// No launch of the graph.
    Nothing,
    /// This launch, with the state of its machine.
    Launch(&'a Launched, &'a [u32]),
    /// A run on the calling thread.
    Here(&'a SavedLaunch),
}

impl Shared {
    /// Saves a graph, and with it the run if nothing else is in flight.
    ///
    /// # Errors
    /// The store refuses it, or there is none.
    pub(crate) fn save_graph(
        &self,
        code: &GraphCode,
        device: u32,
        checkpoint: u32,
        paused: Paused<'_>,
    ) -> Result<(), Box<Diagnostic>> {
        let _saving = self.saving();
        self.begin_records()?;
        let place = (code.plan.no.0, checkpoint, device);
        let record = self.snapshot(Some((code, place)), paused)?;
        let key = record.key();
        self.keep(key, &record)?;
        self.run_state().known.insert(place, (key, record.sequence));
        if !record.obstacle.is_empty() && self.view().leading {
            self.note(unusable(&code.plan.name, checkpoint, &record.obstacle));
        }
        Ok(())
    }

    /// Marks the beginning of a run in the store: records of earlier runs are not of this one.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) fn mark_start(&self) -> Result<(), Box<Diagnostic>> {
        let _saving = self.saving();
        let run = self.newest_run()? + 1;
        *self.run_state() = RunState { run, next: 0, known: OrderedMap::new() };
        let record = self.snapshot(None, Paused::Nothing)?;
        self.keep(CheckpointKey::START, &record)
    }

    /// Held while a record is numbered, put together and kept: no older record replaces a newer one. Locked before memory and view.
    fn saving(&self) -> MutexGuard<'_, ()> {
        self.saving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, key: CheckpointKey, record: &Record) -> Result<(), Box<Diagnostic>> {
        let store = self.store.as_ref().ok_or_else(no_store)?;
        store.save(key, &record.encode()).map_err(|reason| store_failed(key, &reason))
    }

    /// Numbers the run of a caller who leads the session step by step.
    fn begin_records(&self) -> Result<(), Box<Diagnostic>> {
        if self.run_state().run == 0 {
            let run = self.newest_run()? + 1;
            let mut state = self.run_state();
            (state.run, state.next) = (run, 1);
        }
        Ok(())
    }

    /// The greatest number of a run in the store.
    fn newest_run(&self) -> Result<u64, Box<Diagnostic>> {
        let store = self.store.as_ref().ok_or_else(no_store)?;
        let load = |key| store.load(key).map_err(|reason| store_failed(key, &reason));
        let run = |bytes: Vec<u8>| Record::decode(&bytes).ok().map(|record| record.run);
        if let Some(run) = load(CheckpointKey::START)?.and_then(run) {
            return Ok(run);
        }
        let mut newest = 0;
        for key in self.keys()? {
            newest = newest.max(load(key)?.and_then(run).unwrap_or(0));
        }
        Ok(newest)
    }

    /// The keys of all records.
    ///
    /// # Errors
    /// The store cannot list them, or there is none.
    pub(super) fn keys(&self) -> Result<Vec<CheckpointKey>, Box<Diagnostic>> {
        let store = self.store.as_ref().ok_or_else(no_store)?;
        store.keys().map_err(|reason| {
            let message = "checkpoints cannot be listed";
            Box::new(Diagnostic::error(codes::STORE_FAILED, message).note(reason))
        })
    }

    /// A record of this moment: of a graph with its checkpoint, or of the beginning of a run.
    fn snapshot(
        &self,
        of: Option<(&GraphCode, (u32, u32, u32))>,
        paused: Paused<'_>,
    ) -> Result<Record, Box<Diagnostic>> {
        let mut memory = self.memory();
        let view = self.view();
        let mut record = Record::default();
        if let Some((_, (graph, checkpoint, device))) = of {
            (record.graph, record.checkpoint, record.device) = (graph, checkpoint, device);
        }
        {
            let mut state = self.run_state();
            (record.run, record.sequence) = (state.run, state.next);
            state.next += 1;
        }
        record.identity.clone_from(&self.identity);
        for ((_, value), is) in record.identity.scalars.iter_mut().zip(&view.scalars) {
            *value = *is;
        }
        record.host = view.hosts[record.device as usize].clone();
        record.signalled.clone_from(&view.signalled);
        self.describe(&mut record, &view, paused);
        if of.is_some() || view.has_changed {
            self.copy_tensors(&mut record, &mut memory, &view, of.map(|(code, _)| code), paused);
        }
        drop((memory, view));
        if record.obstacle.is_empty() {
            record.restorable = self.restorable_now()?;
        }
        Ok(record)
    }

    /// Launches and events, and why the run cannot be resumed if it cannot.
    fn describe(&self, record: &mut Record, view: &View, paused: Paused<'_>) {
        if self.devices > 1 {
            record.obstacle = "the run has several devices".to_owned();
        } else if !view.leading {
            record.obstacle = "the caller led the session step by step".to_owned();
        } else if let Some(graph) = self.failed(view) {
            // Launches that fail are over, and have not done what they were to do.
            record.obstacle = format!("a launch of graph `{graph}` has failed");
        }
        let mut ids: Vec<LaunchId> = Vec::new();
        let mut stream = None;
        match paused {
            Paused::Nothing => {}
            Paused::Here(launch) => record.launches.push(launch.clone()),
            Paused::Launch(launched, words) => {
                if let Some(live) = view.live.iter().find(|live| is_of(live, launched)) {
                    record.launches.push(SavedLaunch { words: Some(words.to_vec()), ..saved(live) });
                    ids.push(live.id);
                    stream = Some(live.stream);
                }
            }
        }
        for live in view.live.iter().filter(|live| !live.has_ended()) {
            if matches!(paused, Paused::Launch(launched, _) if is_of(live, launched)) {
                continue;
            }
            let begun =
                live.launched.upgrade().is_some_and(|launched| launched.begun.load(Ordering::Acquire));
            // What comes later in the same stream has not begun and cannot begin now.
            if !begun && Some(live.stream) == stream && live.device == record.device {
                record.launches.push(saved(live));
                ids.push(live.id);
            } else if record.obstacle.is_empty() {
                record.obstacle = format!("another launch was in flight, of graph `{}`", live.code.plan.name);
            }
        }
        if let Some((events, of_launches)) =
            self.events.get().and_then(|events| events.saved(record.device, &ids))
        {
            record.events = events;
            record.launches.iter_mut().zip(of_launches).for_each(|(launch, events)| launch.events = events);
        }
        // A run that is being resumed has not entered these yet. They are of the stream of the first.
        record.launches.extend(view.owed.iter().cloned());
    }

    /// The graph of a launch that has failed.
    fn failed(&self, view: &View) -> Option<String> {
        let ids: Vec<LaunchId> = view.live.iter().map(|live| live.id).collect();
        let id = self.events.get().and_then(|events| events.failed(&ids));
        let live = view.live.iter().find(|live| Some(live.id) == id);
        view.failed.clone().or_else(|| live.map(|live| live.code.plan.name.clone()))
    }

    /// Contents of what the graph writes. Without obstacle nothing else runs, and everything that a run may have written is copied.
    fn copy_tensors(
        &self,
        record: &mut Record,
        memory: &mut UnitMemory,
        view: &View,
        code: Option<&GraphCode>,
        paused: Paused<'_>,
    ) {
        let whole = record.obstacle.is_empty();
        let stream = match paused {
            Paused::Nothing => None,
            Paused::Here(launch) => Some(launch.stream),
            Paused::Launch(launched, _) => Some(launched.stream),
        };
        for held in &view.held {
            let of_graph = code.is_some_and(|code| code.plan.no == held.code.plan.no)
                && stream.is_none_or(|stream| stream == held.stream);
            let Some(instance) = held.instance.upgrade() else { continue };
            if (whole || of_graph) && instance.epoch() == memory.epoch() && instance.device() == record.device
            {
                self.copy_own(record, held, &instance);
            }
        }
        let writes = |at: usize| {
            let tensors = code.map_or(&[][..], |code| &code.tensors);
            tensors.iter().any(|tensor| tensor.unit as usize == at && !tensor.own && tensor.written)
        };
        for at in 0..self.table.len() {
            let wanted = writes(at) || (whole && memory.may_have_changed(at));
            if wanted && let Some(range) = memory.held(at, record.device) {
                let (tensor, bytes) = (at as u32, range.to_vec());
                let stored = range.stored().map(Stored::state);
                record.tensors.push(SavedTensor { owner: None, tensor, released: false, bytes, stored });
            }
        }
    }

    /// Tensors of a graph: a launch finds in them what the one before in its stream left.
    fn copy_own(&self, record: &mut Record, held: &Held, instance: &Instance) {
        for (local, tensor) in held.code.tensors.iter().enumerate() {
            let Some(range) = instance.own(local).filter(|_| tensor.own) else { continue };
            let mut bytes = range.to_vec();
            if bytes.iter().all(|byte| *byte == 0) {
                // As fresh memory is.
                bytes.clear();
            }
            record.tensors.push(SavedTensor {
                owner: Some((held.code.plan.no.0, held.stream)),
                tensor: tensor.unit,
                released: instance.range(local as u32).is_none(),
                bytes,
                stored: range.stored().map(Stored::state),
            });
        }
    }

    /// Records that a `TG_RESTORE` of the unit may ask for.
    fn restorable_now(&self) -> Result<Vec<Vec<u8>>, Box<Diagnostic>> {
        let Some(store) = self.store.as_ref().filter(|_| !self.restores.is_empty()) else {
            return Ok(Vec::new());
        };
        let known: Vec<(CheckpointKey, u64)> = {
            let state = self.run_state();
            let asked = state
                .known
                .iter()
                .filter(|((graph, checkpoint, _), _)| self.restores.contains(&(*graph, *checkpoint)));
            asked.map(|(_, known)| *known).collect()
        };
        let mut records = Vec::new();
        for (key, sequence) in known {
            let bytes = store.load(key).map_err(|reason| store_failed(key, &reason))?;
            let record = bytes.and_then(|bytes| Record::decode(&bytes).ok());
            if let Some(mut record) = record.filter(|record| record.sequence == sequence) {
                // The run is resumed from the record that has this one, never from this one.
                record.restorable.clear();
                if record.obstacle.is_empty() {
                    record.obstacle = "the run went on after it".to_owned();
                }
                records.push(record.encode());
            }
        }
        Ok(records)
    }

    /// Notes something once.
    pub(super) fn note(&self, note: Diagnostic) {
        let mut notes = self.notes();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// Whether it is this launch.
fn is_of(live: &Live, launched: &Launched) -> bool {
    std::ptr::eq(live.launched.as_ptr(), launched)
}

/// A launch that has not begun.
fn saved(live: &Live) -> SavedLaunch {
    SavedLaunch {
        graph: live.code.plan.no.0,
        stream: live.stream,
        iteration: live.iteration,
        partition: live.partition,
        scalars: live.launched.upgrade().map_or_else(Vec::new, |launched| launched.scalars.clone()),
        ..SavedLaunch::default()
    }
}

/// What is said of a checkpoint that a run cannot be resumed from.
pub(super) fn unusable(graph: &str, checkpoint: u32, obstacle: &str) -> Diagnostic {
    let message =
        format!("no run can be resumed from checkpoint {checkpoint} of graph `{graph}`: {obstacle}");
    Diagnostic::warning(CANNOT_RESUME, message)
        .help("wait for the other launches first, `TG_SYNC`; or launch the graphs on one stream")
}

/// What a record is called.
pub(super) fn called(key: CheckpointKey, graph: Option<&str>) -> String {
    match (key.kind, graph) {
        (RecordKind::Start, _) | (_, None) => key.to_string(),
        (_, Some(name)) => format!("checkpoint {} of graph `{name}`", key.checkpoint),
    }
}
