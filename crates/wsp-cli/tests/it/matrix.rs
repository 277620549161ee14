//! What can be done with each kind of program: every cell of the table in `docs/reference/kinds.md` runs a program and looks at the
//! effect, or is refused with the code that the table has, for the reason that the page gives.

use crate::command::{Folder, printed, root, run};
use pto_wsp::backend::cpu::{CpuSimBackend, RunStats, WorkloadOutcome};
use pto_wsp::backend::{CompiledProgram as Program, KernelFile, UnitSource, cpu, registry_with};
use pto_wsp::workload::{KernelRegistry, WorkloadPlan};
use pto_wsp::{Args, Array, Arrays, CompileOptions, DType, Growth, Outcome, RunOptions, SourceMap};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use wsp_backend::{GraphOptions, Simulated};
use wsp_ir::Elem;
use wsp_kernel::{CodeCache, Engine, Mode};
use wsp_plan::target::CPU_SIM;
use wsp_plan::{FieldSource, PlanSource, ViewKernelSource, ViewShape};

/// Two kernels for each of 6 tiles: the second reads what the first wrote.
const SPACES: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SHAPE(z, n)
PTO_SPACE(Parts) { PTO_AXIS(i, 0, n) PTO_TILE(i, 8) }
PTO_SCHEDULE(Given) { @SCHEDULE@ }
struct Twice { uint32_t first; };
struct Plus { uint32_t first; };
PTO_DESCRIPTOR_GEN(Parts) {
    PTO_APPLY_SCHEDULE(Given);
    PTO_SCHEDULED_FOR(tile) {
        PTO_EMIT_DESCRIPTOR(Twice{ .first = tile * 8 });
        PTO_EMIT_DESCRIPTOR(Plus{ .first = tile * 8 });
    }
}
PTO_KERNEL_IMPL(twice) {
    auto part = PTO_GET_DESCRIPTOR<Twice>();
    VecTile<float, 8, 1> t;
    TLOAD(t, x, {part.first});
    TMULS(t, t, 2.0f);
    TSTORE(y, t, {part.first});
}
PTO_KERNEL_IMPL(plus) on cube {
    auto part = PTO_GET_DESCRIPTOR<Plus>();
    VecTile<float, 8, 1> t;
    TLOAD(t, y, {part.first});
    TEXP(t, t);
    TSTORE(z, t, {part.first});
}
void run(Tensor<float> x, Tensor<float> y, Tensor<float> z) { PTO_LAUNCH(Parts, { .x = x, .y = y, .z = z }); }
";

/// Six tasks for six rows, of a kernel that Rust has.
const DECLARED: &str = "
axis b = dense(6);
tensor x: f32[6, 8]; tensor y: f32[6, 8];
kernel row(in x, out y) on cube cost 10;
workload main { parallel for i in b { row(x[i], y[i]); } }
schedule { task_graph(start = after_orchestration); @SCHEDULE@ }
";

/// The same of a kernel of a file.
const OVER: &str = "
use \"rows.pto\";
axis b = dense(6);
workload main { parallel for i in b { row(first = i * 8); } }
schedule { task_graph(start = after_orchestration); @SCHEDULE@ }
";

const ROWS: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
struct Part { uint32_t first; };
PTO_KERNEL_IMPL(row) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 8, 1> t;
    TLOAD(t, x, {part.first});
    TEXP(t, t);
    TSTORE(y, t, {part.first});
}
";

/// Two kernels of two blocks, one after the other.
const UNIT: &str = "
use \"blocks.pto\"
extern X: f32[32, 8]
extern Y: f32[32, 8]
TG_BEGIN(G)
  MC_ALLOC(T, 32*8*4)
  TG_KERNEL(A, exp_entry, 2, AIV, 0)
  MC_BIND(A, 0, X)
  MC_BIND(A, 1, T)
  TG_KERNEL(B, exp_entry, 2, AIC, 0)
  MC_BIND(B, 0, T)
  MC_BIND(B, 1, Y)
  TG_DEPEND(A, B, DATA, T)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
";

/// Two graphs of one kernel; the second is launched last.
const RANKED: &str = "
use \"blocks.pto\"
extern X: f32[32, 8]
extern Y: f32[32, 8]
extern Z: f32[32, 8]
TG_BEGIN(LOW)
  TG_KERNEL(LOWER, exp_entry, 2, AIV, 0)
  MC_BIND(LOWER, 0, X)
  MC_BIND(LOWER, 1, Y)
TG_END(LOW)
TG_BEGIN(HIGH)
  TG_KERNEL(HIGHER, exp_entry, 2, AIV, 0)
  MC_BIND(HIGHER, 0, X)
  MC_BIND(HIGHER, 1, Z)
TG_END(HIGH)
TG_SET_PRIORITY(HIGH, 5)
TG_LAUNCH(LOW, s1)
TG_LAUNCH(HIGH, s2)
TG_SYNC(LOW)
TG_SYNC(HIGH)
";

/// A kernel of as many blocks as are asked for: each takes its rows.
pub(crate) const BLOCKS: &str = "
PTO_SHAPE(x, rows, 8)
PTO_SHAPE(y, rows, 8)
PTO_KERNEL_IMPL(exp_entry, Tensor<float> x, Tensor<float> y) {
    for (uint32_t r = get_block_idx() * 8; r < rows; r += get_block_num() * 8) {
        VecTile<float, 8, 8> t;
        TLOAD(t, x, {r});
        TEXP(t, t);
        TSTORE(y, t, {r});
    }
}
";

