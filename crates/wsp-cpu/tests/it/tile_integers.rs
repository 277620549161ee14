//! Tiles of integers in `.pto` files: every operation on every type against loops in `i128`, and what is refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use wsp_core::DType;
use wsp_cpu::{LaunchOptions, Program};
use wsp_diag::{SourceMap, render_all};
use wsp_kernel::Engine;
use wsp_plan::{Array, Arrays, CompileOptions, lower};

const ROWS: usize = 5;
const COLS: usize = 7;

/// Names of the types, their bits, and whether they have a sign; truth values have one bit.
const TYPES: [(&str, DType, u32, bool); 9] = [
    ("int8_t", DType::I8, 8, true),
    ("int16_t", DType::I16, 16, true),
    ("int32_t", DType::I32, 32, true),
    ("int64_t", DType::I64, 64, true),
    ("uint8_t", DType::U8, 8, false),
    ("uint16_t", DType::U16, 16, false),
    ("uint32_t", DType::U32, 32, false),
    ("uint64_t", DType::U64, 64, false),
    ("bool", DType::Bool, 1, false),
];

/// The number modulo 2ⁿ in the range of a type of `n` bits.
fn wrap(value: i128, bits: u32, signed: bool) -> i128 {
    let (low, size) = (value.rem_euclid(1 << bits), 1_i128 << bits);
    if signed && low >= size / 2 { low - size } else { low }
}

/// Bytes of an element.
fn size(bits: u32) -> usize {
    bits.div_ceil(8) as usize
}

fn array(dtype: DType, shape: &[u64], values: &[i128], bits: u32) -> Array {
    let mut array = Array::zeros(dtype, shape).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()[..size(bits)].to_vec()).collect();
    array.bytes_mut().copy_from_slice(&bytes);
    array
}

fn numbers(array: &Array, bits: u32, signed: bool) -> Vec<i128> {
    let number = |bytes: &[u8]| {
        let low = bytes.iter().rev().fold(0, |number, byte| number << 8 | i128::from(*byte));
        if bits == 1 { low } else { wrap(low, bits, signed) }
    };
    array.bytes().chunks_exact(size(bits)).map(number).collect()
}

/// Numbers that differ from place to place: the ends of the range, small ones, and others.
fn made(count: usize, seed: u64, bits: u32, signed: bool) -> Vec<i128> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i128::from(state >> 16 ^ state << 24)
    };
    let least = if signed { -(1 << (bits - 1)) } else { 0 };
    let mut one = |_| match next().rem_euclid(4) {
        0 => least,
        1 => least + (1 << bits) - 1,
        2 => wrap(next().rem_euclid(3), bits, signed),
        _ => wrap(next(), bits, signed),
    };
    (0..count).map(&mut one).collect()
}

/// A program that loads `x` and `z`, and stores `t` to `y`, of which `ty` says the elements.
fn program(ty: &str, to: &str, body: &str) -> String {
    format!(
        "PTO_SHAPE(lens, n) PTO_SHAPE(x, n, {ROWS}, {COLS}) PTO_SHAPE(z, n, {ROWS}, {COLS}) PTO_SHAPE(y, n, {ROWS}, {COLS})
         PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
         struct D {{ uint32_t i; }};
         PTO_KERNEL_IMPL(k) {{
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<{ty}, {ROWS}, {COLS}> a; VecTile<{ty}, {ROWS}, {COLS}> b; VecTile<{to}, {ROWS}, {COLS}> t;
             VecTile<{ty}, {ROWS}, 1> column; VecTile<{ty}, 1, {COLS}> row;
             TLOAD(a, x, {{d.i, 0, 0}}); TLOAD(b, z, {{d.i, 0, 0}});
             TLOAD(column, z, {{d.i, PTO_ROWS(0), 2}}); TLOAD(row, z, {{d.i, 1, 0}});
             {body}
             TSTORE(y, t, {{d.i, 0, 0}});
         }}
         PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .i = i }}); }} }}
         void go(uint32_t* lens, Tensor<{ty}> x, Tensor<{ty}> z, Tensor<{to}> y) {{
             PTO_LAUNCH(S, {{ .lens = lens, .x = x, .z = z, .y = y }});
         }}"
    )
}

