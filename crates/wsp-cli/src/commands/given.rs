//! The arrays that a command is given: every entry is used, and nothing stands in for one that is missing unless it is asked
//! for by name.

use super::options::refuse;
use crate::args::DataArgs;
use crate::files::{entry_names, read_inputs, read_source};
use pto_wsp::codes;
use std::path::{Path, PathBuf};
use wsp_check::generate::Origin;
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_plan::Arrays;

/// Most names that a message lists.
const SHOWN: usize = 12;

/// An array that a program takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Want {
    /// Its name.
    pub(super) name: String,
    /// Whether a run depends on what it holds, so that something must give it.
    pub(super) needed: bool,
    /// Whether the program states its values, which may be given others, but are not made up.
    pub(super) stated: bool,
}

/// What can be made up of the arrays that are missing, so that messages offer no more.
#[derive(Clone, Copy)]
pub(super) struct Makeable<'a> {
    /// Whether `--fill` makes up an array of this name beside those that are given.
    pub(super) fill: &'a dyn Fn(&Arrays, &str) -> bool,
    /// Whether `--generate` is taken beside arrays that are given.
    pub(super) generate: bool,
    /// Whether `--generate` makes up every array, those that belong together among them: no file is given.
    pub(super) all: bool,
}

/// Which arrays are made up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Making<'a> {
    /// All that are needed and not given: nothing is given, or `--generate` says so.
    pub(super) rest: bool,
    /// Those that `--fill` names.
    pub(super) named: &'a [String],
}

impl Making<'_> {
    /// Whether an array that is not given is made up; `needed` as [`Want::needed`].
    pub(super) fn makes(self, name: &str, needed: bool) -> bool {
        (self.rest && needed) || self.named.iter().any(|named| named == name)
    }
}

impl DataArgs {
    /// Whether arrays are named, by files or by `--fill`.
    pub(super) fn names_arrays(&self) -> bool {
        self.reads_files() || !self.fill.is_empty()
    }

    /// Whether the user gives arrays; else all are made up.
    pub(crate) fn reads_files(&self) -> bool {
        self.inputs.is_some() || !self.input.is_empty()
    }

    /// Which arrays are made up.
    pub(super) fn making(&self) -> Making<'_> {
        Making { rest: self.generate.is_some() || !self.names_arrays(), named: &self.fill }
    }

    /// The seed of made-up data.
    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or(wsp_check::generate::DEFAULT_SEED)
    }

    /// What made-up data come from.
    pub(super) fn origin(&self) -> Origin<'static> {
        Origin { seed: self.seed(), forms: self.forms, read: &read_source }
    }

    /// Reads the arrays that `what` takes.
    ///
    /// # Errors
    /// Files that cannot be read, entries that nothing uses, names that are given twice, arrays that are missing.
    pub(super) fn read(
        &self,
        wanted: &[Want],
        makeable: Makeable<'_>,
        what: &str,
    ) -> Result<Arrays, Vec<Diagnostic>> {
        self.files().read(wanted, self.making(), makeable, what)
    }

    /// Refuses `--generate` where it has no effect whatever is given: `needs` says whether `what` takes an array that must have a value.
    ///
    /// # Errors
    /// When it is given.
    pub(super) fn check_generate(&self, needs: bool, what: &str) -> Result<(), Vec<Diagnostic>> {
        let given = [("--generate", self.generate.is_some() && !needs)];
        let why = format!("has no meaning: {what} reads no array that could be made up");
        refuse(&given, &why).map_err(|fault| vec![fault])
    }

    /// Refuses to pass over entries where none is read.
    ///
    /// # Errors
    /// For `--allow-unused` without files.
    pub(super) fn check_unused(&self) -> Result<(), Vec<Diagnostic>> {
        let given = [("--allow-unused", self.allow_unused && !self.reads_files())];
        refuse(&given, "has no meaning: neither `--inputs` nor `--input` is given")
            .map_err(|fault| vec![fault])
    }

    /// Refuses keys of `--generate` and names of `--fill` that had no effect: `made` are the arrays that are made up.
    ///
    /// # Errors
    /// For each of them.
    pub(super) fn check_made(&self, made: &[String]) -> Result<(), Vec<Diagnostic>> {
        let unused = self.generate.as_ref().is_some_and(|pairs| !pairs.is_empty()) && made.is_empty();
        let unused = unused.then(|| {
            let message = "keys of `--generate` have no meaning: nothing is made up";
            Diagnostic::error(codes::OPTION_OF_OTHERS, message).help("leave out `--generate`")
        });
        let unmade = self.fill.iter().filter(|name| !made.contains(name)).map(|name| cannot_make(name));
        let faults: Vec<Diagnostic> = unused.into_iter().chain(unmade).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Refuses a seed that had no effect: `made` are the arrays that are made up.
    ///
    /// # Errors
    /// When a seed is given, and nothing is made up.
    pub(super) fn check_seed(&self, made: &[String]) -> Result<(), Vec<Diagnostic>> {
        let given = [("--seed", self.seed.is_some() && made.is_empty())];
        refuse(&given, "has no meaning: nothing is made up").map_err(|fault| vec![fault])
    }

    /// Refuses names of `--fill` that `what` does not take, where no file is read.
    ///
    /// # Errors
    /// For each of them.
    pub(super) fn check_names(&self, wanted: &[Want], what: &str) -> Result<(), Vec<Diagnostic>> {
        let faults = Faults { wanted, what, given: &[], unused: &[] };
        let faults: Vec<Diagnostic> = self.fill.iter().filter_map(|name| faults.fill(name)).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }

    /// Where arrays are read from.
    pub(super) fn files(&self) -> Files<'_> {
        Files { archive: self.inputs.as_deref(), single: &self.input, allow_unused: self.allow_unused }
    }
}

