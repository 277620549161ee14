//! What instructions compute, against their formulas in `f32` and numbers of 16 bits found among all of them.

use crate::source::{build, folder};
use std::collections::BTreeMap;
use std::process::Command;

const ROWS: usize = 8;
const COLS: usize = 32;

/// A tensor of rows of [`COLS`].
type Matrix = Vec<f32>;

type Of1 = fn(f32) -> f32;
type Of2 = fn(f32, f32) -> f32;
type Test = fn(f32, f32) -> bool;

/// Numbers with two digits behind the point, and in the last row those at the ends of roundings and types.
fn tensors() -> [Matrix; 2] {
    let mut a: Matrix =
        (0..ROWS * COLS).map(|i| ((i * 7 + i / COLS * 3) % 23) as f32 * 0.37 - 4.07).collect();
    let mut b: Matrix = (0..ROWS * COLS).map(|i| ((i * 5 + i / COLS) % 19) as f32 * 0.53 - 4.67).collect();
    let ends =
        [2049.0, -2051.0, 65504.0, 65519.996, 65520.0, 1e9, 0.5, 1.5, -2.5, 1e-7, -3e-8, 6.1e-5, 1.003_906_2];
    a[7 * COLS..7 * COLS + ends.len()].copy_from_slice(&ends);
    let ends = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-40, 1.5, 65504.0];
    b[7 * COLS..7 * COLS + ends.len()].copy_from_slice(&ends);
    [a, b]
}

/// Every 65,539th pattern of 32 bits.
fn words() -> Vec<f32> {
    (0..=u32::MAX).step_by(65_539).map(f32::from_bits).collect()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// Results by name, as bits.
#[expect(clippy::disallowed_methods, reason = "a test writes what the program reads")]
fn results(platform: &str) -> BTreeMap<String, Vec<u32>> {
    let folder = folder("values", "values.cpp", include_str!("values.cpp"));
    let [a, b] = tensors();
    for (name, values) in [("a.bin", a), ("b.bin", b), ("words.bin", words())] {
        std::fs::write(folder.join(name), bytes(&values)).expect("a file of values");
    }
    let program = build(&folder, platform, "-O0", "values.cpp");
    let output = Command::new(&program).current_dir(&folder).output().expect("the program runs");
    assert!(output.status.success(), "{platform}: {}", String::from_utf8_lossy(&output.stderr));
    let line = |line: &str| {
        let mut words = line.split(' ').rev().peekable();
        let mut bits = Vec::new();
        while let Some(word) =
            words.next_if(|word| word.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c)))
        {
            bits.push(u32::from_str_radix(word, 16).expect("a number"));
        }
        bits.reverse();
        let name: Vec<&str> = words.collect();
        (name.into_iter().rev().collect::<Vec<_>>().join(" "), bits)
    };
    String::from_utf8(output.stdout).expect("text").lines().map(line).collect()
}

/// NaN where one is NaN.
fn better(x: f32, y: f32, larger: bool) -> f32 {
    match (x.is_nan() || y.is_nan(), (x > y) == larger) {
        (true, _) => f32::NAN,
        (false, true) => x,
        (false, false) => y,
    }
}

fn max(x: f32, y: f32) -> f32 {
    better(x, y, true)
}

fn min(x: f32, y: f32) -> f32 {
    better(x, y, false)
}

/// The results of functions of the C library may differ by so many units in the last place.
fn same(have: f32, want: f32, ulp: i64) -> bool {
    let apart = i64::from(have.to_bits()) - i64::from(want.to_bits());
    have == want || (have.is_nan() && want.is_nan()) || (have * want > 0.0 && apart.abs() <= ulp)
}

struct Results {
    all: BTreeMap<String, Vec<u32>>,
    a: Matrix,
    b: Matrix,
}

impl Results {
    fn bits(&mut self, name: &str) -> Vec<u32> {
        self.all.remove(name).unwrap_or_else(|| panic!("no result `{name}`"))
    }

    /// A result is these numbers.
    fn is_within(&mut self, name: &str, want: &[f32], ulp: i64) {
        let have = self.bits(name);
        assert_eq!(have.len(), want.len(), "{name}");
        for (at, (have, want)) in have.iter().zip(want).enumerate() {
            let have = f32::from_bits(*have);
            assert!(same(have, *want, ulp), "{name}, element {at}: {have} and not {want}");
        }
    }

    fn is(&mut self, name: &str, want: &[f32]) {
        self.is_within(name, want, 0);
    }

