//! `cargo xtask times`: processor seconds that a cold build takes, by crate.
//!
//! What is built is what the first command of the README runs, in a folder of its own that begins empty; words behind `times` are
//! further options of `cargo build`. Settings of profiles in the environment are left out, so this is the build that users have.
//!
//! Cargo calls this program in the place of rustc ([`wrap`]); it runs rustc, waits, and writes down the user and system time of rustc and
//! what that started, the linker included. Crates of one name are one row: build scripts and macros of a crate are compiled
//! as `build_script_build` or under their own names. The time of what remains, which is cargo itself and the runs of build scripts, is
//! the last row. Downloads take no processor time worth a row, waiting for a processor none.

use crate::project::Project;
use crate::readme;
use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The file to which a wrapper of rustc adds its line.
const LOG: &str = "WSP_TIMES_LOG";

/// In the place of rustc: runs it and notes what it took. None when this program was not called so.
pub(crate) fn wrap() -> Option<Result<ExitCode>> {
    let log = std::env::var_os(LOG)?;
    Some(run_rustc(Path::new(&log), &std::env::args_os().skip(1).collect::<Vec<_>>()))
}

fn run_rustc(log: &Path, command: &[OsString]) -> Result<ExitCode> {
    let (rustc, arguments) = command.split_first().context("cargo should name the compiler")?;
    let status = Command::new(rustc).args(arguments).status().context("rustc cannot be run")?;
    let name = arguments.iter().position(|word| word == "--crate-name").and_then(|at| arguments.get(at + 1));
    if let Some(name) = name {
        let line = format!("{} {}\n", name.display(), seconds(&children()?));
        // One write of a short line is not mixed with those of others.
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(log)?;
        file.write_all(line.as_bytes()).with_context(|| format!("{} cannot be written", log.display()))?;
    }
    Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)))
}

/// Processor seconds that a process took which is started and waited for in `f`, with those that it started.
pub(crate) fn taken<T>(f: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let before = seconds(&children()?);
    let made = f()?;
    Ok((seconds(&children()?) - before, made))
}

/// What the finished processes that this one started took, with those that they started.
fn children() -> Result<Usage> {
    getrusage(UsageWho::RUSAGE_CHILDREN).context("the system does not say what processes took")
}

fn seconds(usage: &Usage) -> f64 {
    let of = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    of(usage.user_time()) + of(usage.system_time())
}

/// Builds from nothing and prints the table; whether the build succeeded.
pub(crate) fn print(project: &Project, options: &[&str]) -> Result<bool> {
    let readme = project.root().join("README.md");
    let text = std::fs::read_to_string(readme).context("README.md cannot be read")?;
    let run = readme::first_run(&text).context("README.md shows no `cargo run …` in a `sh` block")?;
    let mut words = vec!["build"];
    words.extend(readme::build_options(run));
    words.extend(options);
    println!("$ cargo {}", words.join(" "));
    let folder = project.target().join("times");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("{} cannot be removed", folder.display()))?;
    }
    std::fs::create_dir_all(&folder)?;
    let log = folder.join("times.log");
    let mut cargo = project.cargo(&words);
    for (name, _) in
        std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PROFILE_"))
    {
        cargo.env_remove(name);
    }
    cargo.env("CARGO_TARGET_DIR", &folder).env("RUSTC_WRAPPER", std::env::current_exe()?).env(LOG, &log);
    let before = seconds(&children()?);
    let status = cargo.stdin(Stdio::null()).status().context("cargo cannot be run")?;
    if !status.success() {
        bail!("the build failed: what it took says nothing");
    }
    let lines = std::fs::read_to_string(&log).context("no call of rustc was noted")?;
    let all = seconds(&children()?) - before;
    print!("{}", table(&crates(&lines)?, all));
    std::fs::remove_dir_all(&folder)?;
    Ok(true)
}

/// The seconds of each crate in lines of name and seconds.
fn crates(lines: &str) -> Result<BTreeMap<&str, f64>> {
    let mut crates = BTreeMap::new();
    for line in lines.lines() {
        let (name, seconds) =
            line.split_once(' ').with_context(|| format!("`{line}` is no name and time"))?;
        let seconds: f64 = seconds.parse().with_context(|| format!("`{line}` has no time"))?;
        *crates.entry(name).or_default() += seconds;
    }
    crates.remove("___");
    ensure!(!crates.is_empty(), "nothing was compiled, so nothing was measured");
    Ok(crates)
}

/// The crates by what they took, what remains of `all`, and `all`.
fn table(crates: &BTreeMap<&str, f64>, all: f64) -> String {
    let mut rows: Vec<(&str, f64)> = crates.iter().map(|(name, seconds)| (*name, *seconds)).collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    rows.push(("cargo, build scripts", all - rows.iter().map(|row| row.1).sum::<f64>()));
    rows.push(("all", all));
    let mut text = format!("{:<32}{:>8}{:>7}\n", "", "CPU s", "%");
    for (name, seconds) in rows {
        let _ =
            writeln!(text, "{name:<32}{seconds:>8.1}{:>7.1}", 100.0 * seconds / all.max(f64::MIN_POSITIVE));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_one_name_are_one_row_and_the_rest_is_cargos() {
        let crates = crates("___ 0.25\nb 1.5\na 2\nbuild_script_build 0.5\nbuild_script_build 1\n")
            .expect("good lines");
        assert_eq!(
            table(&crates, 10.0),
            concat!(
                "                                   CPU s      %\n",
                "a                                    2.0   20.0\n",
                "b                                    1.5   15.0\n",
                "build_script_build                   1.5   15.0\n",
                "cargo, build scripts                 5.0   50.0\n",
                "all                                 10.0  100.0\n"
            )
        );
    }

    #[test]
    fn a_build_of_nothing_is_an_error() {
        for lines in ["", "___ 0.25\n"] {
            assert!(
                crates(lines).is_err_and(|fault| fault.to_string().contains("nothing was compiled")),
                "{lines}"
            );
        }
    }

    #[test]
    fn lines_that_are_cut_are_an_error() {
        for lines in ["a", "a 1\nb ", "a one"] {
            assert!(crates(lines).is_err_and(|fault| fault.to_string().contains('`')), "{lines}");
        }
    }
}
