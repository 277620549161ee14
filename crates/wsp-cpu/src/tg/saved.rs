//! How a graph, or a run, goes on from a checkpoint.

use super::Report;
use super::codes;
use super::faults;
use super::host::HostState;
use super::identity::Difference;
use super::instance::Instance;
use super::outside::read_only;
use super::record::{Record, SavedTensor};
use super::session::Session;
use super::shared::{RunState, no_store, store_failed};
use super::snapshot::{called, unusable};
use super::start::Start;
use std::sync::Arc;
use wsp_backend::Recording;
use wsp_backend::{CheckpointKey, RecordKind};
use wsp_core::tg::{CheckpointNo, EventNo, GraphNo, StreamNo};
use wsp_diag::Diagnostic;
use wsp_memory::{Unreadable, ViewAccess};
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};
use wsp_runtime::tg::Epochs;
use wsp_tg::plan::TensorKind;

/// The records of a store that can be read, of its newest run, the newest record first; and why others cannot.
struct Found {
    records: Vec<Record>,
    damaged: Vec<Diagnostic>,
    other_layout: Vec<Diagnostic>,
}

impl Session {
    /// Continues a graph from a checkpoint: its tensors get the saved contents, and a launch that was in flight goes on. Waits
    /// for launches of the graph first.
    ///
    /// # Errors
    /// There is no such graph or checkpoint, it does not belong to the unit, or a launch failed.
    pub fn restore(&mut self, graph: GraphNo, checkpoint: CheckpointNo) -> Result<(), Box<Diagnostic>> {
        let index = self.index(graph)?;
        self.bring_back(0, index, checkpoint, None)
    }

    /// Restores a graph, and moves the host behind the statement that says so together with the launch that goes on.
    pub(super) fn bring_back(
        &mut self,
        device: u32,
        index: usize,
        checkpoint: CheckpointNo,
        behind: Option<HostState>,
    ) -> Result<(), Box<Diagnostic>> {
        let no = self.codes[index].plan.no;
        // A launch of the graph may be about to save it.
        self.wait(|live| live.device == device && live.code.plan.no == no)?;
        self.shared.waited(device, Some(no));
        self.shared.compared(device)?;
        let mut record = self.restorable(no, checkpoint, device)?.ok_or_else(|| {
            let name = &self.codes[index].plan.name;
            let message = format!("there is no checkpoint {} of graph `{name}` of this run", checkpoint.0);
            Box::new(Diagnostic::error(codes::NO_CHECKPOINT, message).help("save one first: `TG_CHECKPOINT`"))
        })?;
        let code = Arc::clone(&self.codes[index]);
        let writes =
            |at: usize| code.tensors.iter().any(|tensor| tensor.unit as usize == at && tensor.written);
        self.fill_unit(&record, device, writes)?;
        self.fill_graphs(&record, device, |graph| graph == no.0)?;
        let in_flight = record.launches.first().is_some_and(|launch| launch.words.is_some());
        if in_flight {
            let launch = record.launches.remove(0);
            let epochs = Some(Epochs::New(launch.events.clone()));
            let start = Start { epochs, behind, ..self.saved_start(launch, device)? };
            return self.start(start).map(|_| ());
        }
        let mut view = self.shared.view();
        let host = &mut view.hosts[device as usize];
        if let Some(behind) = behind {
            *host = behind;
        }
        host.launch(no.0);
        Ok(())
    }

    /// The record that a graph is restored from: the last that the run saved; for a caller who leads the session, else the newest
    /// of the store.
    fn restorable(
        &self,
        graph: GraphNo,
        checkpoint: CheckpointNo,
        device: u32,
    ) -> Result<Option<Record>, Box<Diagnostic>> {
        let known = self.shared.run_state().known.get(&(graph.0, checkpoint.0, device)).copied();
        if let Some((key, sequence)) = known {
            let record = self.load(key)?.transpose().map_err(|reason| unreadable(key, &reason))?;
            return Ok(record.filter(|record| record.sequence == sequence));
        }
        if self.shared.view().leading {
            return Ok(None);
        }
        let mut newest: Option<Record> = None;
        for kind in [RecordKind::Run, RecordKind::Graph] {
            let key = CheckpointKey { graph: graph.0, checkpoint: checkpoint.0, device, kind };
            let record = self.load(key)?.transpose().map_err(|reason| unreadable(key, &reason))?;
            let order = |record: &Record| (record.run, record.sequence);
            if let Some(record) = record
                && newest.as_ref().is_none_or(|newest| order(newest) < order(&record))
            {
                newest = Some(record);
            }
        }
        newest.iter().try_for_each(|record| self.check_fits(record))?;
        Ok(newest)
    }

