//! The binary as a script runs it, at the root of the repository, and folders of small files for it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program that is tested: the one that `WSP_PROGRAM` names, such as what users build, or else the one that was compiled with the tests.
pub(crate) fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        std::env::var("WSP_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_wsp").to_owned())
    });
    &PROGRAM
}

/// `wsp` with these arguments, without colours.
pub(crate) fn wsp(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.current_dir(root()).env("NO_COLOR", "1").args(args);
    command
}

/// Exit code, stdout, stderr of a command.
pub(crate) fn ended(mut command: Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Exit code, stdout, stderr of `wsp` with these arguments.
pub(crate) fn run(args: &[&str]) -> (i32, String, String) {
    ended(wsp(args))
}

/// What a command prints when all is well.
pub(crate) fn printed(args: &[&str]) -> String {
    let (code, out, err) = run(args);
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}: {out}");
    out
}

/// A folder with a few small files.
pub(crate) struct Folder(pub(crate) tempfile::TempDir);

impl Folder {
    pub(crate) fn with(files: &[(&str, &str)]) -> Folder {
        let folder = Folder(tempfile::tempdir().unwrap());
        for (name, text) in files {
            std::fs::write(folder.path(name), text).unwrap();
        }
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn at(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}
