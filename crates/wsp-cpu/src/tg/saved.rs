//! How a graph, or a run, goes on from a checkpoint.

use super::Report;
use super::checkpoint::{CheckpointKey, Record, SavedTensor};
use super::codes;
use super::instance::Instance;
use super::launching::Start;
use super::session::Session;
use super::shared::{no_store, store_failed};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wsp_core::tg::{CheckpointNo, GraphNo, PartitionNo, StreamNo};
use wsp_ir::diag::Diagnostic;

impl Session {
    /// Continues a graph from a checkpoint: its tensors get the saved contents, and a launch that was in flight goes on. Waits
    /// for launches of the graph first.
    ///
    /// # Errors
    /// There is no such graph or checkpoint, it does not belong to the unit, or a launch failed.
    pub fn restore(&mut self, graph: GraphNo, checkpoint: CheckpointNo) -> Result<(), Box<Diagnostic>> {
        let index = self.index(graph)?;
        self.bring_back(0, index, checkpoint)
    }

    pub(super) fn bring_back(
        &mut self,
        device: u32,
        index: usize,
        checkpoint: CheckpointNo,
    ) -> Result<(), Box<Diagnostic>> {
        let no = self.codes[index].plan.no;
        let key = CheckpointKey { graph: no.0, checkpoint: checkpoint.0, device };
        let record = self.load(key)?.ok_or_else(|| {
            let message = format!("there is no {key}");
            Box::new(Diagnostic::error(codes::NO_CHECKPOINT, message).help("save one first: `TG_CHECKPOINT`"))
        })?;
        self.check_fits(&record)?;
        self.wait(|live| live.device == device && live.code.plan.no == no)?;
        let code = Arc::clone(&self.codes[index]);
        let writes =
            |at: usize| code.tensors.iter().any(|tensor| tensor.unit as usize == at && tensor.written);
        self.fill_unit(&record, device, writes)?;
        match record.launch.clone() {
            Some(launch) => self.relaunch(&record, index, device, launch.stream, launch),
            None => {
                self.shared.view().hosts[device as usize].launch(no.0);
                Ok(())
            }
        }
    }

    /// Runs the unit on from the newest checkpoint that its store has, and waits for all launches. Without one, runs it from
    /// the beginning.
    ///
    /// # Errors
    /// As [`run`](Self::run); there is no store; the checkpoint does not belong to the unit, or does not cover all of the run.
    pub fn resume(&mut self) -> Result<Report, Vec<Diagnostic>> {
        match self.newest().and_then(|record| record.map(|record| self.take_up(&record)).transpose()) {
            Ok(Some(())) => self.go_on(),
            Ok(None) => self.run(),
            Err(fault) => Err(vec![*fault]),
        }
    }

    /// The newest checkpoint of the store.
    fn newest(&self) -> Result<Option<Record>, Box<Diagnostic>> {
        let store = self.shared.store.as_ref().ok_or_else(no_store)?;
        let keys = store.keys().map_err(|reason| {
            let message = "checkpoints cannot be listed";
            Box::new(Diagnostic::error(codes::STORE_FAILED, message).note(reason))
        })?;
        let mut newest: Option<Record> = None;
        for key in keys {
            if let Some(record) = self.load(key)?
                && newest.as_ref().is_none_or(|newest| newest.sequence < record.sequence)
            {
                newest = Some(record);
            }
        }
        Ok(newest)
    }

    fn load(&self, key: CheckpointKey) -> Result<Option<Record>, Box<Diagnostic>> {
        let store = self.shared.store.as_ref().ok_or_else(no_store)?;
        let Some(bytes) = store.load(key).map_err(|reason| store_failed(key, &reason))? else {
            return Ok(None);
        };
        let record = Record::decode(&bytes).map_err(|reason| {
            let message = format!("{key} cannot be read: {reason}");
            Box::new(Diagnostic::error(codes::BAD_CHECKPOINT, message))
        })?;
        Ok(Some(record))
    }

