//! What the references of layers share: arrays as f64, dot products, softmax, loops over rows.

use super::{Comparison, Context, Tolerance, find, one, role, to_f64};
use pto_wsp::codes;
use std::sync::Mutex;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;
use wsp_ir::Reference;
use wsp_plan::Array;

/// The error of the worst of some million elements, as a multiple of the usual one that the square root of the terms stands for.
pub(super) const WORST_OF_MANY: f64 = 2.0;

/// Sums of fewer terms than this are given the tolerance of as many.
const FEW_TERMS: usize = 256;

/// An array as f64 in row-major order.
pub(super) struct Dense {
    /// Its extents.
    pub(super) shape: Vec<usize>,
    /// Its elements.
    pub(super) values: Vec<f64>,
}

impl Dense {
    /// The input that plays a role.
    pub(super) fn input(reference: &Reference, cx: &Context<'_>, what: &str) -> Result<Dense, Diagnostic> {
        Dense::input_named(reference, cx, role(reference, what)?)
    }

    /// An input by its name.
    pub(super) fn input_named(
        reference: &Reference,
        cx: &Context<'_>,
        name: &str,
    ) -> Result<Dense, Diagnostic> {
        let array = find(reference, cx.inputs, name)?;
        Dense::of(array).ok_or_else(|| unfit(reference, format!("`{name}` is {array:?}, no real numbers")))
    }

    /// `None` when the elements are not real numbers.
    pub(super) fn of(array: &Array) -> Option<Dense> {
        let shape = array.shape().iter().map(|&n| n as usize).collect();
        Some(Dense { shape, values: to_f64(array)? })
    }

    /// Elements along the last dimension.
    pub(super) fn cols(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Elements `[row, ..]` of the array as rows of its last dimension.
    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.cols()..][..self.cols()]
    }
}

/// The array with these integers that plays a role.
pub(super) fn integers(
    reference: &Reference,
    cx: &Context<'_>,
    what: &str,
) -> Result<Vec<usize>, Diagnostic> {
    let name = role(reference, what)?;
    let values = crate::to_u32(name, find(reference, cx.inputs, name)?)?;
    Ok(values.into_iter().map(|n| n as usize).collect())
}

/// The value of the parameter that plays a role.
pub(super) fn number(reference: &Reference, cx: &Context<'_>, what: &str) -> Result<f64, Diagnostic> {
    let name = role(reference, what)?;
    (cx.params)(name).ok_or_else(|| {
        Diagnostic::error(codes::CANNOT_COMPARE, format!("`{name}` has no value to compute a reference with"))
            .at(reference.span, format!("its role is `{what}`"))
            .help(format!("declare `PTO_PARAM(…, {name}, …)`"))
    })
}

/// A parameter that counts something.
pub(super) fn count(reference: &Reference, cx: &Context<'_>, what: &str) -> Result<usize, Diagnostic> {
    let value = number(reference, cx, what)?;
    // Launch integers are exact in f64 as far as extents go.
    if value >= 0.0 && value.fract() == 0.0 && value < 2f64.powi(53) {
        Ok(value as usize)
    } else {
        Err(unfit(reference, format!("`{what}` is {value}, no count")))
    }
}

/// What to say of arrays from which the reference cannot be computed.
pub(super) fn unfit(reference: &Reference, why: String) -> Diagnostic {
    Diagnostic::error(codes::CANNOT_COMPARE, "the reference cannot be computed from these arrays")
        .at(reference.span, "named here")
        .note(why)
}

/// Checks that an array has these extents.
pub(super) fn expect_shape(
    reference: &Reference,
    what: &str,
    array: &Dense,
    shape: &[usize],
) -> Result<(), Diagnostic> {
    if array.shape == shape {
        return Ok(());
    }
    Err(unfit(reference, format!("`{what}` is {:?}, where {shape:?} is needed", array.shape)))
}

/// Checks the row pointers of `rows` rows over `entries` entries.
pub(super) fn expect_rows(
    reference: &Reference,
    indptr: &[usize],
    rows: usize,
    entries: usize,
) -> Result<(), Diagnostic> {
    let ascending = indptr.is_sorted() && indptr.first() == Some(&0) && indptr.last() == Some(&entries);
    if indptr.len() == rows + 1 && ascending {
        return Ok(());
    }
    Err(unfit(
        reference,
        format!(
            "{} row pointers do not cut {entries} into {rows}",
            indptr.len(),
            entries = counted(entries, "entry"),
            rows = counted(rows, "row")
        ),
    ))
}

/// Compares an output that ends in f32 sums of up to `n` terms.
pub(super) fn compare_sums(
    reference: &Reference,
    cx: &Context<'_>,
    what: &str,
    want: &[f64],
    n: usize,
) -> Result<Comparison, Diagnostic> {
    let output = find(reference, cx.outputs, role(reference, what)?)?;
    one(reference, cx, what, want, worst_of_sums(n, want).rounded_to(output.dtype()))
}

