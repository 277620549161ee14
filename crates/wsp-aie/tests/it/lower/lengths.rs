//! Designs for launches of several lengths.

use super::examples::{close, example};
use super::{args, array, numbers, plan, written};
use crate::programs::backend;
use crate::references::{attention, product};
use crate::support::to_floats;
use wsp_aie::DesignFile;
use wsp_aie::design::Design;
use wsp_aie::mlir::{Form, Version, parse, print};
use wsp_aie::run::{Allocation, Arg, Machine};
use wsp_backend::{Args, Backend as _, EmitOptions, Lengths};
use wsp_diag::{Diagnostics, FileId};
use wsp_memory::Array;
use wsp_plan::PlanSource;

fn emitted(plan: &PlanSource, launch: Args, lengths: (&str, &[i64])) -> Result<String, Diagnostics> {
    written(plan, launch, Some((lengths.0, Lengths::Each(lengths.1.to_vec()))))
}

/// The design of a text, printed and read once more in its own spelling.
fn design(text: &str) -> Design {
    let module = parse(FileId::default(), text).expect("it is read");
    let again =
        parse(FileId::default(), &print(&module, Form::Pretty, Version::V2026_03)).expect("it is read");
    let read = |module| Design::read(module).expect("it is a design").remove(0);
    assert_eq!(read(&module).sequences.len(), read(&again).sequences.len());
    read(&again)
}

/// What a launch leaves in an array of this shape.
fn left(arg: &Arg, shape: &[u64]) -> Array {
    Array::of(shape, &to_floats(arg)).expect("it is small")
}

/// A design for launches of these lengths, which are launched in this order on one machine: what one leaves behind has no part in the next.
fn attends(lengths: &[i64], launches: &[usize]) {
    let room = 8192;
    let (q, k, v) = (array(&[1, 64], 1), array(&[room, 64], 2), array(&[room, 64], 3));
    let given = args(&[("q", &q), ("keys", &k), ("values", &v)], &[]);
    let text = emitted(&example!("decode", "xdna2"), given, ("tokens", lengths)).expect("it is a design");
    let design = design(&text);
    assert_eq!((design.sequences.len(), design.cores.len()), (lengths.len(), 1));
    assert!(wsp_aie::check(&design).is_empty(), "{:?}", wsp_aie::check(&design));
    let mut machine = Machine::new(&design, Allocation::Lowered).expect("it runs");
    for tokens in launches.iter().copied() {
        let mut arrays = [&q, &k, &v, &Array::of(&[1, 64], &[0f32; 64]).expect("it is small")]
            .map(|array| Arg::Array(array.bytes().to_vec()));
        let name = format!("sequence_tokens_{tokens}");
        machine.launch(Some(&name), &mut arrays, &mut |_, _| false).expect("it ends");
        let wanted = attention(&numbers(&q), &numbers(&k), &numbers(&v), tokens);
        close(&left(&arrays[3], &[1, 64]), &wanted);
    }
}

#[test]
fn one_design_attends_to_as_many_tokens_as_each_launch_says() {
    attends(&[1, 200, 8191], &[200, 8191, 1, 200]);
}

/// Rounds are a loop also where all launches have as many, with bodies that say what is left: 13 of them have no place in a core.
#[test]
fn lengths_of_equally_many_tiles_are_one_loop() {
    attends(&[401, 402], &[402, 401, 402]);
}

