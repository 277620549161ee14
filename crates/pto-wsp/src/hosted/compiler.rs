//! What compiles and links a package.

use super::{PROGRAM, objects, said};
use crate::codes::NOT_BUILT;
use crate::shared::leftover::{output, start};
use std::ffi::OsString;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use wsp_ascend::{COMMON_SOURCES, OWN_SOURCES};
use wsp_diag::Diagnostic;

/// Options with which files are compiled, beside the level and the one of the platform.
pub(super) const OPTIONS: [&str; 6] =
    ["-std=c++17", "-pthread", "-DWSP_ONE_FILE", "-I.", "-Iinclude", "-Ihost"];
/// The level of files of a package's own: they call what instructions do, and most launches take less time than their compilation.
pub(super) const OWN_LEVEL: &str = "-O0";
/// The level of what all packages have in common, which is compiled once. `-O1` takes longer by half.
pub(super) const COMMON_LEVEL: &str = "-Og";
/// Options with which objects are linked.
pub(super) const LINK_OPTIONS: [&str; 1] = ["-pthread"];

/// A compiler of C++, and the platform that it compiles for.
pub(super) struct Compiler<'a> {
    pub(super) name: &'a OsString,
    pub(super) platform: &'a str,
}

impl Compiler<'_> {
    fn unable(&self, fault: &Error) -> Diagnostic {
        let message = format!("`{}` cannot be run", self.name.display());
        Diagnostic::error(NOT_BUILT, message).note(fault.to_string())
    }

    fn refused(&self, output: &Output) -> Diagnostic {
        let message = format!("`{}` does not compile the package", self.name.display());
        let note = match (said(output), output.status.success()) {
            (said, _) if !said.is_empty() => said,
            (_, true) => "it ends without a message, and has not written what it was to".to_owned(),
            (_, false) => format!("it ends with {}, without a message", output.status),
        };
        Diagnostic::error(NOT_BUILT, message)
            .note(note)
            .help("`wsp emit FILE --target ascend_910b -o FOLDER` writes it")
    }

    /// Compiles files of a package side by side at a level, to objects at the root of its folder.
    pub(super) fn compile(
        &self,
        folder: &Path,
        files: &[impl AsRef<str>],
        level: &str,
    ) -> Result<(), Diagnostic> {
        let (mut running, mut found) = (Vec::new(), None);
        for file in files {
            let mut command = Command::new(self.name);
            command
                .args(OPTIONS)
                .arg(level)
                .arg(format!("-DPTO_PLATFORM={}", self.platform))
                .arg("-c")
                .arg(format!("{}.cpp", file.as_ref()));
            // What a compiler leaves that is killed lies in the folder, and goes with it.
            command.current_dir(folder).env("TMPDIR", ".");
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            match start(&mut command) {
                Ok(started) => running.push((started, folder.join(objects::of(file.as_ref())))),
                // Those that run end before the folder goes in which they work.
                Err(fault) => {
                    found = Some(self.unable(&fault));
                    break;
                }
            }
        }
        for ((child, _leftover), object) in running {
            let fault = match child.wait_with_output() {
                Ok(output) if output.status.success() && object.is_file() => continue,
                Ok(output) => self.refused(&output),
                Err(fault) => self.unable(&fault),
            };
            found.get_or_insert(fault);
        }
        found.map_or(Ok(()), Err)
    }

    /// Links a package whose files are compiled.
    pub(super) fn link(&self, folder: &Path, library: Option<&PathBuf>) -> Result<(), Diagnostic> {
        let mut link = Command::new(self.name);
        let objects = OWN_SOURCES.iter().chain(&COMMON_SOURCES).map(|source| objects::of(source));
        link.args(objects).args(LINK_OPTIONS).args(["-o", PROGRAM]);
        if let Some(library) = library {
            // What cannot be reached of it is left out, and with it what would need more than the library has.
            link.arg(library).arg("-Wl,--gc-sections");
        }
        let output =
            output(link.current_dir(folder).env("TMPDIR", ".")).map_err(|fault| self.unable(&fault))?;
        if output.status.success() && folder.join(PROGRAM).is_file() {
            Ok(())
        } else {
            Err(self.refused(&output))
        }
    }
}
