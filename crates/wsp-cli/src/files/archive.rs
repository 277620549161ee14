//! Arrays in bytes: `.npy`, and `.npz` archives that `numpy.load` reads.

use pto_wsp::npy;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use wsp_plan::Arrays;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Writes an archive over what stands in a file.
pub(super) fn write_to(path: &Path, arrays: &Arrays) -> std::io::Result<()> {
    let mut out = Latch::new(File::create(path)?);
    let written = write_entries(&mut out, arrays);
    match (out.fault, written) {
        (Some(fault), _) => Err(fault),
        (None, Err(fault)) => Err(fault),
        (None, Ok(())) => out.inner.flush(),
    }
}

/// A file that keeps its first fault and takes whatever comes after it: an archive writer would say on its own, from
/// where it is dropped, that it could not finish.
struct Latch {
    inner: BufWriter<File>,
    fault: Option<std::io::Error>,
    /// Where the next byte goes, or would go, and the end of the file.
    at: u64,
    end: u64,
}

impl Latch {
    fn new(file: File) -> Latch {
        Latch { inner: BufWriter::with_capacity(1 << 20, file), fault: None, at: 0, end: 0 }
    }

    /// Does some work unless an earlier one failed.
    fn attempt<T>(&mut self, work: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<T>) {
        if self.fault.is_none() {
            self.fault = work(&mut self.inner).err();
        }
    }
}

impl Write for Latch {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.attempt(|inner| inner.write_all(bytes));
        self.at += bytes.len() as u64;
        self.end = self.end.max(self.at);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.attempt(BufWriter::flush);
        Ok(())
    }
}

impl Seek for Latch {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
        };
        let target = target.ok_or(std::io::ErrorKind::InvalidInput)?;
        if target != self.at {
            self.attempt(|inner| inner.seek(SeekFrom::Start(target)));
            self.at = target;
        }
        Ok(self.at)
    }
}

fn write_entries(out: &mut Latch, arrays: &Arrays) -> std::io::Result<()> {
    let mut zip = ZipWriter::new(out);
    for (name, array) in arrays {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(array.bytes().len() >= u32::MAX as usize / 2);
        zip.start_file(format!("{name}.npy"), options)?;
        npy::write(&mut zip, array)?;
    }
    zip.finish()?;
    Ok(())
}
