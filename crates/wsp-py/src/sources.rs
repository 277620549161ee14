//! Files of a program's user, and the names that stand there.
//!
//! Names of a module are different from each other, ASCII and no keywords. Where the user has written another name, a size and an axis of one name for instance,
//! messages have that.

use std::ops::Deref;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::workload::WorkloadModule;
use wsp_trace::{GivenNames, Trace};

/// What messages take places and names from.
pub(crate) trait Told {
    /// The files.
    fn map(&self) -> &SourceMap;

    /// Names of the module that the user has not written, and what stands in their place.
    fn given(&self) -> &[(String, String)] {
        &[]
    }
}

impl Told for SourceMap {
    fn map(&self) -> &SourceMap {
        self
    }
}

/// Files, and names.
#[derive(Default)]
pub(crate) struct Sources {
    map: SourceMap,
    given: Vec<(String, String)>,
}

impl Sources {
    /// Those of a trace.
    pub(crate) fn of(trace: &Trace) -> Sources {
        Sources { map: trace.sources.clone(), given: renamed(&trace.names, &trace.workload) }
    }
}

impl From<SourceMap> for Sources {
    fn from(map: SourceMap) -> Sources {
        Sources { map, given: Vec::new() }
    }
}

impl Deref for Sources {
    type Target = SourceMap;

    fn deref(&self) -> &SourceMap {
        &self.map
    }
}

impl Told for Sources {
    fn map(&self) -> &SourceMap {
        &self.map
    }

    fn given(&self) -> &[(String, String)] {
        &self.given
    }
}

/// Names of a module that differ from those that were given.
fn renamed(names: &GivenNames, module: &WorkloadModule) -> Vec<(String, String)> {
    let params = module.params.iter().map(|entry| &entry.name).zip(&names.params);
    let tables = module.tables.iter().map(|entry| &entry.name).zip(&names.tables);
    let tensors = module.tensors.iter().map(|entry| &entry.name).zip(&names.tensors);
    let kernels = module.kernels.iter().map(|entry| &entry.name).zip(&names.kernels);
    let axes = module.axes.iter().map(|entry| &entry.name).zip(&names.axes);
    let all = params.chain(tables).chain(tensors).chain(kernels).chain(axes);
    all.filter(|(own, given)| own != given).map(|(own, given)| (own.clone(), given.clone())).collect()
}

/// What findings of kernels have of the module, by the word before it: other names there are those of the kernel's own text.
const OF_MODULES: [&str; 3] = ["axis ", "kernel ", "table "];

/// A finding with the names that the user has written, where it has others.
pub(crate) fn in_given_names(mut finding: Diagnostic, given: &[(String, String)]) -> Diagnostic {
    if given.is_empty() {
        return finding;
    }
    let of_kernel = matches!(finding.code.0, ..500 | 600..700);
    let labels = finding.primary.iter_mut().chain(&mut finding.labels).map(|label| &mut label.text);
    let texts = finding.notes.iter_mut().chain(&mut finding.help).chain([&mut finding.message]).chain(labels);
    for text in texts {
        let pieces: Vec<&str> = text.split('`').collect();
        // Every second piece stands between backticks.
        let is_name = |at: usize| {
            at % 2 == 1 && (!of_kernel || OF_MODULES.iter().any(|what| pieces[at - 1].ends_with(what)))
        };
        let named = pieces.iter().enumerate().map(|(at, piece)| match is_name(at) {
            true => words(piece, given),
            false => (*piece).to_owned(),
        });
        *text = named.collect::<Vec<_>>().join("`");
    }
    finding
}

/// A text each of whose words that is a name of the module is the one that was given.
fn words(text: &str, given: &[(String, String)]) -> String {
    let is_part = |c: char| c == '_' || c.is_alphanumeric();
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, word) = rest.split_at(start);
        let (word, after) = word.split_at(word.find(|c| !is_part(c)).unwrap_or(word.len()));
        made.push_str(before);
        made.push_str(given.iter().find(|(own, _)| own == word).map_or(word, |(_, given)| given));
        rest = after;
    }
    made + rest
}
