//! Compiles expanders with the host's compiler, runs them, and runs the interpreter on the same launches.
#![allow(dead_code)]

#[path = "../toolchain/mod.rs"]
pub(crate) mod toolchain;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toolchain::{compiler, write};
use wsp_ascend::expander::{ExpanderNames, HEADERS, emit_expander};
use wsp_core::SlotId;
use wsp_core::ptow::bounds::BoundsHalt;
use wsp_core::ptow::eval::{ExprFault, ExprFaultKind, Halt};
use wsp_core::ptow::interp::{
    Fault, FaultKind, Host, Interpreter, Mode, Ordered, Progress, Refusal, Task, workspace_words,
};
use wsp_core::ptow::prefix::Prefixes;
use wsp_core::ptow::{DispatchConfig, Launch, Program, Verified, marks_needed};
use wsp_isa::ptow::AlignedBytes;
use zerocopy::IntoBytes as _;

/// Programs of one translation unit: compilers take long for long ones.
const PROGRAMS_PER_UNIT: usize = 12;

/// A program in bytes, verified.
pub(crate) struct Code(AlignedBytes);

impl Code {
    pub(crate) fn new(bytes: &[u8]) -> Code {
        Code(AlignedBytes::copy(bytes))
    }

    pub(crate) fn verified(&self) -> Verified<'_> {
        let program = Program::read(self.0.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
        let mut marks = vec![0; marks_needed(&program)];
        Verified::new(program, &mut marks).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// What a run saw, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A task as text, and the ordinal.
    Task(u64, String),
    /// A boundary of an ordered scope: 0 begins, 1 steps, 2 ends.
    Ordered(u8, u64),
}

/// What a run came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) events: Vec<Event>,
    /// 0 done, 1 fault, 2 refused launch, 3 refused configuration.
    pub(crate) status: u8,
    /// Code and ordinal.
    pub(crate) fault: (u8, u64),
    pub(crate) ordinals: u64,
    pub(crate) steps: u64,
}

impl Seen {
    /// Tasks, each with the ordered scopes around it: where each began, and its last step.
    pub(crate) fn tasks(&self) -> Vec<(u64, String)> {
        let mut scopes: Vec<(u64, u64)> = Vec::new();
        let mut tasks = Vec::new();
        for event in &self.events {
            match event {
                Event::Ordered(0, ordinal) => scopes.push((*ordinal, *ordinal)),
                Event::Ordered(1, ordinal) => scopes.last_mut().expect("a scope has begun").1 = *ordinal,
                Event::Ordered(_, _) => {
                    scopes.pop().expect("a scope has begun");
                }
                Event::Task(ordinal, text) => tasks.push((*ordinal, format!("{text} in {scopes:?}"))),
            }
        }
        tasks
    }
}

/// A launch of a program for one AICPU.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) program: usize,
    pub(crate) launch: Launch<'a>,
    pub(crate) config: DispatchConfig,
}

/// Compiled expanders.
pub(crate) struct Harness {
    executable: PathBuf,
}

