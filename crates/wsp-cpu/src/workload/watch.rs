//! Elements of `out` regions that a task leaves unwritten, or computes from what they held, found by filling the regions with a pattern before it runs.

use super::memory::SharedTensor;
use crate::pattern::{Fate, Fill};
use std::cell::RefCell;
use wsp_backend::unravel;
use wsp_core::Region;
use wsp_core::words::{by_count, counted};
use wsp_ir::workload::{AccessMode, Kernel, ParamKind, Signature};

/// How a body gets at its `out` regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// By address, and it may look at what is there: it is called twice where one call does not tell.
    Any,
    /// By address, and something else sees to it that no integer follows from what is there.
    Unread,
}

/// A region that a task may write.
#[derive(Default)]
struct Written {
    /// Whether it is `out`, has elements, and no other parameter of the task sees it.
    is_watched: bool,
    /// Its bytes before the task: of one that is watched, when it was filled.
    before: Vec<u8>,
    /// What was put there, when the body was given its address.
    fill: Option<(Fill, Access)>,
    /// Whether the body has replaced all of it.
    is_whole: bool,
    /// Its bytes after the first of two calls.
    first: Option<Vec<u8>>,
}

/// The regions that a task may write, while it runs.
pub(crate) struct Watch<'t> {
    tensors: &'t [SharedTensor],
    regions: &'t [Region],
    /// By parameter.
    written: RefCell<Vec<Option<Written>>>,
}

