//! Plans of requests that grow.

use super::Plan;
use super::current::replan;
use crate::bind::{Bound, BoundCache};
use crate::codes;
use crate::derived;
use crate::memory;
use crate::traps::one;
use std::sync::Arc;
use wsp_backend::{Advance, Growth};
use wsp_core::TensorId;
use wsp_core::words::{by_count, counted};
use wsp_diag::Diagnostic;
use wsp_ir::{ArrayRef, MetaKind};
use wsp_kernel::{Env, IntArray, one_token_more};

impl Plan {
    /// Brings the plan up to date in place when requests grow. What belongs to the lengths follows them: the array `kv_lens` and
    /// the page table but for the ids of pages. Other arrays stay as they were planned.
    ///
    /// What it holds afterwards is, word for word, what [`crate::Program::plan`] would make for the new lengths, but for cuts of
    /// balanced splits: while words are [`Advance::Patched`] these stay where they are, so that the last item of each request
    /// grows. Items cover every request exactly all the same, and are cut anew before cores become uneven: before the fullest
    /// has more than 1.03 times the elements of a core on average or, where it had from the beginning, before that ratio has risen
    /// by 0.03. The order of sums is that of the items, so results are those of a plan made anew up to rounding.
    ///
    /// When every request grows by one token, mostly a few words per descriptor change and nothing else. Which ones, and for how
    /// long, a slower run of the generators finds out now and then, within an advance; from then on advances change just those
    /// words, until chunks, branches or sizes become others, or cuts are to be made again. [`Plan::regenerate`] makes them at
    /// any time.
    ///
    /// # Errors
    /// Lengths that cannot be, a launch with several caches or a generator that reads page ids: the plan stays as it is. A
    /// fault of a generator, or too little room: it cannot be run until it is advanced to lengths that fit.
    pub fn advance(&mut self, growth: Growth<'_>) -> Result<Advance, Vec<Diagnostic>> {
        let lengths = self.grown(growth).map_err(|fault| vec![fault])?;
        if growth == Growth::ByOne && self.whole {
            if self.patches.is_worth_it() {
                self.catch_up()?;
                self.look_ahead()?;
            }
            if let Some(words) = self.patches.advance(self.flat.words_mut()) {
                self.set_lengths(lengths);
                return Ok(Advance::Patched { words });
            }
        }
        self.set_lengths(lengths);
        self.generate()?;
        Ok(Advance::Regenerated)
    }

    /// The lengths after growth.
    fn grown(&self, growth: Growth<'_>) -> Result<Arc<[u32]>, Diagnostic> {
        let [cache] = &self.bound.caches[..] else {
            let count = self.bound.caches.len();
            return Err(refused(&format!("the launch has {count} paged caches, and one is needed")));
        };
        let reads_pages = |array: &ArrayRef| matches!(array, ArrayRef::Meta(_, MetaKind::Indices));
        if self.reads.iter().any(reads_pages) {
            return Err(refused("the generator reads page ids, which lengths do not tell"));
        }
        match growth {
            Growth::ByOne => one_token_more(&cache.lengths)
                .ok_or_else(|| refused("a request would have more than 4294967295 tokens")),
            Growth::To(lengths) if lengths.len() == cache.lengths.len() => Ok(lengths.into()),
            Growth::To(lengths) => {
                let (have, need) = (lengths.len(), cache.lengths.len());
                Err(refused(&format!(
                    "{have} {} given for {need}",
                    by_count(have, "is", "are"),
                    have = counted(have, "length"),
                    need = counted(need, "request")
                )))
            }
        }
    }

    /// Makes these the lengths of the requests.
    fn set_lengths(&mut self, lengths: Arc<[u32]>) {
        if let Some(id) = self.following() {
            self.bound.integers[id.index()] = Some(IntArray::U32(Arc::clone(&lengths)));
        }
        if let Some(cache) = self.bound.caches.first_mut() {
            cache.lengths = lengths;
        }
        self.behind = true;
    }

    /// The array that holds the lengths of the cache's requests: binding has compared the two.
    pub(super) fn following(&self) -> Option<TensorId> {
        let id = self.kv_lens?;
        let IntArray::U32(lens) = self.bound.integers[id.index()].as_ref()? else { return None };
        (self.bound.caches.first()?.lengths.len() == lens.len()).then_some(id)
    }

    /// Makes everything that generators read follow the lengths.
    pub(super) fn catch_up(&mut self) -> Result<(), Vec<Diagnostic>> {
        if self.behind {
            let pages = |array: &ArrayRef| {
                matches!(array, ArrayRef::Meta(_, MetaKind::Indptr | MetaKind::LastPageLen))
            };
            if self.reads.iter().any(pages) {
                follow(&mut self.bound);
            }
            if let Some(id) = self.kv_lens {
                self.env.arrays[id.index()].clone_from(&self.bound.integers[id.index()]);
            }
            for (arrays, cache) in self.env.caches.iter_mut().zip(&self.bound.caches) {
                *arrays = Some(memory::page_table(cache));
            }
            derived::derive(&self.lowered, &self.bound, &mut self.env).map_err(one)?;
            self.behind = false;
        }
        Ok(())
    }

    /// What kernels' summaries see, up to date.
    pub(super) fn surroundings(&self) -> Result<(Bound, Env), Vec<Diagnostic>> {
        let mut bound = self.bound.clone();
        follow(&mut bound);
        let mut env = memory::metadata(&self.lowered, &bound, self.env.axis_extents.clone());
        derived::derive(&self.lowered, &bound, &mut env).map_err(one)?;
        for (axis, tile) in self.env.axis_tiles.iter().enumerate() {
            env.axis_tiles[axis] = tile.load(std::sync::atomic::Ordering::Relaxed).into();
        }
        Ok((bound, env))
    }
}

/// Brings the page table to the lengths. Ids of pages that requests have grown into are not known.
fn follow(bound: &mut Bound) {
    let Some(cache) = bound.caches.first_mut() else { return };
    let BoundCache { lengths, page_size, .. } = cache;
    let page = (*page_size).max(1);
    let ends = lengths.iter().scan(0u32, |end, n| {
        *end = end.saturating_add(n.div_ceil(page));
        Some(*end)
    });
    cache.indptr = std::iter::once(0).chain(ends).collect();
    cache.last_page_len = lengths.iter().map(|&n| if n == 0 { 0 } else { (n - 1) % page + 1 }).collect();
}

fn refused(why: &str) -> Diagnostic {
    replan(Diagnostic::error(codes::BAD_GROWTH, format!("the plan cannot be advanced: {why}")))
}
