//! `wsp explain`: what a diagnostic code means.

use super::Outcome;
use crate::args::ExplainArgs;
use crate::terminal::Terminal;
use pto_wsp::catalog::{all, lookup};
use pto_wsp::codes;
use wsp_diag::{Code, CodeInfo, Diagnostic};
use wsp_ordered::Arrange;

/// Prints the catalog's text of a code, or all codes.
pub(super) fn explain(terminal: &Terminal, args: &ExplainArgs) -> Result<Outcome, Vec<Diagnostic>> {
    let text = match &args.code {
        Some(text) => answer(text).map_err(|fault| vec![fault])?,
        None => list(&all()),
    };
    terminal.print(&text);
    Ok(Outcome::Done)
}

fn answer(text: &str) -> Result<String, Diagnostic> {
    let Some(code) = parse(text) else {
        let message = format!("`{text}` is no diagnostic code");
        return Err(Diagnostic::error(codes::UNKNOWN_CODE, message)
            .help("write WSP0031, wsp31 or 31; `wsp explain` lists all codes"));
    };
    lookup(code).map(CodeInfo::page).ok_or_else(|| {
        let fault = Diagnostic::error(codes::UNKNOWN_CODE, format!("there is no diagnostic {code}"));
        fault
            .note(format!("near it are\n{}", list(&nearest(code)).trim_end()))
            .help("`wsp explain` lists all codes")
    })
}

/// The code in any way of writing it.
fn parse(text: &str) -> Option<Code> {
    let text = text.trim();
    let prefixed = text.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("wsp"));
    let digits = if prefixed { text[3..].trim_start_matches(['-', ' ']) } else { text };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().ok().map(Code)).flatten()
}

fn list(infos: &[&CodeInfo]) -> String {
    infos.iter().map(|info| format!("  {}  {}\n", info.code, info.title)).collect()
}

/// The three codes nearest in number.
fn nearest(code: Code) -> Vec<&'static CodeInfo> {
    let mut near = all();
    near.arrange_by_key(|info| (info.code.0.abs_diff(code.0), info.code));
    near.truncate(3);
    near.arrange_by_key(|info| info.code);
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
        let fault = answer("499").unwrap_err();
        assert!(fault.notes[0].contains("WSP0500"), "{fault:?}");
        assert!(answer("500").unwrap().starts_with("WSP0500: "));
        assert!(answer("banana").unwrap_err().message.contains("no diagnostic code"));
    }
}