    /// Each element of a result is that of `a`, and another tensor, where it has its place.
    fn each(&mut self, name: &str, other: &[f32], f: Of2) {
        let want: Matrix = self.a.iter().zip(other).map(|(x, y)| f(*x, *y)).collect();
        // `exp` of a difference is the only one that is a function of the C library.
        self.is_within(name, &want, i64::from(name.ends_with("EXPDIF")));
    }
}

fn transposed(values: &[f32], cols: usize) -> Matrix {
    let rows = values.len() / cols;
    (0..values.len()).map(|at| values[at % rows * cols + at / rows]).collect()
}

fn by_elements(of: &mut Results) {
    let (a, b) = (of.a.clone(), of.b.clone());
    let add: Of2 = |x, y| x + y;
    let binary: [(&str, Of2); 6] = [
        ("ADD", add),
        ("SUB", |x, y| x - y),
        ("MUL", |x, y| x * y),
        ("DIV", |x, y| x / y),
        ("MAX", max),
        ("MIN", min),
    ];
    let column: Matrix = b
        .chunks(COLS)
        .flat_map(|row| [row.iter().copied().reduce(max).expect("a row has elements"); COLS])
        .collect();
    let row = b[..COLS].repeat(ROWS);
    for (name, f) in binary {
        of.each(&format!("T{name}"), &b, f);
        of.each(&format!("T{name}S"), &[1.5; ROWS * COLS], f);
        of.each(&format!("TROWEXPAND{name}"), &column, f);
        of.each(&format!("TCOLEXPAND{name}"), &row, f);
    }
    of.each("TROWEXPANDEXPDIF", &column, |x, y| (x - y).exp());
    of.each("TCOLEXPANDEXPDIF", &row, |x, y| (x - y).exp());
    of.each("TDIVS reversed", &a, |x, _| 1.5 / x);
    of.is("TCOLEXPAND", &row);
    let unary: [(&str, i64, Of1); 8] = [
        ("TNEG", 0, |x| -x),
        ("TABS", 0, f32::abs),
        ("TRELU", 0, |x| max(x, 0.0)),
        ("TEXP", 1, f32::exp),
        ("TLOG", 1, f32::ln),
        ("TSQRT", 0, f32::sqrt),
        ("TRSQRT", 0, |x| 1.0 / x.sqrt()),
        ("TRECIP", 0, |x| 1.0 / x),
    ];
    for (name, ulp, f) in unary {
        of.is_within(name, &a.iter().copied().map(f).collect::<Matrix>(), ulp);
    }
    let compared: [(&str, Test); 6] = [
        ("EQ", |x, y| x == y),
        ("NE", |x, y| x != y),
        ("LT", |x, y| x < y),
        ("LE", |x, y| x <= y),
        ("GT", |x, y| x > y),
        ("GE", |x, y| x >= y),
    ];
    for (name, holds) in compared {
        let pick = |(x, y): (&f32, &f32)| if holds(*x, *y) { *x } else { *y };
        of.is(&format!("TSEL {name}"), &a.iter().zip(&b).map(pick).collect::<Matrix>());
        let pick = |x: &f32| if holds(*x, 1.5) { *x } else { -7.0 };
        of.is(&format!("TSELS {name}"), &a.iter().map(pick).collect::<Matrix>());
    }
}

fn reductions(of: &mut Results) {
    let folds: [(&str, Of2); 3] = [("SUM", |x, y| x + y), ("MAX", max), ("MIN", min)];
    let (rows, columns) = (of.a.clone(), transposed(&of.a, COLS));
    for (word, values, line) in [("ROW", &rows, COLS), ("COL", &columns, ROWS)] {
        for (name, fold) in folds {
            let want: Matrix = values
                .chunks(line)
                .map(|line| line.iter().copied().reduce(fold).expect("a line has elements"))
                .collect();
            of.is(&format!("T{word}{name}"), &want);
        }
        for (name, best) in [("ARGMAX", max as Of2), ("ARGMIN", min)] {
            let place = |line: &[f32]| {
                let found = line.iter().copied().reduce(best).expect("a line has elements");
                line.iter().position(|x| *x == found).expect("it is there") as u32
            };
            let want: Vec<u32> = values.chunks(line).map(place).collect();
            assert_eq!(of.bits(&format!("T{word}{name}")), want, "{word}{name}");
        }
    }
}

