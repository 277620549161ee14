//! The arrays of one decode attention problem.

use super::fill::{self, Uneven, parallel};
use super::hash::{key, stream};
use super::names::Names;
use super::pages::{Owner, PageTable};
use crate::cores;
use crate::memory::check_memory;
use crate::numbers::{Bf16, Elem, F8E4m3, F8E5m2, F16, F32};
use crate::reference::alibi_slopes;
use pto_wsp::codes;
use pto_wsp::npy::no_array;
use wsp_backend::KvLayout;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_plan::{Array, Arrays};

/// Sinks lie in `[-SINK_SCALE, SINK_SCALE)`.
const SINK_SCALE: f64 = 2.0;

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
    /// Nothing: all elements stay 0, those of no request too.
    Nothing,
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

/// How many queries the requests have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QueryRows {
    /// So many each: queries are `[batch, q_heads, rows, dim]`.
    Each(u32),
    /// Packed, so many of one request after the other: queries are `[all rows, q_heads, dim]`.
    Packed(Vec<u32>),
}

/// What values are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Values {
    /// An array like that of keys.
    #[default]
    OfTheirOwn,
    /// The first lanes of keys.
    OfKeys,
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
    /// Pages that every request begins with; they go to a cache of their own when [`Names::prefix`] names one.
    pub prefix_pages: u32,
    /// Queries of each request.
    pub rows: QueryRows,
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
    pub layout: KvLayout,
    /// What values are.
    pub values: Values,
    /// Queries.
    pub q: Fill,
    /// Whether one row of seven of random queries is so large that its softmax has to be relative to the largest logit.
    pub steep: bool,
    /// Keys.
    pub k: Fill,
    /// Values.
    pub v: Fill,
}

/// Keys or values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Keys.
    Keys,
    /// Values.
    Values,
}

