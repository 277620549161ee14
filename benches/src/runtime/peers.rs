//! The programs of `benches/peers`: builds them where that is possible, runs them, reads what they print.

use super::measure::Span;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use wsp_cli::interrupt;

/// What one program measured on one graph, per task.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct GraphTimes {
    /// Building it, memory warm; none where tasks run while others are submitted.
    pub(super) build: Option<Span>,
    /// The first run of a graph.
    pub(super) run: Option<Span>,
    /// The next run of the same graph.
    pub(super) rerun: Option<Span>,
    /// Building and the first run.
    pub(super) total: Span,
    /// Bytes of the graph.
    pub(super) bytes: Option<f64>,
    /// Of the values of a checked run.
    pub(super) checksum: u64,
}

/// What one program measured on one Task Bench pattern.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Metg {
    /// Nanoseconds of the shortest task with an efficiency of one half; none if there is no such task.
    pub(super) ns: Option<f64>,
    /// Of the values of a checked run.
    pub(super) checksum: u64,
}

/// How a program is built.
struct Recipe {
    name: &'static str,
    libraries: &'static [&'static str],
    needs: &'static str,
}

/// The C++ programs, in the order of the table.
const RECIPES: [Recipe; 5] = [
    Recipe { name: "floor", libraries: &[], needs: "a C++20 compiler (Debian: `apt install g++`)" },
    Recipe {
        name: "tbb_counters",
        libraries: &["-ltbb"],
        needs: "oneTBB (Debian: `apt install libtbb-dev`)",
    },
    Recipe { name: "tbb_flow", libraries: &["-ltbb"], needs: "oneTBB (Debian: `apt install libtbb-dev`)" },
    Recipe {
        name: "taskflow",
        libraries: &[],
        needs: "Taskflow's headers: `--taskflow DIR` names the folder with `taskflow/taskflow.hpp`",
    },
    Recipe {
        name: "openmp_depend",
        libraries: &[],
        needs: "a C++ compiler with OpenMP 5 (Debian: `apt install g++`)",
    },
];

/// The peer in Rust: a crate of its own, so that nothing else depends on rayon.
const RAYON: &str = "rayon";

/// A program that is ready to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Peer {
    /// Its name.
    pub(super) name: &'static str,
    program: PathBuf,
}

/// Where programs come from and go to.
pub(super) struct Workshop<'a> {
    /// The folder with the sources.
    pub(super) sources: &'a Path,
    /// The folder for the programs.
    pub(super) programs: &'a Path,
    /// The folder with Taskflow's headers.
    pub(super) taskflow: Option<&'a Path>,
}

impl Workshop<'_> {
    /// Builds what can be built; says of the others what they lack.
    ///
    /// # Errors
    /// The folder for the programs cannot be made.
    pub(super) fn build(&self, mut progress: impl FnMut(&str)) -> Result<(Vec<Peer>, Vec<String>), String> {
        std::fs::create_dir_all(self.programs)
            .map_err(|fault| format!("{} cannot be made: {fault}", self.programs.display()))?;
        let (mut peers, mut missing) = (Vec::new(), Vec::new());
        for recipe in &RECIPES {
            progress(&format!("building {}", recipe.name));
            match self.compile(recipe) {
                Ok(program) => peers.push(Peer { name: recipe.name, program }),
                Err(fault) => {
                    missing.push(format!("{} is left out: it needs {} ({fault})", recipe.name, recipe.needs));
                }
            }
        }
        progress("building rayon");
        match self.rayon() {
            Ok(program) => peers.push(Peer { name: RAYON, program }),
            Err(fault) => {
                missing.push(format!("rayon is left out: it needs cargo and the crate rayon ({fault})"))
            }
        }
        Ok((peers, missing))
    }

    fn compile(&self, recipe: &Recipe) -> Result<PathBuf, String> {
        let program = self.programs.join(recipe.name);
        let mut compiler = Command::new("g++");
        compiler
            .args(["-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-fopenmp", "-pthread", "-o"])
            .arg(&program);
        if let (Some(headers), "taskflow") = (self.taskflow, recipe.name) {
            compiler.arg("-I").arg(headers);
        }
        compiler.arg(self.sources.join(format!("{}.cpp", recipe.name))).args(recipe.libraries);
        finish(compiler, "g++")?;
        Ok(program)
    }

    fn rayon(&self) -> Result<PathBuf, String> {
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--quiet", "--release", "--manifest-path"]);
        cargo.arg(self.sources.join("rayon/Cargo.toml")).arg("--target-dir").arg(self.programs);
        finish(cargo, "cargo")?;
        Ok(self.programs.join("release").join("peer-rayon"))
    }
}