fn arrangements(of: &mut Results) {
    let a = of.a.clone();
    for (pad, value) in [
        ("PadValue::Zero", 0.0),
        ("PadValue::Max", f32::INFINITY),
        ("PadValue::Min", f32::NEG_INFINITY),
        ("PadValueCustom(2.5F)", 2.5),
    ] {
        let inside = |at: usize| at / COLS < 5 && at % COLS < 19;
        let want: Matrix = (0..a.len()).map(|at| if inside(at) { a[at] } else { value }).collect();
        of.is(&format!("TFILLPAD {pad}"), &want);
    }
    of.is("TTRANS", &transposed(&a, COLS));
    of.is("TEXTRACT", &(0..21).map(|at| a[(2 + at / 7) * COLS + 5 + at % 7]).collect::<Matrix>());
    of.is("TGATHER", &(0..32).map(|at| a[255 - at]).collect::<Matrix>());
    assert_eq!(of.bits("TCI"), (0..32).map(|at| (at - 3i32).cast_unsigned()).collect::<Vec<_>>());
}

/// Numbers of a type of 16 bits by rising value, infinities as the next after the largest, and -0 left out.
struct Short(Vec<(f64, u32)>);

impl Short {
    fn new(value: fn(u32) -> f64) -> Short {
        let all = (0..0x1_0000).map(|bits| (value(bits), bits));
        let mut all: Vec<(f64, u32)> = all.filter(|(x, bits)| !x.is_nan() && *bits != 0x8000).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Short(all)
    }

    /// The number that `x` is rounded to.
    fn round(&self, x: f64, mode: &str) -> (f64, u32) {
        let above = self.0.partition_point(|(value, _)| *value < x).min(self.0.len() - 1);
        let high = self.0[above];
        if high.0 == x || above == 0 {
            return high;
        }
        let low = self.0[above - 1];
        let (down, up) = (x - low.0, high.0 - x);
        match mode {
            "CAST_FLOOR" => low,
            "CAST_CEIL" => high,
            "CAST_TRUNC" => {
                if x < 0.0 {
                    high
                } else {
                    low
                }
            }
            "CAST_ROUND" if down == up => {
                if x < 0.0 {
                    low
                } else {
                    high
                }
            }
            _ if down == up => {
                if low.1.is_multiple_of(2) {
                    low
                } else {
                    high
                }
            }
            _ => {
                if down < up {
                    low
                } else {
                    high
                }
            }
        }
    }
}

/// The value of a pattern with so many bits of exponent and digits; infinities as the next after the largest.
fn short(bits: u32, exponents: u32, digits: u32) -> f64 {
    let (exponent, rest) = ((bits >> digits) & ((1 << exponents) - 1), bits & ((1 << digits) - 1));
    let bias = (1 << (exponents - 1)) - 1;
    if exponent == (1 << exponents) - 1 && rest != 0 {
        return f64::NAN;
    }
    let implied = if exponent == 0 { 0 } else { 1 << digits };
    let size =
        f64::from(rest + implied) * 2f64.powi(exponent.max(1).cast_signed() - bias - digits.cast_signed());
    if bits & 0x8000 == 0 { size } else { -size }
}

fn roundings(of: &mut Results) {
    let types = [
        ("half", Short::new(|bits| short(bits, 5, 10))),
        ("bfloat16_t", Short::new(|bits| short(bits, 8, 7))),
    ];
    let modes = ["CAST_RINT", "CAST_ROUND", "CAST_FLOOR", "CAST_CEIL", "CAST_TRUNC"];
    let a = of.a.clone();
    for mode in modes {
        let whole = |x: f32| match mode {
            "CAST_ROUND" => x.round(),
            "CAST_FLOOR" => x.floor(),
            "CAST_CEIL" => x.ceil(),
            "CAST_TRUNC" => x.trunc(),
            _ => x.round_ties_even(),
        };
        of.is(&format!("float {mode}"), &a.iter().map(|x| whole(*x)).collect::<Matrix>());
        let want: Vec<u32> = a.iter().map(|x| (whole(*x) as i32).cast_unsigned()).collect();
        assert_eq!(of.bits(&format!("int32_t {mode}")), want, "int32_t {mode}");
        for (name, short) in &types {
            for (bits, x) in of.bits(&format!("{name} {mode}")).into_iter().zip(&a) {
                let (value, want) = short.round(f64::from(*x), mode);
                // A zero keeps the sign of what was rounded.
                let want = if value == 0.0 && x.is_sign_negative() { 0x8000 } else { want };
                assert_eq!(bits, want, "{name} of {x}, {mode}");
            }
        }
    }
    for (name, short) in &types {
        for (bits, x) in of.bits(&format!("{name} bits")).into_iter().zip(words()) {
            let (value, nearest) = short.round(f64::from(x), "CAST_RINT");
            let negative = if x.is_sign_negative() { 0x8000 } else { 0 };
            match (x.is_nan(), x.is_infinite()) {
                (true, _) => {
                    assert!(bits & 0x7FFF > if *name == "half" { 0x7C00 } else { 0x7F80 }, "{name} of {x}")
                }
                (_, true) => assert_eq!(bits, negative | if *name == "half" { 0x7C00 } else { 0x7F80 }),
                _ if value == 0.0 => assert_eq!(bits, negative, "{name} of {x:e}"),
                _ => assert_eq!(bits, nearest, "{name} of {x:e}"),
            }
        }
    }
    for (pattern, bits) in of.bits("half values").into_iter().enumerate() {
        let (value, want) = (f32::from_bits(bits), short(pattern as u32, 5, 10));
        let infinite = pattern & 0x7FFF == 0x7C00;
        assert!(if infinite {
            value.is_infinite()
        } else {
            f64::from(value) == want || want.is_nan() && value.is_nan()
        });
    }
}

