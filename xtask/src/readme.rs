//! The command that the README shows first.

/// The first line of a `sh` block that begins with `cargo run`.
pub(crate) fn first_run(text: &str) -> Option<&str> {
    let mut shell = false;
    for line in text.lines().map(str::trim) {
        if let Some(language) = line.strip_prefix("```") {
            shell = !shell && language == "sh";
        } else if shell && line.starts_with("cargo run ") {
            return Some(line);
        }
    }
    None
}

/// The options of `cargo run …` up to its `--`, which are those of `cargo build` too.
pub(crate) fn build_options(run: &str) -> impl Iterator<Item = &str> {
    run.split_whitespace().skip(2).take_while(|word| *word != "--")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_the_options_of_the_run() {
        let options: Vec<&str> = build_options("cargo run --release --features x -- run --release").collect();
        assert_eq!(options, ["--release", "--features", "x"]);
    }

    #[test]
    fn the_first_run_of_a_shell_block_is_found() {
        let text = "cargo run no\n```text\ncargo run no\n```\n```sh\ncargo test\ncargo run -- x\ncargo run -- y\n```\n";
        assert_eq!(first_run(text), Some("cargo run -- x"));
    }

    #[test]
    fn without_one_there_is_none() {
        assert_eq!(first_run("```sh\ncargo test\n```\ncargo run -- x\n"), None);
        assert_eq!(first_run(""), None);
    }
}