/// One sequence takes the length, of any value of the range; the text is that of September 2026.
#[test]
fn one_sequence_attends_to_as_many_tokens_as_it_is_given() {
    let room = 8192;
    let (q, k, v) = (array(&[1, 64], 1), array(&[room, 64], 2), array(&[room, 64], 3));
    let given = args(&[("q", &q), ("keys", &k), ("values", &v)], &[]);
    let range = Some(("tokens", Lengths::Range(1, 511)));
    let text = written(&example!("decode", "xdna2"), given, range).expect("it is a design");
    let module = parse(FileId::default(), &text).expect("it is read");
    let pretty = print(&module, Form::Pretty, Version::V2026_09);
    let again = parse(FileId::default(), &pretty).expect("it is read");
    let design = Design::read(&again).expect("it is a design").remove(0);
    assert_eq!(design.sequences.len(), 1);
    assert!(pretty.contains("arith.divsi"), "{pretty}");
    assert!(wsp_aie::check(&design).is_empty(), "{:?}", wsp_aie::check(&design));
    let mut machine = Machine::new(&design, Allocation::Lowered).expect("it runs");
    for tokens in [200, 511, 1, 32, 33, 200] {
        let mut given = [&q, &k, &v, &Array::of(&[1, 64], &[0f32; 64]).expect("it is small")]
            .map(|array| Arg::Array(array.bytes().to_vec()))
            .to_vec();
        given.push(Arg::Number(tokens as i64));
        machine.launch(Some("sequence"), &mut given, &mut |_, _| false).expect("it ends");
        let wanted = attention(&numbers(&q), &numbers(&k), &numbers(&v), tokens);
        close(&left(&given[3], &[1, 64]), &wanted);
    }
}

#[test]
fn ranges_that_no_sequence_takes_are_told() {
    let found =
        written(&example!("scale", "xdna1"), Args::default(), Some(("n", Lengths::Range(1024, 1_000_000))));
    let told = found.expect_err("it is refused").0[0].message.clone();
    assert_eq!(told, "lengths 1024 to 1000000 of `n`, and a range has 52428 at most, from 1 to 1048576");
    let far = Some(("n", Lengths::Range(2_000_000_000, 2_000_000_064)));
    let found = written(&example!("scale", "xdna1"), Args::default(), far).expect_err("it is refused");
    assert!(found.0[0].message.ends_with("from 1 to 1048576"), "{found}");
    let found =
        written(&example!("scale", "xdna1"), Args::default(), Some(("n", Lengths::Range(1024, 1030))));
    let found = found.expect_err("it is refused").0[0].message.clone();
    assert_eq!(found, "with other lengths of `n` arrays have other extents");
    // A range of extents is not taken within the bounds either.
    let found = written(&example!("scale", "xdna1"), Args::default(), Some(("n", Lengths::Range(0, 70_000))));
    let help = found.expect_err("it is refused").0[0].help.concat();
    assert_eq!(help, "have a sequence for each length: `--lengths n=1,52428`");
}

/// A refusal of bounds names the range within them; names are looked at before.
#[test]
fn a_range_beyond_the_bounds_is_answered_by_the_part_within_them() {
    let of_range = |name: &str, from, to| {
        let given = args(&[], &[("one", 1), ("dim", 16), ("room", 80)]);
        let found = written(&example!("decode", "xdna2"), given, Some((name, Lengths::Range(from, to))));
        let found = found.expect_err("it is refused").0.remove(0);
        (found.message, found.help.concat())
    };
    for (from, to, within) in [
        (0, 1_000_000, "1..=52428"),
        (8192, 80_000, "8192..=60619"),
        (2_000_000, 3_000_000, "1048575..=1048576"),
        (i64::MIN, i64::MAX, "1..=52428"),
        (-5, 0, "1..=2"),
    ] {
        let (message, help) = of_range("tokens", from, to);
        assert_eq!(
            message,
            format!("lengths {from} to {to} of `tokens`, and a range has 52428 at most, from 1 to 1048576")
        );
        assert_eq!(help, format!("give a range within these bounds: `--lengths tokens={within}`"));
    }
    let (message, help) = of_range("tokens", 7, 7);
    assert_eq!(message, "lengths 7 to 7 of `tokens`, and a range has two at least");
    assert_eq!(help, "give a range: `--lengths tokens=7..=8`, or one length: `--lengths tokens=7`");
    for range in [(0, 100), (1, 100), (0, 1_000_000)] {
        let (message, help) = of_range("zz", range.0, range.1);
        assert_eq!(
            (&*message, &*help),
            ("there is no parameter `zz`", "give one of `tokens`, `one`, `dim`, `room`")
        );
        let (message, help) = of_range("token", range.0, range.1);
        assert_eq!((&*message, &*help), ("there is no parameter `token`", "did you mean `tokens`?"));
    }
}

