//! Every diagnostic code, grouped by who reports it.

use super::Code;

mod input;
mod lang;
mod plan;
mod run;
mod verify;

/// What a code means.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// Its short title.
    pub title: &'static str,
    /// When it is reported and what to do, as `wsp explain` prints it.
    pub explanation: &'static str,
}

/// All groups of codes.
pub const CATALOG: &[&[CodeInfo]] = &[lang::CODES, verify::CODES, plan::CODES, input::CODES, run::CODES];

/// What a code means.
pub fn lookup(code: Code) -> Option<&'static CodeInfo> {
    CATALOG.iter().flat_map(|group| group.iter()).find(|info| info.code == code)
}
