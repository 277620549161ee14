//! Many kernels in one program of the host.

use crate::bench::{COLS, Kernel, ROWS, element, told};
use crate::toolchain::{compiler, instructions, write};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use wsp_ascend::kernels::{Chip, KernelSource, emit_kernel};
use wsp_diag::Diagnostic;

/// How far a result may be from that of the plain run: absolute, and relative to the largest of 1 and the result.
pub(crate) type Tolerance = f32;

/// The kernel for a platform.
pub(crate) fn emitted(kernel: &Kernel, chip: Chip) -> Result<KernelSource, Vec<Diagnostic>> {
    let module = kernel.module();
    emit_kernel(module, module.function_named("k").unwrap(), kernel.known(), chip)
}

/// An argument of a run, beside those that all kernels have.
#[derive(Clone)]
pub(crate) enum Given {
    Number(u32),
    Numbers(Vec<u32>),
    Floats(Vec<f32>),
}

/// What a run begins with, and its result.
pub(crate) struct Launched {
    /// How messages call it.
    pub(crate) name: String,
    pub(crate) words: [u32; 4],
    pub(crate) want: Vec<f32>,
    /// Arguments by name.
    pub(crate) given: BTreeMap<String, Given>,
}

impl Launched {
    /// With the words of the descriptor alone.
    pub(crate) fn new(words: [u32; 4], want: Vec<f32>) -> Launched {
        Launched { name: format!("{words:?}"), words, want, given: BTreeMap::new() }
    }
}

/// A run of a kernel.
struct Run {
    name: String,
    kernel: usize,
    case: Launched,
    tolerance: Tolerance,
}

/// Kernels of one platform, and the runs of them.
pub(crate) struct Batch {
    chip: Chip,
    name: &'static str,
    texts: Vec<KernelSource>,
    runs: Vec<Run>,
    /// The synchronisations that runs leave out one by one.
    left_out: Option<Box<dyn Fn(usize) -> bool>>,
    /// Bytes of a tensor through which cores exchange tiles.
    exchanged: u32,
}

/// Synchronisations that runs left out one by one, and those of them that a run showed: of tile programs, and inside of instructions.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Shown {
    pub(crate) gone: u64,
    pub(crate) shown: u64,
    pub(crate) inner_gone: u64,
    pub(crate) inner_shown: u64,
}

impl Shown {
    pub(crate) fn add(&mut self, more: Shown) {
        self.gone += more.gone;
        self.shown += more.shown;
        self.inner_gone += more.inner_gone;
        self.inner_shown += more.inner_shown;
    }
}

impl Batch {
    pub(crate) fn new(chip: Chip, name: &'static str) -> Batch {
        Batch { chip, name, texts: Vec::new(), runs: Vec::new(), left_out: None, exchanged: 1 << 20 }
    }

    /// Adds a kernel with the descriptors that it runs with.
    pub(crate) fn add(&mut self, name: &str, kernel: &Kernel, words: &[[u32; 4]], tolerance: Tolerance) {
        self.add_as(name, kernel, kernel, words, tolerance);
    }

    /// Adds a kernel whose results are to be those of another.
    pub(crate) fn add_as(
        &mut self,
        name: &str,
        kernel: &Kernel,
        plain: &Kernel,
        words: &[[u32; 4]],
        tolerance: Tolerance,
    ) {
        let source = emitted(kernel, self.chip);
        let source =
            source.unwrap_or_else(|found| panic!("{name} on {}: {}", self.chip.name(), told(&found)));
        let case = |words: &[u32; 4]| Launched::new(*words, plain.plain(*words));
        self.add_source(name, source, words.iter().map(case), tolerance);
    }

    /// Adds the text of a kernel, with what runs of it begin with and the results that they are to have.
    pub(crate) fn add_source(
        &mut self,
        name: &str,
        source: KernelSource,
        runs: impl IntoIterator<Item = Launched>,
        tolerance: Tolerance,
    ) {
        self.texts.push(source);
        let kernel = self.texts.len() - 1;
        for case in runs {
            let name = format!("{name} with {}", case.name);
            self.runs.push(Run { name, kernel, case, tolerance });
        }
    }

