//! Kernels for the cores of Ascend accelerators: tile programs as C++ against the instruction library of the platform.
//!
//! 1. [`wsp_tile::specialise`] and [`wsp_tile::legalise`] make a tile program for the [`memories`] of the platform.
//!    `exchange` makes products that fit before. A kernel for both kinds of cores becomes one task for a `pair` of them on a5; elsewhere, and
//!    where that does not go, `tasks` makes a task of each part for one kind.
//! 2. `rewrite` brings transfers and fills into the forms that the cores have.
//! 3. `scratch` gives each instruction the buffers that its calls need; `table` says which calls those are.
//! 4. [`wsp_tile::place()`], [`wsp_tile::order()`] and [`wsp_tile::check()`] give addresses and events, and show that nothing is missing.
//! 5. `print` and `skeleton` write the text.

mod argument;
pub(crate) mod codes;
mod exchange;
mod extents;
pub(crate) mod files;
mod lines;
mod memories;
mod ops;
mod outside;
mod paged;
mod pair;
mod print;
mod recipe;
mod rewrite;
mod rounds;
mod rows;
mod scalars;
mod scratch;
mod shapes;
mod sides;
mod skeleton;
mod table;
mod tasks;
mod values;
mod view;

use exchange::Through;
use pair::Pair;
use scalars::{Arguments, Scalars};
use values::Values;
use wsp_core::tg::Platform;
use wsp_core::{ExecPool, FuncId, LocalId, TensorId};
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::{Elem, ExprKind, Function, LaunchTarget, StmtKind, Verified, walk};
use wsp_ordered::OrderedSet;
use wsp_tile::{Known, Memories, PingPong, TileProgram};

pub use argument::{Argument, ArgumentKind, ArrayArgument, Pages};
pub use memories::memories;
pub use scalars::Number;
pub(crate) use scalars::{constant, identifier, math, numbered};
pub use table::bound;

/// A platform with cube and vector cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Chip {
    /// 910B.
    A2,
    /// 910C.
    A3,
    /// 950.
    A5,
}

impl Chip {
    /// All of them.
    pub const ALL: [Chip; 3] = [Chip::A2, Chip::A3, Chip::A5];

    /// That of a column of the platform matrix; the simulation has none.
    pub fn of(platform: Platform) -> Option<Chip> {
        match platform {
            Platform::A2 => Some(Chip::A2),
            Platform::A3 => Some(Chip::A3),
            Platform::A5 => Some(Chip::A5),
            Platform::Cpu => None,
        }
    }

    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Chip::A2 => "a2",
            Chip::A3 => "a3",
            Chip::A5 => "a5",
        }
    }
}

/// A kernel as C++.
#[derive(Clone, PartialEq, Debug)]
pub struct KernelSource {
    /// Its name, as an identifier.
    pub name: String,
    /// The file. Of a kernel that is one task, `NAME_body` in namespace `NAME_kernel` takes pointers to tensors, then numbers;
    /// `kernel_entry` takes the arguments of a task. Of a kernel with [`tasks`](Self::tasks), `NAME_tasks` takes the same after what
    /// runs a task: an object with a function of the name of each.
    pub text: String,
    /// What `NAME_body` takes, in order, or `NAME_tasks` after its first argument.
    pub arguments: Vec<Argument>,
    /// The cores that run it: cube, vector, or any where it is for a pair of them or has tasks for both.
    pub unit: ExecPool,
    /// The tile program that it is the text of. That of a kernel with tasks has no addresses.
    pub program: TileProgram,
    /// The memories and units of the program: those of one core, or of a pair that works on one task.
    pub memories: Memories,
    /// What is probably not meant, then barriers in place of events.
    pub notes: Vec<Diagnostic>,
    /// The tasks of a kernel that needs both kinds of cores, each for one of them; none where it is one task for both.
    pub tasks: Vec<KernelSource>,
}

/// A kernel of a module for a platform.
///
/// # Errors
/// The function has no body, what it depends on is not known at emission, the platform has no instructions for it, it does not fit, or an extent is
/// below 0; with them, what is probably not meant.
pub fn emit_kernel(
    module: &Verified,
    kernel: FuncId,
    known: Known<'_>,
    chip: Chip,
) -> Result<KernelSource, Vec<Diagnostic>> {
    emit_kernel_within(module, kernel, known, chip, &memories(chip))
}

