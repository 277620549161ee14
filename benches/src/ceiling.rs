//! The most that this machine can read from memory: what no kernel that reads the same bytes can beat.

use super::runtime::measure::{Moment, Span};
use std::hint::black_box;

/// Bytes of a cache line: what memory delivers when any of them is read.
const LINE: usize = 64;

/// How a thread walks its share: in one go, or at several places in turn, which keeps more pages in flight. Which of
/// them is the fastest depends on the machine.
const WALKS: [fn(&[u8]) -> u64; 4] = [sum::<1>, sum::<2>, sum::<4>, sum::<8>];

/// Reads all the bytes with some threads, several times in each of several ways; the best rate in 10^9 bytes per second.
pub(crate) fn read_rate(parts: &[&[u8]], threads: u32, repeats: u32) -> f64 {
    let total: usize = parts.iter().map(|p| p.len()).sum();
    total as f64 / read_time(parts, threads, repeats).wall
}

/// Reads all the bytes with some threads, several times in each of several ways; the least time of each clock.
pub(crate) fn read_time(parts: &[&[u8]], threads: u32, repeats: u32) -> Span {
    let mut best = Span { wall: f64::INFINITY, cpu: f64::INFINITY };
    for _ in 0..repeats.max(1) {
        for walk in WALKS {
            let start = Moment::now();
            black_box(read(parts, threads.max(1) as usize, walk));
            let span = start.to(Moment::now());
            best = Span { wall: best.wall.min(span.wall), cpu: best.cpu.min(span.cpu) };
        }
    }
    best
}

fn read(parts: &[&[u8]], threads: usize, walk: fn(&[u8]) -> u64) -> u64 {
    let work = |t: usize| parts.iter().map(|part| walk(share(part, t, threads))).fold(0, u64::wrapping_add);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|t| scope.spawn(move || work(t))).collect();
        let own = work(0);
        others.into_iter().map(|o| o.join().expect("reading should not panic")).fold(own, u64::wrapping_add)
    })
}

/// The part of `bytes` that thread `t` of `threads` reads.
fn share(bytes: &[u8], t: usize, threads: usize) -> &[u8] {
    let each = bytes.len().div_ceil(threads).next_multiple_of(LINE);
    &bytes[(t * each).min(bytes.len())..((t + 1) * each).min(bytes.len())]
}

/// The wrapping sum of the first word of every line, read at `STREAMS` places in turn; bytes after the last line count singly.
///
/// A word brings its line, so that one load per line asks for everything; with so little to do per line the loop waits for memory
/// however it was compiled.
fn sum<const STREAMS: usize>(bytes: &[u8]) -> u64 {
    let (lines, tail) = bytes.as_chunks::<LINE>();
    let length = lines.len() / STREAMS;
    let mut sum = 0u64;
    for at in 0..length {
        for stream in 0..STREAMS {
            sum = sum.wrapping_add(first_word(&lines[stream * length + at]));
        }
    }
    for line in &lines[length * STREAMS..] {
        sum = sum.wrapping_add(first_word(line));
    }
    for byte in tail {
        sum = sum.wrapping_add(u64::from(*byte));
    }
    sum
}

#[inline(always)]
fn first_word(line: &[u8; LINE]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *line;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_once_however_it_is_walked() {
        let bytes: Vec<u8> = (0..40_007u32).map(|i| (i % 251) as u8).collect();
        let whole = &bytes[..bytes.len() / LINE * LINE];
        let want = whole.chunks(LINE).fold(0, |sum: u64, line| {
            sum.wrapping_add(line[..8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
        });
        for threads in [1, 2, 3, 64] {
            let shares: usize = (0..threads).map(|t| share(&bytes, t, threads).len()).sum();
            assert_eq!(shares, bytes.len());
            for walk in WALKS {
                assert_eq!(read(&[whole], threads, walk), want);
            }
        }
        assert!(read_rate(&[&bytes, &bytes], 2, 2) > 0.0);
        assert_eq!(read(&[&[]], 3, sum::<4>), 0);
    }
}