/// What a program stores to `y`, by both engines, which agree.
fn run(text: &str, given: &[(&str, Array)]) -> Result<Array, String> {
    let shown = |found: Vec<_>| render_all(&found, &SourceMap::default(), false);
    let (module, found) = wsp_lang::compile("integers.pto", text, &mut SourceMap::default());
    let module = module.ok_or_else(|| shown(found))?;
    let program = lower(&module, &CompileOptions::default()).map(Program::new).map_err(shown)?;
    let mut arrays: Arrays = given.iter().map(|(name, array)| ((*name).to_owned(), array.clone())).collect();
    let n = given[0].1.shape()[0];
    arrays.insert("lens".to_owned(), Array::zeros(DType::U32, &[n]).unwrap());
    let by = |engine| {
        let options = LaunchOptions { threads: 2, engine, ..LaunchOptions::default() };
        let done = program.execute(&arrays, &options).map_err(shown)?;
        Ok::<_, String>(done.outputs["y"].clone())
    };
    let (one, other) = (by(Engine::Interpreter)?, by(Engine::Native)?);
    assert_eq!(one.bytes(), other.bytes(), "{text}");
    Ok(one)
}

/// One value of `t` from `a`, `b`, and the row and column.
type Cell = fn(&dyn Fn(usize, usize) -> i128, &dyn Fn(usize, usize) -> i128, usize, usize) -> i128;

const REQUESTS: u64 = 2;

/// Checks an operation, of which the result wraps, on one type.
fn check((name, dtype, bits, signed): (&str, DType, u32, bool), body: &str, cell: Cell) {
    let shape = [REQUESTS, ROWS as u64, COLS as u64];
    let count = shape.iter().product::<u64>() as usize;
    let (x, z) = (made(count, 7, bits, signed), made(count, 11, bits, signed));
    let z: Vec<i128> =
        z.iter().zip(&x).enumerate().map(|(i, (z, x))| if i % 3 == 0 { *x } else { *z }).collect();
    let z =
        if body.contains("DIV") { z.into_iter().map(|z| if z == 0 { 1 } else { z }).collect() } else { z };
    let given = [("x", array(dtype, &shape, &x, bits)), ("z", array(dtype, &shape, &z, bits))];
    let have =
        run(&program(name, name, body), &given).unwrap_or_else(|found| panic!("{name} {body}\n{found}"));
    let have = numbers(&have, bits, signed);
    for (at, have) in have.iter().enumerate() {
        let (i, r, c) = (at / (ROWS * COLS), at / COLS % ROWS, at % COLS);
        let of = |v: &[i128], r: usize, c: usize| v[(i * ROWS + r) * COLS + c];
        let want = cell(&|r, c| of(&x, r, c), &|r, c| of(&z, r, c), r, c);
        assert_eq!(*have, wrap(want, bits, signed), "{name} {body} in row {r}, column {c} of {i}");
    }
}

