//! Files that are written: tried before the work whose results they take, replaced only when complete.

use super::archive::write_to;
use super::fault::{not_replaced, unwritable};
use super::partial::{beside, discard_in};
use super::place;
use crate::interrupt::{self, WorkFolder};
use pto_wsp::codes;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{BufWriter, ErrorKind, IsTerminal as _, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use wsp_diag::Diagnostic;
use wsp_plan::Arrays;

/// Ends of names that belong to other kinds of files than archives of arrays.
const OTHERS: [&str; 12] =
    ["npy", "json", "txt", "csv", "pto", "wsp", "tg", "ptog", "ptow", "ptows", "dot", "pending"];

/// Ends of names of programs and arrays.
const SOURCES: [&str; 9] = ["pto", "wsp", "tg", "ptog", "ptow", "ptows", "npz", "npy", "pending"];

/// Ends of names of files of which an assembler or disassembler writes one kind at a time, and of Python.
const ASSEMBLED: [&str; 10] = ["pto", "wsp", "tg", "ptog", "ptow", "ptows", "npz", "npy", "py", "pending"];

/// The name of an output in the folder that it is written in.
const PARTIAL: &str = "file";

/// A file whose path, folder and permissions were tried before the work.
#[derive(Debug)]
pub struct Output {
    /// As the user wrote it.
    path: PathBuf,
    /// The regular file that it names, through all links; none for devices and pipes, which are written as they are.
    file: Option<PathBuf>,
}

/// An output that is complete, but does not have its name yet.
#[derive(Debug)]
pub(crate) struct Filled {
    output: Output,
    /// The folder that it lies in; none of what is written as it is.
    partial: Option<WorkFolder>,
}

impl Output {
    /// Tries a path: its folder is there and takes files, and what stands there may be written.
    ///
    /// # Errors
    /// What hinders it.
    pub(crate) fn at(path: &Path) -> Result<Output, Diagnostic> {
        if path.as_os_str() == "-" {
            return Err(refused("`-` is no file: standard output has the summary").help("give a file"));
        }
        let name = path.display();
        let folder = |name: &dyn std::fmt::Display| {
            refused(format!("`{name}` is a directory")).help("give a file in it")
        };
        let output = |file| Output { path: path.to_owned(), file };
        match std::fs::metadata(path) {
            Ok(meta) if is_standard_output(&meta) => {
                let message = format!("`{name}` is standard output, which has the summary");
                return Err(refused(message).help("give a file"));
            }
            Ok(meta) if meta.is_dir() => return Err(folder(&name)),
            Ok(meta) if !meta.is_file() => return Ok(output(None)),
            Ok(_) => {
                let opened = OpenOptions::new().write(true).open(path);
                opened.map_err(|fault| not_replaced(path, &fault))?;
            }
            Err(fault) if fault.kind() == ErrorKind::NotFound => {}
            Err(fault) => return Err(unwritable(path, &fault)),
        }
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(folder(&name));
        }
        let file = target(path).map_err(|fault| unwritable(path, &fault))?;
        try_folder(path, &file)?;
        Ok(output(Some(file)))
    }

    /// Tries a path for statistics or a trace, which are no program: a source is not to be lost to a slip.
    ///
    /// # Errors
    /// As `Output::at`; a name that ends as those of programs and arrays do.
    pub fn data_at(path: &Path) -> Result<Output, Diagnostic> {
        let help = || format!("write `{}`", path.with_extension("json").display());
        refuse_ends(path, &SOURCES, "programs and arrays", help)?;
        Output::at(path)
    }

    /// Tries a path for what is assembled or disassembled: a file whose name ends in `end`, or as those of no other kind do.
    ///
    /// # Errors
    /// As [`Output::at`]; a name that ends as those of another kind of program and of arrays do.
    pub(crate) fn assembled_at(path: &Path, end: &str) -> Result<Output, Diagnostic> {
        let help = || format!("write `{}`", path.with_extension(end).display());
        let others: Vec<&str> = ASSEMBLED.into_iter().filter(|other| *other != end).collect();
        refuse_ends(path, &others, "files of another kind than is written", help)?;
        Output::at(path)
    }

    /// Tries a path for a page.
    ///
    /// # Errors
    /// As [`Output::at`]; a name that ends as those of programs, arrays and traces do.
    pub(crate) fn page_at(path: &Path) -> Result<Output, Diagnostic> {
        let help = || format!("write `{}`", path.with_extension("html").display());
        refuse_ends(
            path,
            &[&SOURCES[..], &["json", "pftrace"]].concat(),
            "programs, arrays and traces",
            help,
        )?;
        Output::at(path)
    }

    /// Tries a path for an archive of arrays, which is not written from beginning to end.
    ///
    /// # Errors
    /// As [`Output::at`]; a pipe, and a name that says that it is another kind of file.
    pub(crate) fn archive_at(path: &Path) -> Result<Output, Diagnostic> {
        let name = path.display();
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        if let Some(other) = extension.filter(|extension| OTHERS.contains(&extension.as_str())) {
            let message = format!("outputs are written as an archive, and `{name}` ends in `.{other}`");
            let archive = path.with_extension("npz");
            return Err(refused(message).help(format!("write `{}`", archive.display())));
        }
        let output = Output::at(path)?;
        if output.file.is_none() && std::fs::metadata(path).is_ok_and(|meta| is_pipe(&meta)) {
            let message = format!("`{name}` is a pipe, and an archive is not written from beginning to end");
            return Err(refused(message).help("give a file: `--outputs o.npz`"));
        }
        Ok(output)
    }

    /// Writes what `fill` gives; the file has its name only after [`keep`].
    ///
    /// # Errors
    /// When it cannot be written, or `fill` says so.
    pub(crate) fn fill(
        self,
        fill: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<Filled, Diagnostic> {
        self.fill_file(&mut |path| {
            let mut out = BufWriter::new(File::create(path)?);
            let written = fill(&mut out).and_then(|()| out.flush());
            // What could not be written is not tried again when the buffer goes.
            let _ = out.into_parts();
            written
        })
    }

    /// Writes a text.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn fill_text(self, text: &str) -> Result<Filled, Diagnostic> {
        self.fill(&mut |out| out.write_all(text.as_bytes()))
    }

    /// Writes arrays as an archive.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn fill_npz(self, arrays: &Arrays) -> Result<Filled, Diagnostic> {
        self.fill_file(&mut |path| write_to(path, arrays))
    }

    fn fill_file(self, write: &mut dyn FnMut(&Path) -> std::io::Result<()>) -> Result<Filled, Diagnostic> {
        let path = &self.path;
        let Some(file) = &self.file else {
            write(path).map_err(|fault| unwritable(path, &fault))?;
            return Ok(Filled { output: self, partial: None });
        };
        discard_in(around(file));
        let made = WorkFolder::new(&mut || beside(file)).and_then(|partial| {
            let within = partial.path().join(PARTIAL);
            write(&within)?;
            keep_permissions(file, &within)?;
            Ok(partial)
        });
        match made {
            Ok(partial) => Ok(Filled { partial: Some(partial), output: self }),
            Err(fault) => {
                // No message where a signal that ends the program has removed the folder: that goes on to the end.
                interrupt::whole(|| ());
                Err(unwritable(path, &fault))
            }
        }
    }
}

