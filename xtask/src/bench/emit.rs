//! `cargo xtask bench emit [--json]`: what packages for Ascend cost.
//!
//! | row | ceiling |
//! |---|---|
//! | emission of each example by `wsp emit`, processor time from the start of the program to its end, best of 10 | 50 ms |
//! | bytes of a package for a large launch, over those for a small one; of orchestration where kernels are made for their extents | 1 |
//! | emitted loops that generate tasks, per task | bytecode that is interpreted |
//! | an AICPU's calls of its sink per task, with the scheduling that they do, on this machine | 300 ns |

use crate::project::Project;
use crate::readme;
use crate::times;
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs of each example.
const ROUNDS: usize = 10;
/// Milliseconds of a processor that emission may take; it runs on one.
const MOST_MS: f64 = 50.0;
/// Nanoseconds of a submission.
const MOST_NS: f64 = 300.0;

/// Examples, and arrays like those of their launches.
const EXAMPLES: [(&str, &str); 12] = [
    ("decode_attention.pto", "len=200/64/7/300"),
    ("decode_graph.pto", "len=300/7/0/520,heads=4/2,dim=32"),
    ("row_softmax.pto", ""),
    ("ragged_prefill/prefill.pto", ""),
    ("topk_indexer/indexer.pto", ""),
    ("moe/moe.pto", ""),
    ("llama_layer/layer.pto", ""),
    ("attention/mla.pto", ""),
    ("attention/cascade.pto", ""),
    ("attention/gpt_oss.pto", ""),
    ("attention/prefill_decode.pto", ""),
    ("attention/rope_speculative.pto", ""),
];

/// Launches of different size of one program.
const SIZES: [(&str, [&str; 2]); 2] = [
    ("decode_attention.pto", ["len=1", "len=70000/3/5/9"]),
    ("row_softmax.pto", ["rows=1024,cols=256", "rows=65536,cols=256"]),
];

/// Programs whose kernels are made for a number of tokens.
const TOKENS: [&str; 2] = ["llama_layer/layer.pto", "llama_layer/layer.wsp"];

/// A figure.
struct Row {
    name: String,
    unit: &'static str,
    ours: f64,
    ceiling: f64,
}

/// Measures, and prints a line per figure, or all as JSON; whether none is above its ceiling.
pub(super) fn run(project: &Project, words: &[&str]) -> Result<bool> {
    let as_json = match words {
        [] => false,
        ["--json"] => true,
        _ => bail!("usage: cargo xtask bench emit [--json]"),
    };
    let folder = project.target().join("tmp").join("bench-emit");
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    build(project)?;
    let mut rows = Vec::new();
    for (file, spec) in EXAMPLES {
        let mut best = f64::INFINITY;
        for _ in 0..ROUNDS {
            best = best.min(emitted(project, &folder, file, &["--generate", spec])?.0);
        }
        rows.push(Row { name: format!("emission of {file}"), unit: "ms", ours: best, ceiling: MOST_MS });
    }
    for (file, specs) in SIZES {
        let [small, large] = specs.map(|spec| emitted(project, &folder, file, &["--generate", spec]));
        let (ours, ceiling) = (bytes(&large?.1)?, bytes(&small?.1)?);
        rows.push(Row { name: format!("{file} for a large launch"), unit: "bytes", ours, ceiling });
    }
    for file in TOKENS {
        let [small, large] = ["seq=1024", "seq=65536"].map(|set| {
            let (_, files) = emitted(project, &folder, file, &["--generate", "--set", set])?;
            bytes(files.iter().filter(|path| path.ends_with("/orchestration.cpp")))
        });
        let name = format!("orchestration of {file} for 65,536 tokens");
        rows.push(Row { name, unit: "bytes", ours: large?, ceiling: small? });
    }
    let [ours, ceiling] = ["loops", "bytecode"].map(|expand| generated(project, &folder, expand));
    rows.push(Row { name: "generation of a task".into(), unit: "ns", ours: ours?, ceiling: ceiling? });
    rows.push(Row {
        name: "submission of a task".into(),
        unit: "ns",
        ours: submission(project, &folder)?,
        ceiling: MOST_NS,
    });
    if as_json {
        let row = |row: &Row| json!({ "name": row.name, "measure": row.unit, "ours": row.ours, "ceiling": row.ceiling, "ratio": row.ours / row.ceiling });
        println!("{}", json!({ "rows": rows.iter().map(row).collect::<Vec<_>>() }));
    } else {
        println!("Emission is processor time, the best of {ROUNDS} runs.");
        println!("{:<64}{:>12}{:>12}{:>8}", "", "ours", "ceiling", "ratio");
        for Row { name, unit, ours, ceiling } in &rows {
            println!("{:<64}{ours:>12.1}{ceiling:>12.1}{:>8.2}", format!("{name}, {unit}"), ours / ceiling);
        }
    }
    Ok(rows.iter().all(|row| row.ours <= row.ceiling))
}

