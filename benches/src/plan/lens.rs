//! Lengths of requests that plans are measured with.

use pto_wsp::codes;
use std::path::Path;
use wsp_cli::files::read_source;
use wsp_diag::Diagnostic;

/// One batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    /// The file's name, without what all have in common.
    pub(crate) name: String,
    /// Tokens per request.
    pub(crate) lengths: Vec<u32>,
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../testdata/lens/lens_", $name, ".txt")))),*]
    };
}

const EMBEDDED: &[(&str, &str)] = embedded![
    "lognormal4k_1",
    "lognormal4k_16",
    "lognormal4k_64",
    "lognormal4k_256",
    "lognormal4k_1024",
    "lognormal4k_4096",
    "one128k_rest512_1",
    "one128k_rest512_16",
    "one128k_rest512_64",
    "one128k_rest512_256",
    "one128k_rest512_1024",
    "one128k_rest512_4096",
    "uniform4k_1",
    "uniform4k_16",
    "uniform4k_64",
    "uniform4k_256",
    "uniform4k_1024",
    "uniform4k_4096",
];

/// The batches that come with the program.
///
/// # Errors
/// None, as long as they are numbers.
pub(crate) fn embedded() -> Result<Vec<Batch>, Diagnostic> {
    EMBEDDED.iter().map(|(name, text)| parse(name, text)).collect()
}

/// The batches of the `.txt` files of a folder, by name.
///
/// # Errors
/// A folder or file that cannot be read, or that holds something else than one length per line.
pub(crate) fn of_folder(folder: &Path) -> Result<Vec<Batch>, Diagnostic> {
    let cannot = |what: &dyn std::fmt::Display| {
        Diagnostic::error(codes::CHECK_FAILED, format!("`{}` gives no lengths: {what}", folder.display()))
            .help("give a folder of `.txt` files with one length per line, or leave out `--lens`")
    };
    let entries = std::fs::read_dir(folder).map_err(|fault| cannot(&fault))?;
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "txt"));
    paths.sort();
    if paths.is_empty() {
        return Err(cannot(&"there is no `.txt` file"));
    }
    let batch = |path: &Path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        parse(name.strip_prefix("lens_").unwrap_or(&name), &read_source(path)?)
    };
    paths.iter().map(|path| batch(path)).collect()
}

fn parse(name: &str, text: &str) -> Result<Batch, Diagnostic> {
    let length = |(line, word): (usize, &str)| {
        word.trim().parse().map_err(|_| {
            Diagnostic::error(
                codes::CHECK_FAILED,
                format!("line {} of the lengths `{name}` is `{}`", line + 1, word.trim()),
            )
            .help("write one length in 0..=4294967295 per line")
        })
    };
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    Ok(Batch { name: name.to_owned(), lengths: lines.map(length).collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_embedded_batch_has_as_many_requests_as_its_name_says() {
        for batch in embedded().unwrap() {
            assert!(batch.name.ends_with(&format!("_{}", batch.lengths.len())), "{}", batch.name);
        }
    }

    #[test]
    fn a_line_that_is_no_length_is_named() {
        let fault = parse("mine", "5\n\n-3\n").unwrap_err();
        assert!(fault.message.contains("line 3 of the lengths `mine` is `-3`"), "{}", fault.message);
    }
}