/// Sums of rows of 32, and a kernel that adds 1000 so often as its word says.
const SUMS: &str = "
    PTO_SHAPE(q, one, dim)
    PTO_SHAPE(keys, room, dim)
    PTO_SHAPE(o, one, dim)
    PTO_TENSOR(acc, float, 1, dim)
    struct Begin { uint32_t none; };
    struct Tile { uint32_t first, count; };
    struct End { uint32_t f; };
    PTO_KERNEL_IMPL(begin) {
        auto desc = PTO_GET_DESCRIPTOR<Begin>();
        VecTile<float, 1, dim> a;
        TLOAD(a, q, {desc.none, 0}); TSTORE(acc, a, {0, 0});
    }
    PTO_KERNEL_IMPL(attend) {
        auto desc = PTO_GET_DESCRIPTOR<Tile>();
        VecTile<float, 32, dim> k; VecTile<float, 1, dim> a; VecTile<float, 1, dim> s;
        TLOAD(k, keys, {desc.first, 0}, desc.count); TLOAD(a, acc, {0, 0});
        TCOLSUM(s, k); TADD(a, a, s); TSTORE(acc, a, {0, 0});
    }
    PTO_KERNEL_IMPL(finish) {
        auto desc = PTO_GET_DESCRIPTOR<End>();
        VecTile<float, 1, dim> a;
        TLOAD(a, acc, {0, 0});
        for (uint32_t i = 0; i < desc.f; ++i) { TADDS(a, a, 1000.0f); }
        TSTORE(o, a, {0, 0});
    }";

/// Rows up to `n`, and as many thousands.
fn sums(n: &str, thousands: &str) -> PlanSource {
    let text = format!(
        "use \"k.pto\"; param tokens; let n = {n};
        workload main {{
            begin(none = 0);
            parallel for t in 0..ceildiv(n, 32) {{ attend(first = 32 * t, count = min(32, n - 32 * t)); }}
            finish(f = {thousands});
        }}"
    );
    plan(&text, SUMS, "xdna2")
}

fn sums_of(n: &str, thousands: &str) -> Result<String, Diagnostics> {
    let given = args(&[("q", &array(&[1, 16], 1)), ("keys", &array(&[256, 16], 2))], &[]);
    written(&sums(n, thousands), given, Some(("tokens", Lengths::Range(1, 200))))
}

/// What fits the ends of a range and the steps in it is compared with every other length.
#[test]
fn one_length_that_differs_from_all_others_is_found() {
    let bump = "max(0, min(tokens - 56, 58 - tokens))";
    for (n, thousands, length, what) in [
        ("tokens", &*format!("1 + {bump}"), 57, "`core_0` has other tasks"),
        ("tokens", "(tokens == 57) + 1", 57, "`core_0` has other tasks"),
        // The finding names the first, on any number of threads.
        ("tokens", "(tokens == 185) + (tokens == 57) + (tokens == 121) + 1", 57, "`core_0` has other tasks"),
        (&*format!("tokens - 32 * {bump}"), "1", 57, "`core_0` has other tasks"),
    ] {
        let found = sums_of(n, thousands).expect_err("no sum fits all lengths").0[0].clone();
        assert!(found.message.starts_with(&format!("with tokens={length} {what}")), "{}", found.message);
    }
}

/// All lengths of a range are listed and compared, so that their tasks are counted before.
#[test]
fn a_range_of_too_many_tasks_is_answered_by_one_that_is_compared() {
    let given = args(&[], &[("one", 1), ("dim", 64), ("room", 65_536)]);
    let found = written(&example!("decode", "xdna2"), given, Some(("tokens", Lengths::Range(1, 52_428))));
    let found = found.expect_err("it is refused").0.remove(0);
    assert_eq!(
        found.message,
        "lengths 1 to 8351 of `tokens` have 1310977 tasks together, with 24 for each length, and 1310720 are compared with what a sequence computes at most"
    );
    assert!(found.help[0].contains("`--lengths tokens=1..=8350`"), "{found:?}");
}

