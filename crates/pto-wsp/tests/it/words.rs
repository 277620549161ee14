//! What Rust reads is in the words of Rust: no option of the command line, and no name that the face lacks.

use pto_wsp::{Code, Diagnostic, catalog};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// The crates whose texts reach users of the face; findings of `wsp-trace` are of Python alone.
const CRATES: [&str; 15] = [
    "pto-wsp",
    "wsp-ascend",
    "wsp-backend",
    "wsp-core",
    "wsp-cpu",
    "wsp-diag",
    "wsp-ir",
    "wsp-isa",
    "wsp-kernel",
    "wsp-lang",
    "wsp-memory",
    "wsp-plan",
    "wsp-runtime",
    "wsp-syntax",
    "wsp-tg",
];

/// Codes that the command line reports, the table of words itself, and options of other programs: of compilers, and of packages.
const OTHERS: [&str; 6] = [
    "pto-wsp/src/codes.rs",
    "wsp-diag/src/face.rs",
    "pto-wsp/src/hosted.rs",
    "pto-wsp/src/hosted/compiler.rs",
    "wsp-ascend/src/hosted.rs",
    "wsp-ascend/src/package/build.rs",
];

const PUBLIC: &str = include_str!("../../public.txt");

/// String literals of code, without those that only Python is given.
#[derive(Default)]
struct Literals(Vec<String>);

impl<'a> Visit<'a> for Literals {
    fn visit_lit_str(&mut self, literal: &'a syn::LitStr) {
        self.0.push(literal.value());
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        let tokens = call.tokens.to_string();
        let mut rest = tokens.as_str();
        while let Some(from) = rest.find('"') {
            let (before, text) = rest.split_at(from);
            let mut is_escaped = false;
            let end = text[1..].find(|c| match (is_escaped, c) {
                (false, '"') => true,
                (escaped, c) => {
                    is_escaped = !escaped && c == '\\';
                    false
                }
            });
            let Some(end) = end else { break };
            let literal = syn::parse_str::<syn::LitStr>(&text[..end + 2]);
            let is_told =
                ["python (", "doc =", "doc = r"].iter().all(|end| !before.trim_end().ends_with(end));
            if is_told {
                self.0.extend(literal.map(|literal| literal.value()));
            }
            rest = &text[end + 2..];
        }
    }

    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}

    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        if module.ident != "tests" {
            visit::visit_item_mod(self, module);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        match call.method == "python" {
            true => self.visit_expr(&call.receiver),
            false => visit::visit_expr_method_call(self, call),
        }
    }
}

/// The sources of a crate, without its tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("sources should be there") {
        let path = entry.expect("an entry can be read").path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        match path.is_dir() {
            _ if name == "tests" || name == "random" => {}
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// What is wrong with a text: options of the command line, and names that cannot be imported.
fn foreign(text: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut found = Vec::new();
    for (at, _) in text.match_indices("--") {
        let option = text[at..].trim_start_matches('-').split(|c| !is_name(c)).next().unwrap_or_default();
        if option.starts_with(|c: char| c.is_ascii_lowercase()) && !text[..at].ends_with(is_name) {
            found.push(format!("--{option}"));
        }
    }
    for piece in text.split('`').skip(1).step_by(2) {
        let Some((name, rest)) = piece.split_once("::") else { continue };
        let member = rest.split(|c| !is_name(c)).next().unwrap_or_default();
        if name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(is_name)
            && !is_public(name, member)
        {
            found.push(format!("{name}::{member}"));
        }
    }
    found
}

/// Whether the list of the public interface has a type, and its member where it lists members.
fn is_public(name: &str, member: &str) -> bool {
    let mut lines = PUBLIC.lines();
    let is_head = |line: &&str| {
        !line.starts_with(' ') && line.split(": ").next().is_some_and(|p| p.rsplit("::").next() == Some(name))
    };
    if lines.find(is_head).is_none() {
        return false;
    }
    let members: Vec<&str> = lines.take_while(|line| line.starts_with(' ')).collect();
    let has =
        |line: &&str| line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == member);
    members.is_empty() || members.iter().any(has)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads the text of the crates")]
fn texts_name_options_and_types_as_rust_has_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut read, mut faults) = (0, Vec::new());
    for krate in CRATES {
        let mut files = Vec::new();
        sources(&root.join(krate).join("src"), &mut files);
        files.retain(|path| {
            path.extension().is_some_and(|end| end == "rs")
                && !OTHERS.iter().any(|other| path.ends_with(other))
        });
        for path in files {
            let text = fs::read_to_string(&path).expect("a source can be read");
            let mut literals = Literals::default();
            literals.visit_file(&syn::parse_file(&text).expect("it compiles"));
            read += literals.0.len();
            for literal in literals.0 {
                // One that is put between backticks elsewhere begins as an option does.
                let text = if literal.starts_with("--") { format!("`{literal}`") } else { literal };
                let told = Diagnostic::error(Code(1), text.as_str()).help(text).in_rust();
                for text in if told.help.is_empty() { Vec::new() } else { told.help } {
                    faults.extend(
                        foreign(&text)
                            .into_iter()
                            .map(|name| format!("{}: {name} in {text}", path.display())),
                    );
                }
            }
        }
    }
    assert!(read > 5000, "{read} texts were read");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_codes_mean_is_said_in_the_words_of_rust() {
    // What the command line and the Python package report stands in codes of their own.
    let programs = [500..=549, 880..=889, 922..=938, 1000..=1349, 1590..=1599, 1770..=1779];
    let all = catalog::all();
    let of_libraries = all.iter().filter(|info| programs.iter().all(|range| !range.contains(&info.code.0)));
    let faults: Vec<String> = of_libraries
        .flat_map(|info| {
            foreign(&catalog::page(info)).into_iter().map(|name| format!("{}: {name}", info.code))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
