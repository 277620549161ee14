//! Page tables.

use super::hash::{Draws, stream};
use crate::codes;
use wsp_ir::diag::Diagnostic;

/// Pages that no request uses: a kernel that reads past its own finds NaN.
const SPARE_PAGES: u64 = 3;

/// Which pages each request holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageTable {
    /// Request `b` holds `indices[indptr[b]..indptr[b + 1]]`.
    pub indptr: Vec<u32>,
    /// Page ids, in order of tokens.
    pub indices: Vec<u32>,
    /// Tokens in the last page of each request; 0 for an empty one.
    pub last_page_len: Vec<u32>,
    /// Pages in the cache.
    pub pages: u32,
}

/// Which tokens a page holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Owner {
    /// Position of its first token in the request.
    pub(super) first: u32,
    /// Tokens it holds; 0 for a page of nobody.
    pub(super) held: u32,
    /// Tokens of the request.
    pub(super) length: u32,
}

impl PageTable {
    /// Gives each request the pages it needs, scattered over a cache with a few pages to spare.
    ///
    /// # Errors
    /// When there are more pages than u32 counts.
    pub(super) fn shuffled(lens: &[u32], page_size: u32, seed: u64) -> Result<PageTable, Diagnostic> {
        let mut indptr = Vec::with_capacity(lens.len() + 1);
        indptr.push(0u32);
        let mut used = 0u64;
        for &len in lens {
            used += u64::from(len.div_ceil(page_size));
            indptr.push(u32::try_from(used).map_err(|_| too_many(used))?);
        }
        let pages = u32::try_from(used + SPARE_PAGES).map_err(|_| too_many(used))?;
        crate::files::check_memory("the page table", u64::from(pages) * 8)?;
        let mut ids: Vec<u32> = (0..pages).collect();
        let mut draws = Draws::new(seed, stream::PAGES);
        for i in (1..ids.len()).rev() {
            ids.swap(i, draws.below(i as u64 + 1) as usize);
        }
        ids.truncate(used as usize);
        let last_page_len = lens.iter().map(|&n| if n == 0 { 0 } else { (n - 1) % page_size + 1 }).collect();
        Ok(PageTable { indptr, indices: ids, last_page_len, pages })
    }

    /// What each page holds. Page ids must be valid and agree with the lengths.
    pub(super) fn owners(&self, lens: &[u32], page_size: u32) -> Vec<Owner> {
        let mut owners = vec![Owner::default(); self.pages as usize];
        for (b, &length) in lens.iter().enumerate() {
            let held = &self.indices[self.indptr[b] as usize..self.indptr[b + 1] as usize];
            for (i, &page) in held.iter().enumerate() {
                let first = i as u32 * page_size;
                let owner = Owner { first, held: length.saturating_sub(first).min(page_size), length };
                let slot = &mut owners[page as usize];
                if owner.held > slot.held {
                    *slot = owner;
                }
            }
        }
        owners
    }
}

fn too_many(pages: u64) -> Diagnostic {
    Diagnostic::error(codes::TOO_MUCH_DATA, "the made-up cache has too many pages")
        .note(format!("it would need more than {pages}; page ids go up to {}", u32::MAX))
        .help("take fewer or shorter requests, or larger pages (`page=64`)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_at_most_one_owner() {
        let lens = [5, 0, 33, 16];
        let table = PageTable::shuffled(&lens, 16, 9).unwrap();
        assert_eq!(table.indptr, [0, 1, 1, 4, 5]);
        assert_eq!(table.last_page_len, [5, 0, 1, 16]);
        assert_eq!(table.pages, 8);
        let mut ids = table.indices.clone();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 5);
        let held: u32 = table.owners(&lens, 16).iter().map(|o| o.held).sum();
        assert_eq!(held, 5 + 33 + 16);
    }

    #[test]
    fn more_pages_than_u32_counts_are_refused() {
        assert!(PageTable::shuffled(&[u32::MAX, u32::MAX], 1, 1).is_err());
    }
}