/// What truth values do as well: nothing is computed.
const MOVES: [(&str, Cell); 21] = [
    ("TMOV(t, a);", |a, _, r, c| a(r, c)),
    ("TMAX(t, a, b);", |a, b, r, c| a(r, c).max(b(r, c))),
    ("TMIN(t, a, b);", |a, b, r, c| a(r, c).min(b(r, c))),
    ("TMAXS(t, a, 1);", |a, _, r, c| a(r, c).max(1)),
    ("TCLAMP(t, a, 0, 1);", |a, _, r, c| a(r, c).clamp(0, 1)),
    ("TCMP_EQ(t, a, b);", |a, b, r, c| i128::from(a(r, c) == b(r, c))),
    ("TCMP_NE(t, a, 1);", |a, _, r, c| i128::from(a(r, c) != 1)),
    ("TROWEXPANDCMP_LT(t, a, column);", |a, b, r, c| i128::from(a(r, c) < b(r, 2))),
    ("TCOLEXPANDCMP_GE(t, a, row);", |a, b, r, c| i128::from(a(r, c) >= b(1, c))),
    ("VecTile<bool, 5, 7> m; TCMP_LE(m, a, b); TSEL(t, m, a, b);", |a, b, r, c| a(r, c).min(b(r, c))),
    ("VecTile<float, 5, 7> m; TCMP_GT(m, a, b); TSEL(t, m, a, 1);", |a, b, r, c| {
        if a(r, c) > b(r, c) { a(r, c) } else { 1 }
    }),
    ("TROWMAX(column, a); TASSIGN(t, 0); TINSERT(t, column, 0, 3);", |a, _, r, c| {
        if c == 3 { (0..COLS).map(|c| a(r, c)).max().unwrap() } else { 0 }
    }),
    ("TCOLMIN(row, a); TASSIGN(t, 1); TINSERT(t, row, 2, 0);", |a, _, r, c| {
        if r == 2 { (0..ROWS).map(|r| a(r, c)).min().unwrap() } else { 1 }
    }),
    (
        "VecTile<int64_t, 5, 1> m; TROWARGMAX(m, a); TGATHER(column, a, m); TMOV(t, b); TINSERT(t, column, 0, 0);",
        |a, b, r, c| {
            if c == 0 { (0..COLS).map(|c| a(r, c)).max().unwrap() } else { b(r, c) }
        },
    ),
    (
        "VecTile<int32_t, 1, 7> m; TCOLARGMIN(m, a); TGATHER_ROWS(row, a, m); TMOV(t, b); TINSERT(t, row, 4, 0);",
        |a, b, r, c| {
            if r == 4 { (0..ROWS).map(|r| a(r, c)).min().unwrap() } else { b(r, c) }
        },
    ),
    ("VecTile<uint8_t, 5, 7> m; TCI(m, 0); TGATHER(t, a, m);", |a, _, r, c| a(r, c)),
    (
        "VecTile<bool, 5, 7> m; TCMP_EQ(m, a, a); TMASK(m, 3, false); TMASK_ROWS(m, 4, 0); TSEL(t, m, a, b);",
        |a, b, r, c| {
            if c < 3 && r < 4 { a(r, c) } else { b(r, c) }
        },
    ),
    (
        "TMOV(t, a); TMASK_CAUSAL(t, -1, 1);",
        |a, _, r, c| if c as i128 >= r as i128 - 1 { 1 } else { a(r, c) },
    ),
    (
        "TMOV(t, a); TMASK_BAND(t, 1, 3, 2, 0);",
        |a, _, r, c| {
            if (1 + r / 2..3 + r / 2).contains(&c) { a(r, c) } else { 0 }
        },
    ),
    ("VecTile<TY, 7, 5> turned; TTRANS(turned, a); TRESHAPE(t, turned);", |a, _, r, c| {
        let at = r * COLS + c;
        a(at % ROWS, at / ROWS)
    }),
    ("VecTile<TY, 3, 2> part; TEXTRACT(part, a, 1, 4); TMOV(t, b); TINSERT(t, part, 2, 1);", |a, b, r, c| {
        if r >= 2 && (1..3).contains(&c) { a(r - 1, c + 3) } else { b(r, c) }
    }),
];

/// What numbers do, modulo 2ⁿ.
const NUMBERS: [(&str, Cell); 17] = [
    ("TADD(t, a, b);", |a, b, r, c| a(r, c) + b(r, c)),
    ("TADDS(t, a, 100);", |a, _, r, c| a(r, c) + 100),
    ("TROWEXPANDADD(t, a, column);", |a, b, r, c| a(r, c) + b(r, 2)),
    ("TSUB(t, a, b);", |a, b, r, c| a(r, c) - b(r, c)),
    ("TCOLEXPANDSUB(t, a, row);", |a, b, r, c| a(r, c) - b(1, c)),
    ("TMUL(t, a, b);", |a, b, r, c| (a(r, c) as u128).wrapping_mul(b(r, c) as u128) as u64 as i128),
    ("TMULS(t, a, 3);", |a, _, r, c| a(r, c) * 3),
    ("TDIV(t, a, b);", |a, b, r, c| a(r, c) / b(r, c)),
    ("TDIVS(t, a, 3);", |a, _, r, c| a(r, c) / 3),
    ("TROWEXPANDDIV(t, a, column);", |a, b, r, c| a(r, c) / b(r, 2)),
    ("TNEG(t, a);", |a, _, r, c| -a(r, c)),
    ("TABS(t, a);", |a, _, r, c| a(r, c).abs()),
    ("TRELU(t, a);", |a, _, r, c| a(r, c).max(0)),
    ("TCUMSUM(t, a);", |a, _, r, c| (0..=c).map(|c| a(r, c)).sum()),
    ("TROWSUM(column, a); TASSIGN(t, 0); TINSERT(t, column, 0, 6);", |a, _, r, c| {
        if c == 6 { (0..COLS).map(|c| a(r, c)).sum() } else { 0 }
    }),
    ("TCOLSUM(row, a); TASSIGN(t, 0); TINSERT(t, row, 3, 0);", |a, _, r, c| {
        if r == 3 { (0..ROWS).map(|r| a(r, c)).sum() } else { 0 }
    }),
    ("TCI(t, -3);", |_, _, _, c| c as i128 - 3),
];

