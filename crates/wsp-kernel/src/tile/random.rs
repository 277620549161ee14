//! Random numbers by their place in a sequence: Philox-4x32 with 10 rounds, of J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel Random
//! Numbers: As Easy as 1, 2, 3", SC 2011.

use super::Tiles;

/// Numbers of a sequence by row and column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    /// Which sequence.
    pub(crate) seed: u32,
    /// The number of row 0 and column 0.
    pub(crate) first: u32,
    /// From one row to the next.
    pub(crate) pitch: u32,
}

impl Sequence {
    /// The numbers of a row, from its first column on.
    pub(super) fn row(self, r: usize) -> impl Iterator<Item = f32> {
        let first = u64::from(self.first) + r as u64 * u64::from(self.pitch);
        let mut words = [0; 4];
        (first..).map(move |place| {
            if place == first || place.is_multiple_of(4) {
                let block = place / 4;
                words = philox([self.seed, 0], [block as u32, (block >> 32) as u32, 0, 0]);
            }
            // The upper 24 bits, which a float holds.
            (words[(place % 4) as usize] >> 8) as f32 * (1.0 / 16_777_216.0)
        })
    }
}

impl Tiles {
    /// `TRANDOM`: at most `rows` and `cols` of the capacity become valid, with numbers of the sequence in [0, 1).
    pub(crate) fn random(&mut self, dst: usize, sequence: Sequence, rows: Option<u32>, cols: Option<u32>) {
        let shape = self.at_most(dst, rows, cols);
        let grid = self.begin(dst, shape);
        for r in 0..grid.rows {
            // SAFETY: the row has `cols` floats, and nothing else refers to the buffer here.
            let row = unsafe { core::slice::from_raw_parts_mut(grid.row(r), grid.cols) };
            row.iter_mut().zip(sequence.row(r)).for_each(|(to, number)| *to = number);
        }
        self.round(dst);
    }
}

/// Four words for a key and a counter.
fn philox(mut key: [u32; 2], mut counter: [u32; 4]) -> [u32; 4] {
    let product = |a: u32, b: u32| {
        let product = u64::from(a) * u64::from(b);
        ((product >> 32) as u32, product as u32)
    };
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        }
        let (high0, low0) = product(0xD251_1F53, counter[0]);
        let (high1, low1) = product(0xCD9E_8D57, counter[2]);
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers of the authors' own implementation, file `kat_vectors` of Random123.
    #[test]
    fn philox_gives_the_known_answers() {
        assert_eq!(philox([0; 2], [0; 4]), [0x6627_E8D5, 0xE169_C58D, 0xBC57_AC4C, 0x9B00_DBD8]);
        let ones = u32::MAX;
        assert_eq!(philox([ones; 2], [ones; 4]), [0x408F_276D, 0x41C8_3B0E, 0xA20B_C7C6, 0x6D54_51FD]);
        let (key, counter) =
            ([0xA409_3822, 0x299F_31D0], [0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344]);
        assert_eq!(philox(key, counter), [0xD16C_FE09, 0x94FD_CCEB, 0x5001_E420, 0x2412_6EA1]);
    }
}
