//! Kernels as bodies of cores: a tile program as operations of `arith`, `scf`, `memref`, `math` and `vector`.
//!
//! 1. [`wsp_tile::specialise`] and [`wsp_tile::legalise_filled`] make a tile program for the one [memory](memories()) of a tile.
//! 2. `boxes` finds which box of each tensor a program loads from and stores to: its [operands](Operand), the objects of fifos.
//! 3. `control` writes loops, branches and variables, `scalars` expressions, `elements`, `reduce` and `moves` tile operations over `grids`, with the `writer`. Tiles that only pass from or to an operand
//!    lie in it (`homes`), all others are memory of the core's own.
//! 4. `unused` takes out what nothing uses. `stored` tells which elements of an operand are stored whatever the data is.
//!
//! Arithmetic is that of [`TileOp`](wsp_ir::TileOp), one operation after the other in its order: real numbers in `f32`, rounded to the elements of a tile where they are stored, integers in
//! their own type.

mod boxes;
mod control;
mod elements;
mod fold;
mod functions;
mod grids;
mod homes;
mod moves;
mod random;
mod reduce;
mod scalars;
mod sizes;
mod stored;
mod unused;
mod writer;

use crate::codes;
use crate::mlir::{Attr, Block, Module, Op, Region, Type, Value};
use boxes::Boxes;
use std::sync::Arc;
use stored::Stores;
use writer::Writer;
use wsp_core::{AxisId, DType, FuncId, ParamId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::affine::Affine;
use wsp_ir::{TILE_OPS, TileRole, Verified};
use wsp_ordered::OrderedMap;
use wsp_tile::{Compute, Events, Known, Memories, Memory, MemoryId, Move, Side, Unit, UnitId};

/// Why a kernel has no body for cores.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// Tiles or numbers of a type that is computed with here on no core.
    Elements,
    /// A function that no operation of MLIR for cores computes.
    Function,
    /// A box of a tensor that a launch decides the size of, or that is not known before a body runs.
    Box,
    /// Something that only the host has: loops that a condition ends, page tables, workspaces, calls.
    Host,
    /// Elements of a tensor that are changed where they are.
    InPlace,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 5] =
        [Reason::Elements, Reason::Function, Reason::Box, Reason::Host, Reason::InPlace];

    /// It, in words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::Elements => "bodies compute with `f32`, `bf16`, `i8` and `i32`",
            Reason::Function => "no operation for cores computes the function",
            Reason::Box => {
                "an object of a fifo is a box whose size is fixed and whose place is known before the body runs"
            }
            Reason::Host => "only the host has it",
            Reason::InPlace => "what a tensor holds is not on the core, so nothing is added to it",
        }
    }

    /// What to write in its place.
    fn help(self) -> &'static str {
        match self {
            Reason::Elements => "give tiles elements of one of these, or run the program on `cpu_sim`",
            Reason::Function => {
                "compute it of what cores have, such as `TEXP`, `TSQRT`, `TRSQRT`, `TRECIP` and `TTANH`, or run the program on `cpu_sim`"
            }
            Reason::Box => {
                "load and store tiles of constant sizes at places that follow from words of the descriptor and parameters"
            }
            Reason::Host => "leave it out, or run the program on `cpu_sim`",
            Reason::InPlace => {
                "store parts to places of their own with `TSTORE`, and add them up in a kernel that loads them"
            }
        }
    }
}

/// What a kernel has no body for.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// What.
    pub what: String,
    /// Where it is written.
    pub span: Span,
    /// Elements of a box that no tile has room for.
    pub elements: Option<u64>,
}

/// The figure of a refusal that says how many elements a box has that no tile has room for.
pub(crate) const ELEMENTS: &str = "box_elements";

impl Refusal {
    fn new(reason: Reason, what: String, span: Span) -> Refusal {
        Refusal { reason, what, span, elements: None }
    }

    /// As it is reported.
    pub fn diagnostic(&self) -> Diagnostic {
        let mut told = Diagnostic::error(codes::KERNEL, format!("{} has no body for a core", self.what))
            .at(self.span, "")
            .note(self.reason.text().to_owned())
            .help(self.reason.help());
        told.figures.extend(self.elements.map(|elements| (ELEMENTS, elements)));
        told
    }
}

/// A number that a body takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Number {
    /// A word of the descriptor, `i32`.
    Field(u32),
    /// A parameter of the program.
    Param(ParamId),
    /// How many elements an axis has, `i32`.
    Extent(AxisId),
}

/// A memory that a body takes: a box of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Operand {
    /// The tensor. One that is only read may have several boxes.
    pub tensor: TensorId,
    /// Its first element: an index for each dimension of the tensor.
    pub origin: Vec<Affine<Number>>,
    /// A memory reference with as many dimensions as the tensor.
    pub ty: Type,
    /// The body reads it.
    pub reads: bool,
    /// The body writes it.
    pub writes: bool,
}

/// A kernel as operations.
#[derive(Clone, PartialEq, Debug)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// The memories that it takes first.
    pub operands: Vec<Operand>,
    /// The numbers that it takes then, with their types.
    pub numbers: Vec<(Number, Type)>,
    /// The memories that it takes last: its own, buffers of the tile whose contents no other needs. They hold nothing from one run to the next.
    pub locals: Vec<Type>,
    /// Bytes of program, by the estimate of [`check`](crate::check()).
    pub program: u64,
    stores: Arc<Stores>,
    module: Module,
    args: Vec<Value>,
    ops: Vec<Op>,
}

