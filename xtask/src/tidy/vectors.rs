//! No closures in code that is compiled once for each instruction set.
//!
//! A function that is generic over the set is inlined into one that has the set's features. A closure in it, and what the library
//! calls with it (`array::from_fn`, `map` of an array), is a function of its own: where the compiler does not inline it, it is
//! compiled without those features, every vector goes through memory, and only a benchmark shows it. A loop stays where it is
//! written.
//!
//! The rule is one of text: a file with a function `<S: Simd>` has none of these outside its tests.

use crate::rust::Source;

/// What shows that a file is written for any set.
const GENERIC: &str = "S: Simd";

/// Calls of the library that take a function for each element.
const CALLS: [&str; 2] = ["from_fn(", ".map("];

/// Whether a file has functions for any set.
pub(super) fn applies(text: &str) -> bool {
    code(text).contains(GENERIC)
}

/// The one-based line of each use, and what is used.
pub(super) fn find(text: &str) -> Vec<(usize, &'static str)> {
    let code = code(text);
    if !code.contains(GENERIC) {
        return Vec::new();
    }
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    let mut found: Vec<_> = closures(&code).into_iter().map(|at| (line(at), "a closure")).collect();
    for call in CALLS {
        found.extend(code.match_indices(call).map(|(at, _)| (line(at), call.trim_matches(['.', '(']))));
    }
    found.sort_unstable();
    found
}

/// Its code, with spaces for tests.
fn code(text: &str) -> String {
    Source::new(String::new(), text.to_owned()).code
}

/// Where closures begin: at a bar that follows no operand, as that of an `or` does.
fn closures(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(at) = code[rest..].find('|').map(|at| rest + at) {
        let before = code[..at].trim_end();
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
        let opens = before.ends_with(['(', ',', '=', '{', ';', '['])
            || before.ends_with("=>")
            || word.is_some_and(|word| ["move", "return"].contains(&word));
        let other = code[at + 1..].find('|').map_or(code.len(), |more| at + 1 + more);
        if opens {
            found.push(at);
        }
        // The other bar of a closure's arguments, and of `||`, begins nothing.
        rest = if opens || other == at + 1 { other + 1 } else { at + 1 }.min(code.len());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with a function that is generic over the set and has this body.
    fn generic(body: &str) -> String {
        format!("//! A file.\nfn f<S: Simd>(s: S, a: [S::F; 2]) -> [S::F; 2] {{\n{body}\n}}\n")
    }

    #[test]
    fn functions_for_each_element_are_found_at_their_lines() {
        assert_eq!(
            find(&generic("    core::array::from_fn(|i| s.neg(a[i]))")),
            [(3, "a closure"), (3, "from_fn")]
        );
        assert_eq!(find(&generic("let b = a;\n    b.map(negated::<S>)")), [(4, "map")]);
        for body in [
            "let neg = |x| s.neg(x);",
            "a.iter().for_each(move |x| s.keep(*x));",
            "(0..2).fold(s.zero(), |sum, i| s.add(sum, a[i]))",
            "s.when(a,\n    || s.zero())",
            "match n { 0 => |x| x, _ => g }",
        ] {
            assert!(find(&generic(body)).iter().any(|(_, what)| *what == "a closure"), "{body}");
        }
    }

    #[test]
    fn loops_alternatives_comments_and_tests_are_not() {
        for body in [
            "let mut b = a;\nfor x in &mut b {\n    *x = s.neg(*x);\n}\nb",
            "if n == 0\n    || n > 2 {\n    return a;\n}\na",
            "let mask = 1 | 2 | n;\nmask |= 4;",
            "match n { 0 | 1 => a, _ => b }",
            "a // not `a.map(|x| s.neg(x))`",
        ] {
            assert_eq!(find(&generic(body)), [], "{body}");
        }
        let tests = "#[cfg(test)]\nmod tests {\n    fn g() { a.map(|x| x); }\n}\n";
        assert_eq!(find(&(generic("a") + tests)), []);
    }

    #[test]
    fn files_for_one_set_may_have_them() {
        assert_eq!(find("fn f(a: [f32; 8]) -> [f32; 8] {\n    a.map(|x| -x)\n}\n"), []);
    }
}
