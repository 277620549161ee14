//! Random workloads and schedules.

use proptest::prelude::*;
use std::fmt::Write;

/// A statement: a task on regions of small tensors, or a nest of others.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// Kernel, and per argument a tensor and a choice of region.
    Task(usize, [(usize, usize); 3]),
    Loop(&'static str, u32, Vec<Statement>),
    Choice(u32, Vec<Statement>, Vec<Statement>),
    Blocks(&'static str, Vec<Vec<Statement>>),
    Sparse(Vec<Statement>),
    Ragged(Vec<Statement>),
}

/// Kernels with three tensor parameters each.
const KERNELS: [&str; 4] =
    ["in a, in b, out c", "in a, inout b, out c", "out a, out b, in c", "inout a, in b, in c"];

/// Random statements.
pub(crate) fn statement() -> impl Strategy<Value = Statement> {
    let task = (0..KERNELS.len(), prop::array::uniform3((0..3usize, 0..6usize)))
        .prop_map(|(kernel, args)| Statement::Task(kernel, args));
    task.prop_recursive(3, 24, 4, |inner| {
        let block = prop::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (prop::sample::select(&["for", "parallel for"]), 0..4u32, block.clone())
                .prop_map(|(kind, n, body)| Statement::Loop(kind, n, body)),
            (0..3u32, block.clone(), block.clone()).prop_map(|(n, a, b)| Statement::Choice(n, a, b)),
            (prop::sample::select(&["combine", "sequential"]), prop::collection::vec(block.clone(), 1..3))
                .prop_map(|(kind, blocks)| Statement::Blocks(kind, blocks)),
            block.clone().prop_map(Statement::Sparse),
            block.prop_map(Statement::Ragged),
        ]
    })
}

struct Printer {
    text: String,
    depth: usize,
}

impl Printer {
    fn block(&mut self, statements: &[Statement]) {
        self.text += "{ ";
        self.depth += 1;
        for statement in statements {
            self.statement(statement);
        }
        self.depth -= 1;
        self.text += "} ";
    }

    /// The innermost index, 0 outside loops.
    fn index(&self) -> String {
        if self.depth > 1 { format!("i{}", self.depth - 1) } else { "0".to_owned() }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Task(kernel, args) => {
                let i = self.index();
                let regions = [
                    "".to_owned(),
                    format!("[{i} % 8]"),
                    format!("[({i} * 3) % 8, 2..6]"),
                    format!("[{i} % 4 +: 3, ..]"),
                    format!("[.., ({i} * 5) % 8]"),
                    format!("[{i} % 8 .. 8, {i} % 7 +: 2]"),
                ];
                let args: Vec<String> = args.iter().map(|&(t, b)| format!("t{t}{}", regions[b])).collect();
                let _ = write!(self.text, "k{kernel}({}, {i}); ", args.join(", "));
            }
            Statement::Loop(kind, n, body) => {
                let _ = write!(self.text, "{kind} i{} in 0..{n} ", self.depth);
                self.block(body);
            }
            Statement::Choice(n, a, b) => {
                // Branches open no loop, so that the innermost index keeps its name.
                let _ = write!(self.text, "parallel for i{} in {n}..{n} + 1 {{ if i{0} == 1 ", self.depth);
                self.depth += 1;
                self.nested(a);
                self.text += "else ";
                self.nested(b);
                self.depth -= 1;
                self.text += "} ";
            }
            Statement::Blocks(kind, blocks) => {
                let _ = write!(self.text, "parallel for i{} in 0..1 {{ {kind} {{ ", self.depth);
                self.depth += 1;
                blocks.iter().for_each(|block| self.nested(block));
                self.depth -= 1;
                self.text += "} } ";
            }
            Statement::Sparse(body) => {
                let _ = write!(self.text, "select i{} in nz[{} % 4] ", self.depth, self.index());
                self.block(body);
            }
            Statement::Ragged(body) => {
                let _ = write!(self.text, "parallel for i{} in tok[{} % 3] ", self.depth, self.index());
                self.block(body);
            }
        }
    }

    /// A block without an index of its own.
    fn nested(&mut self, statements: &[Statement]) {
        self.depth -= 1;
        self.block(statements);
        self.depth += 1;
    }
}