#[test]
fn a_design_of_a_range_takes_no_other_length() {
    let text = sums_of("tokens", "1").expect("it is a design");
    let file = DesignFile::read(FileId::default(), &text).expect("it is a design");
    let arg = file.args("sequence").expect("it is there").pop().expect("the length is the last");
    assert_eq!((arg.name.as_str(), arg.integers), ("tokens", Some((1, 200))));
    let run = |tokens: i64| {
        let (q, keys) = (array(&[1, 16], 1), array(&[256, 16], 2));
        file.run("sequence", &args(&[("q", &q), ("keys", &keys)], &[("tokens", tokens)]))
    };
    run(1).expect("the first length");
    run(200).expect("the last length");
    for tokens in [0, -5, 201] {
        let found = run(tokens).expect_err("it is refused").into_diagnostics().0[0].message.clone();
        assert_eq!(found, format!("`tokens` is {tokens}, and the sequence takes 1 to 200"));
    }
    let design = design(&text);
    assert_eq!(design.sequences[0].lengths, Some((1, 200)));
    let mut machine = Machine::new(&design, Allocation::Lowered).expect("it runs");
    let mut given = [1024, 64, 16_384].map(|bytes| Arg::Array(vec![0; bytes])).to_vec();
    given.push(Arg::Number(0));
    assert!(machine.launch(Some("sequence"), &mut given, &mut |_, _| false).is_err());
}

#[test]
fn tiles_that_are_dealt_alike_need_no_words() {
    let plan = example!("scale", "xdna1");
    let text = emitted(&plan, Args::default(), ("n", &[16_384, 65_536])).expect("it is a design");
    assert!(!text.contains("rtp_write"), "{text}");
    assert_eq!((design(&text).sequences.len(), design(&text).cores.len()), (2, 16));
    let found = emitted(&plan, args(&[("x", &array(&[1024], 1))], &[]), ("n", &[1024]));
    assert_eq!(found.expect_err("it is refused").0[0].message, "`n` is an extent of arrays that are given");
}

#[test]
fn weights_that_are_held_for_a_launch_are_given_back_after_its_last_rows() {
    let launch = args(&[], &[("inputs", 16), ("outputs", 16)]);
    let text =
        emitted(&example!("linear", "xdna1"), launch, ("rows", &[16, 512])).expect("one core has both");
    let design = design(&text);
    assert_eq!(design.cores.len(), 1);
    let mut machine = Machine::new(&design, Allocation::Lowered).expect("it runs");
    for rows in [512u64, 16, 512] {
        let (x, w) = (array(&[rows, 16], rows as u32), array(&[16, 16], 2 + rows as u32));
        let mut arrays = [
            Arg::Array(x.bytes().to_vec()),
            Arg::Array(w.bytes().to_vec()),
            Arg::Array(vec![0; x.bytes().len()]),
        ];
        machine
            .launch(Some(&format!("sequence_rows_{rows}")), &mut arrays, &mut |_, _| false)
            .expect("it ends");
        let size = (rows as usize, 16, 16);
        close(&left(&arrays[2], &[rows, 16]), &product(&numbers(&x), &numbers(&w), size));
    }
}

/// A last tile of which tasks store a part is there for some lengths and not for others.
#[test]
fn lengths_of_which_some_leave_a_part_of_a_box_name_the_tensor() {
    let kernels = "
        PTO_SHAPE(x, 64, 16)
        PTO_SHAPE(y, 64, 16)
        struct Part { uint32_t first, count; };
        PTO_KERNEL_IMPL(scale) {
            auto desc = PTO_GET_DESCRIPTOR<Part>();
            VecTile<float, 4, 16> t;
            TLOAD(t, x, {desc.first, 0}, desc.count);
            TSTORE(y, t, {desc.first, 0});
        }";
    let text = "use \"k.pto\"; param tok; workload main { parallel for i in 0..ceildiv(tok, 4) { scale(first = 4 * i, count = min(4, tok - 4 * i)); } } schedule { workers(1); }";
    let found = emitted(&plan(text, kernels, "xdna2"), args(&[], &[]), ("tok", &[8, 9]));
    let told = format!("{}", found.expect_err("it is refused"));
    assert!(told.contains("leave a part of a box of `y`"), "{told}");
    assert!(emitted(&plan(text, kernels, "xdna2"), args(&[], &[]), ("tok", &[8, 16])).is_ok());
}

