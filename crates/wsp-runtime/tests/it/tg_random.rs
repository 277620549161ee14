//! Random graphs on random numbers of threads against the same graphs on one thread, one kernel after the other.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

use crate::tg_common::{Build, Script, runtime_traced, runtime_with};
use proptest::prelude::*;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use wsp_core::tg::CoreType;
use wsp_core::tg::image::LoopKind;
use wsp_core::tg::machine::Scalars;
use wsp_runtime::tg::{
    BlockCx, BlockTrace, CoreCounts, Graph, Hints, InlineExecutor, LaunchId, LaunchOptions, LocalBodies,
    Replay, RuntimeConfig, Time, Trace, Tracing, validate,
};
use wsp_runtime::timeline::Timeline;

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// A random graph, and for each kernel the kernels whose values it reads: those before it. `gangs` says whether it has any.
struct Sample {
    graph: Arc<Graph>,
    sources: Vec<Vec<u32>>,
    /// The first kernel of the loop's body: only from it on iterations mean anything.
    first_inside: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gangs {
    With,
    Without,
}

fn sample(seed: u64, kernels: u64, gangs: Gangs) -> Sample {
    let mut random = Random(seed);
    let mut build = Build::new(&format!("RANDOM{seed}"));
    let mut sources = Vec::new();
    let (decide, then, otherwise) = build.decide(0);
    level(&mut build, &mut random, &mut sources, kernels, Some([decide, then, otherwise]));
    if gangs == Gangs::With && kernels > 2 {
        // Kernels without edges: they depend on nobody, and nobody on them.
        let members = [0; 2].map(|_| kernel(&mut build, &mut random, &mut sources));
        build.gang(&members);
    } else {
        (0..2).for_each(|_| _ = kernel(&mut build, &mut random, &mut sources));
    }
    let repeat = build.repeat(LoopKind::Count, 1);
    build.edge(decide, repeat);
    let (inside, first_inside) = (1 + random.below(6), sources.len() as u32);
    build.body(repeat, |build| level(build, &mut random, &mut sources, inside, None));
    Sample { graph: build.finish(), sources, first_inside }
}

fn kernel(build: &mut Build, random: &mut Random, sources: &mut Vec<Vec<u32>>) -> u32 {
    let types = [CoreType::Aic, CoreType::Aiv, CoreType::AicAiv, CoreType::Aicpu];
    sources.push(Vec::new());
    let blocks = [1, 1 + random.below(4) as u32][random.below(2) as usize];
    build.kernel(&format!("K{}", sources.len() - 1), blocks, types[random.below(4) as usize])
}

/// Kernels with random edges from earlier to later ones, some of them guarded.
fn level(
    build: &mut Build,
    random: &mut Random,
    sources: &mut Vec<Vec<u32>>,
    kernels: u64,
    decision: Option<[u32; 3]>,
) {
    let mut nodes: Vec<(u32, u32)> = Vec::new();
    for _ in 0..kernels {
        let node = kernel(build, random, sources);
        let number = sources.len() as u32 - 1;
        for _ in 0..random.below(4).min(nodes.len() as u64) {
            let (before, source) = nodes[random.below(nodes.len() as u64) as usize];
            build.edge(before, node);
            sources[number as usize].push(source);
        }
        if let Some([decide, then, otherwise]) = decision
            && random.below(4) == 0
        {
            build.edge(decide, node);
            build.guard(node, if random.below(2) == 0 { then } else { otherwise });
        }
        nodes.push((node, number));
    }
}

/// A value for each block of each kernel. A block mixes its own value with those of all blocks of the kernels before it, so
/// whatever runs too early, too late, twice or not at all changes it.
struct Values {
    values: Vec<[AtomicU64; 4]>,
    sources: Vec<Vec<u32>>,
    first_inside: u32,
}

impl Values {
    fn new(sample: &Sample) -> Values {
        let values = sample.sources.iter().map(|_| Default::default()).collect();
        Values { values, sources: sample.sources.clone(), first_inside: sample.first_inside }
    }

    fn block(&self, kernel: u32, block: u32, iteration: u32) {
        let iteration = if kernel < self.first_inside { 0 } else { iteration };
        let own = &self.values[kernel as usize][block as usize];
        let mut value = own.load(Ordering::Relaxed).wrapping_mul(31).wrapping_add(u64::from(iteration) + 1);
        for &source in &self.sources[kernel as usize] {
            for other in &self.values[source as usize] {
                value = value.rotate_left(7) ^ other.load(Ordering::Relaxed);
            }
        }
        own.store(value, Ordering::Relaxed);
    }

