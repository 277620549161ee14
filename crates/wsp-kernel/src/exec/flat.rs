//! Descriptors of a generator's run, one after another in one buffer.

use super::host::{HintShape, Hints};
use std::mem::MaybeUninit;
use wsp_core::StructId;

/// The site number of a fence.
const FENCE: u16 = u16::MAX;

/// What all tasks of one emission have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlatSite {
    stage: u32,
    descriptor: StructId,
    fields: usize,
    shape: HintShape,
}

impl FlatSite {
    /// Index of the stage whose generator emits here.
    pub fn stage(&self) -> u32 {
        self.stage
    }

    /// Type of the descriptors.
    pub fn descriptor(&self) -> StructId {
        self.descriptor
    }

    /// Words of a descriptor.
    pub fn fields(&self) -> usize {
        self.fields
    }
}

/// One event of a run, in order.
#[derive(Clone, Copy, Debug)]
pub enum FlatEvent<'a> {
    /// A task.
    Task {
        /// What it has in common with others.
        site: &'a FlatSite,
        /// First word of its fields in [`FlatBuffer::words`].
        first: usize,
        /// A value per field of the descriptor type.
        fields: &'a [u32],
        /// What the schedule says of it.
        hints: Hints<'a>,
    },
    /// What follows starts when all before is complete.
    Fence,
}

/// The buffer has no room for a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlatFull;

/// What generators emitted: the fields of descriptors side by side without gaps, their sites, and the values of hints.
///
/// A buffer of a fixed number of words never moves. Its allocations are kept when it is cleared.
#[derive(Clone, Debug)]
pub struct FlatBuffer {
    words: Vec<u32>,
    /// The site of each descriptor, and fences.
    sites: Vec<u16>,
    hints: Vec<u32>,
    table: Vec<FlatSite>,
    /// The site used last: mostly the next one's too.
    recent: u16,
    stage: u32,
    descriptors: usize,
    capacity: Capacity,
}

/// Room for words, sites and values of hints.
type Spare<'a> = (&'a mut [MaybeUninit<u32>], &'a mut [MaybeUninit<u16>], &'a mut [MaybeUninit<u32>]);

/// Limits of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Capacity {
    /// None where the buffer may move.
    words: Option<usize>,
    descriptors: usize,
}

impl FlatBuffer {
    /// A buffer that grows as it must, up to so many descriptors.
    pub fn growing(descriptors: usize) -> FlatBuffer {
        FlatBuffer::new(Capacity { words: None, descriptors })
    }

    /// A buffer for so many descriptors of at most so many words each; it never moves. None where there is no memory for it.
    pub fn fixed(descriptors: usize, fields: usize) -> Option<FlatBuffer> {
        let words = descriptors.checked_mul(fields)?;
        let mut buffer = FlatBuffer::new(Capacity { words: Some(words), descriptors });
        buffer.words.try_reserve_exact(words).ok()?;
        buffer.sites.try_reserve_exact(descriptors).ok()?;
        Some(buffer)
    }

    fn new(capacity: Capacity) -> FlatBuffer {
        FlatBuffer {
            words: Vec::new(),
            sites: Vec::new(),
            hints: Vec::new(),
            table: Vec::new(),
            recent: 0,
            stage: 0,
            descriptors: 0,
            capacity,
        }
    }

    /// Forgets what was emitted; sites and allocations stay.
    pub fn clear(&mut self) {
        self.words.clear();
        self.sites.clear();
        self.hints.clear();
        self.recent = 0;
        self.stage = 0;
        self.descriptors = 0;
    }

    /// Goes on with the generator of another stage.
    pub fn enter(&mut self, stage: u32) {
        self.stage = stage;
    }

    /// The number by which [`FlatBuffer::push`] knows the emissions of one place in the generator of the present stage; none
    /// when there are too many places.
    pub(crate) fn register(&mut self, descriptor: StructId, fields: usize, shape: &HintShape) -> Option<u16> {
        let is_this = |site: &FlatSite| {
            site.stage == self.stage
                && site.descriptor == descriptor
                && site.fields == fields
                && site.shape == *shape
        };
        let known = self.table.iter().position(is_this);
        let number = u16::try_from(known.unwrap_or(self.table.len())).ok().filter(|n| *n != FENCE)?;
        if known.is_none() {
            self.table.push(FlatSite { stage: self.stage, descriptor, fields, shape: shape.clone() });
        }
        Some(number)
    }