    /// Leaves out synchronisations, some of each kernel, by their numbers among the lines of its text that are one.
    pub(crate) fn leave_out(&mut self, which: impl Fn(usize) -> bool + 'static) {
        self.left_out = Some(Box::new(which));
    }

    /// Tensors through which cores exchange tiles have so many bytes: each run of a kernel has its own.
    pub(crate) fn exchange(&mut self, bytes: u32) {
        self.exchanged = bytes;
    }

    /// Compiles all kernels, runs all runs, and compares each result.
    pub(crate) fn run(&self) {
        let (_, wrong) = self.outcome();
        assert!(wrong.is_empty(), "{} in {}\n{wrong}", self.chip.name(), self.folder().display());
    }

    fn folder(&self) -> PathBuf {
        let name = format!("{}_{}", self.name, self.chip.name());
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels").join(name)
    }

    /// As [`run`](Self::run), and then runs kernels without each of some synchronisations; what is wrong is a text.
    pub(crate) fn outcome(&self) -> (Shown, String) {
        let folder = self.folder();
        let (program, left_out) = self.program();
        write(&folder.join("main.cpp"), &program);
        bytes(&folder.join("x.bin"), &(0..ROWS * COLS).map(element).collect::<Vec<_>>());
        bytes(&folder.join("zeros.bin"), &vec![0.0; ROWS * COLS]);
        for (at, run) in self.runs.iter().enumerate() {
            for (name, given) in &run.case.given {
                let path = folder.join(file_of(name, at));
                match given {
                    Given::Number(_) => {}
                    Given::Numbers(all) => words(&path, all.iter().copied()),
                    Given::Floats(all) => bytes(&path, all),
                }
            }
        }
        let mut compile = compile(self.chip);
        compile.args(["-DWSP_ONE_FILE", "main.cpp", "-o", "main"]).current_dir(&folder);
        compile.arg(instructions(self.chip.name()));
        succeed(&mut compile);
        let told = succeed(Command::new(folder.join("main")).current_dir(&folder));
        let (mut wrong, mut lines) = (String::new(), told.lines());
        for (at, (run, line)) in self.runs.iter().zip(&mut lines).enumerate() {
            let fault = line.split_once(' ').map_or("", |(_, fault)| fault);
            if !fault.is_empty() {
                let _ = writeln!(wrong, "{}: {fault}", run.name);
            } else if let Some(differs) =
                differs(&floats(&folder.join(format!("y_{at}.bin"))), &run.case.want, run.tolerance)
            {
                let _ = writeln!(wrong, "{}: {differs}", run.name);
            }
        }
        assert_eq!(told.lines().count(), self.runs.len() + left_out.len(), "{told}");
        let mut all = Shown::default();
        for (line, is_inner) in lines.zip(left_out) {
            let is_shown = u64::from(line.contains("fault ["));
            let (gone, shown) = match is_inner {
                true => (&mut all.inner_gone, &mut all.inner_shown),
                false => (&mut all.gone, &mut all.shown),
            };
            *gone += 1;
            *shown += is_shown;
        }
        (all, wrong)
    }

    /// The program: each kernel in a namespace, and a main function that runs them one after another. Also the synchronisations that it
    /// leaves out then: whether each is inside of an instruction.
    fn program(&self) -> (String, Vec<bool>) {
        let mut text = String::from(
            "#include <cstdint>\n#include <cstddef>\n#include <cmath>\n#include <limits>\n#include <pto/pto-inst.hpp>\n\
             #include <pto/host-run.hpp>\n",
        );
        let mut left_out = Vec::new();
        for (at, source) in self.texts.iter().enumerate() {
            let _ = writeln!(text, "namespace case_{at} {{");
            let first = text.lines().count() + 1;
            for task in &source.tasks {
                text += &task.text;
            }
            let _ = writeln!(text, "{}", source.text);
            if !source.tasks.is_empty() {
                text += "struct Tasks {\nstd::string fault;\n";
                for task in &source.tasks {
                    let name = &task.name;
                    let _ = writeln!(
                        text,
                        "template <typename... A> void {name}(A... a) {{ fault += pto::host::run([&] {{ {name}_kernel::{name}_body(a...); }}); }}"
                    );
                }
                text += "};\n";
            }
            if let Some(which) = &self.left_out {
                let found = synchronisations(text.lines().skip(first - 1)).into_iter().enumerate();
                let some = found.filter(|(number, _)| which(*number));
                left_out.extend(some.map(|(_, (line, is_inner))| (at, first + line, is_inner)));
            }
            text += "}\n";
        }
        self.runs_of(&mut text, &left_out);
        (text, left_out.into_iter().map(|(.., is_inner)| is_inner).collect())
    }