/// What a type of elements keeps of a number.
type Kept<'a> = &'a dyn Fn(f32) -> f32;

/// Products of 16 x k and k x 16 numbers that `kept` makes of the tensors' first, taken twice.
fn product(of: &mut Results, name: &str, inner: usize, turned: bool, kept: Kept<'_>) -> Vec<f64> {
    let element = |values: &[f32], at: usize| f64::from(kept(values[at % 224]));
    let sum = |at: usize| {
        let (row, col) = (at / 16, at % 16);
        let right = |k: usize| if turned { col * inner + k } else { k * 16 + col };
        (0..inner).map(|k| element(&of.a, row * inner + k) * element(&of.b, right(k))).sum::<f64>() * 2.0
    };
    let want: Vec<f64> = (0..256).map(sum).collect();
    assert!(of.all.contains_key(name), "{name}");
    want
}

fn products(of: &mut Results) {
    let types = [Short::new(|bits| short(bits, 5, 10)), Short::new(|bits| short(bits, 8, 7))];
    let kept = |at: usize| {
        let short = &types[at];
        move |x: f32| short.round(f64::from(x), "CAST_RINT").0 as f32
    };
    let (half, bfloat) = (kept(0), kept(1));
    let real: [(&str, usize, bool, Kept<'_>); 4] = [
        ("product of half", 32, false, &half),
        ("product of half, transposed", 16, true, &half),
        ("product of bfloat16_t", 16, false, &bfloat),
        ("product of float, transposed", 8, true, &|x| x),
    ];
    for (name, inner, turned, kept) in real {
        let want = product(of, name, inner, turned, kept);
        for (at, (bits, want)) in of.bits(name).into_iter().zip(want).enumerate() {
            // At most 33 roundings of sums below 2 x 32 x 5 x 5.
            let (have, bound) = (f64::from(f32::from_bits(bits)), 33.0 * 1600.0 * 2f64.powi(-24));
            assert!((have - want).abs() <= bound, "{name}, element {at}: {have} and not {want}");
        }
    }
    let name = "product of int8_t, transposed";
    let want = product(of, name, 32, true, &|x| x.trunc());
    let have: Vec<f64> = of.bits(name).into_iter().map(|bits| f64::from(bits.cast_signed())).collect();
    assert_eq!(have, want, "{name}");
}

#[test]
fn instructions_compute_their_formulas() {
    for platform in ["a2", "a5"] {
        let [a, b] = tensors();
        let mut results = Results { all: results(platform), a, b };
        by_elements(&mut results);
        reductions(&mut results);
        arrangements(&mut results);
        roundings(&mut results);
        products(&mut results);
        assert!(results.all.is_empty(), "not looked at: {:?}", results.all.keys());
    }
}

/// A tensor without elements is read, and written as a file of 0 bytes; words of 64 bits keep all of them; a division of whole numbers by 0 ends
/// a run with a word.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test writes what the program reads")]
fn tensors_are_files_and_a_division_by_0_is_told() {
    let folder = folder("tensors", "tensors.cpp", include_str!("tensors.cpp"));
    let words: Vec<u8> =
        [1, u64::MAX, 1 << 63 | 5, 0].iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    for (name, bytes) in [("none.bin", &[][..]), ("words.bin", &words)] {
        std::fs::write(folder.join(name), bytes).expect("a file");
    }
    let program = build(&folder, "a2", "-O0", "tensors.cpp");
    let run = |word: &str| {
        Command::new(&program).arg(word).current_dir(&folder).output().expect("the program runs")
    };
    let copied = run("copy");
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert_eq!(std::fs::read(folder.join("copied_none.bin")).expect("a file"), Vec::<u8>::new());
    assert_eq!(std::fs::read(folder.join("copied_words.bin")).expect("a file"), words);
    let divided = run("divide");
    assert_eq!(divided.status.code(), Some(3));
    assert!(
        String::from_utf8_lossy(&divided.stderr)
            .starts_with("fault [value]: a division of whole numbers by 0")
    );
}
