//! Paths of modules in the code of a file.

/// A path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Path {
    /// From the root of the crate on, if it begins with `crate`, `super` or `self`; else as if it began with a child.
    pub(super) full: Vec<String>,
    /// The name that a `use` gives it.
    pub(super) name: Option<String>,
    start: Start,
}

/// What a path begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Start {
    /// `crate` or `super`.
    Root,
    /// `self`, or a name: a child's, or another crate's.
    Child,
}

impl Path {
    /// Whether it begins with `crate` or `super`.
    pub(super) fn is_from_root(&self) -> bool {
        self.start == Start::Root
    }
}

/// The paths of a file of some module: all that begin with `crate::` or `super::`, and all of `use`.
pub(super) fn paths(code: &str, module: &[String]) -> Vec<Path> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (of_use, rooted) = (tokens[at] == "use", ["crate", "super"].contains(&tokens[at]));
        let begins = rooted && tokens.get(at + 1) == Some(&"::") && (at == 0 || tokens[at - 1] != "::");
        if !of_use && !begins {
            at += 1;
            continue;
        }
        let mut tree =
            Tree { tokens: &tokens, at: at + usize::from(of_use), module, of_use, found: &mut found };
        tree.read(&[]);
        at = tree.at.max(at + 1);
    }
    found
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

/// A path that may fork in braces.
struct Tree<'t> {
    tokens: &'t [&'t str],
    at: usize,
    module: &'t [String],
    of_use: bool,
    found: &'t mut Vec<Path>,
}

impl Tree<'_> {
    /// Reads what follows these segments, up to the comma, brace or other mark behind it.
    fn read(&mut self, before: &[String]) {
        let mut path = before.to_vec();
        loop {
            let token = self.tokens.get(self.at).copied().unwrap_or_default();
            match token {
                "{" if self.of_use || !path.is_empty() => return self.branches(&path),
                "*" => self.at += 1,
                word if word.starts_with(|c: char| c.is_alphanumeric() || c == '_') => {
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
        self.leaf(path);
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

    fn leaf(&mut self, mut path: Vec<String>) {
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        let mut name = path.last().cloned();
        if self.of_use && self.tokens.get(self.at) == Some(&"as") {
            name = self.tokens.get(self.at + 1).map(|name| (*name).to_owned());
            self.at += 2;
        }
        let ups = path.iter().take_while(|part| *part == "super").count();
        let (start, full) = match path.first().map(String::as_str) {
            Some("crate") => (Start::Root, path[1..].to_vec()),
            Some("super") => {
                let parent = &self.module[..self.module.len().saturating_sub(ups)];
                (Start::Root, [parent, &path[ups..]].concat())
            }
            Some("self") => (Start::Child, [self.module, &path[1..]].concat()),
            Some(_) => (Start::Child, [self.module, &path].concat()),
            None => return,
        };
        self.found.push(Path { full, name: name.filter(|_| self.of_use), start });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths from the root on, a `use` with its name.
    fn of(code: &str) -> Vec<String> {
        let module = ["a", "b"].map(str::to_owned);
        let shown = |path: Path| {
            let root = if path.is_from_root() { "crate" } else { "self" };
            let name = path.name.map(|name| format!(" as {name}")).unwrap_or_default();
            format!("{root}::{}{name}", path.full.join("::"))
        };
        paths(code, &module).into_iter().map(shown).collect()
    }

    #[test]
    fn trees_of_use_are_read_with_names() {
        assert_eq!(
            of("pub(crate) use crate::{c::{self, d as e}, f::*}; use super::{g, h};"),
            ["crate::c as c", "crate::c::d as e", "crate::f as f", "crate::a::g as g", "crate::a::h as h"]
        );
        assert_eq!(of("use self::c::d;\nuse e::{f};"), ["self::a::b::c::d as d", "self::a::b::e::f as f"]);
    }

    #[test]
    fn paths_in_code_are_those_from_the_root_on() {
        assert_eq!(
            of(
                "fn f(x: crate::c::D<u8>) -> super::E { $crate::g!(x, std::mem::take, pub(crate)); self.super_::x }"
            ),
            ["crate::c::D", "crate::a::E", "crate::g"]
        );
        assert_eq!(
            of("let x = super::super::c::d::<u8>() + crate::e { f: 1 };"),
            ["crate::c::d", "crate::e"]
        );
    }
}
