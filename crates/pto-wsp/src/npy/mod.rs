//! Arrays in numpy's `.npy` format.
//!
//! ```
//! use pto_wsp::Args;
//!
//! # let file = b"\x93NUMPY\x01\x00\x3a\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n\0\0\xc0\x3f\0\0\x20\x40".as_slice();
//! let x = pto_wsp::npy::read("x.npy", file)?;
//! assert_eq!(x.as_slice::<f32>(), Some(&[1.5, 2.5][..]));
//! let args = Args::new().with("x", x);
//! # Ok::<(), pto_wsp::Error>(())
//! ```

mod header;

pub use header::{MAGIC, print};

use crate::codes;
use header::{Descr, Header, MAX_HEADER};
use std::io::{ErrorKind, Read, Write};
use wsp_core::DType;
use wsp_core::words::{by_count, counted};
use wsp_diag::Diagnostic;
use wsp_plan::{Array, ArrayError};

/// Where the elements of a written file begin.
const ALIGN: usize = 64;
/// Most dimensions of an array; numpy itself takes no more.
const MAX_RANK: usize = 64;

/// The array in the bytes of a `.npy` file that is called `what`. Elements in Fortran order or big-endian bytes are converted.
///
/// # Errors
/// The bytes are damaged, or hold what an array cannot; there is no memory.
pub fn read(what: &str, mut bytes: &[u8]) -> Result<Array, Diagnostic> {
    let (what, left) = (format!("`{what}`"), bytes.len() as u64);
    let mut stream = Stream { what: &what, reader: &mut bytes, left, admit: |_, _| Ok(()) };
    stream.array().map_err(|fault| match fault {
        Fault::Diagnostic(fault) => *fault,
        Fault::Io(fault) => stream.bad_header(fault.to_string()),
    })
}

/// Writes an array as a `.npy` file; bf16 as `uint16`, since numpy has no bf16, and e4m3 as `uint8`.
///
/// # Errors
/// As `out`.
pub fn write(out: &mut impl Write, array: &Array) -> std::io::Result<()> {
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

/// An array that cannot be made.
pub fn no_array(what: &str, error: ArrayError) -> Diagnostic {
    Diagnostic::error(codes::NOT_ENOUGH_MEMORY, format!("there is not enough memory for {what}"))
        .note(error.to_string())
        .help("free some memory or take less data")
}

/// Why an array cannot be read.
#[derive(Debug)]
pub enum Fault {
    /// The bytes did not arrive.
    Io(std::io::Error),
    /// They are not what they should be.
    Diagnostic(Box<Diagnostic>),
}

impl From<Diagnostic> for Fault {
    fn from(fault: Diagnostic) -> Fault {
        Fault::Diagnostic(Box::new(fault))
    }
}

/// The bytes of one `.npy`, and how many there are.
pub struct Stream<'a> {
    /// Where they come from, as messages name it.
    pub what: &'a str,
    /// The bytes.
    pub reader: &'a mut dyn Read,
    /// How many are left.
    pub left: u64,
    /// Says whether so many bytes may be taken for what has this name.
    pub admit: fn(&str, u64) -> Result<(), Diagnostic>,
}

