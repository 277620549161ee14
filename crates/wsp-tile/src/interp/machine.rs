//! Control flow, clocks of instructions, and operands.

use super::clock::{Clocks, Stamp};
use super::matrix::Matrix;
use super::memory::{Bytes, Window, position};
use super::scalars::Frame;
use super::{Fault, TensorData, World};
use crate::{
    BufferId, Extent, Head, Instruction, Loop, LoopId, Memories, Node, Op, Tile, TileProgram, codes,
};
use wsp_core::{AccessKind, LocalId, TensorId};
use wsp_diag::Span;
use wsp_ir::{ArrayRef, Const, Expr, Part, Place, TileOp, TileUse};
use wsp_ordered::OrderedMap;

/// Steps after which a run is taken to have no end.
const MAX_STEPS: u64 = 1 << 24;

/// A running program.
pub(super) struct Machine<'p, 'w> {
    program: &'p TileProgram,
    memories: &'p Memories,
    pub(super) world: &'w mut World,
    frame: Frame,
    clocks: Clocks<'p>,
    bytes: Bytes,
    /// The round of each loop that runs.
    rounds: OrderedMap<LoopId, u64>,
    steps: u64,
}

impl<'p, 'w> Machine<'p, 'w> {
    pub(super) fn new(
        program: &'p TileProgram,
        memories: &'p Memories,
        world: &'w mut World,
    ) -> Machine<'p, 'w> {
        Machine {
            program,
            memories,
            world,
            frame: Frame::default(),
            clocks: Clocks::new(memories),
            bytes: Bytes::default(),
            rounds: OrderedMap::new(),
            steps: 0,
        }
    }

    pub(super) fn run(&mut self) -> Result<(), Fault> {
        self.block(&self.program.body)?;
        self.clocks.finish()
    }

