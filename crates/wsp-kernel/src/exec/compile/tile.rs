//! Tile variables and operations.

use super::{FnCompiler, Home, Role, unbound};
use crate::Trap;
use crate::exec::asm::Operand;
use crate::exec::code::{Op, What};
use crate::exec::tile_code::{PlaceCode, TileCode, TileDecl, TileInst, TileStep};
use crate::exec::trap::{TILE_ELEMENT, TILE_SIZE};
use wsp_core::words::counted;
use wsp_core::{DType, LocalId, MAX_RANK, TensorId, limits};
use wsp_diag::Span;
use wsp_ir::{
    Block, Elem, Expr, Local, Part, Place, ScalarTy, StmtKind, TileMap, TileOp, TileTy, TileUse,
    check_elements,
};
use wsp_ordered::OrderedSet;

/// Most bytes that the tiles of one kernel may take together.
const MAX_KERNEL_BYTES: u64 = 16 * limits::MAX_TILE_BYTES;

impl<'a> FnCompiler<'_, 'a> {
    /// Resolves a tile's type against what is bound, and numbers it.
    pub(super) fn declare_tile(&mut self, local: &Local, ty: &TileTy) -> Result<usize, Trap> {
        self.require(Role::Kernel, "a tile", local.span)?;
        if self.cx.depth > 0 {
            return Err(Trap::internal("a tile in a helper function", local.span));
        }
        let elem = match ty.elem {
            Elem::Fixed(dtype) => dtype,
            Elem::Of(tensor) => self.bound_dtype(tensor, local.span)?,
        };
        if !elem.is_float() && matches!(ty.elem, Elem::Of(_)) {
            let message = format!("tile `{}` would hold `{elem}` elements", local.name);
            return Err(Trap::new(TILE_ELEMENT, message, local.span)
                .note("tiles that take their type from an array hold real numbers only"));
        }
        let (rows, cols) = (self.capacity(local, &ty.rows)?, self.capacity(local, &ty.cols)?);
        self.cx.tile_bytes = self.check_size(local, (rows, cols), elem)?;
        self.cx.tiles.push(TileDecl { name: local.name.clone(), rows, cols, elem });
        Ok(self.cx.tiles.len() - 1)
    }

    fn capacity(&self, local: &Local, dim: &Expr) -> Result<u32, Trap> {
        let value = self.cx.launch_value(dim)?;
        value.as_u32().ok_or_else(|| {
            Trap::new(TILE_SIZE, format!("tile `{}` has a dimension of {value}", local.name), dim.span)
                .note(format!("a dimension is from 1 to {}", u32::MAX))
        })
    }

    /// Bytes that all tiles up to this one take.
    fn check_size(&self, local: &Local, (rows, cols): (u32, u32), elem: DType) -> Result<u64, Trap> {
        let shape = format!("tile `{}` has a capacity of {rows} x {cols}", local.name);
        if rows == 0 || cols == 0 {
            return Err(
                Trap::new(TILE_SIZE, shape, local.span).note("a tile has at least one row and one column")
            );
        }
        let bytes = u128::from(rows) * u128::from(cols) * u128::from(TileDecl::cell_bytes(elem));
        if bytes > u128::from(limits::MAX_TILE_BYTES) {
            return Err(Trap::new(TILE_SIZE, shape, local.span).note(format!(
                "need {bytes}, have {} per tile",
                limits::MAX_TILE_BYTES,
                bytes = counted(bytes, "byte")
            )));
        }
        let total = self.cx.tile_bytes + bytes as u64;
        if total > MAX_KERNEL_BYTES {
            return Err(Trap::new(TILE_SIZE, "the tiles of the kernel are too large", local.span).note(
                format!(
                    "need {total} up to here, have {MAX_KERNEL_BYTES} for all tiles of a kernel",
                    total = counted(total, "byte")
                ),
            ));
        }
        Ok(total)
    }

    fn bound_dtype(&self, tensor: TensorId, span: Span) -> Result<DType, Trap> {
        self.cx.env.dtype(tensor).ok_or_else(|| {
            unbound("tensor", self.cx.module.tensors.get(tensor.index()).map_or("?", |t| &t.name), span)
        })
    }

    pub(super) fn tile_id(&self, local: LocalId, span: Span) -> Result<usize, Trap> {
        match self.home(local, span)? {
            Home::Tile(id) => Ok(id),
            _ => Err(Trap::internal("a variable used as a tile", span)),
        }
    }

    /// An operation without a result. Those that always run one after the other become one instruction.
    pub(super) fn tile_stmt(&mut self, inst: TileInst, span: Span) -> Result<(), Trap> {
        let number = self.asm.code.tiles.len();
        let joins = self.asm.code.tiles.last().is_some_and(|last| !last.inst.yields());
        let Some(last) = self.asm.last_of_block().filter(|last| joins && last.op == Op::Tile) else {
            let sink = self.asm.temp();
            self.tile_value(inst, Some(sink.slot), span)?;
            self.asm.release(sink);
            return Ok(());
        };
        let first = last.a as usize;
        let tiles = &mut self.asm.code.tiles;
        let dead = inst.replaces().and_then(|tile| dead_declaration(tiles, first, tile));
        tiles.push(TileStep::new(inst, &self.cx.tiles, span));
        if let Some(at) = dead {
            tiles.remove(at);
        }
        let more = (number - first) as u32 - u32::from(dead.is_some());
        self.asm.last_of_block().expect("the instruction found above should be there").b = more;
        Ok(())
    }

    pub(super) fn tile_value(
        &mut self,
        inst: TileInst,
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        self.require(Role::Kernel, "a tile operation", span)?;
        self.asm.code.tiles.push(TileStep::new(inst, &self.cx.tiles, span));
        let number = self.asm.code.tiles.len() as u32 - 1;
        let dst = self.asm.target(want);
        self.emit(Op::Tile, ScalarTy::F32, dst.slot, (number, 0), span, What::Plain);
        Ok(dst)
    }

    pub(super) fn tile_op(&mut self, op: &'a TileOp, span: Span) -> Result<(), Trap> {
        // Operands stay reserved until the instruction has been added.
        let meets = if self.is_wide(op, span)? { ScalarTy::F64 } else { ScalarTy::F32 };
        let mut resolve = Resolve { function: self, held: Vec::new(), span, meets, last: None };
        let code = op.map(&mut resolve)?;
        let held = resolve.held;
        self.check_tiles(&code, span)?;
        self.tile_stmt(TileInst::Op(code), span)?;
        self.release_all(held);
        Ok(())
    }

    /// Whether a tile of an operation has elements of `f64` or integers.
    fn is_wide(&self, op: &TileOp, span: Span) -> Result<bool, Trap> {
        let (mut wide, mut failed) = (false, None);
        op.each(&mut |part| {
            if let Part::Tile(tile, _) = part {
                match self.tile_id(*tile, span) {
                    Ok(tile) => wide |= TileDecl::is_wide(self.cx.tiles[tile].elem),
                    Err(trap) => failed = Some(trap),
                }
            }
        });
        failed.map_or(Ok(wide), Err)
    }

    /// Checks what operations rely on.
    fn check_tiles(&self, code: &TileCode, span: Span) -> Result<(), Trap> {
        let mut elements = Vec::new();
        code.each(&mut |part| {
            if let Part::Tile(tile, _) = part {
                elements.push(Some(self.cx.tiles[*tile].elem));
            }
        });
        if let Err(fault) = check_elements(code, &elements) {
            return Err(Trap::internal(format!("elements of `{}`: {fault:?}", code.word()), span));
        }
        let (mut tiles, mut lists) = (Vec::new(), Vec::new());
        code.each(&mut |part| {
            if let Part::Tile(tile, used) = part {
                tiles.push(*tile);
                lists.extend((used == TileUse::Listed).then(|| &self.cx.tiles[*tile]));
            }
        });
        if let Some(why) = code.apart()
            && (1..tiles.len()).any(|i| tiles[..i].contains(&tiles[i]))
        {
            return Err(Trap::internal(why, span));
        }
        if let TileOp::TopK { src, .. } = code
            && self.cx.tiles[*src].elem == DType::F64
        {
            let name = &self.cx.tiles[*src].name;
            return Err(Trap::new(TILE_ELEMENT, format!("selection from `{name}` of `f64` elements"), span)
                .note("`TTOPK` keeps values as `float`")
                .help("round them first: `TCVT` to a tile of `float`"));
        }
        match lists.into_iter().find(|list| list.elem != DType::F32) {
            Some(list) => {
                let message = format!("list `{}` would hold `{}` elements", list.name, list.elem);
                Err(Trap::new(TILE_ELEMENT, message, span).note("selections need `f32` lists"))
            }
            None => Ok(()),
        }
    }

    fn scalar(&mut self, e: &'a Expr, ty: ScalarTy, held: &mut Vec<Operand>) -> Result<u32, Trap> {
        let operand = self.expr_as(e, ty)?;
        let slot = operand.slot;
        held.push(operand);
        Ok(slot)
    }

    fn place(
        &mut self,
        tensor: TensorId,
        at: &'a Place,
        held: &mut Vec<Operand>,
        span: Span,
    ) -> Result<PlaceCode, Trap> {
        let mut place = self.element(tensor, &at.index, held, span)?;
        place.row_dim = at.row_dim;
        place.col_dim = at.col_dim;
        place.is_stored = self.cx.stored.contains(&tensor);
        Ok(place)
    }

    /// One element of a tensor.
    fn element(
        &mut self,
        tensor: TensorId,
        index: &'a [Expr],
        held: &mut Vec<Operand>,
        span: Span,
    ) -> Result<PlaceCode, Trap> {
        self.require(Role::Kernel, "an access to a tensor", span)?;
        let Some(declared) = self.cx.module.tensors.get(tensor.index()) else {
            return Err(Trap::internal(format!("tensor {} does not exist", tensor.0), span));
        };
        let dtype = self.bound_dtype(tensor, span)?;
        // Integers that are bound as an array only have no memory that tiles or single stores could reach.
        let in_memory = self.cx.env.tensors.get(tensor.index()).is_some_and(Option::is_some);
        if !dtype.is_float() && !in_memory {
            let message = format!("`{}` holds `{dtype}` elements", declared.name);
            return Err(Trap::new(TILE_ELEMENT, message, span)
                .note("it is bound as an array of integers, which is read one by one"));
        }
        if index.len() > MAX_RANK || index.len() != declared.rank() {
            return Err(Trap::internal(
                format!(
                    "{} for `{}` of rank {}",
                    counted(index.len(), "index"),
                    declared.name,
                    declared.rank()
                ),
                span,
            ));
        }
        let mut slots = [0; MAX_RANK];
        for (slot, e) in slots.iter_mut().zip(index) {
            *slot = self.scalar(e, ScalarTy::U32, held)?;
        }
        Ok(PlaceCode {
            tensor: tensor.0,
            index: slots,
            rank: index.len() as u8,
            row_dim: None,
            col_dim: None,
            is_stored: false,
        })
    }

    pub(super) fn load_scalar(
        &mut self,
        tensor: TensorId,
        index: &'a [Expr],
        want: Option<u32>,
        span: Span,
    ) -> Result<Operand, Trap> {
        let mut held = Vec::new();
        let at = self.element(tensor, index, &mut held, span)?;
        self.release_all(held);
        self.tile_value(TileInst::LoadScalar(at), want, span)
    }

    pub(super) fn store_scalar(
        &mut self,
        tensor: TensorId,
        index: &'a [Expr],
        value: &'a Expr,
        span: Span,
    ) -> Result<(), Trap> {
        let mut held = Vec::new();
        let at = self.element(tensor, index, &mut held, span)?;
        let ty = Elem::Fixed(self.bound_dtype(tensor, span)?).scalar();
        let value = self.scalar(value, ty, &mut held)?;
        self.tile_stmt(TileInst::StoreScalar { at, value }, span)?;
        self.release_all(held);
        Ok(())
    }
}

