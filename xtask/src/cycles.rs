//! `cargo xtask cycles`: files of a crate that use each other in cycles. `cargo xtask tidy` refuses more than [`MOST`] of them in a crate.
//!
//! A file uses another when it has a path that names the module of the other, or something in it: one that begins with `crate` or
//! `super`, or with a name that such a `use` gives, by `*` too. A name that a module takes from elsewhere by `use`, `*` included (and hands
//! on, as `lib.rs` does), counts for the file that it comes from. Tests are left out.
//!
//! What is not seen: paths that begin with a child's name or `self::`, and what these children hand on (a file and its own children belong
//! together); methods, fields and traits that need no path; a `*` of what is no file, and of a module that is handed on; `super::` inside
//! of a module that is written in its parent's file; names that two things have, of which the first `use` counts; and what macros make up.

mod paths;

use crate::project::Project;
use crate::rust::{Source, sources};
use anyhow::Result;
use paths::{Paths, Use, from_root, paths};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// How many modules a name is followed through.
const HOPS: usize = 8;

/// Most files of a crate that use each other in cycles.
const MOST: usize = 8;

/// Crates that have more, and how many. A number falls with that of the crate.
const MORE: [(&str, usize); 2] = [("wsp-ir", 13), ("wsp-kernel", 20)];

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
    (0..sources.len()).map(|file| crates.used(file)).collect()
}

/// The modules of a crate.
struct Crate<'s> {
    sources: &'s [Source],
    files: BTreeMap<&'s [String], usize>,
    /// Paths in each file.
    paths: Vec<Paths>,
}

