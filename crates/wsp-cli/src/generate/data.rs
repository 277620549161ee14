//! The arrays of one decode attention problem.

use super::fill::{self, parallel};
use super::hash::{key, stream};
use super::names::Names;
use super::pages::{Owner, PageTable};
use crate::codes;
use crate::files::{check_memory, no_array};
use crate::layout::Layout;
use crate::machine;
use crate::numbers::{Bf16, Elem, F16, F32};
use wsp_core::DType;
use wsp_ir::diag::Diagnostic;
use wsp_plan::{Array, Arrays};

/// What a tensor is filled with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fill {
    /// Random numbers in `[-scale, scale)`.
    Random {
        /// Their bound.
        scale: f64,
    },
    /// One number.
    Constant(f64),
    /// Token `t` of a request of length `L` is `slope * t / L` in every lane.
    Ramp {
        /// The slope.
        slope: f64,
    },
}

impl Fill {
    /// Random numbers in `[-1, 1)`.
    pub fn random() -> Fill {
        Fill::Random { scale: 1.0 }
    }
}

/// A decode attention problem, from which arrays are made.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Tokens per request.
    pub lens: Vec<u32>,
    /// Where they are.
    pub table: PageTable,
    /// Query heads.
    pub q_heads: u32,
    /// KV heads.
    pub kv_heads: u32,
    /// Elements per head.
    pub dim: u32,
    /// Tokens per page.
    pub page_size: u32,
    /// Element type of queries.
    pub dtype: DType,
    /// Element type of keys and values.
    pub kv_dtype: DType,
    /// Order of heads and tokens in a page.
    pub layout: Layout,
    /// Queries.
    pub q: Fill,
    /// Keys.
    pub k: Fill,
    /// Values.
    pub v: Fill,
}

/// Keys or values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Keys.
    Keys,
    /// Values.
    Values,
}

/// What stands in slots that belong to no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unused {
    /// NaN.
    Poison,
    /// What the formula gives.
    Formula,
}

impl Problem {
    /// All arrays, with slots of no request set to NaN.
    ///
    /// # Errors
    /// When counts or memory do not suffice.
    pub fn arrays(&self, names: &Names) -> Result<Arrays, Diagnostic> {
        let mut arrays = Arrays::new();
        arrays.insert(names.q.clone(), self.queries()?);
        arrays.insert(format!("{}.k", names.kv), self.pages(Side::Keys, Unused::Poison)?);
        arrays.insert(format!("{}.v", names.kv), self.pages(Side::Values, Unused::Poison)?);
        arrays.insert(format!("{}.indptr", names.kv), integers(&self.table.indptr)?);
        arrays.insert(format!("{}.indices", names.kv), integers(&self.table.indices)?);
        arrays.insert(format!("{}.last_page_len", names.kv), integers(&self.table.last_page_len)?);
        if let Some(lens) = &names.lens {
            arrays.insert(lens.clone(), integers(&self.lens)?);
        }
        Ok(arrays)
    }

    /// Queries `[batch, q_heads, 1, dim]`.
    pub(crate) fn queries(&self) -> Result<Array, Diagnostic> {
        let shape = [self.lens.len() as u64, u64::from(self.q_heads), 1, u64::from(self.dim)];
        let mut array = room("`q`", self.dtype, &shape)?;
        match self.dtype {
            DType::F16 => self.fill_queries::<F16>(&mut array),
            DType::Bf16 => self.fill_queries::<Bf16>(&mut array),
            _ => self.fill_queries::<F32>(&mut array),
        }
        Ok(array)
    }

    fn fill_queries<E: Elem>(&self, array: &mut Array) {
        let out = E::slice_mut(array);
        match self.q {
            Fill::Random { scale } => fill::random::<E>(key(self.seed, stream::Q), 0, scale, out),
            Fill::Constant(value) => fill::constant::<E>(value, out),
            Fill::Ramp { slope } => fill::constant::<E>(slope, out),
        }
    }