/// As [`emit_kernel`]; on the host, faults of its whole numbers have their places in these files.
pub(crate) fn emit_kernel_of(
    module: &Verified,
    kernel: FuncId,
    known: Known<'_>,
    chip: Chip,
    sources: Option<&SourceMap>,
) -> Result<KernelSource, Vec<Diagnostic>> {
    emitted(module, kernel, (known, sources), chip, &memories(chip))
}

/// As [`emit_kernel`], in memories that may be smaller than those of the platform: in them a kernel is packed as closely as a larger one
/// is in the whole of a core. Products are made in parts that fit the memories of the platform.
///
/// # Errors
/// Those of [`emit_kernel`].
pub fn emit_kernel_within(
    module: &Verified,
    kernel: FuncId,
    known: Known<'_>,
    chip: Chip,
    memories: &Memories,
) -> Result<KernelSource, Vec<Diagnostic>> {
    emitted(module, kernel, (known, None), chip, memories)
}

fn emitted(
    module: &Verified,
    kernel: FuncId,
    (known, sources): Told<'_>,
    chip: Chip,
    memories: &Memories,
) -> Result<KernelSource, Vec<Diagnostic>> {
    // What is stored under one name of an array is loaded under the others.
    let with_one_name = wsp_plan::with_one_name(module)?;
    let module = with_one_name.as_ref().unwrap_or(module);
    let function = wsp_tile::specialise(module, kernel, known)?;
    known_elements(module, &function, known)?;
    let of_text = Values::of_text(module, &function, known);
    let mut found = extents::check(module, &function, &of_text);
    let of_tasks = Values::of_kernel(module, &function, known);
    found.extend(lines::check(module, &function, known, &of_tasks));
    match translated(module, &function, (known, sources), (chip, memories)) {
        Ok(made) => {
            found.extend(shapes::check(&made.program));
            found.extend(outside::check(&made.program, (module, &function), &of_text));
            if found.iter().any(Diagnostic::is_error) {
                return Err(found);
            }
            found.extend(made.notes);
            Ok(KernelSource { notes: found, ..made })
        }
        Err(faults) => {
            found.extend(faults);
            Err(found)
        }
    }
}

/// What is known of a program at emission, and its text where that is at hand.
type Told<'a> = (Known<'a>, Option<&'a SourceMap>);

/// The text of a specialised kernel.
fn translated(
    module: &Verified,
    function: &Function,
    told: Told<'_>,
    (chip, memories): (Chip, &Memories),
) -> Result<KernelSource, Vec<Diagnostic>> {
    let with_arrays = paged::with_arrays(module)?;
    let module = with_arrays.as_ref().unwrap_or(module);
    // Why it is not one task belongs to what is said of it as several, be these refused or not.
    let note = match pair::emit(module, function, told, (chip, memories)) {
        Some(Ok(made)) => return Ok(made),
        Some(Err(why)) => Some(pair::note(function, &why)),
        None => None,
    };
    match of_each_core(module, function, told, (chip, memories)) {
        Ok(mut made) => {
            made.notes.extend(note);
            Ok(made)
        }
        Err(mut found) => {
            found.extend(note);
            Err(found)
        }
    }
}

/// The text of a kernel for one kind of core, or as several tasks that exchange tiles through global memory.
fn of_each_core(
    module: &Verified,
    function: &Function,
    (known, sources): Told<'_>,
    (chip, memories): (Chip, &Memories),
) -> Result<KernelSource, Vec<Diagnostic>> {
    let exchanged = exchange::exchange(module, function, chip, Through::Tensors)?;
    let (module, function) = match &exchanged {
        Some(made) => (&made.module, &made.function),
        None => (module, function),
    };
    let legal = wsp_tile::legalise_filled(module, function, known, memories)?;
    let sides = sides::of_function(function);
    let source =
        Source { module, function, known, sources, chip, memories, whole: &legal.program, pair: None };
    if sides.cube && sides.vector {
        return tasks::emit(&source, &legal);
    }
    one_core(&source, legal.program.clone(), &[]).map(|(made, _)| made)
}

/// What the text of a program depends on.
struct Source<'a> {
    module: &'a Verified,
    function: &'a Function,
    known: Known<'a>,
    sources: Option<&'a SourceMap>,
    chip: Chip,
    memories: &'a Memories,
    /// The program of the whole kernel.
    whole: &'a TileProgram,
    /// Where it is one task for both kinds of cores.
    pair: Option<&'a Pair>,
}

