//! Values of a tile by row and column.

use super::Fault;
use crate::codes;

/// Rows of equal length.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Matrix {
    pub(super) rows: u32,
    pub(super) cols: u32,
    values: Vec<f32>,
}

impl Matrix {
    /// A value for each row and column.
    pub(super) fn of(rows: u32, cols: u32, mut value: impl FnMut(u32, u32) -> f32) -> Matrix {
        let values =
            (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))).map(|(r, c)| value(r, c)).collect();
        Matrix { rows, cols, values }
    }

    /// As [`Matrix::of`], of values that may be missing.
    pub(super) fn try_of(
        rows: u32,
        cols: u32,
        mut value: impl FnMut(u32, u32) -> Result<f32, Fault>,
    ) -> Result<Matrix, Fault> {
        let at = (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c)));
        let values = at.map(|(r, c)| value(r, c)).collect::<Result<_, _>>()?;
        Ok(Matrix { rows, cols, values })
    }

    /// An element.
    ///
    /// # Panics
    /// When there is none; [`Matrix::fits`] and the loops of operations rule it out.
    pub(super) fn get(&self, row: u32, col: u32) -> f32 {
        assert!(
            row < self.rows && col < self.cols,
            "element ({row}, {col}) of {} x {}",
            self.rows,
            self.cols
        );
        self.values[row as usize * self.cols as usize + col as usize]
    }

    /// A fault unless it has these extents.
    pub(super) fn fits(&self, rows: u32, cols: u32, what: &str) -> Result<(), Fault> {
        if (self.rows, self.cols) == (rows, cols) {
            return Ok(());
        }
        let message =
            format!("{what} has valid extents {} x {}, and {rows} x {cols} are needed", self.rows, self.cols);
        Err(Fault::new(codes::STOPPED, message))
    }

    pub(super) fn row(&self, row: u32) -> impl Iterator<Item = f32> {
        (0..self.cols).map(move |c| self.get(row, c))
    }

    pub(super) fn col(&self, col: u32) -> impl Iterator<Item = f32> {
        (0..self.rows).map(move |r| self.get(r, col))
    }

    /// Elements row by row.
    pub(super) fn all(&self) -> &[f32] {
        &self.values
    }
}