/// Refuses to make up an array that no rule makes.
fn cannot_make(name: &str) -> Diagnostic {
    Diagnostic::error(codes::CANNOT_GENERATE, format!("`{name}` cannot be made up"))
        .help(format!("give it: `--input {name}=FILE.npy`"))
}

/// Where arrays are read from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files<'a> {
    /// `--inputs`
    pub(super) archive: Option<&'a Path>,
    /// `--input`
    pub(super) single: &'a [(String, PathBuf)],
    /// `--allow-unused`
    pub(super) allow_unused: bool,
}

impl Files<'_> {
    /// Reads the arrays that `what` takes.
    ///
    /// # Errors
    /// As [`DataArgs::read`].
    pub(super) fn read(
        self,
        wanted: &[Want],
        making: Making<'_>,
        makeable: Makeable<'_>,
        what: &str,
    ) -> Result<Arrays, Vec<Diagnostic>> {
        let entries = match self.archive {
            Some(path) => entry_names(path).map_err(|fault| vec![fault])?,
            None => Vec::new(),
        };
        let single = || self.single.iter().map(|(name, _)| name.as_str());
        let given: Vec<&str> = entries.iter().map(String::as_str).chain(single()).collect();
        let takes = |name: &str| wanted.iter().any(|want| want.name == name);
        let lacks = |want: &Want| !given.contains(&want.name.as_str());
        let unused: Vec<&str> = given.iter().copied().filter(|name| !takes(name)).collect();
        let faults = Faults { wanted, what, given: &given, unused: &unused };
        let absent = wanted.iter().filter(|want| want.needed && lacks(want));
        let absent = absent.filter(|want| !making.makes(&want.name, true));
        let missing: Vec<&str> = absent.map(|want| want.name.as_str()).collect();
        let missing_from = |arrays: &Arrays| {
            let offers = Offers { makeable, arrays, missing: &missing };
            missing.iter().map(|name| faults.missing(name, &offers)).collect::<Vec<_>>()
        };
        let mut found = Vec::new();
        if !self.allow_unused {
            let unused = entries.iter().filter(|name| !takes(name));
            found.extend(unused.map(|name| faults.unused_entry(name, self.archive)));
            if !found.is_empty() {
                // Often one is the cause of the other.
                found.extend(missing_from(&Arrays::new()));
            }
            let twice = entries.iter().filter(|name| takes(name) && single().any(|other| other == *name));
            found.extend(twice.map(|name| faults.twice(name, self.archive)));
            found.extend(single().filter(|name| !takes(name)).map(|name| faults.unused_array(name)));
        }
        found.extend(making.named.iter().filter_map(|name| faults.fill(name)));
        if !found.is_empty() {
            return Err(found);
        }
        let single: Vec<(String, PathBuf)> =
            self.single.iter().filter(|(name, _)| takes(name)).cloned().collect();
        let arrays = read_inputs(self.archive, &single, &takes)?;
        if missing.is_empty() { Ok(arrays) } else { Err(missing_from(&arrays)) }
    }
}

/// What to offer for arrays that are missing.
struct Offers<'a> {
    makeable: Makeable<'a>,
    /// Those that are given.
    arrays: &'a Arrays,
    /// The names of those that are missing.
    missing: &'a [&'a str],
}

