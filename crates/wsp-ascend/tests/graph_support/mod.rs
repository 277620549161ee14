//! Compiles emitted graphs with the host's compiler, links the machine's static library, and runs them; and runs the machine
//! here in the same way.

#[path = "../toolchain/mod.rs"]
mod toolchain;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use toolchain::{compiler, write};
use wsp_ascend::graph::{GraphEmitError, GraphSource, HEADERS, emit_graph};
use wsp_core::tg::image::NodeKind;
use wsp_core::tg::machine::{Fault, Machine, Scalars, Step};
use wsp_core::tg::{Env, EvalFault, IterNo, Platform, Scalar, ScalarType, TensorNo, eval};
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::tg::{Signatures, TgModule, verify};
use wsp_tg::plan::{BindTensor, ElaborateOptions};
use wsp_tg::{GraphPlan, UnitPlan, elaborate};

/// Most lines of a run that is compared.
const MOST_LINES: usize = 2000;

/// A unit and its plan.
pub(crate) struct Planned {
    pub(crate) module: TgModule,
    pub(crate) plan: UnitPlan,
}

impl Planned {
    pub(crate) fn new(module: TgModule) -> Planned {
        let errors: Vec<Diagnostic> = verify(&module).into_iter().filter(Diagnostic::is_error).collect();
        assert!(errors.is_empty(), "{errors:?}");
        let plan =
            elaborate(&module, &Signatures::new(), &ElaborateOptions { flows: true, ..Default::default() });
        Planned { module, plan: plan.unwrap_or_else(|found| panic!("{found:?}")) }
    }

    pub(crate) fn text(text: &str) -> Planned {
        let (module, found) = wsp_isa::tg::text::parse("unit.tg", text, &mut SourceMap::default());
        Planned::new(module.unwrap_or_else(|| panic!("{found:?}")))
    }

    pub(crate) fn emit(&self, target: Platform) -> Result<GraphSource, GraphEmitError> {
        emit_graph(&self.module, &self.plan, 0, target)
    }
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).expect("the output is text")
}

/// The machine as a static library for devices, built once.
fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("graph/device");
        let mut build = Command::new(env!("CARGO"));
        build.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wsp-device"));
        build.args([
            "rustc",
            "--quiet",
            "--offline",
            "--lib",
            "--profile",
            "device",
            "--crate-type",
            "staticlib",
        ]);
        build.args(["--features", "panic-handler", "--target-dir"]).arg(&folder);
        succeed(build.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS"));
        folder.join("device/libwsp_device.a")
    })
}

/// Emitted graphs, compiled into one program.
pub(crate) struct Compiled {
    program: PathBuf,
}

impl Compiled {
    pub(crate) fn new(name: &str, sources: &[GraphSource]) -> Compiled {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("graph").join(name);
        for (path, text) in HEADERS {
            write(&folder.join("include").join(path), text);
        }
        write(&folder.join("host.cpp"), include_str!("host.cpp"));
        let mut table = String::from(
            "#include \"pto/wsp/backend/npu/task_graph.hpp\"\nusing namespace pto::wsp::backend::npu;\n",
        );
        let mut files = vec!["host.cpp".to_owned(), "table.cpp".to_owned()];
        for (at, source) in sources.iter().enumerate() {
            let namespace = format!("unit_{at}");
            let text = source.translation_unit.replace(&source.namespace, &namespace);
            let _ = writeln!(
                table,
                "namespace pto::wsp::backend::npu::{namespace} {{ extern const Graph GRAPH; }}"
            );
            files.push(format!("{namespace}.cpp"));
            write(&folder.join(format!("{namespace}.cpp")), &text);
        }
        let graphs: Vec<String> = (0..sources.len()).map(|at| format!("&unit_{at}::GRAPH")).collect();
        let _ = writeln!(
            table,
            "extern const Graph *const units[];\nconst Graph *const units[] = {{{}}};",
            graphs.join(", ")
        );
        write(&folder.join("table.cpp"), &table);
        let program = folder.join("graphs");
        let mut command = Command::new(compiler());
        command.current_dir(&folder).args([
            "-O0",
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fno-exceptions",
            "-fno-rtti",
        ]);
        command
            .args(["-Iinclude", "-I"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wsp-device/include"));
        command.args(files).arg(library()).arg("-o").arg(&program);
        succeed(&mut command);
        Compiled { program }
    }

    /// What a graph does.
    pub(crate) fn run(&self, graph: usize, policy: u32) -> Vec<String> {
        let text = succeed(Command::new(&self.program).args([graph.to_string(), policy.to_string()]));
        text.lines().map(str::to_owned).collect()
    }
}

/// Values as the C++ device has them.
struct Values {
    launched: i64,
    iterations: Vec<u32>,
}

impl Env for Values {
    fn iter(&self, iter: IterNo) -> Result<i64, EvalFault> {
        Ok(i64::from(self.iterations[iter.0 as usize]))
    }
    fn arg(&self, _: u32) -> Result<i64, EvalFault> {
        Ok(2)
    }
    fn load(&self, _: TensorNo, _: ScalarType, offset: i64) -> Result<i64, EvalFault> {
        Ok(if self.launched < 20 { 20 - self.launched + offset } else { 0 })
    }
    fn iteration(&self) -> Result<i64, EvalFault> {
        Ok(3)
    }
    fn device(&self) -> Result<i64, EvalFault> {
        Ok(0)
    }
    fn devices(&self) -> Result<i64, EvalFault> {
        Ok(1)
    }
}

struct Conditions<'g> {
    graph: &'g GraphPlan,
    launched: i64,
    /// How many may still be evaluated.
    left: usize,
}

impl Scalars for Conditions<'_> {
    type Fault = EvalFault;