    /// Puts the session where a run was.
    fn take_up(&mut self, record: &Record) -> Result<(), Box<Diagnostic>> {
        self.check_fits(record)?;
        let refuse = |message: String| {
            Err(Box::new(
                Diagnostic::error(codes::OTHER_CHECKPOINT, message)
                    .help("continue its graph with `TG_RESTORE`, or run the unit from the beginning"),
            ))
        };
        if !record.obstacle.is_empty() {
            return refuse(format!("the run cannot be resumed from this checkpoint: {}", record.obstacle));
        }
        if !record.host.fits(&self.plan.host, self.plan.host_loops) {
            return refuse("the checkpoint stands nowhere in the host program".to_owned());
        }
        self.wait(|_| true)?;
        self.shared.view().hosts[0] = record.host.clone();
        self.shared.sequence.fetch_max(record.sequence + 1, Ordering::Relaxed);
        self.release_again(record)?;
        self.fill_unit(record, 0, |_| true)?;
        for &(graph, priority) in &record.host.priorities {
            let index = self.index(GraphNo(graph))?;
            self.prioritise(0, index, priority);
        }
        if let Some(launch) = &record.launch {
            let index = self.index(GraphNo(record.graph))?;
            self.relaunch(record, index, 0, launch.stream, launch.clone())?;
        }
        for pending in &record.pending {
            let start = Start {
                stream: StreamNo(pending.stream),
                iteration: pending.iteration,
                partition: PartitionNo(pending.partition),
                ..Start::of(self.index(GraphNo(pending.graph))?, 0)
            };
            self.start(start, |_| {})?;
        }
        Ok(())
    }

    /// Tensors that the run had released have no memory.
    fn release_again(&mut self, record: &Record) -> Result<(), Box<Diagnostic>> {
        let shared = Arc::clone(&self.shared);
        for &no in &record.host.released {
            if let Some(at) = shared.table.by_no(no)
                && !shared.memory().is_released(at, 0)
            {
                shared.memory().release(&shared.table, &shared.accounts, at, 0)?;
            }
        }
        Ok(())
    }

    /// Whether a checkpoint is one of this unit, under the same settings.
    fn check_fits(&self, record: &Record) -> Result<(), Box<Diagnostic>> {
        let differs = |what: &str, have: String, saved: String| {
            let message = format!("the checkpoint is of another run: {what} differ");
            let fault = Diagnostic::error(codes::OTHER_CHECKPOINT, message);
            Err(Box::new(fault.note(format!("here: {have}; in the checkpoint: {saved}"))))
        };
        let shared = &self.shared;
        if shared.unit != record.unit {
            let text = |sum: u64| format!("{sum:#018x}");
            return differs("the units", text(shared.unit), text(record.unit));
        }
        if shared.devices != record.devices {
            return differs("the devices", shared.devices.to_string(), record.devices.to_string());
        }
        let scalars = shared.view().scalars.clone();
        if scalars != record.scalars {
            return differs("the scalars", format!("{scalars:?}"), format!("{:?}", record.scalars));
        }
        for saved in &record.tensors {
            let info = shared.table.by_no(saved.tensor).map(|at| &shared.table[at]);
            let bytes = info.and_then(|info| info.bytes);
            if bytes != Some(saved.bytes.len() as u64) {
                let name = info.map_or_else(|| saved.tensor.to_string(), |info| info.name.clone());
                let have = bytes.map_or_else(|| "none".to_owned(), |bytes| bytes.to_string());
                return differs(&format!("the bytes of `{name}`"), have, saved.bytes.len().to_string());
            }
        }
        Ok(())
    }

    /// Gives tensors of the unit their saved contents.
    fn fill_unit(
        &mut self,
        record: &Record,
        device: u32,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<(), Box<Diagnostic>> {
        let shared = &self.shared;
        for saved in record.tensors.iter().filter(|saved| saved.graph.is_none()) {
            let Some(at) = shared.table.by_no(saved.tensor).filter(|&at| wanted(at)) else { continue };
            let range = shared.memory().range(&shared.table, &shared.accounts, at, device)?;
            range.fill_from(&saved.bytes);
        }
        Ok(())
    }

    /// Goes on with the launch that was in flight.
    fn relaunch(
        &mut self,
        record: &Record,
        index: usize,
        device: u32,
        stream: u32,
        launch: super::checkpoint::SavedLaunch,
    ) -> Result<(), Box<Diagnostic>> {
        let code = Arc::clone(&self.codes[index]);
        let shared = Arc::clone(&self.shared);
        let start = Start {
            stream: StreamNo(stream),
            iteration: launch.iteration,
            state: Some(launch.words),
            ..Start::of(index, device)
        };
        let fill = |instance: &Instance| {
            for saved in record.tensors.iter().filter(|saved| saved.graph == Some(record.graph)) {
                fill_own(&shared, &code, instance, saved);
            }
        };
        self.start(start, fill).map(|_| ())
    }
}

/// Gives a tensor of a launch its saved contents.
fn fill_own(
    shared: &super::shared::Shared,
    code: &super::code::GraphCode,
    instance: &Instance,
    saved: &SavedTensor,
) {
    let unit = shared.table.by_no(saved.tensor).unwrap_or(usize::MAX);
    let local = code.tensors.iter().position(|tensor| tensor.own && tensor.unit as usize == unit);
    if let Some(range) = local.and_then(|local| instance.own(local)) {
        range.fill_from(&saved.bytes);
    }
}