/// Runs a compiler; its first complaint is the error.
fn finish(mut command: Command, name: &str) -> Result<(), String> {
    let output = interrupt::output(&mut command).map_err(|fault| format!("{name}: {fault}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let complaint = text.lines().find(|line| line.contains("error")).or_else(|| text.lines().next());
    Err(complaint.unwrap_or("it failed without a word").trim().to_owned())
}

impl Peer {
    /// Measures a graph: `size` tasks or about as many.
    ///
    /// # Errors
    /// The program failed, or found that a task ran too early or not at all.
    pub(super) fn graph(
        &self,
        pattern: &str,
        size: u32,
        workers: u32,
        repeats: u32,
    ) -> Result<GraphTimes, String> {
        let line = self.run("graph", pattern, &[size, workers, repeats])?;
        graph_times(&line).ok_or_else(|| format!("{} printed {line}", self.name))
    }

    /// Measures a Task Bench pattern.
    ///
    /// # Errors
    /// As [`Peer::graph`].
    pub(super) fn metg(
        &self,
        pattern: &str,
        width: u32,
        steps: u32,
        workers: u32,
        repeats: u32,
    ) -> Result<Metg, String> {
        let line = self.run("metg", pattern, &[width, steps, workers, repeats])?;
        metg(&line).ok_or_else(|| format!("{} printed {line}", self.name))
    }

    fn run(&self, what: &str, pattern: &str, numbers: &[u32]) -> Result<Value, String> {
        let numbers = numbers.iter().map(u32::to_string);
        let output = interrupt::output(Command::new(&self.program).args([what, pattern]).args(numbers));
        let output = output.map_err(|fault| format!("{}: {fault}", self.program.display()))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} on {pattern}: {} {}", self.name, output.status, text.trim()));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|fault| format!("{} printed no JSON: {fault}", self.name))
    }
}

fn graph_times(line: &Value) -> Option<GraphTimes> {
    let span = |name: &str| {
        let figure = |unit: &str| line[format!("{name}_{unit}")].as_f64();
        Some(Span { wall: figure("ns")?, cpu: figure("cpu_ns")? })
    };
    Some(GraphTimes {
        build: span("build"),
        run: span("run"),
        rerun: span("rerun"),
        total: span("total")?,
        bytes: line["bytes"].as_f64(),
        checksum: u64::from_str_radix(line["checksum"].as_str()?, 16).ok()?,
    })
}

fn metg(line: &Value) -> Option<Metg> {
    Some(Metg {
        ns: line["metg_ns"].as_f64(),
        checksum: u64::from_str_radix(line["checksum"].as_str()?, 16).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_line_of_a_peer_is_read() {
        let line = json!({
            "build_ns": 2.0, "build_cpu_ns": 1.5, "run_ns": null, "run_cpu_ns": null, "rerun_ns": 3.0,
            "total_ns": 5.5, "total_cpu_ns": 6.0, "bytes": null, "checksum": "00000000000000ff",
        });
        let times = graph_times(&line).unwrap();
        assert_eq!((times.build, times.run), (Some(Span { wall: 2.0, cpu: 1.5 }), None));
        assert_eq!((times.rerun, times.total.cpu, times.checksum), (None, 6.0, 255));
        assert_eq!(
            metg(&json!({ "metg_ns": 250.5, "checksum": "10" })),
            Some(Metg { ns: Some(250.5), checksum: 16 })
        );
        assert_eq!(graph_times(&json!({ "total_ns": 1.0 })), None);
        assert_eq!(metg(&json!({ "metg_ns": 1.0, "checksum": "x" })), None);
    }

    #[test]
    fn what_cannot_be_built_is_named_with_what_it_needs() {
        let dir = tempfile::tempdir().unwrap();
        let programs = dir.path().join("programs");
        let workshop = Workshop { sources: dir.path(), programs: &programs, taskflow: None };
        let (peers, missing) = workshop.build(|_| {}).unwrap();
        assert_eq!((peers, missing.len()), (Vec::new(), RECIPES.len() + 1));
        assert!(missing.iter().any(|m| m.contains("libtbb-dev")), "{missing:?}");
    }
}