impl<'t> Watch<'t> {
    /// Of a task of a function, which says how it gets at its regions.
    pub(crate) fn of_function(
        tensors: &'t [SharedTensor],
        modes: &[AccessMode],
        regions: &'t [Region],
    ) -> Watch<'t> {
        let alone =
            |at: usize| (0..regions.len()).all(|other| other == at || !regions[other].overlaps(&regions[at]));
        let written = (0..regions.len()).map(|at| {
            let is_watched = modes[at] == AccessMode::Out && !regions[at].is_empty() && alone(at);
            let mut before = Vec::new();
            if !is_watched && modes[at] != AccessMode::In {
                tensors[regions[at].tensor.index()].peek(&regions[at], &mut before);
            }
            (modes[at] != AccessMode::In).then(|| Written { is_watched, before, ..Written::default() })
        });
        let written = RefCell::new(written.collect());
        Watch { tensors, regions, written }
    }

    /// Of a task of another body, which runs once and may write all of its `out` regions.
    pub(crate) fn of_body(
        tensors: &'t [SharedTensor],
        modes: &[AccessMode],
        regions: &'t [Region],
    ) -> Watch<'t> {
        let watch = Watch::of_function(tensors, modes, regions);
        for at in 0..regions.len() {
            watch.give(at, Access::Unread);
        }
        watch
    }

    fn tensor(&self, at: usize) -> &'t SharedTensor {
        &self.tensors[self.regions[at].tensor.index()]
    }

    fn bytes(&self, at: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.tensor(at).peek(&self.regions[at], &mut bytes);
        bytes
    }

    /// The body replaces all of a region.
    pub(crate) fn replace(&self, at: usize) {
        if let Some(Some(written)) = self.written.borrow_mut().get_mut(at) {
            written.is_whole = true;
        }
    }

    /// The body is about to be given the address of a region, which is filled if it is watched and nothing was stored to it. Whether it is:
    /// then [`end`](Self::end) notes what was stored.
    pub(crate) fn give(&self, at: usize, access: Access) -> bool {
        let mut all = self.written.borrow_mut();
        let Some(Some(written)) = all.get_mut(at) else { return false };
        if !written.is_watched || written.is_whole || written.fill.is_some() {
            return written.fill.is_some();
        }
        let (tensor, region) = (self.tensor(at), &self.regions[at]);
        let bytes = tensor.region_bytes(region);
        let fill = match access {
            Access::Any => Some(Fill::new(tensor.dtype(), bytes)),
            Access::Unread => Fill::of_one_call(tensor.dtype(), bytes),
        };
        match fill {
            Some(fill) => {
                written.before = self.bytes(at);
                tensor.poke(region, fill.first());
                written.fill = Some((fill, access));
            }
            // One call does not tell what is written of it.
            None => written.is_whole = true,
        }
        written.fill.is_some()
    }

    /// Whether the body is to run once more: then all that it may write is as it was before.
    pub(crate) fn begin_second(&self) -> bool {
        let mut all = self.written.borrow_mut();
        let takes_two = |(fill, access): &(Fill, Access)| *access == Access::Any && fill.takes_two_calls();
        if !all.iter().flatten().filter_map(|written| written.fill.as_ref()).any(takes_two) {
            return false;
        }
        let each = all.iter_mut().enumerate().filter_map(|(at, written)| Some((at, written.as_mut()?)));
        let each: Vec<(usize, &mut Written)> = each.collect();
        let now: Vec<Vec<u8>> = each.iter().map(|(at, _)| self.bytes(*at)).collect();
        for ((at, written), now) in each.into_iter().zip(now) {
            written.first = Some(now);
            let begun = match &written.fill {
                Some((fill, _)) => fill.second(),
                None if written.is_watched => continue,
                None => written.before.clone(),
            };
            // A body that looks at a region before it replaces it looks at the fill again.
            written.is_whole &= written.fill.is_none();
            self.tensor(at).poke(&self.regions[at], &begun);
        }
        true
    }

    /// Notes what was stored to filled regions. Gives what the task computed from what was there or, where it is to write the `whole`, left unwritten; either is
    /// as it was before.
    pub(crate) fn end(self, kernel: &Kernel, whole: bool) -> Option<String> {
        let all = self.written.take();
        let each = all.iter().enumerate().filter_map(|(at, written)| Some((at, written.as_ref()?)));
        let said: Vec<String> =
            each.filter_map(|(at, written)| self.left(at, written, kernel, whole)).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    /// What is to be said of elements that still hold the pattern, or what follows from it; they get back what they held.
    fn left(&self, at: usize, written: &Written, kernel: &Kernel, whole: bool) -> Option<String> {
        let (tensor, region) = (self.tensor(at), &self.regions[at]);
        let mut after = self.bytes(at);
        let size = tensor.dtype().size();
        let elements = after.len() / size;
        let fate = |n: usize| {
            let differs = |first: &[u8]| first[n * size..][..size] != after[n * size..][..size];
            match (&written.fill, &written.first) {
                (Some((fill, _)), first) => match fill.fate(n, first.as_deref(), &after) {
                    Fate::Left if written.is_whole => Fate::Stored,
                    fate => fate,
                },
                (None, Some(first)) if differs(first) => Fate::Computed,
                (None, _) if written.is_watched && !written.is_whole => Fate::Left,
                (None, _) => Fate::Stored,
            }
        };
        let fates: Vec<Fate> = (0..elements).map(fate).collect();
        let of = |what: Fate| (0..elements).filter(|n| fates[*n] == what).collect::<Vec<usize>>();
        let (left, computed) = (of(Fate::Left), of(Fate::Computed));
        if written.fill.is_some() {
            tensor.note_stores(region, (0..elements).filter(|n| fates[*n] != Fate::Left), left.is_empty());
        }
        if written.fill.is_some() || !written.is_watched {
            for n in left.iter().chain(&computed) {
                after[n * size..][..size].copy_from_slice(&written.before[n * size..][..size]);
            }
            if !(left.is_empty() && computed.is_empty()) {
                tensor.poke(region, &after);
            }
        }
        let (found, are) = match (&left[..], &computed[..]) {
            (left @ [_, ..], _) if whole => (left, "not written"),
            (_, computed @ [_, ..]) => (computed, "computed from what it held before the task"),
            _ => return None,
        };
        let (lo, hi) = (&region.lo, &region.hi);
        let extents: Vec<u64> = (0..tensor.rank()).map(|d| u64::from(hi[d] - lo[d])).collect();
        let first = unravel(found[0] as u64, &extents);
        let (name, count) = (name(kernel, at), found.len());
        let (is, all) = (by_count(count, "is", "are"), counted(elements, "element"));
        let said = match written.is_watched {
            true => format!(
                "`{name}` is declared `out`, and {count} of its {all} {is} {are}, the first at {first:?}"
            ),
            false => format!(
                "{count} of the {all} of `{name}` {is} computed from what `out` parameters held before the task, the first at {first:?}"
            ),
        };
        Some(said)
    }
}

/// The name of a tensor parameter.
fn name(kernel: &Kernel, parameter: usize) -> &str {
    let Signature::Declared(params) = &kernel.signature else { return "?" };
    let tensors = params.iter().filter(|param| matches!(param.kind, ParamKind::Tensor(_)));
    tensors.map(|param| param.name.as_str()).nth(parameter).unwrap_or("?")
}
