//! `cargo xtask bench aie`: how long places and ways of designs for AIE arrays take, and checks, and how fast a design is interpreted.
//!
//! Graphs at random have 32 tasks and 64 channels on 4 × 8 tiles, two into each task and two out of it, with traffic from 1 to 16; beside the placement of ours stands one that fills the array as a snake.

use crate::runtime::Row;
use crate::runtime::measure::{Moment, median};
use crate::runtime::table::Target as Goal;
use wsp_aie::design::Design;
use wsp_aie::device::{Tile, TileKind, XDNA2};
use wsp_aie::lower::{Launch, Listed, lower};
use wsp_aie::mlir::parse;
use wsp_aie::place::{EXACT, Graph, Net, Node, STEPS, place};
use wsp_aie::route::{Outcome, Stream, route};
use wsp_aie::run::{Allocation, Arg, Machine};
use wsp_backend::{Args, ArrayForm, Detail, EmitOptions, GraphOptions, RunError, RunOptions};
use wsp_core::DType;
use wsp_diag::{Diagnostic, Diagnostics, FileId, SourceMap};
use wsp_plan::target::{CPU_SIM, TARGETS};
use wsp_plan::workload::WorkloadPlan;
use wsp_plan::{Array, CompileOptions, ParamValue, PlanSource, Target};

/// Tasks of a graph, one on each core of XDNA2.
const TASKS: usize = 32;
/// Tasks of a graph whose placement is proven to cost least.
const PROVEN: usize = EXACT;
/// Rows, columns and depth of the product that is placed on all cores.
const PRODUCT: [(&str, i64); 3] = [("m", 128), ("n", 256), ("k", 64)];
/// Rows and columns of the matrix that three stages take.
const MATRIX: (i64, i64) = (4096, 64);

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % limit
    }

    /// An order of all tasks in which none is where it was.
    fn order(&mut self, tasks: usize) -> Vec<usize> {
        loop {
            let mut order: Vec<usize> = (0..tasks).collect();
            (1..tasks).rev().for_each(|at| order.swap(at, self.below(at + 1)));
            if order.iter().enumerate().all(|(at, to)| at != *to) {
                return order;
            }
        }
    }

    fn graph(&mut self, tasks: usize) -> Graph {
        let node = |at| Node { name: format!("t{at}"), kind: TileKind::Compute, bytes: 0, at: None };
        let mut nets = Vec::new();
        for _ in 0..2 {
            for (from, to) in self.order(tasks).into_iter().enumerate() {
                let (name, traffic) = (format!("c{}", nets.len()), 1 + self.below(16) as u64);
                nets.push(Net { name, from, to: vec![to], traffic, bytes: 1024, via_dma: false });
            }
        }
        Graph { device: XDNA2, nodes: (0..tasks).map(node).collect(), nets }
    }
}

/// Column by column, up and down.
fn snake() -> Vec<Tile> {
    let row = |at: usize| if (at / 4).is_multiple_of(2) { at % 4 } else { 3 - at % 4 };
    (0..TASKS).map(|at| Tile::new((at / 4) as u32, 2 + row(at) as u32)).collect()
}

fn row(name: &str, measure: &'static str, ours: f64, target: Option<Goal>) -> Row {
    Row { ours, target, ..Row::plain(name, 1, measure) }
}

/// Measures all, with so many graphs and rounds.
///
/// # Errors
/// A design could not be made, or does not run.
pub(crate) fn measure(graphs: usize, rounds: usize, emit: &mut dyn FnMut(Row)) -> Result<(), Diagnostics> {
    places(graphs, emit)?;
    proofs(rounds, emit)?;
    let product = product()?;
    let times =
        (0..rounds).map(|_| seconds(|| place(&product).map(drop))).collect::<Result<Vec<f64>, _>>()?;
    emit(row("gemm, 32 cores", "place s", median(times), Some(Goal::AtMost(1.0))));
    let gemm = text(GEMM, &PRODUCT)?;
    let softmax = text(SOFTMAX, &[("rows", MATRIX.0), ("cols", MATRIX.1)])?;
    let design = design(&gemm)?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        let start = Moment::now();
        wsp_aie::check(&design);
        times.push(start.to(Moment::now()).wall / 1e6);
    }
    emit(row("gemm, 32 cores", "check ms", median(times), Some(Goal::AtMost(50.0))));
    emit(row("three stages", "elements M/s", interpreted(&softmax, rounds)?, Some(Goal::AtLeast(10.0))));
    Ok(())
}

fn places(graphs: usize, emit: &mut dyn FnMut(Row)) -> Result<(), Diagnostics> {
    let mut dice = Random(5);
    let (mut times, mut snakes, mut gaps, mut routed) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..graphs {
        let graph = dice.graph(TASKS);
        let start = Moment::now();
        let placed = place(&graph)?;
        let streams: Vec<Stream> = graph
            .nets
            .iter()
            .filter(|net| !placed.tiles[net.from].shares_with(placed.tiles[net.to[0]]))
            .map(|net| Stream {
                name: net.name.clone(),
                from: placed.tiles[net.from],
                to: vec![placed.tiles[net.to[0]]],
                packets: false,
            })
            .collect();
        routed += usize::from(matches!(route(&XDNA2, &streams), Outcome::Routed(_)));
        times.push(start.to(Moment::now()).wall / 1e9);
        snakes.push(graph.cost(&snake()) as f64 / placed.cost as f64);
        gaps.push(100.0 * placed.gap());
    }
    times.sort_by(f64::total_cmp);
    let late = times[(times.len() * 95).div_ceil(100) - 1];
    emit(row("4x8, 32 tasks", "place+route s, 95%", late, Some(Goal::AtMost(1.0))));
    emit(row("4x8, 32 tasks", "routed %", 100.0 * routed as f64 / graphs as f64, None));
    emit(row("4x8, 32 tasks", "snake / ours", median(snakes), None));
    emit(row("4x8, 32 tasks", "gap %", median(gaps), None));
    Ok(())
}

