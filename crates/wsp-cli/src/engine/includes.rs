//! What to say of a file that programs include and that is none itself.

use crate::codes;
use crate::files::{read_source, sources_beside};
use std::collections::BTreeMap;
use std::path::Path;
use wsp_ir::diag::Diagnostic;

/// Most programs that are named.
const SHOWN: usize = 6;
/// What every program has.
const ENTRY: &str = "PTO_LAUNCH";

/// One error in place of `faults` for a file without a host entry that programs of its folder include; none for other files.
pub(super) fn part_of_programs(name: &str, text: &str, faults: &[Diagnostic]) -> Option<Diagnostic> {
    if text.contains(ENTRY) {
        return None;
    }
    let path = Path::new(name);
    let own = path.file_name()?.to_str()?;
    let beside: BTreeMap<String, String> = sources_beside(path)
        .into_iter()
        .filter_map(|file| Some((file.file_name()?.to_str()?.to_owned(), read_source(&file).ok()?)))
        .collect();
    let programs = users(own, &beside);
    let first = path.with_file_name(programs.first()?);
    let named: Vec<String> = programs.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if programs.len() > SHOWN { ", …" } else { "" };
    let count = faults.iter().filter(|fault| fault.is_error()).count();
    let error =
        Diagnostic::error(codes::PART_OF_PROGRAMS, format!("`{own}` is no program: programs include it"))
            .note(format!("they are {}{more}", named.join(", ")))
            .help(format!("give one of them: `{}`", first.display()));
    Some(match faults.iter().find(|fault| fault.is_error()) {
        Some(Diagnostic { primary: Some(label), message, .. }) => {
            error.at(label.span, format!("by itself it has {count} errors, the first: {message}"))
        }
        _ => error,
    })
}

/// The programs among `files` that include `part`, directly or by way of others; texts by name.
fn users<'a>(part: &str, files: &'a BTreeMap<String, String>) -> Vec<&'a str> {
    let mut parts = vec![part];
    let mut at = 0;
    while let Some(&part) = parts.get(at) {
        let users = files.iter().filter(|(_, text)| includes(text).any(|name| name == part));
        let fresh: Vec<&str> = users.map(|(name, _)| name.as_str()).filter(|n| !parts.contains(n)).collect();
        parts.extend(fresh);
        at += 1;
    }
    let mut programs: Vec<&str> = files.keys().map(String::as_str).collect();
    programs.retain(|name| parts.contains(name) && files[*name].contains(ENTRY));
    programs
}

/// Names in quotes after `#include`.
fn includes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let name = line.trim_start().strip_prefix("#include")?.trim_start().strip_prefix('"')?;
        name.split('"').next()
    })
}
