//! What the examples compute, in `f64`.

/// `a · b` of matrices with so many rows, columns and so deep.
pub(crate) fn product(a: &[f64], b: &[f64], (rows, cols, depth): (usize, usize, usize)) -> Vec<f64> {
    let at = |i: usize| (0..depth).map(|k| a[i / cols * depth + k] * b[k * cols + i % cols]).sum();
    (0..rows * cols).map(at).collect()
}

/// Rows divided by the root of their mean square, times a gain.
pub(crate) fn normalised(x: &[f64], gain: &[f64]) -> Vec<f64> {
    let row = |row: &[f64]| {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
        row.iter().zip(gain).map(|(x, gain)| x / (mean + 1e-5).sqrt() * gain).collect::<Vec<f64>>()
    };
    x.chunks(gain.len()).flat_map(row).collect()
}

/// The softmax of rows with so many columns.
pub(crate) fn softmax(x: &[f64], cols: usize) -> Vec<f64> {
    let row = |row: &[f64]| {
        let sum: f64 = row.iter().map(|x| x.exp()).sum();
        row.iter().map(|x| x.exp() / sum).collect::<Vec<f64>>()
    };
    x.chunks(cols).flat_map(row).collect()
}

/// Rows times weights, what is negative as zero, times weights: with so many rows, so wide and so wide between the layers.
pub(crate) fn two_layers(
    [x, up, down]: [&Vec<f64>; 3],
    (rows, wide, middle): (usize, usize, usize),
) -> Vec<f64> {
    let hidden: Vec<f64> = product(x, up, (rows, middle, wide)).iter().map(|x| x.max(0.0)).collect();
    product(&hidden, down, (rows, down.len() / middle, middle))
}

/// Attention of one query of 64 elements over so many tokens.
pub(crate) fn attention(q: &[f64], k: &[f64], v: &[f64], tokens: usize) -> Vec<f64> {
    let score = |t: usize| (0.125 * (0..64).map(|d| q[d] * k[64 * t + d]).sum::<f64>()).exp();
    let scores: Vec<f64> = (0..tokens).map(score).collect();
    let sum: f64 = scores.iter().sum();
    let of = |d: usize| scores.iter().enumerate().map(|(t, score)| score * v[64 * t + d]).sum::<f64>() / sum;
    (0..64).map(of).collect()
}

/// The output of an example by its name, and what it should be, from its arrays and its parameters and extents; none of an example that has no reference here.
#[allow(dead_code, reason = "tests of single examples take the functions above")]
pub(crate) fn of_example(
    name: &str,
    array: &dyn Fn(&str) -> Vec<f64>,
    size: &dyn Fn(&str) -> usize,
) -> Option<(&'static str, Vec<f64>)> {
    Some(match name {
        "scale" => ("y", array("x").iter().map(|x| 3.0 * x).collect()),
        "gemm" | "gemm_split" => ("c", product(&array("a"), &array("b"), (size("m"), size("n"), size("k")))),
        "linear" => ("y", product(&array("x"), &array("w"), (size("rows"), size("outputs"), size("inputs")))),
        "rmsnorm" => ("y", normalised(&array("x"), &array("gain"))),
        "softmax" => ("y", softmax(&array("x"), size("cols"))),
        "mlp" => {
            let arrays = ["x", "w_up", "w_down"].map(array);
            ("y", two_layers(arrays.each_ref(), (size("rows"), size("inputs"), size("middle"))))
        }
        "decode" => ("o", attention(&array("q"), &array("keys"), &array("values"), size("tokens"))),
        _ => return None,
    })
}
