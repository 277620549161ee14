//! Absolute paths of one machine in files of the project.

/// Where such paths begin. Split, so that this file does not name them itself.
const ROOTS: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// The one-based line and the root of each such path.
pub(super) fn find(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    for (i, line) in text.lines().enumerate() {
        for root in ROOTS {
            let begins =
                |at: usize| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_-./~}".contains(c));
            if line.match_indices(root).any(|(at, _)| begins(at)) {
                found.push((i + 1, root));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_are_found_and_relative_ones_are_not() {
        let text = format!(
            "see {0}me/x\ncrates{0}me/x\n\"{0}me/x\"\nhttps://example.org{0}me/\n",
            ROOTS[0].trim_end_matches("me/")
        );
        assert_eq!(find(&text), [(1, ROOTS[0]), (3, ROOTS[0])]);
    }
}