    /// A function for each kernel, a table of the runs with what they are given, one of the synchronisations that are left out, and the main function: code
    /// for each run by itself would take a compiler longer than the kernels do.
    fn runs_of(&self, text: &mut String, left_out: &[(usize, usize, bool)]) {
        let _ = writeln!(text, "[[maybe_unused]] static constexpr size_t exchanged = {};", self.exchanged);
        *text += RUN;
        for (at, source) in self.texts.iter().enumerate() {
            let given = (0..source.arguments.len()).map(|place| format!("given[{place}]"));
            let body = if source.tasks.is_empty() {
                let given: Vec<String> = given.collect();
                let given = given.join(", ");
                format!("return pto::host::run([&] {{ case_{at}::k_kernel::k_body({given}); }});")
            } else {
                let given: Vec<String> = std::iter::once("tasks".to_owned()).chain(given).collect();
                let given = given.join(", ");
                format!("case_{at}::Tasks tasks; case_{at}::k_kernel::k_tasks({given}); return tasks.fault;")
            };
            let _ = writeln!(text, "static std::string body_{at}(const Given* given) {{ {body} }}");
        }
        let most = self.texts.iter().map(|source| source.arguments.len()).max().unwrap_or(0);
        let _ = writeln!(text, "static const struct {{ Body body; Given given[{most}]; }} runs[] = {{");
        for (at, run) in self.runs.iter().enumerate() {
            let arguments = &self.texts[run.kernel].arguments;
            let given: Vec<String> = arguments.iter().map(|of| run.argument(&of.name, at)).collect();
            let _ = writeln!(text, "{{body_{}, {{{}}}}},", run.kernel, given.join(", "));
        }
        *text += "};\n[[maybe_unused]] static const struct { int line, first, end; } omissions[] = {\n";
        for (kernel, line, _) in left_out {
            // Those of a kernel stand together.
            let first = self.runs.partition_point(|run| run.kernel < *kernel);
            let end = self.runs.partition_point(|run| run.kernel <= *kernel);
            let _ = writeln!(text, "{{{line}, {first}, {end}}},");
        }
        // No array is empty.
        *text += "{0, 0, 0}};\nint main() {\npto::host::on_fault = pto::host::OnFault::Record;\n\
                  int number = 0;\nfor (const auto& of : runs) { run(number++, of.body, of.given, true); }\n\
                  pto::host::omits = is_line;\nfor (const auto& gone : omissions) {\nif (gone.line == 0) { break; }\n\
                  line = gone.line;\nfor (int at = gone.first; at < gone.end; ++at) { run(at, runs[at].body, runs[at].given, false); }\n\
                  std::puts(\"\");\n}\nreturn 0;\n}\n";
    }
}

