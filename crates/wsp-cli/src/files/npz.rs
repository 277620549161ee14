//! Reads `.npz` archives: zip files of `.npy` entries, stored or deflated.

use super::fault::{open_sized, shown, unreadable};
use pto_wsp::codes;
use pto_wsp::npy::{Fault, MAGIC, Stream};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use wsp_check::check_memory;
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ordered::Arrange;
use wsp_plan::Array;
use zip::read::ZipFile;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// The most bytes that one deflated byte can become.
const MAX_DEFLATE_RATIO: u64 = 1032;

/// An open archive.
pub struct Npz {
    path: PathBuf,
    bytes: u64,
    archive: ZipArchive<BufReader<File>>,
}

impl Npz {
    /// Opens an archive and reads its table of contents.
    ///
    /// # Errors
    /// When it cannot be read or is not a whole zip archive.
    pub fn open(path: &Path) -> Result<Npz, Diagnostic> {
        let (mut file, bytes) = open_sized(path)?;
        let mut start = Vec::new();
        (&mut file).take(6).read_to_end(&mut start).map_err(|e| unreadable(path, &e))?;
        file.seek(SeekFrom::Start(0)).map_err(|e| unreadable(path, &e))?;
        let archive = ZipArchive::new(BufReader::with_capacity(1 << 20, file))
            .map_err(|e| not_an_archive(path, &start, bytes, &e))?;
        let table = table_of_contents(path, archive.central_directory_start())?;
        refuse_twice(path, &table)?;
        Ok(Npz { path: path.to_owned(), bytes, archive })
    }

    /// Names of the arrays, without `.npy`, sorted. As for NumPy, the ending may be missing.
    pub fn names(&self) -> Vec<String> {
        let entries = self.archive.file_names().filter(|name| !name.ends_with('/'));
        let mut names: Vec<String> = entries.map(|name| array_name(name).to_owned()).collect();
        names.arrange();
        names
    }

    /// Reads one array.
    ///
    /// # Errors
    /// When there is none of this name, or it is damaged, or holds what an array cannot.
    pub fn read(&mut self, name: &str) -> Result<Array, Diagnostic> {
        self.entry(name, |stream| stream.array())
    }

    /// Reads a single text, such as `numpy.savez` makes of a Python string.
    ///
    /// # Errors
    /// As [`Npz::read`], and when the entry is not a single text.
    pub fn text(&mut self, name: &str) -> Result<String, Diagnostic> {
        self.entry(name, |stream| stream.text())
    }

    fn entry<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut Stream<'_>) -> Result<T, Fault>,
    ) -> Result<T, Diagnostic> {
        let what = format!("`{}`, entry `{name}`", shown(&self.path));
        let index = self.archive.index_for_name(&format!("{name}.npy"));
        let index = index.or_else(|| self.archive.index_for_name(name)).ok_or_else(|| self.no_entry(name))?;
        let mut file = self.archive.by_index(index).map_err(|e| damaged(&what, &e.to_string()))?;
        check_entry(&what, &file, self.bytes)?;
        let left = file.size();
        let value = match read(&mut Stream { what: &what, reader: &mut file, left, admit: check_memory }) {
            Ok(value) => value,
            Err(Fault::Diagnostic(fault)) => return Err(*fault),
            Err(Fault::Io(e)) => return Err(damaged(&what, &e.to_string())),
        };
        // The checksum is compared at the end of the stream.
        match file.read(&mut [0u8; 1]) {
            Ok(0) => Ok(value),
            Ok(_) => Err(damaged(&what, "it holds more bytes than the archive's table says")),
            Err(e) => Err(damaged(&what, &e.to_string())),
        }
    }

    fn no_entry(&self, name: &str) -> Diagnostic {
        let names = self.names();
        let fault =
            Diagnostic::error(codes::BAD_ENTRY, format!("`{}` holds no array `{name}`", shown(&self.path)))
                .note(format!("it holds {}", list(&names)));
        match did_you_mean(name, names.iter().map(String::as_str)) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault,
        }
    }
}

/// The name of the array that an entry is.
fn array_name(entry: &str) -> &str {
    entry.strip_suffix(".npy").unwrap_or(entry)
}

