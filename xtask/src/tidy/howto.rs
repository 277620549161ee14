//! The pages that say how to add something name files and tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

/// Folder of the pages.
pub(super) const FOLDER: &str = "docs/how-to";

/// What paths begin with.
const ROOTS: [&str; 5] = ["crates/", "docs/", "filetests/", "python/", "xtask/"];
/// Underscores that the name of a test has at least, and names of other things do not.
const UNDERSCORES: usize = 3;

/// What pages name, and which functions there are.
#[derive(Default)]
pub(super) struct HowTo {
    /// The place and the word.
    named: Vec<(String, String)>,
    functions: BTreeSet<String>,
}

impl HowTo {
    /// Takes in a page.
    pub(super) fn page(&mut self, name: &str, text: &str) {
        let mut is_code = false;
        for (number, line) in text.lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            let words = line.split('`').skip(1).step_by(2).filter(|_| !is_code);
            let named = words.filter(|word| is_path(word) || is_test(word));
            self.named.extend(named.map(|word| (format!("{name}:{}", number + 1), word.to_owned())));
        }
    }

    /// Takes in a source file.
    pub(super) fn source(&mut self, text: &str) {
        for line in text.lines().map(str::trim_start) {
            let name = line.strip_prefix("fn ").or_else(|| line.strip_prefix("def "));
            let name = name.and_then(|rest| rest.split('(').next()).filter(|name| is_test(name));
            self.functions.extend(name.map(str::to_owned));
        }
    }

    /// A fault for each file and test that does not exist.
    pub(super) fn faults(&self, root: &Path) -> Vec<String> {
        let missing = self.named.iter().filter(|(_, word)| match is_path(word) {
            true => !root.join(word).exists(),
            false => !self.functions.contains(word),
        });
        missing.map(|(place, word)| format!("{place}: names `{word}`, which does not exist")).collect()
    }
}

/// A path without a part that stands for a name.
fn is_path(word: &str) -> bool {
    ROOTS.iter().any(|root| word.starts_with(root)) && !word.contains("NAME") && !word.contains(' ')
}

fn is_test(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.matches('_').count() >= UNDERSCORES && word.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_tests_that_do_not_exist_are_named_with_their_place() {
        let mut howto = HowTo::default();
        howto.source("#[test]\n    fn a_test_that_is_there() {}\ndef test_of_the_package() -> None:\n");
        let page = "`a_test_that_is_there` `test_of_the_package` `crates` `xtask/src/gone.rs`\n```text\n`xtask/no.rs`\n```\n\
                    `crates/NAME/src`, `a_test_that_is_gone`, `max_blocks`\n";
        howto.page("docs/how-to/a.md", page);
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let expected = [
            "docs/how-to/a.md:1: names `xtask/src/gone.rs`, which does not exist",
            "docs/how-to/a.md:5: names `a_test_that_is_gone`, which does not exist",
        ];
        assert_eq!(howto.faults(&root), expected);
    }
}