/// The text of a program that is one task, which is given the values of some variables, and what it takes.
fn one_core(
    of: &Source<'_>,
    mut program: TileProgram,
    inputs: &[LocalId],
) -> Result<(KernelSource, Arguments), Vec<Diagnostic>> {
    let locals = program.locals.clone();
    let scalars = Scalars::new(of.module, of.function, (of.known, of.sources), &locals);
    inputs.iter().for_each(|local| {
        scalars.number(Number::Local(*local));
    });
    rewrite::rewrite(&mut program, &scalars, (of.chip, of.memories))?;
    name_arrays(of.whole, &scalars);
    scratch::add_scratch(&mut program, &scalars, of.chip)?;
    // Events between the cores of a pair are few, and places that take turns need two for one.
    let turns = if of.pair.is_some() { PingPong::Off } else { PingPong::WhereItFits };
    let (program, notes) = ordered(program, of.memories, turns)?;
    let body = print::body(&program, &scalars, (of.chip, of.memories), of.pair);
    let lacking = scalars.finish();
    if !lacking.is_empty() {
        return Err(lacking);
    }
    let name = scalars::identifier(&program.name);
    let text = skeleton::file(&name, of.chip.name(), &body, (&scalars, of.pair), of.function.span)?;
    let arguments = argument::of(&program, &scalars);
    let unit = argument::unit(&program);
    let takes = scalars.arguments.borrow().clone();
    let memories = of.memories.clone();
    Ok((KernelSource { name, text, arguments, unit, program, memories, notes, tasks: Vec::new() }, takes))
}

/// Addresses and events.
fn ordered(
    program: TileProgram,
    memories: &Memories,
    turns: PingPong,
) -> Result<(TileProgram, Vec<Diagnostic>), Vec<Diagnostic>> {
    let placed = wsp_tile::place(program, memories, turns)?;
    let ordered = wsp_tile::order(&placed.program, memories)?;
    Ok((ordered.program, ordered.notes))
}

/// Array variables stand for one array each.
fn name_arrays(program: &TileProgram, scalars: &Scalars<'_>) {
    fn walk(nodes: &[wsp_tile::Node], scalars: &Scalars<'_>) {
        for node in nodes {
            if let wsp_tile::Node::Name { local, array } = node {
                scalars.name(*local, *array);
            }
            node.blocks().for_each(|block| walk(block, scalars));
        }
    }
    walk(&program.body, scalars);
}

/// The text depends on the element types of tensors.
pub(crate) fn known_elements(
    module: &Verified,
    function: &Function,
    known: Known<'_>,
) -> Result<(), Vec<Diagnostic>> {
    let mut unknown = OrderedSet::new();
    walk::stmts(&function.body, &mut |stmt| {
        let tensor = match &stmt.kind {
            StmtKind::Tile(op) => op.tensor().map(|(tensor, _)| tensor),
            StmtKind::StoreScalar { tensor, .. } => Some(*tensor),
            _ => None,
        };
        unknown.extend(tensor);
    });
    walk::each_expr(&function.body, &mut |e| {
        if let ExprKind::LoadScalar(tensor, _) = &e.kind {
            unknown.insert(*tensor);
        }
    });
    unknown.retain(|id| match module.tensors[id.index()].elem {
        Elem::Fixed(_) => false,
        Elem::Of(of) => known.elems.get(of.index()).copied().flatten().is_none(),
    });
    let one = |id: &TensorId| {
        let tensor = &module.tensors[id.index()];
        let message = format!("the elements of `{}` are not known at emission", tensor.name);
        let how = match paged::cache(tensor) {
            Some(cache) => format!("`PagedKVCache<half> {}`", module.caches[cache.index()].name),
            None => format!("`Tensor<float> {}`", tensor.name),
        };
        let fault = Diagnostic::error(codes::NOT_SET, message).at(tensor.span, "declared here");
        // Arrays of a workload or a task graph have no host entry that declares them; a file that they use may have none at all.
        fault.help(match module.entry.as_ref().map(|entry| entry.launch.target == LaunchTarget::Kernels) {
            Some(true) => "give arrays like those of a launch, whose types a package takes: `--generate`, or `--input NAME=FILE.npy`".to_owned(),
            Some(false) => format!("declare their type in the host entry: {how}; a package takes them from arrays like those of a launch, too"),
            None => format!("`wsp emit` takes them for a package from arrays like those of a launch: `--generate`, or `--input NAME=FILE.npy`; kernels alone have those of a host entry: {how}"),
        })
    };
    if unknown.is_empty() { Ok(()) } else { Err(unknown.iter().map(one).collect()) }
}
