//! The example of document 000, section 8, and what it is repaired by.

use super::{read, repaired};
use wsp_diag::{Diagnostic, Severity, SourceMap, render_all};
use wsp_ir::tg::Signatures;
use wsp_tg::{LintOptions, lint};

/// The example of document 000, section 8.
const EXAMPLE: &str = include_str!("../../../../../examples/deepseek_indexer_verbatim.tg");
/// It without its defects.
const CORRECTED: &str = include_str!("../../../../../examples/deepseek_indexer_corrected.tg");

/// ISA-EX-03: nothing but the defects that the example has.
#[test]
fn the_example_has_its_known_defects_and_no_others() {
    let (module, sources) = read(EXAMPLE);
    let found = lint(&module, &Signatures::new(), &LintOptions::default());
    let warnings: Vec<&Diagnostic> = found.iter().filter(|d| d.severity != Severity::Note).collect();
    let told: Vec<(&str, &str)> = warnings.iter().map(|d| (d.message.as_str(), d.help[0].as_str())).collect();
    assert_eq!(
        told,
        [
            ("`WORKSPACE` is never used", "remove MC_ALLOC(WORKSPACE, …), or bind it to a kernel"),
            (
                "a DATA edge for `KV_CACHE` is missing from `MLA_PROLOG` to `SPARSE_FA`",
                "TG_DEPEND(MLA_PROLOG, SPARSE_FA, DATA, KV_CACHE)"
            ),
        ],
        "{}",
        render_all(&found, &sources, false)
    );
}

/// ISA-EX-03: with what its kernels say of themselves nothing has to be guessed, and the same is found.
#[test]
fn the_example_has_the_same_defects_with_its_kernels() {
    let mut sources = SourceMap::default();
    let source = include_str!("../../../../../examples/deepseek/indexer.pto");
    let (kernels, faults) = wsp_lang::compile("indexer.pto", source, &mut sources);
    let kernels = kernels.unwrap_or_else(|| panic!("{}", render_all(&faults, &sources, false)));
    let signatures: Signatures = kernels
        .kernel_entries
        .iter()
        .map(|entry| wsp_plan::entry::signature(&kernels, entry, &|_| None))
        .collect();
    let unit = |text| {
        let (module, sources) = read(text);
        let found = lint(&module, &signatures, &LintOptions::default());
        let codes: Vec<u16> = found.iter().map(|finding| finding.code.0).collect();
        (codes, render_all(&found, &sources, false))
    };
    let (codes, shown) = unit(include_str!("../../../../../examples/deepseek_indexer.tg"));
    assert_eq!(codes, [1504, 1503], "{shown}");
    let (codes, shown) = unit(CORRECTED);
    assert_eq!(codes, [0; 0], "{shown}");
}

/// ISA-EX-03: the proposed edge and the proposed removal are the repair.
#[test]
fn the_example_is_repaired_by_what_is_proposed() {
    let (module, _) = read(EXAMPLE);
    let found = lint(&module, &Signatures::new(), &LintOptions::default());
    let text = repaired(EXAMPLE, &found);
    let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("MC_ALLOC(WORKSPACE")).collect();
    let (module, _) = read(&text.join("\n"));
    let left = lint(&module, &Signatures::new(), &LintOptions::default());
    assert!(left.iter().all(|finding| finding.severity == Severity::Note), "{left:#?}");
}

/// ISA-EX-03.
#[test]
fn the_corrected_example_has_no_defect() {
    let (module, sources) = read(CORRECTED);
    let found = lint(&module, &Signatures::new(), &LintOptions::default());
    let left = found.iter().filter(|finding| finding.severity != Severity::Note).count();
    assert_eq!(left, 0, "{}", render_all(&found, &sources, false));
}
