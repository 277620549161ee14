//! Tests of kernels for AArch64 on another machine: compiled here, run by QEMU.

use crate::project::Project;
use crate::runners::{self, Tally};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What rustc calls the other machine.
const TARGET: &str = "aarch64-unknown-linux-gnu";
/// The C compiler that links for it.
const LINKER: &str = "aarch64-linux-gnu-gcc";
/// Programs that run what was built for it; the first that is here is taken.
const EMULATORS: [&str; 2] = ["qemu-aarch64-static", "qemu-aarch64"];

/// What is tested there: the kernels and both engines, then the attention programs with them, which take some minutes.
pub(crate) const TESTS: [&[&str]; 2] = [
    &["--package", "wsp-simd", "--package", "wsp-kernel", "--lib", "--tests"],
    &["--release", "--package", "wsp-cli", "--test", "it", "attention::"],
];

/// Runs the tests; whether all passed. Nothing is run when a tool is missing.
pub(crate) fn test(project: &Project, tally: &mut Tally) -> Result<bool> {
    if cfg!(target_arch = "aarch64") {
        println!("this machine is AArch64: `cargo xtask test` runs these tests");
        return Ok(true);
    }
    let missing = missing_tools(project)?;
    anyhow::ensure!(missing.is_empty(), "{}", missing.join("\n       "));
    let emulator = emulator().context("an emulator should have been found")?;
    let (libraries, name) = (libraries()?, TARGET.replace('-', "_").to_uppercase());
    let mut passed = true;
    for what in TESTS {
        let mut command = project.cargo(&["test", "--no-fail-fast", "--target", TARGET]);
        command.args(what).env(format!("CARGO_TARGET_{name}_LINKER"), LINKER);
        command.env(format!("CARGO_TARGET_{name}_RUNNER"), emulator).env("QEMU_LD_PREFIX", &libraries);
        passed &= runners::counted(command, runners::result_line, tally, &mut std::io::stdout())?;
    }
    Ok(passed)
}

/// The tools that the tests need and that are not here: none on the machine itself.
pub(crate) fn missing_tools(project: &Project) -> Result<Vec<String>> {
    if cfg!(target_arch = "aarch64") {
        return Ok(Vec::new());
    }
    Ok(missing(has_target(project, TARGET)?, works(LINKER), emulator().is_some()))
}

/// A program that runs what was built for the other machine.
pub(crate) fn emulator() -> Option<&'static str> {
    EMULATORS.into_iter().find(|name| works(name))
}

/// A line for each tool that is not here, with the command that gets it.
fn missing(target: bool, linker: bool, emulator: bool) -> Vec<String> {
    let all = [
        (target, "the standard library for AArch64", format!("rustup target add {TARGET}")),
        (linker, LINKER, "apt install gcc-aarch64-linux-gnu".to_owned()),
        (emulator, EMULATORS[0], "apt install qemu-user-static".to_owned()),
    ];
    let absent = all.into_iter().filter(|(here, ..)| !here);
    absent.map(|(_, what, command)| format!("{what} is missing; get it with `{command}`")).collect()
}

/// Whether a program can be run.
pub(crate) fn works(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether rustc has a standard library for a target.
pub(crate) fn has_target(project: &Project, target: &str) -> Result<bool> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.args(["--print", "target-libdir", "--target", target]).current_dir(project.root());
    Ok(Path::new(&printed(&mut command)?).is_dir())
}

/// The folder below which the C library for the target lies in `lib`: programs are linked against it dynamically.
fn libraries() -> Result<PathBuf> {
    let loader = printed(Command::new(LINKER).arg("-print-file-name=ld-linux-aarch64.so.1"))?;
    let loader = std::fs::canonicalize(&loader)
        .with_context(|| format!("{LINKER} has no C library; `apt install libc6-dev-arm64-cross` gets it"))?;
    let folder = loader.ancestors().nth(2).context("the loader should lie in a folder")?;
    Ok(folder.to_owned())
}

/// The one line that a command prints.
fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("{command:?} cannot be run"))?;
    anyhow::ensure!(output.status.success(), "{command:?} failed");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_tool_is_named_with_the_command_that_gets_it() {
        assert!(missing(true, true, true).is_empty());
        let lines = missing(false, true, false);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].ends_with("get it with `rustup target add aarch64-unknown-linux-gnu`"), "{lines:?}");
        assert!(lines[1].starts_with("qemu-aarch64-static is missing"), "{lines:?}");
    }

    #[test]
    fn a_program_that_is_not_there_does_not_work() {
        assert!(!works("a-program-that-nobody-has"));
    }
}
