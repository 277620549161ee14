//! How a graph is launched: on which memory, and after which launches.

use super::bodies::LaunchBodies;
use super::code::GraphCode;
use super::codes;
use super::faults;
use super::instance::Instance;
use super::launch_order::Submitted;
use super::launched::Launched;
use super::memory::TensorRange;
use super::open::Bindings;
use super::record::SavedLaunch;
use super::session::Session;
use super::shared::{Held, Live};
use super::start::{Pooled, Start};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::tg::{GraphNo, PartitionNo, StreamNo};
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ir::tg::Namespace;
use wsp_runtime::tg::{Epochs, LaunchId, LaunchOptions};

impl Session {
    /// A launch that a checkpoint has.
    pub(super) fn saved_start(&self, saved: SavedLaunch, device: u32) -> Result<Start, Box<Diagnostic>> {
        Ok(Start {
            stream: StreamNo(saved.stream),
            iteration: saved.iteration,
            partition: PartitionNo(saved.partition),
            scalars: Some(saved.scalars),
            state: saved.words,
            ..Start::of(self.index(GraphNo(saved.graph))?, device)
        })
    }

    /// Launches a graph.
    pub(super) fn start(&mut self, start: Start) -> Result<LaunchId, Box<Diagnostic>> {
        self.shared.check_cancel()?;
        self.forget_complete()?;
        let code = Arc::clone(&self.codes[start.graph]);
        let stream = self.stream(start.device, start.stream)?;
        let (instance, mut after) = self.acquire(&start)?;
        after.extend(self.earlier(&start, &code));
        let scalars = start.scalars.clone().unwrap_or_else(|| self.shared.view().scalars.clone());
        let number = self
            .shared
            .launches
            .as_ref()
            .map(|launches| launches.submit(start.device, self.submitted(&start, Arc::clone(&code))));
        let launched = Arc::new(Launched {
            code: Arc::clone(&code),
            instance: Arc::clone(&instance),
            scalars,
            stream: start.stream.0,
            iteration: start.iteration,
            devices: self.shared.devices,
            begun: AtomicBool::new(false),
        });
        let weak = Arc::downgrade(&launched);
        let bodies = Arc::new(LaunchBodies {
            launched,
            shared: Arc::clone(&self.shared),
            resumes: start.state.is_some(),
            bindings: Bindings::default(),
            number,
        });
        if !code.open.is_empty() {
            code.open.compare_known(&bodies.launched.values(&[]), &self.shared)?;
        }
        if let (Some(launches), Some(number)) = (&self.shared.launches, &bodies.number) {
            let complete = start.state.as_deref().map(|state| code.runtime.complete_in(state));
            let complete = complete.unwrap_or_default();
            let is_complete = |node: u32| complete.get(node as usize).is_some_and(|complete| *complete);
            let compared =
                launches.compare_known(**number, &is_complete, &bodies.launched.values(&[]), &self.shared);
            compared.inspect_err(|_| self.withdraw(start.device, Some(**number)))?;
        }
        let number = bodies.number.as_deref().copied();
        let options = LaunchOptions {
            iteration: start.iteration,
            after,
            partition: self.partitions.get(&start.partition.0).copied(),
            state: start.state,
            epochs: start.epochs,
            ..LaunchOptions::on(stream)
        };
        // A checkpoint that is reached at once waits here until the launch is entered.
        let shared = Arc::clone(&self.shared);
        let mut view = shared.view();
        let id = self.runtime.launch(&code.runtime, bodies, options);
        let id = id.map_err(|reason| {
            self.withdraw(start.device, number);
            faults::refused(&reason)
        })?;
        let is_of_host = start.owed || start.behind.is_some();
        let host = &mut view.hosts[start.device as usize];
        if let Some(behind) = start.behind {
            *host = behind;
        }
        host.launch(code.plan.no.0);
        if start.owed && !view.owed.is_empty() {
            view.owed.remove(0);
        }
        view.has_changed = true;
        view.live.push(Live {
            id,
            code,
            device: start.device,
            is_of_host,
            stream: start.stream.0,
            iteration: start.iteration,
            partition: start.partition.0,
            launched: weak,
        });
        drop(view);
        let pooled = self.pools[start.graph].iter_mut().find(|p| Arc::ptr_eq(&p.instance, &instance));
        if let Some(pooled) = pooled {
            pooled.last = Some(id);
        }
        Ok(id)
    }

    /// A launch that was entered does not begin.
    fn withdraw(&self, device: u32, number: Option<u64>) {
        if let (Some(launches), Some(number)) = (&self.shared.launches, number) {
            launches.withdraw(device, number);
        }
    }

    /// A launch, as it is compared with others.
    fn submitted(&self, start: &Start, code: Arc<GraphCode>) -> Submitted {
        // The host stands behind the statement.
        let at = start.behind.as_ref().and_then(|behind| behind.at.checked_sub(1));
        let op = at.and_then(|at| self.plan.host.get(at as usize));
        let waits = start.epochs.as_ref().map_or(&[][..], |epochs| match epochs {
            Epochs::Same(events) | Epochs::New(events) => &events.waits,
        });
        let stream = start.stream.0;
        Submitted {
            code,
            stream,
            on: match stream {
                0 => "default".to_owned(),
                _ => self.module.name(Namespace::Stream, GraphNo(0), stream),
            },
            iteration: start.iteration,
            span: op.map_or_else(Span::default, |op| self.module.span(op.instr as usize)),
            is_resumed: matches!(start.epochs, Some(Epochs::Same(_))),
            fired: waits.iter().filter(|wait| wait.fired).map(|wait| wait.event).collect(),
        }
    }