#[test]
fn operations_are_those_of_the_type() {
    for ty in TYPES {
        for (body, cell) in MOVES {
            check(ty, &body.replace("TY", ty.0), cell);
        }
        if ty.0 != "bool" {
            NUMBERS.iter().for_each(|(body, cell)| check(ty, body, *cell));
        }
    }
}

#[test]
fn a_tile_of_one_row_gives_its_largest_element_and_its_sum_as_a_number() {
    for ty @ (name, _, bits, signed) in TYPES.into_iter().filter(|ty| ty.0 != "bool") {
        check(ty, "TSUB(t, a, a); TADDS(t, t, TROWMAX(row));", |_, b, _, _| {
            (0..COLS).map(|c| b(1, c)).max().unwrap()
        });
        let number = if (bits, signed) == (64, false) { "uint64_t" } else { "int64_t" };
        let sum = format!("TSUB(t, a, a); {number} sum = TROWSUM(row); TADDS(t, t, sum);");
        check((name, ty.1, bits, signed), &sum, |_, b, _, _| (0..COLS).map(|c| b(1, c)).sum());
    }
}

#[test]
fn integers_become_others_and_real_numbers_and_come_back() {
    let shape = [1, ROWS as u64, COLS as u64];
    for (from, dtype, bits, signed) in TYPES {
        let x = made(ROWS * COLS, 3, bits, signed);
        let given = |name| (name, array(dtype, &shape, &x, bits));
        for (to, _, to_bits, to_signed) in TYPES {
            let have = run(&program(from, to, "TCVT(t, a);"), &[given("x"), given("z")]).unwrap();
            let want = x
                .iter()
                .map(|x| if to == "bool" { i128::from(*x != 0) } else { wrap(*x, to_bits, to_signed) });
            assert_eq!(numbers(&have, to_bits, to_signed), want.collect::<Vec<_>>(), "{from} to {to}");
        }
        let have = run(&program(from, "float", "TCVT(t, a);"), &[given("x"), given("z")]).unwrap();
        assert_eq!(
            have.as_slice::<f32>().unwrap(),
            x.iter().map(|x| *x as f32).collect::<Vec<_>>(),
            "{from}"
        );
    }
    for (to, dtype, bits, signed) in TYPES.into_iter().filter(|ty| ty.0 != "bool") {
        let values: Vec<f64> =
            (0..ROWS * COLS).map(|i| i as f64 * 3.4 - if signed { 47.0 } else { 0.0 }).collect();
        let mut x = Array::zeros(DType::F64, &shape).unwrap();
        x.as_slice_mut::<f64>().unwrap().copy_from_slice(&values);
        let have = run(&program("double", to, "TCVT(t, a);"), &[("x", x.clone()), ("z", x.clone())]).unwrap();
        assert_eq!(have.dtype(), dtype);
        let want: Vec<i128> = values.iter().map(|x| x.trunc() as i128).collect();
        assert_eq!(numbers(&have, bits, signed), want, "{to}");
        for wrong in [f64::NAN, f64::INFINITY, -1e30, 2.0_f64.powi(bits as i32)] {
            x.as_slice_mut::<f64>().unwrap()[9] = wrong;
            let found = run(&program("double", to, "TCVT(t, a);"), &[("x", x.clone()), ("z", x.clone())])
                .unwrap_err();
            assert!(found.contains("error[WSP0602]") && found.contains("row 1 and column 2"), "{found}");
        }
    }
}

