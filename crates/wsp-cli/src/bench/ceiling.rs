//! The most that this machine can read from memory: what no kernel that reads the same bytes can beat.

use std::hint::black_box;
use std::time::Instant;

/// Bytes that one step of the loop reads.
const BLOCK: usize = 512;

/// Reads all the bytes with some threads, several times; the best rate in 10^9 bytes per second.
pub fn read_rate(parts: &[&[u8]], threads: u32, repeats: u32) -> f64 {
    let total: usize = parts.iter().map(|p| p.len()).sum();
    let mut best = f64::INFINITY;
    for _ in 0..repeats.max(1) {
        let start = Instant::now();
        black_box(read(parts, threads.max(1) as usize));
        best = best.min(start.elapsed().as_secs_f64());
    }
    total as f64 / best / 1e9
}

fn read(parts: &[&[u8]], threads: usize) -> u64 {
    let work = |t: usize| parts.iter().map(|part| sum(share(part, t, threads))).fold(0, u64::wrapping_add);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|t| scope.spawn(move || work(t))).collect();
        let own = work(0);
        others.into_iter().map(|o| o.join().expect("reading should not panic")).fold(own, u64::wrapping_add)
    })
}

/// The part of `bytes` that thread `t` of `threads` reads.
fn share(bytes: &[u8], t: usize, threads: usize) -> &[u8] {
    let each = bytes.len().div_ceil(threads).next_multiple_of(BLOCK);
    &bytes[(t * each).min(bytes.len())..((t + 1) * each).min(bytes.len())]
}

/// The wrapping sum of all words, in a form that becomes wide loads.
fn sum(bytes: &[u8]) -> u64 {
    let mut lanes = [0u64; BLOCK / 8];
    let blocks = bytes.chunks_exact(BLOCK);
    let rest = blocks.remainder().iter().fold(0u64, |sum, &b| sum.wrapping_add(u64::from(b)));
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = lane.wrapping_add(u64::from_le_bytes(*word));
        }
    }
    lanes.iter().fold(rest, |sum, &lane| sum.wrapping_add(lane))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_read_once() {
        let bytes: Vec<u8> = (0..10_007u32).map(|i| (i % 251) as u8).collect();
        let whole = sum(&bytes[..bytes.len() / BLOCK * BLOCK]);
        for threads in [1, 2, 3, 64] {
            let shares: usize = (0..threads).map(|t| share(&bytes, t, threads).len()).sum();
            assert_eq!(shares, bytes.len());
            assert_eq!(read(&[&bytes[..bytes.len() / BLOCK * BLOCK]], threads), whole);
        }
        assert!(read_rate(&[&bytes, &bytes], 2, 2) > 0.0);
        assert_eq!(read(&[&[]], 3), 0);
    }
}
