//! Arrays that lowered schedules read and that follow from arrays of the launch.

use crate::bind::Bound;
use crate::codes;
use std::borrow::Cow;
use wsp_core::AxisId;
use wsp_diag::Span;
use wsp_ir::{Derivation, LaunchArray, MetaKind, Module};
use wsp_kernel::{Env, IntArray, Trap};
use wsp_plan::LoweredPlan;

/// Derives the arrays of a plan and gives them to `env`.
///
/// # Errors
/// When a source is not bound, or holds what is no number of elements.
pub(crate) fn derive(plan: &LoweredPlan, bound: &Bound, env: &mut Env) -> Result<(), Trap> {
    let derived = plan
        .derived
        .iter()
        .map(|&array| {
            let lengths = elements(plan, bound, (array.of, array.last), env)?;
            let derived = match array.kind {
                Derivation::Starts => IntArray::U64(starts(&lengths).into()),
                Derivation::LongestFirst => IntArray::U32(longest_first(&lengths).into()),
            };
            Ok((array, derived))
        })
        .collect::<Result<_, Trap>>()?;
    env.derived = derived;
    Ok(())
}

/// The elements of a source, of which only so many last ones count as the axis has.
///
/// # Errors
/// When it is not bound, or holds what is no number of elements.
pub(crate) fn elements<'e>(
    plan: &LoweredPlan,
    bound: &Bound,
    (of, axis): (LaunchArray, Option<AxisId>),
    env: &'e Env,
) -> Result<Cow<'e, [u32]>, Trap> {
    let lengths = lengths(&plan.module, of, env)?;
    Ok(match axis.map_or(u32::MAX, |axis| bound.last(axis)) {
        u32::MAX => lengths,
        last => lengths.iter().map(|length| *length.min(&last)).collect(),
    })
}

/// The elements of a source.
///
/// # Errors
/// When it is not bound, or holds what is no number of elements.
fn lengths<'e>(module: &Module, of: LaunchArray, env: &'e Env) -> Result<Cow<'e, [u32]>, Trap> {
    let (array, declared) = match of {
        LaunchArray::Tensor(id) => {
            let tensor = module.tensors.get(id.index());
            (env.arrays.get(id.index()).and_then(Option::as_ref), tensor.map(|t| (&t.name, t.span)))
        }
        LaunchArray::Meta(id, kind) => {
            let table = env.caches.get(id.index()).and_then(Option::as_ref);
            let array = table.map(|table| match kind {
                MetaKind::Lengths => &table.lengths,
                MetaKind::Indptr => &table.indptr,
                MetaKind::Indices => &table.indices,
                MetaKind::LastPageLen => &table.last_page_len,
            });
            (array, module.caches.get(id.index()).map(|c| (&c.name, c.span)))
        }
    };
    let unbound = || Trap::internal("an array of lengths that is not bound", Span::default());
    let (array, (name, span)) = (array.ok_or_else(unbound)?, declared.ok_or_else(unbound)?);
    if let IntArray::U32(lengths) = array {
        return Ok(Cow::Borrowed(lengths));
    }
    (0..array.len())
        .map(|at| {
            let value = element(array, at);
            u32::try_from(value).map_err(|_| {
                let message = format!("`{name}[{at}]` is {value}, which is no number of elements");
                Trap::new(codes::TOO_LARGE, message, span).note("lengths lie in 0..=4294967295")
            })
        })
        .collect()
}

/// An element of an array that is as long.
pub(crate) fn element(array: &IntArray, at: usize) -> i128 {
    match array {
        IntArray::I32(a) => a[at].into(),
        IntArray::U32(a) => a[at].into(),
        IntArray::I64(a) => a[at].into(),
        IntArray::U64(a) => a[at].into(),
        // Arrays that lie elsewhere are those of kernels of workloads, which have no generators.
        IntArray::View(_) => 0,
    }
}

/// Element `i` is the sum of the first `i` lengths; one more than there are lengths.
fn starts(lengths: &[u32]) -> Vec<u64> {
    let mut sum = 0u64;
    let mut starts = Vec::with_capacity(lengths.len() + 1);
    starts.push(0);
    starts.extend(lengths.iter().map(|&length| {
        sum += u64::from(length);
        sum
    }));
    starts
}

/// Indices by falling length, equal ones by rising index.
fn longest_first(lengths: &[u32]) -> Vec<u32> {
    // One word per index, the length turned round above it, so that all differ and no length is looked up meanwhile.
    let word = |(index, length): (usize, &u32)| u64::from(!length) << 32 | index as u64;
    let mut order: Vec<u64> = lengths.iter().enumerate().map(word).collect();
    order.sort_unstable();
    order.into_iter().map(|word| word as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_the_sums_before_each_index_and_the_total() {
        assert_eq!(starts(&[3, 0, u32::MAX, u32::MAX]), [0, 3, 3, 3 + 0xFFFF_FFFF, 3 + 2 * 0xFFFF_FFFF]);
        assert_eq!(starts(&[]), [0]);
    }

    #[test]
    fn the_longest_come_first_and_equal_ones_keep_their_order() {
        assert_eq!(longest_first(&[5, 0, 9, 5, 9]), [2, 4, 0, 3, 1]);
    }
}
