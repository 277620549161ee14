//! Paths of modules in the code of a file.

use std::collections::BTreeSet;

/// Words that the name of an item follows.
const DEFINING: [&str; 8] = ["const", "enum", "fn", "static", "struct", "trait", "type", "union"];

/// The paths of a file, and what it defines.
#[derive(Default)]
pub(super) struct Paths {
    /// What `use` takes, wherever it stands in the file.
    pub(super) uses: Vec<Use>,
    /// All others as they are written, single names too.
    pub(super) code: BTreeSet<Vec<String>>,
    /// The names of its items, without those inside of others.
    pub(super) defined: BTreeSet<String>,
}

/// A path of a `use`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Use {
    /// From the root of the crate on, if it begins with `crate`, `super` or `self`; else as if it began with a child.
    pub(super) full: Vec<String>,
    /// The name that it gives; none of `*`.
    pub(super) name: Option<String>,
    /// Whether it begins with `crate`, `super`, or a name that such a `use` gives.
    pub(super) is_from_root: bool,
    /// Whether it is `pub`, in full or in part, so that a `*` of the module takes it.
    pub(super) is_public: bool,
}

/// The paths of a file of some module.
pub(super) fn paths(code: &str, module: &[String]) -> Paths {
    let tokens = tokens(code);
    let mut found = Paths::default();
    let (mut at, mut depth) = (0, 0usize);
    while at < tokens.len() {
        match tokens[at] {
            "use" => {
                let is_public = at > 0 && ["pub", ")"].contains(&tokens[at - 1]);
                let mut tree =
                    Tree { tokens: &tokens, at: at + 1, module, is_public, found: &mut found.uses };
                tree.read(&[]);
                at = tree.at;
                continue;
            }
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            name if depth == 0 && is_word(name) && is_defined(&tokens[..at]) => {
                _ = found.defined.insert(name.to_owned())
            }
            word if is_word(word) && is_start(&tokens[..at]) => {
                let more = tokens[at + 1..].chunks_exact(2);
                let more: Vec<&str> =
                    more.take_while(|two| two[0] == "::" && is_word(two[1])).map(|two| two[1]).collect();
                at += 2 * more.len();
                found.code.insert([&[word][..], &more].concat().into_iter().map(str::to_owned).collect());
            }
            _ => {}
        }
        at += 1;
    }
    follow_names(&mut found.uses, module);
    found
}

/// The path from the root on, of one that begins with `crate` or `super` in a module.
pub(super) fn from_root(path: &[String], module: &[String]) -> Option<Vec<String>> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "super" => Some([&module[..module.len().saturating_sub(ups)], &path[ups..]].concat()),
        _ => None,
    }
}

/// Paths that begin with a name which another `use` gives from the root on begin there.
fn follow_names(uses: &mut [Use], module: &[String]) {
    for at in 0..uses.len() {
        let Some(first) = uses[at].full.get(module.len()).filter(|_| !uses[at].is_from_root) else {
            continue;
        };
        let other = uses.iter().find(|other| other.is_from_root && other.name.as_ref() == Some(first));
        if let Some(other) = other {
            let full = [&other.full, &uses[at].full[module.len() + 1..]].concat();
            uses[at] = Use { full, is_from_root: true, ..uses[at].clone() };
        }
    }
}

/// Whether an item's name follows these tokens.
fn is_defined(before: &[&str]) -> bool {
    match before {
        [.., "macro_rules", "!"] => true,
        [.., last] => DEFINING.contains(last),
        [] => false,
    }
}

/// Whether a path may begin behind these tokens: a field, a method and a lifetime are none.
fn is_start(before: &[&str]) -> bool {
    match before {
        [.., ".", "."] => true,
        [.., last] => !["::", ".", "'"].contains(last),
        [] => true,
    }
}

