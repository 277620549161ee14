//! Codes of diagnostics, declared beside the checks that report them.

/// A stable code such as `WSP0031`; [`codes!`](crate::codes) declares it with what it means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Code(pub u16);

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WSP{:04}", self.0)
    }
}

/// What a code means.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// Its short title.
    pub title: &'static str,
    /// When it is reported and what to do, in the words of the command line.
    pub explanation: &'static str,
}

impl CodeInfo {
    /// Code, title and explanation, as `wsp explain` prints them.
    pub fn page(&self) -> String {
        format!("{}: {}\n\n{}\n", self.code, self.title, self.explanation.trim())
    }
}

/// The codes of a crate, in groups.
pub type Codes = &'static [&'static [CodeInfo]];

/// What a code means, if one of these crates declares it.
pub fn lookup(crates: &[Codes], code: Code) -> Option<&'static CodeInfo> {
    crates
        .iter()
        .flat_map(|groups| groups.iter())
        .flat_map(|group| group.iter())
        .find(|info| info.code == code)
}

/// Declares codes: a constant for each, and a table `CODES` of what they mean.
///
/// ```
/// mod file {
///     wsp_diag::codes! {
///         /// The file is not there.
///         pub(super) MISSING = 500, "file not found", "A path names no file. Paths are relative to the current folder.";
///     }
///     pub(super) const ALL: wsp_diag::Codes = &[CODES];
/// }
/// assert_eq!(wsp_diag::lookup(&[file::ALL], file::MISSING).unwrap().title, "file not found");
/// ```
#[macro_export]
macro_rules! codes {
    ($($(#[$doc:meta])* $visible:vis $name:ident = $number:literal, $title:literal, $explanation:literal;)*) => {
        $(#[doc = $title] $(#[$doc])* $visible const $name: $crate::Code = $crate::Code($number);)*

        /// What the codes of this module mean.
        pub(crate) const CODES: &[$crate::CodeInfo] = &[
            $($crate::CodeInfo { code: $name, title: $title, explanation: $explanation },)*
        ];
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_prints_with_four_digits() {
        assert_eq!(Code(31).to_string(), "WSP0031");
    }
}