    fn block(&mut self, nodes: &'p [Node]) -> Result<(), Fault> {
        nodes.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &'p Node) -> Result<(), Fault> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Fault::new(
                codes::STOPPED,
                format!("the program does not end within {MAX_STEPS} steps"),
            ));
        }
        match node {
            Node::Set { local, value } => {
                let value = self.value(value)?;
                self.frame.values.insert(*local, value);
                Ok(())
            }
            Node::Name { local, array } => {
                let array = self.frame.array(*array);
                self.frame.arrays.insert(*local, array);
                Ok(())
            }
            Node::If { cond, then, otherwise } => {
                let holds = self.value(cond)? == Const::Bool(true);
                self.block(if holds { then } else { otherwise })
            }
            Node::Loop(inner) => self.rounds_of(inner),
            Node::Run(instruction) => self.instruction(instruction).map_err(|fault| {
                let fault = fault.at(instruction.span);
                if fault.second.is_some() { fault } else { fault.in_instruction(instruction.id) }
            }),
            Node::Sync(sync) => {
                let rounds = &self.rounds;
                self.clocks.sync(*sync, &|of| rounds.get(&of).is_some_and(|round| round % 2 == 1))
            }
        }
    }

    fn rounds_of(&mut self, inner: &'p Loop) -> Result<(), Fault> {
        match &inner.head {
            Head::Counted { var, start, end, step } => {
                let [start, end, step] = [self.whole(start)?, self.whole(end)?, self.whole(step)?];
                if step < 1 {
                    return Err(
                        Fault::new(codes::STOPPED, format!("the step of a loop is {step}")).at(inner.span)
                    );
                }
                let (mut at, mut round) = (start, 0);
                while at < end {
                    self.frame.values.insert(*var, Const::Int(at));
                    self.rounds.insert(inner.id, round);
                    self.block(&inner.body)?;
                    (at, round) = (at.saturating_add(step), round + 1);
                }
            }
            Head::While { cond } => {
                let mut round = 0;
                while self.value(cond)? == Const::Bool(true) {
                    self.rounds.insert(inner.id, round);
                    self.block(&inner.body)?;
                    round += 1;
                }
            }
        }
        self.rounds.remove(&inner.id);
        Ok(())
    }

    fn instruction(&mut self, instruction: &'p Instruction) -> Result<(), Fault> {
        let mut first = None;
        let reads = instruction.touches().iter().all(|touch| !touch.writes);
        for unit in instruction.units() {
            if let Some(first) = first {
                self.clocks.follow(first, unit);
            }
            first = Some(unit);
            let stamp = self.clocks.begin(unit, instruction.id, reads);
            self.touch(&instruction.op, stamp)?;
            instruction.scratch.iter().try_for_each(|id| self.touch_scratch(*id, stamp))?;
            self.clocks.end(&stamp);
        }
        self.compute(&instruction.op, instruction.id)
    }

    /// All that an instruction touches, by one of its units.
    fn touch(&mut self, op: &'p Op, stamp: Stamp) -> Result<(), Fault> {
        match op {
            Op::Tile(op) => self.touch_tile_op(op, stamp),
            Op::Move { dst, src } => {
                self.touch_tile(src, false, stamp)?;
                self.touch_tile(dst, true, stamp)
            }
            Op::Reduce { src, .. } => self.touch_tile(src, false, stamp),
            Op::LoadScalar { tensor, index, .. } => {
                let at = self.element(*tensor, index)?;
                self.bytes.touch_tensor((*tensor, at), stamp, false, &self.clocks)
            }
            Op::StoreScalar { tensor, index, .. } => {
                let at = self.element(*tensor, index)?;
                self.bytes.touch_tensor((*tensor, at), stamp, true, &self.clocks)
            }
        }
    }

    fn touch_tile_op(&mut self, op: &'p TileOp<Tile>, stamp: Stamp) -> Result<(), Fault> {
        let (mut tiles, mut tensor, mut place) = (Vec::new(), None, None);
        op.each(&mut |part| match part {
            Part::Tile(tile, used) => tiles.push((tile, used)),
            Part::Tensor(id, access) => tensor = Some((*id, access)),
            Part::Place(at) => place = Some(at),
            Part::Number(..) => {}
        });
        for (tile, used) in &tiles {
            match (*used, op) {
                (TileUse::Listed, TileOp::TopK { values, indices, src, .. }) => {
                    let [_, cols] = self.listed([values, indices], src)?;
                    let rows = self.extent(src.rows)?;
                    self.touch_part(tile, (rows, cols), true, stamp)?;
                }
                _ => self.touch_tile(tile, used.writes(), stamp)?,
            }
        }
        let (Some((tensor, access)), Some(place), Some((tile, _))) = (tensor, place, tiles.first()) else {
            return Ok(());
        };
        let [rows, cols] = self.extents(tile)?;
        for (r, c) in (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))) {
            let at = self.tensor_element(tensor, place, r, c)?;
            self.bytes.touch_tensor((tensor, at), stamp, access != AccessKind::Read, &self.clocks)?;
        }
        Ok(())
    }

    /// All bytes of a scratch buffer are written, and hold nothing that may be read.
    fn touch_scratch(&mut self, id: BufferId, stamp: Stamp) -> Result<(), Fault> {
        let window = self.window(id)?;
        self.bytes.spoil(window, stamp, &self.clocks)
    }

    fn touch_tile(&mut self, tile: &Tile, write: bool, stamp: Stamp) -> Result<(), Fault> {
        let [rows, cols] = self.extents(tile)?;
        self.touch_part(tile, (rows, cols), write, stamp)
    }

    fn touch_part(
        &mut self,
        tile: &Tile,
        (rows, cols): (u32, u32),
        write: bool,
        stamp: Stamp,
    ) -> Result<(), Fault> {
        let window = self.window(tile.buffer)?;
        (0..rows)
            .flat_map(|r| (0..cols).map(move |c| (r, c)))
            .try_for_each(|at| self.bytes.touch(window, at, stamp, write, &self.clocks))
    }

    fn window(&self, id: BufferId) -> Result<Window<'p>, Fault> {
        let buffer = self.program.buffer(id);
        let odd = buffer.rotates.and_then(|of| self.rounds.get(&of)).is_some_and(|round| round % 2 == 1);
        let at = if odd { buffer.at.get(1) } else { buffer.at.first() };
        let Some(at) = at.copied() else {
            return Err(Fault::new(codes::ADDRESS, format!("`{}` has no address", buffer.name)));
        };
        let memory = self.memories.memory(buffer.memory);
        if !at.is_multiple_of(memory.alignment) {
            let message = format!(
                "`{}` lies at byte {at} of {}, which asks for multiples of {}",
                buffer.name, memory.name, memory.alignment
            );
            return Err(Fault::new(codes::ADDRESS, message));
        }
        Ok(Window { program: self.program, memories: self.memories, id, at })
    }

    /// Valid rows and columns, which are not 0.
    pub(super) fn extents(&self, tile: &Tile) -> Result<[u32; 2], Fault> {
        let [rows, cols] = [self.extent(tile.rows)?, self.extent(tile.cols)?];
        if rows == 0 || cols == 0 {
            let name = &self.program.buffer(tile.buffer).name;
            return Err(Fault::new(
                codes::NO_ELEMENTS,
                format!("`{name}` has valid extents {rows} x {cols}"),
            ));
        }
        Ok([rows, cols])
    }

    pub(super) fn extent(&self, extent: Extent) -> Result<u32, Fault> {
        let Extent::Value { local, low, high } = extent else { return Ok(extent.low()) };
        let value =
            self.frame.value(&Expr::local(local, wsp_ir::ScalarTy::U32, Span::default()), self.world)?;
        match value {
            Const::Int(n) if (i128::from(low)..=i128::from(high)).contains(&n) => Ok(n as u32),
            other => {
                let message = format!("a valid extent is {other:?} and should lie between {low} and {high}");
                Err(Fault::new(codes::BOUNDS, message))
            }
        }
    }

    /// What a selection holds of each row before, and after it. A list without rows holds nothing.
    pub(super) fn listed(&self, lists: [&Tile; 2], src: &Tile) -> Result<[u32; 2], Fault> {
        let held = if self.extent(lists[0].rows)? == 0 { 0 } else { self.extent(lists[0].cols)? };
        let room = lists.map(|list| self.program.buffer(list.buffer).cols);
        Ok([held, held.saturating_add(self.extent(src.cols)?).min(room[0]).min(room[1])])
    }

    /// The value of an expression.
    pub(super) fn value(&self, e: &Expr) -> Result<Const, Fault> {
        self.frame.value(e, self.world)
    }

    /// The value of an integer expression.
    pub(super) fn whole(&self, e: &Expr) -> Result<i128, Fault> {
        match self.value(e)? {
            Const::Int(n) => Ok(n),
            other => Err(Fault::new(codes::STOPPED, format!("{other:?} is no integer")).at(e.span)),
        }
    }

    /// The value of a real expression as it meets a tile.
    pub(super) fn real(&self, e: &Expr) -> Result<f32, Fault> {
        match self.value(e)? {
            Const::Float(x) => Ok(x as f32),
            other => Err(Fault::new(codes::STOPPED, format!("{other:?} is no real number")).at(e.span)),
        }
    }

    /// A scalar variable gets a value.
    pub(super) fn set(&mut self, local: LocalId, value: Const) {
        self.frame.values.insert(local, value);
    }

    /// The valid part of a tile.
    pub(super) fn matrix(&mut self, tile: &Tile) -> Result<Matrix, Fault> {
        let [rows, cols] = self.extents(tile)?;
        self.part(tile, rows, cols)
    }

    /// The first rows and columns of a tile.
    pub(super) fn part(&mut self, tile: &Tile, rows: u32, cols: u32) -> Result<Matrix, Fault> {
        let window = self.window(tile.buffer)?;
        Matrix::try_of(rows, cols, |r, c| self.bytes.read(window, r, c))
    }

    /// A tile gets a new result.
    pub(super) fn put(&mut self, tile: &Tile, result: &Matrix, writer: u32) -> Result<(), Fault> {
        let window = self.window(tile.buffer)?;
        self.bytes.forget(window);
        let at = (0..result.rows).flat_map(|r| (0..result.cols).map(move |c| (r, c)));
        at.into_iter().try_for_each(|(r, c)| self.bytes.write(window, (r, c), result.get(r, c), writer))
    }

    /// A tensor that the run was given.
    pub(super) fn tensor(&self, id: TensorId) -> Result<&TensorData, Fault> {
        let given = self.world.tensors.get(id.index()).and_then(Option::as_ref);
        given.ok_or_else(|| Fault::new(codes::STOPPED, format!("tensor t{} is not given", id.0)))
    }

    /// The place of a single element.
    pub(super) fn element(&self, tensor: TensorId, index: &[Expr]) -> Result<usize, Fault> {
        self.tensor_element(tensor, &Place { index: index.to_vec(), row_dim: None, col_dim: None }, 0, 0)
    }

    /// The place of element (`row`, `col`) of a tile that lies at a place of a tensor.
    pub(super) fn tensor_element(
        &self,
        id: TensorId,
        place: &Place,
        row: u32,
        col: u32,
    ) -> Result<usize, Fault> {
        let mut index = Vec::with_capacity(place.index.len());
        for e in &place.index {
            let value = self.whole(e)?;
            let value = u64::try_from(value);
            index.push(
                value.map_err(|_| Fault::new(codes::BOUNDS, "an index is no natural number").at(e.span))?,
            );
        }
        for (dim, by) in [(place.row_dim, row), (place.col_dim, col)] {
            if let Some(at) = dim.and_then(|dim| index.get_mut(usize::from(dim))) {
                *at = at.saturating_add(u64::from(by));
            }
        }
        position(self.tensor(id)?, id, &index)
    }

    /// The columns of a list buffer and others: what there is room for.
    pub(super) fn room(&self, tile: &Tile) -> [u32; 2] {
        let buffer = self.program.buffer(tile.buffer);
        [buffer.rows, buffer.cols]
    }
}

impl Frame {
    /// The array that a reference stands for.
    pub(super) fn array(&self, array: ArrayRef) -> ArrayRef {
        match array {
            ArrayRef::Local(local) => self.arrays.get(&local).copied().unwrap_or(array),
            other => other,
        }
    }
}