impl<'s> Crate<'s> {
    fn new(sources: &'s [Source]) -> Crate<'s> {
        // From the last one on: of a library and a program, both the root of a crate, `lib.rs` stays.
        let files =
            sources.iter().enumerate().rev().map(|(file, source)| (&source.module[..], file)).collect();
        Crate {
            sources,
            files,
            paths: sources.iter().map(|source| paths(&source.code, &source.module)).collect(),
        }
    }

    /// The other files that this one uses.
    fn used(&self, file: usize) -> BTreeSet<usize> {
        let paths = &self.paths[file];
        let of_use = paths.uses.iter().filter(|path| path.is_from_root).map(|path| path.full.clone());
        let of_code = paths.code.iter().filter_map(|path| {
            let named =
                || Some([&self.taken(file, &path[0], |path| path.is_from_root, HOPS)?, &path[1..]].concat());
            from_root(path, &self.sources[file].module).filter(|_| path.len() > 1).or_else(named)
        });
        of_use.chain(of_code).map(|path| self.find(&path, HOPS)).filter(|used| *used != file).collect()
    }

    /// The file in which something is that has this path from the root on.
    fn find(&self, path: &[String], hops: usize) -> usize {
        let known = (0..=path.len()).rev().find_map(|n| self.files.get(&path[..n]).map(|file| (n, *file)));
        let (length, file) = known.unwrap_or((path.len(), 0));
        let Some((name, rest)) = path[length..].split_first().filter(|_| hops > 0) else { return file };
        let own = |path: &Use| path.full.get(..=length).is_some_and(|child| self.files.contains_key(child));
        match self.taken(file, name, |path| path.is_from_root || own(path), hops) {
            Some(path) => self.find(&[&path, rest].concat(), hops - 1),
            None => file,
        }
    }

    /// The path from the root on of what a file takes under a name by a `use` that counts.
    fn taken(
        &self,
        file: usize,
        name: &str,
        counts: impl Fn(&Use) -> bool,
        hops: usize,
    ) -> Option<Vec<String>> {
        let paths = &self.paths[file];
        let mut named = paths.uses.iter().filter(|path| path.name.as_deref() == Some(name)).peekable();
        if named.peek().is_some() {
            return named.find(|path| counts(path)).map(|path| path.full.clone());
        }
        let (name, module) = (name.to_owned(), &self.sources[file].module[..]);
        let child = [module, std::slice::from_ref(&name)].concat();
        if paths.defined.contains(&name) || self.files.contains_key(&child[..]) {
            return None;
        }
        let mut stars = paths.uses.iter().filter(|path| path.name.is_none() && counts(path));
        let star = stars.find(|path| self.has(&path.full, &name, module, hops))?;
        Some([&star.full[..], &[name]].concat())
    }

    /// Whether a module, of a file, gives a name to `*` in another: of its own, or by a `use` that is public or of a module above.
    fn has(&self, module: &[String], name: &str, to: &[String], hops: usize) -> bool {
        let Some(file) = self.files.get(module).filter(|_| hops > 0) else { return false };
        let paths = &self.paths[*file];
        let by_use = |path: &Use| match &path.name {
            _ if !path.is_public && !to.starts_with(module) => false,
            Some(own) => own == name,
            None => self.has(&path.full, name, module, hops - 1),
        };
        paths.defined.contains(name)
            || self.files.contains_key(&[module, &[name.to_owned()]].concat()[..])
            || paths.uses.iter().any(by_use)
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
                ("b.rs", "pub struct B; use crate::Other;"),
                ("c/mod.rs", "mod d; pub use d::Other;"),
                ("c/d.rs", "use crate::a::A;"),
            ])
        };
        let text = of("pub use b::B; pub use c::Other; mod a; mod b; mod c;");
        assert!(text.contains("\n    3: a.rs b.rs c/d.rs\n"), "{text}");
        let text = of("pub use b::*; pub use c::*; mod a; mod b; mod c;");
        assert!(text.contains("\n    3: a.rs b.rs c/d.rs\n"), "{text}");
        let text = of("pub use b::{self}; pub use c::*; mod a; mod b; mod c;");
        assert!(text.contains(" 0 cycles"), "{text}");
    }

    #[test]
    fn a_star_takes_what_is_public_and_what_is_above() {
        let of = |handed: &str| {
            crate_of(&[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::*; fn f(of: C) {}"),
                ("b/mod.rs", handed),
                ("b/d.rs", "use crate::a; use super::e; pub struct C;"),
                ("b/e.rs", "use super::*; fn f(of: C) {}"),
            ])
        };
        let text = of("mod d; mod e; pub(crate) use d::C;");
        assert!(text.ends_with("\n    3: a.rs b/d.rs b/e.rs\n"), "{text}");
        let text = of("mod d; mod e; use d::C;");
        assert!(text.ends_with("\n    2: b/d.rs b/e.rs\n"), "{text}");
    }

    #[test]
    fn a_path_that_begins_with_a_taken_name_counts_for_what_it_leads_to() {
        let of = |run: &str| {
            crate_of(&[
                ("lib.rs", "mod commands;"),
                ("commands/mod.rs", "mod run; mod unit;"),
                ("commands/run.rs", run),
                ("commands/unit/go.rs", "use crate::commands::run::recording;"),
                ("commands/unit/mod.rs", "mod go; pub(super) use go::start;"),
            ])
        };
        for run in [
            "use super::{unit}; fn f() { unit::start() }",
            "use crate::commands; fn f() { commands::unit::start() }",
            "use super::unit as of_units; use of_units::start;",
            "use super::*; fn f() { unit::start() }",
            "use super::unit::*; fn f() { start() }",
        ] {
            let text = of(run);
            assert!(text.ends_with("\n    2: commands/run.rs commands/unit/go.rs\n"), "{run}: {text}");
        }
        for run in [
            "use super::{unit}; fn f() { unit::other() }",
            "use other::unit; fn f() { unit::start() }",
            "use super::unit::*; fn start() {} fn f() { start() }",
            "use super::unit::*; fn f() { self.start() }",
        ] {
            let text = of(run);
            assert!(text.contains(" 0 cycles"), "{run}: {text}");
        }
    }

    #[test]
    fn a_library_is_the_root_of_a_crate_that_has_a_program_too() {
        let files = [
            ("a.rs", "use crate::b;"),
            ("lib.rs", "mod a; pub use a::b; fn f() {}"),
            ("main.rs", "use crate::a;"),
        ];
        assert!(crate_of(&files).contains(" 0 cycles"));
        let files =
            [("a.rs", "use crate::f;"), ("lib.rs", "mod a; use crate::a::b; fn f() {}"), ("main.rs", "")];
        assert!(crate_of(&files).ends_with("    2: a.rs lib.rs\n"));
    }

    /// Files each of which uses the next one, and the last one the first.
    fn ring(count: usize) -> Vec<Source> {
        let file = |at: usize| Source::new(format!("f{at}.rs"), format!("use crate::f{};", (at + 1) % count));
        (0..count).map(file).collect()
    }

    fn fault_of(name: &str, count: usize) -> Option<String> {
        let sources = ring(count);
        fault(name, &sources, &components(&uses(&sources)))
    }

    #[test]
    fn more_files_in_cycles_than_a_crate_may_have_are_told_with_their_names() {
        assert_eq!(fault_of("c", MOST), None);
        let told = fault_of("c", MOST + 1).expect("one more is too many");
        assert!(told.starts_with("9 files of c use each other in cycles, at most 8 may"), "{told}");
        assert!(told.ends_with("    9: f0.rs f1.rs f2.rs f3.rs f4.rs f5.rs f6.rs f7.rs f8.rs"), "{told}");
    }

    #[test]
    fn the_number_of_a_listed_crate_is_what_it_has() {
        for (name, most) in MORE {
            assert!(most > MOST, "{name}");
            assert_eq!(fault_of(name, most), None);
            let told = |count: usize| fault_of(name, count).unwrap_or_default();
            assert!(told(most + 1).contains(&format!("at most {most} may")), "{name}");
            for fewer in MOST + 1..most {
                assert!(told(fewer).ends_with(&format!("write {fewer}")), "{name}");
            }
            assert!(told(MOST).ends_with("take it off the list"), "{name}");
        }
    }

    #[test]
    fn a_number_of_a_crate_that_is_gone_is_told() {
        let told = faults(&[]).expect("no file is read");
        let want = MORE.map(|(name, _)| format!("xtask/src/cycles.rs: there is no crate `{name}` any more"));
        assert_eq!(told, want);
    }

    #[test]
    fn components_of_a_graph_are_found_whatever_the_order() {
        let edges = |all: &[&[usize]]| all.iter().map(|to| to.iter().copied().collect()).collect::<Vec<_>>();
        assert_eq!(components(&edges(&[&[1], &[2], &[0, 3], &[4], &[3]])), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(components(&edges(&[&[1, 2], &[3], &[3], &[]])), Vec::<Vec<usize>>::new());
        assert_eq!(components(&edges(&[&[2], &[0], &[1], &[0, 3]])), [vec![0, 1, 2]]);
    }
}