/// What runs a kernel: it is given numbers, and tensors from files; of `x`, which is number 1, of `y`, which is 2, or blank ones.
const RUN: &str = "static pto::host::Tensors all;\nstatic float* x = nullptr;\nstatic float* y = nullptr;
struct Given {
    const char* file;
    uint32_t number;
    void* tensor() const {
        if (file != nullptr) { return all.read(file); }
        return number == 1 ? x : number == 2 ? y : all.blank(\"exchange\", exchanged);
    }
    template <typename T> operator T*() const { return static_cast<T*>(tensor()); }
    operator uint32_t() const { return number; }
};
using Body = std::string (*)(const Given*);
static void run(int number, Body body, const Given* given, bool keep) {
    x = static_cast<float*>(all.read(\"x.bin\"));
    y = static_cast<float*>(all.read(\"zeros.bin\"));
    std::string fault = body(given);
    for (char& c : fault) { if (c == '\\n') { c = ' '; } }
    std::printf(\"%d %s%s\", number, fault.c_str(), keep ? \"\\n\" : \" \");
    if (keep) { all.write(y, \"y_\" + std::to_string(number) + \".bin\"); }
    all.clear();
}
static int line = 0;
static bool is_line(const pto::host::Sync& sync) { return sync.site.line == line && std::strcmp(sync.site.file, \"main.cpp\") == 0; }
";

impl Run {
    /// The argument of this run, which has a number, that has a name.
    fn argument(&self, name: &str, at: usize) -> String {
        match self.case.given.get(name) {
            Some(Given::Number(n)) => return format!("{{nullptr, {n}u}}"),
            Some(_) => return format!("{{\"{}\", 0u}}", file_of(name, at)),
            None => {}
        }
        let number = match name {
            "x_gm" => 1,
            "y_gm" => 2,
            _ if name.starts_with("exchange_") || name.starts_with("slot_") => 0,
            _ => {
                let word = ["desc_a", "desc_b", "desc_c", "desc_d"].iter().position(|known| *known == name);
                self.case.words[word.unwrap_or_else(|| panic!("an argument {name}"))]
            }
        };
        format!("{{nullptr, {number}u}}")
    }
}

/// Where two results are further apart than they may be.
pub(crate) fn differs(have: &[f32], want: &[f32], tolerance: Tolerance) -> Option<String> {
    let near = |a: f32, b: f32| {
        a.to_bits() == b.to_bits()
            || a == b
            || (a.is_nan() && b.is_nan())
            || (a - b).abs() <= tolerance * b.abs().max(1.0)
    };
    let at = have.iter().zip(want).position(|(a, b)| !near(*a, *b))?;
    let (row, col) = (at / COLS, at % COLS);
    Some(format!("y[{row}, {col}] is {} and should be {}", have[at], want[at]))
}

/// The lines of a text that are a synchronisation, by their number from 0, and whether each is inside of the block of an instruction.
pub(crate) fn synchronisations<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(usize, bool)> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let (mut found, mut inside) = (Vec::new(), None);
    for (at, line) in lines.enumerate() {
        let text = line.trim_start();
        if inside.is_some_and(|around| depth(line) <= around) {
            inside = None;
        }
        if inside.is_none() && text.starts_with("{  // %") {
            inside = Some(depth(line));
        }
        let words = ["set_flag(", "wait_flag(", "pipe_barrier(", "set_intra_block(", "wait_intra_block("];
        if words.iter().any(|word| text.starts_with(word)) {
            found.push((at, inside.is_some()));
        }
    }
    found
}

/// The host's compiler for bodies of kernels: each warning is an error.
pub(crate) fn compile(chip: Chip) -> Command {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("host/include");
    let mut compile = Command::new(compiler());
    compile.args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]);
    compile.args(["-DWSP_BODY_ONLY", &format!("-DPTO_PLATFORM={}", chip.name()), "-I"]).arg(include);
    compile
}

/// What a command prints that is to succeed.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let mut errors = String::from_utf8_lossy(&output.stderr).into_owned();
    errors.truncate(errors.char_indices().nth(6000).map_or(errors.len(), |(at, _)| at));
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).expect("the output is text")
}

/// The file of an array that a run is given.
fn file_of(name: &str, run: usize) -> String {
    format!("{name}_{run}.bin")
}

fn bytes(path: &PathBuf, values: &[f32]) {
    words(path, values.iter().map(|value| value.to_bits()));
}

#[expect(clippy::disallowed_methods, reason = "a test hands arrays to what it has compiled")]
fn words(path: &PathBuf, values: impl Iterator<Item = u32>) {
    let all: Vec<u8> = values.flat_map(u32::to_le_bytes).collect();
    std::fs::write(path, all).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a test takes arrays from what it has compiled")]
fn floats(path: &PathBuf) -> Vec<f32> {
    let all = std::fs::read(path).unwrap();
    all.chunks_exact(4).map(|raw| f32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]])).collect()
}
