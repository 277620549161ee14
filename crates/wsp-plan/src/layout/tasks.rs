//! The tasks of a launch over layouts: each kernel for each way in which its tasks reach across tiles.

use super::kernel::{Fault, Left, Reached, Seen, analyse};
use super::map::{TileMap, without_axis};
use super::{AxisSet, codes};
use crate::walk;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use wsp_core::policy::{LayoutDim, MeshAxis};
use wsp_core::{FuncId, Region, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Arg, ArrayRef, Block, ExprKind, Function, Module, StmtKind, Storage, dim_text};

/// Follows layouts and pending sums through the tasks of a launch, in elaboration order.
#[derive(Debug)]
pub struct LayoutAnalyzer {
    pub(super) map: Arc<TileMap>,
    /// The schedule is one of a `.pto` file.
    of_spaces: bool,
    /// Sums that tasks so far have left pending, by tensor, with what split them.
    pending: Vec<Option<(AxisSet, Span)>>,
    /// What was found of each kernel, by the way in which it reaches its tensors.
    known: Vec<FxHashMap<Ways, Vec<Left>>>,
    /// Tensors of each kernel, as they were asked for, with whether its numbers are read as those of an array.
    touched: Vec<Option<Vec<(TensorId, bool)>>>,
}

/// What diagnostics say of tensors.
pub trait Facts {
    /// Its name.
    fn name(&self, tensor: TensorId) -> &str;

    /// Its dimensions.
    fn rank(&self, tensor: TensorId) -> usize;

    /// Where it is declared.
    fn span(&self, tensor: TensorId) -> Span;

    /// Whether the caller of a run reads it.
    fn is_result(&self, tensor: TensorId) -> bool;
}

impl Facts for Module {
    fn name(&self, tensor: TensorId) -> &str {
        &self.tensors[tensor.index()].name
    }

    fn rank(&self, tensor: TensorId) -> usize {
        self.tensors[tensor.index()].rank()
    }

    fn span(&self, tensor: TensorId) -> Span {
        self.tensors[tensor.index()].span
    }

    fn is_result(&self, tensor: TensorId) -> bool {
        self.tensors[tensor.index()].storage == Storage::Launch
    }
}

/// How a task reaches each of the tensors of its kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Ways(pub(super) Vec<Way>);

/// Where a task loads and where it stores a tensor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Way {
    /// Its name in the kernel: a view of it may have another.
    pub(super) name: TensorId,
    pub(super) tensor: TensorId,
    pub(super) loaded: Option<Seen>,
    pub(super) stored: Option<Seen>,
}

impl Ways {
    fn of(&self, name: TensorId) -> Option<&Way> {
        self.0.iter().find(|way| way.name == name)
    }

    /// The tensor that a name of the kernel stands for.
    fn tensor(&self, name: TensorId) -> TensorId {
        self.of(name).map_or(name, |way| way.tensor)
    }
}

impl Ways {
    /// Counts dimensions along each axis from the first part of all that is reached: tasks that reach later parts in the same way are alike.
    pub(super) fn from_first_part(&mut self) {
        for axis in super::AXES {
            let mut reached: Vec<(&mut u32, u32)> = Vec::new();
            for seen in self.0.iter_mut().flat_map(|way| [&mut way.loaded, &mut way.stored]).flatten() {
                let dims = seen.dims.iter().zip(&seen.part).zip(&mut seen.first);
                let over = dims.filter(|((dim, _), _)| dim.axis() == Some(axis));
                reached.extend(over.map(|((_, part), first)| (first, *part)));
            }
            let Some(first) = reached.iter().map(|(first, _)| **first).min() else { continue };
            let Some(parts) = reached.iter().try_fold(1u32, |all, (_, part)| least_multiple(all, *part))
            else {
                continue;
            };
            let before = first - first % parts;
            reached.into_iter().for_each(|(first, _)| *first -= before);
        }
    }
}