#[test]
fn additions_to_a_tensor_wrap() {
    for (name, dtype, bits, signed) in TYPES.into_iter().filter(|ty| ty.0 != "bool") {
        let text = format!(
            "PTO_SHAPE(lens, n) PTO_SHAPE(x, n, 3, {COLS}) PTO_SHAPE(y, 3, {COLS})
             PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
             struct D {{ uint32_t i; }};
             PTO_KERNEL_IMPL(k) {{
                 auto d = PTO_GET_DESCRIPTOR<D>();
                 VecTile<{name}, 3, {COLS}> a; TLOAD(a, x, {{d.i, 0, 0}}); TSTORE_ATOMIC_ADD(y, a, {{0, 0}});
             }}
             PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .i = i }}); }} }}
             void go(uint32_t* lens, Tensor<{name}> x, Tensor<{name}> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .x = x, .y = y }}); }}"
        );
        let (x, y) = (made(11 * 3 * COLS, 5, bits, signed), made(3 * COLS, 6, bits, signed));
        let given = [
            ("x", array(dtype, &[11, 3, COLS as u64], &x, bits)),
            ("y", array(dtype, &[3, COLS as u64], &y, bits)),
        ];
        let have = run(&text, &given).unwrap_or_else(|found| panic!("{found}"));
        let sum = |at: usize| y[at] + (0..11).map(|i| x[i * 3 * COLS + at]).sum::<i128>();
        let want: Vec<i128> = (0..3 * COLS).map(|at| wrap(sum(at), bits, signed)).collect();
        assert_eq!(numbers(&have, bits, signed), want, "{name}");
    }
}

#[test]
fn what_cannot_be_computed_stops_the_run_with_its_place() {
    let shape = [1, ROWS as u64, COLS as u64];
    let ones = |name| (name, array(DType::I16, &shape, &[1; ROWS * COLS], 16));
    let failed = |body: &str| run(&program("int16_t", "int16_t", body), &[ones("x"), ones("z")]).unwrap_err();
    let found = failed("TMASK(b, 5, 0); TDIV(t, a, b);");
    assert!(found.contains("error[WSP0601]: division by zero in a tile of integers"), "{found}");
    assert!(found.contains("row 0 and column 5"), "{found}");
    let found = failed("int64_t far = 32767 + int64_t(d.i + 1); TADDS(t, a, far);");
    assert!(found.contains("error[WSP0602]: the number 32768 does not fit elements of `i16`"), "{found}");
    assert!(found.contains("from -32768 to 32767"), "{found}");
    let found = failed("VecTile<uint64_t, 5, 7> m; TASSIGN(m, 18446744073709551615u); TGATHER(t, a, m);");
    assert!(found.contains("error[WSP0617]") && found.contains("is no column of `a`"), "{found}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let shape = [1, ROWS as u64, COLS as u64];
    let ones = |name| (name, array(DType::I8, &shape, &[1; ROWS * COLS], 8));
    let mask = "VecTile<bool, 5, 7> m; TCMP_EQ(m, a, b);";
    let real = "VecTile<float, 5, 7> f; TASSIGN(f, 1.0f);";
    for (body, wanted) in [
        (format!("{real} TADD(t, a, f);"), "`TADD` of `int8_t` and `float`"),
        (format!("{mask} TSEL(t, m, a, m);"), "`TSEL` of `int8_t` and `bool`"),
        (
            "TEXP(t, a);".to_owned(),
            "`TEXP` takes tiles of `float`, `double`, `half` and other real numbers, not of `int8_t`",
        ),
        ("TROWMEAN(column, a);".to_owned(), "`TROWMEAN` takes tiles of `float`"),
        ("TMATMUL(t, a, b);".to_owned(), "`TMATMUL` takes tiles of `float`"),
        (format!("{mask} TADD(m, m, m);"), "`TADD` takes tiles of numbers, not of `bool`"),
        (
            "VecTile<int16_t, 5, 1> at; TROWARGMAX(at, a);".to_owned(),
            "`float`, `double`, `int32_t` or `int64_t`, not `int16_t`",
        ),
        ("TADDS(t, a, 300);".to_owned(), "300 does not fit elements of `int8_t`"),
        ("TADDS(t, a, 300);".to_owned(), "whole numbers from -128 to 127"),
        ("TMULS(t, a, 1.5f);".to_owned(), "a number that meets a tile of `int8_t` is a `float`"),
        (format!("{real} TSTORE(y, f, {{d.i, 0, 0}});"), "tensor `y` holds `int8_t`, and tile `f` `float`"),
        (format!("{real} TLOAD(f, x, {{d.i, 0, 0}});"), "tensor `x` holds `int8_t`, and tile `f` `float`"),
        ("VecTile<uint8_t, 5, 7> u; TLOAD(u, x, {d.i, 0, 0});".to_owned(), "tile `u` `uint8_t`"),
    ] {
        let found =
            run(&program("int8_t", "int8_t", &format!("{body} TMOV(t, a);")), &[ones("x"), ones("z")])
                .unwrap_err();
        assert!(found.contains("error[WSP0") && found.contains(wanted), "{body}\n{found}");
    }
    let wide = [("x", array(DType::I16, &shape, &[1; ROWS * COLS], 16)), ones("z")];
    let found = run(&program("int8_t", "int8_t", "TMOV(t, a);"), &wide).unwrap_err();
    assert!(found.contains("array `x` holds i16, but `x` is i8"), "{found}");
}

#[test]
fn what_kernels_store_is_not_read_as_an_array() {
    let program = |load: &str| {
        format!(
            "PTO_SHAPE(lens, n) PTO_SHAPE(y, n)
             PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
             struct D {{ uint32_t i; }};
             PTO_KERNEL_IMPL(k) {{
                 auto d = PTO_GET_DESCRIPTOR<D>();
                 VecTile<int32_t, 1, 1> t; {load} TSTORE(y, t, {{d.i}});
             }}
             PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{ PTO_EMIT_DESCRIPTOR(D{{ .i = i }}); }} }}
             void go(uint32_t* lens, Tensor<int32_t> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .y = y }}); }}"
        )
    };
    let y = || [("y", array(DType::I32, &[3], &[5, 6, 7], 32))];
    let found = run(&program("TASSIGN(t, y[d.i]);"), &y()).unwrap_err();
    assert!(found.contains("`y` is read as an array, and kernels store to it"), "{found}");
    let have = run(&program("TLOAD(t, y, {d.i}); TADDS(t, t, 1);"), &y()).unwrap();
    assert_eq!(have.as_slice::<i32>().unwrap(), [6, 7, 8]);
}