    fn list(&self) -> Vec<u64> {
        self.values.iter().flatten().map(|value| value.load(Ordering::Relaxed)).collect()
    }
}

/// What conditions are: the arm, and the count of the loop.
fn condition(seed: u64, number: u32) -> i64 {
    if number == 0 { (seed % 2) as i64 } else { (seed % 4) as i64 }
}

struct OneByOne<'v> {
    values: &'v Values,
    graph: &'v Graph,
    seed: u64,
}

impl Scalars for OneByOne<'_> {
    type Fault = Infallible;

    fn eval(&mut self, number: u32, _: &[u32]) -> Result<i64, Infallible> {
        Ok(condition(self.seed, number))
    }
}

impl LocalBodies for OneByOne<'_> {
    fn kernel(&mut self, kernel: u32, iterations: &[u32]) -> Result<(), Infallible> {
        for block in 0..self.graph.kernels()[kernel as usize].blocks {
            self.values.block(kernel, block, iterations[0]);
        }
        Ok(())
    }

    fn copy(&mut self, _: u32) -> Result<(), Infallible> {
        Ok(())
    }

    fn free(&mut self, _: u32) -> Result<(), Infallible> {
        Ok(())
    }

    fn checkpoint(&mut self, _: u32, _: &[u32]) -> Result<(), Infallible> {
        Ok(())
    }
}

fn one_by_one(seed: u64, kernels: u64, times: u32) -> Vec<u64> {
    let sample = sample(seed, kernels, Gangs::Without);
    let values = Values::new(&sample);
    let mut here = InlineExecutor::new(&sample.graph).unwrap();
    let mut bodies = OneByOne { values: &values, graph: &sample.graph, seed };
    (0..times).for_each(|_| here.run(&mut bodies).unwrap());
    values.list()
}

/// Bodies that compute the values.
fn scripted(values: &Arc<Values>, seed: u64) -> Script {
    let shared = values.clone();
    let mut script = Script::new(move |cx| {
        shared.block(cx.kernel.item, cx.block, cx.kernel.iterations[0]);
        Ok(())
    });
    script.eval = Box::new(move |number, _| condition(seed, number));
    script.cycles = Box::new(cycles);
    script
}

/// Cycles of a block in virtual time.
fn cycles(cx: &BlockCx<'_>) -> u64 {
    u64::from(cx.kernel.item * 7 + cx.block * 3) % 11
}

/// Launches three graphs one to three times each, on two streams and with priorities, none of which begins before all are submitted.
fn together(seed: u64, kernels: u64, config: RuntimeConfig) -> (Vec<Sample>, Trace, Vec<Vec<u64>>) {
    let mut random = Random(seed);
    // Gangs have threads of their own, which take time to wake.
    let gangs = if seed.is_multiple_of(32) { Gangs::With } else { Gangs::Without };
    let samples: Vec<Sample> = (0..3).map(|n| sample(seed.wrapping_add(n), kernels, gangs)).collect();
    let values: Vec<Arc<Values>> = samples.iter().map(|sample| Arc::new(Values::new(sample))).collect();
    let runtime = runtime_with(config);
    let streams = [runtime.default_stream(0).unwrap(), runtime.create_stream(0).unwrap()];
    let (go, wait) = mpsc::channel();
    let wait = Mutex::new(wait);
    let mut first = Script::new(|_| Ok(()));
    first.begin = Box::new(move || wait.lock().unwrap().recv().unwrap());
    let hold = runtime.create_stream(0).unwrap();
    runtime.launch(&Build::new("HOLD").finish(), Arc::new(first), LaunchOptions::on(hold)).unwrap();
    for (n, (sample, values)) in (0..).zip(samples.iter().zip(&values)) {
        runtime.set_priority(&sample.graph, random.below(3) as i8).unwrap();
        let bodies = Arc::new(scripted(values, seed.wrapping_add(n)));
        let stream = streams[random.below(2) as usize];
        for _ in 0..1 + random.below(3) {
            runtime.launch(&sample.graph, bodies.clone(), LaunchOptions::on(stream)).unwrap();
        }
    }
    go.send(()).unwrap();
    runtime.sync_all().unwrap();
    assert_eq!(runtime.left_to_replay().unwrap(), None);
    (samples, runtime.take_trace().unwrap(), values.iter().map(|values| values.list()).collect())
}

/// The order of the starts that were recorded, as files of traces have it.
fn order_of_starts(trace: &Trace) -> Replay {
    let timeline = Timeline::of_launches(trace);
    let (started, blocks) = timeline.starts();
    assert_eq!(started.len(), trace.blocks.len());
    Replay::new(trace.workers, &timeline.kernels, &started, &blocks).unwrap()
}