    /// Runs the unit on from the newest checkpoint of the newest run in its store that a run can be resumed from, and waits for all
    /// launches. Without a checkpoint, runs it from the beginning.
    ///
    /// # Errors
    /// As [`run`](Self::run); there is no store; the checkpoint belongs to another unit, or to a run with other kernels, values or
    /// inputs; no checkpoint can be read.
    pub fn resume(&mut self) -> Result<Report, Vec<Diagnostic>> {
        let record = match self.newest() {
            Ok(Some(record)) => record,
            Ok(None) => return self.run(),
            Err(fault) => return Err(vec![*fault]),
        };
        self.resumed = (!record.is_start()).then(|| record.key());
        if let Err(fault) = self.take_up(record) {
            // What has been entered already ends before the caller goes on.
            let _ = self.wait(|_| true);
            self.shared.view().leading = false;
            return Err(self.with_notes(*fault));
        }
        self.go_on()
    }

    /// The record to go on from.
    fn newest(&mut self) -> Result<Option<Record>, Box<Diagnostic>> {
        let Found { records, mut damaged, mut other_layout } = self.found()?;
        if records.is_empty() {
            damaged.append(&mut other_layout);
            return damaged.into_iter().next().map_or(Ok(None), |fault| Err(Box::new(fault)));
        }
        let mut passed = Vec::new();
        let mut chosen = None;
        let last = records[0].sequence;
        for record in records {
            if record.obstacle.is_empty() || record.is_start() {
                chosen = Some(record);
                break;
            }
            let name = self.graph_name(record.graph);
            passed.push(unusable(&name, record.checkpoint, &record.obstacle));
        }
        let Some(record) = chosen else {
            let fault = passed.into_iter().next().map(|note| Diagnostic {
                code: codes::OTHER_CHECKPOINT,
                severity: wsp_diag::Severity::Error,
                ..note
            });
            return fault.map_or(Ok(None), |fault| Err(Box::new(fault)));
        };
        self.check_fits(&record)?;
        if record.is_start()
            && let Some(fault) = damaged.first()
        {
            let help = "run the unit from the beginning: leave out `--resume`";
            return Err(Box::new(fault.clone().help(help)));
        }
        let goes_on = match record.is_start() {
            true => "the run begins anew".to_owned(),
            false => {
                format!("the run goes on from {}", called(record.key(), Some(&self.graph_name(record.graph))))
            }
        };
        for fault in damaged.into_iter().chain(passed) {
            let what =
                Diagnostic { code: codes::PASSED_OVER, severity: wsp_diag::Severity::Warning, ..fault };
            self.notes.push(what.note(goes_on.clone()));
        }
        *self.shared.run_state() = RunState { run: record.run, next: last + 1, known: OrderedMap::new() };
        Ok(Some(record))
    }

    fn graph_name(&self, graph: u32) -> String {
        let index = self.by_no.get(&GraphNo(graph));
        index.map_or_else(|| graph.to_string(), |&at| self.codes[at].plan.name.clone())
    }

    /// The records of the newest run.
    fn found(&self) -> Result<Found, Box<Diagnostic>> {
        let (mut records, mut damaged, mut other_layout) = (Vec::new(), Vec::new(), Vec::new());
        for key in self.shared.keys()? {
            match self.load(key)? {
                None => {}
                Some(Ok(record)) => records.push(record),
                // It says which run is the newest: the others may be of an earlier one.
                Some(Err(reason)) if key == CheckpointKey::START => {
                    let help = "run the unit from the beginning: leave out `--resume`";
                    return Err(Box::new(unreadable(key, &reason).help(help)));
                }
                Some(Err(reason @ Unreadable::Layout { .. })) => other_layout.push(*unreadable(key, &reason)),
                Some(Err(reason)) => damaged.push(*unreadable(key, &reason)),
            }
        }
        let newest = records.iter().map(|record: &Record| record.run).max();
        records.retain(|record| Some(record.run) == newest);
        records.arrange_by_key(|record| std::cmp::Reverse(record.sequence));
        Ok(Found { records, damaged, other_layout })
    }

    fn load(&self, key: CheckpointKey) -> Result<Option<Result<Record, Unreadable>>, Box<Diagnostic>> {
        let store = self.shared.store.as_ref().ok_or_else(no_store)?;
        let bytes = store.load(key).map_err(|reason| store_failed(key, &reason))?;
        Ok(bytes.map(|bytes| Record::decode(&bytes)))
    }

