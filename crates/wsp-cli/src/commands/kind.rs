//! What kind of file a command was given, and what to type instead if it is the wrong one.

use crate::files::read_beginning;
use pto_wsp::codes;
use std::path::Path;
use wsp_backend::pending;
use wsp_core::ptow;
use wsp_diag::Diagnostic;
use wsp_ir::Module;

/// First word of a task graph in bytes.
const PTOG_MAGIC: u32 = 0x5054_4F47;

/// What has tasks.
pub(super) const WITH_TASKS: &str = "`.pto` programs, workloads and task graphs";
/// What `wsp run` and `wsp check` take.
pub(super) const ALL_THAT_RUN: &str = "`.pto` programs, workloads, task graphs and designs";

/// What a file holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A `.pto` program.
    Program,
    /// A `.wsp` workload.
    Workload,
    /// The text of a task graph.
    UnitText,
    /// The bytes of a task graph.
    UnitBytes,
    /// The text of a program that generates tasks.
    GeneratorText,
    /// The bytes of a program that generates tasks.
    GeneratorBytes,
    /// Records of pending tasks.
    Pending,
    /// A design for an array.
    Design,
    /// Arrays.
    Arrays,
    /// Something else.
    Unknown,
}

impl Kind {
    /// By its first bytes, as far as these say it, else by its name.
    pub(super) fn of(path: &Path) -> Kind {
        Kind::by_start(&read_beginning(path, 4).unwrap_or_default()).unwrap_or_else(|| Kind::by_name(path))
    }

    /// By its first bytes; either order of the bytes of a word counts, so that whoever reads it can tell of the other one.
    fn by_start(start: &[u8]) -> Option<Kind> {
        let word = u32::from_le_bytes(start.get(..4)?.try_into().ok()?);
        let is = |magic: u32| word == magic || word == magic.swap_bytes();
        match start {
            _ if is(PTOG_MAGIC) => Some(Kind::UnitBytes),
            _ if is(ptow::MAGIC) => Some(Kind::GeneratorBytes),
            _ if is(pending::MAGIC) => Some(Kind::Pending),
            [b'P', b'K', 3, 4] | [0x93, b'N', b'U', b'M'] => Some(Kind::Arrays),
            _ => None,
        }
    }

    /// By its name.
    pub(super) fn by_name(path: &Path) -> Kind {
        let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("pto") => Kind::Program,
            Some("wsp") => Kind::Workload,
            Some("tg") => Kind::UnitText,
            Some("ptog") => Kind::UnitBytes,
            Some("ptows") => Kind::GeneratorText,
            Some("ptow") => Kind::GeneratorBytes,
            Some("pending") => Kind::Pending,
            Some("mlir") => Kind::Design,
            Some("npy" | "npz") => Kind::Arrays,
            _ => Kind::Unknown,
        }
    }

    /// Whether it is a task graph, in either form.
    pub(super) fn is_unit(self) -> bool {
        matches!(self, Kind::UnitText | Kind::UnitBytes)
    }

    /// Whether it says tasks: a workload, or a program that generates tasks, which is read as the workload that does.
    pub(super) fn is_tasks(self) -> bool {
        self == Kind::Workload || self.is_generator()
    }

    /// Whether it is a program that generates tasks, in either form.
    pub(super) fn is_generator(self) -> bool {
        matches!(self, Kind::GeneratorText | Kind::GeneratorBytes)
    }

    /// What it is called.
    fn noun(self) -> &'static str {
        match self {
            Kind::Program => "a `.pto` program",
            Kind::Workload => "a workload",
            Kind::UnitText => "the text of a task graph",
            Kind::UnitBytes => "a task graph in bytes",
            Kind::GeneratorText => "the text of a program that generates tasks",
            Kind::GeneratorBytes => "a program that generates tasks",
            Kind::Pending => "a list of records of tasks",
            Kind::Design => "a design of an array",
            Kind::Arrays => "a file of arrays",
            Kind::Unknown => "a file of an unknown kind",
        }
    }

    /// What can be done with it.
    pub(super) fn uses(self, name: &str) -> String {
        match self {
            Kind::Program => format!("`wsp run {name}` runs it, `wsp plan {name}` lists its tasks"),
            Kind::Workload => format!("`wsp run {name}` runs it, `wsp graph {name}` lists its tasks"),
            Kind::UnitText => format!("`wsp run {name}` runs it, `wsp asm {name}` makes bytes of it"),
            Kind::UnitBytes => format!("`wsp run {name}` runs it, `wsp disasm {name}` prints its text"),
            Kind::GeneratorText => format!("`wsp run {name}` runs it, `wsp asm {name}` makes bytes of it"),
            Kind::GeneratorBytes => format!("`wsp run {name}` runs it, `wsp disasm {name}` prints its text"),
            Kind::Pending => format!("`wsp graph {name}` lists its tasks"),
            Kind::Design => format!("`wsp check {name}` looks at it, `wsp run {name} --inputs FILE.npz` runs it"),
            Kind::Arrays => "arrays go in with `--inputs FILE.npz` or `--input NAME=FILE.npy`".to_owned(),
            Kind::Unknown => {
                "the names of programs end in `.pto`, of workloads in `.wsp`, of task graphs in `.tg` (text) or `.ptog` (bytes), of programs that generate tasks in `.ptows` (text) or `.ptow` (bytes), of designs in `.mlir`"
                    .to_owned()
            }
        }
    }
}

