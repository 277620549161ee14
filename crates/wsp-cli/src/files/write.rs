//! Writes `.npz` archives that `numpy.load` reads.

use super::fault::unwritable;
use super::header::{MAGIC, print};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use wsp_core::DType;
use wsp_ir::diag::Diagnostic;
use wsp_plan::{Array, Arrays};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// Data of a `.npy` file begin at a multiple of this many bytes.
const ALIGN: usize = 64;

/// Writes arrays to a `.npz` file, one stored entry each; bf16 as `uint16`, since numpy has no bf16.
///
/// # Errors
/// When the file cannot be written.
pub fn write_npz(path: &Path, arrays: &Arrays) -> Result<(), Diagnostic> {
    let file = File::create(path).map_err(|e| unwritable(path, &e))?;
    let mut zip = ZipWriter::new(BufWriter::with_capacity(1 << 20, file));
    for (name, array) in arrays {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(array.bytes().len() >= u32::MAX as usize / 2);
        zip.start_file(format!("{name}.npy"), options).map_err(|e| unwritable(path, &e))?;
        write_npy(&mut zip, array).map_err(|e| unwritable(path, &e))?;
    }
    let mut file = zip.finish().map_err(|e| unwritable(path, &e))?;
    file.flush().map_err(|e| unwritable(path, &e))
}

/// Writes a text file.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Diagnostic> {
    std::fs::write(path, text).map_err(|e| unwritable(path, &e))
}

fn write_npy(out: &mut impl Write, array: &Array) -> std::io::Result<()> {
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
        DType::U8 => "|u1",
        DType::I32 => "<i4",
        DType::U32 => "<u4",
        DType::I64 => "<i8",
        DType::U64 => "<u8",
    }
}