    /// Adds a descriptor of a registered site: as many fields and values of hints as that has.
    ///
    /// # Errors
    /// When the buffer is full.
    #[inline]
    pub(crate) fn push(&mut self, site: u16, fields: &[u32], hints: &[u32]) -> Result<(), FlatFull> {
        let fits = self.capacity.words.is_none_or(|words| words - self.words.len() >= fields.len());
        if self.descriptors == self.capacity.descriptors || !fits {
            return Err(FlatFull);
        }
        self.words.extend_from_slice(fields);
        self.hints.extend_from_slice(hints);
        self.sites.push(site);
        self.descriptors += 1;
        Ok(())
    }

    /// Adds a descriptor.
    ///
    /// # Errors
    /// When the buffer is full, or more places emit than a buffer can tell apart.
    pub fn emit(&mut self, descriptor: StructId, fields: &[u32], hints: Hints<'_>) -> Result<(), FlatFull> {
        let same = |site: &FlatSite| {
            site.descriptor == descriptor && site.stage == self.stage && site.shape == *hints.shape
        };
        if !self.table.get(usize::from(self.recent)).is_some_and(same) {
            self.recent = self.register(descriptor, fields.len(), hints.shape).ok_or(FlatFull)?;
        }
        self.push(self.recent, fields, hints.words)
    }

    /// Adds a fence.
    pub fn fence(&mut self) {
        self.sites.push(FENCE);
    }

    /// Room behind what was emitted for some descriptors of at most `fields` words and `hints` values of hints each, `count` of
    /// them unless the buffer has less: of words, sites and values.
    #[cfg_attr(not(feature = "native"), expect(dead_code, reason = "compiled code writes by address"))]
    pub(crate) fn spare(&mut self, count: usize, fields: usize, hints: usize) -> Spare<'_> {
        let (mut words, mut sites) = (count.saturating_mul(fields), count);
        sites = sites.min(self.capacity.descriptors - self.descriptors);
        match self.capacity.words {
            Some(most) => words = words.min(most - self.words.len()),
            None => self.words.reserve(words),
        }
        self.sites.reserve(sites);
        self.hints.reserve(sites.saturating_mul(hints));
        (
            &mut self.words.spare_capacity_mut()[..words],
            &mut self.sites.spare_capacity_mut()[..sites],
            self.hints.spare_capacity_mut(),
        )
    }

    /// Takes over descriptors that were written to [`FlatBuffer::spare`].
    ///
    /// # Safety
    /// So many words, sites of registered numbers, and values of hints were written from the start of the spare room on; the
    /// buffer was left alone since it was asked for.
    #[allow(unsafe_code, reason = "compiled code has written the elements")]
    #[cfg_attr(not(feature = "native"), expect(dead_code, reason = "compiled code writes by address"))]
    pub(crate) unsafe fn keep(&mut self, words: usize, sites: usize, hints: usize) {
        assert!(words <= self.words.capacity() - self.words.len(), "words should be written to spare room");
        assert!(sites <= self.sites.capacity() - self.sites.len(), "sites should be written to spare room");
        assert!(hints <= self.hints.capacity() - self.hints.len(), "hints should be written to spare room");
        // SAFETY: the caller's promise, and what was just checked.
        unsafe {
            self.words.set_len(self.words.len() + words);
            self.sites.set_len(self.sites.len() + sites);
            self.hints.set_len(self.hints.len() + hints);
        }
        self.descriptors += sites;
    }

    /// Number of descriptors.
    pub fn len(&self) -> usize {
        self.descriptors
    }

    /// Whether there are no descriptors.
    pub fn is_empty(&self) -> bool {
        self.descriptors == 0
    }

    /// The fields of all descriptors.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The fields of all descriptors, to be changed in place.
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// Everything in order of emission.
    pub fn events(&self) -> impl Iterator<Item = FlatEvent<'_>> {
        let (mut word, mut hint) = (0, 0);
        self.sites.iter().map(move |&number| {
            if number == FENCE {
                return FlatEvent::Fence;
            }
            let site = &self.table[usize::from(number)];
            let first = word;
            word += site.fields;
            let values = hint..hint + site.shape.words();
            hint = values.end;
            FlatEvent::Task {
                site,
                first,
                fields: &self.words[first..word],
                hints: Hints { shape: &site.shape, words: &self.hints[values] },
            }
        })
    }
}

