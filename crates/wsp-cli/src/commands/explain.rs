//! `wsp explain`: what a diagnostic code means.

use super::Outcome;
use crate::args::ExplainArgs;
use crate::catalog::{all, lookup};
use crate::terminal::Terminal;
use std::fmt::Write as _;
use wsp_ir::diag::{Code, CodeInfo, Diagnostic};

/// Prints the catalog's text of a code, or all codes.
pub(super) fn explain(terminal: &Terminal, args: &ExplainArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let Some(text) = &args.code else {
        terminal.print(&list(&all()));
        return Ok(Outcome::Done);
    };
    let (message, outcome) = answer(text);
    terminal.print(&message);
    Ok(outcome)
}

fn answer(text: &str) -> (String, Outcome) {
    let Some(code) = parse(text) else {
        let message = format!("`{text}` is no diagnostic code; write WSP0031, wsp31 or 31\n");
        return (message, Outcome::Failed);
    };
    match lookup(code) {
        Some(info) => (page(info), Outcome::Done),
        None => {
            let near = nearest(code);
            let mut message = format!("there is no diagnostic {code}\n");
            if !near.is_empty() {
                let _ = write!(message, "near it are\n{}", list(&near));
            }
            (message, Outcome::Failed)
        }
    }
}

/// The code in any way of writing it.
fn parse(text: &str) -> Option<Code> {
    let text = text.trim();
    let prefixed = text.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("wsp"));
    let digits = if prefixed { text[3..].trim_start_matches(['-', ' ']) } else { text };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok().map(Code)).flatten()
}

fn page(info: &CodeInfo) -> String {
    format!("{}: {}\n\n{}\n", info.code, info.title, info.explanation.trim())
}

fn list(infos: &[&CodeInfo]) -> String {
    infos.iter().map(|info| format!("  {}  {}\n", info.code, info.title)).collect()
}

/// The three codes nearest in number.
fn nearest(code: Code) -> Vec<&'static CodeInfo> {
    let mut near = all();
    near.sort_by_key(|info| (info.code.0.abs_diff(code.0), info.code));
    near.truncate(3);
    near.sort_by_key(|info| info.code);
    near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_may_be_written_in_several_ways() {
        for text in ["WSP0500", "wsp500", "500", " Wsp-0500 ", "00500"] {
            assert_eq!(parse(text), Some(Code(500)), "{text}");
        }
        for text in ["", "wsp", "WSPx", "-1", "99999", "wspé1", "+5"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn unknown_codes_show_their_neighbours() {
        let (text, outcome) = answer("499");
        assert_eq!(outcome, Outcome::Failed);
        assert!(text.contains("WSP0500"), "{text}");
        assert!(answer("500").0.starts_with("WSP0500: "));
        assert!(answer("banana").0.contains("no diagnostic code"));
    }
}
