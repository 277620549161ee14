//! Paths in commands that a help says to type.

use std::path::Path;

/// A path as a word of a shell: in quotes where it would be several words, or another one, without.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |char: char| char.is_alphanumeric() || "/._-+,:@%".contains(char);
    // Behind a command, one that begins so would be an option.
    let text = if text.starts_with('-') { format!("./{text}") } else { text };
    if text.chars().all(is_plain) && !text.is_empty() {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_path_for_one_word() {
        for (path, word) in [
            ("a/b-1.npz", "a/b-1.npz"),
            ("a b;c", "'a b;c'"),
            ("$HOME/~", "'$HOME/~'"),
            ("it's", "'it'\\''s'"),
            ("-o", "./-o"),
        ] {
            assert_eq!(shell_word(Path::new(path)), word);
        }
    }
}
