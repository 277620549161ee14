//! Random numbers by their place in a sequence: Philox-4x32 with 10 rounds, of J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel Random
//! Numbers: As Easy as 1, 2, 3", SC 2011. The reference page of tile operations says how numbers follow from its words.

/// Number `place` of the sequence of `seed`, in [0, 1).
pub(super) fn number(seed: u32, place: u64) -> f32 {
    let block = place / 4;
    let words = philox([seed, 0], [block as u32, (block >> 32) as u32, 0, 0]);
    (words[(place % 4) as usize] >> 8) as f32 / 16_777_216.0
}

fn philox(mut key: [u32; 2], mut counter: [u32; 4]) -> [u32; 4] {
    for round in 0..10 {
        if round > 0 {
            key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
        }
        let first = u64::from(counter[0]) * 0xD251_1F53;
        let second = u64::from(counter[2]) * 0xCD9E_8D57;
        counter = [
            (second >> 32) as u32 ^ counter[1] ^ key[0],
            second as u32,
            (first >> 32) as u32 ^ counter[3] ^ key[1],
            first as u32,
        ];
    }
    counter
}