#[test]
fn tensors_of_a_launch_and_slots_hold_integers() {
    let text = format!(
        "PTO_SHAPE(lens, n) PTO_SHAPE(x, n, {ROWS}, {COLS}) PTO_SHAPE(y, n, {ROWS}, {COLS})
         PTO_SPACE(S) {{ PTO_AXIS(i, 0, n) }}
         PTO_TENSOR(kept, int16_t, n, {ROWS}, {COLS})
         PTO_WORKSPACE(slot, uint64_t, {ROWS}, {COLS})
         struct D {{ uint32_t i, at; }};
         struct E {{ uint32_t i, at; }};
         PTO_TIER_DEF(T) {{ PTO_DEFAULT(first, PTO_SLOT_BYTES) }}
         PTO_KERNEL_IMPL(first) {{
             auto d = PTO_GET_DESCRIPTOR<D>();
             VecTile<int16_t, {ROWS}, {COLS}> a; VecTile<uint64_t, {ROWS}, {COLS}> wide;
             TLOAD(a, x, {{d.i, 0, 0}}); TADDS(a, a, 1); TSTORE(kept, a, {{d.i, 0, 0}});
             TCVT(wide, a); TSTORE(slot, wide, {{d.at, 0, 0}});
         }}
         PTO_KERNEL_IMPL(second) {{
             auto d = PTO_GET_DESCRIPTOR<E>();
             VecTile<int16_t, {ROWS}, {COLS}> a; VecTile<int16_t, {ROWS}, {COLS}> b; VecTile<uint64_t, {ROWS}, {COLS}> wide;
             TLOAD(a, kept, {{d.i, 0, 0}}); TLOAD(wide, slot, {{d.at, 0, 0}});
             TCVT(b, wide); TADD(a, a, b); TSTORE(y, a, {{d.i, 0, 0}});
         }}
         PTO_DESCRIPTOR_GEN(S) {{ PTO_SCHEDULED_FOR(i) {{
             uint32_t at = PTO_ALLOC_WS(PTO_SELECT_TIER(T, i), i);
             PTO_EMIT_DESCRIPTOR(D{{ .i = i, .at = at }}); PTO_EMIT_DESCRIPTOR(E{{ .i = i, .at = at }});
         }} }}
         void go(uint32_t* lens, Tensor<int16_t> x, Tensor<int16_t> y) {{ PTO_LAUNCH(S, {{ .lens = lens, .x = x, .y = y }}); }}"
    );
    let x = made(3 * ROWS * COLS, 9, 16, true);
    let have = run(&text, &[("x", array(DType::I16, &[3, ROWS as u64, COLS as u64], &x, 16))])
        .unwrap_or_else(|found| panic!("{found}"));
    let want: Vec<i128> = x.iter().map(|x| wrap(2 * (x + 1), 16, true)).collect();
    assert_eq!(numbers(&have, 16, true), want);
}