/// The least common multiple, of numbers from 1 on; none above 32 bits.
fn least_multiple(a: u32, b: u32) -> Option<u32> {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

impl Reached for Ways {
    fn loaded(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.loaded
    }

    fn stored(&self, tensor: TensorId) -> Option<Seen> {
        self.of(tensor)?.stored
    }

    fn along(&self) -> AxisSet {
        let seen = || self.0.iter().flat_map(|way| [way.loaded, way.stored]).flatten();
        let parts = seen().fold(AxisSet::default(), |all, seen| all.with(seen.parts));
        parts.without(seen().fold(AxisSet::default(), |all, seen| all.with(seen.axes())))
    }

    fn same(&self, a: TensorId, b: TensorId) -> bool {
        self.tensor(a) == self.tensor(b)
    }
}

impl LayoutAnalyzer {
    /// Of the tasks of a launch, under the schedule of a workload, or of a `.pto` file (`of_spaces`).
    pub fn new(map: Arc<TileMap>, of_spaces: bool) -> LayoutAnalyzer {
        LayoutAnalyzer { map, of_spaces, pending: Vec::new(), known: Vec::new(), touched: Vec::new() }
    }

    /// Takes the next task: what it loads is whole on its tile, and the sums that it leaves pending are known from here on.
    ///
    /// # Errors
    /// The operation of its kernel that reads what no tile has, or a load of pending sums.
    pub fn analyze(
        &mut self,
        module: &Module,
        kernel: FuncId,
        reads: &[Region],
        writes: &[Region],
    ) -> Result<(), Diagnostic> {
        let func = &module.functions[kernel.index()];
        let ways = self.ways(func, kernel, reads, writes);
        self.follow(module, kernel.index(), (module, func), ways)
    }

    /// Takes a task of the kernel with this number, which reaches its tensors in these ways.
    pub(super) fn follow(
        &mut self,
        of: &dyn Facts,
        at: usize,
        (module, func): (&Module, &Function),
        ways: Ways,
    ) -> Result<(), Diagnostic> {
        if self.known.len() <= at {
            self.known.resize_with(at + 1, FxHashMap::default);
        }
        if !self.known[at].contains_key(&ways) {
            let left =
                analyse(module, func, &ways).map_err(|fault| self.diagnostic(of, func, &ways, fault))?;
            self.known[at].insert(ways.clone(), left);
        }
        let left = self.known[at].get(&ways).map_or(&[][..], Vec::as_slice);
        for Left { tensor, pending: parts, split: at } in left {
            let tensor = ways.tensor(*tensor);
            let said = self.map.stored(tensor).map(|stored| stored.pending).filter(|said| !said.is_empty());
            let known = entry(&mut self.pending, tensor);
            if let Some(said) = said.filter(|said| said != parts) {
                return Err(unlike_stores(of, tensor, *at, &func.name).note(format!(
                    "its layout says `pending({})`",
                    said.axes().map(MeshAxis::word).collect::<Vec<_>>().join(", ")
                )));
            }
            match known {
                Some((pending, split)) if pending != parts && self.map.has_relayout(tensor) => {
                    let split = *split;
                    return Err(unlike_stores(of, tensor, *at, &func.name).label(split, "the other way"));
                }
                Some((pending, _)) if !pending.is_empty() => *pending = pending.with(*parts),
                _ => *known = Some((*parts, *at)),
            }
        }
        Ok(())
    }

    /// How a task reaches the tensors of its kernel.
    fn ways(&mut self, func: &Function, kernel: FuncId, reads: &[Region], writes: &[Region]) -> Ways {
        let at = kernel.index();
        if self.touched.len() <= at {
            self.touched.resize(at + 1, None);
        }
        let tensors = self.touched[at].get_or_insert_with(|| {
            let mut found = Vec::new();
            let mut add = |tensor, is_array| {
                if !found.iter().any(|(known, _)| *known == tensor) {
                    found.push((tensor, is_array));
                }
            };
            walk::tensors(&func.body, &mut |tensor, _| add(tensor, false));
            arrays(&func.body, &mut |tensor| add(tensor, true));
            found
        });
        let tensors = tensors.clone();
        let way = |(tensor, is_array): &(TensorId, bool)| {
            // Of an array it is not known which elements a task reads.
            let all = self.map.all_of(*tensor).filter(|_| *is_array);
            let reads = all.as_ref().map_or(reads, std::slice::from_ref);
            self.way((*tensor, *tensor), reads, writes)
        };
        Ways(tensors.iter().map(way).collect())
    }

    /// How a task reaches a tensor that has a name in its kernel.
    pub(super) fn way(
        &self,
        (name, tensor): (TensorId, TensorId),
        reads: &[Region],
        writes: &[Region],
    ) -> Way {
        let held = self.map.held(tensor);
        let mut loaded = self.map.loaded_by(tensor, reads);
        let sums = self.sums(tensor);
        if !sums.is_empty() {
            loaded.get_or_insert_with(Seen::default).pending = sums;
        }
        let stated = held.filter(|held| held.is_stated);
        let stored = stated.map(|held| self.map.seen(&held.stored, writes, tensor));
        Way { name, tensor, loaded, stored }
    }

    /// The axes over which a tensor that is loaded has parts of sums.
    pub(super) fn sums(&self, tensor: TensorId) -> AxisSet {
        if self.map.has_relayout(tensor) {
            return AxisSet::default();
        }
        let said = self.map.held(tensor).map(|held| held.stored.pending).unwrap_or_default();
        let left = self.pending.get(tensor.index()).copied().flatten();
        left.map_or(said, |(left, _)| said.with(left))
    }

    /// The sums that all tasks together have left pending, by tensor.
    ///
    /// # Errors
    /// One of them is a result of the launch, which its caller reads.
    pub fn finish(&self, of: &dyn Facts) -> Result<Vec<AxisSet>, Diagnostic> {
        let stored = self.pending.iter().enumerate();
        for (at, (pending, split)) in stored.filter_map(|(at, stored)| Some((at, stored.as_ref()?))) {
            let tensor = TensorId(at as u32);
            let is_read = of.is_result(tensor) && !self.map.has_relayout(tensor);
            if let Some(axis) = pending.axes().next().filter(|_| is_read) {
                let fault = Diagnostic::error(codes::PENDING, pending_message(of.name(tensor), axis))
                    .at(*split, "the sum is split here")
                    .label(of.span(tensor), "the tensor is a result of the launch");
                return Err(self.relayout(fault, of, tensor, axis));
            }
        }
        Ok(self
            .pending
            .iter()
            .map(|stored| stored.map_or(AxisSet::default(), |(pending, _)| pending))
            .collect())
    }

    fn diagnostic(&self, of: &dyn Facts, func: &Function, ways: &Ways, fault: Fault) -> Diagnostic {
        let kernel = format!("in kernel `{}`", func.name);
        match fault {
            Fault::Unlike { span, message, relayout, axis } => {
                let fault = Diagnostic::error(codes::UNLIKE, message).at(span, kernel);
                match relayout {
                    Some(name) => self.relayout(fault, of, ways.tensor(name), axis),
                    None => fault.help("write `replicate` for one of the dimensions"),
                }
            }
            Fault::Unstored { span, message, relayout, axis, stored, dim } => {
                let fault = Diagnostic::error(codes::UNLIKE, message).at(span, kernel);
                let fault = match relayout {
                    Some(name) => self.relayout(fault, of, ways.tensor(name), axis),
                    None => fault,
                };
                self.layout(fault, of, (ways.tensor(stored), dim), axis)
            }
            Fault::PendingTensor { span, tensor, axis } => {
                self.pending_read(of, ways.tensor(tensor), axis, (span, &kernel))
            }
            Fault::PendingTile { span, word, axis, split, contracted } => {
                let axis_word = axis.word();
                let message =
                    format!("`{word}` reads a pending sum: each tile along `{axis_word}` has a part of it");
                let fault = Diagnostic::error(codes::PENDING, message).at(span, kernel).label(
                    split,
                    format!("the sum goes along a dimension that is sharded over `{axis_word}`"),
                );
                match contracted {
                    Some(name) => self.relayout(fault, of, ways.tensor(name), axis),
                    None => fault.help("write `replicate` for that dimension"),
                }
            }
        }
    }

    /// A tensor whose parts of sums are read at a place.
    pub(super) fn pending_read(
        &self,
        of: &dyn Facts,
        tensor: TensorId,
        axis: MeshAxis,
        (span, label): (Span, &str),
    ) -> Diagnostic {
        let message = pending_message(of.name(tensor), axis);
        let fault = Diagnostic::error(codes::PENDING, message).at(span, label);
        let split = self.pending.get(tensor.index()).copied().flatten();
        let fault = match split.filter(|(pending, _)| pending.has(axis)) {
            Some((_, split)) => fault.label(split, "the sum is split here"),
            None => fault,
        };
        self.relayout(fault, of, tensor, axis)
    }

    /// What to write so that a tensor is stored where its parts are.
    fn layout(
        &self,
        fault: Diagnostic,
        of: &dyn Facts,
        (tensor, dim): (TensorId, Option<u8>),
        axis: MeshAxis,
    ) -> Diagnostic {
        let Some(dim) = dim.map(usize::from).filter(|dim| *dim < of.rank(tensor)) else { return fault };
        let mut dims = match self.map.stored(tensor) {
            Some(layout) => layout.dims.clone(),
            None => vec![LayoutDim::Replicate; of.rank(tensor)],
        };
        if std::mem::replace(&mut dims[dim], LayoutDim::Shard(axis)) != LayoutDim::Replicate {
            return fault;
        }
        let dims = dims.into_iter().map(dim_text).collect::<Vec<_>>().join(", ");
        let written = written("or", of.name(tensor), &dims, self.of_spaces);
        fault.help(written.replace("RELAYOUT", "LAYOUT").replace("relayout", "layout"))
    }

    /// What to write so that a tensor is read without an axis.
    fn relayout(&self, fault: Diagnostic, of: &dyn Facts, tensor: TensorId, axis: MeshAxis) -> Diagnostic {
        let (name, rank) = (of.name(tensor), of.rank(tensor));
        let dims = match self.map.loaded(tensor) {
            Some(layout) => without_axis(layout, axis),
            None => vec!["replicate"; rank].join(", "),
        };
        let again = if self.map.has_relayout(tensor) { "change its relayout to" } else { "write" };
        fault
            .help(written(again, name, &dims, self.of_spaces))
            .python(format!("{again} `{}`", in_python(name, &dims)))
    }
}

/// Stores of a tensor that a relayout cannot add up together.
fn unlike_stores(of: &dyn Facts, tensor: TensorId, at: Span, kernel: &str) -> Diagnostic {
    let name = of.name(tensor);
    let message = format!("stores leave `{name}` in parts over different axes, or in parts and whole");
    Diagnostic::error(codes::UNLIKE, message).at(at, format!("in kernel `{kernel}`")).help(
        "a relayout adds up all of a tensor: write `replicate` for the dimension that the sum goes along",
    )
}

/// Calls `f` on every tensor whose elements a block reads as those of an array of numbers.
fn arrays(block: &Block, f: &mut dyn FnMut(TensorId)) {
    let mut of = |array: &ArrayRef| {
        if let ArrayRef::Tensor(tensor) = array {
            f(*tensor);
        }
    };
    walk::any_expr(block, &mut |expr| {
        match &expr.kind {
            ExprKind::Load(array, _) | ExprKind::ArrayMax(array, _) | ExprKind::ArraySum(array, _) => {
                of(array)
            }
            ExprKind::Call(_, args) => args.iter().for_each(|arg| {
                if let Arg::Array(array) = arg {
                    of(array);
                }
            }),
            _ => {}
        }
        false
    });
    walk::stmts(block, &mut |stmt| {
        if let StmtKind::LetArray { array, .. } = &stmt.kind {
            of(array);
        }
    });
}

/// The message of a tensor that is read before its sums are added up.
pub(super) fn pending_message(name: &str, axis: MeshAxis) -> String {
    format!("`{name}` holds pending sums: each tile along `{}` has a part of them", axis.word())
}

/// A relayout in the language of the schedule.
pub(super) fn written(again: &str, tensor: &str, dims: &str, of_spaces: bool) -> String {
    if of_spaces {
        let dims = dims.replace("replicate", "PTO_REPLICATE").replace("shard", "PTO_SHARD");
        return format!("{again} `PTO_RELAYOUT({tensor}, {dims})` in the schedule");
    }
    format!("{again} `relayout({tensor}, [{dims}]);` in the schedule")
}

/// A relayout in Python.
pub(super) fn in_python(tensor: &str, dims: &str) -> String {
    let dims: Vec<String> = dims
        .split(", ")
        .map(|dim| format!("\"{}\"", dim.trim_start_matches("shard(").trim_end_matches(')')))
        .collect();
    format!(".relayout(\"{tensor}\", [{}])", dims.join(", "))
}

fn entry(all: &mut Vec<Option<(AxisSet, Span)>>, tensor: TensorId) -> &mut Option<(AxisSet, Span)> {
    if all.len() <= tensor.index() {
        all.resize(tensor.index() + 1, None);
    }
    &mut all[tensor.index()]
}
