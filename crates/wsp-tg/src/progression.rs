//! Numbers at equal distances: byte distances of two ranges, round by round of a loop.

/// `start + n * step` for each `n` from 0 to below `values`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Progression {
    pub(super) start: i128,
    pub(super) step: i128,
    pub(super) values: i128,
}

impl Progression {
    /// Whether one of them lies between `low` and `high`, both excluded; none if that takes numbers of more than 128 bits.
    pub(super) fn has_between(self, low: i128, high: i128) -> Option<bool> {
        if self.values <= 0 {
            return Some(false);
        }
        let end = self.step.checked_mul(self.values - 1)?.checked_add(self.start)?;
        let (least, most, stride) = (self.start.min(end), self.start.max(end), self.step.checked_abs()?);
        // The least of them that is above `low`.
        let first = match low.checked_sub(least)? {
            below if below < 0 => least,
            // All of them are one number, which is not above `low`.
            _ if stride == 0 => return Some(false),
            below => least.checked_add((below / stride + 1).checked_mul(stride)?)?,
        };
        Some(first <= most && first < high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_between_two_bounds_is_found_wherever_it_stands() {
        for (start, step, values) in (-9..9)
            .flat_map(|start| (-5..5).flat_map(move |step| (0..6).map(move |values| (start, step, values))))
        {
            let numbers = Progression { start, step, values };
            for (low, high) in
                (-20..20).flat_map(|low| (low..low + 40).step_by(3).map(move |high| (low, high)))
            {
                let has = (0..values).any(|n| (low + 1..high).contains(&(start + n * step)));
                assert_eq!(numbers.has_between(low, high), Some(has), "{numbers:?} in {low}..{high}");
            }
        }
    }

    #[test]
    fn numbers_of_more_than_128_bits_have_no_answer() {
        let numbers = Progression { start: 0, step: i128::MAX, values: 3 };
        assert_eq!(numbers.has_between(0, 1), None);
        assert_eq!(Progression { start: i128::MIN, step: 0, values: 1 }.has_between(1, 2), None);
    }
}