/// Placements of few tasks, each with the proof that none costs less, and the check of that.
fn proofs(graphs: usize, emit: &mut dyn FnMut(Row)) -> Result<(), Diagnostics> {
    let mut dice = Random(7);
    let mut times = Vec::new();
    for _ in 0..graphs {
        let graph = dice.graph(PROVEN);
        times.push(seconds(|| {
            let placed = place(&graph)?;
            let holds = placed.proof.as_ref().is_some_and(|proof| proof.check(&graph, &placed).is_ok());
            assert!(holds, "a placement of {PROVEN} tasks should be proven to cost least");
            Ok(())
        })?);
    }
    times.sort_by(f64::total_cmp);
    let late = times[(times.len() * 95).div_ceil(100) - 1];
    emit(row("4x8, 8 tasks", "place+proof s, 95%", late, None));
    Ok(())
}

/// What work takes.
fn seconds(work: impl FnOnce() -> Result<(), Diagnostic>) -> Result<f64, Diagnostic> {
    let start = Moment::now();
    work()?;
    Ok(start.to(Moment::now()).wall / 1e9)
}

/// A program: its name, workload and kernels.
type Example = (&'static str, &'static str, &'static str);

const GEMM: Example =
    ("gemm", include_str!("../../examples/aie/gemm.wsp"), include_str!("../../examples/aie/gemm.pto"));
const SOFTMAX: Example = (
    "softmax",
    include_str!("../../examples/aie/softmax.wsp"),
    include_str!("../../examples/aie/softmax.pto"),
);

/// What is placed of the product on all cores.
fn product() -> Result<Graph, Diagnostics> {
    let listing = plan(GEMM, CPU_SIM)?;
    let program = pto_wsp::registry().select(&listing)?.backend().compile(&listing)?;
    let [m, n, k] = PRODUCT.map(|(_, extent)| extent as u64);
    let form = |name: &str, shape: [u64; 2]| ArrayForm {
        name: name.to_owned(),
        elem: DType::F32,
        shape: shape.to_vec(),
    };
    let arrays = vec![form("a", [m, k]), form("b", [k, n])];
    let mut args = Args::default();
    for form in &arrays {
        let array = Array::zeros(form.elem, &form.shape).expect("a product of this size has room");
        args.arrays.insert(form.name.clone(), array);
    }
    let detail = Detail { accesses: true, ..Detail::default() };
    let graph = program.graph(&args, &GraphOptions { detail, ..GraphOptions::default() });
    let table = program.table(&args, &RunOptions::default());
    let listed = Listed {
        graph: graph.map_err(RunError::into_diagnostics)?,
        table: table.map_err(RunError::into_diagnostics)?,
    };
    let launch = Launch { name: String::new(), listed, arrays, values: Vec::new() };
    Ok(lower(&plan(GEMM, &TARGETS[6])?, &[launch], (XDNA2, STEPS))?.placed.graph)
}

fn plan((name, workload, kernels): Example, target: &'static Target) -> Result<PlanSource, Diagnostics> {
    let mut sources = SourceMap::default();
    let (module, found) = wsp_ir::workload::text::parse(&format!("{name}.wsp"), workload, &mut sources);
    let module = module.ok_or(found)?;
    let (library, found) = wsp_lang::compile(&format!("{name}.pto"), kernels, &mut sources);
    let library = library.ok_or(found)?;
    let options = CompileOptions { target, ..CompileOptions::default() };
    Ok(WorkloadPlan::new(module, Some(&library), &options)?.into())
}

/// The text of the design of an example.
fn text(of: Example, sizes: &[(&str, i64)]) -> Result<String, Diagnostics> {
    let target = &TARGETS[6];
    let plan = plan(of, target)?;
    let values = sizes.iter().map(|(name, value)| ((*name).to_owned(), ParamValue::Int((*value).into())));
    let launch = Args { values: values.collect(), ..Args::default() };
    let options = EmitOptions { target: Some(target), launch, ..EmitOptions::default() };
    let emitted = pto_wsp::registry().emit(&plan, &options)?;
    let text = emitted.package.files.into_iter().next().map(|(_, bytes)| bytes).unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn design(text: &str) -> Result<Design, Diagnostics> {
    let mut designs = Design::read(&parse(FileId::default(), text)?)?;
    Ok(designs.remove(0))
}

/// Millions of elements a second through a design of one array in and one out.
fn interpreted(text: &str, rounds: usize) -> Result<f64, Diagnostics> {
    let design = design(text)?;
    let elements = (MATRIX.0 * MATRIX.1) as usize;
    let bytes: Vec<u8> = (0..elements).flat_map(|at| ((at % 251) as f32 / 251.0).to_le_bytes()).collect();
    let mut rates = Vec::new();
    for _ in 0..rounds {
        let mut machine = Machine::new(&design, Allocation::Lowered)?;
        let mut args = [Arg::Array(bytes.clone()), Arg::Array(vec![0; bytes.len()])];
        let start = Moment::now();
        machine.launch(None, &mut args, &mut |_, _| false).map_err(|failure| failure.diagnostic())?;
        rates.push(1e3 * elements as f64 / start.to(Moment::now()).wall);
    }
    Ok(median(rates))
}
