//! What an entry is of.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use wsp_diag::{FileId, SourceMap};
use wsp_kernel::CodeCache;
use wsp_memory::{Reader, Writer};
use wsp_plan::CompileOptions;

/// A part of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The text of the program.
    Source,
    /// The files that it uses, with the names by which it does.
    Used,
    /// The schedule, and options that a plan depends on.
    Options,
    /// Where it is to run.
    Target,
    /// The program that has compiled it: its version, and what it was built of.
    Version,
    /// The compiler of scalar code, and the instructions of the machine.
    Machine,
}

impl Part {
    /// The parts, in the order of a key.
    pub const ALL: [Part; 6] =
        [Part::Source, Part::Used, Part::Options, Part::Target, Part::Version, Part::Machine];

    /// One word, for machines.
    pub fn word(self) -> &'static str {
        match self {
            Part::Source => "source",
            Part::Used => "used",
            Part::Options => "options",
            Part::Target => "target",
            Part::Version => "version",
            Part::Machine => "machine",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Source => "the source",
            Part::Used => "the used files",
            Part::Options => "schedule or options",
            Part::Target => "the target",
            Part::Version => "the build of this program",
            Part::Machine => "compiler or instructions of this machine",
        })
    }
}

/// What an entry is of. Two keys are equal when all that a plan depends on is; where the files lie is not a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanKey {
    /// What messages call the program: the name of its file, without the folder.
    name: String,
    /// By [`Part::ALL`].
    parts: [String; 6],
}

impl PlanKey {
    /// The key of a program that was read from these files from number `first` on, which is its own, and compiled with these options.
    pub fn of_files(sources: &SourceMap, first: usize, options: &CompileOptions) -> PlanKey {
        let file = |at: usize| sources.file(FileId((first + at) as u32));
        let (name, text) = file(0).map_or(("", ""), |file| (&*file.name, &*file.text));
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        let used: Vec<(String, &str)> = (1..)
            .map_while(file)
            .map(|file| (relative(Path::new(&file.name), folder), &*file.text))
            .collect();
        PlanKey::new(&file_name(Path::new(name)), text, &used, options)
    }

    /// The key of a program of this name and text, with the names and texts of the files that it uses.
    pub fn new(name: &str, source: &str, used: &[(String, &str)], options: &CompileOptions) -> PlanKey {
        let used: Vec<String> =
            used.iter().map(|(name, text)| format!("{name} {} {text}", text.len())).collect();
        let schedule = options.schedule.as_ref().map_or(String::new(), |name| format!("schedule {name}, "));
        PlanKey {
            name: name.to_owned(),
            parts: [
                source.to_owned(),
                used.concat(),
                format!("{schedule}max_blocks {}", options.max_blocks),
                options.target.name.to_owned(),
                format!("{} {}", env!("CARGO_PKG_VERSION"), env!("WSP_BUILD")),
                CodeCache::machine(),
            ],
        }
    }

    /// For a use of its own, which shares no entry with others.
    pub fn for_use(mut self, name: &str) -> PlanKey {
        self.name = format!("{name} {}", self.name);
        self
    }

    /// What messages call the program.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parts that another key of the same program has otherwise; none if it is of a program of another name.
    pub(super) fn differs(&self, other: &PlanKey) -> Vec<Part> {
        if self.name != other.name {
            return Vec::new();
        }
        let parts = Part::ALL.into_iter().zip(self.parts.iter().zip(&other.parts));
        parts.filter(|(_, (own, others))| own != others).map(|(part, _)| part).collect()
    }

    /// The key with a part that is another one.
    #[cfg(test)]
    pub(super) fn with(mut self, part: Part, value: &str) -> PlanKey {
        self.parts[part as usize] = value.to_owned();
        self
    }

    /// Name and parts.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        [&self.name].into_iter().chain(&self.parts).map(String::as_str)
    }

    pub(super) fn write(&self, out: &mut Writer) {
        self.words().for_each(|word| out.raw(word.as_bytes()));
    }

    pub(super) fn read(input: &mut Reader<'_>) -> Result<PlanKey, String> {
        let name = input.text()?;
        let mut parts: [String; 6] = Default::default();
        for part in &mut parts {
            *part = input.text()?;
        }
        Ok(PlanKey { name, parts })
    }
}

/// The name of a file without its folder.
fn file_name(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// A path as seen from a folder that holds it; of a path that lies elsewhere, no more than the name.
fn relative(path: &Path, folder: &Path) -> String {
    let Ok(rest) = path.strip_prefix(folder) else { return file_name(path) };
    let parts: PathBuf = rest.components().filter(|part| !matches!(part, Component::CurDir)).collect();
    parts.to_string_lossy().into_owned()
}