/// Makes tiles of variables, and slots of expressions.
struct Resolve<'f, 'c, 'a> {
    function: &'f mut FnCompiler<'c, 'a>,
    held: Vec<Operand>,
    span: Span,
    /// The type of real numbers that meet tiles.
    meets: ScalarTy,
    /// The elements of the tile that came last: a number meets it.
    last: Option<DType>,
}

impl<'a> TileMap<'a, LocalId, Expr, Place, usize, u32, PlaceCode> for Resolve<'_, '_, 'a> {
    type Error = Trap;

    fn tile(&mut self, tile: &'a LocalId) -> Result<usize, Trap> {
        let tile = self.function.tile_id(*tile, self.span)?;
        self.last = Some(self.function.cx.tiles[tile].elem);
        Ok(tile)
    }

    fn number(&mut self, number: &'a Expr, ty: ScalarTy) -> Result<u32, Trap> {
        let integers = self.last.filter(|elem| !elem.is_float());
        let ty = match (ty, integers) {
            (ScalarTy::F32, Some(elem)) => Elem::Fixed(elem).operand(),
            (ScalarTy::F32, None) => self.meets,
            _ => ty,
        };
        self.function.scalar(number, ty, &mut self.held)
    }

    fn place(&mut self, tensor: TensorId, place: &'a Place) -> Result<PlaceCode, Trap> {
        self.function.place(tensor, place, &mut self.held, self.span)
    }
}

