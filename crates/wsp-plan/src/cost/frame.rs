//! What is known of the variables of a function while it is walked.

use wsp_core::LocalId;
use wsp_ir::{ArrayRef, Function};

/// Valid rows and columns of a tile, at most.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Shape {
    pub(super) rows: u64,
    pub(super) cols: u64,
}

impl Shape {
    /// Elements.
    pub(super) fn elements(self) -> f64 {
        self.rows as f64 * self.cols as f64
    }
}

/// Variables of a function.
#[derive(Clone, Debug)]
pub(super) struct Frame<'m> {
    pub(super) function: &'m Function,
    /// Values of integers and truth values; none where they are not known.
    scalars: Vec<Option<i128>>,
    shapes: Vec<Shape>,
    arrays: Vec<Option<ArrayRef>>,
    /// The memories of tiles that are not at home.
    places: Vec<Option<usize>>,
}

impl<'m> Frame<'m> {
    /// At the start of a function.
    pub(super) fn new(function: &'m Function) -> Frame<'m> {
        let n = function.locals.len();
        Frame {
            function,
            scalars: vec![None; n],
            shapes: vec![Shape::default(); n],
            arrays: vec![None; n],
            places: vec![None; n],
        }
    }

    pub(super) fn scalar(&self, local: LocalId) -> Option<i128> {
        self.scalars[local.index()]
    }

    pub(super) fn set(&mut self, local: LocalId, value: Option<i128>) {
        self.scalars[local.index()] = value;
    }

    pub(super) fn shape(&self, tile: LocalId) -> Shape {
        self.shapes[tile.index()]
    }

    pub(super) fn resize(&mut self, tile: LocalId, shape: Shape) {
        self.shapes[tile.index()] = shape;
    }

    /// The memory of a tile that is not at home.
    pub(super) fn place(&self, tile: LocalId) -> Option<usize> {
        self.places[tile.index()]
    }

    /// Begins a variable anew: a tile is at home.
    pub(super) fn declare(&mut self, local: LocalId, value: Option<i128>) {
        self.set(local, value);
        self.resize(local, Shape::default());
        self.places[local.index()] = None;
    }

    pub(super) fn put(&mut self, tile: LocalId, memory: usize) {
        self.places[tile.index()] = Some(memory);
    }

    /// The array that a variable names; others stand for themselves.
    pub(super) fn array(&self, array: ArrayRef) -> Option<ArrayRef> {
        match array {
            ArrayRef::Local(local) => self.arrays[local.index()],
            other => Some(other),
        }
    }

    pub(super) fn name_array(&mut self, local: LocalId, array: ArrayRef) {
        self.arrays[local.index()] = self.array(array);
    }

    /// What is known on either of two ways: values that are the same, and the larger extents.
    pub(super) fn join(&mut self, other: &Frame<'_>) {
        for (mine, theirs) in self.scalars.iter_mut().zip(&other.scalars) {
            *mine = mine.filter(|_| *mine == *theirs);
        }
        for (mine, theirs) in self.shapes.iter_mut().zip(&other.shapes) {
            *mine = Shape { rows: mine.rows.max(theirs.rows), cols: mine.cols.max(theirs.cols) };
        }
        for (mine, theirs) in self.places.iter_mut().zip(&other.places) {
            *mine = mine.or(*theirs);
        }
        for (mine, theirs) in self.arrays.iter_mut().zip(&other.arrays) {
            *mine = mine.filter(|_| *mine == *theirs);
        }
    }
}
