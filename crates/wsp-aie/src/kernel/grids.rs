//! Elements of tiles and of boxes, by row and column, one by one or side by side.

use super::boxes::{Site, Variable};
use super::homes::Home;
use super::type_of;
use super::writer::{LANES, Writer};
use crate::mlir::{Op, Type, Value};
use wsp_core::DType;
use wsp_ir::affine::Affine;
use wsp_tile::{BufferId, Extent, Tile};

/// What a dimension of a memory follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Along {
    Rows,
    Cols,
    Neither,
}

/// Elements of a memory by row and column.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    memory: Value,
    pub(super) elem: DType,
    /// The first index of each dimension, and what it follows.
    dims: Vec<(Value, Along)>,
}

impl Grid {
    /// With rows and columns exchanged.
    pub(super) fn turned(&self) -> Grid {
        let turn = |along: Along| match along {
            Along::Rows => Along::Cols,
            Along::Cols => Along::Rows,
            Along::Neither => Along::Neither,
        };
        let dims = self.dims.iter().map(|(first, along)| (*first, turn(*along))).collect();
        Grid { dims, ..self.clone() }
    }
}

impl Writer<'_> {
    /// Whether a transfer is none, since the tile lies in the operand.
    pub(super) fn is_home(&self, buffer: BufferId, instruction: u32) -> bool {
        self.homes.contains(&Home { buffer, instruction })
    }

    /// The elements of a tile.
    pub(super) fn tile(&mut self, tile: &Tile) -> Grid {
        let buffer = self.program.buffer(tile.buffer);
        if let Some(site) =
            self.homes.iter().find(|home| home.buffer == tile.buffer).map(|home| home.instruction)
        {
            return self.site(site);
        }
        let memory = match self.buffers.get(&tile.buffer) {
            Some(memory) => *memory,
            None => {
                let memory = self.memory(buffer.elem, buffer.rows, buffer.cols);
                self.buffers.insert(tile.buffer, memory);
                memory
            }
        };
        self.whole_of(memory, buffer.elem)
    }

    /// Memory of the core's own, of the shape of a tile.
    pub(super) fn scratch(&mut self, tile: &Tile) -> Grid {
        let buffer = self.program.buffer(tile.buffer);
        let memory = self.memory(buffer.elem, buffer.rows, buffer.cols);
        self.whole_of(memory, buffer.elem)
    }

    fn memory(&mut self, elem: DType, rows: u32, cols: u32) -> Value {
        let ty = Type::memref(&[u64::from(rows), u64::from(cols)], type_of(elem).unwrap_or(Type::F32));
        let memory = self.text.value(format!("own{}", self.locals.len()), ty);
        self.locals.push(memory);
        memory
    }

    fn whole_of(&mut self, memory: Value, elem: DType) -> Grid {
        let zero = self.index(0);
        Grid { memory, elem, dims: vec![(zero, Along::Rows), (zero, Along::Cols)] }
    }

    /// Where an instruction touches a tensor.
    pub(super) fn site(&mut self, instruction: u32) -> Grid {
        let Site { operand, index, along } = self.boxes.sites[&instruction].clone();
        let tensor = self.boxes.operands[operand].tensor;
        let elem = super::boxes::element(self.module, self.known, tensor).unwrap_or(DType::F32);
        let mut dims = Vec::new();
        for (dim, index) in index.iter().enumerate() {
            let first = self.place(index);
            let follows = match along.iter().position(|of| of.map(usize::from) == Some(dim)) {
                Some(0) => Along::Rows,
                Some(_) => Along::Cols,
                None => Along::Neither,
            };
            dims.push((first, follows));
        }
        Grid { memory: self.operands[operand], elem, dims }
    }

    fn place(&mut self, index: &Affine<Variable>) -> Value {
        let mut at = self.index(index.constant as i64);
        for (variable, factor) in &index.terms {
            if let Variable::Loop(id) = variable {
                let past = self.past[id];
                let term = self.times(past, *factor as i64);
                at = self.plus(at, term);
            }
        }
        at
    }

    fn indices(&mut self, grid: &Grid, r: Value, c: Value) -> Vec<Value> {
        let mut indices = Vec::new();
        for (first, along) in &grid.dims {
            indices.push(match along {
                Along::Rows => self.plus(*first, r),
                Along::Cols => self.plus(*first, c),
                Along::Neither => *first,
            });
        }
        indices
    }

    /// Whether neighbours in a row are neighbours in memory.
    pub(super) fn has_rows(grid: &Grid) -> bool {
        grid.dims.last().is_some_and(|(_, along)| *along == Along::Cols)
    }

    /// The lanes from an element on, as they are computed with.
    pub(super) fn load(&mut self, grid: &Grid, r: Value, c: Value) -> Value {
        let mut operands = vec![grid.memory];
        operands.extend(self.indices(grid, r, c));
        let name = if self.lanes == 1 { "memref.load" } else { "vector.load" };
        let ty = self.ty(type_of(grid.elem).unwrap_or(Type::F32));
        let value = self.op(name, &operands, ty);
        if grid.elem != DType::Bf16 {
            return value;
        }
        let wide = self.ty(Type::F32);
        self.op("arith.extf", &[value], wide)
    }

    /// Lanes of the kind of a grid's elements to an element and those behind it.
    pub(super) fn store(&mut self, grid: &Grid, r: Value, c: Value, mut value: Value) {
        if grid.elem == DType::Bf16 {
            let short = self.ty(Type::Bf16);
            value = self.op("arith.truncf", &[value], short);
        }
        let mut operands = vec![value, grid.memory];
        operands.extend(self.indices(grid, r, c));
        let name = if self.lanes == 1 { "memref.store" } else { "vector.store" };
        self.push(Op::new(name).with(operands));
    }

    /// All elements of a tile, one by one.
    pub(super) fn singly(&mut self, tile: &Tile, body: &mut dyn FnMut(&mut Self, Value, Value)) {
        let (rows, cols) = (self.extent(tile.rows), self.extent(tile.cols));
        self.each(rows, &[], &mut |writer, r, _| {
            writer.each(cols, &[], &mut |writer, c, _| {
                body(writer, r, c);
                Vec::new()
            })
        });
    }

    /// All elements of so many rows and columns: in vectors where a row is whole vectors of each of the grids, the rest one by one.
    pub(super) fn all(
        &mut self,
        (rows, cols): (Extent, Extent),
        grids: &[&Grid],
        body: &mut dyn FnMut(&mut Self, Value, Value),
    ) {
        let (rows, end, zero) = (self.extent(rows), self.extent(cols), self.index(0));
        let whole = match cols {
            Extent::Known(n) if grids.iter().all(|grid| Self::has_rows(grid)) => i64::from(n / LANES * LANES),
            _ => 0,
        };
        self.each(rows, &[], &mut |writer, r, _| {
            let (middle, step, one) = (writer.index(whole), writer.index(i64::from(LANES)), writer.index(1));
            writer.lanes = LANES;
            writer.rounds((zero, middle, step), &[], &mut |writer, c, _| {
                body(writer, r, c);
                Vec::new()
            });
            writer.lanes = 1;
            writer.rounds((middle, end, one), &[], &mut |writer, c, _| {
                body(writer, r, c);
                Vec::new()
            });
            Vec::new()
        });
    }
}