impl Offers<'_> {
    /// How to have an array made up; none where that would be refused.
    fn of(&self, name: &str) -> Option<String> {
        let fills = |name: &str| (self.makeable.fill)(self.arrays, name);
        // `--generate` makes up all that is missing or nothing; beside no array it makes up a cache, too.
        let all = self.makeable.generate && self.missing.iter().all(|name| fills(name));
        let rest = if all || self.makeable.all { ", or all that is missing: `--generate`" } else { "" };
        match fills(name) {
            true => Some(format!("or have it made up: `--fill {name}`{rest}")),
            false => {
                self.makeable.all.then(|| "or have all that is missing made up: `--generate`".to_owned())
            }
        }
    }
}

/// Which arrays a name may mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    All,
    /// Those that can be made up.
    MadeUp,
}

impl Of {
    fn takes(self, want: &Want) -> bool {
        self == Of::All || !want.stated
    }
}

/// What is wrong with names.
struct Faults<'a> {
    wanted: &'a [Want],
    what: &'a str,
    given: &'a [&'a str],
    unused: &'a [&'a str],
}

impl Faults<'_> {
    /// Names that are taken and not given, those that are needed first.
    fn absent(&self, of: Of) -> impl Iterator<Item = &str> {
        let absent = move |needed: bool| {
            let of_kind = self.wanted.iter().filter(move |want| want.needed == needed && of.takes(want));
            of_kind.map(|want| want.name.as_str()).filter(|name| !self.given.contains(name))
        };
        absent(true).chain(absent(false))
    }

    fn needs(&self, name: &str) -> bool {
        self.wanted.iter().any(|want| want.name == name && want.needed)
    }

    /// What was probably meant by a name that nothing uses.
    fn meant(&self, fault: Diagnostic, name: &str, of: Of) -> Diagnostic {
        match did_you_mean(name, self.absent(of)) {
            Some(near) if self.needs(near) => fault.help(format!("did you mean `{near}`, which is missing?")),
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.note(self.takes(of)),
        }
    }

    fn takes(&self, of: Of) -> String {
        let wanted = self.wanted.iter().filter(|want| of.takes(want));
        let names: Vec<String> = wanted.map(|want| format!("`{}`", want.name)).collect();
        match names.len() {
            0 => "it takes no arrays".to_owned(),
            n if n > SHOWN => format!("it takes {} and {} more", names[..SHOWN].join(", "), n - SHOWN),
            _ => format!("it takes {}", names.join(", ")),
        }
    }

    fn unused_entry(&self, name: &str, archive: Option<&Path>) -> Diagnostic {
        let archive = archive.map_or(String::new(), |path| path.display().to_string());
        let message = format!("{} takes no array `{name}`, an entry of `{archive}`", self.what);
        self.meant(Diagnostic::error(codes::UNUSED_ENTRY, message), name, Of::All)
            .help("`--allow-unused` passes over entries that nothing uses")
    }

    fn unused_array(&self, name: &str) -> Diagnostic {
        let message = format!("{} takes no array `{name}`", self.what);
        self.meant(Diagnostic::error(codes::OPTION_OF_OTHERS, message), name, Of::All)
    }

    fn twice(&self, name: &str, archive: Option<&Path>) -> Diagnostic {
        let archive = archive.map_or(String::new(), |path| path.display().to_string());
        let message = format!("array `{name}` is given twice: by `--input` and by `{archive}`");
        Diagnostic::error(codes::TWICE_GIVEN, message)
            .help(format!("leave out one of them, or take that of `--input` with `--allow-unused`: the entry `{name}` is then not used"))
    }

    fn missing(&self, name: &str, offers: &Offers<'_>) -> Diagnostic {
        let fault = Diagnostic::error(codes::MISSING_ARRAY, format!("array `{name}` is missing"));
        let fault = match self.given {
            [] => fault,
            given => fault.note(format!("given are {}", given.join(", "))),
        };
        match did_you_mean(name, self.unused.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{name}` by `{near}`, which nothing uses?")),
            None => {
                let fault = fault.help(format!("give it: `--input {name}=FILE.npy`"));
                offers.of(name).into_iter().fold(fault, Diagnostic::help)
            }
        }
    }

    /// What is wrong with `--fill NAME`.
    fn fill(&self, name: &str) -> Option<Diagnostic> {
        if self.given.contains(&name) {
            let message = format!("array `{name}` is given and is to be made up");
            return Some(
                Diagnostic::error(codes::TWICE_GIVEN, message).help(format!("leave out `--fill {name}`")),
            );
        }
        if self.wanted.iter().any(|want| want.name == name) {
            return None;
        }
        let message = format!("{} takes no array `{name}` that could be made up", self.what);
        Some(self.meant(Diagnostic::error(codes::OPTION_OF_OTHERS, message), name, Of::MadeUp))
    }
}
