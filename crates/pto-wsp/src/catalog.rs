//! What every code means, of all crates: each declares its codes beside its checks.

use serde_json::Value;
pub use wsp_diag::CodeInfo;
use wsp_diag::{Code, Codes, Diagnostic, Severity, SourceMap};
use wsp_ordered::Arrange;

/// The codes of all crates.
const CRATES: [Codes; 15] = [
    wsp_diag::CODES,
    wsp_ir::CODES,
    wsp_lang::CODES,
    wsp_isa::CODES,
    wsp_plan::CODES,
    wsp_tg::CODES,
    wsp_backend::CODES,
    wsp_trace::CODES,
    wsp_tile::CODES,
    wsp_ascend::CODES,
    wsp_aie::CODES,
    wsp_kernel::CODES,
    wsp_cpu::CODES,
    wsp_report::CODES,
    &[crate::codes::CODES],
];

/// What each code means, in the order of their numbers.
pub fn all() -> Vec<&'static CodeInfo> {
    let groups = CRATES.iter().flat_map(|groups| groups.iter());
    let mut all: Vec<&CodeInfo> = groups.flat_map(|group| group.iter()).collect();
    all.arrange_by_key(|info| info.code);
    all
}

/// What a code means.
pub fn lookup(code: Code) -> Option<&'static CodeInfo> {
    wsp_diag::lookup(&CRATES, code)
}

/// Code, title and explanation, in the words of Rust.
pub fn page(info: &CodeInfo) -> String {
    Diagnostic::new(info.code, Severity::Note, info.page()).in_rust().message
}

/// A diagnostic as JSON, with the title of its code.
pub fn to_json(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let mut json = wsp_diag::to_json(diagnostic, sources);
    json["title"] = lookup(diagnostic.code).map(|info| info.title).into();
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes of each crate, by numbers from and to.
    const RANGES: [&[(u16, u16)]; CRATES.len()] = [
        &[(261, 261)],
        &[(300, 399), (700, 799), (866, 866), (1450, 1499)],
        &[(1, 299), (515, 515)],
        &[(910, 921), (939, 939), (1400, 1449)],
        &[(400, 499), (800, 853), (890, 899), (1740, 1749)],
        &[(1500, 1539), (1551, 1551), (1558, 1558)],
        &[(551, 552), (863, 863), (870, 871), (882, 882), (1575, 1575), (1600, 1619)],
        &[(1000, 1349)],
        &[(1700, 1717)],
        &[(1720, 1739)],
        &[(1800, 1899)],
        &[(570, 570), (600, 699)],
        &[
            (550, 550),
            (553, 569),
            (571, 599),
            (854, 862),
            (864, 865),
            (867, 869),
            (872, 879),
            (1540, 1550),
            (1552, 1557),
            (1559, 1574),
            (1576, 1589),
            (1760, 1769),
        ],
        &[(1750, 1759)],
        &[(500, 549), (880, 881), (883, 889), (922, 938), (1590, 1599), (1770, 1779)],
    ];

    #[test]
    fn no_two_codes_have_one_number() {
        for pair in all().windows(2) {
            assert!(pair[0].code < pair[1].code, "{} is declared twice", pair[0].code);
        }
    }

    #[test]
    fn every_crate_keeps_to_its_ranges() {
        for (groups, ranges) in CRATES.iter().zip(RANGES) {
            for info in groups.iter().flat_map(|group| group.iter()) {
                let within = |range: &(u16, u16)| (range.0..=range.1).contains(&info.code.0);
                assert!(ranges.iter().any(within), "{} is in no range of its crate", info.code);
            }
        }
    }

    #[test]
    fn every_code_is_explained() {
        for info in all() {
            assert!(!info.title.trim().is_empty(), "{} has no title", info.code);
            assert!(!info.explanation.trim().is_empty(), "{} has no explanation", info.code);
            assert_eq!(info.title.trim_end_matches('.'), info.title, "{}: a title is a phrase", info.code);
            assert_eq!(lookup(info.code).map(|found| found.title), Some(info.title));
        }
    }

    #[test]
    fn an_unknown_code_is_not_found() {
        assert!(lookup(Code(0)).is_none());
        assert!(lookup(Code(9999)).is_none());
    }

    #[test]
    fn json_has_the_title_of_the_code() {
        let json = to_json(&Diagnostic::error(Code(31), "twice"), &SourceMap::default());
        assert_eq!(
            (&json["code"], &json["title"]),
            (&"WSP0031".into(), &"type parameter of a template".into())
        );
    }
}
