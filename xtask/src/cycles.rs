//! `cargo xtask cycles`: files of a crate that use each other in cycles. `cargo xtask tidy` refuses more than [`MOST`] of them in a crate.
//!
//! A file uses another when it has a path from `crate::` or `super::` on that names the module of the other, or something in it. A
//! name that a module takes from elsewhere by `use` (and hands on, as `lib.rs` does) counts for the file that it comes from. Tests are left
//! out.
//!
//! What is not seen: paths that begin with a child's name or `self::` (a file and its own children belong together), names that come
//! through `use …::*` beyond the file with the star, methods and traits that need no path, `super::` inside of a module that
//! is written in its parent's file, and what macros make up.

mod paths;

use crate::project::Project;
use crate::rust::{Source, sources};
use anyhow::Result;
use paths::{Path, paths};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// How many modules a name is followed through.
const HOPS: usize = 8;

/// Most files of a crate that use each other in cycles.
const MOST: usize = 8;

/// Crates that have more, and how many. A number falls with that of the crate.
const MORE: [(&str, usize); 1] = [("wsp-kernel", 20)];

/// Prints the cycles of each crate.
pub(crate) fn print(project: &Project) -> Result<bool> {
    for (name, folder) in project.crates()? {
        let sources = sources(&folder)?;
        print!("{}", report(&name, &sources, &components(&uses(&sources))));
    }
    Ok(true)
}

/// A fault for each of these crates, with their folders, that has more than it may, and for each number that is too large.
pub(crate) fn faults(crates: &[(String, PathBuf)]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for (name, folder) in crates {
        let sources = sources(folder)?;
        found.extend(fault(name, &sources, &components(&uses(&sources))));
    }
    let is_gone = |name: &str| crates.iter().all(|(of, _)| of != name);
    let gone = MORE.iter().filter(|(name, _)| is_gone(name));
    found.extend(gone.map(|(name, _)| format!("xtask/src/cycles.rs: there is no crate `{name}` any more")));
    Ok(found)
}

/// What is wrong with the number of a crate.
fn fault(name: &str, sources: &[Source], cycles: &[Vec<usize>]) -> Option<String> {
    let inside: usize = cycles.iter().map(Vec::len).sum();
    let listed = MORE.iter().find(|(of, _)| *of == name).map(|(_, most)| *most);
    let most = listed.unwrap_or(MOST);
    if inside > most {
        let report = report(name, sources, cycles);
        return Some(format!(
            "{inside} files of {name} use each other in cycles, at most {most} may: put what both need into a file below\n{}",
            report.trim_end()
        ));
    }
    listed.filter(|most| inside < *most).map(|most| match inside {
        0..=MOST => format!("xtask/src/cycles.rs: {name} has {inside} files in cycles, as others may: take it off the list"),
        _ => format!("xtask/src/cycles.rs: {name} has {inside} files in cycles, and the list says {most}: write {inside}"),
    })
}

/// A line with the counts of a crate, and a line for each cycle.
fn report(name: &str, sources: &[Source], cycles: &[Vec<usize>]) -> String {
    let inside: usize = cycles.iter().map(Vec::len).sum();
    let largest = cycles.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = format!(
        "{name:<16}{inside:>4} of {:>3} files in {:>2} cycles, the largest of {largest}\n",
        sources.len(),
        cycles.len()
    );
    for cycle in cycles {
        let names: Vec<&str> = cycle.iter().map(|file| sources[*file].name.as_str()).collect();
        let _ = writeln!(text, "    {}: {}", names.len(), names.join(" "));
    }
    text
}

/// Which files each file uses.
fn uses(sources: &[Source]) -> Vec<BTreeSet<usize>> {
    let crates = Crate::new(sources);
    let found = crates.paths.iter().enumerate().map(|(file, paths)| {
        let from_root = paths.iter().filter(|path| path.is_from_root());
        from_root.map(|path| crates.find(&path.full, HOPS)).filter(|used| *used != file).collect()
    });
    found.collect()
}

/// The modules of a crate.
struct Crate {
    files: BTreeMap<Vec<String>, usize>,
    /// Paths in each file.
    paths: Vec<Vec<Path>>,
}

impl Crate {
    fn new(sources: &[Source]) -> Crate {
        let files = sources.iter().enumerate().map(|(file, source)| (source.module.clone(), file)).collect();
        Crate { files, paths: sources.iter().map(|source| paths(&source.code, &source.module)).collect() }
    }

    /// The file in which something is that has this path from the root on.
    fn find(&self, path: &[String], hops: usize) -> usize {
        let known = (0..=path.len()).rev().find_map(|n| self.files.get(&path[..n]).map(|file| (n, *file)));
        let (length, file) = known.unwrap_or((path.len(), 0));
        let Some((name, rest)) = path[length..].split_first().filter(|_| hops > 0) else { return file };
        let taken = self.paths[file].iter().find(|path| path.name.as_ref() == Some(name));
        let own = |path: &&Path| path.full.get(..=length).is_some_and(|child| self.files.contains_key(child));
        match taken.filter(|path| path.is_from_root() || own(path)) {
            Some(path) => self.find(&[&path.full, rest].concat(), hops - 1),
            None => file,
        }
    }
}

/// The sets of two and more that can be reached from each other, each in order, by their first member: Tarjan's algorithm.
fn components(edges: &[BTreeSet<usize>]) -> Vec<Vec<usize>> {
    let mut search =
        Search { edges, seen: vec![None; edges.len()], stack: Vec::new(), count: 0, found: Vec::new() };
    for node in 0..edges.len() {
        if search.seen[node].is_none() {
            search.visit(node);
        }
    }
    search.found.retain(|set| set.len() > 1);
    search.found.sort();
    search.found
}