/// Whether a token is a name or a keyword.
fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::`, and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            c if word(c) => rest.find(|c: char| !word(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        found.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    found
}

/// The path of a `use`, which may fork in braces.
struct Tree<'t> {
    tokens: &'t [&'t str],
    at: usize,
    module: &'t [String],
    is_public: bool,
    found: &'t mut Vec<Use>,
}

impl Tree<'_> {
    /// Reads what follows these segments, up to the comma, brace or other mark behind it.
    fn read(&mut self, before: &[String]) {
        let mut path = before.to_vec();
        loop {
            let token = self.tokens.get(self.at).copied().unwrap_or_default();
            match token {
                "{" => return self.branches(&path),
                "*" => {
                    self.at += 1;
                    return self.leaf(path, true);
                }
                word if is_word(word) => {
                    path.push(word.to_owned());
                    self.at += 1;
                }
                _ => break,
            }
            if self.tokens.get(self.at) != Some(&"::") {
                break;
            }
            self.at += 1;
        }
        self.leaf(path, false);
    }

    fn branches(&mut self, before: &[String]) {
        self.at += 1;
        while self.tokens.get(self.at).is_some_and(|token| *token != "}") {
            let start = self.at;
            self.read(before);
            // A comma, or what is in no such list.
            self.at += usize::from(self.tokens.get(self.at) == Some(&",") || self.at == start);
        }
        self.at += 1;
    }

    fn leaf(&mut self, mut path: Vec<String>, is_star: bool) {
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let mut name = path.last().cloned().filter(|_| !is_star);
        if self.tokens.get(self.at) == Some(&"as") {
            name = self.tokens.get(self.at + 1).map(|name| (*name).to_owned());
            self.at += 2;
        }
        let Some(first) = path.first() else { return };
        let rooted = from_root(&path, self.module);
        let is_from_root = rooted.is_some();
        let below = usize::from(first == "self");
        let full = rooted.unwrap_or_else(|| [self.module, &path[below..]].concat());
        self.found.push(Use { full, name, is_from_root, is_public: self.is_public });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> Paths {
        paths(code, &["a", "b"].map(str::to_owned))
    }

    /// What `use` takes, with its names.
    fn uses(code: &str) -> Vec<String> {
        let shown = |path: &Use| {
            let root = if path.is_from_root { "crate" } else { "self" };
            let public = if path.is_public { "pub " } else { "" };
            format!("{public}{root}::{} as {}", path.full.join("::"), path.name.as_deref().unwrap_or("*"))
        };
        of(code).uses.iter().map(shown).collect()
    }

    #[test]
    fn trees_of_use_are_read_with_names() {
        assert_eq!(
            uses("pub(crate) use crate::{c::{self, d as e}, f::*}; use super::{g, h};"),
            [
                "pub crate::c as c",
                "pub crate::c::d as e",
                "pub crate::f as *",
                "crate::a::g as g",
                "crate::a::h as h"
            ]
        );
        assert_eq!(uses("use self::c::d;\nuse e::{f};"), ["self::a::b::c::d as d", "self::a::b::e::f as f"]);
    }

    #[test]
    fn a_use_that_begins_with_the_name_of_another_begins_where_that_does() {
        assert_eq!(
            uses("use e::{F, g::*}; use super::d as e; use e;"),
            ["crate::a::d::F as F", "crate::a::d::g as *", "crate::a::d as e", "crate::a::d as e"]
        );
    }

    #[test]
    fn paths_in_code_are_read_as_they_are_written() {
        let code =
            of("x(crate::c::D::<u8>::E, $crate::g!(), y.z.w, ..v::u, &'q str, self.super_::x, 1..2)").code;
        let shown: Vec<String> = code.iter().map(|path| path.join("::")).collect();
        assert_eq!(shown, ["crate::c::D", "crate::g", "self", "str", "u8", "v::u", "x", "y"]);
    }

    #[test]
    fn a_file_defines_its_outer_items() {
        let code = "pub const A: u8 = 0; fn b() { struct C; } mod d { enum E {} } macro_rules! f { () => {} } type G = B;";
        assert_eq!(of(code).defined.into_iter().collect::<Vec<_>>(), ["A", "G", "b", "f"]);
    }
}