    /// Launches of the same graph on other streams that write what this one writes: the last that has each memory comes behind all others that had it.
    fn earlier(&mut self, start: &Start, code: &GraphCode) -> Vec<LaunchId> {
        if !code.tensors.iter().any(|tensor| tensor.written && !tensor.own) {
            return Vec::new();
        }
        let earlier: Vec<LaunchId> = {
            let (view, pool) = (self.shared.view(), &self.pools[start.graph]);
            let last = pool.iter().filter(|pooled| pooled.device == start.device).filter_map(|p| p.last);
            let live = last.filter_map(|id| view.live(id));
            live.filter(|live| live.stream != start.stream.0 && !live.has_ended())
                .map(|live| live.id)
                .collect()
        };
        if !earlier.is_empty() {
            self.note_serialised(&code.plan.name, "they write tensors that are not their own");
        }
        earlier
    }

    fn note_serialised(&mut self, graph: &str, why: &str) {
        let message =
            format!("launches of graph `{graph}` on different streams run one after another: {why}");
        let note = Diagnostic::new(codes::SERIALISED, Severity::Note, message);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Memory for a launch, and the launches that it must wait for because they have it.
    pub(super) fn acquire(
        &mut self,
        start: &Start,
    ) -> Result<(Arc<Instance>, Vec<LaunchId>), Box<Diagnostic>> {
        let code = Arc::clone(&self.codes[start.graph]);
        let (unit, epoch) = self.unit_ranges(&code, start.device)?;
        let ended = {
            let (view, last) = (self.shared.view(), self.pools[start.graph].iter().filter_map(|p| p.last));
            let is_busy = |id: &LaunchId| view.live(*id).is_some_and(|live| !live.has_ended());
            let busy: Vec<LaunchId> = last.filter(is_busy).collect();
            move |pooled: &Pooled| pooled.last.is_none_or(|last| !busy.contains(&last))
        };
        let pool = &mut self.pools[start.graph];
        pool.retain(|pooled| pooled.instance.epoch() == epoch || !ended(pooled));
        // Each stream has its own, whatever ended when: what launches find in memory does not depend on time.
        let of_stream = |p: &&Pooled| {
            p.device == start.device && p.stream == start.stream.0 && p.instance.epoch() == epoch
        };
        if let Some(pooled) = pool.iter().find(of_stream) {
            return Ok((Arc::clone(&pooled.instance), Vec::new()));
        }
        self.make_instance(start, &code, epoch, unit)
    }

    /// Memory for runs on the calling thread.
    pub(super) fn instance_for_prepared(&mut self, graph: usize) -> Result<Arc<Instance>, Box<Diagnostic>> {
        self.acquire(&Start::of(graph, 0)).map(|(instance, _)| instance)
    }

    fn make_instance(
        &mut self,
        start: &Start,
        code: &Arc<GraphCode>,
        epoch: u64,
        unit: Vec<Option<TensorRange>>,
    ) -> Result<(Arc<Instance>, Vec<LaunchId>), Box<Diagnostic>> {
        let shared = Arc::clone(&self.shared);
        let make = || Instance::new(code, &shared.table, &shared.accounts, start.device, epoch, unit.clone());
        let mut made = make();
        if made.is_err() {
            self.drop_idle();
            made = make();
        }
        if made.is_err() {
            // Another launch of the graph has the memory: this one comes after it.
            let other = self.pools[start.graph]
                .iter()
                .rev()
                .find(|p| p.device == start.device && p.instance.epoch() == epoch && p.last.is_some());
            if let Some((instance, last)) = other.map(|p| (Arc::clone(&p.instance), p.last)) {
                self.note_serialised(&code.plan.name, "there is memory for one of them only");
                let view = self.shared.view();
                let last = last.and_then(|id| view.live(id)).filter(|live| !live.has_ended());
                return Ok((instance, last.map(|live| live.id).into_iter().collect()));
            }
            // What other graphs have is free when they are complete.
            if !self.shared.view().live.is_empty() {
                let device = start.device;
                self.wait(|live| live.device == device)?;
                self.drop_idle();
                made = make();
            }
        }
        let instance = Arc::new(made?);
        let held =
            Held { code: Arc::clone(code), stream: start.stream.0, instance: Arc::downgrade(&instance) };
        {
            let mut view = self.shared.view();
            view.held.retain(|held| held.instance.strong_count() > 0);
            view.held.push(held);
        }
        self.pools[start.graph].push(Pooled {
            device: start.device,
            stream: start.stream.0,
            instance: Arc::clone(&instance),
            last: None,
        });
        Ok((instance, Vec::new()))
    }

    /// Gives back the memory of launches that are complete.
    pub(super) fn drop_idle(&mut self) {
        for pool in &mut self.pools {
            pool.retain(|pooled| Arc::strong_count(&pooled.instance) > 1);
        }
    }

    /// The memory of the unit's tensors that a graph uses, by place; none for the graph's own.
    pub(super) fn unit_ranges(
        &self,
        code: &GraphCode,
        device: u32,
    ) -> Result<(Vec<Option<TensorRange>>, u64), Box<Diagnostic>> {
        let shared = &self.shared;
        let mut memory = shared.memory();
        let ranges = code.tensors.iter().map(|tensor| {
            if tensor.own {
                return Ok(None);
            }
            memory.range(&shared.table, &shared.accounts, tensor.unit as usize, device).map(Some)
        });
        let ranges = ranges.collect::<Result<Vec<_>, Box<Diagnostic>>>()?;
        Ok((ranges, memory.epoch()))
    }
}
