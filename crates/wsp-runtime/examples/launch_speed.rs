//! Measures what a runtime of task graphs costs per kernel: `cargo run --release -p wsp-runtime --example launch_speed`.
//!
//! The kernels do next to nothing: each reads the range that it is bound to, and counts. Graphs of 10,000 kernels are run again and
//! again on the calling thread, where nothing is built anew, and on a runtime with threads of its own.

#![allow(clippy::print_stdout, reason = "an example that prints its measurements")]

use std::convert::Infallible;
use std::hint::black_box;
use std::sync::Arc;
use wsp_core::tg::CoreType;
use wsp_core::tg::image::{LevelRecord, NONE, NodeKind, NodeRecord};
use wsp_core::tg::machine::Scalars;
use wsp_runtime::clock;
use wsp_runtime::tg::{
    BlockCx, Bodies, Graph, GraphParts, InlineExecutor, KernelInfo, LaunchOptions, LocalBodies, NodeCx,
    Runtime, RuntimeConfig,
};

const KERNELS: u32 = 10_000;
const RUNS: u32 = 300;

fn main() {
    for (name, graph) in [("independent", independent()), ("chain", chain()), ("layers of 100", layers())] {
        println!("{name}: {KERNELS} kernels, {} edges", graph.image().succs.len());
        println!("  on the calling thread: {:.1} ns per kernel", here(&graph));
        for threads in [1, 2] {
            println!("  on {threads} worker(s): {:.0} ns per kernel", on_workers(&graph, threads));
        }
    }
}

/// A graph of kernels of one block each.
fn graph(edges: &[(u32, u32)]) -> Arc<Graph> {
    let mut parts = GraphParts { name: "G".to_owned(), ..GraphParts::default() };
    let mut edges = edges.to_vec();
    edges.sort_unstable();
    parts.needs = vec![0; KERNELS as usize];
    let mut at = 0;
    for kernel in 0..KERNELS {
        let first = at as u32;
        while edges.get(at).is_some_and(|edge| edge.0 == kernel) {
            parts.succs.push(edges[at].1);
            parts.needs[edges[at].1 as usize] += 1;
            at += 1;
        }
        let end = at as u32;
        let (kind, item) = (NodeKind::Kernel as u32, kernel);
        parts.nodes.push(NodeRecord { kind, item, guard: NONE, gang: NONE, first, end });
        parts.kernels.push(KernelInfo {
            name: format!("K{kernel}"),
            blocks: 1,
            core_type: CoreType::Aiv,
            partition: None,
            request: None,
            persistent: None,
        });
    }
    parts.top = LevelRecord { first: 0, len: KERNELS, first_gang: 0, gangs: 0 };
    Arc::new(Graph::new(parts).expect("the example's graph should be sound"))
}

fn independent() -> Arc<Graph> {
    graph(&[])
}

fn chain() -> Arc<Graph> {
    graph(&(1..KERNELS).map(|kernel| (kernel - 1, kernel)).collect::<Vec<_>>())
}

/// Each kernel waits for two of the layer before it.
fn layers() -> Arc<Graph> {
    let before = |kernel: u32| {
        let layer = kernel / 100 * 100;
        [(kernel - 100, kernel), (layer - 100 + (kernel + 1) % 100, kernel)]
    };
    graph(&(100..KERNELS).flat_map(before).collect::<Vec<_>>())
}

/// Kernels with the ranges that they are bound to.
struct Local {
    bound: Vec<[std::ops::Range<u64>; 2]>,
    sum: u64,
}

impl Scalars for Local {
    type Fault = Infallible;

    fn eval(&mut self, _: u32, _: &[u32]) -> Result<i64, Infallible> {
        Ok(0)
    }
}

impl LocalBodies for Local {
    fn kernel(&mut self, kernel: u32, _: &[u32]) -> Result<(), Infallible> {
        let [input, output] = &self.bound[kernel as usize];
        self.sum += black_box(input.start + output.end);
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

/// The least time per kernel over the runs, in nanoseconds.
fn least(mut run: impl FnMut()) -> f64 {
    let mut least = u64::MAX;
    for _ in 0..RUNS {
        let start = clock::now();
        run();
        least = least.min(clock::nanos_since(start));
    }
    least as f64 / f64::from(KERNELS)
}

fn here(graph: &Graph) -> f64 {
    let bound = (0..u64::from(KERNELS)).map(|k| [k..k + 64, 2 * k..2 * k + 64]).collect();
    let mut local = Local { bound, sum: 0 };
    let mut here = InlineExecutor::new(graph).expect("the example's graph should run on one thread");
    least(|| {
        let Ok(()) = here.run(&mut local) else { unreachable!("nothing fails") };
    })
}

struct Empty;

impl Bodies for Empty {
    type Failure = Infallible;
    type Prepared = ();

    fn prepare(&self, _: &NodeCx<'_>, resident: Option<Arc<()>>) -> Result<Arc<()>, Infallible> {
        Ok(resident.unwrap_or_default())
    }

    fn run_block(&self, (): &(), cx: &BlockCx<'_>) -> Result<(), Infallible> {
        black_box(cx.block);
        Ok(())
    }

    fn run_item(&self, _: &NodeCx<'_>) -> Result<(), Infallible> {
        Ok(())
    }

    fn eval(&self, _: u32, _: &[u32]) -> Result<i64, Infallible> {
        Ok(0)
    }

    fn checkpoint(&self, _: u32, _: &[u32]) -> Result<(), Infallible> {
        Ok(())
    }
}

fn on_workers(graph: &Arc<Graph>, threads: u32) -> f64 {
    let config = RuntimeConfig { threads, ..RuntimeConfig::default() };
    let runtime = Runtime::new(config).expect("the example should get its threads");
    let stream = runtime.default_stream(0).expect("device 0 should be there");
    let bodies = Arc::new(Empty);
    least(|| {
        let id = runtime
            .launch(graph, bodies.clone(), LaunchOptions::on(stream))
            .expect("the example's launch should be accepted");
        runtime.sync(id).expect("nothing fails");
    })
}