/// The names of all entries as the table at the end of an archive has them, also those that are there twice.
fn table_of_contents(path: &Path, start: u64) -> Result<Vec<String>, Diagnostic> {
    let (mut file, bytes) = open_sized(path)?;
    let mut table = Vec::new();
    let read = file.seek(SeekFrom::Start(start.min(bytes)));
    read.and_then(|_| file.read_to_end(&mut table)).map_err(|e| unreadable(path, &e))?;
    let (mut names, mut rest) = (Vec::new(), table.as_slice());
    while let Some((name, next)) = table_entry(rest) {
        names.push(String::from_utf8_lossy(name).into_owned());
        rest = next;
    }
    Ok(names)
}

/// The name in the first record of a table of contents, and what follows the record; none where there is none.
fn table_entry(table: &[u8]) -> Option<(&[u8], &[u8])> {
    const LENGTHS: usize = 28;
    const FIXED: usize = 46;
    let (fixed, rest) =
        table.split_at_checked(FIXED).filter(|(fixed, _)| fixed.starts_with(b"PK\x01\x02"))?;
    let length = |at: usize| usize::from(u16::from_le_bytes([fixed[at], fixed[at + 1]]));
    let [name, extra, comment] = [0, 2, 4].map(|at| length(LENGTHS + at));
    let (name, rest) = rest.split_at_checked(name)?;
    Some((name, rest.get(extra + comment..)?))
}

/// Refuses an archive that holds two arrays of one name, of which only one could be used.
fn refuse_twice(path: &Path, table: &[String]) -> Result<(), Diagnostic> {
    let mut names: Vec<&str> = table.iter().map(|entry| array_name(entry)).collect();
    names.arrange();
    let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]) else {
        return Ok(());
    };
    let count = names.iter().filter(|name| **name == twice).count();
    let message = format!("`{}` holds {count} `{twice}`", shown(path), count = counted(count, "array"));
    Err(Diagnostic::error(codes::TWICE_GIVEN, message)
        .note("which of them is meant is not known")
        .help("write the archive again with one: `numpy.savez(\"FILE.npz\", …)`"))
}

fn list(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|n| format!("`{n}`")).collect();
    match names.len() {
        0 => "none".to_owned(),
        n if n > shown.len() => format!("{} and {} more", shown.join(", "), n - shown.len()),
        _ => shown.join(", "),
    }
}

/// Refuses what cannot be true of an entry, so that nothing is allocated for it.
fn check_entry(
    what: &str,
    file: &ZipFile<'_, BufReader<File>>,
    archive_bytes: u64,
) -> Result<(), Diagnostic> {
    let (packed, size) = (file.compressed_size(), file.size());
    let most = match file.compression() {
        CompressionMethod::Stored => packed,
        CompressionMethod::Deflated => packed.saturating_mul(MAX_DEFLATE_RATIO),
        other => {
            return Err(Diagnostic::error(codes::BAD_ENTRY, format!("{what} is compressed with {other}"))
                .note("stored and deflated entries can be read")
                .help("write it with `numpy.savez` or `numpy.savez_compressed`"));
        }
    };
    if packed > archive_bytes || size > most {
        return Err(damaged(
            what,
            &format!("its {packed} packed bytes, in a file of {archive_bytes}, are said to become {size}"),
        ));
    }
    Ok(())
}

fn damaged(what: &str, why: &str) -> Diagnostic {
    Diagnostic::error(codes::BAD_ENTRY, format!("{what} is damaged"))
        .note(why.to_owned())
        .help("write or copy the archive again")
}

fn not_an_archive(path: &Path, start: &[u8], bytes: u64, error: &ZipError) -> Diagnostic {
    let fault =
        Diagnostic::error(codes::NOT_AN_ARCHIVE, format!("`{}` is not a whole `.npz` archive", shown(path)));
    if start == MAGIC {
        return fault
            .note("it is a single array in `.npy` format")
            .help(format!("name it: `--input NAME={}`", shown(path)));
    }
    if start.starts_with(b"PK") {
        return fault
            .note(format!("it begins as one, but its table of contents, which stands at the end, is damaged ({error}); it has {bytes}", bytes = counted(bytes, "byte")))
            .help("the file is probably cut off: write or copy it again");
    }
    fault
        .note(format!("it has {bytes}: {error}", bytes = counted(bytes, "byte")))
        .help("write it with `numpy.savez(\"FILE.npz\", q=…)`")
}
