//! Page tables.

use super::hash::{Draws, stream};
use pto_wsp::codes;
use wsp_diag::Diagnostic;

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
    /// Gives each request the pages it needs, scattered over a cache with a few pages to spare. Requests of at least
    /// `prefix` pages begin with the same ones.
    ///
    /// # Errors
    /// When there are more pages than u32 counts.
    pub(super) fn shuffled(
        lens: &[u32],
        page_size: u32,
        prefix: u32,
        seed: u64,
    ) -> Result<PageTable, Diagnostic> {
        let mut indptr = Vec::with_capacity(lens.len() + 1);
        indptr.push(0u32);
        let (mut held, mut used) = (0u64, u64::from(prefix));
        for &len in lens {
            let pages = len.div_ceil(page_size);
            held += u64::from(pages);
            used += u64::from(if pages >= prefix { pages - prefix } else { pages });
            indptr.push(u32::try_from(held).map_err(|_| too_many(held))?);
        }
        let pages = u32::try_from(used + SPARE_PAGES).map_err(|_| too_many(used))?;
        crate::check_memory("the page table", held.saturating_add(u64::from(pages)) * 8)?;
        let mut ids: Vec<u32> = (0..pages).collect();
        let mut draws = Draws::new(seed, stream::PAGES);
        for i in (1..ids.len()).rev() {
            ids.swap(i, draws.below(i as u64 + 1) as usize);
        }
        let last_page_len = lens.iter().map(|&n| if n == 0 { 0 } else { (n - 1) % page_size + 1 }).collect();
        if prefix == 0 {
            ids.truncate(used as usize);
            return Ok(PageTable { indptr, indices: ids, last_page_len, pages });
        }
        let (shared, mut own) = ids.split_at(prefix as usize);
        let mut indices = Vec::with_capacity(held as usize);
        for &len in lens {
            let mut rest = len.div_ceil(page_size);
            if rest >= prefix {
                indices.extend_from_slice(shared);
                rest -= prefix;
            }
            let (mine, others) = own.split_at(rest as usize);
            indices.extend_from_slice(mine);
            own = others;
        }
        Ok(PageTable { indptr, indices, last_page_len, pages })
    }

    /// A table of one request that holds the first `prefix` pages of request 0, and one of what each request holds beside
    /// as many.
    pub(super) fn split(&self, prefix: u32, page_size: u32) -> (PageTable, PageTable) {
        let batch = self.last_page_len.len();
        let shared = self.indices.iter().take(prefix as usize).copied().collect::<Vec<u32>>();
        // With no request there is no page to share either.
        let full = if shared.is_empty() { 0 } else { page_size };
        let mut own = PageTable { indptr: vec![0], indices: Vec::new(), ..self.clone() };
        for b in 0..batch {
            let held = &self.indices[self.indptr[b] as usize..self.indptr[b + 1] as usize];
            let rest = held.get(prefix as usize..).unwrap_or_default();
            own.indices.extend_from_slice(rest);
            own.indptr.push(own.indices.len() as u32);
            if rest.is_empty() {
                own.last_page_len[b] = 0;
            }
        }
        let indptr = vec![0, shared.len() as u32];
        (PageTable { indptr, indices: shared, last_page_len: vec![full], pages: self.pages }, own)
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
        let table = PageTable::shuffled(&lens, 16, 0, 9).unwrap();
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
    fn requests_share_a_prefix_that_can_be_split_off() {
        let lens = [32, 40, 16, 0, 90];
        let table = PageTable::shuffled(&lens, 16, 2, 4).unwrap();
        let of = |table: &PageTable, b: usize| {
            table.indices[table.indptr[b] as usize..table.indptr[b + 1] as usize].to_vec()
        };
        let shared = of(&table, 0);
        assert_eq!((&of(&table, 1)[..2], &of(&table, 4)[..2]), (&shared[..], &shared[..]));
        assert!(!shared.contains(&of(&table, 2)[0]), "too short to share");
        let (prefix, own) = table.split(2, 16);
        assert_eq!((prefix.indices, prefix.indptr, prefix.last_page_len), (shared, vec![0, 2], vec![16]));
        assert_eq!(own.indptr, [0, 0, 1, 1, 1, 5]);
        assert_eq!(own.last_page_len, [0, 8, 0, 0, 10]);
        assert_eq!(of(&own, 4), of(&table, 4)[2..]);
    }

    #[test]
    fn more_pages_than_u32_counts_are_refused() {
        assert!(PageTable::shuffled(&[u32::MAX, u32::MAX], 1, 0, 1).is_err());
    }
}