/// [`tolerance_of_sums`] for the worst of some million elements.
pub(super) fn worst_of_sums(n: usize, output: &[f64]) -> Tolerance {
    let sums = tolerance_of_sums(n, output);
    Tolerance { abs: WORST_OF_MANY * sums.abs, rel: WORST_OF_MANY * sums.rel }
}

/// How far f32 results may be from outputs that end in sums of up to `n` terms.
///
/// Rounding errors of a sum of `n` terms grow like `√n u` with u = 2^-24, as errors of random sign do (Higham and Mary,
/// "A new approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019), in proportion to the size of its
/// terms. That is the size of the output as a whole: hence the part in proportion to its root mean square. Few terms still
/// go through several roundings.
pub(super) fn tolerance_of_sums(n: usize, output: &[f64]) -> Tolerance {
    let finite = || output.iter().filter(|x| x.is_finite());
    let square: f64 = finite().map(|x| x * x).sum();
    let size = (square / finite().count().max(1) as f64).sqrt();
    let rel = (n.max(FEW_TERMS) as f64).sqrt() * 2f64.powi(-24);
    // A floor, so that an output of zeros allows zeros.
    Tolerance { abs: (rel * size).max(f64::MIN_POSITIVE), rel }
}

/// Rows of `cols` numbers, each computed by `work(row, out)` from zeros, on `threads` threads.
pub(super) fn by_rows(
    threads: usize,
    rows: usize,
    cols: usize,
    work: impl Fn(usize, &mut [f64]) + Sync,
) -> Vec<f64> {
    let mut values = vec![0.0; rows * cols];
    if values.is_empty() {
        return values;
    }
    let left = Mutex::new(values.chunks_mut(cols).enumerate());
    let next = || left.lock().expect("no thread should panic with the lock").next();
    let run = || {
        while let Some((row, out)) = next() {
            work(row, out);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(rows) {
            scope.spawn(run);
        }
        run();
    });
    values
}

/// `a · bᵀ` of rows of `inner` numbers.
pub(super) fn product(threads: usize, a: &[f64], b: &[f64], inner: usize) -> Vec<f64> {
    let inner = inner.max(1);
    by_rows(threads, a.len() / inner, b.len() / inner, |row, out| {
        let left = &a[row * inner..][..inner];
        for (out, right) in out.iter_mut().zip(b.chunks_exact(inner)) {
            *out = dot(left, right);
        }
    })
}

/// `x / (1 + e^-x)`.
pub(super) fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// Adds softmax of the scores, times the values, to `out`; `log2` of the sum of exponentials.
pub(super) fn attend<'v>(scores: &mut [f64], value: impl Fn(usize) -> &'v [f64], out: &mut [f64]) -> f64 {
    let (sum, log) = exponentials(scores);
    for (s, weight) in scores.iter().enumerate() {
        for (out, v) in out.iter_mut().zip(value(s)) {
            *out += weight / sum * v;
        }
    }
    log
}

/// The larger of a number and 0; NaN of NaN.
pub(super) fn relu(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

/// Turns logits into exponentials relative to their maximum; their sum, and `log2` of the sum of plain exponentials.
pub(super) fn exponentials(logits: &mut [f64]) -> (f64, f64) {
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for x in logits.iter_mut() {
        *x = (*x - max).exp();
        sum += *x;
    }
    (sum, (max + sum.ln()) * std::f64::consts::LOG2_E)
}

/// The sum of products.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_blocks, b_blocks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f64 = a_blocks.remainder().iter().zip(b_blocks.remainder()).map(|(x, y)| x * y).sum();
    for (a, b) in a_blocks.zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_dot_products_of_rows() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
        for threads in [1, 3] {
            assert_eq!(product(threads, &a, &b, 2), [17.0, 23.0, 29.0, 39.0, 53.0, 67.0]);
        }
        assert!(product(1, &[], &b, 2).is_empty());
    }

    #[test]
    fn attention_weighs_values_by_softmax() {
        let values = [[1.0, 0.0], [0.0, 4.0]];
        let mut out = [0.0; 2];
        let log = attend(&mut [0.0, 3f64.ln()], |s| &values[s][..], &mut out);
        assert!((out[0] - 0.25).abs() < 1e-15 && (out[1] - 3.0).abs() < 1e-15 && (log - 2.0).abs() < 1e-15);
    }

    #[test]
    fn tolerances_follow_the_size_of_the_output() {
        let t = tolerance_of_sums(1024, &[3.0, f64::NEG_INFINITY, -3.0]);
        assert_eq!((t.rel, t.abs), (32.0 * 2f64.powi(-24), 96.0 * 2f64.powi(-24)));
        assert!(tolerance_of_sums(1, &[]).abs > 0.0);
    }
}
