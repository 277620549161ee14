//! Files that state nothing: every command refuses them in the same words, with what the kind of file begins with.

use super::kind::Kind;
use crate::files::read_beginning;
use pto_wsp::codes;
use std::path::Path;
use wsp_diag::Diagnostic;

/// Bytes that are looked at. A text with more of them in comments is not taken for empty.
const MOST: u64 = 1 << 16;

/// Refuses a file of no bytes, and a text of comments only. What is not there or cannot be read is left to the command.
///
/// # Errors
/// For such a file.
pub(super) fn refuse(path: &Path) -> Result<(), Vec<Diagnostic>> {
    let Some(start) = read_beginning(path, MOST) else { return Ok(()) };
    let kind = Kind::of(path);
    if start.is_empty() {
        return Err(vec![empty(path, kind, "it has 0 bytes")]);
    }
    let is_text = !matches!(kind, Kind::UnitBytes | Kind::GeneratorBytes | Kind::Pending | Kind::Arrays);
    if is_text && (start.len() as u64) < MOST && !states_something(&String::from_utf8_lossy(&start), kind) {
        return Err(vec![empty(path, kind, "it has no statement")]);
    }
    Ok(())
}

/// A file that states nothing; `why` says what it has.
pub(super) fn empty(path: &Path, kind: Kind, why: &str) -> Diagnostic {
    let name = path.display();
    let help = match kind {
        Kind::Program => {
            "write kernels, and a function with `PTO_LAUNCH(Space, { … });`; docs/reference/pto.md has examples".to_owned()
        }
        Kind::Workload => "write `workload main { … }`; docs/reference/wsp.md has examples".to_owned(),
        Kind::UnitText => {
            "write a graph, `TG_BEGIN(G)` … `TG_END(G)`, and `TG_LAUNCH(G, default)`; docs/reference/tg.md has examples".to_owned()
        }
        Kind::GeneratorText => "write instructions, the last of which is `HALT`; docs/reference/ptow.md lists them".to_owned(),
        Kind::UnitBytes => format!("make it of its text: `wsp asm FILE.tg -o {name}`"),
        Kind::GeneratorBytes => format!("make it of its text: `wsp asm FILE.ptows -o {name}`"),
        Kind::Pending => format!("write it with `wsp graph FILE --emit pending -o {name}`"),
        Kind::Design => "write `aie.device(npu2) { … }`; docs/reference/aie.md has what is read".to_owned(),
        Kind::Arrays => kind.uses(&name.to_string()),
        Kind::Unknown => kind.uses(""),
    };
    Diagnostic::error(codes::BAD_SOURCE_FILE, format!("`{name}` is empty: {why}")).help(help)
}

/// Whether a text holds more than comments and `;`, which begins a comment in programs that generate tasks.
fn states_something(text: &str, kind: Kind) -> bool {
    match kind {
        Kind::Workload => wsp_ir::workload::text::states_something(text),
        Kind::UnitText => wsp_isa::tg::text::states_something(text),
        Kind::GeneratorText => wsp_isa::ptow::states_something(text),
        _ => wsp_lang::states_something(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_semicolons_state_nothing() {
        for (text, kind, states) in [
            ("", Kind::Program, false),
            ("\u{feff} \n;; // a\n/* b */ // c", Kind::Program, false),
            ("// a\nx", Kind::Workload, true),
            ("/* without an end", Kind::UnitText, true),
            ("; a comment", Kind::GeneratorText, false),
            ("; a comment\nHALT", Kind::GeneratorText, true),
            ("// no comment", Kind::GeneratorText, true),
        ] {
            assert_eq!(states_something(text, kind), states, "{text}");
        }
    }
}