/// Equal when the same was emitted in the same order.
impl PartialEq for FlatBuffer {
    fn eq(&self, other: &FlatBuffer) -> bool {
        let site = |buffer: &FlatBuffer, number: u16| buffer.table.get(usize::from(number)).cloned();
        self.words == other.words
            && self.hints == other.hints
            && self.sites.len() == other.sites.len()
            && std::iter::zip(&self.sites, &other.sites).all(|(a, b)| site(self, *a) == site(other, *b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wsp_ir::AffinityPolicy;

    fn shape() -> HintShape {
        HintShape { affinity: vec![AffinityPolicy::CoreGroup], prefetch: vec![(1, 2)], priority: false }
    }

    fn replay(buffer: &FlatBuffer) -> Vec<Vec<u32>> {
        let event = |event| match event {
            FlatEvent::Fence => vec![],
            FlatEvent::Task { site, fields, hints, .. } => {
                let head = [site.stage(), site.descriptor().0];
                let values = hints.affinity().map(|(_, value)| value);
                let ahead = hints.prefetch().map(|hint| hint.value + hint.depth);
                head.into_iter().chain(fields.iter().copied()).chain(values).chain(ahead).collect()
            }
        };
        buffer.events().map(event).collect()
    }

    fn filled(mut buffer: FlatBuffer) -> FlatBuffer {
        let hinted = shape();
        buffer.emit(StructId(3), &[1, 2], Hints { shape: &hinted, words: &[7, 40, 5, 6] }).unwrap();
        buffer.emit(StructId(1), &[9], Hints::NONE).unwrap();
        buffer.fence();
        buffer.enter(1);
        buffer.emit(StructId(1), &[8], Hints::NONE).unwrap();
        buffer
    }

    #[test]
    fn events_come_back_as_they_were_emitted() {
        let want = vec![vec![0, 3, 1, 2, 7, 41], vec![0, 1, 9], vec![], vec![1, 1, 8]];
        assert_eq!(replay(&filled(FlatBuffer::growing(9))), want);
        let mut again = filled(FlatBuffer::fixed(3, 2).unwrap());
        again.clear();
        assert!(again.is_empty() && again.events().next().is_none());
        assert_eq!(replay(&filled(again)), want);
    }

    #[test]
    fn a_fixed_buffer_keeps_its_place_and_refuses_what_does_not_fit() {
        let mut buffer = FlatBuffer::fixed(2, 2).unwrap();
        let place = buffer.words().as_ptr();
        for _ in 0..2 {
            buffer.clear();
            buffer.emit(StructId(0), &[1, 2], Hints::NONE).unwrap();
            buffer.emit(StructId(0), &[3, 4], Hints::NONE).unwrap();
            assert_eq!(buffer.emit(StructId(0), &[5, 6], Hints::NONE), Err(FlatFull));
            assert_eq!(buffer.words(), [1, 2, 3, 4]);
            assert_eq!(buffer.words().as_ptr(), place);
        }
    }

    #[test]
    fn a_growing_buffer_ends_at_its_limit() {
        let mut buffer = FlatBuffer::growing(1);
        buffer.emit(StructId(0), &[1, 2], Hints::NONE).unwrap();
        assert_eq!(buffer.emit(StructId(0), &[5, 6], Hints::NONE), Err(FlatFull));
        buffer.clear();
        buffer.emit(StructId(0), &[5, 6], Hints::NONE).unwrap();
        assert_eq!(buffer.words(), [5, 6]);
    }

    #[test]
    fn buffers_with_the_same_events_are_equal_whatever_order_their_sites_were_met_in() {
        let mut other = FlatBuffer::growing(9);
        other.emit(StructId(1), &[1], Hints::NONE).unwrap();
        other.clear();
        let other = filled(other);
        assert!(filled(FlatBuffer::growing(9)) == other);
        let mut changed = other.clone();
        changed.words_mut()[2] += 1;
        assert!(changed != other);
    }
}
