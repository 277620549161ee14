//! What went through channels: figures that are computed by hand, from costs that are fixed.

use crate::workloads::{WIDE, program, report};
use proptest::prelude::*;
use wsp_backend::Expand;
use wsp_core::ChannelFigures;
use wsp_cpu::workload::{KernelRegistry, WorkloadInputs, WorkloadOptions};
use wsp_plan::ParamValue;
use wsp_plan::workload::ChannelUse;

const KERNELS: &str = "kernel load(in a, out b) cost 10; kernel work(in a, out b) cost 30; kernel quick(in a, out b) cost 1;
    param n = 4; tensor x: f32[n, 4]; tensor y: f32[n, 4]; tensor z: f32[n, 4]; tensor ring: f32[4, 4]; tensor other: f32[4, 4];\n";

fn inputs(set: &[(&str, i64)]) -> WorkloadInputs {
    let set = set.iter().map(|(name, value)| ((*name).to_owned(), ParamValue::Int(i128::from(*value))));
    WorkloadInputs { set: set.collect(), ..WorkloadInputs::all_made_up(0) }
}

/// The channels of a body in virtual time.
fn simulated(body: &str, set: &[(&str, i64)]) -> Vec<ChannelUse> {
    let text = format!("{KERNELS} workload main {{ {body} }}");
    let simulated = program(&text).simulate(&inputs(set), &WorkloadOptions { threads: 16, ..WIDE });
    simulated.unwrap_or_else(|found| panic!("{}", report(&found))).channels
}

fn figures(channels: &[ChannelUse]) -> Vec<(&str, ChannelFigures)> {
    channels.iter().map(|channel| (&*channel.name, channel.figures)).collect()
}

fn of(depth: u32, tokens: u64, fullest: u64, waited: [u64; 2]) -> ChannelFigures {
    ChannelFigures { depth, tokens, fullest, sender_waited: waited[0], receiver_waited: waited[1] }
}

/// One process that loads and one that works, with a channel between them.
fn two(depth: u32) -> String {
    format!(
        "channel c[{depth}]; pipeline {{
            process loads {{ parallel for i in 0..n {{ send c as s {{ load(x[i], ring[s]); }} }} }}
            process works {{ parallel for i in 0..n {{ consume c as s {{ work(ring[s], y[i]); }} }} }}
        }}"
    )
}

#[test]
fn a_sender_waits_for_slots_and_a_receiver_for_tokens() {
    // Loads 0 and 1 run from 0 to 10, works 0 and 1 to 40, loads 2 and 3 to 50, the last works to 80. The receiver waits from 0 to 10 and from 40
    // to 50, the sender from 10, when its second load is done, to 40.
    let channels = simulated(&two(2), &[]);
    assert_eq!(figures(&channels), [("c", of(2, 4, 2, [30, 20]))]);
    assert_eq!(channels[0].ends, ["loads", "works"]);
    // The second send begins when the first is done.
    assert_eq!(channels[0].levels, [(0, 1), (10, 2), (40, 1), (50, 2), (80, 0)]);
    // One slot: load, work, load, …
    assert_eq!(figures(&simulated(&two(1), &[("n", 3)])), [("c", of(1, 3, 1, [60, 30]))]);
    // More slots than tokens: nothing but the first token is waited for, and all are in use.
    assert_eq!(figures(&simulated(&two(9), &[])), [("c", of(9, 4, 4, [0, 10]))]);
    assert_eq!(figures(&simulated(&two(9), &[("n", 0)])), [("c", of(9, 0, 0, [0, 0]))]);
}

#[test]
fn with_a_depth_of_0_a_sender_waits_until_its_token_is_taken() {
    // The receiver takes each token as soon as it is there, and works on it while the sender waits for the slot.
    assert_eq!(figures(&simulated(&two(0), &[("n", 3)])), [("c", of(0, 3, 1, [60, 30]))]);
    // The receiver is busy until 30, and the token there at 10.
    let late = "channel c[0]; pipeline {
        process loads { send c as s { load(x[0], ring[0]); } }
        process works { work(x[1], z[0]); consume c as s { quick(ring[0], y[0]); } }
    }";
    assert_eq!(figures(&simulated(late, &[])), [("c", of(0, 1, 1, [20, 0]))]);
}

#[test]
fn a_wait_for_one_of_several_channels_counts_for_the_one_whose_token_is_taken() {
    let body = "channel a[1]; channel b[1]; pipeline {
        process p { send a as s { load(x[0], ring[0]); } close a; }
        process q { send b as s { quick(x[1], ring[1]); } close b; }
        process r { select all {
            consume a as s { work(ring[0], y[0]); }
            consume b as s { work(ring[1], y[1]); }
        } }
    }";
    let channels = simulated(body, &[]);
    // The token of `b` is there at 1. It is taken at 40, when the other one is done with, as turns have it.
    assert_eq!(figures(&channels), [("a", of(1, 1, 1, [0, 10])), ("b", of(1, 1, 1, [0, 0]))]);
    assert_eq!(channels[0].levels, [(0, 1), (40, 0)]);
    assert_eq!(channels[1].levels, [(0, 1), (40, 0)]);
    assert_eq!(channels[1].ends, ["q", "r"]);
}