/// Steps in which a declaration is looked for: those of a long loop body.
const LOOK_BACK: usize = 64;

/// Where, among the steps from `first` on, a tile is declared that nothing has used since: what replaces it now needs no empty one.
fn dead_declaration(steps: &[TileStep], first: usize, tile: usize) -> Option<usize> {
    let first = first.max(steps.len().saturating_sub(LOOK_BACK));
    let last = first + steps[first..].iter().rposition(|step| step.inst.mentions(tile))?;
    matches!(steps[last].inst, TileInst::Clear(_)).then_some(last)
}

/// Bytes of a tile's values while a kernel runs.
pub(crate) fn value_bytes(tile: &TileDecl) -> u64 {
    u64::from(tile.rows) * u64::from(tile.cols) * TileDecl::cell_bytes(tile.elem)
}

/// Every tensor that some statement of a block stores to.
pub(super) fn stored_tensors(block: &Block) -> OrderedSet<TensorId> {
    let mut stored = OrderedSet::new();
    // Blocks still to be looked at: nesting is no matter here.
    let mut open = vec![block];
    while let Some(block) = open.pop() {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Tile(TileOp::Store { tensor, .. }) | StmtKind::StoreScalar { tensor, .. } => {
                    stored.insert(*tensor);
                }
                StmtKind::If { then, otherwise, .. } => open.extend([then, otherwise]),
                StmtKind::For { body, .. } | StmtKind::ScheduledFor { body, .. } => open.push(body),
                StmtKind::While { step, body, .. } => open.extend([step, body]),
                _ => {}
            }
        }
    }
    stored
}
