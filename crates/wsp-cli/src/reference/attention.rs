//! Dense decode attention in f64: a naive softmax in two passes.

use super::dense::{dot, exponentials};
use super::rows::Rows;
use crate::layout::Layout;
use std::sync::atomic::{AtomicUsize, Ordering};
use wsp_plan::Array;

/// The raw arrays of a decode attention problem.
#[derive(Clone, Copy)]
pub struct Attention<'a> {
    /// Queries `[batch, q_heads, 1, dim]`.
    pub q: &'a Array,
    /// Pages of keys, in `layout`.
    pub k: &'a Array,
    /// Pages of values, in `layout`.
    pub v: &'a Array,
    /// Request `b` holds pages `indices[indptr[b]..indptr[b + 1]]`.
    pub indptr: &'a [u32],
    /// Page ids.
    pub indices: &'a [u32],
    /// Tokens in the last page of each request.
    pub last_page_len: &'a [u32],
    /// What products of queries and keys are multiplied by; `1 / sqrt(dim)` when none.
    pub sm_scale: Option<f64>,
    /// Order of heads and tokens in a page.
    pub layout: Layout,
}

/// What dense attention gives.
#[derive(Clone, PartialEq, Debug)]
pub struct Dense {
    /// Outputs `[batch, q_heads, dim]`; 0 for a request without tokens.
    pub o: Vec<f64>,
    /// `log2` of the sums of exponentials `[batch, q_heads]`; `-inf` for a request without tokens.
    pub lse: Vec<f64>,
}

/// The problem with its extents checked.
struct Checked<'a> {
    q: Rows<'a>,
    k: Rows<'a>,
    v: Rows<'a>,
    problem: &'a Attention<'a>,
    batch: usize,
    q_heads: usize,
    kv_heads: usize,
    page_size: usize,
    dim: usize,
    scale: f64,
}

/// What the query heads of one KV head and one request give.
struct Piece {
    unit: usize,
    o: Vec<f64>,
    lse: Vec<f64>,
}

impl Attention<'_> {
    /// Computes outputs with `threads` threads; the result does not depend on their number.
    ///
    /// # Errors
    /// What is wrong, when the arrays do not form a problem.
    pub fn dense(&self, threads: usize) -> Result<Dense, String> {
        let checked = self.checked()?;
        let units = checked.batch * checked.kv_heads;
        let next = AtomicUsize::new(0);
        let work = || {
            let mut pieces = Vec::new();
            loop {
                // Relaxed: the counter hands out numbers and orders nothing else.
                let unit = next.fetch_add(1, Ordering::Relaxed);
                if unit >= units {
                    return pieces;
                }
                pieces.push(checked.piece(unit));
            }
        };
        let pieces: Vec<Piece> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads.min(units)).map(|_| scope.spawn(work)).collect();
            let mut pieces = work();
            for other in others {
                pieces.extend(other.join().expect("the reference should not panic"));
            }
            pieces
        });
        Ok(checked.gather(&pieces))
    }

    fn checked(&self) -> Result<Checked<'_>, String> {
        let &[batch, q_heads, 1, dim] = self.q.shape() else {
            return Err(format!("queries are [batch, heads, 1, dim], not {:?}", self.q.shape()));
        };
        let &[pages, a, b, lanes] = self.k.shape() else {
            return Err(format!("a page array has 4 dimensions, not {:?}", self.k.shape()));
        };
        let (page_size, kv_heads) = match self.layout {
            Layout::Nhd => (a, b),
            Layout::Hnd => (b, a),
        };
        if self.v.shape() != self.k.shape() {
            return Err(format!("keys are {:?}, values {:?}", self.k.shape(), self.v.shape()));
        }
        if lanes != dim || kv_heads == 0 || page_size == 0 || q_heads % kv_heads != 0 {
            return Err(format!("queries {:?} do not go with pages {:?}", self.q.shape(), self.k.shape()));
        }
        let real = |array, name: &str| Rows::new(array).ok_or_else(|| format!("{name} are not real numbers"));
        let checked = Checked {
            q: real(self.q, "queries")?,
            k: real(self.k, "keys")?,
            v: real(self.v, "values")?,
            problem: self,
            batch: batch as usize,
            q_heads: q_heads as usize,
            kv_heads: kv_heads as usize,
            page_size: page_size as usize,
            dim: dim as usize,
            scale: self.sm_scale.unwrap_or(1.0 / (dim as f64).sqrt()),
        };
        checked.check_table(pages)?;
        Ok(checked)
    }
}