struct Search<'e> {
    edges: &'e [BTreeSet<usize>],
    /// When a node was first seen; `usize::MAX` of nodes whose set is known.
    seen: Vec<Option<usize>>,
    stack: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// The earliest node on the stack that can be reached.
    fn visit(&mut self, node: usize) -> usize {
        let (own, depth) = (self.count, self.stack.len());
        (self.seen[node], self.count) = (Some(own), own + 1);
        self.stack.push(node);
        let mut earliest = own;
        for &next in &self.edges[node] {
            earliest = earliest.min(self.seen[next].unwrap_or_else(|| self.visit(next)));
        }
        if earliest == own {
            let mut set = self.stack.split_off(depth);
            set.iter().for_each(|member| self.seen[*member] = Some(usize::MAX));
            set.sort_unstable();
            self.found.push(set);
        }
        earliest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(files: &[(&str, &str)]) -> String {
        let sources: Vec<Source> =
            files.iter().map(|(name, text)| Source::new((*name).to_owned(), (*text).to_owned())).collect();
        report("c", &sources, &components(&uses(&sources)))
    }

    #[test]
    fn files_that_use_each_other_are_a_cycle() {
        let text = crate_of(&[
            ("lib.rs", "mod a; mod b; mod d; pub use a::A;"),
            ("a.rs", "use crate::b::B;"),
            ("b/mod.rs", "mod c; fn f() { c::g() }"),
            ("b/c.rs", "use super::super::a::A;"),
            ("d.rs", "use crate::{a::A, b::B}; #[cfg(test)] mod tests { use crate::a::X; }"),
        ]);
        assert_eq!(text, "c                  0 of   5 files in  0 cycles, the largest of 0\n");
        let text = crate_of(&[
            ("a.rs", "use crate::b::B;"),
            ("b/mod.rs", "mod c; use super::b::c::C;"),
            ("b/c.rs", "fn f() { super::super::a::g() }"),
            ("d.rs", "use crate::e;"),
            ("e.rs", "// crate::d\nuse super::d::{D};"),
        ]);
        assert_eq!(
            text,
            "c                  5 of   5 files in  2 cycles, the largest of 3\n    3: a.rs b/mod.rs b/c.rs\n    2: d.rs e.rs\n"
        );
    }

    #[test]
    fn a_name_that_is_handed_on_counts_for_where_it_comes_from() {
        let of = |lib: &str| {
            crate_of(&[
                ("lib.rs", lib),
                ("a.rs", "use crate::B;"),
                ("b.rs", "use crate::Other;"),
                ("c/mod.rs", "mod d; pub use d::Other;"),
                ("c/d.rs", "use crate::a::A;"),
            ])
        };
        let text = of("pub use b::B; pub use c::Other; mod a; mod b; mod c;");
        assert!(text.contains("\n    3: a.rs b.rs c/d.rs\n"), "{text}");
        let text = of("pub use b::*; pub use c::Other; mod a; mod b; mod c;");
        assert!(text.contains(" 0 cycles"), "{text}");
    }

    /// Files that use each other by twos.
    fn pairs(count: usize) -> Vec<Source> {
        let pair = |at: usize| {
            let file = |own: &str, other: &str| {
                Source::new(format!("{own}{at}.rs"), format!("use crate::{other}{at}::X;"))
            };
            [file("a", "b"), file("b", "a")]
        };
        (0..count).flat_map(pair).collect()
    }

    #[test]
    fn more_files_in_cycles_than_a_crate_may_have_are_told_with_their_names() {
        let fault_of = |name: &str, count: usize| {
            let sources = pairs(count);
            fault(name, &sources, &components(&uses(&sources)))
        };
        assert_eq!(fault_of("c", MOST / 2), None);
        let told = fault_of("c", MOST / 2 + 1).expect("one pair more is too many");
        assert!(told.starts_with("10 files of c use each other in cycles, at most 8 may"), "{told}");
        assert!(told.ends_with("    2: a4.rs b4.rs"), "{told}");
    }

    #[test]
    fn the_number_of_a_listed_crate_is_what_it_has() {
        for (name, most) in MORE {
            let fault_of = |count: usize| {
                let sources = pairs(count);
                fault(name, &sources, &components(&uses(&sources)))
            };
            assert_eq!(fault_of(most / 2), None);
            assert!(fault_of(most / 2 + 1).is_some_and(|told| told.contains(&format!("at most {most} may"))));
            assert!(
                fault_of(most / 2 - 1).is_some_and(|told| told.ends_with(&format!("write {}", most - 2)))
            );
            assert!(fault_of(MOST / 2).is_some_and(|told| told.ends_with("take it off the list")));
        }
    }

    #[test]
    fn components_of_a_graph_are_found_whatever_the_order() {
        let edges = |all: &[&[usize]]| all.iter().map(|to| to.iter().copied().collect()).collect::<Vec<_>>();
        assert_eq!(components(&edges(&[&[1], &[2], &[0, 3], &[4], &[3]])), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(components(&edges(&[&[1, 2], &[3], &[3], &[]])), Vec::<Vec<usize>>::new());
        assert_eq!(components(&edges(&[&[2], &[0], &[1], &[0, 3]])), [vec![0, 1, 2]]);
    }
}
