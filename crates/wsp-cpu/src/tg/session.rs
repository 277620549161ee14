//! Sessions: units that are checked, prepared, and led by their host program or step by step.

use super::Report;
use super::bodies::LaunchBodies;
use super::code::GraphCode;
use super::codes;
use super::faults;
use super::host::HostState;
use super::scalars;
use super::shared::{Live, Shared};
use super::snapshot::Paused;
use super::start::{Pooled, Start};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use wsp_backend::{CheckpointKey, PayloadSlot, UnitResult};
use wsp_core::tg::{CheckpointNo, GraphNo, StreamNo};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::tg::{ArgSource, Namespace, TgModule};
use wsp_ordered::{Arrange, OrderedMap};
use wsp_runtime::tg::{LaunchId, Partition, Runtime, Saved, Stats, StreamId, Trace, Tracing, validate};
use wsp_tg::plan::UnitPlan;

/// Launches that may be in flight before those that are complete are forgotten.
pub(super) const FEWEST_LIVE: usize = 256;

/// A unit that is checked, elaborated and given memory and kernels.
///
/// [`run`](Session::run) does what its host program says. The other methods do single steps of it, on the first device. Tensors
/// keep their contents between runs. If a step fails, the session can be used further; tensors that were being written are in
/// an undefined state.
#[derive(Debug)]
pub struct Session {
    pub(super) module: Arc<TgModule>,
    pub(super) plan: Arc<UnitPlan>,
    pub(super) shared: Arc<Shared>,
    /// Graphs in the order in which they were defined.
    pub(super) codes: Vec<Arc<GraphCode>>,
    /// By number.
    pub(super) by_no: OrderedMap<GraphNo, usize>,
    pub(super) partitions: FxHashMap<u32, Partition>,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) notes: Vec<Diagnostic>,
    pub(super) stats: Stats,
    /// The checkpoint that the last run went on from.
    pub(super) resumed: Option<CheckpointKey>,
    pub(super) payload: Option<PayloadSlot>,
    pub(super) tracing: Tracing,
    pub(super) streams: OrderedMap<(u32, u32), StreamId>,
    pub(super) next_stream: u32,
    /// By graph.
    pub(super) pools: Vec<Vec<Pooled>>,
    /// How many launches there are that may be in flight when those that are complete are forgotten.
    pub(super) most_live: usize,
    /// Ends its launches before what they use goes away.
    pub(super) runtime: Runtime<LaunchBodies>,
}

impl Session {
    /// What the checks found: warnings and notes.
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// The graph with this name, or this number in decimal.
    ///
    /// # Errors
    /// When there is none.
    pub fn graph(&self, name: &str) -> Result<GraphNo, Box<Diagnostic>> {
        let number = name.parse().ok().map(GraphNo).filter(|no| self.by_no.contains_key(no));
        if let Some(no) =
            self.codes.iter().find(|code| code.plan.name == name).map(|code| code.plan.no).or(number)
        {
            return Ok(no);
        }
        let fault = Diagnostic::error(codes::UNKNOWN_NAME, format!("there is no graph `{name}`"));
        let near = did_you_mean(name, self.codes.iter().map(|code| code.plan.name.as_str()));
        Err(Box::new(match near {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault,
        }))
    }

    pub(super) fn index(&self, graph: GraphNo) -> Result<usize, Box<Diagnostic>> {
        self.by_no.get(&graph).copied().ok_or_else(|| {
            Box::new(Diagnostic::error(codes::UNKNOWN_NAME, format!("there is no graph {}", graph.0)))
        })
    }

    /// The default stream.
    pub const fn default_stream(&self) -> StreamNo {
        StreamNo(0)
    }

    /// A stream that no other has. Its launches run one after another, and overlap with those of other streams.
    ///
    /// # Errors
    /// When the runtime refuses one.
    pub fn create_stream(&mut self) -> Result<StreamNo, Box<Diagnostic>> {
        let stream = self.runtime.create_stream(0).map_err(|reason| faults::refused(&reason))?;
        let number = self.next_stream;
        self.next_stream += 1;
        self.streams.insert((0, number), stream);
        Ok(StreamNo(number))
    }