/// What stands in slots that belong to no request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unused {
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
        match &names.prefix {
            Some(prefix) => {
                let (shared, own) = self.split();
                shared.cache(prefix, &mut arrays)?;
                own.cache(&names.kv, &mut arrays)?;
            }
            None => self.cache(&names.kv, &mut arrays)?,
        }
        if let Some(lens) = &names.lens {
            arrays.insert(lens.clone(), integers(&self.lens)?);
        }
        if let (Some(name), QueryRows::Packed(rows)) = (&names.q_indptr, &self.rows) {
            let ends = rows.iter().scan(0, |end, rows| {
                *end += rows;
                Some(*end)
            });
            let indptr: Vec<u32> = std::iter::once(0).chain(ends).collect();
            arrays.insert(name.clone(), integers(&indptr)?);
        }
        if let Some(name) = &names.slopes {
            let slopes: Vec<f32> = alibi_slopes(self.q_heads).into_iter().map(|x| x as f32).collect();
            arrays.insert(name.clone(), numbers(&slopes)?);
        }
        if let Some(name) = &names.sinks {
            arrays.insert(name.clone(), numbers(&self.sinks())?);
        }
        Ok(arrays)
    }

    fn cache(&self, name: &str, arrays: &mut Arrays) -> Result<(), Diagnostic> {
        arrays.insert(format!("{name}.k"), self.pages(Side::Keys, Unused::Poison)?);
        if self.values == Values::OfTheirOwn {
            arrays.insert(format!("{name}.v"), self.pages(Side::Values, Unused::Poison)?);
        }
        arrays.insert(format!("{name}.indptr"), integers(&self.table.indptr)?);
        arrays.insert(format!("{name}.indices"), integers(&self.table.indices)?);
        arrays.insert(format!("{name}.last_page_len"), integers(&self.table.last_page_len)?);
        Ok(())
    }

    /// The pages that all requests begin with as those of one request, and what each request has beside them.
    fn split(&self) -> (Problem, Problem) {
        let (shared, own) = self.table.split(self.prefix_pages, self.page_size);
        let tokens = self.prefix_pages * self.page_size;
        let lens = self.lens.iter().map(|n| n.saturating_sub(tokens)).collect();
        let shared = Problem { table: shared, lens: vec![tokens], prefix_pages: 0, ..self.clone() };
        (shared, Problem { table: own, lens, prefix_pages: 0, ..self.clone() })
    }

    /// Logits of attention sinks, one per query head.
    fn sinks(&self) -> Vec<f32> {
        let mut sinks = vec![0.0; self.q_heads as usize];
        fill::random::<F32>(key(self.seed, stream::SINKS), 0, SINK_SCALE, &mut sinks);
        sinks
    }

    /// Queries, in the shape that [`QueryRows`] says.
    pub fn queries(&self) -> Result<Array, Diagnostic> {
        let (heads, dim) = (u64::from(self.q_heads), u64::from(self.dim));
        let mut array = match &self.rows {
            QueryRows::Each(rows) => {
                zeros("`q`", self.dtype, &[self.lens.len() as u64, heads, u64::from(*rows), dim])?
            }
            QueryRows::Packed(rows) => {
                zeros("`q`", self.dtype, &[rows.iter().map(|&n| u64::from(n)).sum(), heads, dim])?
            }
        };
        match self.dtype {
            DType::F16 => self.fill_queries::<F16>(&mut array),
            DType::Bf16 => self.fill_queries::<Bf16>(&mut array),
            DType::F8E4m3 => self.fill_queries::<F8E4m3>(&mut array),
            DType::F8E5m2 => self.fill_queries::<F8E5m2>(&mut array),
            _ => self.fill_queries::<F32>(&mut array),
        }
        Ok(array)
    }

    fn fill_queries<E: Elem>(&self, array: &mut Array) {
        let out = E::slice_mut(array);
        let scale = match self.q {
            Fill::Nothing => return,
            Fill::Random { scale } => scale,
            Fill::Constant(value) | Fill::Ramp { slope: value } => return fill::constant::<E>(value, out),
        };
        let key = key(self.seed, stream::Q);
        let rows = match self.rows {
            QueryRows::Each(rows) => rows.max(1) as usize,
            QueryRows::Packed(_) => 1,
        };
        // The formula counts rows of a request before heads.
        let heads = self.q_heads as usize;
        for (i, row) in out.chunks_mut(self.dim as usize).enumerate() {
            let (b, h, r) = (i / (heads * rows), i / rows % heads, i % rows);
            let first = ((b * rows + r) * heads + h) * self.dim as usize;
            let scale = if self.steep { scale * Uneven::STEEP.of_row(i as u64) } else { scale };
            fill::random::<E>(key, first as u64, scale, row);
        }
    }

    /// The pages of keys or values.
    pub fn pages(&self, side: Side, unused: Unused) -> Result<Array, Diagnostic> {
        let wide = u64::from;
        let shape = self.layout.shape(
            wide(self.table.pages),
            wide(self.page_size),
            wide(self.kv_heads),
            wide(self.dim),
        );
        let mut array = zeros("a KV cache", self.kv_dtype, &shape)?;
        match self.kv_dtype {
            DType::F16 => self.fill_pages::<F16>(side, unused, &mut array),
            DType::Bf16 => self.fill_pages::<Bf16>(side, unused, &mut array),
            DType::F8E4m3 => self.fill_pages::<F8E4m3>(side, unused, &mut array),
            DType::F8E5m2 => self.fill_pages::<F8E5m2>(side, unused, &mut array),
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
        if what == Fill::Nothing {
            return;
        }
        let key = key(self.seed, tid);
        let page_elems = self.page_size as usize * self.kv_heads as usize * self.dim as usize;
        let threads = cores().min(8) as usize;
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
            (Fill::Nothing, _) => {}
            (Fill::Constant(value), _) => fill::constant::<E>(value, out),
            // The formula counts elements in the order of this layout.
            (Fill::Random { scale }, KvLayout::Nhd) => fill::random::<E>(key, first, scale, out),
            (Fill::Random { scale }, KvLayout::Hnd) => {
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
                KvLayout::Nhd => work(i / heads, i % heads, row),
                KvLayout::Hnd => work(i % slots, i / slots, row),
            }
        }
    }
}

/// Bytes of an array from which on it lies on pages of its own.
const LARGE: u64 = 1 << 20;

fn zeros(what: &str, dtype: DType, shape: &[u64]) -> Result<Array, Diagnostic> {
    let bytes = shape.iter().try_fold(dtype.size() as u64, |total, &n| total.checked_mul(n));
    let Some(bytes) = bytes else {
        return Err(Diagnostic::error(codes::TOO_MUCH_DATA, format!("made-up {what} is too large to count"))
            .note(format!("its shape is {shape:?}"))
            .help("take fewer or shorter requests"));
    };
    check_memory(what, bytes)?;
    // Large memory on pages of its own costs nothing until it is touched.
    let made = if bytes < LARGE { Array::zeros } else { Array::on_pages };
    made(dtype, shape).map_err(|e| no_array(what, e))
}

fn numbers(values: &[f32]) -> Result<Array, Diagnostic> {
    let mut array = zeros("numbers of heads", DType::F32, &[values.len() as u64])?;
    array.as_slice_mut::<f32>().expect("the array should hold f32").copy_from_slice(values);
    Ok(array)
}

fn integers(values: &[u32]) -> Result<Array, Diagnostic> {
    let mut array = zeros("a page table", DType::U32, &[values.len() as u64])?;
    array.as_slice_mut::<u32>().expect("the array should hold u32").copy_from_slice(values);
    Ok(array)
}
