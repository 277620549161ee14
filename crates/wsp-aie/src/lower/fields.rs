//! Boxes of an array as transfers, each of which the fields of a descriptor hold.

use crate::device::{ITERATIONS, TileKind};

/// Most transfers of a sequence.
pub(super) const TRANSFERS: usize = 1 << 14;
/// A factor of a size below it is not worth a dimension.
const SHORT: u64 = 8;

/// Offsets as runs with equal distances, of runs, and so on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Where it begins.
    pub base: u64,
    /// How often and how far apart, the outermost first.
    pub loops: Vec<(u64, i64)>,
    /// What was said of its first offset.
    pub first: usize,
}

/// Finds them; of each offset something may be said.
pub fn runs(items: &[(u64, usize)]) -> Vec<Run> {
    let mut all: Vec<Run> =
        items.iter().map(|(base, first)| Run { base: *base, loops: Vec::new(), first: *first }).collect();
    loop {
        let before = all.len();
        let mut next: Vec<Run> = Vec::new();
        let mut at = 0;
        while at < all.len() {
            let delta = |i: usize| all[i + 1].base as i64 - all[i].base as i64;
            let mut end = at;
            while end + 1 < all.len()
                && all[end + 1].loops == all[at].loops
                && delta(end) >= 0
                && delta(end) == delta(at)
            {
                end += 1;
            }
            let mut run = all[at].clone();
            if end > at {
                run.loops.insert(0, ((end - at + 1) as u64, delta(at)));
            }
            next.push(run);
            at = end + 1;
        }
        all = next;
        if all.len() == before {
            return all;
        }
    }
}

/// Dimensions that go on in each other as one, without those of size 1.
pub fn merged(dims: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for (size, stride) in dims.iter().copied().filter(|(size, _)| *size > 1) {
        match out.last_mut() {
            Some((outer, apart)) if *apart == size * stride => {
                *outer *= size;
                *apart = stride;
            }
            _ => out.push((size, stride)),
        }
    }
    if out.is_empty() { vec![(1, 1)] } else { out }
}

/// Elements of a type that are a word of a stream.
fn word(bytes: u64) -> u64 {
    4u64.checked_div(bytes).unwrap_or(1).max(1)
}

/// The largest factor of a size that a field holds.
fn factor(size: u64, most: u64) -> u64 {
    (1..=most.min(size)).rev().find(|part| size.is_multiple_of(*part)).unwrap_or(1)
}

/// The same transfer, of elements of so many bytes, or several, each of which a descriptor of a shim tile holds.
pub fn legal(base: u64, dims: &[(u64, u64)], bytes: u64, out: &mut Vec<(u64, Vec<(u64, u64)>)>) {
    let model = TileKind::Shim.model();
    let is_line = matches!(dims, [] | [(_, 1)] | [(1, _)]);
    if is_line || out.len() > TRANSFERS {
        out.push((base, dims.to_vec()));
        return;
    }
    let mut parts: Vec<(u64, u64)> = Vec::new();
    let mut split = true;
    for (at, (size, stride)) in dims.iter().copied().enumerate() {
        let is_inner = at + 1 == dims.len();
        let unit = if is_inner && stride == 1 { word(bytes) } else { 1 };
        let most = model.size_max() * unit;
        // The outermost of three or fewer has no field of its own.
        if size <= most || (at == 0 && dims.len() <= 3 && !is_inner) {
            parts.push((size, stride));
            continue;
        }
        let part = unit * factor(size / unit, model.size_max());
        split &= part / unit >= SHORT && size.is_multiple_of(unit);
        parts.extend([(size / part, stride * part), (part, stride)]);
    }
    let far = parts.iter().any(|(_, stride)| (stride * bytes).div_ceil(4) > model.stride_max());
    let still = parts.iter().skip(1).any(|(_, stride)| *stride == 0);
    if split && !far && !still && parts.len() <= 4 {
        let repeats = parts.len() == 4 || parts[0].1 == 0;
        if !repeats || parts[0].0 <= ITERATIONS {
            return out.push((base, parts));
        }
        let (rounds, apart) = parts[0];
        for begin in (0..rounds).step_by(ITERATIONS as usize) {
            let mut piece = parts.clone();
            piece[0].0 = ITERATIONS.min(rounds - begin);
            out.push((base + begin * apart, piece));
        }
        return;
    }
    let (rounds, apart) = dims[0];
    for round in 0..rounds {
        legal(base + round * apart, &dims[1..], bytes, out);
    }
}
