//! What the text of a kernel takes, in order, for what launches it.

use super::scalars::{Number, Scalars};
use super::view::CElem;
use super::{exchange, paged};
use wsp_core::{AccessKind, CacheId, ExecPool, TensorId};
use wsp_ir::{MetaKind, ScalarTy, Tensor};
use wsp_ordered::OrderedMap;
use wsp_tile::{Op, TileProgram};

pub use super::paged::Pages;

/// An argument of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Argument {
    /// Its name in the text.
    pub name: String,
    /// What it is.
    pub kind: ArgumentKind,
}

/// What an argument is.
#[derive(Clone, PartialEq, Debug)]
pub enum ArgumentKind {
    /// A pointer to the first element of an array.
    Array {
        /// Which.
        array: ArrayArgument,
        /// The C++ type of its elements.
        elem: &'static str,
        /// Bytes of an element.
        elem_bytes: u32,
        /// Whether the kernel loads from it.
        read: bool,
        /// Whether it stores to it.
        written: bool,
        /// Whether what runs the tasks of the kernel reads elements to decide which there are.
        walked: bool,
    },
    /// A number.
    Number {
        /// Which.
        number: Number,
        /// Its type.
        ty: ScalarTy,
    },
}

/// An array that a kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrayArgument {
    /// A tensor of the module.
    Tensor(TensorId),
    /// An array of a page table.
    Table(CacheId, MetaKind),
    /// Through this one cores exchange tiles: each run of the kernel has its own, with any contents at first.
    Exchange {
        /// Its number in names.
        id: u32,
        /// Which of those of the kernel, counted from 0.
        place: u32,
        /// Rows and columns.
        dims: [u32; 2],
    },
}

/// The arguments of a program whose text takes `scalars.arguments`.
pub(super) fn of(program: &TileProgram, scalars: &Scalars<'_>) -> Vec<Argument> {
    let mut used: OrderedMap<TensorId, [bool; 2]> = OrderedMap::new();
    let mut note = |tensor: TensorId, kind: AccessKind| {
        used.entry(tensor).or_default()[usize::from(kind == AccessKind::Write)] = true;
    };
    program.instructions(&mut |instruction| match &instruction.op {
        Op::Tile(op) => op.accesses().for_each(|(tensor, kind)| note(tensor, kind)),
        Op::LoadScalar { tensor, .. } => note(*tensor, AccessKind::Read),
        Op::StoreScalar { tensor, .. } => note(*tensor, AccessKind::Write),
        Op::Move { .. } | Op::Reduce { .. } => {}
    });
    let arguments = scalars.arguments.borrow();
    let mut places = 0..;
    let arrays = arguments.tensors.iter().map(|id| {
        let tensor = &scalars.module.tensors[id.index()];
        let elem = scalars.elem_of(*id);
        // Page tables and arrays that expressions read are loaded.
        let [read, written] = used.get(id).copied().unwrap_or([true, false]);
        let kind = ArgumentKind::Array {
            array: array(scalars, *id, tensor, &mut places),
            elem: elem.and_then(CElem::of).map_or("", CElem::name),
            elem_bytes: elem.map_or(0, |elem| elem.size() as u32),
            read,
            written,
            walked: arguments.elements.contains(id),
        };
        Argument { name: scalars.tensor_name(*id), kind }
    });
    let numbers = arguments.numbers.iter().map(|number| {
        let ty = scalars.type_of(*number);
        let kind = ArgumentKind::Number { number: *number, ty };
        Argument { name: scalars.name_of(*number), kind }
    });
    arrays.chain(numbers).collect()
}

fn array(
    scalars: &Scalars<'_>,
    id: TensorId,
    tensor: &Tensor,
    places: &mut impl Iterator<Item = u32>,
) -> ArrayArgument {
    if let Some([rows, cols]) = exchange::size(tensor) {
        let place = places.next().unwrap_or(0);
        return ArrayArgument::Exchange { id: id.0, place, dims: [rows as u32, cols as u32] };
    }
    match paged::table_of(scalars.module, tensor) {
        Some((cache, kind)) => ArrayArgument::Table(cache, kind),
        None => ArrayArgument::Tensor(id),
    }
}

/// The cores that run a program: cube, vector, or any where it is for a pair.
pub(super) fn unit(program: &TileProgram) -> ExecPool {
    let (mut cube, mut vector) = (false, false);
    program.instructions(&mut |instruction| match super::sides::core(program, instruction) {
        super::sides::Core::Cube => cube = true,
        super::sides::Core::Vector => vector = true,
    });
    match (cube, vector) {
        (true, false) => ExecPool::Cube,
        (true, true) => ExecPool::Any,
        (false, _) => ExecPool::Vector,
    }
}
