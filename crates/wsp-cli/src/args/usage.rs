//! Wrong command lines, for programs: one object in the shape of every other error.

use super::{Color, Format, MessageArgs};
use crate::terminal::Terminal;
use clap::ValueEnum as _;
use pto_wsp::codes;
use std::ffi::OsString;
use wsp_diag::{Diagnostic, SourceMap};

/// Whether a command line that could not be read asks for errors in JSON.
pub(crate) fn wants_json(words: impl IntoIterator<Item = OsString>) -> bool {
    let words = words.into_iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.take_while(|word| word != "--").collect();
    let after = words.windows(2).filter(|pair| pair[0] == "--error-format").map(|pair| pair[1].as_str());
    let joined = words.iter().filter_map(|word| word.strip_prefix("--error-format="));
    let is_json = |word| matches!(Format::from_str(word, false), Ok(Format::Json));
    after.chain(joined).any(is_json)
}

/// Where errors go while the command line is not read.
pub(crate) fn terminal(is_json: bool) -> Terminal {
    let error_format = Format::of(is_json);
    Terminal::new(&MessageArgs { error_format, color: Color::Auto })
}

/// Prints what is wrong with a command line.
pub(crate) fn report(error: &clap::Error) {
    terminal(true).report(&[diagnostic(error)], &SourceMap::default());
}

fn diagnostic(error: &clap::Error) -> Diagnostic {
    let text = error.render().to_string();
    let mut parts = text.trim().split("\n\n").map(str::trim);
    let first = parts.next().unwrap_or_default();
    let found = Diagnostic::error(codes::USAGE, on_one_line(first.trim_start_matches("error: ")));
    parts.fold(found, |found, part| {
        if let Some(usage) = part.strip_prefix("Usage: ") {
            return found.note(format!("usage: {}", on_one_line(usage)));
        }
        part.lines().map(str::trim).fold(found, |found, line| match line.strip_prefix("tip: ") {
            Some(tip) => found.help(tip),
            None if line.is_empty() => found,
            None => found.help(line.trim_end_matches('.')),
        })
    })
}

fn on_one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}