#[test]
fn launches_that_differ_in_more_than_lengths_are_told() {
    let kernels = "
        PTO_SHAPE(x, n)
        PTO_SHAPE(y, n)
        struct Part { uint32_t first; uint32_t scale; };
        PTO_KERNEL_IMPL(scale) {
            auto desc = PTO_GET_DESCRIPTOR<Part>();
            VecTile<float, 1, 64> t;
            TLOAD(t, x, {desc.first});
            TMULS(t, t, float(desc.scale));
            TSTORE(y, t, {desc.first});
        }";
    let text = "use \"k.pto\"; param s; workload main { parallel for i in 0..64 { scale(first = 64 * i, scale = i * s); } }";
    let x = array(&[4096], 1);
    let found = emitted(&plan(text, kernels, "xdna1"), args(&[("x", &x)], &[]), ("s", &[1, 3]));
    let told = found.expect_err("it is refused").0[0].message.clone();
    assert!(told.contains("differs in more than lengths"), "{told}");
}

/// A refusal of lengths beyond an extent names the extent that the longest needs.
#[test]
fn an_extent_is_told_for_all_lengths() {
    let (q, k) = (array(&[1, 64], 1), array(&[64, 64], 2));
    let given = args(&[("q", &q), ("keys", &k), ("values", &k)], &[]);
    for lengths in [Lengths::Range(40, 150), Lengths::Each(vec![150, 70, 100])] {
        let found = written(&example!("decode", "xdna2"), given.clone(), Some(("tokens", lengths)));
        let help = found.expect_err("there is less").0[0].help.join(" ");
        assert!(help.contains("160"), "{help}");
    }
}

/// A refusal names a length below 0 of an extent, and a name that the program does not have.
#[test]
fn lengths_of_no_extent_are_refused_by_name() {
    let told = |name: &str, length: i64| {
        let given = args(&[], &[("cols", 64)]);
        let lengths = Some((name, Lengths::Each(vec![length])));
        let found = written(&example!("softmax", "xdna2"), given, lengths).expect_err("there is none");
        (found.0[0].message.clone(), found.0[0].help.concat())
    };
    assert_eq!(told("rows", -3).0, "`rows` is an extent of arrays, and one of its lengths is -3");
    let (message, help) = told("foo", 16);
    assert_eq!((&*message, &*help), ("there is no parameter `foo`", "give one of `rows`, `cols`"));
}

/// A length of which tasks leave elements of an output is reported, as by a run.
#[test]
fn a_length_that_leaves_elements_of_an_output_is_told() {
    let emit = |lengths: &[i64]| {
        let launch = args(&[], &[("cols", 64)]);
        let lengths = Some(("rows".to_owned(), Lengths::Each(lengths.to_vec())));
        let options = EmitOptions { launch, lengths, ..EmitOptions::default() };
        backend().emit(&example!("softmax", "xdna2"), &options).expect("it is a design").notes
    };
    assert!(emit(&[32, 48]).iter().all(|found| found.code.0 != 1868));
    let notes = emit(&[32, 40, 50]);
    let told: Vec<&str> = notes.iter().filter(|of| of.code.0 == 1868).map(|of| of.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "transfers of `@sequence_rows_40` write 2048 of the 2560 elements of `y_rows_40`",
            "transfers of `@sequence_rows_50` write 3072 of the 3200 elements of `y_rows_50`",
        ]
    );
}