impl Stream<'_> {
    /// The whole array.
    ///
    /// # Errors
    /// As [`read`]; the bytes do not arrive, the memory is not admitted.
    pub fn array(&mut self) -> Result<Array, Fault> {
        let header = self.header()?;
        let Descr::Number { dtype, big_endian } = header.descr else {
            return Err(self.unsupported(&header.descr).into());
        };
        let bytes = self.check_size(&header, dtype.size() as u64)?;
        (self.admit)(self.what, if header.fortran { bytes.saturating_mul(2) } else { bytes })?;
        let mut array = Array::zeros(dtype, &header.shape).map_err(|e| no_array(self.what, e))?;
        self.fill(array.bytes_mut())?;
        if big_endian {
            swap_bytes(array.bytes_mut(), dtype.size());
        }
        if header.fortran {
            array = to_row_major(&array).map_err(|e| no_array(self.what, e))?;
        }
        Ok(array)
    }

    /// A single text, such as numpy makes of a Python string.
    ///
    /// # Errors
    /// As [`array`](Self::array); there is none.
    pub fn text(&mut self) -> Result<String, Fault> {
        let header = self.header()?;
        let (Descr::Text { chars, big_endian }, Some(1)) = (&header.descr, header.count()) else {
            return Err(Diagnostic::error(
                codes::UNSUPPORTED_TYPE,
                format!("{} is not a single text", self.what),
            )
            .into());
        };
        let bytes = self.check_size(&header, chars.saturating_mul(4))?;
        let mut buffer = vec![0u8; bytes as usize];
        self.fill(&mut buffer)?;
        Ok(buffer
            .chunks_exact(4)
            .map(|c| [c[0], c[1], c[2], c[3]])
            .map(|c| if *big_endian { u32::from_be_bytes(c) } else { u32::from_le_bytes(c) })
            .take_while(|&c| c != 0)
            .map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect())
    }

    fn header(&mut self) -> Result<Header, Fault> {
        let mut start = [0u8; 8];
        if self.left < 10 {
            return Err(self.not_npy(&[]).into());
        }
        self.fill(&mut start)?;
        if &start[..6] != MAGIC {
            return Err(self.not_npy(&start).into());
        }
        let length = match start[6] {
            1 => {
                let mut bytes = [0u8; 2];
                self.fill(&mut bytes)?;
                u64::from(u16::from_le_bytes(bytes))
            }
            2 | 3 => {
                let mut bytes = [0u8; 4];
                self.fill(&mut bytes)?;
                u64::from(u32::from_le_bytes(bytes))
            }
            version => {
                return Err(self
                    .bad_header(format!("it has format version {version}; versions 1 to 3 are known"))
                    .into());
            }
        };
        if length > MAX_HEADER {
            return Err(self
                .bad_header(format!(
                    "it says it is {length} long; at most {MAX_HEADER} are taken",
                    length = counted(length, "byte")
                ))
                .into());
        }
        if length > self.left {
            return Err(self
                .bad_header(format!(
                    "it says it is {length} long, but {} follow",
                    self.left,
                    length = counted(length, "byte")
                ))
                .into());
        }
        let mut bytes = vec![0u8; length as usize];
        self.fill(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        header::parse(&text).map_err(|why| self.bad_header(why).into())
    }

    /// Bytes of the elements, when the header and what follows agree on them.
    fn check_size(&self, header: &Header, item: u64) -> Result<u64, Diagnostic> {
        if header.shape.len() > MAX_RANK {
            return Err(Diagnostic::error(
                codes::SIZE_MISMATCH,
                format!("the shape of {} has {}", self.what, counted(header.shape.len(), "dimension")),
            )
            .note(format!("arrays have at most {MAX_RANK}"))
            .help("the file is damaged: write it again"));
        }
        let Some(need) = header.count().and_then(|n| n.checked_mul(item)) else {
            return Err(Diagnostic::error(
                codes::SIZE_MISMATCH,
                format!("the shape of {} is absurdly large", self.what),
            )
            .note(format!("its header says {:?}, more elements than 64 bits can count", header.shape))
            .help("the file is damaged: write it again"));
        };
        if need == self.left {
            return Ok(need);
        }
        let fault = Diagnostic::error(
            codes::SIZE_MISMATCH,
            format!("{} does not hold what its header says", self.what),
        )
        .note(format!(
            "shape {:?} with {item} per element needs {need}; {} {follow}",
            header.shape,
            self.left,
            follow = by_count(self.left, "follows", "follow"),
            item = counted(item, "byte"),
            need = counted(need, "byte")
        ));
        Err(if need > self.left {
            fault.help("the file is cut off: write or copy it again")
        } else {
            fault.help("one array per file: save each with its own `numpy.save`")
        })
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), Fault> {
        let want = buffer.len() as u64;
        if want > self.left {
            return Err(self
                .bad_header(format!(
                    "{want} {were} expected, {} {are} left",
                    self.left,
                    were = by_count(want, "was", "were"),
                    are = by_count(self.left, "is", "are"),
                    want = counted(want, "byte")
                ))
                .into());
        }
        self.reader.read_exact(buffer).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => Fault::from(self.bad_header("it ends before it should".to_owned())),
            _ => Fault::Io(e),
        })?;
        self.left -= want;
        Ok(())
    }

    fn not_npy(&self, start: &[u8]) -> Diagnostic {
        let fault =
            Diagnostic::error(codes::NOT_NPY, format!("{} is not in numpy's `.npy` format", self.what));
        if start.starts_with(b"PK\x03\x04") {
            return fault
                .note("it is a zip archive")
                .help("give an archive of arrays with `--inputs FILE.npz`");
        }
        fault
            .note(format!(
                "a `.npy` file begins with the bytes \\x93NUMPY, this one has {}: {}",
                counted(self.left, "byte"),
                seen(start)
            ))
            .help("write it with `numpy.save(\"FILE.npy\", array)`")
    }

    fn bad_header(&self, why: String) -> Diagnostic {
        Diagnostic::error(codes::BAD_HEADER, format!("the `.npy` header of {} is damaged", self.what))
            .note(why)
            .help("write it again with `numpy.save` or `numpy.savez`")
    }

    fn unsupported(&self, descr: &Descr) -> Diagnostic {
        let (shown, help) = match descr {
            Descr::Other(t) if t.ends_with('O') => {
                (t.clone(), "an array of Python objects: give it a numeric type, `a.astype(\"float32\")`")
            }
            Descr::Other(t) if t.contains('c') && !t.starts_with('[') => {
                (t.clone(), "an array of complex numbers: save real and imaginary part apart")
            }
            Descr::Other(t) if t.starts_with('[') => {
                (t.clone(), "a structured array: save each field as its own array")
            }
            Descr::Text { chars, .. } => (format!("U{chars}"), "an array of text"),
            Descr::Other(t) => (t.clone(), "save it with one of the supported types"),
            Descr::Number { dtype, .. } => {
                (dtype.name().to_owned(), "save it with one of the supported types")
            }
        };
        Diagnostic::error(codes::UNSUPPORTED_TYPE, format!("{} holds elements of type `{shown}`", self.what))
            .note("supported are f2 f4 f8 u1 u2 i4 u4 i8 u8 and ml_dtypes' bfloat16, float8_e4m3fn and float8_e5m2")
            .help(help)
    }
}

