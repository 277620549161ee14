//! Elements of the tiles of an operation: integers go with integers of their own type.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::diags::Res;
use super::functions::KernelDecl;
use super::types::element_name;
use crate::ast::{self, Ident};
use wsp_core::{DType, LocalId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Const, Elem, ElementFault, Expr, ExprKind, TileOp, check_elements};
use wsp_ordered::OrderedMap;

/// The element type that is known from the source.
fn fixed(elem: Elem) -> Option<DType> {
    match elem {
        Elem::Fixed(dtype) => Some(dtype),
        Elem::Of(_) => None,
    }
}

/// What elements are called.
fn words(elem: Elem) -> String {
    fixed(elem).map_or("real numbers".to_owned(), |dtype| format!("`{}`", element_name(dtype)))
}

/// How programs use tensors of integers: where each is first read as an array, with how to mend that, and first stored to.
#[derive(Default)]
pub(super) struct IntegerUses {
    read: OrderedMap<TensorId, (Span, Mend)>,
    stored: OrderedMap<TensorId, Span>,
}

/// What to write where a tensor is read as an array that kernels store to.
#[derive(Clone, Copy)]
enum Mend {
    /// In a kernel, which may load it.
    Load,
    /// In a generator, which runs before every task.
    Apart,
}

impl Sema<'_> {
    /// A tensor of integers is read as an array, or stored to. Arrays are read before tasks run, so that one of them does both only in kernels
    /// of task graphs, which read the tensor itself.
    pub(super) fn note_integers(
        &mut self,
        b: &Body,
        tensor: TensorId,
        read: Option<Span>,
        stored: Option<Span>,
    ) -> Res<()> {
        let mend = match b.kind {
            BodyKind::Kernel | BodyKind::Helper(_) => Mend::Load,
            BodyKind::Generator(_) => Mend::Apart,
            BodyKind::Launch(_) | BodyKind::Probe => return Ok(()),
        };
        if self.kernels.iter().any(KernelDecl::is_entry) {
            return Ok(());
        }
        if let Some(at) = read {
            self.integers.read.entry(tensor).or_insert((at, mend));
        }
        if let Some(at) = stored {
            self.integers.stored.entry(tensor).or_insert(at);
        }
        let IntegerUses { read, stored } = &self.integers;
        let (Some((read, mend)), Some(stored)) = (read.get(&tensor), stored.get(&tensor)) else {
            return Ok(());
        };
        let name = self.module.tensors[tensor.index()].name.clone();
        let message = format!("`{name}` is read as an array, and kernels store to it");
        let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
            .at(*read, "this is what it holds before tasks run")
            .label(*stored, "stored to here")
            .help(match mend {
                Mend::Load => format!("load what kernels store to a tile: `TLOAD(tile, {name}, {{…}});`"),
                Mend::Apart => {
                    "let kernels store to a tensor of its own: generators run before tasks".to_owned()
                }
            });
        Err(self.fail(d))
    }

    /// Refuses tiles whose elements do not go with an operation; they come with where each is named.
    pub(super) fn check_elements(
        &mut self,
        b: &Body,
        callee: &Ident,
        op: &TileOp,
        tiles: &[(LocalId, Span)],
    ) -> Res<()> {
        let elems: Vec<Elem> = tiles.iter().map(|(tile, _)| self.tile_ty(b, *tile).elem).collect();
        let known: Vec<Option<DType>> = elems.iter().copied().map(fixed).collect();
        let Err(fault) = check_elements(op, &known) else { return Ok(()) };
        let (at, beside) = fault.tiles();
        let (name, have) = (callee.as_str(), words(elems[at]));
        let (message, help) = match fault {
            ElementFault::Mixed(other, _) => (
                format!("`{name}` of {} and {have}", words(elems[other])),
                "integers go with integers of the same type: convert one first, `TCVT(converted, tile);`".to_owned(),
            ),
            ElementFault::NeedsReal(_) => (
                format!("`{name}` takes tiles of `float`, `double`, `half` and other real numbers, not of {have}"),
                "convert it to a tile of `float` or `double` first: `TCVT(real, tile);`".to_owned(),
            ),
            ElementFault::NeedsNumbers(_) => (
                format!("`{name}` takes tiles of numbers, not of {have}"),
                "truth values are compared, chosen by, and joined with `TMIN` (and) and `TMAX` (or); to count them, convert them \
                 first: `TCVT(numbers, tile);`"
                    .to_owned(),
            ),
            ElementFault::Places(_) => (
                format!("the places of `{name}` need elements of `float`, `double`, `int32_t` or `int64_t`, not {have}"),
                "a narrower type does not hold every place, and one without a sign no -1".to_owned(),
            ),
        };
        let declared = |at: usize| b.locals[tiles[at].0.index()].span;
        let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
            .at(tiles[at].1, format!("a tile of {have}"))
            .label(declared(at), "declared here");
        let d = match beside {
            Some(other) => d.label(tiles[other].1, format!("a tile of {}", words(elems[other]))),
            None => d,
        };
        Err(self.fail(d.help(help)))
    }

    /// Refuses a load or store between a tensor and a tile of which one has integers and the other does not have the same.
    pub(super) fn check_moves(
        &mut self,
        b: &Body,
        callee: &Ident,
        tensor: TensorId,
        tile: LocalId,
        stores: bool,
    ) -> Res<()> {
        let (from, to) = (&self.module.tensors[tensor.index()], &b.locals[tile.index()]);
        let (there, here) = (from.elem, self.tile_ty(b, tile).elem);
        if there == here || !(there.is_integer() || here.is_integer()) {
            let stored = stores && there.is_integer();
            return if stored { self.note_integers(b, tensor, None, Some(callee.span)) } else { Ok(()) };
        }
        let message =
            format!("tensor `{}` holds {}, and tile `{}` {}", from.name, words(there), to.name, words(here));
        let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
            .at(callee.span, "moves elements between them")
            .label(from.span, "the tensor")
            .label(to.span, "the tile")
            .help("use a tile of the elements of the tensor; `TCVT` converts it to another one");
        Err(self.fail(d))
    }

    /// A number that meets a tile of integers: a constant is in their range.
    pub(super) fn integer_as(&mut self, b: &mut Body, e: &ast::Expr, elem: Elem) -> Res<Expr> {
        let number = self.scalar(b, e)?;
        if number.ty.is_float() {
            let message =
                format!("a number that meets a tile of {} is a `{}`", words(elem), number.ty.c_name());
            let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
                .at(e.span, "a whole number is needed here")
                .help(format!(
                    "write it without a fraction, or convert it: `{}(x)`",
                    elem.operand().c_name()
                ));
            return Err(self.fail(d));
        }
        let number = self.convert(number, elem.operand())?;
        let (Some(dtype), ExprKind::Const(Const::Int(value))) = (fixed(elem), &number.kind) else {
            return Ok(number);
        };
        let (low, high) = dtype.bounds().unwrap_or((i128::MIN, i128::MAX));
        if (low..=high).contains(value) {
            return Ok(number);
        }
        let name = element_name(dtype);
        let d = Diagnostic::error(codes::TYPE_MISMATCH, format!("{value} does not fit elements of `{name}`"))
            .at(e.span, "meets a tile of them")
            .help(format!("they hold whole numbers from {low} to {high}"));
        Err(self.fail(d))
    }
}