impl Harness {
    /// Emits and compiles the expanders of programs, in a folder of this name.
    pub(crate) fn build(name: &str, programs: &[Verified<'_>]) -> Harness {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("expander").join(name);
        for (path, text) in HEADERS {
            write(&folder.join("include").join(path), text);
        }
        let mut sources = vec!["harness.cpp".to_owned(), "table.cpp".to_owned()];
        write(&folder.join("harness.cpp"), include_str!("harness.cpp"));
        let mut table = String::from("#include \"pto/wsp/backend/npu/on_device_gen.hpp\"\n");
        table.push_str("using namespace pto::wsp::backend::npu;\n");
        let parameters = "const Launch*, const DispatchConfig*, const Sink*, Outcome*";
        for index in 0..programs.len() {
            let _ = writeln!(table, "extern \"C\" int expand_{index}({parameters});");
        }
        let _ = writeln!(table, "extern int (*const expanders[])({parameters});");
        let entries: Vec<String> = (0..programs.len()).map(|index| format!("expand_{index}")).collect();
        let _ = writeln!(table, "int (*const expanders[])({parameters}) = {{{}}};", entries.join(", "));
        write(&folder.join("table.cpp"), &table);
        for (unit, part) in programs.chunks(PROGRAMS_PER_UNIT).enumerate() {
            let mut text = String::new();
            for (index, program) in (unit * PROGRAMS_PER_UNIT..).zip(part) {
                let (entry, namespace) = (format!("expand_{index}"), format!("program_{index}"));
                let names = ExpanderNames { entry: &entry, namespace: &namespace };
                text += &emit_expander(program, names).expect("an expander").translation_unit;
            }
            sources.push(format!("unit_{unit}.cpp"));
            write(&folder.join(format!("unit_{unit}.cpp")), &text);
        }
        let mut command = Command::new(compiler());
        command.current_dir(&folder).args(["-O0", "-std=c++17", "-Wall", "-Wextra", "-Werror"]);
        command.args(["-fno-exceptions", "-fno-rtti", "-Iinclude", "-o", "expanders"]).args(sources);
        let output = command.output().expect("the compiler runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        let shown: String = errors.chars().take(6000).collect();
        assert!(output.status.success(), "in {}:\n{shown}", folder.display());
        Harness { executable: folder.join("expanders") }
    }

    /// What every run sees.
    pub(crate) fn run(&self, runs: &[Run<'_>]) -> Vec<Seen> {
        let mut child = Command::new(&self.executable)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the expanders run");
        let mut stdin = child.stdin.take().expect("a pipe");
        let words: Vec<u64> = runs.iter().flat_map(words).collect();
        // The expanders read all of it before they write.
        stdin.write_all(words.as_bytes()).expect("the expanders read");
        drop(stdin);
        let output = child.wait_with_output().expect("the expanders end");
        assert!(output.status.success(), "the expanders have crashed: {}", output.status);
        let seen = parsed(&String::from_utf8(output.stdout).expect("text"));
        assert_eq!(seen.len(), runs.len());
        seen
    }
}

/// A run as the harness reads it.
fn words(run: &Run<'_>) -> Vec<u64> {
    let launch = &run.launch;
    let mut words = vec![run.program as u64, launch.values.len() as u64];
    words.extend(launch.values.iter().map(|value| value.cast_unsigned()));
    words.push(launch.tables.len() as u64);
    for table in launch.tables {
        words.push(table.len() as u64);
        words.extend(table.iter().map(|value| value.cast_unsigned()));
    }
    words.push(launch.extents.len() as u64);
    words.extend(launch.extents.iter().flatten().map(|extent| u64::from(*extent)));
    let mut config = [0; 56];
    config[..size_of::<DispatchConfig>()].copy_from_slice(run.config.as_bytes());
    words.extend(config.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
    words
}

fn parsed(text: &str) -> Vec<Seen> {
    let mut runs = Vec::new();
    let mut events = Vec::new();
    for line in text.lines() {
        let mut parts = line.split(' ');
        let kind = parts.next();
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).expect("a number");
        match kind {
            Some("T") => events.push(Event::Task(number(), line.to_owned())),
            Some("O") => events.push(Event::Ordered(number() as u8, number())),
            _ => runs.push(Seen {
                events: std::mem::take(&mut events),
                status: number() as u8,
                fault: (number() as u8, number()),
                ordinals: number(),
                steps: number(),
            }),
        }
    }
    runs
}

/// A host that writes down what it sees.
#[derive(Default)]
struct Recorder {
    events: Vec<Event>,
}

impl Host for Recorder {
    type Stop = std::convert::Infallible;

    fn task(&mut self, task: &Task<'_>) -> Result<(), Self::Stop> {
        let stream = task.stream.map_or(-1, i64::from);
        let pool = task.pool as u8;
        let mut text =
            format!("T {} {} {} {pool} {stream} {} p", task.ordinal, task.site, task.kernel.0, task.priority);
        let list = |text: &mut String, values: &[i64]| {
            for value in values {
                let _ = write!(text, " {value}");
            }
        };
        list(&mut text, task.params);
        for (region, mode) in task.regions.iter().zip(task.modes) {
            let _ = write!(text, " b {} {}", region.tensor.0, *mode as u8);
            for (lo, hi) in region.lo.iter().zip(&region.hi) {
                let _ = write!(text, " {lo}:{hi}");
            }
        }
        text += " a";
        for ordinal in task.after {
            let _ = write!(text, " {ordinal}");
        }
        text += " v";
        list(&mut text, task.vars);
        text += " i";
        list(&mut text, task.indices);
        self.events.push(Event::Task(task.ordinal, text));
        Ok(())
    }

    fn ordered(&mut self, event: Ordered, ordinal: u64) -> Result<(), Self::Stop> {
        let event = match event {
            Ordered::Begin => 0,
            Ordered::Step => 1,
            Ordered::End => 2,
        };
        self.events.push(Event::Ordered(event, ordinal));
        Ok(())
    }

    fn slot(&mut self, slot: SlotId, ordinal: u64) -> Option<i64> {
        Some(((u64::from(slot.0) + ordinal) % 3) as i64)
    }

    fn plan(&mut self, _: u16, _: u64) -> Result<Option<u64>, Self::Stop> {
        Ok(None)
    }
}

/// What the interpreter sees; none when it has not ended after so many steps.
pub(crate) fn interpreted(
    program: Verified<'_>,
    launch: Launch<'_>,
    config: &DispatchConfig,
    mode: Mode,
    steps: u32,
) -> Option<Seen> {
    let mut workspace = vec![0; workspace_words(&program)];
    let mut host = Recorder::default();
    let none = |status| Seen { events: Vec::new(), status, fault: (0, 0), ordinals: 0, steps: 0 };
    let made = Interpreter::new(program, launch, config, Prefixes::none(), &mut workspace, mode);
    let mut interpreter = match made {
        Ok(interpreter) => interpreter,
        Err(Refusal::Config(_)) => return Some(none(3)),
        Err(Refusal::Values { .. } | Refusal::Tables { .. } | Refusal::Extents { .. }) => {
            return Some(none(2));
        }
        Err(refusal) => panic!("{refusal}"),
    };
    let (status, fault) = match interpreter.run(&mut host, u32::MAX, steps) {
        Ok(Progress::Finished) => (0, (0, interpreter.stats().total_ordinals)),
        Ok(Progress::Fault(fault)) => (1, (code(&fault), fault.ordinal)),
        Ok(Progress::Yielded | Progress::Waits(_)) => return None,
        Err(never) => match never {},
    };
    let stats = interpreter.stats();
    let ordinals = stats.total_ordinals;
    Some(Seen { events: host.events, status, fault, ordinals, steps: stats.steps })
}

/// The code that an expander has for a fault.
fn code(fault: &Fault) -> u8 {
    let expr = |fault: &ExprFault| match fault.kind {
        ExprFaultKind::Overflow { .. } | ExprFaultKind::NegOverflow => 1,
        ExprFaultKind::DivisionByZero { .. } => 2,
        ExprFaultKind::TableIndex { .. } => 3,
        ExprFaultKind::Malformed => 255,
    };
    match &fault.kind {
        FaultKind::Expr(fault) => expr(fault),
        FaultKind::Outside { .. } => 4,
        FaultKind::Bounds(halt) => match halt {
            BoundsHalt::Expr(Halt::Fault(fault)) => expr(fault),
            BoundsHalt::Step(_) => 5,
            BoundsHalt::Row { .. } => 6,
            BoundsHalt::Pointers { .. } => 7,
            BoundsHalt::Iterations(_) => 8,
            BoundsHalt::Expr(Halt::Waits(_)) | BoundsHalt::Malformed(_) => 255,
        },
        FaultKind::Rounds { .. } => 9,
        FaultKind::Steps => 10,
        FaultKind::PastPartition { .. } => 11,
        FaultKind::Priority { .. } => 12,
        FaultKind::Generator { .. }
        | FaultKind::Depth { .. }
        | FaultKind::Deadlock
        | FaultKind::Closed { .. }
        | FaultKind::Structure => 255,
    }
}
