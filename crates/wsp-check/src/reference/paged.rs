//! Where the tokens of a paged cache are.

use super::rows::Rows;
use wsp_backend::KvLayout;
use wsp_core::words::counted;
use wsp_plan::Array;

/// A paged cache of keys and values.
#[derive(Clone, Copy)]
pub struct Cache<'a> {
    /// Pages of keys, in `layout`.
    pub k: &'a Array,
    /// Pages of values, in `layout`; when none, a value is the first lanes of its key.
    pub v: Option<&'a Array>,
    /// Request `b` holds pages `indices[indptr[b]..indptr[b + 1]]`.
    pub indptr: &'a [u32],
    /// Page ids.
    pub indices: &'a [u32],
    /// Tokens in the last page of each request.
    pub last_page_len: &'a [u32],
    /// Order of heads and tokens in a page.
    pub layout: KvLayout,
}

/// A cache whose page table is known to be one.
pub(super) struct Pages<'a> {
    cache: Cache<'a>,
    k: Rows<'a>,
    v: Option<Rows<'a>>,
    page_size: usize,
    /// KV heads.
    pub(super) heads: usize,
    /// Lanes of a key.
    pub(super) key_lanes: usize,
    /// Lanes of a value, or of the key that it is a part of.
    pub(super) value_lanes: usize,
}

impl<'a> Pages<'a> {
    /// The cache of `batch` requests.
    ///
    /// # Errors
    /// What is wrong, when the arrays do not form a cache.
    pub(super) fn new(cache: Cache<'a>, batch: usize) -> Result<Pages<'a>, String> {
        let &[pages, a, b, key_lanes] = cache.k.shape() else {
            return Err(format!("a page array has 4 dimensions, not {:?}", cache.k.shape()));
        };
        let (page_size, heads) = match cache.layout {
            KvLayout::Nhd => (a, b),
            KvLayout::Hnd => (b, a),
        };
        let value_lanes = match cache.v.map(Array::shape) {
            None => key_lanes,
            Some(&[n, x, y, lanes]) if [n, x, y] == [pages, a, b] => lanes,
            Some(other) => return Err(format!("keys are {:?}, values {other:?}", cache.k.shape())),
        };
        if heads == 0 || page_size == 0 {
            return Err(format!("pages {:?} hold no tokens", cache.k.shape()));
        }
        let real = |array, name: &str| Rows::new(array).ok_or_else(|| format!("{name} are not real numbers"));
        let checked = Pages {
            cache,
            k: real(cache.k, "keys")?,
            v: cache.v.map(|v| real(v, "values")).transpose()?,
            page_size: page_size as usize,
            heads: heads as usize,
            key_lanes: key_lanes as usize,
            value_lanes: value_lanes as usize,
        };
        checked.check_table(batch, pages)?;
        Ok(checked)
    }

    fn check_table(&self, batch: usize, pages: u64) -> Result<(), String> {
        let Cache { indptr, indices, last_page_len, .. } = self.cache;
        if indptr.len() != batch + 1 || last_page_len.len() != batch {
            return Err(format!(
                "{batch} requests need {} row pointers and {batch} last page lengths; there are {} and {}",
                batch + 1,
                indptr.len(),
                last_page_len.len()
            ));
        }
        for b in 0..batch {
            let (first, end) = (indptr[b] as usize, indptr[b + 1] as usize);
            if first > end || end > indices.len() {
                return Err(format!("request {b} holds pages {first}..{end} of {}", indices.len()));
            }
            if last_page_len[b] as usize > self.page_size || (first < end && last_page_len[b] == 0) {
                return Err(format!(
                    "request {b} has {} in its last page",
                    counted(last_page_len[b], "token")
                ));
            }
            if let Some(page) = indices[first..end].iter().find(|&&p| u64::from(p) >= pages) {
                return Err(format!("request {b} holds page {page} of {pages}"));
            }
        }
        Ok(())
    }

    /// Tokens of a request.
    pub(super) fn tokens(&self, b: usize) -> usize {
        let held = (self.cache.indptr[b + 1] - self.cache.indptr[b]) as usize;
        if held == 0 { 0 } else { (held - 1) * self.page_size + self.cache.last_page_len[b] as usize }
    }

    /// Reads the key of a token and head.
    pub(super) fn key(&self, b: usize, token: usize, head: usize, out: &mut [f64]) {
        self.k.read(self.row(b, token, head) * self.key_lanes, out);
    }

    /// Reads the first lanes of the value of a token and head.
    pub(super) fn value(&self, b: usize, token: usize, head: usize, out: &mut [f64]) {
        let rows = self.v.unwrap_or(self.k);
        rows.read(self.row(b, token, head) * self.value_lanes, out);
    }

    fn row(&self, b: usize, token: usize, head: usize) -> usize {
        let page = self.cache.indices[self.cache.indptr[b] as usize + token / self.page_size] as usize;
        let slot = token % self.page_size;
        match self.cache.layout {
            KvLayout::Nhd => (page * self.page_size + slot) * self.heads + head,
            KvLayout::Hnd => (page * self.heads + head) * self.page_size + slot,
        }
    }
}
