//! What the operating system refuses, as diagnostics.

use pto_wsp::codes;
use pto_wsp::shared::shell::shell_word;
use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ordered::Arrange;

/// A path as shown to the user.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Opens a regular file to read.
pub(super) fn open(path: &Path) -> Result<File, Diagnostic> {
    open_sized(path).map(|(file, _)| file)
}

/// Opens a regular file to read; with its length in bytes.
pub(super) fn open_sized(path: &Path) -> Result<(File, u64), Diagnostic> {
    // Asked of the path first: to open a pipe is to wait for somebody who writes to it, and a device may have no end.
    let meta = std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
    let fault =
        |what: &str| Diagnostic::error(codes::FILE_UNREADABLE, format!("`{}` is {what}", shown(path)));
    if meta.is_dir() {
        return Err(fault("a directory").help("give a file in it"));
    }
    if !meta.is_file() {
        return Err(fault("not a regular file").help("save what it gives to a file on disk first"));
    }
    let file = File::open(path).map_err(|e| unreadable(path, &e))?;
    let bytes = file.metadata().map_err(|e| unreadable(path, &e))?.len();
    Ok((file, bytes))
}

/// A file that cannot be opened or read.
pub(super) fn unreadable(path: &Path, error: &Error) -> Diagnostic {
    let name = shown(path);
    match error.kind() {
        ErrorKind::NotFound => missing(path),
        ErrorKind::PermissionDenied => {
            Diagnostic::error(codes::FILE_UNREADABLE, format!("`{name}` may not be read"))
                .note(error.to_string())
                .help(format!("check its permissions: `ls -l {name}`"))
        }
        _ => Diagnostic::error(codes::FILE_UNREADABLE, format!("`{name}` cannot be read"))
            .note(error.to_string()),
    }
}

fn missing(path: &Path) -> Diagnostic {
    let fault = Diagnostic::error(codes::FILE_MISSING, format!("there is no file `{}`", shown(path)));
    let folder = match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return fault.help(format!("there is no folder `{}` either: check the path", shown(folder)));
    };
    let mut names: Vec<String> =
        entries.flatten().take(1000).map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.arrange();
    let wanted = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    match did_you_mean(&wanted, names.iter().map(String::as_str)) {
        Some(near) => fault.help(format!("did you mean `{}`?", shown(&path.with_file_name(near)))),
        None => fault.help("check the path"),
    }
}

/// A file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(codes::CANNOT_WRITE, format!("`{}` cannot be written", shown(path)))
        .note(error.to_string())
        .help("check that the folder exists, is writable and has room")
}

/// A file that is there, and cannot be opened to be written.
pub(super) fn not_replaced(path: &Path, error: &Error) -> Diagnostic {
    if error.kind() != ErrorKind::PermissionDenied {
        return unwritable(path, error);
    }
    let allow = match is_locked_by_mode(path) {
        true => format!(", or allow to replace this one: `chmod u+w {}`", shell_word(path)),
        false => String::new(),
    };
    Diagnostic::error(codes::CANNOT_WRITE, format!("`{}` is there, and may not be written", shown(path)))
        .note(error.to_string())
        .help(format!("give another file{allow}"))
}

/// Whether a file is of this user, who has not the permission to write it: of one of another user, or of one that is immutable, `chmod` changes nothing.
fn is_locked_by_mode(path: &Path) -> bool {
    let is_own = |about: &Metadata| about.uid() == nix::unistd::geteuid().as_raw();
    std::fs::metadata(path).is_ok_and(|about| is_own(&about) && about.mode() & 0o200 == 0)
}

/// What became of a result on standard output; a reader that is gone is no error.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn written(wrote: std::io::Result<()>) -> Result<(), Diagnostic> {
    match wrote {
        Err(fault) if fault.kind() != ErrorKind::BrokenPipe => {
            Err(Diagnostic::error(codes::CANNOT_WRITE, "standard output cannot be written")
                .note(fault.to_string())
                .help("send the output to a file on a disk that has room"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_file_that_may_not_be_written_the_file_is_named_and_not_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.npz");
        std::fs::File::create(&path).unwrap();
        let help = |kind: ErrorKind| not_replaced(&path, &Error::from(kind)).help.join("");
        assert_eq!(help(ErrorKind::PermissionDenied), "give another file", "its mode allows it");
        assert!(help(ErrorKind::StorageFull).contains("has room"));
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
        let said = help(ErrorKind::PermissionDenied);
        assert!(said.ends_with(&format!("`chmod u+w '{}'`", path.display())), "{said}");
    }

    /// No user may write it, whatever their rights.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_output_that_is_there_and_may_not_be_written_is_named() {
        let path = "/proc/sys/kernel/osrelease";
        let fault = crate::files::Output::at(Path::new(path)).unwrap_err();
        assert_eq!(fault.message, format!("`{path}` is there, and may not be written"));
    }
}