#[test]
fn tokens_that_are_left_fill_slots_until_the_pipeline_ends() {
    let body = "channel c[3]; pipeline {
        process loads { send c as s { load(x[0], ring[s]); } send c as s { load(x[1], ring[s]); } }
        process works { consume c as s { work(ring[s], y[0]); } }
    }";
    let channels = simulated(body, &[]);
    assert_eq!(figures(&channels), [("c", of(3, 2, 2, [0, 10]))]);
    assert_eq!(channels[0].levels, [(0, 1), (10, 2), (40, 0)]);
}

#[test]
fn sends_without_tasks_and_pipelines_in_loops_count_on() {
    // Rounds follow each other, from 0 to 40 and to 80.
    let rounds = two(1).replace("0..n", "0..1").replace("pipeline", "for r in 0..2 { pipeline") + "}";
    assert_eq!(figures(&simulated(&rounds, &[])), [("c", of(1, 2, 1, [0, 20]))]);
    // The tokens are there when their sender is done with its task.
    let empty = "channel c[1]; pipeline {
        process p { load(x[0], ring[0]); send c as s { } send c as s { } }
        process q { consume c as s { work(x[1], y[0]); } consume c as s { } }
    }";
    assert_eq!(figures(&simulated(empty, &[])), [("c", of(1, 2, 1, [20, 10]))]);
}

/// A chain of stages over `n` tiles: costs of stages, and depths between them.
#[derive(Clone, Debug)]
struct Chain {
    costs: Vec<u64>,
    depths: Vec<u32>,
    n: usize,
}

fn chain() -> impl Strategy<Value = Chain> {
    let stages = prop::collection::vec((1..40_u64, 1..5_u32), 2..5);
    (stages, 0..9_usize).prop_map(|(stages, n)| {
        let (costs, depths): (Vec<u64>, Vec<u32>) = stages.into_iter().unzip();
        Chain { depths: depths[1..].to_vec(), costs, n }
    })
}

impl Chain {
    fn text(&self) -> String {
        let stages = self.costs.len();
        let mut text = format!("tensor x: f32[{0}, 4]; tensor y: f32[{0}, 4];\n", self.n.max(1));
        for (stage, cost) in self.costs.iter().enumerate() {
            text += &format!("kernel k{stage}(in a, out b) cost {cost};\n");
        }
        for (channel, depth) in self.depths.iter().enumerate() {
            text += &format!("tensor r{channel}: f32[{depth}, 4];\n");
        }
        text += "workload main {\n";
        for (channel, depth) in self.depths.iter().enumerate() {
            text += &format!("channel c{channel}[{depth}];\n");
        }
        text += "pipeline {\n";
        for stage in 0..stages {
            let from = if stage == 0 { "x[i]".to_owned() } else { format!("r{}[s]", stage - 1) };
            let to = if stage + 1 == stages { "y[i]".to_owned() } else { format!("r{stage}[d]") };
            let mut body = format!("k{stage}({from}, {to});");
            if stage + 1 < stages {
                body = format!("send c{stage} as d {{ {body} }}");
            }
            if stage > 0 {
                body = format!("consume c{} as s {{ {body} }}", stage - 1);
            }
            text += &format!("process p{stage} {{ parallel for i in 0..{} {{ {body} }} }}\n", self.n);
        }
        text + "} }\n"
    }

