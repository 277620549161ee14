//! A program that owns its bytes.

use super::codes;
use std::fmt;
use wsp_core::ptow::{Header, PoolHeader, Program, ReadError, Verified, VerifyError, marks_needed};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use zerocopy::IntoBytes;

/// A valid program in memory of its own, aligned to 8 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct ProgramBuf {
    words: Vec<u64>,
    bytes: usize,
}

/// Why bytes are no valid program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramError {
    /// They cannot be read.
    Read(ReadError),
    /// They break a rule.
    Verify(VerifyError),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProgramError::Read(error) => error.fmt(f),
            ProgramError::Verify(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ProgramError {}

impl ProgramError {
    /// As the user sees it; `what` names the bytes.
    pub fn diagnostic(&self, what: &str) -> Diagnostic {
        Diagnostic::error(codes::BROKEN, format!("{what} is no valid program")).note(self.to_string())
    }
}

impl ProgramBuf {
    /// Copies a program, and checks it.
    ///
    /// # Errors
    /// Bytes that are no program, and programs that break a rule.
    pub fn from_bytes(bytes: &[u8]) -> Result<ProgramBuf, ProgramError> {
        let mut words = vec![0u64; bytes.len().div_ceil(size_of::<u64>())];
        words.as_mut_bytes()[..bytes.len()].copy_from_slice(bytes);
        let program = ProgramBuf { words, bytes: bytes.len() };
        program.check()?;
        Ok(program)
    }

    fn check(&self) -> Result<Verified<'_>, ProgramError> {
        let program = Program::read(self.as_bytes()).map_err(ProgramError::Read)?;
        let mut marks = vec![0; marks_needed(&program)];
        Verified::new(program, &mut marks).map_err(ProgramError::Verify)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.words.as_bytes()[..self.bytes]
    }

    /// What interpreters take. This checks the program anew, in time that its words are proportional to: take it once and
    /// copy it.
    pub fn verified(&self) -> Verified<'_> {
        self.check().expect("a program should be checked when it is made")
    }

    /// The same program without names.
    #[must_use]
    pub fn strip_names(&self) -> ProgramBuf {
        let verified = self.verified();
        let program = verified.program();
        if program.names.is_empty() {
            return self.clone();
        }
        let mut kernels = program.kernels.to_vec();
        kernels.iter_mut().for_each(|kernel| kernel.name = u16::MAX);
        let mut tensors = program.tensors.to_vec();
        tensors.iter_mut().for_each(|tensor| tensor.name = u16::MAX);
        let pool = pool_header(program);
        let parts = [
            Header::as_bytes(program.header),
            program.words.as_bytes(),
            program.axes.as_bytes(),
            kernels.as_bytes(),
            tensors.as_bytes(),
            pool.as_bytes(),
            program.exprs.as_bytes(),
        ];
        ProgramBuf::from_bytes(&parts.concat()).expect("names should not matter to a program")
    }
}

/// The header of the pools of a program without names.
fn pool_header(program: &Program<'_>) -> PoolHeader {
    let counts = program.counts;
    PoolHeader {
        num_words: program.exprs.len() as u32,
        name_bytes: 0,
        num_values: counts.values,
        num_tables: counts.tables,
        num_slots: counts.slots,
        num_labels: counts.labels,
        num_generators: counts.generators,
        num_channels: counts.channels,
    }
}

impl fmt::Debug for ProgramBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProgramBuf({})", counted(self.bytes, "byte"))
    }
}
