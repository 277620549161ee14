//! Machine models: units, memories, transfer rates and costs of operations of a machine, read from TOML.
//!
//! A model is data: [`NAMES`] come with the crate, any other is a file of its user ([`Model::read`]). Every figure says how it is known
//! ([`Mark`]) and where it is from; one that does not is refused.

pub(crate) mod codes;
mod part;
mod read;
mod toml;
mod write;

use std::fmt;
use std::sync::OnceLock;
use wsp_core::ExecPool;
use wsp_diag::{Diagnostic, FileId, did_you_mean};
use wsp_ir::{CostClass, TileRole};

/// How a figure is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    /// On a machine of the kind.
    Measured,
    /// Its maker, or software for it, says so.
    Stated,
    /// Neither.
    Assumed,
}

impl Mark {
    /// All of them.
    pub const ALL: [Mark; 3] = [Mark::Measured, Mark::Stated, Mark::Assumed];

    /// Its word in models.
    pub fn word(self) -> &'static str {
        match self {
            Mark::Measured => "measured",
            Mark::Stated => "stated",
            Mark::Assumed => "assumed",
        }
    }
}

/// A figure of a model.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Its table, with what tells it from others of that name: `path gm ub`.
    pub part: String,
    /// Its key in the table.
    pub key: &'static str,
    /// Its value; finite, not below 0.
    pub value: f64,
    /// Its unit: `Hz`, `B`, `B/s`, `s`, `cycles`, `elements/cycle`, `elements` or `count`.
    pub unit: &'static str,
    /// How it is known.
    pub mark: Mark,
    /// Where it is from.
    pub source: String,
}

/// Units of one kind, which have numbers that follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Units {
    /// Which tasks they run; [`ExecPool::Any`] runs all.
    pub kind: ExecPool,
    /// The number of the first.
    pub first: u32,
    /// How many there are.
    pub count: u32,
}

/// Cores that work together on one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cluster {
    /// Cube cores.
    pub cube: u32,
    /// Vector cores.
    pub vector: u32,
}

/// A memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Memory {
    /// Its name.
    pub name: String,
    /// What has one: a unit of this kind, or the device.
    pub of: Option<ExecPool>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Roles of the tiles that it holds.
    pub tiles: Vec<TileRole>,
    /// Tensors are here.
    pub is_global: bool,
}

/// Words of roles of tiles.
const ROLES: [(&str, TileRole); 4] =
    [("vec", TileRole::Vec), ("left", TileRole::Left), ("right", TileRole::Right), ("acc", TileRole::Acc)];

/// The word of a role of tiles in models.
pub fn role_word(role: TileRole) -> &'static str {
    ROLES.iter().find(|(_, of)| *of == role).map_or("", |(word, _)| word)
}

/// How fast bytes go from one memory to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rate {
    /// So many bytes a second, whatever their number.
    Flat(f64),
    /// Of `B` bytes, `peak · B / (half + B)` bytes a second.
    Fitted {
        /// Bytes a second that large transfers come near to.
        peak: f64,
        /// Bytes of a transfer that has half of that.
        half: f64,
    },
}

impl Rate {
    /// Seconds that a transfer of so many bytes takes; 0 of none.
    pub fn seconds(self, bytes: f64) -> f64 {
        match self {
            _ if bytes <= 0.0 => 0.0,
            Rate::Flat(rate) => bytes / rate,
            Rate::Fitted { peak, half } => (half + bytes) / peak,
        }
    }
}

/// Which rate of a path counts that has two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rates {
    /// The flat one.
    Flat,
    /// The fitted one.
    Fitted,
}

/// A way of bytes between two memories.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// Where it begins, an index into [`Model::memories`].
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// Cycles of a transfer beside those of its bytes.
    pub startup: f64,
    /// The rate that does not depend on the size.
    pub flat: Option<f64>,
    /// The rate that does.
    pub fitted: Option<Rate>,
}

impl Path {
    /// Its rate.
    pub fn rate(&self, which: Rates) -> Rate {
        let flat = self.flat.map(Rate::Flat);
        let both = if which == Rates::Flat { flat.or(self.fitted) } else { self.fitted.or(flat) };
        both.expect("the reader should refuse a path without a rate")
    }
}

