//! What does not compile: every rule of the headers has a case in `refused.txt`, in which exactly it is said.

use crate::source::{PLATFORMS, compile, folder, is_clang, literals};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const CASES: &str = include_str!("refused.txt");

const BEFORE: &str = r#"
#include <cmath>
#include <pto/pto-inst.hpp>
#include "tensor.h"
using namespace pto;
template <typename T> T& some();
template <typename T> void use(const T&) {}
template <typename T, int R, int C, int VR = R, int VC = C>
using Rows = Tile<TileType::Vec, T, R, C, BLayout::RowMajor, VR, VC>;
template <typename T, int R, int VR = R>
using Column = Tile<TileType::Vec, T, R, 1, BLayout::ColMajor, VR, 1>;
template <typename T, int R, int C>
using NZ = Tile<TileType::Mat, T, R, C, BLayout::ColMajor, R, C, SLayout::RowMajor>;
template <typename T, int R, int C, int VR = R>
using Boxes = Tile<TileType::Vec, T, R, C, BLayout::ColMajor, VR, C, SLayout::RowMajor>;
template <typename T, int R, int C>
using ZN = Tile<TileType::Mat, T, R, C, BLayout::RowMajor, R, C, SLayout::ColMajor>;
template <typename T, int R, int C>
using Padded = Tile<TileType::Vec, T, R, C, BLayout::RowMajor, R, C, SLayout::NoneBox, 512, PadValue::Min>;
template <typename T, int R, int C>
using ND = GlobalTensor<T, Shape<1, 1, 1, R, C>, Stride<R * C, R * C, R * C, C, 1>>;
template <typename T, int R, int C>
using DN = GlobalTensor<T, Shape<1, 1, 1, R, C>, Stride<R * C, R * C, R * C, 1, R>, Layout::DN>;
"#;

struct Case {
    /// Texts of errors, each with the platforms that say it.
    errors: Vec<(Vec<&'static str>, &'static str)>,
    code: String,
}

fn cases() -> Vec<Case> {
    let blocks = CASES.split("\n\n").filter(|block| block.starts_with("= "));
    let case = |block: &'static str| {
        let mut case = Case { errors: Vec::new(), code: String::new() };
        for line in block.lines() {
            match line.strip_prefix("= ").and_then(|line| line.split_once(": ")) {
                Some((platforms, text)) => case.errors.push((platforms.split(' ').collect(), text)),
                None => case.code += line,
            }
        }
        case
    };
    blocks.map(case).collect()
}

/// All cases in one file, each in a function and with a file name of its own.
fn unit(cases: &[Case]) -> String {
    let mut text = BEFORE.to_owned();
    for (at, case) in cases.iter().enumerate() {
        let n = 16 * (at + 2);
        let _ = writeln!(text, "#line 1 \"case_{at}.cpp\"");
        let _ = writeln!(text, "inline void case_{at}() {{ constexpr int N = {n}; (void)N; {} }}", case.code);
    }
    text
}

/// The number of the case that a line of the compiler names.
fn case_of(line: &str) -> Option<usize> {
    let (_, behind) = line.split_once("case_")?;
    behind.split_once(".cpp").and_then(|(number, _)| number.parse().ok())
}

/// Errors by case. One compiler names the case before its errors. Another, `behind`, does so behind the first of them.
fn said(stderr: &str, behind: bool) -> BTreeMap<usize, BTreeSet<String>> {
    let mut found = BTreeMap::<usize, BTreeSet<String>>::new();
    let mut add = |case: Option<usize>, text: &str| {
        found.entry(case.expect("a case of each error")).or_default().insert(text.to_owned());
    };
    let (mut case, mut open) = (None, None);
    for line in stderr.lines() {
        if let Some((_, message)) = line.split_once(" error: ") {
            if let Some(text) = open.take() {
                add(case, text);
            }
            case = case_of(line).or(case);
            let told = message.split_once("static assertion failed: ").or_else(|| message.rsplit_once("': "));
            let text = told.map_or(message, |(_, text)| text);
            match behind {
                true => open = Some(text),
                false => add(case, text),
            }
        } else if let Some(number) = case_of(line) {
            case = Some(number);
            if let Some(text) = open.take() {
                add(case, text);
            }
        }
    }
    if let Some(text) = open {
        add(case, text);
    }
    found
}

#[test]
fn what_a_platform_refuses_does_not_compile() {
    let cases = cases();
    let folder = folder("refused", "refused.cpp", &unit(&cases));
    let clang = is_clang();
    let all: &[&str] = if clang { &["-ferror-limit=0"] } else { &[] };
    let mut wrong = String::new();
    for platform in PLATFORMS {
        let output = compile(&folder, platform, &[&["-fsyntax-only", "refused.cpp"], all].concat());
        let stderr = String::from_utf8_lossy(&output.stderr);
        let said = said(&stderr, clang);
        for (at, case) in cases.iter().enumerate() {
            let here = case.errors.iter().filter(|(platforms, _)| platforms.contains(&platform));
            let want: BTreeSet<String> = here.map(|(_, text)| (*text).to_owned()).collect();
            let have = said.get(&at).cloned().unwrap_or_default();
            if have != want {
                let _ = writeln!(wrong, "on {platform}, {}\n  says {have:?}\n  and not {want:?}", case.code);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_rule_of_the_headers_has_a_case() {
    let cases = cases();
    let told: BTreeSet<&str> = cases.iter().flat_map(|case| &case.errors).map(|(_, text)| *text).collect();
    let rules = literals(&["static_assert("]);
    assert!(rules.len() > 80, "{rules:?}");
    let without: Vec<&String> = rules.iter().filter(|rule| !told.contains(rule.as_str())).collect();
    assert!(without.is_empty(), "{without:#?}");
}

#[test]
fn a_platform_is_named() {
    let folder = folder("platform", "empty.cpp", "#include <pto/pto-inst.hpp>\n");
    for (platform, text) in [("a4", "PTO_PLATFORM is a2, a3 or a5"), ("", "PTO_PLATFORM is a2, a3 or a5")] {
        let output = compile(&folder, platform, &["-E", "empty.cpp"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(text), "{platform}: {stderr}");
    }
    let output = compile(&folder, "a2", &["-UPTO_PLATFORM", "-E", "empty.cpp"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("no platform: compile with -DPTO_PLATFORM=a2, a3 or a5"), "{stderr}");
}