/// A kind of program: a column of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Spaces,
    Declared,
    Over,
    Unit,
}
use Kind::{Declared, Over, Spaces, Unit};

const KINDS: [Kind; 4] = [Spaces, Declared, Over, Unit];

impl Kind {
    /// Its column.
    fn title(self) -> &'static str {
        match self {
            Spaces => "`.pto`",
            Declared => "`.wsp`, declared kernels",
            Over => "`.wsp` over `.pto` kernels",
            Unit => "`.tg`",
        }
    }

    fn file(self) -> &'static str {
        match self {
            Spaces => "spaces.pto",
            Declared => "declared.wsp",
            Over => "over.wsp",
            Unit => "unit.tg",
        }
    }

    /// The program with this statement in its schedule.
    fn text(self, schedule: &str) -> String {
        let text = match self {
            Spaces => SPACES,
            Declared => DECLARED,
            Over => OVER,
            Unit => return format!("{UNIT}{schedule}"),
        };
        text.replace("@SCHEDULE@", schedule)
    }

    fn folder(self, schedule: &str) -> Folder {
        let text = self.text(schedule);
        Folder::with(&[(self.file(), &text), ("rows.pto", ROWS), ("blocks.pto", BLOCKS)])
    }

    /// Tasks of the program, or blocks of the unit.
    fn tasks(self) -> usize {
        match self {
            Spaces => 12,
            Declared | Over => 6,
            Unit => 4,
        }
    }

    /// What its sizes follow from, where made-up data has to say.
    fn made(self) -> &'static [&'static str] {
        match self {
            Spaces | Over => &["--generate", "n=48"],
            Declared | Unit => &["--generate"],
        }
    }

    fn input(self) -> &'static str {
        if self == Unit { "X" } else { "x" }
    }

    fn output(self) -> &'static str {
        match self {
            Spaces => "z",
            Declared | Over => "y",
            Unit => "Y",
        }
    }

    fn shape(self) -> &'static [u64] {
        match self {
            Spaces | Over => &[48],
            Declared => &[6, 8],
            Unit => &[32, 8],
        }
    }

    fn array(self, scale: f32) -> Array {
        let mut x = Array::zeros(DType::F32, self.shape()).unwrap();
        for (n, x) in x.as_slice_mut::<f32>().unwrap().iter_mut().enumerate() {
            *x = (n % 7) as f32 * scale;
        }
        x
    }

    fn args(self) -> Args {
        Args::new().with(self.input(), self.array(0.125))
    }

    /// The program behind the seam.
    fn program(self, schedule: &str) -> Box<dyn Program> {
        self.compiled(&self.text(schedule))
    }

    /// A program of this kind behind the seam.
    fn compiled(self, text: &str) -> Box<dyn Program> {
        self.compiled_by(CpuSimBackend::default(), text)
    }

    fn compiled_by(self, mut backend: CpuSimBackend, text: &str) -> Box<dyn Program> {
        let mut sources = SourceMap::default();
        let pto = |text: &str| {
            let (module, found) = wsp_lang::compile("kernels.pto", text, &mut SourceMap::default());
            module.unwrap_or_else(|| panic!("{found:?}"))
        };
        let plan: PlanSource = match self {
            Spaces => wsp_plan::lower(&pto(text), &CompileOptions::default()).unwrap().into(),
            Declared | Over => {
                let (module, found) = pto_wsp::workload::parse("test.wsp", text, &mut sources);
                let module = module.unwrap_or_else(|| panic!("{found:?}"));
                let library = (self == Over).then(|| pto(ROWS));
                if self == Declared && backend.kernels.names().next().is_none() {
                    backend.kernels = exponential();
                }
                WorkloadPlan::new(module, library.as_ref(), &CompileOptions::default()).unwrap().into()
            }
            Unit => {
                let (module, found) = wsp_isa::tg::text::parse("test.tg", text, &mut sources);
                let module = module.unwrap_or_else(|| panic!("{found:?}"));
                let file = KernelFile { module: Arc::new(pto(BLOCKS)), set: Vec::new() };
                UnitSource { module, files: vec![file], target: CPU_SIM }.into()
            }
        };
        let registry = registry_with(backend);
        let selection = registry.select(&plan).unwrap_or_else(|found| panic!("{found}"));
        selection.backend().compile(&plan).unwrap_or_else(|found| panic!("{found}"))
    }
}

fn exponential() -> KernelRegistry {
    let mut kernels = KernelRegistry::new();
    let row = kernels.register("row", |cx| {
        let row: Vec<f32> = cx.load::<f32>(0)?.iter().map(|x| x.exp()).collect();
        cx.store(1, &row)
    });
    row.unwrap();
    kernels
}