/// A workload of these statements.
pub(crate) fn source(statements: &[Statement], schedule: &str) -> String {
    let mut text = String::from(
        "table lens = [2, 0, 3]; table indptr = [0, 2, 3, 3, 5]; table indices = [4, 1, 1, 0, 7];
         axis b = dense(3); axis tok = ragged(b, lens); axis row = dense(4); axis nz = sparse(row, indptr, indices);
         tensor t0: f32[8, 8]; tensor t1: u8[8, 8]; tensor t2: f64[8, 8];\n",
    );
    for (i, params) in KERNELS.iter().enumerate() {
        let unit = ["vector", "cube", "any", "vector"][i];
        let on = if unit == "any" { String::new() } else { format!(" on {unit}") };
        let _ = writeln!(text, "kernel k{i}({params}, n){on};");
    }
    text += "workload main ";
    let mut printer = Printer { text, depth: 0 };
    printer.block(statements);
    format!("{}\nschedule {{ {schedule} }}\n", printer.text)
}

/// What schedules say of tiles, at their ends.
const GRIDS: &[&str] = &[
    "",
    "spatial_map((3, 2)); layout(t0, [shard(x), shard(y)]); layout(t1, [replicate, shard(x)]);",
    "spatial_map((1, 5)); layout(t2, [shard(y), replicate]); relayout(t2, [replicate, shard(y)]);",
];

/// The workload without what its schedule says of tiles.
pub(crate) fn without_grid(text: &str) -> String {
    GRIDS[1..].iter().fold(text.to_owned(), |text, grid| text.replace(grid, ""))
}

/// A schedule of every kind of directive, with one of these windows, and a number of threads.
pub(crate) fn schedule(windows: &'static [u32]) -> impl Strategy<Value = (String, u32)> {
    let window = (prop::sample::select(windows), prop::sample::select(&["stall", "benchmark"]));
    let ready = prop::sample::select(&["auto", "fifo", "work_steal", "priority"]);
    let start =
        prop::sample::select(&["immediate", "after_orchestration", "threshold(3)", "threshold(1000)"]);
    let gates = prop::collection::btree_map(
        prop::sample::select(&["global", "per_stream", "per_pool"]),
        1..4u32,
        0..3,
    );
    let pools = prop::option::of((1..3u32, 1..3u32));
    let dispatch = prop::sample::select(&[
        "",
        "round_robin",
        "affinity(nz - 2)",
        "hash(tok + 7)",
        "work_steal",
        "levels",
    ]);
    let keys = prop::sample::select(&["row * 3 - 2", "nz % 3", "0 - tok", "nz * 2 + tok", "7 - nz"]);
    let deps = prop::sample::select(&["overlap", "hybrid"]);
    let trace = prop::sample::select(&["none", "measured"]);
    let batch = prop_oneof![2 => Just(1u32), 1 => 2..6u32];
    let grids = prop::sample::select(GRIDS);
    ((window, ready, start, deps, trace), (gates, pools, dispatch, 0..4u32, batch, 1..5u32), (keys, 0..3u32, grids)).prop_map(
        |(((window, mode), ready, start, deps, trace), (gates, pools, dispatch, streams, batch, threads), (key, by, grid))| {
            let mut text = format!("task_graph(deps = {deps}, window = ({window}, {mode}), ready = {ready}, start = {start}, trace = {trace}");
            if let Some((vector, cube)) = pools {
                let _ = write!(text, ", pools = by_unit({vector}, {cube})");
            }
            text += "); ";
            for (scope, n) in gates.into_iter().filter(|(scope, _)| *scope != "per_stream" || streams > 0) {
                let _ = write!(text, "pipeline_depth({n}, {scope}); ");
            }
            match dispatch {
                "" => {}
                "levels" if pools.is_some() => text += "dispatch_threshold(nz, [1, 5], [vector, affinity(tok), cube]); ",
                "levels" => text += "dispatch_threshold(nz, [1, 5], [hash(nz), affinity(tok), work_steal]); ",
                dispatch => {
                    let _ = write!(text, "dispatch({dispatch}); ");
                }
            }
            if streams > 0 {
                let _ = write!(text, "streams({streams}); ");
                text += ["", "stream_by(nz + tok); ", "stream_by(0 - nz); "][by as usize];
            }
            if ready == "priority" {
                let _ = write!(text, "priority({key}); ");
            }
            let _ = write!(text, "batch_deps({batch}); {grid}");
            (text, if pools.is_some() { 0 } else { threads })
        },
    )
}