/// A kernel of a module as the body of a core.
///
/// # Errors
/// The kernel is none, depends on what is not known, or has no body for a core (1872); a program larger than a core's (1851).
pub fn body(module: &Verified, kernel: FuncId, known: Known<'_>) -> Result<Body, Vec<Diagnostic>> {
    let memories = memories();
    let function = wsp_tile::specialise(module, kernel, known)?;
    let program = wsp_tile::legalise_filled(module, &function, known, &memories)?.program;
    let refused = |refusal: Refusal| vec![refusal.diagnostic()];
    let boxes = Boxes::of(module, known, &program).map_err(refused)?;
    let stores = Stores::of(&program, &boxes);
    let mut writer = Writer::new(module, known, &program, boxes);
    writer.nodes(&program.body);
    let body = writer.finish(stores).map_err(refused)?;
    if body.program > crate::device::PROGRAM {
        let message = format!(
            "the program of `{}` is about {} bytes, and a core has {}",
            body.name,
            body.program,
            crate::device::PROGRAM
        );
        let help = "split the kernel into two processes, each of which has a core";
        return Err(vec![Diagnostic::error(codes::PROGRAM, message).at(function.span, "").help(help)]);
    }
    Ok(body)
}

/// A call of a kernel that is linked by its name, with the function to be declared in the device.
pub fn external(module: &Module, name: &str, args: &[Value]) -> (Op, crate::design::Kernel) {
    let inputs = args.iter().map(|arg| module.ty(*arg).clone()).collect();
    let kernel = crate::design::Kernel {
        name: name.to_owned(),
        inputs,
        outputs: Vec::new(),
        link_with: None,
        span: Span::default(),
    };
    let call = Op::new("func.call").with(args.iter().copied()).attr("callee", Attr::Symbol(name.to_owned()));
    (call, kernel)
}

impl Body {
    /// The types of all that it takes: operands, numbers, memories of its own.
    pub fn types(&self) -> impl Iterator<Item = &Type> {
        self.args.iter().map(|arg| self.module.ty(*arg))
    }

    /// Its operations in another module, with values of [these types](Body::types).
    ///
    /// # Panics
    /// When the values are too few.
    pub fn inline(&self, into: &mut Module, values: &[Value]) -> Vec<Op> {
        let mut known: OrderedMap<Value, Value> = OrderedMap::new();
        for (i, arg) in self.args.iter().enumerate() {
            known.insert(*arg, values[i]);
        }
        self.copy(&self.ops, into, &mut known)
    }

    /// It as a function.
    pub fn function(&self, into: &mut Module) -> Op {
        let types: Vec<Type> = self.types().cloned().collect();
        let args: Vec<Value> =
            types.iter().enumerate().map(|(i, ty)| into.value(format!("arg{i}"), ty.clone())).collect();
        let mut ops = self.inline(into, &args);
        ops.push(Op::new("func.return"));
        Op::new("func.func")
            .attr("sym_name", Attr::Str(self.name.clone()))
            .attr("function_type", Attr::Type(Type::Function(types, Vec::new())))
            .region(args, ops)
    }

    fn copy(&self, ops: &[Op], into: &mut Module, known: &mut OrderedMap<Value, Value>) -> Vec<Op> {
        let fresh = |value: &Value, into: &mut Module, known: &mut OrderedMap<Value, Value>| {
            let name = format!("v{}", into.values.len());
            let new = into.value(name, self.module.ty(*value).clone());
            known.insert(*value, new);
            new
        };
        let one = |op: &Op| {
            let operands = op.operands.iter().map(|value| known[value]).collect();
            let results = op.results.iter().map(|value| fresh(value, into, known)).collect();
            let mut regions = Vec::new();
            for region in &op.regions {
                let mut blocks = Vec::new();
                for block in &region.blocks {
                    let args = block.args.iter().map(|value| fresh(value, into, known)).collect();
                    blocks.push(Block { args, ops: self.copy(&block.ops, into, known) });
                }
                regions.push(Region { blocks });
            }
            Op { operands, results, regions, ..op.clone() }
        };
        ops.iter().map(one).collect()
    }
}

/// The memory of a tile, and the one unit that works on it. How much there is depends on fifos, which a kernel does not know.
pub fn memories() -> Memories {
    let (tile, core) = (MemoryId(0), UnitId(0));
    let others = |form: &&str| !matches!(*form, "load" | "store");
    let mut ops: Vec<String> =
        TILE_OPS.iter().map(|row| row.form).filter(others).map(str::to_owned).collect();
    ops.dedup();
    ops.extend(["tile_max", "tile_sum"].map(str::to_owned));
    let step = |from, to| Move { unit: core, from, to };
    Memories {
        name: "aie".to_owned(),
        memories: vec![Memory {
            name: "tile memory".to_owned(),
            capacity: crate::device::TILE_MEMORY,
            alignment: 4,
            granule: 1,
        }],
        units: vec![Unit { name: "core".to_owned(), completes_in_order: true }],
        scalar: core,
        second: Vec::new(),
        moves: vec![step(Side::Global, Side::Memory(tile)), step(Side::Memory(tile), Side::Global)],
        computes: vec![Compute { ops, unit: core, then: None, tiles: vec![tile], elems: Vec::new() }],
        homes: [TileRole::Vec, TileRole::Left, TileRole::Right, TileRole::Acc]
            .map(|role| (role, tile))
            .to_vec(),
        events: Events { per_pair: 0, without: Vec::new(), between: 0 },
    }
}

/// The type of elements in a body.
fn type_of(elem: DType) -> Option<Type> {
    Some(match elem {
        DType::F32 => Type::F32,
        DType::Bf16 => Type::Bf16,
        DType::I8 => Type::Int(8),
        DType::I32 => Type::Int(32),
        _ => return None,
    })
}
