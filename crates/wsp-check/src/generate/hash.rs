//! The generator behind all made-up numbers.

/// Streams of one seed: `tid` in the formula of the reference cases.
pub(super) mod stream {
    pub(in crate::generate) const Q: u64 = 1;
    pub(in crate::generate) const K: u64 = 2;
    pub(in crate::generate) const V: u64 = 3;
    pub(in crate::generate) const SINKS: u64 = 5;
    pub(in crate::generate) const LENGTHS: u64 = 101;
    pub(in crate::generate) const PAGES: u64 = 102;
    pub(in crate::generate) const ROUTES: u64 = 103;
}

#[inline(always)]
pub(super) fn splitmix64(x: u64) -> u64 {
    let z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The key of one stream of a seed.
pub(super) fn key(seed: u64, stream: u64) -> u64 {
    splitmix64(seed.wrapping_mul(1_000_003).wrapping_add(stream))
}

/// Element `index` of a stream: a multiple of 2^-23 in `[-1, 1)`.
#[inline(always)]
pub(super) fn unit(key: u64, index: u64) -> f32 {
    // The upper 24 bits minus 2^23 fit an i32, and every step is exact in f32.
    let bits = (splitmix64(key.wrapping_add(index)) >> 40) as i32;
    (bits - (1 << 23)) as f32 * (1.0 / (1 << 23) as f32)
}

/// A sequence of numbers drawn from a stream.
pub(super) struct Draws {
    key: u64,
    next: u64,
}

impl Draws {
    /// The beginning of a stream.
    pub(super) fn new(seed: u64, stream: u64) -> Draws {
        Draws { key: key(seed, stream), next: 0 }
    }

    /// 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.next += 1;
        splitmix64(self.key.wrapping_add(self.next))
    }

    /// Below `n`, which is not 0; as good as uniform for `n` below 2^32.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// In `(0, 1]`.
    fn positive(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// From the standard normal distribution.
    pub(super) fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.positive(), self.positive());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_is_the_published_generator() {
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn draws_stay_in_range() {
        let mut draws = Draws::new(3, stream::LENGTHS);
        assert!((0..1000).all(|_| draws.below(7) < 7));
        assert!((0..1000).all(|_| draws.normal().is_finite()));
        assert!((0..1000).all(|i| (-1.0..1.0).contains(&unit(5, i))));
    }
}
