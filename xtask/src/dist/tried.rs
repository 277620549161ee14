//! What was made for others, used where nothing of the project is: a virtual environment, or a folder and no environment variables.

use super::{Dist, Machine, copied, succeeds};
use crate::deep::Outcome;
use crate::python::Environment;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, Stdio};

/// Examples with numbers of their own, and what they use.
const EXAMPLES: [&str; 3] =
    ["examples/python/rmsnorm.py", "examples/python/decode.py", "examples/python/reference.py"];

/// Runs them, with what is installed.
const SCRIPT: &str = "
import pathlib, sys
import pto_wsp, rmsnorm, decode
assert pathlib.Path(pto_wsp.__file__).is_relative_to(sys.prefix), pto_wsp.__file__
assert rmsnorm.main() < 1e-5 and decode.main() < 1e-4
";

/// The program of the README.
const DECODE: &str = "examples/decode_attention.pto";

/// Installs a wheel into an empty environment and runs examples.
pub(super) fn wheel(dist: &Dist<'_>, machine: Machine) -> Result<Outcome> {
    let file = dist.wheel_file(machine);
    if !file.is_file() {
        return Ok(Outcome::Skipped(format!("{} has not been made", file.display())));
    }
    if machine.name() != std::env::consts::ARCH {
        return Ok(Outcome::Skipped(format!("no Python for {} is here", machine.name())));
    }
    let folder = dist.folder.join("try");
    emptied(&folder)?;
    let output = &mut std::io::stdout();
    let environment = Environment::empty(dist.project, &folder.join("v"), output)?;
    if !environment.pip_installs(dist.project, &["numpy"], output)? {
        return Ok(Outcome::Skipped("NumPy cannot be installed, which needs a network".to_owned()));
    }
    let wheel = file.to_string_lossy();
    if !environment.pip_installs(dist.project, &["--no-deps", "--no-index", &wheel], output)? {
        return Ok(Outcome::Ran(false));
    }
    copied(dist.project.root(), &EXAMPLES, &folder)?;
    let mut python = environment.python(dist.project, &["-c", SCRIPT]);
    Ok(Outcome::Ran(succeeds(python.env_clear().current_dir(&folder))?))
}

/// Runs attention with the program of an archive alone.
pub(super) fn program(dist: &Dist<'_>, machine: Machine) -> Result<Outcome> {
    let archive = dist.program_folder(machine).with_added_extension("tar.gz");
    if !archive.is_file() {
        return Ok(Outcome::Skipped(format!("{} has not been made", archive.display())));
    }
    let runner = match machine.runner() {
        Ok(runner) => runner,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let folder = dist.folder.join("try");
    emptied(&folder)?;
    let mut tar = Command::new("tar");
    tar.args(["--strip-components=1", "-xf"]).arg(&archive).arg("-C").arg(&folder);
    anyhow::ensure!(succeeds(&mut tar)?, "{} cannot be unpacked", archive.display());
    copied(dist.project.root(), &[DECODE], &folder)?;
    let wsp = folder.join("wsp");
    let mut command = Command::new(runner.map_or(wsp.as_path(), Path::new));
    command.env_clear().current_dir(&folder).stdin(Stdio::null());
    if runner.is_some() {
        // The emulator is found by name.
        command.arg(&wsp).envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    }
    command.args(["run", "decode_attention.pto"]);
    let output = command.output().with_context(|| format!("{command:?}"))?;
    let told = String::from_utf8_lossy(&output.stdout);
    print!("{told}{}", String::from_utf8_lossy(&output.stderr));
    let checked = told.lines().filter(|line| line.contains("check ") && line.contains(" ok: ")).count();
    Ok(Outcome::Ran(output.status.success() && checked == 2))
}

/// Makes a folder with nothing in it.
pub(super) fn emptied(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))
}

/// Whether a program of 64 bits names no loader, which a program with libraries that are found when it starts does.
pub(super) fn is_static(elf: &[u8]) -> bool {
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let mut whole = [0; 8];
        whole[..bytes].copy_from_slice(elf.get(at..at + bytes)?);
        usize::try_from(u64::from_le_bytes(whole)).ok()
    };
    let headers = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let Some((first, size, count)) = headers().filter(|_| elf.starts_with(b"\x7fELF\x02\x01")) else {
        return false;
    };
    const LOADER: usize = 3;
    count > 0 && (0..count).all(|at| number(first + at * size, 4).is_some_and(|kind| kind != LOADER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_a_loader_is_static() {
        let mut elf = vec![0_u8; 64 + 2 * 56];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (elf[32], elf[54], elf[56]) = (64, 56, 2);
        (elf[64], elf[64 + 56]) = (1, 2);
        assert!(is_static(&elf));
        elf[64 + 56] = 3;
        assert!(!is_static(&elf));
        assert!(!is_static(&elf[..60]) && !is_static(b"#!/bin/sh") && !is_static(b""));
        let own = std::fs::read(std::env::current_exe().expect("this program")).expect("it is read");
        assert!(!is_static(&own));
    }
}
