//! `#include "file"`: the files that one compilation is made of.

use crate::codes;
use crate::tokens::{self, Include, Lexed};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use wsp_core::limits::MAX_SOURCE_BYTES;
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, FileId, SourceMap, Span};
use wsp_ordered::OrderedSet;

/// Most files of one compilation.
pub(crate) const MAX_FILES: usize = 64;

/// Gives the text of an included file, or says why there is none.
pub type Reader<'r> = dyn FnMut(&Path) -> Result<String, Diagnostic> + 'r;

/// One file of a compilation as tokens.
pub(crate) struct Loaded {
    pub(crate) file: FileId,
    pub(crate) text: Rc<str>,
    pub(crate) lexed: Lexed,
}

/// Reads the files that a text includes, directly or by a detour, each once; `reports` gets what is wrong with that.
pub(crate) fn closure(
    name: &str,
    text: &str,
    sources: &mut SourceMap,
    read: &mut Reader<'_>,
    reports: &mut Vec<Diagnostic>,
) -> Vec<Loaded> {
    let mut loader =
        Loader { sources, read, reports, known: OrderedSet::new(), open: Vec::new(), loaded: Vec::new() };
    let path = plain(Path::new(name));
    loader.known.insert(path.clone());
    loader.file(name, path, text);
    loader.loaded
}

struct Loader<'a, 'r> {
    sources: &'a mut SourceMap,
    read: &'a mut Reader<'r>,
    reports: &'a mut Vec<Diagnostic>,
    /// Every file so far.
    known: OrderedSet<PathBuf>,
    /// The files that are being read: each includes the next at a place.
    open: Vec<(PathBuf, Span)>,
    loaded: Vec<Loaded>,
}

impl Loader<'_, '_> {
    fn file(&mut self, name: &str, path: PathBuf, text: &str) {
        let file = self.sources.add(name, text);
        if text.len() > MAX_SOURCE_BYTES as usize {
            self.reports.push(too_large(file, text.len()));
            return;
        }
        let lexed = tokens::lex(file, text);
        let includes = lexed.includes.clone();
        self.loaded.push(Loaded { file, text: text.into(), lexed });
        for include in includes {
            self.open.push((path.clone(), include.span));
            self.include(&path, &include);
            self.open.pop();
        }
    }

    /// Reads what `from` includes, unless it is there.
    fn include(&mut self, from: &Path, include: &Include) {
        let path = plain(&from.parent().unwrap_or(Path::new("")).join(&include.path));
        if let Some(first) = self.open.iter().position(|(open, _)| *open == path) {
            self.cycle(first, &path, include.span);
            return;
        }
        if !self.known.insert(path.clone()) {
            return;
        }
        if self.known.len() > MAX_FILES {
            let message = format!("a program is made of at most {MAX_FILES} files");
            self.reports
                .push(Diagnostic::error(codes::TOO_MANY_FILES, message).at(include.span, "this is one more"));
            return;
        }
        match (self.read)(&path) {
            Ok(text) => self.file(&path.display().to_string(), path, &text),
            Err(fault) => self.reports.push(fault.at(include.span, "included here")),
        }
    }

    fn cycle(&mut self, first: usize, path: &Path, span: Span) {
        let message = format!("`{}` includes itself", path.display());
        let mut fault = Diagnostic::error(codes::INCLUDE_CYCLE, message).at(span, "included again here");
        // The last one is the place reported.
        for (_, place) in &self.open[first..self.open.len() - 1] {
            fault = fault.label(*place, "by way of this");
        }
        self.reports.push(fault.help("move what both files need to a third one"));
    }
}

/// The report of a file that is longer than a source may be.
pub(crate) fn too_large(file: FileId, bytes: usize) -> Diagnostic {
    Diagnostic::error(codes::SOURCE_TOO_LARGE, "the source file is too large")
        .at(Span::new(file, 0, 0), "")
        .note(format!(
            "it has {bytes}; at most {MAX_SOURCE_BYTES} are accepted",
            bytes = counted(bytes, "byte")
        ))
}

/// The path without `.` and `..`, as far as names tell, so that two ways to write it are equal.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
