//! Arrays in bytes: `.npy`, and `.npz` archives that `numpy.load` reads.

use pto_wsp::npy::{MAGIC, print};
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use wsp_core::DType;
use wsp_plan::{Array, Arrays};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Data of a `.npy` file begin at a multiple of this many bytes.
const ALIGN: usize = 64;

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
        write_npy(&mut zip, array)?;
    }
    zip.finish()?;
    Ok(())
}

pub(super) fn write_npy(out: &mut impl Write, array: &Array) -> std::io::Result<()> {
    let mut text = print(descr(array.dtype()), array.shape());
    let prefix = MAGIC.len() + 4;
    let total = (prefix + text.len() + 1).next_multiple_of(ALIGN);
    let length = total - prefix;
    while text.len() + 1 < length {
        text.push(' ');
    }
    text.push('\n');
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    // Extents have 20 digits at most and ranks are small, so the length fits the 16 bits of format version 1.
    out.write_all(&(length as u16).to_le_bytes())?;
    out.write_all(text.as_bytes())?;
    out.write_all(array.bytes())
}

fn descr(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "<f4",
        DType::F64 => "<f8",
        DType::F16 => "<f2",
        DType::Bf16 | DType::U16 => "<u2",
        DType::U8 | DType::F8E4m3 => "|u1",
        DType::F8E5m2 => "<f1",
        DType::I8 => "|i1",
        DType::I16 => "<i2",
        DType::Bool => "|b1",
        DType::I32 => "<i4",
        DType::U32 => "<u4",
        DType::I64 => "<i8",
        DType::U64 => "<u8",
    }
}