/// A file that a command has no use for. `takes` says what it takes.
pub(super) fn wrong_kind(path: &Path, kind: Kind, takes: &str) -> Diagnostic {
    let name = path.display().to_string();
    Diagnostic::error(codes::WRONG_KIND, format!("`{name}` is {}; this command takes {takes}", kind.noun()))
        .help(kind.uses(&name))
}

/// What is wrong with a file whose name says no kind, and which was taken for the only kind that needs no name.
pub(super) fn of_unknown_kind(kind: Kind, mut faults: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if let (Kind::Unknown, Some(first)) = (kind, faults.first_mut()) {
        first.help.push(Kind::Unknown.uses(""));
    }
    faults
}

/// What is wrong with a text that does not compile as a program, if it begins as workloads do.
pub(super) fn workload_in_a_program(name: &str, text: &str) -> Option<Vec<Diagnostic>> {
    const WORDS: [&str; 9] = ["use", "param", "let", "table", "axis", "tensor", "slot", "kernel", "workload"];
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
    let first = lines.flat_map(str::split_whitespace).next()?;
    WORDS.contains(&first).then(|| {
        let message = format!("`{name}` is read as a `.pto` program, and begins as workloads do: `{first}`");
        let fault = Diagnostic::error(codes::WRONG_KIND, message);
        vec![fault.help("give a workload a name that ends in `.wsp`")]
    })
}

/// Refuses a file whose kernels are for task graphs where a program is to run.
pub(super) fn refuse_entries(path: &Path, module: &Module) -> Result<(), Diagnostic> {
    if module.kernel_entries.is_empty() {
        return Ok(());
    }
    let name = path.display();
    Err(Diagnostic::error(
        codes::WRONG_KIND,
        format!("`{name}` has kernels of task graphs, and nothing to launch"),
    )
    .help(format!(
        "a task graph takes them: `use \"{name}\"` in a `.tg` file, or `wsp run FILE.tg --kernels {name}`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_say_more_than_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tg");
        for (bytes, kind) in [
            (&b"GOTP\x02\0\0\0"[..], Kind::UnitBytes),
            (b"PTOG\x02\0\0\0", Kind::UnitBytes),
            (b"WOTP", Kind::GeneratorBytes),
            (b"POTP", Kind::Pending),
            (b"PK\x03\x04", Kind::Arrays),
            (b"\x93NUMPY", Kind::Arrays),
            (b"TG_", Kind::UnitText),
            (b"", Kind::UnitText),
            (b"TG_BEGIN(A)", Kind::UnitText),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(Kind::of(&path), kind, "{bytes:?}");
        }
        assert_eq!(Kind::of(&dir.path().join("none.PTOG")), Kind::UnitBytes);
        assert_eq!(Kind::of(dir.path()), Kind::Unknown);
    }

    #[test]
    fn a_wrong_kind_is_told_what_to_type() {
        for (name, part) in [
            ("a.pto", "wsp plan a.pto"),
            ("a.wsp", "wsp graph a.wsp"),
            ("a.tg", "wsp asm a.tg"),
            ("a.ptog", "wsp disasm a.ptog"),
            ("a.ptow", "wsp disasm a.ptow"),
            ("a.ptows", "wsp asm a.ptows"),
            ("a.pending", "wsp graph a.pending"),
            ("a.mlir", "wsp run a.mlir"),
            ("a.npz", "--inputs"),
            ("a", "`.tg`"),
        ] {
            let path = Path::new(name);
            let fault = wrong_kind(path, Kind::by_name(path), "task graphs");
            assert!(fault.help[0].contains(part), "{name}: {fault:?}");
        }
    }
}
