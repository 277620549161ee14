//! The way from text to a module.

use crate::ast;
use crate::parser::parse;
use crate::sema::{self, SEARCH_NAME, SEARCH_SOURCE};
use std::cmp::Reverse;
use wsp_core::limits;
use wsp_ir::diag::{Diagnostic, Severity};
use wsp_ir::{Module, SourceMap};

/// Compiles one file. The text is added to `sources` under `name`, so that the findings can be shown.
///
/// There is a module exactly when no finding is an error. At most [`limits::MAX_DIAGNOSTICS`] findings are returned,
/// in the order of the text; errors crowd out warnings.
///
/// ```
/// let mut sources = wsp_ir::SourceMap::default();
/// let (module, findings) = wsp_lang::compile("a.pto", "PTO_PARAM(uint32_t, n, 4)", &mut sources);
/// assert!(findings.is_empty());
/// assert_eq!(module.expect("no errors").params[0].name, "n");
/// ```
pub fn compile(name: &str, text: &str, sources: &mut SourceMap) -> (Option<Module>, Vec<Diagnostic>) {
    let file = sources.add(name, text);
    let (mut tree, mut findings) = parse(file, text);
    // With parts of the file missing, most names that are not found would be the parser's fault.
    if findings.iter().any(Diagnostic::is_error) {
        return (None, arranged(findings));
    }
    let own_search = tree
        .items
        .iter()
        .any(|item| matches!(item, ast::Item::Function(f) if f.name.as_str() == SEARCH_NAME));
    if !own_search && sema::calls(&tree, SEARCH_NAME) {
        let file = sources.add("<built in>", SEARCH_SOURCE);
        tree.items.extend(parse(file, SEARCH_SOURCE).0.items);
    }
    let (module, more) = sema::lower(&tree, file);
    findings.extend(more);
    let module = (!findings.iter().any(Diagnostic::is_error)).then_some(module);
    (module, arranged(findings))
}

/// The findings in the order of the text, the most severe of them if there are too many.
fn arranged(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let most = limits::MAX_DIAGNOSTICS as usize;
    if findings.len() > most {
        findings.sort_by_key(|d| Reverse(matches!(d.severity, Severity::Error)));
        findings.truncate(most);
    }
    findings.sort_by_key(|d| d.primary.as_ref().map(|l| (l.span.file, l.span.start)));
    findings
}
