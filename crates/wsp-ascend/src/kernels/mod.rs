//! Kernels for the cores of Ascend accelerators: tile programs as C++ against the instruction library of the platform.
//!
//! 1. [`wsp_tile::specialise`] and [`wsp_tile::legalise`] make a tile program for the [`memories`] of the platform.
//! 2. `rewrite` brings transfers and fills into the forms that the cores have.
//! 3. `scratch` gives each instruction the buffers that its calls need; `table` says which calls those are.
//! 4. [`wsp_tile::place()`], [`wsp_tile::order()`] and [`wsp_tile::check()`] give addresses and events, and show that nothing is missing.
//! 5. `print` and `skeleton` write the text.

pub(crate) mod codes;
pub(crate) mod files;
mod memories;
mod ops;
mod print;
mod recipe;
mod rewrite;
mod scalars;
mod scratch;
mod skeleton;
mod table;
mod view;

use scalars::Scalars;
use std::collections::BTreeSet;
use wsp_core::tg::Platform;
use wsp_core::{FuncId, TensorId};
use wsp_diag::Diagnostic;
use wsp_ir::{Elem, ExprKind, Function, StmtKind, TileOp, TileRole, Verified, walk};
use wsp_tile::{Known, Memories, PingPong, TileProgram};

pub use memories::memories;
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
    /// The file. `NAME_body` in namespace `NAME_kernel` takes pointers to tensors, then numbers; `kernel_entry` takes the arguments of a
    /// task.
    pub text: String,
    /// What `NAME_body` takes, in order.
    pub arguments: Vec<String>,
    /// The tile program that it is the text of.
    pub program: TileProgram,
    /// Barriers in place of events.
    pub notes: Vec<Diagnostic>,
}

/// A kernel of a module for a platform.
///
/// # Errors
/// The function has no body, what it depends on is not known at emission, the platform has no instructions for it, or it does not fit.
pub fn emit_kernel(
    module: &Verified,
    kernel: FuncId,
    known: Known<'_>,
    chip: Chip,
) -> Result<KernelSource, Vec<Diagnostic>> {
    let function = wsp_tile::specialise(module, kernel, known)?;
    one_kind_of_core(&function)?;
    known_elements(module, &function, known)?;
    let memories = memories(chip);
    let mut program = wsp_tile::legalise(module, &function, known, &memories)?;
    let locals = program.locals.clone();
    let scalars = Scalars::new(module, &function, known, &locals);
    rewrite::rewrite(&mut program, &scalars, chip)?;
    name_arrays(&program, &scalars);
    scratch::add_scratch(&mut program, &scalars, chip)?;
    let (program, notes) = ordered(program, &memories)?;
    let body = print::body(&program, &scalars, chip, &memories);
    let lacking = scalars.finish();
    if !lacking.is_empty() {
        return Err(lacking);
    }
    let name = scalars::identifier(&program.name);
    let text = skeleton::file(&name, chip.name(), &body, &scalars, function.span)?;
    Ok(KernelSource { name, text, arguments: scalars.argument_names(), program, notes })
}

/// Addresses and events.
fn ordered(
    program: TileProgram,
    memories: &Memories,
) -> Result<(TileProgram, Vec<Diagnostic>), Vec<Diagnostic>> {
    let placed = wsp_tile::place(program, memories, PingPong::WhereItFits)?;
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
fn known_elements(module: &Verified, function: &Function, known: Known<'_>) -> Result<(), Vec<Diagnostic>> {
    let mut unknown = BTreeSet::new();
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
        Diagnostic::error(codes::NOT_SET, message)
            .at(tensor.span, "declared here")
            .help(format!("declare their type in the host entry: `Tensor<float> {}`", tensor.name))
    };
    if unknown.is_empty() { Ok(()) } else { Err(unknown.iter().map(one).collect()) }
}

/// A kernel runs on a cube core or on a vector core.
fn one_kind_of_core(function: &Function) -> Result<(), Vec<Diagnostic>> {
    let role = |tile: &wsp_core::LocalId| match &function.local(*tile).ty {
        wsp_ir::LocalTy::Tile(ty) => Some(ty.role),
        _ => None,
    };
    let (mut cube, mut vector) = (None, None);
    walk::stmts(&function.body, &mut |stmt| {
        let StmtKind::Tile(op) = &stmt.kind else { return };
        let of_vector = match op {
            TileOp::MatMul { .. } => {
                cube = cube.or(Some(stmt.span));
                false
            }
            TileOp::Load { dst: tile, .. }
            | TileOp::Store { src: tile, .. }
            | TileOp::Fill { dst: tile, .. } => role(tile) == Some(TileRole::Vec),
            _ => true,
        };
        if of_vector {
            vector = vector.or(Some(stmt.span));
        }
    });
    let (Some(cube), Some(vector)) = (cube, vector) else { return Ok(()) };
    let message = format!("`{}` has a matrix product, and a part for vector cores", function.name);
    Err(vec![
        Diagnostic::error(codes::SEVERAL_TASKS, message)
            .at(cube, "this runs on a cube core")
            .label(vector, "this runs on a vector core")
            .help("write two kernels, the first of which stores what the second loads"),
    ])
}
