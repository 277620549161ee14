//! Random kernels for cores: those that are drawn for other machines, with counts of loops that are known, and without what has no body.

use super::bench::{COLS, Kernel, ROWS, element};
use super::one_core::Array;
use wsp_aie::kernel::Number;

#[path = "../../../../wsp-ascend/tests/kernels/draw/mod.rs"]
#[allow(dead_code, reason = "tests of other machines use more of it")]
mod draw;

/// A kernel and what it runs with.
pub(crate) struct Drawn {
    pub(crate) kernel: Kernel,
    pub(crate) words: [u32; 4],
    /// How far results may be from those of a plain run, relative to what is above 1.
    pub(crate) tolerance: f32,
}

/// Functions without a body, and others that have the same range.
const INSTEAD: [(&str, &str); 8] = [
    ("TLOG(", "TTANH("),
    ("TLOG2(", "TTANH("),
    ("TSIN(", "TTANH("),
    ("TCOS(", "TTANH("),
    ("TGELU(", "TGELU_TANH("),
    ("TERF(", "TTANH("),
    ("TSTORE_ATOMIC_ADD(", "TSTORE("),
    ("<half,", "<bfloat16_t,"),
];

/// The kernel of a seed.
pub(crate) fn drawn(seed: u64) -> Drawn {
    let drawn = draw::Drawn::of(seed);
    let all = drawn.words();
    let words = all[seed as usize % all.len()];
    let mut body = String::new();
    // Variables of loops that a condition ends become those of counted ones.
    let mut counted: Vec<String> = Vec::new();
    let mut lines = drawn.body.lines().peekable();
    while let Some(line) = lines.next() {
        let mut line = line.to_owned();
        if let Some(condition) = lines.peek().and_then(|next| next.strip_prefix("while (")) {
            let name = condition.split(' ').next().expect("a variable").to_owned();
            let end = condition.trim_end_matches(") {").split("< ").nth(1).expect("an end");
            line = format!("for (uint32_t {name} = 0; {name} < {end}; {name} += 1) {{");
            counted.push(format!("{name} += 1;"));
            lines.next();
        }
        if counted.contains(&line) {
            continue;
        }
        if line.starts_with("for (") {
            line = line
                .replace("< desc.a;", &format!("< {};", words[0]))
                .replace("< desc.b;", &format!("< {};", words[1]));
        }
        body += &line;
        body += "\n";
    }
    for (from, to) in INSTEAD {
        body = body.replace(from, to);
    }
    Drawn { kernel: Kernel::new(&body), words, tolerance: drawn.tolerance.max(4e-5) }
}

/// What a launch begins with, by tensor.
pub(crate) fn arrays(kernel: &Kernel) -> Vec<Option<Array>> {
    let array = |value: fn(usize) -> f32| Array {
        dims: vec![ROWS, COLS],
        size: 4,
        bytes: (0..ROWS * COLS).flat_map(|at| value(at).to_le_bytes()).collect(),
    };
    let tensors = kernel.module().tensors.iter().map(|tensor| match tensor.name.as_str() {
        "x" => Some(array(element)),
        "y" => Some(array(|_| 0.0)),
        _ => None,
    });
    tensors.collect()
}

/// The numbers of a descriptor.
pub(crate) fn number(words: [u32; 4]) -> impl Fn(Number) -> Option<i64> {
    move |number| match number {
        Number::Field(at) => Some(i64::from(words[at as usize])),
        _ => None,
    }
}