/// A cell of the table.
enum Cell {
    /// The program runs, and the effect is looked at.
    Runs(fn(Kind)),
    /// It is refused with this code; the function gives what is printed.
    Refused(&'static str, fn(Kind) -> String),
    /// A test of Python, by its file and its name.
    Python(&'static str, &'static str),
}
use Cell::{Python, Refused, Runs};

struct Row {
    name: &'static str,
    cells: [Cell; 4],
}

const ROW: [Row; 17] = [
    Row { name: "trace", cells: [Runs(traced), Runs(traced), Runs(traced), Runs(traced)] },
    Row { name: "virtual time", cells: [Runs(simulated), Runs(simulated), Runs(simulated), Runs(simulated)] },
    Row { name: "`graph`", cells: [Runs(listed), Runs(listed), Runs(listed), Runs(listed)] },
    Row {
        name: "N AICPUs",
        cells: [Runs(aicpus), Runs(aicpus), Runs(aicpus), Refused("WSP0882", on_aicpus)],
    },
    Row {
        name: "a plan that is kept and advanced",
        cells: [
            Runs(|_| kept()),
            Refused("WSP0882", planned),
            Refused("WSP0882", planned),
            Refused("WSP1590", planned),
        ],
    },
    Row {
        name: "prepare once, run often",
        cells: [Runs(prepared), Runs(prepared), Runs(prepared), Runs(prepared)],
    },
    Row { name: "`--isa`", cells: [Runs(isa), Runs(|_| isa_of_views()), Runs(isa), Runs(isa)] },
    Row {
        name: "`--engine`",
        cells: [Runs(engine), Runs(|_| engine_of_views()), Runs(engine), Runs(unit_engine)],
    },
    Row {
        name: "written arrays in place",
        cells: [Runs(in_place), Runs(in_place), Runs(in_place), Runs(in_place)],
    },
    Row {
        name: "windows",
        cells: [Runs(window), Runs(window), Runs(window), Refused("WSP0882", with_window)],
    },
    Row {
        name: "gates",
        cells: [
            Runs(gate),
            Runs(gate),
            Runs(gate),
            Refused("WSP1403", |kind| scheduled(kind, "PIPELINE_DEPTH(2)")),
        ],
    },
    Row { name: "pools", cells: [Runs(pools), Runs(pools), Runs(pools), Runs(cores)] },
    Row { name: "priority", cells: [Runs(priority), Runs(priority), Runs(priority), Runs(|_| ranked())] },
    Row { name: "dispatch", cells: [Runs(placed), Runs(dispatch), Runs(dispatch), Runs(partition)] },
    Row {
        name: "grids and layouts",
        cells: [
            Runs(on_tiles),
            Runs(on_tiles),
            Runs(on_tiles),
            Refused("WSP1403", |kind| scheduled(kind, "SPATIAL_MAP(3, 1)")),
        ],
    },
    Row { name: "a seed replays", cells: [Runs(seed), Runs(seed), Runs(seed), Runs(seed_of_unit)] },
    Row {
        name: "a run is replayed",
        cells: [Runs(replayed), Runs(replayed), Runs(replayed), Runs(replayed)],
    },
];

/// The Python row, whose programs are built there or loaded.
const PYTHON: Row = Row {
    name: "Python",
    cells: [
        Python("test_program_library.py", "test_the_host_entry_of_a_file_is_a_program"),
        Python("test_program.py", "test_python_kernels"),
        Python("test_program_library.py", "test_kernels_of_a_file_run"),
        Python("test_graphs.py", "test_functions_run_once_per_block_on_what_is_bound"),
    ],
};

/// Cells that are refused. Fewer are better.
const REFUSED: usize = 7;

fn cells() -> impl Iterator<Item = (&'static str, Kind, &'static Cell)> {
    let rows = ROW.iter().chain([&PYTHON]);
    rows.flat_map(|row| KINDS.into_iter().zip(&row.cells).map(|(kind, cell)| (row.name, kind, cell)))
}

#[test]
fn every_cell_runs_or_is_refused_with_its_code() {
    let mut wrong = Vec::new();
    for (name, kind, cell) in cells() {
        let holds = std::panic::catch_unwind(|| match cell {
            Runs(look) => look(kind),
            Refused(code, ask) => {
                let said = ask(kind);
                assert!(said.contains(code), "{said}");
            }
            Python(file, test) => {
                let text = std::fs::read_to_string(root().join("python/tests").join(file)).unwrap();
                assert!(text.contains(&format!("def {test}(")), "{file} has no {test}");
            }
        });
        if holds.is_err() {
            wrong.push(format!("{name}, {}", kind.title()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_page_has_the_table_and_a_reason_for_each_refusal() {
    let path = root().join("docs/reference/kinds.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let head: Vec<&str> = KINDS.iter().map(|kind| kind.title()).collect();
    let mut table = format!("| | {} |\n|---|---|---|---|---|\n", head.join(" | "));
    for row in ROW.iter().chain([&PYTHON]) {
        let cells = row.cells.each_ref().map(|cell| match cell {
            Runs(_) | Python(..) => "yes".to_owned(),
            Refused(code, _) => (*code).to_owned(),
        });
        table += &format!("| {} | {} |\n", row.name, cells.join(" | "));
    }
    assert!(page.contains(&table), "{} should have this table:\n{table}", path.display());
    let refused: Vec<_> = cells().filter(|(_, _, cell)| matches!(cell, Refused(..))).collect();
    for (name, kind, _) in &refused {
        let reason = format!("\n* {name}, {}: ", kind.title());
        assert!(page.contains(&reason), "the page should have a reason: {reason}");
    }
    assert_eq!(page.matches("\n* ").count(), refused.len(), "each reason is that of a refusal");
    assert_eq!(refused.len(), REFUSED);
}

/// What `wsp run` prints as JSON, with arrays that are made up.
fn summary(kind: Kind, folder: &Folder, more: &[&str]) -> Value {
    let file = folder.at(kind.file());
    let all = [&["run", &file, "--stats", "json"], kind.made(), more].concat();
    serde_json::from_str(&printed(&all)).unwrap()
}

/// What is printed of a run that is refused.
fn refusal(kind: Kind, more: &[&str]) -> String {
    let folder = kind.folder("");
    let file = folder.at(kind.file());
    let (code, _, said) = run(&[&["run", &file], more].concat());
    assert_ne!(code, 0);
    said
}

fn on_aicpus(kind: Kind) -> String {
    refusal(kind, &["--aicpus", "2"])
}

fn with_isa(kind: Kind) -> String {
    refusal(kind, &["--isa", "plain"])
}

fn with_engine(kind: Kind) -> String {
    refusal(kind, &["--engine", "interpreter"])
}

fn planned(kind: Kind) -> String {
    let folder = kind.folder("");
    run(&["plan", &folder.at(kind.file())]).2
}

fn scheduled(kind: Kind, statement: &str) -> String {
    let folder = kind.folder(statement);
    run(&["check", &folder.at(kind.file())]).2
}

fn refused_option(kind: Kind, options: RunOptions) -> String {
    let error = kind.program("").execute(kind.args(), options).unwrap_err();
    error.diagnostics().iter().map(|found| format!("{}: {}", found.code, found.message)).collect()
}

fn with_window(kind: Kind) -> String {
    refused_option(kind, RunOptions { window: Some(1), ..RunOptions::default() })
}

/// The slices of tasks that `--trace` writes.
fn slices(kind: Kind, folder: &Folder, more: &[&str]) -> Vec<Value> {
    let at = folder.at("trace.json");
    summary(kind, folder, &[&["--trace", &at], more].concat());
    let trace: Value = serde_json::from_str(&folder.read("trace.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap().iter();
    events.filter(|event| event["ph"] == "X" && event["cat"] != "launch").cloned().collect()
}

fn traced(kind: Kind) {
    let slices = slices(kind, &kind.folder(""), &["--threads", "2"]);
    assert_eq!(slices.len(), kind.tasks());
    assert!(slices.iter().all(|slice| slice["dur"].as_f64().unwrap() > 0.0), "{slices:?}");
    causes(kind, &slices);
}

/// Every slice names what it waited for, and the summary counts the same; the other form is written too.
fn causes(kind: Kind, slices: &[Value]) {
    let folder = kind.folder("");
    let (json, other) = (folder.at("trace.json"), folder.at("trace.pftrace"));
    let told = summary(kind, &folder, &["--trace", &json, "--threads", "2"]);
    let waits = told["waits"].as_array().unwrap();
    let counted: u64 = waits.iter().map(|of| of["tasks"].as_u64().unwrap()).sum();
    assert_eq!(counted, kind.tasks() as u64, "{told}");
    let path = &told["critical_path"];
    assert!(path["tasks"].as_u64() > Some(0) && path["busy"].as_u64() <= path["end"].as_u64(), "{path}");
    let kinds: Vec<&str> = wsp_core::WhyLate::KINDS.to_vec();
    assert!(
        slices.iter().all(|slice| kinds.contains(&slice["args"]["cause"].as_str().unwrap())),
        "{slices:?}"
    );
    summary(kind, &folder, &["--trace", &other, "--threads", "2"]);
    let bytes = std::fs::read(other).unwrap();
    // A packet of a trace.
    assert!(bytes.len() > 100 && bytes[0] == 10, "{bytes:?}");
}

fn virtual_time(kind: Kind, schedule: &str, options: RunOptions) -> Simulated {
    in_virtual_time(kind, &kind.text(schedule), options)
}

fn in_virtual_time(kind: Kind, text: &str, options: RunOptions) -> Simulated {
    let program = kind.compiled(text);
    program.simulate(&kind.args(), &options).unwrap_or_else(|fault| panic!("{kind:?}: {fault}"))
}

fn threads(threads: u32) -> RunOptions {
    RunOptions { threads, ..RunOptions::default() }
}

fn simulated(kind: Kind) {
    let [one, all] = [1, 12].map(|n| virtual_time(kind, "", threads(n)));
    assert_eq!((one.tasks.len(), one.busy.len()), (kind.tasks(), 1));
    assert_eq!(one.makespan, one.busy[0], "one worker is never idle");
    assert!(all.makespan < one.makespan);
    assert_eq!(one.busy[0], all.busy.iter().sum::<u64>(), "the work is the same");
}

fn listed(kind: Kind) {
    let folder = kind.folder("");
    let file = folder.at(kind.file());
    let made = if kind == Spaces { kind.made() } else { &[] };
    let told: Value = serde_json::from_str(&printed(&[&["graph", &file, "--json"], made].concat())).unwrap();
    let edges = match kind {
        Unit => &told["graphs"][0]["edges"]["data"],
        _ => &told["edges"],
    };
    let tasks = if kind == Unit { &told["graphs"][0]["blocks"] } else { &told["tasks"] };
    assert_eq!(tasks, kind.tasks(), "{told}");
    let expected = match kind {
        Spaces => 6,
        Declared | Over => 0,
        Unit => 1,
    };
    assert_eq!(edges, expected, "{told}");
    let listing = kind.program("").graph(&kind.args(), &GraphOptions::default()).unwrap();
    // Of a unit the list has nodes, and the summary their blocks.
    let tasks = if kind == Unit { listing.kernels.len() - 1 } else { kind.tasks() };
    assert_eq!((listing.tasks.len(), listing.edges.len()), (tasks, expected));
    if kind == Unit {
        let printed = printed(&["graph", &file, "--edges", "-"]);
        let edges = printed.lines().skip(1).map(|line| {
            let mut numbers = line.split(',').map(|number| number.parse::<u32>().ok());
            (numbers.next().flatten().unwrap(), numbers.next().flatten().unwrap())
        });
        assert_eq!(edges.collect::<Vec<_>>(), listing.edges);
    }
}

fn aicpus(kind: Kind) {
    let told = summary(kind, &kind.folder(""), &["--aicpus", "2"]);
    let each = told["aicpus"]["each"].as_array().unwrap();
    assert_eq!(
        each.iter().map(|aicpu| aicpu["tasks"].as_u64().unwrap()).collect::<Vec<_>>(),
        [kind.tasks() as u64 / 2; 2]
    );
    let checks = if kind == Spaces { &told["checks"][1] } else { &told["check"] };
    assert_eq!(checks["passed"], true, "{told}");
}

/// Arrays of `examples/decode_attention.pto` for requests of these lengths, whose pages lie one after another.
pub(super) fn requests(lengths: [u32; 3]) -> Arrays {
    let integers = |values: &[u32]| {
        let mut array = Array::zeros(DType::U32, &[values.len() as u64]).unwrap();
        array.as_slice_mut::<u32>().unwrap().copy_from_slice(values);
        array
    };
    let pages = lengths.map(|n| n.div_ceil(16));
    let total: u32 = pages.iter().sum();
    let kv = Array::zeros(DType::F16, &[total.into(), 16, 2, 64]).unwrap();
    Arrays::from([
        ("q".to_owned(), Array::zeros(DType::F16, &[3, 8, 1, 64]).unwrap()),
        ("kv.k".to_owned(), kv.clone()),
        ("kv.v".to_owned(), kv),
        ("kv.indptr".to_owned(), integers(&[0, pages[0], pages[0] + pages[1], total])),
        ("kv.indices".to_owned(), integers(&(0..total).collect::<Vec<u32>>())),
        ("kv.last_page_len".to_owned(), integers(&lengths.map(|n| (n - 1) % 16 + 1))),
        ("kv_lens".to_owned(), integers(&lengths)),
    ])
}

fn kept() {
    let text = std::fs::read_to_string(root().join("examples/decode_attention.pto")).unwrap();
    let (module, found) = wsp_lang::compile("decode_attention.pto", &text, &mut SourceMap::default());
    let module = module.unwrap_or_else(|| panic!("{found:?}"));
    let program = cpu::Program::new(wsp_plan::lower(&module, &CompileOptions::default()).unwrap());
    let options = cpu::LaunchOptions::default();
    let room = cpu::Capacity::Fixed { descriptors: 1 << 10, workspace_bytes: 1 << 24 };
    let (now, next) = (requests([70, 40, 15]), requests([71, 41, 16]));
    let mut plan = program.plan(&now, &options, room).unwrap();
    let run = |plan: &cpu::Plan, arrays| program.execute_plan(plan, arrays, &options);
    let [first, second] = [(); 2].map(|()| run(&plan, &now).unwrap());
    assert_eq!(first.stats.runtime.tasks, second.stats.runtime.tasks);
    assert!(run(&plan, &next).is_err(), "it is for other lengths");
    plan.advance(Growth::ByOne).unwrap();
    run(&plan, &next).unwrap();
    assert!(run(&plan, &now).is_err(), "the lengths are others now");
}

fn output(kind: Kind, outcome: &Outcome) -> Vec<f32> {
    outcome.outputs[kind.output()].as_slice::<f32>().unwrap().to_vec()
}

fn prepared(kind: Kind) {
    let program = kind.program("");
    let mut prepared = program.prepare(kind.args(), threads(2)).unwrap();
    let [first, second] = [(); 2].map(|()| output(kind, &prepared.run().unwrap()));
    assert_eq!(first, second);
    let other = Args::new().with(kind.input(), kind.array(0.25));
    prepared.rebind(other.clone()).unwrap();
    let third = output(kind, &prepared.run().unwrap());
    assert_ne!(first, third);
    assert_eq!(third, output(kind, &program.execute(other, threads(2)).unwrap()), "as one that is run once");
}

/// The bytes of the outputs of a run with these options.
fn outputs(kind: Kind, folder: &Folder, more: &[&str]) -> Vec<u8> {
    let at = folder.at("outputs.npz");
    summary(kind, folder, &[&["--outputs", &at], more].concat());
    std::fs::read(at).unwrap()
}

/// Exponentials of plain operations have other last bits than those of fast ones.
fn isa(kind: Kind) {
    let folder = kind.folder("");
    let [usual, plain, again] = ["auto", "plain", "plain"].map(|isa| outputs(kind, &folder, &["--isa", isa]));
    assert!(usual != plain);
    assert!(plain == again);
}

/// Machine code, which a cache keeps, is made for the native engine only.
fn engine(kind: Kind) {
    let folder = kind.folder("");
    let [native, interpreted] =
        ["native", "interpreter"].map(|engine| outputs(kind, &folder, &["--engine", engine]));
    assert!(native == interpreted);
    let cache = folder.at("cache");
    let said = refusal(kind, &["--engine", "interpreter", "--cache", &cache]);
    assert!(said.contains("WSP0546") && !has_files(Path::new(&cache)), "{said}");
    summary(kind, &folder, &["--engine", "native", "--cache", &cache]);
    assert!(has_files(Path::new(&cache)));
}

/// The output of a declared kernel whose body is a kernel over views, and how many programs were compiled for it.
fn over_views(mode: Mode, engine: Engine) -> (Vec<f32>, usize) {
    let body = "
        PTO_SHAPE(a, 8) PTO_SHAPE(b, 8) struct Row { uint32_t n; };
        PTO_KERNEL_IMPL(row) {
            auto row = PTO_GET_DESCRIPTOR<Row>();
            VecTile<float, 8, 1> t;
            TLOAD(t, a, {row.n - 8});
            TEXP(t, t);
            TSTORE(b, t, {0});
        }";
    let (module, found) = wsp_lang::compile("row.pto", body, &mut SourceMap::default());
    let mut module = module.unwrap_or_else(|| panic!("{found:?}"));
    module.tensors.iter_mut().for_each(|tensor| tensor.elem = Elem::Fixed(DType::F32));
    let view = ViewShape { keep: vec![1], dtype: DType::F32, extents: vec![Some(8)] };
    let fields = vec![FieldSource::Extent { view: 0, dim: 0 }];
    let source = ViewKernelSource { module, views: vec![view.clone(), view], fields };
    let code = CodeCache::default();
    let mut kernels = KernelRegistry::with_code(code.clone());
    kernels.register_view_kernel("row", source, mode, engine).unwrap_or_else(|found| panic!("{found:?}"));
    let backend = CpuSimBackend { kernels, ..CpuSimBackend::default() };
    let mut x = Declared.array(0.0);
    x.as_slice_mut::<f32>().unwrap().iter_mut().zip(0..48u8).for_each(|(x, n)| *x = f32::from(n) * 0.173);
    let program = Declared.compiled_by(backend, &Declared.text(""));
    let outcome = program.execute(Args::new().with("x", x), threads(2)).unwrap();
    (output(Declared, &outcome), code.statistics().compiled)
}

/// `wsp run` has no bodies of declared kernels; Rust and Python give these what runs them.
fn isa_of_views() {
    let [fast, plain, again] =
        [Mode::Fast, Mode::Plain, Mode::Plain].map(|mode| over_views(mode, Engine::default()).0);
    assert!(fast != plain && plain == again);
    assert!(with_isa(Declared).contains("WSP0882"));
}

fn engine_of_views() {
    let [native, interpreted] = [Engine::Native, Engine::Interpreter].map(|of| over_views(Mode::Fast, of));
    assert_eq!(native.0, interpreted.0);
    assert!(native.1 > 0 && interpreted.1 == 0, "{} {}", native.1, interpreted.1);
    assert!(with_engine(Declared).contains("WSP0882"));
}

/// What a unit's kernels are run by is seen in the code that is kept for them.
fn unit_engine(kind: Kind) {
    let compiled = |engine: Engine| {
        let code = CodeCache::default();
        let backend = CpuSimBackend { engine, code: Some(code.clone()), ..CpuSimBackend::default() };
        let outcome = kind.compiled_by(backend, &kind.text("")).execute(kind.args(), threads(2)).unwrap();
        (output(kind, &outcome), code.statistics().compiled)
    };
    let (native, interpreted) = (compiled(Engine::Native), compiled(Engine::Interpreter));
    assert_eq!(native.0, interpreted.0);
    assert!(native.1 > 0 && interpreted.1 == 0, "{} {}", native.1, interpreted.1);
    let folder = kind.folder("");
    let [native, interpreted] =
        ["native", "interpreter"].map(|engine| outputs(kind, &folder, &["--engine", engine]));
    assert!(native == interpreted);
}

fn has_files(folder: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| entry.path().is_file() || has_files(&entry.path()))
}

fn in_place(kind: Kind) {
    let program = kind.program("");
    let expected = output(kind, &program.execute(kind.args(), threads(2)).unwrap());
    let view = kind.array(0.0).lend().unwrap();
    let place = view.ptr().cast_const();
    let args = kind.args().with(kind.output(), view.clone());
    let outcome = program.execute(args, threads(2)).unwrap();
    assert!(!outcome.outputs.contains_key(kind.output()), "the caller has it");
    drop(outcome);
    let written = view.take_back().unwrap();
    assert_eq!((written.bytes().as_ptr(), written.as_slice::<f32>().unwrap()), (place, &expected[..]));
}

/// Most tasks in flight, and how often generation waited.
fn in_flight(kind: Kind, window: Option<u32>) -> (u32, u64) {
    let options = RunOptions { window, ..threads(2) };
    let own = kind.program("").execute(kind.args(), options).unwrap().own;
    let runtime = match own.downcast::<RunStats>() {
        Ok(own) => own.runtime,
        Err(own) => own.downcast::<WorkloadOutcome>().unwrap().runtime,
    };
    (runtime.max_in_flight, runtime.window_stalls)
}

fn window(kind: Kind) {
    let (most, stalls) = in_flight(kind, Some(1));
    assert!(most == 1 && stalls > 0, "{most} in flight, {stalls} stalls");
    assert_eq!(in_flight(kind, None).1, 0);
}

/// When each task starts in virtual time, by its place in the order of starts, and in terms of what one takes.
fn starts(kind: Kind, schedule: &str, workers: u32) -> Vec<u64> {
    let simulated = virtual_time(kind, schedule, threads(workers));
    let cost = simulated.tasks[0].end - simulated.tasks[0].start;
    simulated.tasks.iter().map(|task| task.start / cost).collect()
}

fn gate(kind: Kind) {
    if kind == Spaces {
        let at_once = |schedule: &str| {
            let tasks = virtual_time(kind, schedule, threads(12)).tasks;
            let running = |at: u64| tasks.iter().filter(|task| (task.start..task.end).contains(&at)).count();
            tasks.iter().map(|task| running(task.start)).max()
        };
        assert_eq!((at_once("PTO_PIPELINE_DEPTH(2)"), at_once("")), (Some(2), Some(6)));
        return;
    }
    assert_eq!(starts(kind, "", 6), [0; 6]);
    assert_eq!(starts(kind, "pipeline_depth(2, global);", 6), [0, 0, 1, 1, 2, 2]);
}

fn workers(kind: Kind, schedule: &str, n: u32) -> Vec<u32> {
    virtual_time(kind, schedule, threads(n)).tasks.iter().filter_map(|task| task.worker).collect()
}

/// Kernels of a cube go to its pool; those of a file may go to either.
fn pools(kind: Kind) {
    if kind == Spaces {
        // The second kernel is for cubes, the first for any unit.
        let plus: Vec<u32> = workers(kind, "PTO_POOLS(1, 2)", 0).into_iter().skip(1).step_by(2).collect();
        assert!(plus.iter().all(|worker| *worker > 0), "{plus:?}");
        assert!(workers(kind, "", 3).into_iter().skip(1).step_by(2).any(|worker| worker == 0));
        return;
    }
    let found = workers(kind, "task_graph(pools = by_unit(1, 2));", 0);
    match kind {
        Declared => assert!(found.iter().all(|worker| *worker > 0), "{found:?}"),
        _ => {
            assert!((0..3).all(|worker| found.contains(&worker)), "{found:?}");
            let cube = "task_graph(pools = by_unit(1, 2)); dispatch_threshold(b, [0], [cube, cube]);";
            let found = workers(kind, cube, 0);
            assert!(found.iter().all(|worker| *worker > 0), "{found:?}");
        }
    }
}

/// Each kernel runs on cores of its kind, of which there are so many.
fn cores(kind: Kind) {
    let slices = slices(kind, &kind.folder(""), &["--cores", "aic=1,aiv=2"]);
    for (name, core, other) in [("A", "aiv", "aic"), ("B", "aic", "aiv")] {
        let of_kernel: Vec<&Value> = slices.iter().filter(|slice| slice["name"] == name).collect();
        assert_eq!(of_kernel.len(), 2);
        for slice in of_kernel {
            let cores = |kind: &str| slice["args"][kind].as_array().unwrap().len();
            assert_eq!((cores(core), cores(other)), (1, 0), "{slice}");
        }
    }
}

fn priority(kind: Kind) {
    if kind == Spaces {
        // The first kernels of the tiles, which nothing orders.
        let first = |schedule: &str| -> Vec<u64> {
            virtual_time(kind, schedule, threads(1)).tasks.iter().step_by(2).map(|task| task.start).collect()
        };
        assert!(first("PTO_PRIORITY(i)").is_sorted_by(|a, b| a > b));
        assert!(first("").is_sorted());
        return;
    }
    let ranked = "task_graph(ready = priority); priority(b);";
    assert_eq!(starts(kind, ranked, 1), [5, 4, 3, 2, 1, 0]);
    assert_eq!(starts(kind, "", 1), [0, 1, 2, 3, 4, 5]);
}

/// Which kernel starts first on one thread. Without a priority it is that of the first launch, in every run. With one it is that of the
/// second as soon as a run launches both before the thread takes the first.
fn ranked() {
    let first = |text: &str| {
        let folder = Folder::with(&[("unit.tg", text), ("blocks.pto", BLOCKS)]);
        let slices = slices(Unit, &folder, &["--threads", "1"]);
        let start = |slice: &Value| slice["ts"].as_f64().unwrap();
        let first = slices.iter().min_by(|a, b| start(a).total_cmp(&start(b))).unwrap();
        first["name"].as_str().unwrap().to_owned()
    };
    let equal = RANKED.replace("TG_SET_PRIORITY(HIGH, 5)\n", "");
    assert!((0..5).all(|_| first(&equal) == "LOWER"));
    assert!((0..200).any(|_| first(RANKED) == "HIGHER"));
}

/// An affinity gives every task a worker.
fn placed(kind: Kind) {
    let of = |schedule: &str| {
        let own = kind.program(schedule).execute(kind.args(), threads(2)).unwrap().own;
        own.downcast::<RunStats>().unwrap().runtime.affinity
    };
    let (with, without) = (of("PTO_AFFINITY(i, PTO_CORE_LOCAL)"), of(""));
    assert_eq!((with.hits + with.misses, without.hits + without.misses), (12, 0));
}

fn dispatch(kind: Kind) {
    assert_eq!(workers(kind, "dispatch(affinity(b / 2));", 3), [0, 0, 1, 1, 2, 2]);
    assert_eq!(workers(kind, "dispatch(round_robin);", 3), [0, 1, 2, 0, 1, 2]);
}

/// Tasks are for the tiles that have what they store, and the results have the same bits.
fn on_tiles(kind: Kind) {
    let schedule = match kind {
        Spaces => "PTO_SPATIAL_MAP(3, 1) PTO_LAYOUT(y, PTO_SHARD(x)) PTO_LAYOUT(z, PTO_SHARD(x))",
        Declared => "spatial_map((3, 1)); layout(y, [shard(x), replicate]);",
        _ => "spatial_map((3, 1)); layout(y, [shard(x)]);",
    };
    let [with, without] =
        [schedule, ""].map(|schedule| kind.program(schedule).execute(kind.args(), threads(2)).unwrap());
    let bytes = |outcome: &Outcome| outcome.outputs[kind.output()].bytes().to_vec();
    assert_eq!(bytes(&with), bytes(&without));
    assert_eq!(with.stats.grid.map(|grid| grid.tasks), Some(vec![kind.tasks() as u64 / 3; 3]));
    assert_eq!(without.stats.grid, None);
}

/// A partition gives kernels the cores that it names.
fn partition(kind: Kind) {
    let text = UNIT
        .replace("TG_BEGIN(G)\n", "TG_BEGIN(G)\n  CA_PARTITION(P, 0, 1, 6, 2)\n")
        .replace("2, AIV, 0)", "2, AIV, 0, partition = P)");
    let folder = Folder::with(&[(kind.file(), &text), ("blocks.pto", BLOCKS)]);
    let cores = |slices: Vec<Value>| -> Vec<u64> {
        let of_first = slices.into_iter().filter(|slice| slice["name"] == "A");
        of_first.map(|slice| slice["args"]["aiv"][0].as_u64().unwrap()).collect()
    };
    let there = cores(slices(kind, &folder, &["--hints"]));
    assert!(there.iter().all(|core| (6..8).contains(core)), "{there:?}");
    let usual = cores(slices(kind, &kind.folder(""), &[]));
    assert!(usual.iter().all(|core| *core < 6), "{usual:?}");
}

/// Each tile is read by two tasks after the one that writes it, in no order.
fn two_readers() -> String {
    let kernel = SPACES.find("PTO_KERNEL_IMPL(plus)").unwrap();
    let entry = SPACES.find("void run").unwrap();
    let minus = SPACES[kernel..entry]
        .replace("(plus)", "(minus)")
        .replace("<Plus>", "<Minus>")
        .replace("TSTORE(z", "TSTORE(w");
    Spaces
        .text("PTO_ORDER(i, PTO_PARALLEL)")
        .replace("PTO_SHAPE(z, n)", "PTO_SHAPE(z, n)\nPTO_SHAPE(w, n)")
        .replace("struct Plus", "struct Minus { uint32_t first; };\nstruct Plus")
        .replace(
            "(Plus{ .first = tile * 8 });",
            "(Plus{ .first = tile * 8 });\nPTO_EMIT_DESCRIPTOR(Minus{ .first = tile * 8 });",
        )
        .replace("void run", &format!("{minus}\nvoid run"))
        .replace("Tensor<float> z)", "Tensor<float> z, Tensor<float> w)")
        .replace(".z = z", ".z = z, .w = w")
}

/// Tasks start in an order that no policy would have: the last that is submitted first.
fn replayed(kind: Kind) {
    let folder = kind.folder("");
    let tasks = |slices: &[Value]| -> Vec<(u64, u64, String)> {
        let of = |slice: &Value| {
            // Blocks are numbered in the order in which they finish.
            let args = &slice["args"];
            let number = match args["node"].as_u64() {
                Some(node) => 64 * node + args["block"].as_u64().unwrap(),
                None => args["task"].as_u64().unwrap(),
            };
            (number, slice["tid"].as_u64().unwrap(), slice["name"].to_string())
        };
        let mut by_start: Vec<&Value> = slices.iter().collect();
        by_start.sort_by(|a, b| a["ts"].as_f64().unwrap().total_cmp(&b["ts"].as_f64().unwrap()));
        by_start.into_iter().map(of).collect()
    };
    let order = |seed: &str| tasks(&slices(kind, &folder, &["--threads", "2", "--replay", seed]));
    let first = order("seed=1");
    assert!(first.len() > 2 && order("seed=1") == first);
    std::fs::copy(folder.at("trace.json"), folder.at("before.json")).unwrap();
    for threads in ["1", "2"] {
        let again =
            tasks(&slices(kind, &folder, &["--threads", threads, "--replay", &folder.at("before.json")]));
        let same = |(a, b): (&(u64, u64, String), &(u64, u64, String))| {
            a.0 == b.0 && a.2 == b.2 && (threads == "1" || a.1 == b.1)
        };
        assert!(again.len() == first.len() && again.iter().zip(&first).all(same), "{again:?} {first:?}");
    }
}

/// Which of the workers has which block is drawn from the seed.
fn seed_of_unit(kind: Kind) {
    let places = |seed: u64| {
        let simulated = in_virtual_time(kind, &kind.text(""), RunOptions { seed, ..threads(4) });
        simulated.tasks.iter().map(|task| (task.worker, task.start)).collect::<Vec<_>>()
    };
    assert_eq!(places(1), places(1));
    assert!((2..64).any(|seed| places(seed) != places(1)), "no seed makes a difference");
}

/// Two tasks release two each; which of the two workers that ran them an idle one takes a task from is drawn from the seed.
fn seed(kind: Kind) {
    let of = |row: &str| match kind {
        Declared => format!("row(x[{row}], y[{row}])"),
        _ => format!("row(first = 8 * ({row}))"),
    };
    let (root, leaf) = (of("i"), of("2 + 2 * i + j"));
    let body = format!(
        "parallel for i in 0..2 {{ let root = {root}; parallel for j in 0..2 {{ {leaf} after root; }} }}"
    );
    let text = match kind {
        Spaces => two_readers(),
        _ => kind
            .text("task_graph(ready = work_steal, deps = hybrid);")
            .replace(&format!("parallel for i in b {{ {}; }}", of("i").replace("8 * (i)", "i * 8")), &body),
    };
    let places = |seed: u64| {
        let simulated = in_virtual_time(kind, &text, RunOptions { seed, ..threads(4) });
        simulated.tasks.iter().map(|task| (task.worker, task.start)).collect::<Vec<_>>()
    };
    assert_eq!(places(1), places(1));
    assert!((2..64).any(|seed| places(seed) != places(1)), "no seed makes a difference");
}
