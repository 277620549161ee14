//! The case files of `testdata/decode_cases`.

mod case;

pub(crate) use case::{Case, Extras, MergeCase};

use crate::command::root;
use std::path::PathBuf;
use wsp_check::generate::{Names, QueryRows, Values};

/// Names of all files, those of merges apart.
fn files(merges: bool) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("testdata/decode_cases")).unwrap();
    let mut files: Vec<PathBuf> = folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "npz"))
        .filter(|path| name(path).contains("_merge_") == merges)
        .collect();
    files.sort();
    files
}

fn name(path: &std::path::Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// Every decode attention case with its name.
pub(crate) fn cases() -> impl Iterator<Item = (String, Case)> {
    files(false).into_iter().map(|path| {
        (name(&path), Case::load(&path).unwrap_or_else(|fault| panic!("{}: {fault:?}", path.display())))
    })
}

/// Every merge case with its name.
pub(crate) fn merges() -> impl Iterator<Item = (String, MergeCase)> {
    files(true).into_iter().map(|path| {
        (name(&path), MergeCase::load(&path).unwrap_or_else(|fault| panic!("{}: {fault:?}", path.display())))
    })
}

/// The names under which the arrays of a case are made, with all that it has.
pub(crate) fn names(case: &Case) -> Names {
    let named = |has: bool, name: &str| has.then(|| name.to_owned());
    Names {
        q: "q".to_owned(),
        kv: "kv".to_owned(),
        lens: None,
        prefix: None,
        q_indptr: named(matches!(case.problem.rows, QueryRows::Packed(_)), "q_indptr"),
        slopes: named(case.extras.alibi, "alibi_slopes"),
        sinks: named(case.extras.sinks, "sinks"),
    }
}

/// Whether values are the first lanes of keys.
pub(crate) fn is_latent(case: &Case) -> bool {
    case.problem.values == Values::OfKeys
}