    /// The figures, by formulas. A task starts when what it reads is written and the row that it writes is read, and a stage is done with its first
    /// tiles when all their tasks are.
    fn figures(&self) -> Vec<ChannelFigures> {
        let (stages, n) = (self.costs.len(), self.n);
        let mut ends = vec![vec![0_u64; n]; stages];
        for i in 0..n {
            for stage in 0..stages {
                let written = if stage > 0 { ends[stage - 1][i] } else { 0 };
                let slot = self.depths.get(stage).and_then(|depth| i.checked_sub(*depth as usize));
                let read = slot.map_or(0, |before| ends[stage + 1][before]);
                ends[stage][i] = written.max(read) + self.costs[stage];
            }
        }
        // A stage is done with tile `i` when its tasks up to it are, and goes on to the next one then.
        let done = |stage: usize, i: usize| ends[stage][..=i].iter().copied().max().unwrap_or(0);
        let before = |stage: usize, i: usize| if i == 0 { 0 } else { done(stage, i - 1) };
        let mut found = Vec::new();
        for (channel, &depth) in self.depths.iter().enumerate() {
            let mut of = ChannelFigures { depth, tokens: n as u64, ..ChannelFigures::default() };
            let mut uses = Vec::new();
            for i in 0..n {
                // What comes first in the sender: its own token, then the slot.
                let token = if channel > 0 { done(channel - 1, i) } else { 0 };
                let ready = before(channel, i).max(token);
                let free = i.checked_sub(depth as usize).map_or(0, |i| done(channel + 1, i));
                of.sender_waited += free.saturating_sub(ready);
                of.receiver_waited += done(channel, i).saturating_sub(before(channel + 1, i));
                uses.push((ready.max(free), done(channel + 1, i)));
            }
            let in_use = |at: u64| uses.iter().filter(|(from, to)| *from <= at && at < *to).count() as u64;
            of.fullest = uses.iter().map(|(from, _)| in_use(*from)).max().unwrap_or(0);
            found.push(of);
        }
        found
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn chains_of_stages_have_the_figures_of_formulas(chain in chain()) {
        let options = WorkloadOptions { threads: 64, ..WIDE };
        let simulated = program(&chain.text()).simulate(&inputs(&[]), &options);
        let channels = simulated.unwrap_or_else(|found| panic!("{}", report(&found))).channels;
        let found: Vec<ChannelFigures> = channels.iter().map(|channel| channel.figures).collect();
        prop_assert_eq!(found, chain.figures());
    }
}

#[test]
fn runs_on_threads_and_aicpus_see_the_tokens_of_virtual_time() {
    let text = format!("{KERNELS} workload main {{ {} }}", two(2));
    let of_expand = |aicpus, expand| WorkloadOptions { aicpus, expand, trace: true, ..WIDE };
    for options in [
        WorkloadOptions { trace: true, ..WIDE },
        WorkloadOptions { trace: true, window: Some(1), ..WIDE },
        of_expand(1, Expand::Bytecode),
        of_expand(3, Expand::Bytecode),
        of_expand(2, Expand::Host),
    ] {
        let ran = program(&text).execute(&inputs(&[("n", 50)]), &options);
        let ran = ran.unwrap_or_else(|found| panic!("{}", report(&found)));
        let [channel] = &ran.channels[..] else { panic!("{:?}", ran.channels) };
        let ChannelFigures { depth, tokens, fullest, sender_waited, receiver_waited } = channel.figures;
        assert_eq!((depth, tokens, &*channel.name), (2, 50, "c"));
        assert!((1..=2).contains(&fullest), "{fullest}");
        // A process waits for one thing after the other, within the run.
        assert!(sender_waited.max(receiver_waited) <= ran.run_ns, "{channel:?}, {} ns", ran.run_ns);
        assert!(
            channel.levels.is_sorted_by(|a, b| a.0 < b.0)
                && channel.levels.last().is_some_and(|last| last.1 == 0)
        );
    }
    let without =
        program(&text).execute(&inputs(&[]), &WIDE).unwrap_or_else(|found| panic!("{}", report(&found)));
    assert_eq!(without.channels, []);
}

#[test]
fn slots_that_tasks_compute_are_known_when_channels_are_looked_at() {
    // The tasks themselves say how many tokens come: 3 in the first run of the pipeline, 2 and 1 in those after it.
    let text = "tensor x: f64[4]; tensor ring: f64[2]; slot left = 3;
        kernel step(inout x, inout left); kernel put(in x, out a); kernel take(in a);
        workload main { channel c[2]; while left > 0 max 9 {
            pipeline {
                process p { parallel for i in 0..left { send c as s { put(x, ring[s]); } } close c; }
                process q { consume all c as s { take(ring[s]); } }
            }
            step(x, left);
        } }";
    let mut kernels = KernelRegistry::new();
    let step = |_: &mut [f64], left: &mut [i64]| left[0] -= 1;
    kernels.register_typed("step", step).expect("the first of its name");
    kernels.register_typed("put", |x: &[f64], a: &mut [f64]| a[0] = x[0]).expect("the first of its name");
    kernels.register_typed("take", |_: &[f64]| ()).expect("the first of its name");
    for (aicpus, threads) in [(0, 1), (0, 3), (1, 2), (3, 2)] {
        let program =
            program(text).with_kernels(kernels.clone()).unwrap_or_else(|found| panic!("{}", report(&found)));
        let options = WorkloadOptions { aicpus, threads, trace: true, ..WIDE };
        let ran =
            program.execute(&inputs(&[]), &options).unwrap_or_else(|found| panic!("{}", report(&found)));
        let [channel] = &ran.channels[..] else { panic!("{aicpus} AICPUs: {:?}", ran.channels) };
        assert_eq!(channel.figures.tokens, 6, "{aicpus} AICPUs, {threads} threads");
    }
}
