//! Sums of multiples of variables that are named, of which there may be any number.
//!
//! Where variables are places, and nothing is to be allocated, [`wsp_core::int::Affine`] is the form.

/// A constant plus multiples of variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Affine<V> {
    /// What is added.
    pub constant: i128,
    /// Variables and their factors, none of them 0, by variable.
    pub terms: Vec<(V, i128)>,
}

impl<V> Default for Affine<V> {
    fn default() -> Affine<V> {
        Affine { constant: 0, terms: Vec::new() }
    }
}

impl<V: Copy + Ord> Affine<V> {
    /// A constant.
    pub fn constant(value: i64) -> Affine<V> {
        Affine { constant: i128::from(value), terms: Vec::new() }
    }

    /// A variable.
    pub fn variable(variable: V) -> Affine<V> {
        Affine { constant: 0, terms: vec![(variable, 1)] }
    }

    /// The number that it is if it has no variable.
    pub fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The sum; `None` if 128 bits do not hold a number.
    pub fn add(&self, other: &Affine<V>) -> Option<Affine<V>> {
        let mut sum =
            Affine { constant: self.constant.checked_add(other.constant)?, terms: self.terms.clone() };
        for &(variable, factor) in &other.terms {
            match sum.terms.iter_mut().find(|term| term.0 == variable) {
                Some(term) => term.1 = term.1.checked_add(factor)?,
                None => sum.terms.push((variable, factor)),
            }
        }
        sum.terms.retain(|term| term.1 != 0);
        sum.terms.sort_unstable();
        Some(sum)
    }

    /// The difference; `None` if 128 bits do not hold a number.
    pub fn minus(&self, other: &Affine<V>) -> Option<Affine<V>> {
        self.add(&other.times(-1)?)
    }

    /// A multiple; `None` if 128 bits do not hold a number.
    pub fn times(&self, factor: i128) -> Option<Affine<V>> {
        if factor == 0 {
            return Some(Affine::default());
        }
        let terms = self.terms.iter().map(|&(variable, have)| Some((variable, have.checked_mul(factor)?)));
        Some(Affine { constant: self.constant.checked_mul(factor)?, terms: terms.collect::<Option<_>>()? })
    }

    /// The product, if one of the two is a constant.
    pub fn multiply(&self, other: &Affine<V>) -> Option<Affine<V>> {
        match (self.as_constant(), other.as_constant()) {
            (Some(factor), _) => other.times(factor),
            (_, Some(factor)) => self.times(factor),
            _ => None,
        }
    }
}
