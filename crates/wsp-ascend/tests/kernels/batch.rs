//! Many kernels in one program of the host.

use crate::bench::{COLS, Kernel, ROWS, element, told};
use crate::toolchain::{compiler, write};
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

/// A run of a kernel.
struct Run {
    name: String,
    kernel: usize,
    words: [u32; 4],
    want: Vec<f32>,
    tolerance: Tolerance,
}

/// Kernels of one platform, and the runs of them.
pub(crate) struct Batch {
    chip: Chip,
    name: &'static str,
    texts: Vec<KernelSource>,
    runs: Vec<Run>,
}

impl Batch {
    pub(crate) fn new(chip: Chip, name: &'static str) -> Batch {
        Batch { chip, name, texts: Vec::new(), runs: Vec::new() }
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
        self.texts.push(source);
        for words in words {
            let want = plain.plain(*words);
            let name = format!("{name} with {words:?}");
            self.runs.push(Run { name, kernel: self.texts.len() - 1, words: *words, want, tolerance });
        }
    }

    /// Compiles all kernels, runs all runs, and compares each result.
    pub(crate) fn run(&self) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels").join(format!(
            "{}_{}",
            self.name,
            self.chip.name()
        ));
        write(&folder.join("main.cpp"), &self.program());
        bytes(&folder.join("x.bin"), &(0..ROWS * COLS).map(element).collect::<Vec<_>>());
        bytes(&folder.join("zeros.bin"), &vec![0.0; ROWS * COLS]);
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("host/include");
        let mut compile = Command::new(compiler());
        compile.args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]);
        compile.args(["-DWSP_BODY_ONLY", &format!("-DPTO_PLATFORM={}", self.chip.name()), "-I"]).arg(include);
        compile.args(["main.cpp", "-o", "main"]).current_dir(&folder);
        succeed(&mut compile);
        let told = succeed(Command::new(folder.join("main")).current_dir(&folder));
        let mut wrong = String::new();
        for (at, (run, line)) in self.runs.iter().zip(told.lines()).enumerate() {
            let fault = line.split_once(' ').map_or("", |(_, fault)| fault);
            if !fault.is_empty() {
                let _ = writeln!(wrong, "{}: {fault}", run.name);
            } else if let Some(differs) = run.differs(&floats(&folder.join(format!("y_{at}.bin")))) {
                let _ = writeln!(wrong, "{}: {differs}", run.name);
            }
        }
        assert!(wrong.is_empty(), "{} in {}\n{wrong}", self.chip.name(), folder.display());
        assert_eq!(told.lines().count(), self.runs.len(), "{told}");
    }

    /// The program: each kernel in a namespace, and a main function that runs them one after another.
    fn program(&self) -> String {
        let mut text = String::from(
            "#include <cstdint>\n#include <cstddef>\n#include <cmath>\n#include <limits>\n#include <pto/pto-inst.hpp>\n\
             #include <pto/host-run.hpp>\n",
        );
        for (at, source) in self.texts.iter().enumerate() {
            let _ = writeln!(text, "namespace case_{at} {{");
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
            text += "}\n";
        }
        text += "struct Blank { void* at; template <typename T> operator T*() const { return static_cast<T*>(at); } };\n\
                 static pto::host::Tensors all;\n\
                 [[maybe_unused]] static Blank blank() { return {all.blank(\"exchange\", 1 << 20)}; }\n\
                 static void run(int number, std::string (*body)(float*, float*)) {\n\
                 float* x = static_cast<float*>(all.read(\"x.bin\"));\n\
                 float* y = static_cast<float*>(all.read(\"zeros.bin\"));\n\
                 std::string fault = body(x, y);\n\
                 for (char& c : fault) { if (c == '\\n') { c = ' '; } }\n\
                 std::printf(\"%d %s\\n\", number, fault.c_str());\n\
                 all.write(y, \"y_\" + std::to_string(number) + \".bin\");\n\
                 all.clear();\n}\n\
                 int main() {\npto::host::on_fault = pto::host::OnFault::Record;\n";
        for (at, run) in self.runs.iter().enumerate() {
            let arguments: Vec<String> =
                self.texts[run.kernel].arguments.iter().map(|name| run.argument(name)).collect();
            let source = &self.texts[run.kernel];
            let space = format!("case_{}::k_kernel", run.kernel);
            let body = if source.tasks.is_empty() {
                format!("return pto::host::run([&] {{ {space}::k_body({}); }});", arguments.join(", "))
            } else {
                let arguments = [vec!["tasks".to_owned()], arguments].concat().join(", ");
                format!(
                    "case_{}::Tasks tasks; {space}::k_tasks({arguments}); return tasks.fault;",
                    run.kernel
                )
            };
            let _ = writeln!(
                text,
                "run({at}, []([[maybe_unused]] float* x, [[maybe_unused]] float* y) -> std::string {{ {body} }});"
            );
        }
        text + "return 0;\n}\n"
    }
}

impl Run {
    fn argument(&self, name: &str) -> String {
        match name {
            "x_gm" => "x".to_owned(),
            "y_gm" => "y".to_owned(),
            _ if name.starts_with("exchange_") || name.starts_with("slot_") => "blank()".to_owned(),
            _ => {
                let word = ["desc_a", "desc_b", "desc_c", "desc_d"].iter().position(|known| *known == name);
                format!("{}u", self.words[word.unwrap_or_else(|| panic!("an argument {name}"))])
            }
        }
    }

    fn differs(&self, have: &[f32]) -> Option<String> {
        let near = |a: f32, b: f32| {
            a.to_bits() == b.to_bits()
                || a == b
                || (a.is_nan() && b.is_nan())
                || (a - b).abs() <= self.tolerance * b.abs().max(1.0)
        };
        let at = have.iter().zip(&self.want).position(|(a, b)| !near(*a, *b))?;
        let (row, col) = (at / COLS, at % COLS);
        Some(format!("y[{row}, {col}] is {} and should be {}", have[at], self.want[at]))
    }
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"));
    let mut errors = String::from_utf8_lossy(&output.stderr).into_owned();
    errors.truncate(errors.char_indices().nth(6000).map_or(errors.len(), |(at, _)| at));
    assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
    String::from_utf8(output.stdout).expect("the output is text")
}

#[expect(clippy::disallowed_methods, reason = "a test hands arrays to what it has compiled")]
fn bytes(path: &PathBuf, values: &[f32]) {
    let all: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(path, all).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "a test takes arrays from what it has compiled")]
fn floats(path: &PathBuf) -> Vec<f32> {
    let all = std::fs::read(path).unwrap();
    all.chunks_exact(4).map(|raw| f32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]])).collect()
}
