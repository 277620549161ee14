//! Sums of multiples of variables, with a place for each variable.

use super::{BinOp, Int};

/// `offset + scales[0] * variable 0 + scales[1] * variable 1 + …`. Nothing is allocated.
///
/// What the variables are is said where a form is made: the variables of loops by depth, the iterations of loops, tokens to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affine<T, const N: usize> {
    /// The part that never changes.
    pub offset: T,
    /// What each variable is multiplied by.
    pub scales: [T; N],
}

impl<T: Int + Default, const N: usize> Default for Affine<T, N> {
    fn default() -> Affine<T, N> {
        Affine::constant(T::default())
    }
}

impl<T: Int + Default, const N: usize> Affine<T, N> {
    /// A form without variables.
    #[inline]
    pub fn constant(offset: T) -> Affine<T, N> {
        Affine { offset, scales: [T::default(); N] }
    }

    /// The number that it is if no variable has a scale.
    #[inline]
    pub fn as_constant(&self) -> Option<T> {
        self.is_constant().then_some(self.offset)
    }

    /// Whether no variable has a scale.
    #[inline]
    pub fn is_constant(&self) -> bool {
        self.scales.iter().all(|scale| *scale == T::default())
    }

    /// The sum; none when a number does not fit.
    #[inline]
    pub fn plus(&self, other: &Affine<T, N>) -> Option<Affine<T, N>> {
        self.both(BinOp::Add, other)
    }

    /// The difference; none when a number does not fit.
    #[inline]
    pub fn minus(&self, other: &Affine<T, N>) -> Option<Affine<T, N>> {
        self.both(BinOp::Sub, other)
    }

    /// A multiple; none when a number does not fit.
    #[inline]
    pub fn times(&self, factor: T) -> Option<Affine<T, N>> {
        self.both(BinOp::Mul, &Affine { offset: factor, scales: [factor; N] })
    }

    /// What an operator makes of two forms; none when that is no form, or a number does not fit, or the operator has no result.
    #[inline]
    pub fn binary(op: BinOp, left: &Affine<T, N>, right: &Affine<T, N>) -> Option<Affine<T, N>> {
        match op {
            BinOp::Add => left.plus(right),
            BinOp::Sub => left.minus(right),
            BinOp::Mul => match (left.as_constant(), right.as_constant()) {
                (_, Some(factor)) => left.times(factor),
                (Some(factor), None) => right.times(factor),
                (None, None) => None,
            },
            _ => T::binary(op, left.as_constant()?, right.as_constant()?).ok().map(Affine::constant),
        }
    }

    /// The smallest and the largest value where each variable goes from 0 to a last number; none when they do not fit. Variables that
    /// are not given have the value 0.
    #[inline]
    pub fn range<L>(&self, lasts: impl IntoIterator<Item = L>) -> Option<(T, T)>
    where
        T: TryFrom<L>,
    {
        let (mut least, mut most) = (self.offset, self.offset);
        for (&scale, last) in self.scales.iter().zip(lasts) {
            let change = T::binary(BinOp::Mul, scale, T::try_from(last).ok()?).ok()?;
            least = T::binary(BinOp::Add, least, change.min(T::default())).ok()?;
            most = T::binary(BinOp::Add, most, change.max(T::default())).ok()?;
        }
        Some((least, most))
    }

    /// What an operator makes of the offsets, and of the scales of each variable.
    #[inline(always)]
    fn both(&self, op: BinOp, other: &Affine<T, N>) -> Option<Affine<T, N>> {
        let mut made = Affine::constant(T::binary(op, self.offset, other.offset).ok()?);
        for ((scale, left), right) in made.scales.iter_mut().zip(self.scales).zip(other.scales) {
            *scale = T::binary(op, left, right).ok()?;
        }
        Some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Form = Affine<i64, 2>;

    fn form(offset: i64, scales: [i64; 2]) -> Form {
        Affine { offset, scales }
    }

    #[test]
    fn a_form_has_the_value_of_the_operator_at_every_point() {
        let forms = &[form(3, [0, 0]), form(-2, [1, 0]), form(0, [-4, 5]), form(7, [2, -2])];
        let value = |of: &Form, at: [i64; 2]| of.offset + of.scales[0] * at[0] + of.scales[1] * at[1];
        for (&op, a, b) in BinOp::ALL
            .iter()
            .flat_map(|op| forms.iter().flat_map(move |a| forms.iter().map(move |b| (op, a, b))))
        {
            let Some(made) = Affine::binary(op, a, b) else {
                assert!(!matches!(op, BinOp::Add | BinOp::Sub), "{a:?} {op:?} {b:?}");
                continue;
            };
            for at in [[0, 0], [1, 0], [0, 1], [-3, 8]] {
                assert_eq!(
                    i64::binary(op, value(a, at), value(b, at)),
                    Ok(value(&made, at)),
                    "{a:?} {op:?} {b:?} {at:?}"
                );
            }
        }
    }

    #[test]
    fn products_of_variables_and_numbers_that_do_not_fit_are_none() {
        let variable = form(0, [1, 0]);
        assert_eq!(Affine::binary(BinOp::Mul, &variable, &variable), None);
        assert_eq!(Affine::binary(BinOp::Div, &variable, &Form::constant(2)), None);
        assert_eq!(Affine::binary(BinOp::Rem, &Form::constant(1), &Form::constant(0)), None);
        assert_eq!(form(i64::MAX, [0, 0]).plus(&Form::constant(1)), None);
        assert_eq!(form(0, [i64::MAX, 0]).times(2), None);
        assert_eq!(form(-1, [0, 0]).minus(&form(i64::MIN, [0, 0])), Some(Form::constant(i64::MAX)));
    }

    #[test]
    fn ranges_are_those_of_the_variables() {
        assert_eq!(form(10, [3, -2]).range([4u64, 5]), Some((0, 22)));
        assert_eq!(form(10, [3, -2]).range([4u64]), Some((10, 22)));
        assert_eq!(form(0, [2, 0]).range([u64::MAX]), None);
        assert_eq!(form(i64::MAX, [1, 0]).range([1u64]), None);
    }
}
