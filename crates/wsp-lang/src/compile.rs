//! The way from text to a module.

use crate::ast;
use crate::codes;
use crate::include::{self, Loaded, Reader};
use crate::lint;
use crate::parser::{parse, parse_tokens, template_names};
use crate::sema::{self, SEARCH_NAME, SEARCH_SOURCE};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::rc::Rc;
use wsp_core::limits;
use wsp_diag::{Diagnostic, FileId, Severity, SourceMap};
use wsp_ir::Module;
use wsp_ordered::Arrange;

/// Compiles one file. The text is added to `sources` under `name`, so that the findings can be shown.
///
/// There is a module exactly when no finding is an error. At most [`limits::MAX_DIAGNOSTICS`] findings are returned,
/// in the order of the text; errors crowd out warnings.
///
/// ```
/// let mut sources = wsp_diag::SourceMap::default();
/// let (module, findings) = wsp_lang::compile("a.pto", "PTO_PARAM(uint32_t, n, 4)", &mut sources);
/// assert!(findings.is_empty());
/// assert_eq!(module.expect("no errors").params[0].name, "n");
/// ```
pub fn compile(name: &str, text: &str, sources: &mut SourceMap) -> (Option<Module>, Vec<Diagnostic>) {
    compile_with(name, text, sources, &mut |path| {
        let message = format!("there are no files here from which `{}` could be included", path.display());
        Err(Diagnostic::error(codes::NO_FILES, message).note("the compiler was given a text alone"))
    })
}

/// Compiles a file and those that it includes with `#include "path"`, each once. Paths start from the folder of the file that
/// includes; `read` is given them joined to it, starting from `name`. Otherwise as [`compile`].
///
/// ```
/// let mut sources = wsp_diag::SourceMap::default();
/// let mut read = |path: &std::path::Path| {
///     assert_eq!(path, std::path::Path::new("lib/sizes.pto"));
///     Ok("PTO_PARAM(uint32_t, n, 4)".to_owned())
/// };
/// let text = "#include \"sizes.pto\"\nconst uint32_t twice = 2 * n;";
/// let (module, findings) = wsp_lang::compile_with("lib/a.pto", text, &mut sources, &mut read);
/// assert!(findings.is_empty());
/// assert_eq!(module.expect("no errors").params[0].name, "n");
/// ```
pub fn compile_with(
    name: &str,
    text: &str,
    sources: &mut SourceMap,
    read: &mut Reader<'_>,
) -> (Option<Module>, Vec<Diagnostic>) {
    let compiled = front(name, text, sources, read);
    (compiled.module, arranged(compiled.findings))
}

/// Compiles as [`compile_with`], and adds warnings of what compiles and is probably not meant: what is declared and never used,
/// tiles that are read before anything is in them, conditions that are always true, loops without an end. A correct program
/// has none.
///
/// ```
/// let mut sources = wsp_diag::SourceMap::default();
/// let text = "uint32_t twice(uint32_t n) { uint32_t m = 2; return n + n; }";
/// let mut read = |_: &std::path::Path| Ok(String::new());
/// let (module, findings) =
///     wsp_lang::check_with("a.pto", text, wsp_lang::Purpose::Program, &mut sources, &mut read);
/// assert!(module.is_some());
/// assert_eq!(findings[0].message, "variable `m` is never read");
/// ```
pub fn check_with(
    name: &str,
    text: &str,
    purpose: Purpose,
    sources: &mut SourceMap,
    read: &mut Reader<'_>,
) -> (Option<Module>, Vec<Diagnostic>) {
    let Compiled { module, tree, built_in, root, mut findings } = front(name, text, sources, read);
    if let Some(module) = &module {
        findings.extend(lint::warnings(&lint::LintInput { tree: &tree, module, root, built_in, purpose }));
    }
    (module, arranged(findings))
}

/// What a file is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Its host entry is launched: what the launch does not reach is unused.
    Program,
    /// A workload or a task graph runs its kernels: any declaration may be used.
    Library,
}

/// A compiled text.
struct Compiled {
    /// There exactly when no finding is an error.
    module: Option<Module>,
    tree: ast::File,
    built_in: Option<FileId>,
    root: FileId,
    findings: Vec<Diagnostic>,
}

fn front(name: &str, text: &str, sources: &mut SourceMap, read: &mut Reader<'_>) -> Compiled {
    let mut findings = Vec::new();
    let files = include::closure(name, text, sources, read, &mut findings);
    let root = files.first().map(|loaded| loaded.file).unwrap_or_default();
    let mut tree = parse_all(files, &mut findings);
    // With parts of a file missing, most names that are not found would be the parser's fault.
    if findings.iter().any(Diagnostic::is_error) {
        return Compiled { module: None, tree, built_in: None, root, findings };
    }
    let own_search = tree
        .items
        .iter()
        .any(|item| matches!(item, ast::Item::Function(f) if f.name.as_str() == SEARCH_NAME));
    let mut built_in = None;
    if !own_search && sema::calls(&tree, SEARCH_NAME) {
        let file = sources.add("<built in>", SEARCH_SOURCE);
        tree.items.extend(parse(file, SEARCH_SOURCE).0.items);
        built_in = Some(file);
    }
    let (module, more) = sema::lower(&tree, built_in);
    findings.extend(more);
    if !findings.iter().any(Diagnostic::is_error) {
        findings.extend(lint::bounds::check(&module));
    }
    let module = (!findings.iter().any(Diagnostic::is_error)).then_some(module);
    Compiled { module, tree, built_in, root, findings }
}

/// The items of all files, in the order in which the files were met.
fn parse_all(files: Vec<Loaded>, findings: &mut Vec<Diagnostic>) -> ast::File {
    let texts: Vec<Rc<str>> = files.iter().map(|file| file.text.clone()).collect();
    let names = texts.iter().zip(&files).flat_map(|(text, file)| template_names(text, &file.lexed.tokens));
    let templates: HashSet<&str> = names.collect();
    let mut all = ast::File::default();
    for (text, Loaded { file, lexed, .. }) in texts.iter().zip(files) {
        let (tree, found) = parse_tokens(file, text, lexed, &templates);
        all.items.extend(tree.items);
        findings.extend(found);
    }
    all
}

/// The findings in the order of the text, the most severe of them if there are too many.
fn arranged(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let most = limits::MAX_DIAGNOSTICS as usize;
    if findings.len() > most {
        findings.arrange_by_key(|d| Reverse(matches!(d.severity, Severity::Error)));
        findings.truncate(most);
    }
    findings.arrange_by_key(|d| d.primary.as_ref().map(|l| (l.span.file, l.span.start)));
    findings
}
