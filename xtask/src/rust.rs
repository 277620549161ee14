//! Rust files as code: without comments, contents of strings, and tests.

mod lexer;

use crate::project::files;
use anyhow::{Context, Result};
pub(crate) use lexer::code;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

/// Words that items begin with, after their visibility.
const ITEMS: [&str; 14] = [
    "async",
    "const",
    "enum",
    "extern",
    "fn",
    "impl",
    "macro_rules",
    "mod",
    "static",
    "struct",
    "trait",
    "type",
    "unsafe",
    "use",
];

/// One file below the folder `src` of a crate.
pub(crate) struct Source {
    /// The file, from `src` on.
    pub(crate) name: String,
    /// Its module, from the root of the crate on.
    pub(crate) module: Vec<String>,
    /// The text.
    pub(crate) text: String,
    /// What [`code`] gives of it, with spaces for tests as well.
    pub(crate) code: String,
    /// Where tests are.
    pub(crate) tests: Vec<Range<usize>>,
}

impl Source {
    /// A file of this name, from `src` on.
    pub(crate) fn new(name: String, text: String) -> Source {
        let mut module: Vec<String> = name.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
            module.pop();
        }
        let mut code = code(&text);
        let tests = tests(&code);
        for range in &tests {
            let spaces = code[range.clone()].replace(|c: char| !c.is_ascii_whitespace(), " ");
            code.replace_range(range.clone(), &spaces);
        }
        Source { name, module, text, code, tests }
    }

    /// The files, and the folders of modules of their own, that `mod name;` in tests stands for.
    fn test_files(&self) -> Vec<String> {
        self.tests.iter().flat_map(|range| self.declared(&self.text[range.clone()])).collect()
    }

    /// What a declaration `mod name;` stands for.
    fn declared(&self, item: &str) -> Vec<String> {
        let code = code(item);
        let Some(name) = code.trim_end().strip_suffix(';').and_then(|code| code.rsplit("mod ").next()) else {
            return Vec::new();
        };
        if let Some((_, path)) = item.split_once("#[path = \"") {
            let path = path.split('"').next().unwrap_or_default();
            return vec![Path::new(&self.name).with_file_name(path).display().to_string()];
        }
        let base = [&self.module[..], &[name.trim().to_owned()]].concat().join("/");
        vec![format!("{base}.rs"), base]
    }
}

/// The files of a crate's `src` folder by name, without those that are modules of tests.
pub(crate) fn sources(folder: &Path) -> Result<Vec<Source>> {
    let root = folder.join("src");
    let mut found = Vec::new();
    let is_rust = |path: &Path| path.extension().is_some_and(|e| e == "rs");
    for path in files(&root, |_| true, is_rust)? {
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("{} cannot be read", path.display()))?;
        let name: Vec<_> = path.strip_prefix(&root)?.iter().map(|part| part.to_string_lossy()).collect();
        found.push(Source::new(name.join("/"), text));
    }
    Ok(without_test_files(found))
}

fn without_test_files(mut sources: Vec<Source>) -> Vec<Source> {
    let tests: BTreeSet<String> = sources.iter().flat_map(Source::test_files).collect();
    let of_tests =
        |name: &str| Path::new(name).ancestors().any(|part| tests.contains(&*part.to_string_lossy()));
    sources.retain(|source| !of_tests(&source.name));
    sources
}

/// Whether a text has a word, around which no name goes on.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_of_name) && !text[at + word.len()..].starts_with(is_of_name))
}

/// Whether names have this character.
pub(crate) fn is_of_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// Where tests are in what [`code`] gives: whatever has the attribute `test`, `cfg(test)` or `cfg(all(test, …))`.
fn tests(code: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in code.match_indices("#[") {
        let attribute = code[at + 2..].trim_start();
        let of_tests =
            ["test]", "cfg(test)", "cfg(all(test,"].iter().any(|start| attribute.starts_with(start));
        if of_tests && found.last().is_none_or(|last| last.end <= at) {
            found.push(at..item_end(code, at));
        }
    }
    found
}

/// The end of what has the attribute that begins there.
fn item_end(code: &str, attribute: usize) -> usize {
    let mut at = attribute;
    while code[at..].starts_with('#') {
        at = closed(code, at);
        at += code[at..].len() - code[at..].trim_start().len();
    }
    let mut words =
        code[at..].split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let first = words.find(|word| !["pub", "crate", "super", "in"].contains(word));
    let field = first.is_none_or(|word| !ITEMS.contains(&word));
    let mut depth = 0usize;
    for (more, c) in code[at..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return at + more,
            ')' | ']' | '}' => {
                depth -= 1;
                if depth == 0 && c == '}' && !field {
                    return at + more + 1;
                }
            }
            ';' if depth == 0 => return at + more + 1,
            ',' if depth == 0 && field => return at + more + 1,
            _ => {}
        }
    }
    code.len()
}

/// Behind the bracket that closes the first one from there on.
fn closed(code: &str, at: usize) -> usize {
    let mut depth = 0usize;
    for (more, c) in code[at..].char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return at + more + 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(name: &str, text: &str) -> Source {
        Source::new(name.to_owned(), text.to_owned())
    }

    #[test]
    fn tests_are_what_has_their_attribute() {
        for (text, want) in [
            ("a\n#[cfg(test)]\nmod tests {\n    fn f() { g() }\n}\nb", "a b"),
            ("#[cfg(all(test, not(loom)))]\n#[allow(x)]\nmod tests;\nfn b() {}", "fn b() {}"),
            ("#[test]\npub(crate) fn f<A, B>(a: [A; 2]) -> B { b }\nfn c() {}", "fn c() {}"),
            ("struct S {\n    #[cfg(test)]\n    pub n: [u8; 3],\n    m: u8,\n}", "struct S { m: u8, }"),
            ("match n {\n    #[cfg(test)]\n    0 => f(1, 2),\n    _ => g(),\n}", "match n { _ => g(), }"),
            (
                "#[cfg(not(test))]\nfn a() {}\n#[cfg(any(test, x))]\nfn b() {}",
                "#[cfg(not(test))] fn a() {} #[cfg(any(test, x))] fn b() {}",
            ),
            (
                "const A: &str = \"#[cfg(test)] mod no {\";\nfn b() {}",
                "const A: &str = _____________ ___ __ __; fn b() {}",
            ),
        ] {
            let code = source("a.rs", text).code;
            assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), want, "{text}");
            assert_eq!(code.lines().count(), text.lines().count(), "{text}");
        }
    }

    #[test]
    fn modules_of_tests_are_no_sources() {
        let all = [
            ("lib.rs", "mod a;\nmod b;\n#[cfg(test)]\nmod tests;\n"),
            ("tests.rs", "mod more;"),
            ("tests/more.rs", ""),
            ("a/mod.rs", "#[cfg(all(test, not(loom)))]\nmod random;\n#[cfg(test)]\nmod tests {}\n"),
            ("a/random/mod.rs", ""),
            ("a/tests.rs", "// Not a test: the module of that name is written in its place."),
            ("b.rs", "#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;\n"),
            ("b_tests.rs", ""),
        ];
        let kept = without_test_files(all.map(|(name, text)| source(name, text)).into());
        let names: Vec<&str> = kept.iter().map(|source| source.name.as_str()).collect();
        assert_eq!(names, ["lib.rs", "a/mod.rs", "a/tests.rs", "b.rs"]);
        assert_eq!(kept[1].module, ["a"]);
        assert!(kept[0].module.is_empty());
    }
}