/// Blocks by their starts, with their workers where these are to be told; without gangs, whose blocks start together.
fn starts(trace: &Trace, tells_workers: bool) -> Vec<(LaunchId, u32, u32, u32)> {
    let mut blocks: Vec<_> = trace.blocks.iter().filter(|block| block.worker < trace.workers).collect();
    blocks.sort_by_key(|block| block.started);
    let of = |block: &BlockTrace| {
        let run = &trace.runs[block.run as usize];
        (run.launch, run.node, block.block, if tells_workers { block.worker } else { 0 })
    };
    blocks.into_iter().map(of).collect()
}

/// Blocks in the order in which they ran.
fn order(trace: &Trace) -> Vec<(LaunchId, &str, &[u32], u32)> {
    let blocks = trace.blocks.iter().map(|block| {
        let run = &trace.runs[block.run as usize];
        (run.launch, run.name.as_str(), run.iterations.as_slice(), block.block)
    });
    blocks.collect()
}

fn on_threads(seed: u64, kernels: u64, times: u32, config: RuntimeConfig, tracing: Tracing) -> Vec<u64> {
    let sample = sample(seed, kernels, Gangs::With);
    let values = Arc::new(Values::new(&sample));
    let bodies = Arc::new(scripted(&values, seed));
    let runtime = runtime_traced(config, tracing);
    let stream = runtime.default_stream(0).unwrap();
    for _ in 0..times {
        let id = runtime.launch(&sample.graph, bodies.clone(), LaunchOptions::on(stream)).unwrap();
        // A checkpoint at any moment changes nothing.
        runtime.request_checkpoint(id, 0).unwrap();
    }
    let stats = runtime.sync_graph(&sample.graph).unwrap();
    assert_eq!(stats.launches, u64::from(times));
    if tracing == Tracing::On {
        assert_eq!(validate(&sample.graph, &runtime.take_trace().unwrap()), []);
    }
    values.list()
}

fn tracing() -> impl Strategy<Value = Tracing> {
    prop_oneof![Just(Tracing::Off), Just(Tracing::On)]
}

/// A saved state, and the values at that moment.
type SavedState = Arc<Mutex<Option<(Vec<u32>, Vec<u64>)>>>;

/// Runs a graph with a checkpoint at some moment, and then goes on from the checkpoint on another runtime.
fn resumed(seed: u64, kernels: u64, threads: u32, tracing: Tracing) -> [Vec<u64>; 2] {
    let sample = sample(seed, kernels, Gangs::With);
    let saved = SavedState::default();
    let cores = CoreCounts { aicpu: 8, ..CoreCounts::default() };
    let mut config = RuntimeConfig { threads, cores, ..RuntimeConfig::default() };
    let run = |values: &Arc<Values>, config: RuntimeConfig, state: Option<Vec<u32>>| {
        let mut script = scripted(values, seed);
        let (keep, shared) = (saved.clone(), values.clone());
        script.save = Box::new(move |_, state| {
            *keep.lock().unwrap() = Some((state.to_vec(), shared.list()));
            Ok(())
        });
        let runtime = runtime_traced(config, tracing);
        let stream = runtime.default_stream(0).unwrap();
        let is_first = state.is_none();
        let options = LaunchOptions { state, ..LaunchOptions::on(stream) };
        let id = runtime.launch(&sample.graph, Arc::new(script), options).unwrap();
        if is_first {
            runtime.request_checkpoint(id, 0).unwrap();
        }
        runtime.sync(id).unwrap();
        values.list()
    };
    let whole = run(&Arc::new(Values::new(&sample)), config.clone(), None);
    let Some((state, values)) = saved.lock().unwrap().take() else { return [whole.clone(), whole] };
    let restored = Values::new(&sample);
    restored.values.iter().flatten().zip(values).for_each(|(to, value)| to.store(value, Ordering::Relaxed));
    config.threads = 7 - threads;
    [whole, run(&Arc::new(restored), config, Some(state))]
}