/// What processors that hand out tasks take, in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Aicpu {
    /// Threads.
    pub threads: u32,
    /// One look whether a core has finished, by a thread that makes one after another.
    pub poll: f64,
    /// From the store that starts a task until its core sees it.
    pub start: f64,
    /// From the end of a task until a thread may see it.
    pub completion: f64,
    /// Work of a thread per task that it hands out.
    pub dispatch: f64,
    /// Work of a thread per task that is complete.
    pub retire: f64,
    /// Work of a thread per task that it generates.
    pub generation: f64,
    /// From one thread to another that waits for it.
    pub notice: f64,
}

/// What starting takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Launch {
    /// Seconds of a run, once.
    pub run: f64,
    /// Bytes a second of what a run brings to the device: its program, or the list of its tasks.
    pub transfer: f64,
    /// Seconds of the first task of a core, beside those of each.
    pub first: f64,
    /// Seconds of each task: its core takes it and its arguments.
    pub task: f64,
    /// Cycles of each task: its kernel begins and ends.
    pub kernel: f64,
}

/// What an operation of a class takes: `startup + elements / rate` cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Operation {
    /// The class.
    pub class: CostClass,
    /// Cycles of each operation.
    pub startup: f64,
    /// Elements a cycle, by their width: of 1, 2, 4 and 8 bytes.
    pub rates: [Option<f64>; 4],
    /// Of products: rows, columns and bytes of the inner dimension that are computed together, so that each extent counts as a multiple.
    pub block: [f64; 3],
}

/// A machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// What it is a model of.
    pub title: String,
    /// Which rate of a path counts that has two.
    pub rates: Rates,
    /// Cycles a second.
    pub clock: f64,
    /// Its units, by rising number.
    pub units: Vec<Units>,
    /// Cores that work together.
    pub cluster: Option<Cluster>,
    /// Parts of the last cache that cores share, each of which serves as many of them.
    pub cache_domains: u32,
    /// Its memories.
    pub memories: Vec<Memory>,
    /// Ways between them.
    pub paths: Vec<Path>,
    /// What hands out tasks.
    pub aicpu: Option<Aicpu>,
    /// What starting takes.
    pub launch: Launch,
    /// Costs of operations, one of each class at most.
    pub operations: Vec<Operation>,
    /// Every figure, in the order of the text.
    pub figures: Vec<Figure>,
}

/// The models that come with the crate, by name, and their texts.
const TEXTS: [(&str, &str); 4] = [
    ("cpu", include_str!("../../models/cpu.toml")),
    ("ascend_910b", include_str!("../../models/ascend_910b.toml")),
    ("ascend_910c", include_str!("../../models/ascend_910c.toml")),
    ("ascend_950", include_str!("../../models/ascend_950.toml")),
];

/// Names of the models that come with the crate.
pub const NAMES: [&str; 4] = [TEXTS[0].0, TEXTS[1].0, TEXTS[2].0, TEXTS[3].0];

/// Each is read when it is asked for.
static MODELS: [OnceLock<Model>; TEXTS.len()] = [const { OnceLock::new() }; TEXTS.len()];

/// The text of a model that comes with the crate.
pub fn text(name: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A model that comes with the crate.
///
/// # Errors
/// None has this name.
pub fn named(name: &str) -> Result<&'static Model, Diagnostic> {
    if let Some(at) = NAMES.iter().position(|known| *known == name) {
        let read = || Model::read(TEXTS[at].1, FileId(0)).expect("a model of the crate should be one");
        return Ok(MODELS[at].get_or_init(read));
    }
    let fault = Diagnostic::error(codes::UNKNOWN_MODEL, format!("there is no machine model `{name}`"))
        .note(format!("models: {}; a file is named by a path with a `.` or a `/` in it", NAMES.join(", ")));
    Err(match did_you_mean(name, NAMES) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => fault.help("take one of them, or write one: docs/reference/models.md"),
    })
}

impl Model {
    /// The model that a text of TOML describes.
    ///
    /// # Errors
    /// What is wrong with it, with places in `file`.
    pub fn read(text: &str, file: FileId) -> Result<Model, Vec<Diagnostic>> {
        read::read(text, file)
    }