    /// Puts the session where a run was.
    fn take_up(&mut self, record: Record) -> Result<(), Box<Diagnostic>> {
        if !record.host.fits(&self.plan.host, self.plan.host_loops) {
            let message = "the checkpoint stands nowhere in the host program";
            return Err(Box::new(Diagnostic::error(codes::OTHER_CHECKPOINT, message)));
        }
        self.wait(|_| true)?;
        let signalled = record.events.iter().filter(|event| event.opened > 0);
        let past: OrderedSet<EventNo> = signalled.map(|event| EventNo(event.event)).collect();
        self.shared.launches.iter().for_each(|launches| launches.forget(&past));
        self.take_up_records(&record)?;
        self.take_up_memory(&record)?;
        {
            let mut view = self.shared.view();
            let loops = self.plan.host_loops;
            view.hosts.iter_mut().for_each(|host| *host = HostState::new(loops));
            view.hosts[0] = record.host.clone();
            // From now on records have these launches, entered or not.
            view.owed.clone_from(&record.launches);
            view.leading = true;
            view.failed = None;
            view.has_changed = true;
        }
        self.runtime.restore_events(0, &record.events).map_err(|reason| faults::refused(&reason))?;
        let given = self.shared.view().signalled.clone();
        given.into_iter().chain(record.signalled).try_for_each(|event| self.give_signal(event))?;
        for index in 0..self.codes.len() {
            let no = self.codes[index].plan.no.0;
            let priority = record.host.priorities.iter().find(|(graph, _)| *graph == no);
            let priority = priority.map_or(0, |(_, set)| *set);
            self.runtime
                .set_priority(&self.codes[index].runtime, priority)
                .map_err(|reason| faults::refused(&reason))?;
        }
        for launch in record.launches {
            let epochs = Some(Epochs::Same(launch.events.clone()));
            let start = Start { epochs, owed: true, ..self.saved_start(launch, 0)? };
            self.start(start)?;
        }
        Ok(())
    }

    /// Puts back the records that a `TG_RESTORE` may ask for.
    fn take_up_records(&self, record: &Record) -> Result<(), Box<Diagnostic>> {
        let store = self.shared.store.as_ref().ok_or_else(no_store)?;
        let place = |of: &Record| (of.graph, of.checkpoint, of.device);
        let mut known = OrderedMap::new();
        for bytes in &record.restorable {
            let Ok(kept) = Record::decode(bytes) else { continue };
            store.save(kept.key(), bytes).map_err(|reason| store_failed(kept.key(), &reason))?;
            known.insert(place(&kept), (kept.key(), kept.sequence));
        }
        if !record.is_start() {
            known.insert(place(record), (record.key(), record.sequence));
        }
        self.shared.run_state().known = known;
        Ok(())
    }

    /// Gives all tensors the contents that they had.
    fn take_up_memory(&mut self, record: &Record) -> Result<(), Box<Diagnostic>> {
        self.pools.iter_mut().for_each(Vec::clear);
        let shared = Arc::clone(&self.shared);
        for (at, info) in shared.table.iter() {
            let mut memory = shared.memory();
            let released = info.home == TensorKind::Unit && record.host.released.contains(&info.no.0);
            match (released, memory.is_released(at, 0)) {
                (true, false) => memory.release(&shared.table, &shared.accounts, at, 0)?,
                (false, true) => drop(memory.allocate(&shared.table, &shared.accounts, at, 0)?),
                _ => {}
            }
            let is_saved = record.tensors.iter().any(|of| of.owner.is_none() && of.tensor as usize == at);
            // It had not been allocated.
            if !record.is_start()
                && !is_saved
                && memory.may_have_changed(at)
                && let Some(range) = memory.held(at, 0)
            {
                range.fill(0);
            }
        }
        self.fill_unit(record, 0, |_| true)?;
        self.fill_graphs(record, 0, |_| true)
    }

