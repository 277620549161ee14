//! Whether views share memory.

use crate::view::View;

/// What two views have to do with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// No byte belongs to both.
    Disjoint,
    /// Some byte does.
    Shared,
    /// Finding out would take too long.
    Undecided,
}

/// Most choices that are looked at. Rows and columns of one array are decided by a few.
const MOST_CHOICES: u32 = 4096;

/// A distance that is taken between `lo` and `hi` times.
#[derive(Clone, Copy, Debug)]
struct Term {
    stride: i128,
    lo: i128,
    hi: i128,
}

/// Whether some element of one view has a byte of some element of the other.
pub(crate) fn sharing(a: &View, b: &View) -> Sharing {
    let [from_a, from_b] = [a, b].map(|view| view.ptr() as usize as i128);
    let [span_a, span_b] = [a, b].map(|view| view.span() as i128);
    if a.space() != b.space()
        || span_a == 0
        || span_b == 0
        || from_a + span_a <= from_b
        || from_b + span_b <= from_a
    {
        return Sharing::Disjoint;
    }
    let mut terms = Vec::new();
    for (&extent, &stride) in a.shape().iter().zip(a.strides()).filter(|(_, stride)| **stride != 0) {
        add(&mut terms, stride, (0, i128::from(extent) - 1));
    }
    for (&extent, &stride) in b.shape().iter().zip(b.strides()).filter(|(_, stride)| **stride != 0) {
        add(&mut terms, stride, (1 - i128::from(extent), 0));
    }
    terms.sort_by_key(|term| std::cmp::Reverse(term.stride));
    // An element of `a` and one of `b` share a byte when the first begins less than its size before the second, or less
    // than the second's size after it.
    let within = (1 - a.dtype().size() as i128, b.dtype().size() as i128 - 1);
    let mut choices = MOST_CHOICES;
    match reaches(&terms, from_a - from_b, within, &mut choices) {
        Some(true) => Sharing::Shared,
        Some(false) => Sharing::Disjoint,
        None => Sharing::Undecided,
    }
}

/// Adds a dimension; dimensions with one stride are one term.
fn add(terms: &mut Vec<Term>, stride: usize, (lo, hi): (i128, i128)) {
    let stride = stride as i128;
    match terms.iter_mut().find(|term| term.stride == stride) {
        Some(term) => (term.lo, term.hi) = (term.lo + lo, term.hi + hi),
        None => terms.push(Term { stride, lo, hi }),
    }
}

/// Whether `from` and some number of every term come to a value within the bounds; none when there are too many choices.
fn reaches(terms: &[Term], from: i128, within: (i128, i128), choices: &mut u32) -> Option<bool> {
    let Some((term, rest)) = terms.split_first() else {
        return Some((within.0..=within.1).contains(&from));
    };
    let least: i128 = rest.iter().map(|t| t.lo * t.stride).sum();
    let most: i128 = rest.iter().map(|t| t.hi * t.stride).sum();
    // What the rest can make up for bounds what this term may come to.
    let first = -(from + most - within.0).div_euclid(term.stride);
    let last = (within.1 - from - least).div_euclid(term.stride);
    for times in first.max(term.lo)..=last.min(term.hi) {
        *choices = choices.checked_sub(1)?;
        if reaches(rest, from + times * term.stride, within, choices)? {
            return Some(true);
        }
    }
    Some(false)
}