/// The permissions of the file that is replaced.
fn keep_permissions(file: &Path, partial: &Path) -> std::io::Result<()> {
    match std::fs::metadata(file) {
        Ok(meta) => std::fs::set_permissions(partial, meta.permissions()),
        Err(_) => Ok(()),
    }
}

/// Gives complete outputs their names: all of them, or none when a signal ends the program before.
///
/// # Errors
/// A file cannot be given its name.
pub(crate) fn keep(outputs: Vec<Filled>) -> Result<(), Diagnostic> {
    interrupt::whole(|| rename(&outputs))
}

/// As [`keep`], for the outputs of a command that has nothing else to do.
///
/// # Errors
/// A file cannot be given its name.
pub(crate) fn keep_last(outputs: Vec<Filled>) -> Result<(), Diagnostic> {
    interrupt::last(|| rename(&outputs))
}

fn rename(outputs: &[Filled]) -> Result<(), Diagnostic> {
    for filled in outputs {
        if let (Some(partial), Some(file)) = (&filled.partial, &filled.output.file) {
            let renamed = std::fs::rename(partial.path().join(PARTIAL), file);
            renamed.map_err(|fault| unwritable(&filled.output.path, &fault))?;
        }
    }
    Ok(())
}

/// The file that a path names, through links whose ends need not be there.
fn target(path: &Path) -> std::io::Result<PathBuf> {
    let mut file = path.to_owned();
    // As many links as the system follows.
    for _ in 0..40 {
        match std::fs::read_link(&file) {
            Ok(to) => file = file.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => return Ok(place(&file)),
        }
    }
    Err(std::io::Error::other("too many links"))
}

/// The folder of a file.
fn around(file: &Path) -> &Path {
    file.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Tries to make a folder beside `file`, as the one that it is written in.
fn try_folder(path: &Path, file: &Path) -> Result<(), Diagnostic> {
    let folder = around(file);
    match std::fs::metadata(folder) {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => {
            let message = format!("`{}` cannot be written", path.display());
            return Err(refused(message).note(format!("`{}` is a file, not a folder", folder.display())));
        }
        Err(_) => {
            let message = format!("there is no folder for `{}`", path.display());
            return Err(refused(message).help(format!("`mkdir -p {}`", folder.display())));
        }
    }
    WorkFolder::new(&mut || beside(file)).map(drop).map_err(|fault| unwritable(path, &fault))
}

/// Whether a path leads to where standard output goes; anything may go to a device that keeps nothing.
fn is_standard_output(meta: &Metadata) -> bool {
    let stdout = std::io::stdout();
    let keeps = !meta.file_type().is_char_device() || stdout.is_terminal();
    let here = stdout.as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata());
    keeps && here.is_ok_and(|here| (here.dev(), here.ino()) == (meta.dev(), meta.ino()))
}

fn is_pipe(meta: &Metadata) -> bool {
    meta.file_type().is_fifo() || meta.file_type().is_socket()
}

/// Refuses a name that ends as those of `kinds` do.
fn refuse_ends(
    path: &Path,
    ends: &[&str],
    kinds: &str,
    help: impl FnOnce() -> String,
) -> Result<(), Diagnostic> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    match extension.filter(|extension| ends.contains(&extension.as_str())) {
        Some(end) => {
            let message = format!("`{}` ends in `.{end}`, as {kinds} do", path.display());
            Err(refused(message).help(help()))
        }
        None => Ok(()),
    }
}

fn refused(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::CANNOT_WRITE, message)
}
