//! How a launch is checked and submitted.

use super::bodies::{Bodies, StopFlag};
use super::config::{CoreCounts, Tracing};
use super::cores::{Allowed, DeviceCores, per_block};
use super::failure::{Cause, LaunchFault, Refused};
use super::graph::Graph;
use super::id::LaunchId;
use super::launch::{Job, Launch, LaunchOptions, Stage, Stats, by_type};
use super::placement::Placement;
use super::singles::Spell;
use super::state::State;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::policy::Hints;

impl<B: Bodies> State<B> {
    /// Submits a launch.
    pub(crate) fn submit(
        &mut self,
        graph: &Arc<Graph>,
        bodies: Arc<B>,
        options: LaunchOptions,
    ) -> Result<LaunchId, Refused> {
        self.streams.check(options.stream)?;
        let stream = options.stream.index;
        let device = self.streams.at(stream).device;
        let (counts, hints) = (self.config.cores, self.config.hints);
        let placement = Placement::new(graph, &counts, hints, options.partition);
        check_kernels(graph, &placement, &counts, hints)?;
        check_gangs(graph, &placement, &counts)?;
        if let Some(words) = &options.state {
            graph.check_state(words).map_err(Refused::State)?;
        }
        let id = LaunchId(self.next_launch);
        self.next_launch += 1;
        if let Some(turns) = &mut self.turns {
            turns.submitted(device, id);
        }
        let all = self.config.cancel.clone();
        let stop = StopFlag { launch: Arc::new(AtomicBool::new(false)), all };
        let iteration = options.iteration;
        let job = Job { launch: id, graph: graph.clone(), bodies, device, iteration, stop };
        let epochs = options.epochs.as_ref();
        let bind = |&event: &u32| (event, self.events.bind_as((device, event), epochs));
        let bound = graph.foreign_events().iter().map(bind).collect();
        let mut fired = Vec::new();
        let mut open = |&event: &u32| {
            let (epoch, has_fired) = self.events.open_as((device, event), id, epochs);
            fired.extend(has_fired.then_some(((device, event), epoch)));
            (event, epoch)
        };
        let opened = graph.signalled_events().iter().map(&mut open).collect();
        let launch = Launch {
            job: Some(Arc::new(job)),
            lent: Vec::new(),
            graph: graph.clone(),
            device,
            iteration,
            stream,
            after: options.after,
            stage: Stage::Queued,
            placement,
            resumes: options.state.is_some(),
            words: options.state.unwrap_or_default(),
            busy: 0,
            pause: None,
            started: 0,
            requests: VecDeque::new(),
            held: Vec::new(),
            outside: Vec::new(),
            opened,
            bound,
            failure: None,
            stats: Stats::default(),
            spell: Spell::NEW,
            spare_nodes: Vec::new(),
        };
        self.enter(id, launch);
        for (key, epoch) in fired {
            let released = self.events.fire(key, epoch);
            released.into_iter().for_each(|waiter| self.release(waiter));
        }
        Ok(id)
    }

    /// Puts a launch into its stream. It fails at once if one that it comes after has failed and nobody was told.
    fn enter(&mut self, id: LaunchId, mut launch: Launch<B>) {
        let failed = |after: &LaunchId| {
            let outcome = self.outcomes.get(after);
            outcome.and_then(|outcome| outcome.result.as_ref().err().cloned())
        };
        let after = launch.after.iter().find_map(failed);
        // Only what was submitted before: so launches never wait for each other in a cycle.
        launch.after.retain(|after| self.launches.contains_key(after));
        self.launched.insert(launch.graph.key());
        if self.config.tracing == Tracing::On {
            let now = self.now();
            self.times.insert(id, (now, 0));
        }
        let stream = self.streams.at(launch.stream);
        stream.queue.push_back(id);
        let failure = stream.failure.clone().or(after);
        self.launches.insert(id, launch);
        match failure {
            Some(failure) => self.fail(id, Cause::Source(LaunchFault::After(failure))),
            None => self.begin_ready(),
        }
    }
}

/// Whether each kernel has cores for a block.
fn check_kernels(
    graph: &Graph,
    placement: &Placement,
    counts: &CoreCounts,
    hints: Hints,
) -> Result<(), Refused> {
    for (at, kernel) in (0..).zip(graph.kernels()) {
        if placement.of(at).fit(kernel.core_type, counts) == 0 {
            let (kernel, core_type) = (kernel.name.clone(), kernel.core_type.name());
            return Err(Refused::NoCores { kernel, core_type, hints });
        }
    }
    Ok(())
}

/// Whether each gang could have all its cores at once, if it were alone.
fn check_gangs(graph: &Graph, placement: &Placement, counts: &CoreCounts) -> Result<(), Refused> {
    for gang in 0..graph.gangs() {
        let kernels = graph.gang_kernels(gang);
        let mut cores = DeviceCores::new(*counts);
        let mut needs = [0; 3];
        for &kernel in &kernels {
            let info = &graph.kernels()[kernel as usize];
            let unit = by_type_of(info.core_type, counts);
            (0..3).for_each(|i| needs[i] += u64::from(unit[i]) * u64::from(info.blocks));
        }
        let fits = kernels.iter().all(|&kernel| {
            let info = &graph.kernels()[kernel as usize];
            let allowed = gang_cores(placement.of(kernel));
            (0..info.blocks).all(|block| cores.take(info.core_type, &allowed, block).is_some())
        });
        if !fits {
            let blocks =
                kernels.iter().map(|&kernel| u64::from(graph.kernels()[kernel as usize].blocks)).sum();
            let name = |&kernel: &u32| graph.kernels()[kernel as usize].name.clone();
            let kernels = kernels.iter().map(name).collect();
            return Err(Refused::GangTooLarge { kernels, blocks, needs, has: by_type(counts) });
        }
    }
    Ok(())
}

/// Where blocks of a gang may run: they take what there is, since they need it at once.
pub(crate) fn gang_cores(allowed: Allowed) -> Allowed {
    Allowed { over_reserved: true, ..allowed }
}

fn by_type_of(core_type: wsp_core::tg::CoreType, counts: &CoreCounts) -> [u32; 3] {
    let unit = per_block(core_type, counts);
    [unit.aic, unit.aiv, unit.aicpu]
}