impl Checked<'_> {
    fn check_table(&self, pages: u64) -> Result<(), String> {
        let Attention { indptr, indices, last_page_len, .. } = *self.problem;
        if indptr.len() != self.batch + 1 || last_page_len.len() != self.batch {
            return Err(format!(
                "{} requests need {} row pointers and {} last page lengths; there are {} and {}",
                self.batch,
                self.batch + 1,
                self.batch,
                indptr.len(),
                last_page_len.len()
            ));
        }
        for b in 0..self.batch {
            let (first, end) = (indptr[b] as usize, indptr[b + 1] as usize);
            if first > end || end > indices.len() {
                return Err(format!("request {b} holds pages {first}..{end} of {}", indices.len()));
            }
            if last_page_len[b] as usize > self.page_size || (first < end && last_page_len[b] == 0) {
                return Err(format!("request {b} has {} tokens in its last page", last_page_len[b]));
            }
            if let Some(page) = indices[first..end].iter().find(|&&p| u64::from(p) >= pages) {
                return Err(format!("request {b} holds page {page} of {pages}"));
            }
        }
        Ok(())
    }

    fn tokens(&self, b: usize) -> usize {
        let held = (self.problem.indptr[b + 1] - self.problem.indptr[b]) as usize;
        if held == 0 { 0 } else { (held - 1) * self.page_size + self.problem.last_page_len[b] as usize }
    }

    /// Where the row of a token and KV head begins in the page arrays.
    fn row(&self, b: usize, token: usize, head: usize) -> usize {
        let page = self.problem.indices[self.problem.indptr[b] as usize + token / self.page_size] as usize;
        let slot = token % self.page_size;
        let row = match self.problem.layout {
            Layout::Nhd => (page * self.page_size + slot) * self.kv_heads + head,
            Layout::Hnd => (page * self.kv_heads + head) * self.page_size + slot,
        };
        row * self.dim
    }

    fn piece(&self, unit: usize) -> Piece {
        let (b, head) = (unit / self.kv_heads, unit % self.kv_heads);
        let (group, dim, tokens) = (self.q_heads / self.kv_heads, self.dim, self.tokens(b));
        let mut o = vec![0.0; group * dim];
        if tokens == 0 {
            return Piece { unit, o, lse: vec![f64::NEG_INFINITY; group] };
        }
        let mut q = vec![0.0; group * dim];
        self.q.read((b * self.q_heads + head * group) * dim, &mut q);
        let mut row = vec![0.0; dim];
        let mut logits = vec![0.0; group * tokens];
        for t in 0..tokens {
            self.k.read(self.row(b, t, head), &mut row);
            for g in 0..group {
                logits[g * tokens + t] = dot(&q[g * dim..][..dim], &row) * self.scale;
            }
        }
        let (mut sums, mut lse) = (Vec::with_capacity(group), Vec::with_capacity(group));
        for logits in logits.chunks_exact_mut(tokens) {
            let (sum, log) = exponentials(logits);
            sums.push(sum);
            lse.push(log);
        }
        for t in 0..tokens {
            self.v.read(self.row(b, t, head), &mut row);
            for (g, o) in o.chunks_exact_mut(dim.max(1)).enumerate() {
                let weight = logits[g * tokens + t];
                for (o, v) in o.iter_mut().zip(&row) {
                    *o += weight * v;
                }
            }
        }
        for (o, sum) in o.chunks_exact_mut(dim.max(1)).zip(&sums) {
            for o in o {
                *o /= sum;
            }
        }
        Piece { unit, o, lse }
    }

    fn gather(&self, pieces: &[Piece]) -> Dense {
        let group = self.q_heads / self.kv_heads;
        let mut dense = Dense {
            o: vec![0.0; self.batch * self.q_heads * self.dim],
            lse: vec![0.0; self.batch * self.q_heads],
        };
        for piece in pieces {
            // Units follow requests, then KV heads, as the query heads of the result do.
            let first = piece.unit * group;
            dense.o[first * self.dim..][..piece.o.len()].copy_from_slice(&piece.o);
            dense.lse[first..][..group].copy_from_slice(&piece.lse);
        }
        dense
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_core::DType;

    fn array(shape: &[u64], values: &[f32]) -> Array {
        let mut array = Array::zeros(DType::F32, shape).unwrap();
        array.as_slice_mut::<f32>().unwrap().copy_from_slice(values);
        array
    }

    #[test]
    fn two_tokens_by_hand() {
        let q = array(&[1, 1, 1, 2], &[1.0, 0.0]);
        let k = array(&[2, 1, 1, 2], &[0.0, 9.0, 2.0, 9.0]);
        let v = array(&[2, 1, 1, 2], &[10.0, 0.0, 20.0, 4.0]);
        let problem = Attention {
            q: &q,
            k: &k,
            v: &v,
            indptr: &[0, 2],
            indices: &[1, 0],
            last_page_len: &[1],
            sm_scale: Some(0.5),
            layout: Layout::Nhd,
        };
        let dense = problem.dense(2).unwrap();
        // Logits are 1 and 0.
        let (a, b) = (std::f64::consts::E, 1.0);
        assert!((dense.o[0] - (20.0 * a + 10.0 * b) / (a + b)).abs() < 1e-14);
        assert!((dense.o[1] - 4.0 * a / (a + b)).abs() < 1e-14);
        assert!((dense.lse[0] - (a + b).log2()).abs() < 1e-14);
    }

    #[test]
    fn a_request_without_tokens_gives_zero_and_minus_infinity() {
        let q = array(&[1, 2, 1, 1], &[1.0, 1.0]);
        let k = array(&[1, 1, 1, 1], &[f32::NAN]);
        let table = Attention {
            q: &q,
            k: &k,
            v: &k,
            indptr: &[0, 0],
            indices: &[],
            last_page_len: &[0],
            sm_scale: None,
            layout: Layout::Nhd,
        };
        assert_eq!(table.dense(1).unwrap(), Dense { o: vec![0.0; 2], lse: vec![f64::NEG_INFINITY; 2] });
    }

    #[test]
    fn page_tables_that_cannot_be_are_refused() {
        let q = array(&[1, 1, 1, 1], &[1.0]);
        let k = array(&[1, 2, 1, 1], &[1.0, 1.0]);
        let good = Attention {
            q: &q,
            k: &k,
            v: &k,
            indptr: &[0, 1],
            indices: &[0],
            last_page_len: &[2],
            sm_scale: None,
            layout: Layout::Nhd,
        };
        assert!(good.dense(1).is_ok());
        assert!(Attention { indices: &[1], ..good }.dense(1).is_err());
        assert!(Attention { indptr: &[1, 0], ..good }.dense(1).is_err());
        assert!(Attention { indptr: &[0, 2], ..good }.dense(1).is_err());
        assert!(Attention { indptr: &[0], ..good }.dense(1).is_err());
        assert!(Attention { last_page_len: &[3], ..good }.dense(1).is_err());
        assert!(Attention { last_page_len: &[0], ..good }.dense(1).is_err());
    }
}