    /// Whether a checkpoint is one of this unit, with the same kernels, values and inputs.
    fn check_fits(&self, record: &Record) -> Result<(), Box<Diagnostic>> {
        let mut identity = self.shared.identity.clone();
        let scalars = self.shared.view().scalars.clone();
        identity.scalars.iter_mut().zip(scalars).for_each(|((_, value), is)| *value = is);
        let differences = identity.differences(&record.identity);
        if let Some(Difference { what, .. }) = differences.first() {
            let message = format!("the checkpoint is of another run, which differs in {what}");
            let fault = Diagnostic::error(codes::OTHER_CHECKPOINT, message);
            let fault = differences.iter().fold(fault, |fault, Difference { what, was, is }| {
                fault.note(format!("{what}: was {was}, is {is}"))
            });
            return Err(Box::new(
                fault.help("give the run what it had, or leave out `--resume` to begin anew"),
            ));
        }
        if self.shared.table.recording == Recording::On
            && record.tensors.iter().any(|saved| saved.stored.is_none())
        {
            let message = "the checkpoint does not say which elements tasks had stored: its run did not record that, and this run does";
            let note = "recording: was off, as with `--no-check` and as over given arrays without `--check`; is on, as with `--check`, with `--strict` and as over made-up data";
            let help = "resume without checks, by `--no-check` and without `--strict`; or leave out `--resume` to begin anew";
            return Err(Box::new(Diagnostic::error(codes::OTHER_CHECKPOINT, message).note(note).help(help)));
        }
        let fits = |saved: &SavedTensor| {
            let info = self.shared.table.iter().nth(saved.tensor as usize).map(|(_, info)| info);
            let is_zeros = saved.owner.is_some() && saved.bytes.is_empty();
            is_zeros || info.and_then(|info| info.bytes) == Some(saved.bytes.len() as u64)
        };
        match record.tensors.iter().find(|saved| !fits(saved)) {
            None => Ok(()),
            Some(saved) => {
                let message = format!("tensor {} of the checkpoint has another size here", saved.tensor);
                Err(Box::new(Diagnostic::error(codes::OTHER_CHECKPOINT, message)))
            }
        }
    }

    /// Gives tensors of the unit their saved contents.
    fn fill_unit(
        &mut self,
        record: &Record,
        device: u32,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(), Box<Diagnostic>> {
        let shared = &self.shared;
        for saved in record.tensors.iter().filter(|saved| saved.owner.is_none()) {
            let at = saved.tensor as usize;
            if !wanted(at) {
                continue;
            }
            if shared.table[at].in_place == Some(ViewAccess::ReadOnly) {
                return Err(read_only(&shared.table[at]));
            }
            let range = shared.memory().range(&shared.table, &shared.accounts, at, device)?;
            range.go_back(&saved.bytes, saved.stored.as_ref());
        }
        Ok(())
    }

    /// Gives tensors of graphs their saved contents.
    fn fill_graphs(
        &mut self,
        record: &Record,
        device: u32,
        wanted: impl Fn(u32) -> bool,
    ) -> Result<(), Box<Diagnostic>> {
        let mut filled: OrderedMap<(u32, u32), Arc<Instance>> = OrderedMap::new();
        for saved in &record.tensors {
            let Some((graph, stream)) = saved.owner.filter(|(graph, _)| wanted(*graph)) else { continue };
            let index = self.index(GraphNo(graph))?;
            // Zeros that were stored are not those of fresh memory.
            let is_stored = saved.stored.as_ref().is_none_or(|stored| !stored.ranges.is_empty());
            let is_fresh = saved.bytes.is_empty() && !saved.released && !is_stored;
            if is_fresh && !self.pools[index].iter().any(|pooled| pooled.is_of(device, StreamNo(stream))) {
                continue;
            }
            let instance = match filled.get(&(graph, stream)) {
                Some(instance) => Arc::clone(instance),
                None => {
                    let start = Start { stream: StreamNo(stream), ..Start::of(index, device) };
                    let (instance, _) = self.acquire(&start)?;
                    instance.begin()?;
                    filled.insert((graph, stream), Arc::clone(&instance));
                    instance
                }
            };
            let (shared, code) = (&self.shared, &self.codes[index]);
            let unit = saved.tensor as usize;
            let local = code.tensors.iter().position(|tensor| tensor.own && tensor.unit == saved.tensor);
            let Some(local) = local else { continue };
            if let Some(range) = instance.own(local) {
                range.go_back(&saved.bytes, saved.stored.as_ref());
                if saved.released {
                    instance.release(local as u32, wsp_backend::Released::Keep, &shared.table[unit])?;
                }
            }
        }
        Ok(())
    }
}

fn unreadable(key: CheckpointKey, reason: &Unreadable) -> Box<Diagnostic> {
    let fault = Diagnostic::error(codes::BAD_CHECKPOINT, format!("{key} cannot be read: {reason}"));
    Box::new(fault.help("run the unit from its start, which saves it anew"))
}