fn seen(start: &[u8]) -> String {
    if start.is_empty() { "too few".to_owned() } else { start.escape_ascii().to_string() }
}

fn swap_bytes(bytes: &mut [u8], size: usize) {
    for element in bytes.chunks_exact_mut(size) {
        element.reverse();
    }
}

/// The same array with the last index fastest; the bytes of `array` have the first index fastest.
fn to_row_major(array: &Array) -> Result<Array, ArrayError> {
    let (shape, size) = (array.shape().to_vec(), array.dtype().size());
    let mut out = Array::zeros(array.dtype(), &shape)?;
    if out.is_empty() {
        return Ok(out);
    }
    let mut strides = vec![size; shape.len()];
    for d in 1..shape.len() {
        strides[d] = strides[d - 1] * shape[d - 1] as usize;
    }
    let source = array.bytes();
    let mut index = vec![0u64; shape.len()];
    let mut from = 0usize;
    for element in out.bytes_mut().chunks_exact_mut(size) {
        element.copy_from_slice(&source[from..from + size]);
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            from += strides[d];
            if index[d] < shape[d] {
                break;
            }
            index[d] = 0;
            from -= strides[d] * shape[d] as usize;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::DType;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Array, Diagnostic> {
        super::read("a.npy", bytes)
    }

    fn header(descr: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    }

    #[test]
    fn big_endian_and_fortran_order_are_converted() {
        let values = [1i32, 4, 2, 5, 3, 6];
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
        let array = read(&npy(&header(">i4", "True", "(2, 3)"), &data)).unwrap();
        assert_eq!(array.as_slice::<i32>().unwrap(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn scalars_and_empty_arrays_are_arrays() {
        assert_eq!(
            read(&npy(&header("<f8", "False", "()"), &1.5f64.to_le_bytes())).unwrap().shape(),
            [0u64; 0]
        );
        assert!(read(&npy(&header("<f8", "True", "(0, 3)"), &[])).unwrap().is_empty());
    }

    #[test]
    fn a_header_that_promises_more_than_follows_allocates_nothing() {
        let fault = read(&npy(&header("<f8", "False", "(1000000000000, 1000)"), &[0; 8])).unwrap_err();
        assert_eq!(fault.code, codes::SIZE_MISMATCH);
        let fault = read(&npy(&header("<f8", "False", "(9000000000000000000, 9)"), &[0; 8])).unwrap_err();
        assert_eq!(fault.code, codes::SIZE_MISMATCH);
        assert!(fault.message.contains("absurdly"), "{}", fault.message);
    }

    #[test]
    fn one_byte_follows_and_two_follow() {
        let notes = |data: &[u8]| read(&npy(&header("<f4", "False", "(2,)"), data)).unwrap_err().notes;
        assert_eq!(notes(&[0]), ["shape [2] with 4 bytes per element needs 8 bytes; 1 follows"]);
        assert_eq!(notes(&[0; 2]), ["shape [2] with 4 bytes per element needs 8 bytes; 2 follow"]);
    }

    #[test]
    fn each_fault_has_its_code() {
        assert_eq!(read(b"").unwrap_err().code, codes::NOT_NPY);
        assert_eq!(read(b"hello, this is text").unwrap_err().code, codes::NOT_NPY);
        assert_eq!(read(b"PK\x03\x04aaaaaaaaaaaaa").unwrap_err().code, codes::NOT_NPY);
        assert_eq!(read(&npy("{'descr': ", &[])).unwrap_err().code, codes::BAD_HEADER);
        assert_eq!(
            read(&npy(&header("|O", "False", "(1,)"), &[0; 8])).unwrap_err().code,
            codes::UNSUPPORTED_TYPE
        );
        assert_eq!(
            read(&npy(&header("<f4", "False", "(2,)"), &[0; 9])).unwrap_err().code,
            codes::SIZE_MISMATCH
        );
        let mut long = npy("{}", &[]);
        long[8] = 200;
        assert_eq!(read(&long).unwrap_err().code, codes::BAD_HEADER);
        long[6] = 9;
        assert_eq!(read(&long).unwrap_err().code, codes::BAD_HEADER);
    }

    #[test]
    fn integers_of_all_sizes_and_truth_values_are_read() {
        for (descr, size, dtype) in [
            ("|i1", 1, DType::I8),
            ("<i2", 2, DType::I16),
            ("|u1", 1, DType::U8),
            ("<u2", 2, DType::U16),
            ("|b1", 1, DType::Bool),
        ] {
            let array = read(&npy(&header(descr, "False", "(1,)"), &vec![1; size])).unwrap();
            assert_eq!((array.dtype(), array.bytes()), (dtype, &vec![1; size][..]), "{descr}");
        }
        let swapped = read(&npy(&header(">i2", "False", "(1,)"), &[0xFF, 0xFE])).unwrap();
        assert_eq!(swapped.as_slice::<i16>().unwrap(), [-2]);
    }

    #[test]
    fn every_truncation_of_a_file_is_a_diagnostic() {
        let whole = npy(&header("<f4", "False", "(2,)"), &[0; 8]);
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end}");
        }
        assert!(read(&whole).is_ok());
        assert_eq!(read(&whole).unwrap().dtype(), DType::F32);
    }
}
