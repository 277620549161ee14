//! Where the peers' programs and packages lie, and how they get there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use wsp_cli::interrupt;

/// What says that a folder holds the programs.
const MARK: &str = "common.py";
/// The program that installs the packages.
const INSTALLER: &str = "install.py";
/// The Python that is taken while nothing is installed.
const PYTHON: &str = "python3";

/// Where the peers lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The folder with their programs.
    pub(crate) programs: PathBuf,
    /// The folder with the packages that they need: a virtual environment of Python.
    pub(crate) packages: PathBuf,
}

impl Place {
    /// The programs of a folder; packages go beside the folder of this program: into `target/peers/decode`.
    ///
    /// # Errors
    /// The folder does not hold the programs.
    pub(crate) fn new(programs: &Path) -> Result<Place, String> {
        if !programs.join(MARK).is_file() {
            return Err(format!("`{}` is not the folder of the peers: it has no {MARK}", programs.display()));
        }
        let own = std::env::current_exe().ok();
        let target = own.as_deref().and_then(|own| own.parent()?.parent()).unwrap_or(Path::new("target"));
        Ok(Place { programs: programs.to_owned(), packages: target.join("peers/decode") })
    }

    /// The Python that has the packages, or the one of the system.
    pub(super) fn python(&self) -> PathBuf {
        let own = self.packages.join("bin/python");
        if own.is_file() { own } else { PathBuf::from(PYTHON) }
    }
}

/// Installs what can be installed, saying on the terminal what is done and what is missing.
///
/// # Errors
/// Not everything could be.
pub(crate) fn install(place: &Place) -> Result<(), String> {
    let program = place.programs.join(INSTALLER);
    let mut command = Command::new(PYTHON);
    let started = interrupt::start(command.arg(&program).arg(&place.packages).stdin(Stdio::null()));
    let status = started.and_then(|(mut child, _group)| child.wait());
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("`{}` could not install all of the peers", program.display())),
        Err(fault) => Err(format!("`{PYTHON}` cannot be started: {fault}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_programs_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Place::new(dir.path()).unwrap_err().ends_with("it has no common.py"));
        std::fs::write(dir.path().join(MARK), "").unwrap();
        assert!(Place::new(dir.path()).unwrap().packages.ends_with("peers/decode"));
    }

    #[test]
    fn the_installed_python_is_preferred() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place { programs: dir.path().to_owned(), packages: dir.path().join("packages") };
        assert_eq!(place.python(), Path::new(PYTHON));
        std::fs::create_dir_all(dir.path().join("packages/bin")).unwrap();
        std::fs::write(dir.path().join("packages/bin/python"), "").unwrap();
        assert_eq!(place.python(), dir.path().join("packages/bin/python"));
    }
}