/// Whether two elements of an array may share a byte: some stride is shorter than what lies between two of its steps.
pub(crate) fn shares_with_itself(view: &View) -> bool {
    let dims = view.shape().iter().zip(view.strides());
    let mut dims: Vec<(usize, u64)> =
        dims.filter(|(n, _)| **n > 1).map(|(n, stride)| (*stride, *n)).collect();
    dims.sort_unstable();
    let mut span = view.dtype().size();
    view.span() != 0
        && dims.into_iter().any(|(stride, extent)| {
            let folded = stride < span;
            // The whole span is addressable, and so is a part of it.
            span = span.saturating_add(stride.saturating_mul(extent as usize - 1));
            folded
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{Buffer, Space, ViewAccess};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::ptr::NonNull;
    use std::sync::{Arc, OnceLock};
    use wsp_core::DType;

    fn buffer() -> Arc<Buffer> {
        static BUFFER: OnceLock<Arc<Buffer>> = OnceLock::new();
        BUFFER.get_or_init(|| Buffer::zeros(1 << 17, 64).expect("it is small")).clone()
    }

    fn view(at: usize, dtype: DType, dims: &[u64], strides: &[i64]) -> View {
        View::new(buffer(), at, dtype, dims, strides).expect("it fits")
    }

    #[test]
    fn addresses_of_two_spaces_have_nothing_to_do_with_each_other() {
        let on = |space| {
            // SAFETY: nothing reads or writes an element.
            let buffer =
                unsafe { Buffer::new(Arc::new(()), NonNull::dangling(), 64, ViewAccess::ReadWrite, space) };
            View::dense(buffer, DType::U8, &[64]).expect("it fits")
        };
        assert_eq!(sharing(&on(Space::Host), &on(Space::Host)), Sharing::Shared);
        assert_eq!(sharing(&on(Space::Host), &on(Space::Device(0))), Sharing::Disjoint);
        assert_eq!(sharing(&on(Space::Device(1)), &on(Space::Device(0))), Sharing::Disjoint);
        let refused = on(Space::Device(1)).usable(false).unwrap_err();
        assert_eq!(refused.to_string(), "its elements are on device 1");
    }

    /// Offset of every byte.
    fn bytes(view: &View) -> Vec<usize> {
        let mut all = vec![view.ptr() as usize];
        for (&extent, &stride) in view.shape().iter().zip(view.strides()) {
            all = all.iter().flat_map(|at| (0..extent as usize).map(move |i| at + i * stride)).collect();
        }
        all.iter().flat_map(|at| (0..view.dtype().size()).map(move |i| at + i)).collect()
    }

    #[test]
    fn halves_of_rows_and_interleaved_rows_are_disjoint() {
        let half = |column: usize| view(4 * column, DType::F32, &[100, 64], &[512, 4]);
        assert_eq!(sharing(&half(0), &half(64)), Sharing::Disjoint);
        assert_eq!(sharing(&half(0), &half(63)), Sharing::Shared);
        let every_second = |row: usize| view(512 * row, DType::F32, &[50, 128], &[1024, 4]);
        assert_eq!(sharing(&every_second(0), &every_second(1)), Sharing::Disjoint);
        assert_eq!(sharing(&every_second(0), &every_second(2)), Sharing::Shared);
    }

    #[test]
    fn only_what_folds_shares_memory_with_itself() {
        assert!(!shares_with_itself(&view(0, DType::F32, &[8, 3], &[4, 64])));
        assert!(shares_with_itself(&view(0, DType::F32, &[2, 3], &[0, 4])));
        assert!(shares_with_itself(&view(0, DType::F32, &[6, 3], &[4, 4])));
        assert!(!shares_with_itself(&view(0, DType::F32, &[0, 3], &[0, 4])));
    }

    fn any_view() -> impl Strategy<Value = View> {
        let dtype = prop::sample::select(vec![DType::U8, DType::F16, DType::F32]);
        (dtype, 0usize..80, prop::collection::vec((0u64..4, 0i64..9), 0..4)).prop_map(|(dtype, at, dims)| {
            let (extents, strides): (Vec<u64>, Vec<i64>) =
                dims.into_iter().map(|(n, stride)| (n, stride * dtype.size() as i64)).unzip();
            view(at, dtype, &extents, &strides)
        })
    }

    proptest! {
        #[test]
        fn sharing_is_what_counting_bytes_says(a in any_view(), b in any_view()) {
            let in_a: BTreeSet<usize> = bytes(&a).into_iter().collect();
            let shared = bytes(&b).iter().any(|byte| in_a.contains(byte));
            let expected = if shared { Sharing::Shared } else { Sharing::Disjoint };
            prop_assert_eq!(sharing(&a, &b), expected);
            prop_assert_eq!(sharing(&b, &a), expected);
        }

        #[test]
        fn an_array_that_is_said_not_to_share_with_itself_does_not(a in any_view()) {
            let all = bytes(&a);
            let distinct: BTreeSet<usize> = all.iter().copied().collect();
            prop_assert!(shares_with_itself(&a) || distinct.len() == all.len());
        }
    }
}