/// Builds `wsp` by the README's command.
fn build(project: &Project) -> Result<()> {
    let text =
        std::fs::read_to_string(project.root().join("README.md")).context("README.md cannot be read")?;
    let run = readme::first_run(&text).context("README.md shows no `cargo run …` in a `sh` block")?;
    let mut cargo = project.cargo(&["build", "--package", "wsp-cli"]);
    ensure!(
        cargo.args(readme::build_options(run)).stdin(Stdio::null()).status()?.success(),
        "the build failed"
    );
    Ok(())
}

/// Milliseconds of a processor that an emission takes, and the files that it writes.
fn emitted(project: &Project, folder: &Path, file: &str, options: &[&str]) -> Result<(f64, Vec<String>)> {
    let to = folder.join("package");
    // What the round before left.
    let _ = std::fs::remove_dir_all(&to);
    let mut command = Command::new(project.program());
    command
        .current_dir(project.root().join("examples"))
        .args(["emit", file, "--target", "a2", "-o"])
        .arg(&to);
    command.args(options);
    let (seconds, output) = times::taken(|| command.output().context("wsp cannot be run"))?;
    ensure!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok((seconds * 1e3, String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()))
}

/// How long files are together.
fn bytes<'a>(files: impl IntoIterator<Item = &'a String>) -> Result<f64> {
    let mut bytes = 0;
    for path in files {
        bytes += std::fs::metadata(path).with_context(|| format!("{path} is not there"))?.len();
    }
    Ok(bytes as f64)
}

/// Nanoseconds per task of the orchestration of a package whose tasks go to a sink that counts them.
fn generated(project: &Project, folder: &Path, expand: &str) -> Result<f64> {
    let sources = project.root().join("xtask/src/bench/emit");
    let file = sources.join("tasks.wsp").display().to_string();
    emitted(project, folder, &file, &["--expand", expand])?;
    let to = folder.join("package");
    std::fs::copy(sources.join("timed.cpp"), to.join("timed.cpp"))?;
    std::fs::create_dir_all(to.join("inputs"))?;
    let mut command = Command::new(compiler());
    command.current_dir(&to).args(["-std=c++17", "-O2", "-pthread", "-DPTO_PLATFORM=a2", "-DWSP_ONE_FILE"]);
    command.args(["-I.", "-Iinclude", "-Ihost"]);
    // All of the package but its own program.
    for within in ["", "host"] {
        for entry in std::fs::read_dir(to.join(within))? {
            let name = Path::new(within).join(entry?.file_name());
            if name.extension().is_some_and(|end| end == "cpp") && name != Path::new("main.cpp") {
                command.arg(name);
            }
        }
    }
    if expand == "bytecode" {
        command.arg(device_library(project)?);
    }
    let built =
        command.args(["-Wl,--gc-sections", "-o", "timed"]).status().context("no C++ compiler runs")?;
    ensure!(built.success(), "the orchestration is not compiled");
    let mut timed = Command::new(to.join("timed"));
    timed.current_dir(&to).args(["--inputs", "inputs", "--outputs", "outputs.npz", "--serial"]);
    let text = String::from_utf8(timed.output().context("the orchestration does not run")?.stdout)?;
    let figure = text.split_once(" tasks, ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    figure.with_context(|| format!("the orchestration says {text:?}"))
}

/// Builds the interpreter that packages link.
fn device_library(project: &Project) -> Result<PathBuf> {
    let mut cargo = project.cargo(&["rustc", "--package", "wsp-device", "--lib", "--profile", "device"]);
    cargo.args(["--crate-type", "staticlib", "--features", "panic-handler"]);
    ensure!(cargo.stdin(Stdio::null()).status()?.success(), "the interpreter is not built");
    Ok(project.target().join("device/libwsp_device.a"))
}

fn compiler() -> PathBuf {
    std::env::var_os("CXX").map_or_else(|| PathBuf::from("c++"), PathBuf::from)
}

/// Nanoseconds of a submission to the executor while its window has room, by the program of its tests.
fn submission(project: &Project, folder: &Path) -> Result<f64> {
    let crates = project.root().join("crates");
    let program = folder.join("executor");
    let compiler = compiler();
    let mut command = Command::new(&compiler);
    command.args(["-std=c++17", "-O2", "-pthread", "-o"]).arg(&program);
    for include in ["wsp-ascend/include", "wsp-ascend/host/include", "wsp-device/include"] {
        command.arg("-I").arg(crates.join(include));
    }
    command.arg(crates.join("wsp-ascend/tests/executor/executor.cpp"));
    let built = command.status().with_context(|| format!("{} cannot be run", compiler.display()))?;
    ensure!(built.success(), "the executor is not compiled");
    let output =
        Command::new(&program).args(["cost", "100000"]).output().context("the executor does not run")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let figure =
        text.lines().next().and_then(|line| line.split("; ").nth(1)?.split(' ').next()?.parse().ok());
    figure.with_context(|| format!("the executor says {text:?}"))
}
