//! What to say of a file that programs include and that is none itself.

use crate::codes;
use crate::include::Reader;
use std::path::{Path, PathBuf};
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ordered::{Arrange, OrderedMap};

/// Most files of a folder that are looked at.
const MOST_BESIDE: usize = 256;
/// Most programs that are named.
const SHOWN: usize = 6;
/// What every program has.
const ENTRY: &str = "PTO_LAUNCH";

/// One error in place of `faults` for a file without a host entry that programs of its folder include; none for other files.
///
/// `list` gives the files of a folder, in any order, and `read` their texts; a file that cannot be read includes nothing.
pub fn part_of_programs(
    name: &str,
    text: &str,
    faults: &[Diagnostic],
    list: impl FnOnce(&Path) -> Vec<PathBuf>,
    read: &mut Reader<'_>,
) -> Option<Diagnostic> {
    if text.contains(ENTRY) {
        return None;
    }
    let path = Path::new(name);
    let own = path.file_name()?.to_str()?;
    let mut beside = list(path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new(".")));
    beside.retain(|file| file.extension().is_some_and(|ending| ending == "pto"));
    beside.arrange();
    let beside: OrderedMap<String, String> = beside
        .into_iter()
        .take(MOST_BESIDE)
        .filter_map(|file| Some((file.file_name()?.to_str()?.to_owned(), read(&file).ok()?)))
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
        Some(Diagnostic { primary: Some(label), message, .. }) => error.at(
            label.span,
            format!("by itself it has {count}, the first: {message}", count = counted(count, "error")),
        ),
        _ => error,
    })
}

/// The programs among `files` that include `part`, directly or by way of others; texts by name.
fn users<'a>(part: &str, files: &'a OrderedMap<String, String>) -> Vec<&'a str> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a file beside others, by names and texts.
    fn said(own: &str, files: &[(&str, &str)]) -> Option<Diagnostic> {
        let text = files.iter().find(|(name, _)| *name == own).map_or("", |(_, text)| text);
        let faults = [Diagnostic::error(codes::EXPECTED_TOKEN, "what is `f`?")];
        let list = |folder: &Path| files.iter().rev().map(|(name, _)| folder.join(name)).collect();
        let mut read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new("dir").join(name) == path);
            found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| faults[0].clone())
        };
        part_of_programs(&format!("dir/{own}"), text, &faults, list, &mut read)
    }

    #[test]
    fn a_file_that_programs_include_by_way_of_others_names_them() {
        let files = [
            ("a.pto", "#include \"part.pto\"\nPTO_LAUNCH(f) {}"),
            ("b.pto", "  #include \"via.pto\"\nPTO_LAUNCH(f) {}"),
            ("c.pto", "#include \"via.pto\"\nPTO_LAUNCH(f) {}"),
            ("d.pto", "PTO_LAUNCH(f) {}"),
            ("part.pto", "f();"),
            ("via.pto", "#include \"part.pto\""),
            ("part.txt", "#include \"part.pto\"\nPTO_LAUNCH(f) {}"),
        ];
        let error = said("part.pto", &files).unwrap();
        assert_eq!(
            (error.code, error.notes),
            (codes::PART_OF_PROGRAMS, vec!["they are `a.pto`, `b.pto`, `c.pto`".to_owned()])
        );
        assert_eq!(error.help, ["give one of them: `dir/a.pto`"]);
    }

    #[test]
    fn programs_and_files_that_none_includes_keep_their_errors() {
        let files = [
            ("a.pto", "#include \"b.pto\"\nPTO_LAUNCH(f) {}"),
            ("b.pto", "PTO_LAUNCH(g) {}"),
            ("c.pto", "f();"),
        ];
        assert_eq!(said("b.pto", &files), None);
        assert_eq!(said("c.pto", &files), None);
        assert_eq!(said("c.pto", &[("c.pto", "f();"), ("d.pto", "#include \"c.pto\"")]), None);
    }
}