proptest! {
    #![proptest_config(crate::cases::cases(96))]

    /// ISA-TG-24, ISA-EM-01, ISA-EM-02: threads, cores and hints change no result.
    #[test]
    fn any_number_of_threads_gives_the_result_of_one(
        seed in any::<u64>(),
        kernels in 1u64..40,
        threads in 1u32..7,
        honoured in any::<bool>(),
        tracing in tracing(),
    ) {
        let hints = if honoured { Hints::Honour } else { Hints::Ignore };
        let cores = CoreCounts { aic: 8, aiv: 16, aicpu: 8, ..CoreCounts::default() };
        let config = RuntimeConfig { threads, hints, cores, ..RuntimeConfig::default() };
        let expected = one_by_one(seed, kernels, 2);
        prop_assert_eq!(on_threads(seed, kernels, 2, config, tracing), expected);
    }

    /// ISA-FE-04: going on from a checkpoint taken at any moment gives the result of an uninterrupted run.
    #[test]
    fn going_on_from_a_checkpoint_gives_the_same_result(
        seed in any::<u64>(),
        kernels in 1u64..40,
        threads in 1u32..7,
        tracing in tracing(),
    ) {
        let [whole, resumed] = resumed(seed, kernels, threads, tracing);
        prop_assert_eq!(&resumed, &whole);
        prop_assert_eq!(whole, one_by_one(seed, kernels, 1));
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(100))]

    /// what was recorded runs again in the order of its starts, on as many workers or on one, and so does what a seed gives in virtual time.
    #[test]
    fn launches_run_again_block_by_block(
        seed in any::<u64>(),
        kernels in 1u64..12,
        threads in 2u32..5,
        time in prop_oneof![Just(Time::Measured), Just(Time::Virtual)],
    ) {
        let cores = CoreCounts { aicpu: 8, ..CoreCounts::default() };
        let config = |threads| RuntimeConfig {
            cores, threads, tracing: Tracing::On, ..RuntimeConfig::default() };
        let (samples, recorded, values) = together(seed, kernels, RuntimeConfig { time, seed: (time == Time::Virtual).then_some(seed), ..config(threads) });
        let replay = Arc::new(order_of_starts(&recorded));
        for threads in [threads, 1] {
            let (_, again, same) = together(seed, kernels, RuntimeConfig { replay: Some(replay.clone()), ..config(threads) });
            prop_assert_eq!(&same, &values);
            samples.iter().for_each(|sample| assert_eq!(validate(&sample.graph, &again), []));
            // With one thread the workers of gangs are others.
            if seed % 32 != 0 || threads > 1 {
                prop_assert_eq!(starts(&again, threads > 1), starts(&recorded, threads > 1));
            }
        }
    }
}

proptest! {
    #![proptest_config(crate::cases::cases(300))]

    /// ISA-TG-24: virtual time decides as the runtime does, and computes what it computes.
    #[test]
    fn virtual_time_runs_blocks_in_the_order_of_one_worker(
        seed in any::<u64>(),
        kernels in 1u64..16,
        workers in 2u32..7,
        honoured in any::<bool>(),
    ) {
        let hints = if honoured { Hints::Honour } else { Hints::Ignore };
        let cores = CoreCounts { aic: 8, aiv: 16, aicpu: 8, ..CoreCounts::default() };
        let measured = RuntimeConfig { threads: 1, hints, cores, ..RuntimeConfig::default() };
        let one = RuntimeConfig { time: Time::Virtual, ..measured.clone() };
        let several = RuntimeConfig { threads: workers, ..one.clone() };
        let (_, ran, expected) = together(seed, kernels, measured);
        let (_, simulated, values) = together(seed, kernels, one);
        prop_assert_eq!(order(&simulated), order(&ran));
        prop_assert_eq!(&values, &expected);
        let (samples, trace, values) = together(seed, kernels, several.clone());
        prop_assert_eq!(&values, &expected);
        for sample in &samples {
            prop_assert_eq!(validate(&sample.graph, &trace), []);
        }
        prop_assert_eq!(together(seed, kernels, several).1, trace, "the same each time");
    }
}

/// The validator is not satisfied by anything: a trace with an edge the wrong way round is refused.
#[test]
fn a_trace_that_breaks_an_edge_is_refused() {
    let mut build = Build::new("G");
    let (a, b) = (build.vector("A", 1), build.vector("B", 2));
    build.edge(a, b);
    let graph = build.finish();
    let runtime = runtime_with(RuntimeConfig::default());
    crate::tg_common::launch(&runtime, &graph, &Script::idle());
    runtime.sync_all().unwrap();
    let trace = runtime.take_trace().unwrap();
    assert_eq!(validate(&graph, &trace), []);
    let mut early = trace.clone();
    early.blocks.iter_mut().filter(|block| block.run == 1).for_each(|block| block.started = 0);
    let told: Vec<String> = validate(&graph, &early).iter().map(ToString::to_string).collect();
    assert!(told.contains(&"launch 1: `B` started before `A` was complete".to_owned()), "{told:?}");
    let mut missing = trace.clone();
    missing.blocks.retain(|block| block.run == 0);
    let told: Vec<String> = validate(&graph, &missing).iter().map(ToString::to_string).collect();
    assert!(told.contains(&"launch 1: `B` has 2 blocks, 0 ran, or not each once".to_owned()), "{told:?}");
}