    fn eval(&mut self, condition: u32, iterations: &[u32]) -> Result<i64, EvalFault> {
        self.left = self.left.checked_sub(1).expect("the run is too long");
        let values = Values { launched: self.launched, iterations: iterations.to_vec() };
        value(self.graph, self.graph.conditions[condition as usize].value, &values)
    }
}

fn value(graph: &GraphPlan, scalar: Scalar, values: &Values) -> Result<i64, EvalFault> {
    match scalar {
        Scalar::Const(value) => Ok(value),
        Scalar::Expr(_) => eval(graph.expr(scalar), values),
    }
}

/// A kernel's line, or why an argument has no value.
fn launched(graph: &GraphPlan, kernel: u32, values: &Values) -> Result<String, EvalFault> {
    let item = &graph.kernels[kernel as usize];
    let def = &graph.defs[item.def as usize];
    let mut line = format!(
        "launch {} entry {} blocks {} core {} workspace {}",
        graph.kernel_name(kernel),
        def.entry,
        def.block_dim,
        def.core_type as u32,
        def.workspace
    );
    for bind in graph.binds_of(item) {
        let tensor = match bind.tensor {
            BindTensor::One(tensor) => tensor,
            BindTensor::Table { index, .. } => {
                let at = value(graph, index, values)?;
                let tensors = graph.tensors_of(&bind.tensor);
                *usize::try_from(at).ok().and_then(|at| tensors.get(at)).ok_or(EvalFault::Overflow)?
            }
        };
        let (offset, size) = (value(graph, bind.offset, values)?, value(graph, bind.size, values)?);
        let _ = write!(line, " {}:{tensor}+{offset}/{size}", bind.arg);
    }
    Ok(line)
}

/// What the machine does here, without fences. `None` for a run that is too long to compare.
pub(crate) fn direct(graph: &GraphPlan) -> Option<Vec<String>> {
    let image = graph.records.image();
    let mut words = vec![0; image.state_words()];
    let mut machine = Machine::start(&image, &mut words).expect("there are words enough");
    let mut host = Conditions { graph, launched: 0, left: MOST_LINES };
    let mut lines = Vec::new();
    let mut running = VecDeque::new();
    loop {
        if lines.len() > MOST_LINES || host.left == 0 {
            return None;
        }
        let step = match machine.next(&mut host) {
            Ok(step) => step,
            Err(Fault::Condition(_) | Fault::Endless { .. } | Fault::Count { .. }) => {
                lines.push("outcome 2".to_owned());
                return Some(lines);
            }
        };
        let nodes = match step {
            Step::Run(node) => vec![node],
            Step::Gang(gang) => machine.gang(gang).collect(),
            Step::Signal(node) => {
                let item = graph.records.nodes[node as usize].item;
                lines.push(format!("signal {}", graph.signals[item as usize].event.0));
                vec![]
            }
            Step::Idle => {
                let Some(node) = running.pop_front() else {
                    lines.push("outcome 3".to_owned());
                    return Some(lines);
                };
                machine.complete(node);
                vec![]
            }
            Step::Done => {
                lines.push("outcome 0".to_owned());
                return Some(lines);
            }
        };
        for node in nodes {
            let values = Values { launched: host.launched, iterations: machine.iterations().to_vec() };
            match start(graph, node, values, &mut lines) {
                Started::Running(kernels) => {
                    host.launched += kernels;
                    running.push_back(node);
                }
                Started::Over => machine.complete(node),
                Started::Fault => {
                    lines.push("outcome 2".to_owned());
                    return Some(lines);
                }
            }
        }
    }
}

enum Started {
    Running(i64),
    Over,
    Fault,
}

fn start(graph: &GraphPlan, node: u32, mut values: Values, lines: &mut Vec<String>) -> Started {
    let record = graph.records.nodes[node as usize];
    let item = record.item as usize;
    match NodeKind::from_code(record.kind).expect("a kind") {
        NodeKind::Kernel => {
            let parts = std::iter::once(record.item).chain(graph.kernels[item].batch.iter().copied());
            for (count, kernel) in parts.clone().enumerate() {
                values.launched += i64::from(count > 0);
                match launched(graph, kernel, &values) {
                    Ok(line) => lines.push(line),
                    Err(_) => return Started::Fault,
                }
            }
            Started::Running(parts.count() as i64)
        }
        NodeKind::Copy => {
            let c = graph.copies[item];
            lines.push(format!("copy {}+{} {}+{} {}", c.src, c.src_offset, c.dst, c.dst_offset, c.size));
            Started::Running(0)
        }
        NodeKind::WaitEvent => {
            lines.push(format!("await event {}", graph.event_waits[item].event.0));
            Started::Running(0)
        }
        NodeKind::WaitNotify => {
            let wait = graph.notify_waits[item];
            lines.push(format!("await notify {} from {}", wait.notify.0, wait.device.0));
            Started::Running(0)
        }
        NodeKind::Free => {
            lines.push(format!("free {}", graph.frees[item].tensor));
            Started::Over
        }
        NodeKind::Notify => {
            let notify = graph.notifies[item];
            lines.push(format!("notify {} of {}", notify.notify.0, notify.device.0));
            Started::Over
        }
        other => panic!("{other:?} is not handed out"),
    }
}
