//! A set of numbers below a fixed bound, a bit each.

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    /// The empty set, for numbers below `end`.
    pub(crate) fn none(end: usize) -> Bits {
        Bits(vec![0; end.div_ceil(64)])
    }

    /// All numbers below `end`.
    pub(crate) fn all(end: usize) -> Bits {
        let mut all = Bits(vec![u64::MAX; end.div_ceil(64)]);
        if let (Some(last), 1..) = (all.0.last_mut(), end % 64) {
            *last = (1 << (end % 64)) - 1;
        }
        all
    }

    pub(crate) fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    /// Adds what another set of the same bound has.
    pub(crate) fn add(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Keeps what another set of the same bound has, too.
    pub(crate) fn keep(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= b);
    }

    /// Takes what another set of the same bound has.
    pub(crate) fn take(&mut self, other: &Bits) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a &= !b);
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn sets_of_any_bound_have_what_was_put_in() {
        for end in [1, 63, 64, 65, 130] {
            let (all, mut some) = (Bits::all(end), Bits::none(end));
            (0..end).step_by(3).for_each(|number| some.insert(number));
            let mut each = Bits::none(end);
            (0..end).for_each(|number| each.insert(number));
            assert_eq!(each, all);
            assert!((0..end).all(|number| all.has(number) && some.has(number) == (number % 3 == 0)));
            let mut rest = all.clone();
            rest.take(&some);
            assert!((0..end).all(|number| rest.has(number) != some.has(number)));
            rest.add(&some);
            assert_eq!(rest, all);
            rest.keep(&some);
            assert_eq!(rest, some);
            rest.remove(0);
            assert!(!rest.has(0));
        }
    }
}