    /// How many units run tasks of a kind; of [`ExecPool::Any`] all.
    pub fn count(&self, kind: ExecPool) -> u32 {
        let of = |units: &&Units| kind == ExecPool::Any || units.kind == kind;
        self.units.iter().filter(of).map(|units| units.count).sum()
    }

    /// Numbers and kinds of its units, by rising number.
    pub fn cores(&self) -> impl Iterator<Item = (u32, ExecPool)> + '_ {
        self.units.iter().flat_map(|units| (units.first..units.first + units.count).map(|n| (n, units.kind)))
    }

    /// The memory where tiles of a role are, an index into [`Model::memories`].
    pub fn home(&self, role: TileRole) -> Option<usize> {
        self.memories.iter().position(|memory| memory.tiles.contains(&role))
    }

    /// The memory where tensors are.
    pub fn global(&self) -> Option<usize> {
        self.memories.iter().position(|memory| memory.is_global)
    }

    /// The shortest way between two memories, in paths; empty where they are the same, none where there is no way.
    pub fn route(&self, from: usize, to: usize) -> Option<Vec<&Path>> {
        let mut reached: Vec<Option<Vec<&Path>>> = vec![None; self.memories.len()];
        *reached.get_mut(from)? = Some(Vec::new());
        for _ in &self.memories {
            for path in &self.paths {
                if let (Some(way), None) = (&reached[path.from], &reached[path.to]) {
                    let way = way.iter().copied().chain([path]).collect();
                    reached[path.to] = Some(way);
                }
            }
        }
        reached.get_mut(to)?.take()
    }

    /// Seconds as cycles of its clock.
    pub fn cycles(&self, seconds: f64) -> f64 {
        seconds * self.clock
    }

    /// Operations and bytes per second of all units together, at most: of cube units products, each of which counts as two operations, of vector units
    /// operations on elements, of the narrowest elements; bytes between units and the memory of tensors, by the fastest path of each.
    pub fn peak(&self) -> [f64; 2] {
        let best = |class: CostClass| {
            let rates = self.operation(class).into_iter().flat_map(|of| of.rates).flatten();
            rates.fold(0.0, f64::max)
        };
        let [products, elements] = [2.0 * best(CostClass::Products), best(CostClass::Elementwise)];
        let mut peak = [0.0; 2];
        for units in &self.units {
            let each = match units.kind {
                ExecPool::Cube => products,
                ExecPool::Vector => elements,
                ExecPool::Any => products.max(elements),
            };
            let is_way = |path: &&Path| {
                let of = self.memories[path.to].of;
                self.memories[path.from].is_global && (of.is_none() || of == Some(units.kind))
            };
            let rate = |path: &Path| match path.rate(self.rates) {
                Rate::Flat(rate) | Rate::Fitted { peak: rate, .. } => rate,
            };
            let fastest = self.paths.iter().filter(is_way).map(rate).fold(0.0, f64::max);
            peak[0] += f64::from(units.count) * each * self.clock;
            peak[1] += f64::from(units.count) * fastest;
        }
        peak
    }

    /// The costs of a class of operations.
    pub fn operation(&self, class: CostClass) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.class == class)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = scaled(self.value, self.unit);
        write!(f, "{value} {unit}")
    }
}

/// A value and its unit as tables show it: with a prefix where there is one.
fn scaled(value: f64, unit: &str) -> (f64, String) {
    let prefixes: &[(f64, &str)] = match unit {
        "Hz" | "B/s" => &[(1e9, "G"), (1e6, "M"), (1e3, "k")],
        "B" => &[(1_073_741_824.0, "Gi"), (1_048_576.0, "Mi"), (1024.0, "Ki")],
        "s" => &[(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")],
        _ => &[],
    };
    let round = |value: f64| if value >= 1e15 { value } else { (value * 1e4).round() / 1e4 };
    match prefixes.iter().find(|(scale, _)| value >= *scale) {
        Some((scale, prefix)) => (round(value / scale), format!("{prefix}{unit}")),
        None => (value, unit.to_owned()),
    }
}