    /// Destroys a stream. Launches that are in it go on.
    ///
    /// # Errors
    /// It was destroyed before, or is the default stream.
    pub fn destroy_stream(&mut self, stream: StreamNo) -> Result<(), Box<Diagnostic>> {
        let id = self.stream(0, stream)?;
        self.runtime.destroy_stream(id).map_err(|reason| faults::refused(&reason))
    }

    /// The runtime's stream; streams that the unit names are created at their first use.
    pub(super) fn stream(&mut self, device: u32, stream: StreamNo) -> Result<StreamId, Box<Diagnostic>> {
        if stream == StreamNo(0) {
            return self.runtime.default_stream(device).map_err(|reason| faults::refused(&reason));
        }
        if let Some(&id) = self.streams.get(&(device, stream.0)) {
            return Ok(id);
        }
        if stream.0 >= self.next_stream {
            let message = format!("there is no stream {}", stream.0);
            return Err(Box::new(Diagnostic::error(codes::STALE_STREAM, message)));
        }
        let id = self.runtime.create_stream(device).map_err(|reason| faults::refused(&reason))?;
        self.streams.insert((device, stream.0), id);
        Ok(id)
    }

    /// Launches a graph on a stream and does not wait.
    ///
    /// # Errors
    /// There is no such graph or stream, a tensor was released, or memory or cores are lacking.
    pub fn launch(&mut self, graph: GraphNo, stream: StreamNo) -> Result<LaunchId, Box<Diagnostic>> {
        let start = Start { stream, ..Start::of(self.index(graph)?, 0) };
        self.start(start)
    }