    /// The pages of keys or values.
    pub(crate) fn pages(&self, side: Side, unused: Unused) -> Result<Array, Diagnostic> {
        let wide = u64::from;
        let shape = self.layout.shape(
            wide(self.table.pages),
            wide(self.page_size),
            wide(self.kv_heads),
            wide(self.dim),
        );
        let mut array = room("a KV cache", self.kv_dtype, &shape)?;
        match self.kv_dtype {
            DType::F16 => self.fill_pages::<F16>(side, unused, &mut array),
            DType::Bf16 => self.fill_pages::<Bf16>(side, unused, &mut array),
            _ => self.fill_pages::<F32>(side, unused, &mut array),
        }
        Ok(array)
    }

    fn fill_pages<E: Elem>(&self, side: Side, unused: Unused, array: &mut Array) {
        let owners = self.table.owners(&self.lens, self.page_size);
        let (what, tid) = match side {
            Side::Keys => (self.k, stream::K),
            Side::Values => (self.v, stream::V),
        };
        let key = key(self.seed, tid);
        let page_elems = self.page_size as usize * self.kv_heads as usize * self.dim as usize;
        let threads = machine::cores().min(8) as usize;
        parallel(E::slice_mut(array), page_elems, threads, |page, out| {
            let owner = owners[page];
            let first = page as u64 * page_elems as u64;
            self.fill_page::<E>(what, key, first, owner, out);
            if unused == Unused::Poison {
                self.poison::<E>(owner, out);
            }
        });
    }

    fn fill_page<E: Elem>(&self, what: Fill, key: u64, first: u64, owner: Owner, out: &mut [E::Bits]) {
        match (what, self.layout) {
            (Fill::Constant(value), _) => fill::constant::<E>(value, out),
            // The formula counts elements in the order of this layout.
            (Fill::Random { scale }, Layout::Nhd) => fill::random::<E>(key, first, scale, out),
            (Fill::Random { scale }, Layout::Hnd) => {
                self.rows::<E>(out, |slot, head, row| {
                    let at = (slot * self.kv_heads as usize + head) * self.dim as usize;
                    fill::random::<E>(key, first + at as u64, scale, row);
                });
            }
            (Fill::Ramp { slope }, _) => {
                self.rows::<E>(out, |slot, _, row| {
                    let token = f64::from(owner.first) + slot as f64;
                    fill::constant::<E>(slope * token / f64::from(owner.length.max(1)), row);
                });
            }
        }
    }

    fn poison<E: Elem>(&self, owner: Owner, out: &mut [E::Bits]) {
        let nan = E::encode(f32::NAN);
        if owner.held == 0 {
            out.fill(nan);
        } else if owner.held < self.page_size {
            self.rows::<E>(out, |slot, _, row| {
                if slot >= owner.held as usize {
                    row.fill(nan);
                }
            });
        }
    }

    /// Calls `work(slot, head, row)` for each row of a page.
    fn rows<E: Elem>(&self, page: &mut [E::Bits], work: impl Fn(usize, usize, &mut [E::Bits])) {
        let (slots, heads) = (self.page_size as usize, self.kv_heads as usize);
        for (i, row) in page.chunks_mut(self.dim as usize).enumerate() {
            match self.layout {
                Layout::Nhd => work(i / heads, i % heads, row),
                Layout::Hnd => work(i % slots, i / slots, row),
            }
        }
    }
}

fn room(what: &str, dtype: DType, shape: &[u64]) -> Result<Array, Diagnostic> {
    let bytes = shape.iter().try_fold(dtype.size() as u64, |total, &n| total.checked_mul(n));
    let Some(bytes) = bytes else {
        return Err(Diagnostic::error(codes::TOO_MUCH_DATA, format!("made-up {what} is too large to count"))
            .note(format!("its shape is {shape:?}"))
            .help("take fewer or shorter requests"));
    };
    check_memory(what, bytes)?;
    Array::zeros(dtype, shape).map_err(|e| no_array(what, e))
}

fn integers(values: &[u32]) -> Result<Array, Diagnostic> {
    let mut array = room("a page table", DType::U32, &[values.len() as u64])?;
    array.as_slice_mut::<u32>().expect("the array should hold u32").copy_from_slice(values);
    Ok(array)
}