    /// Launches one iteration of a graph on the default stream and does not wait.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn invoke(&mut self, graph: GraphNo, iteration: i64) -> Result<LaunchId, Box<Diagnostic>> {
        self.invoke_on(graph, iteration, self.default_stream())
    }

    /// Launches one iteration of a graph on a stream and does not wait.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn invoke_on(
        &mut self,
        graph: GraphNo,
        iteration: i64,
        stream: StreamNo,
    ) -> Result<LaunchId, Box<Diagnostic>> {
        let start = Start { iteration, stream, ..Start::of(self.index(graph)?, 0) };
        self.start(start)
    }

    /// Waits until every launch of a graph so far is complete.
    ///
    /// # Errors
    /// It was never launched, or a launch failed: the first of them.
    pub fn sync(&mut self, graph: GraphNo) -> Result<(), Box<Diagnostic>> {
        let index = self.index(graph)?;
        self.check_launched(0, index)?;
        self.wait(|live| live.device == 0 && live.code.plan.no == graph)?;
        self.shared.waited(0, Some(graph));
        self.shared.compared(0)
    }

    pub(super) fn check_launched(&self, device: u32, index: usize) -> Result<(), Box<Diagnostic>> {
        let plan = &self.codes[index].plan;
        if self.shared.view().hosts[device as usize].launched.contains(&plan.no.0) {
            return Ok(());
        }
        let name = &plan.name;
        let message = format!("graph `{name}` was never launched");
        Err(Box::new(
            Diagnostic::error(codes::NEVER_LAUNCHED, message).help("launch it before waiting for it"),
        ))
    }

    /// Waits for some of the launches that may be in flight.
    ///
    /// # Errors
    /// The first that failed.
    pub(super) fn wait(&mut self, of: impl Fn(&Live) -> bool) -> Result<(), Box<Diagnostic>> {
        let wanted: Vec<LaunchId> = self.shared.view().live.iter().filter(|l| of(l)).map(|l| l.id).collect();
        let mut first = Ok(());
        for &id in &wanted {
            let result = self.runtime.sync(id);
            {
                let mut view = self.shared.view();
                if let (Err(_), Some(live)) = (&result, view.live(id)) {
                    view.failed = Some(live.code.plan.name.clone());
                }
                view.told(id);
            }
            match result {
                Ok(stats) => self.stats.add(&stats),
                Err(error) if first.is_ok() => {
                    first = Err(faults::sync(&error, &self.codes, self.payload.as_ref()))
                }
                Err(_) => {}
            }
        }
        self.shared.view().live.retain(|live| wanted.binary_search(&live.id).is_err());
        first
    }

    /// Forgets launches that have ended well, once there are twice as many launches as were left the last time.
    pub(super) fn forget_complete(&mut self) -> Result<(), Box<Diagnostic>> {
        if self.shared.view().live.len() < self.most_live {
            return Ok(());
        }
        let (complete, stats) = self.runtime.take_complete().map_err(|reason| faults::refused(&reason))?;
        self.stats.add(&stats);
        let mut view = self.shared.view();
        view.live.retain(|live| complete.binary_search(&live.id).is_err());
        self.most_live = FEWEST_LIVE.max(2 * view.live.len());
        Ok(())
    }

    /// Signals an external event.
    ///
    /// # Errors
    /// The unit has no external event of this name.
    pub fn signal(&mut self, event: &str) -> Result<(), Box<Diagnostic>> {
        let event = scalars::event(&self.module, event)?;
        self.give_signal(event)
    }

    /// Signals an external event. A checkpoint has it signalled, or the session has.
    pub(super) fn give_signal(&self, event: u32) -> Result<(), Box<Diagnostic>> {
        let mut view = self.shared.view();
        if !view.signalled.contains(&event) {
            view.signalled.push(event);
        }
        self.runtime.signal(event).map_err(|reason| faults::refused(&reason))
    }

    /// Sets the priority of a graph: of ready kernels, those of the graph with the highest go first.
    ///
    /// # Errors
    /// There is no such graph.
    pub fn set_priority(&mut self, graph: GraphNo, priority: i8) -> Result<(), Box<Diagnostic>> {
        let index = self.index(graph)?;
        self.prioritise(0, index, priority, None)
    }

    /// Sets a priority, and moves the host behind the statement that says so.
    pub(super) fn prioritise(
        &mut self,
        device: u32,
        index: usize,
        priority: i8,
        behind: Option<HostState>,
    ) -> Result<(), Box<Diagnostic>> {
        let code = &self.codes[index];
        let mut view = self.shared.view();
        self.runtime.set_priority(&code.runtime, priority).map_err(|reason| faults::refused(&reason))?;
        let host = &mut view.hosts[device as usize];
        if let Some(behind) = behind {
            *host = behind;
        }
        host.priorities.retain(|(graph, _)| *graph != code.plan.no.0);
        host.priorities.push((code.plan.no.0, priority));
        host.priorities.arrange();
        Ok(())
    }

    /// Gives a declared scalar another value, for launches to come.
    ///
    /// # Errors
    /// There is no such scalar, the value does not fit, or it is an `arg` and was fixed with the session.
    pub fn set_scalar(&mut self, name: &str, value: i64) -> Result<(), Box<Diagnostic>> {
        let at = scalars::find(&self.module, name)?;
        let declared = &self.module.args[at];
        if declared.source == ArgSource::Launch {
            let message = format!("`{name}` is an `arg`, whose value is given with the session");
            return Err(Box::new(
                Diagnostic::error(codes::BAD_ARGUMENT, message).help(format!("declare it `host {name}`")),
            ));
        }
        scalars::fits(&self.module, declared, value)?;
        self.shared.view().scalars[at] = value;
        Ok(())
    }

    /// Saves the state of a graph as a checkpoint: of its launch in flight, between two of its tasks, or else of its tensors.
    ///
    /// # Errors
    /// There is no such graph or no place for checkpoints, or the launch failed.
    pub fn checkpoint(&mut self, graph: GraphNo, checkpoint: CheckpointNo) -> Result<(), Box<Diagnostic>> {
        let index = self.index(graph)?;
        self.save(0, index, checkpoint)
    }

    pub(super) fn save(
        &mut self,
        device: u32,
        index: usize,
        checkpoint: CheckpointNo,
    ) -> Result<(), Box<Diagnostic>> {
        let code = Arc::clone(&self.codes[index]);
        if self.shared.store.is_none() {
            return Err(super::shared::no_store());
        }
        let of_graph =
            |live: &&Live| live.device == device && live.code.plan.no == code.plan.no && !live.has_ended();
        let live = self.shared.view().live.iter().find(of_graph).map(|live| live.id);
        if let Some(live) = live {
            let saved = self.runtime.checkpoint(live, checkpoint.0);
            match saved.map_err(|error| faults::sync(&error, &self.codes, self.payload.as_ref()))? {
                Saved::Yes => return Ok(()),
                Saved::AlreadyComplete => {}
            }
        }
        self.shared.save_graph(&code, device, checkpoint.0, Paused::Nothing)
    }

    /// How a trace breaks the order of its graphs, one sentence each: none, unless the runtime is wrong.
    pub fn check_trace(&self, trace: &Trace) -> Vec<String> {
        let faults = self.codes.iter().flat_map(|code| validate(&code.runtime, trace));
        faults.map(|fault| fault.to_string()).collect()
    }

    /// What was done so far.
    ///
    /// # Errors
    /// In the child of a fork, of a session that records when tasks run.
    pub fn report(&mut self) -> Result<Report, Box<Diagnostic>> {
        let named = |event: &u32| self.module.name(Namespace::Event, GraphNo(0), *event);
        let signalled = self.shared.view().signalled.iter().map(named).collect();
        let notes = self.notes.iter().chain(self.shared.notes().iter()).cloned().collect();
        let mut unit = UnitResult::default();
        unit.resumed = self.resumed;
        unit.signalled = signalled;
        unit.written = self.written_in_place();
        unit.peak = self.shared.accounts.iter().map(super::accounts::Accounts::peak).collect();
        let trace = (self.tracing == Tracing::On).then(|| self.runtime.take_trace());
        let trace = trace.transpose().map_err(|reason| faults::refused(&reason))?;
        Ok(Report { stats: self.stats, notes, unit, trace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tg::{SessionOptions, TgCx, TgKernels};
    use crate::workload::KernelFault;
    use wsp_diag::SourceMap;

    const TEXT: &str = "extern T: i64[8]\nextern U: i64[8]\nTG_BEGIN(G)\nTG_KERNEL(A, good, 1, AIV, 0)\nMC_BIND(A, 0, T, direction = OUT)\nTG_END(G)\nTG_BEGIN(F)\nTG_KERNEL(B, bad, 1, AIV, 0)\nMC_BIND(B, 0, U, direction = OUT)\nTG_END(F)\n";

    #[test]
    fn launches_that_are_complete_are_forgotten_where_the_host_waits_for_none() {
        let (module, _) = wsp_isa::tg::text::parse("test.tg", TEXT, &mut SourceMap::default());
        let mut kernels = TgKernels::new();
        kernels.register("good", None, |_| Ok(())).expect("it is registered once");
        let fault = |_: &mut TgCx<'_>| Err(KernelFault::from("it fails".to_owned()));
        kernels.register("bad", None, fault).expect("it is registered once");
        let module = module.expect("the text is right");
        let session = Session::new(&module, &kernels, SessionOptions::default());
        let mut session = session.expect("the unit may run");
        let [good, bad] = ["G", "F"].map(|name| session.graph(name).expect("it is there"));
        let stream = session.create_stream().expect("there is room for one");
        let first = session.launch(bad, stream).expect("it is submitted");
        let ended = |session: &Session, id| session.runtime.has_ended(id) != Ok(false);
        while !ended(&session, first) {
            std::thread::yield_now();
        }
        let count = 4 * FEWEST_LIVE;
        for _ in 0..count {
            let id = session.launch(good, session.default_stream()).expect("it is submitted");
            while !ended(&session, id) {
                std::thread::yield_now();
            }
            assert!(session.shared.view().live.len() <= FEWEST_LIVE);
        }
        session.sync(good).expect("all are well");
        assert_eq!(session.report().expect("nothing was forked").stats.launches, count as u64);
        session.sync(bad).expect_err("a launch that failed is an error of the wait");
    }
}
