//! The parser and the printer: what one writes the other reads, and no text makes the parser fail.

use wsp_aie::check;
use wsp_aie::design::Design;
use wsp_aie::mlir::{Form, Module, Version, parse, print};
use wsp_aie::run::{Allocation, Arg, Machine};
use wsp_diag::FileId;

const DESIGNS: [(&str, &str); 6] = [
    ("scale", include_str!("designs/scale.mlir")),
    ("words", include_str!("designs/words.mlir")),
    ("halves", include_str!("designs/halves.mlir")),
    ("locks", include_str!("designs/locks.mlir")),
    ("lists", include_str!("designs/lists.mlir")),
    ("product", include_str!("designs/product.mlir")),
];

fn read(text: &str) -> Module {
    parse(FileId(0), text).unwrap_or_else(|fault| panic!("{fault:?}\n{text}"))
}

#[test]
fn what_is_printed_is_read_as_the_same() {
    for (name, text) in DESIGNS {
        let module = read(text);
        for version in [Version::V2026_03, Version::V2026_09] {
            let pretty = print(&module, Form::Pretty, version);
            for form in [Form::Mixed, Form::Pretty] {
                let printed = print(&module, form, version);
                let again = read(&printed);
                assert_eq!(print(&again, Form::Pretty, version), pretty, "{name}, {form:?}\n{printed}");
                assert_eq!(print(&again, form, version), printed, "{name}");
            }
        }
    }
}

#[test]
fn operations_of_arrays_are_generic_unless_asked() {
    for (name, text) in DESIGNS {
        let mixed = print(&read(text), Form::Mixed, Version::default());
        for line in mixed.lines() {
            let line = line.trim();
            let made = line.starts_with('%').then(|| line.split_once(" = ")).flatten();
            let line = made.map_or(line, |(_, op)| op);
            assert!(!line.starts_with("aie"), "{line}");
        }
        let tile = "\"aie.tile\"() <{col = 0 : i32, row = 2 : i32}> : () -> index";
        assert!(name != "scale" || mixed.contains(tile), "{mixed}");
    }
}

#[test]
fn pretty_text_is_that_of_the_file() {
    let strip = |text: &str| {
        text.lines()
            .filter(|line| !line.starts_with("//"))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let scale = DESIGNS[0].1;
    assert_eq!(print(&read(scale), Form::Pretty, Version::V2026_03), strip(scale));
}

/// Numbers in an order that a seed decides.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Edits one byte, makes a number an extreme one, or moves a piece of the text.
fn edit(text: &str, dice: &mut Dice) -> Option<String> {
    const BYTES: &[u8] = b"(){}[]<>%@^!#:,=-. \"\n0129x?aeiz_/*\\\0";
    let mut bytes = text.as_bytes().to_vec();
    let at = dice.below(bytes.len());
    match dice.below(5) {
        0 => bytes[at] = BYTES[dice.below(BYTES.len())],
        1 => bytes.insert(at, BYTES[dice.below(BYTES.len())]),
        2 => {
            bytes.remove(at);
        }
        3 => {
            const EXTREMES: [&[u8]; 6] =
                [b"-1", b"0", b"255", b"4294967295", b"9223372036854775807", b"-9223372036854775808"];
            let start = at + bytes[at..].iter().position(u8::is_ascii_digit)?;
            let end = start + bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            bytes.splice(start..end, EXTREMES[dice.below(6)].iter().copied());
        }
        _ => {
            let end = (at + dice.below(40)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            let to = dice.below(bytes.len());
            bytes.splice(to..to, piece);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Checks a design and runs it; whether that is to its end.
fn goes(module: &Module) -> bool {
    let Ok(designs) = Design::read(module) else { return false };
    let mut ended = false;
    for design in &designs {
        let _ = check(design);
        let again = print(&design.module(), Form::Mixed, Version::default());
        parse(FileId(0), &again).unwrap_or_else(|fault| panic!("{fault:?}\n{again}"));
        let Ok(mut machine) = Machine::new(design, Allocation::Lowered) else { continue };
        machine.most_steps = 20_000;
        let args = design.sequences.first().map(|sequence| sequence.args.clone()).unwrap_or_default();
        let bytes = |value| design.module.ty(value).bytes();
        if args.iter().any(|arg| bytes(*arg).is_some_and(|bytes| bytes > 1 << 20)) {
            continue;
        }
        let arg = |value| match design.module.ty(value).shaped() {
            Some(_) => Arg::Array(vec![0; bytes(value).unwrap_or(0) as usize]),
            None => Arg::Number(64),
        };
        let mut args: Vec<Arg> = args.into_iter().map(arg).collect();
        ended |= machine.launch(None, &mut args, &mut crate::support::nothing).is_ok();
    }
    ended
}

/// Reads edited texts; what is read is printed and read again, and some of it is run.
pub(crate) fn edited(count: usize, seed: u64, texts: &dyn Fn(usize) -> String) -> (usize, usize) {
    let mut dice = Dice(seed);
    let (mut taken, mut ran) = (0, 0);
    for i in 0..count {
        let Some(text) = edit(&texts(i), &mut dice) else { continue };
        let Ok(module) = parse(FileId(0), &text) else { continue };
        taken += 1;
        if taken % 4 == 0 {
            ran += usize::from(goes(&module));
        }
        let printed = print(&module, Form::Mixed, Version::V2026_09);
        let again = parse(FileId(0), &printed).unwrap_or_else(|fault| panic!("{fault:?}\n{text}\n{printed}"));
        assert_eq!(print(&again, Form::Mixed, Version::V2026_09), printed, "{text}");
    }
    (taken, ran)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how many cases there are is read from the environment")]
fn edited_texts_are_taken_or_refused() {
    let count = std::env::var("WSP_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(1_500);
    // The one with all operations is the longest, and takes its turn less often.
    let of = |i: usize| if i.is_multiple_of(8) { DESIGNS[1] } else { DESIGNS[[0, 2, 3, 0][i % 4]] };
    let (taken, ran) = edited(count, 0x5eed, &|i| of(i).1.to_owned());
    println!("{count} texts, {taken} read, {ran} run to the end");
    assert!(taken > count / 50 && ran > count / 400, "{taken} of {count} were read, {ran} ran");
}

#[test]
fn what_is_nested_too_deep_is_refused() {
    for (open, close) in [("{a = [", "]}"), ("module {", "}"), ("func.func private @f(memref<memref<", ")")] {
        let text = format!("{}{}", open.repeat(10_000), close.repeat(10_000));
        assert!(parse(FileId(0), &text).is_err());
    }
    let text = format!("arith.constant {}", "[".repeat(100_000));
    assert!(parse(FileId(0), &text).is_err());
    let text = format!("func.func private @f({}", "(".repeat(100_000));
    assert!(parse(FileId(0), &text).is_err());
}

#[test]
fn designs_are_what_their_text_says() {
    for (name, text) in DESIGNS {
        let module = read(text);
        let designs = Design::read(&module).unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
        let again = print(&designs[0].module(), Form::Pretty, Version::default());
        let twice = Design::read(&read(&again)).expect("it is read");
        assert_eq!(print(&twice[0].module(), Form::Pretty, Version::default()), again, "{name}");
        // Lists of descriptors become blocks.
        if name == "lists" {
            continue;
        }
        // The order of operations is that of their kinds, and no operation is lost.
        let count = |text: &str| {
            let mut lines: Vec<String> =
                print(&read(text), Form::Pretty, Version::default()).lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(count(&again), count(text), "{name}");
    }
}

/// A text that is wrong, its code, and what is said.
const WRONG: &[(&str, u16, &str)] = &[
    ("aie.device(npu3) {}", 1800, "expected one of `xcvc1902`"),
    ("aie.device(npu2) {", 1800, "expected `}`"),
    ("aie.tile(0, 2)\naie.til(0, 2)", 1801, "no operation `aie.til` is known here"),
    (
        "\"aie.tile\"() <{col = 0 : i32, row = 2 : i32}> : () -> ()\n%a = aie.lock(%b, 0)",
        1802,
        "no value `%b` was made before",
    ),
    ("%a = aie.tile(0, 2)\n%a = aie.tile(0, 3)", 1802, "`%a` is made twice"),
    (
        "%a = arith.constant 18446744073709551616 : i64",
        1803,
        "`18446744073709551616` is no integer of 64 bits",
    ),
    ("%a = arith.constant -9223372036854775808 : i32", 1803, "`-9223372036854775808` has no place in `i32`"),
    (
        "%a = arith.constant 4294967296 : i32",
        1803,
        "`4294967296` has no place in `i32`, which has -2147483648 to",
    ),
    ("%a = arith.constant 18446744073709551615 : i32", 1803, "`18446744073709551615` has no place in `i32`"),
    ("%a = arith.constant dense<[1, 256]> : vector<2xi8>", 1803, "`256` has no place in `i8`"),
    ("\"arith.constant\"() <{value = 2 : i1}> : () -> i1", 1803, "`2` has no place in `i1`"),
    (
        "func.func private @f() {\n  aie.end\n  %a = arith.constant 1 : i32\n}",
        1800,
        "`arith.constant` stands behind `aie.end`, which ends its block",
    ),
    ("%a = arith.constant 4 : i65", 1804, "no type `i65`"),
    (
        "%a = arith.constant 4 : i32\n%b = arith.addi %a, %a : i64",
        1805,
        "`%a` of `arith.addi` has type `i32`",
    ),
    ("%a, %b = aie.tile(0, 2)", 1805, "`aie.tile` makes 1 values, and 2 are named"),
    ("aie.lock(%a, 0)", 1802, "no value `%a` was made before"),
    (
        "%t = aie.tile(0, 2)\n%l = aie.lock(%t, 0) {init = 1 : i32, init = 2 : i32}",
        1806,
        "`init` of `aie.lock` is given twice",
    ),
    ("\"aie.next_bd\"()[^a] : () -> ()", 1802, "`^a` is a block outside a region"),
    ("%c = arith.constant 0x1.8 : f32", 1803, ""),
    ("// only a comment \"", 0, ""),
    ("\"open", 1800, "expected a string"),
    ("%", 1800, "expected a value"),
];

/// In the generic form each block ends in what its own spelling leaves out.
#[test]
fn blocks_of_the_generic_form_have_their_ends() {
    let mixed = print(&read(DESIGNS[0].1), Form::Mixed, Version::default());
    let end = "\"aie.end\"() : () -> ()";
    let at: Vec<usize> = mixed.match_indices(end).map(|(at, _)| at).collect();
    assert_eq!(at.len(), 2, "{mixed}");
    for (at, op) in at.into_iter().zip(["aie.core", "aie.device"]) {
        let without = [&mixed[..at], &mixed[at + end.len()..]].concat();
        let fault = parse(FileId(0), &without).expect_err("it has no end");
        let told = format!("a block of `{op}` ends with ");
        assert!(fault.code.0 == 1800 && fault.message.starts_with(&told), "{fault:?}");
        assert_eq!(fault.help, [format!("write `{end}` behind it")]);
    }
}

/// Blocks of operations whose own spelling has ends have them: what is read is read again as it is printed.
#[test]
fn blocks_of_the_own_form_have_ends_that_it_spells() {
    const LOCKS: &str = include_str!("designs/locks.mlir");
    for (out, message) in [
        (
            "      %m = aie.dma_start(MM2S, 0, ^drain, ^end)\n",
            "a block of `aie.mem` is empty, and `aie.end` has to end it",
        ),
        (
            "      aie.next_bd ^drain\n",
            "a block of `aie.mem` ends with `aie.use_lock`, and `aie.end` has to end it",
        ),
    ] {
        assert!(LOCKS.contains(out));
        let fault = parse(FileId(0), &LOCKS.replace(out, "")).expect_err("it is refused");
        assert!(fault.code.0 == 1800 && fault.message == message, "{fault:?}");
        assert!(fault.help[0].starts_with("write `aie.end` "), "{fault:?}");
    }
}

/// An empty block has no end, and an operation that ends blocks of others is none; an empty `else` is none at all.
#[test]
fn blocks_end_with_what_ends_their_operation() {
    let core = |body: &str| {
        format!(
            "aie.device(npu2) {{\n  %t = aie.tile(0, 2)\n  %c = \"aie.core\"(%t) ({{\n{body}\n  }}) : (index) -> index\n}}\n"
        )
    };
    let op = |name: &str| format!("\"{name}\"() : () -> ()");
    let range = "%n = arith.constant 4 : index\n%s = arith.constant 0 : i32\n";
    let round = "%r = \"scf.for\"(%n, %n, %n, %s) ({\n^bb0(%i: index, %a: i32):\n  %b = arith.addi %a, %a : i32\n}) : (index, index, index, i32) -> i32";
    let branch =
        "%yes = arith.constant true\n\"scf.if\"(%yes) ({\n\"scf.yield\"() : () -> ()\n}, {\n}) : (i1) -> ()";
    let ended = op("aie.end");
    for (body, help) in [
        (String::new(), format!("write `{ended}` in it")),
        (op("func.return"), format!("write `{ended}` in its place")),
        (op("scf.yield"), format!("write `{ended}` in its place")),
        (
            format!("{range}{round}\n{ended}"),
            "write `\"scf.yield\"` of the values (1) that the block hands on behind it".to_owned(),
        ),
        (format!("{branch}\n{ended}"), String::new()),
    ] {
        match parse(FileId(0), &core(&body)) {
            Ok(_) => assert!(help.is_empty(), "{body}"),
            Err(fault) => {
                assert!(fault.code.0 == 1800 && fault.help == [help], "{body}: {fault:?}");
                assert!(fault.primary.is_some(), "{body}");
            }
        }
    }
}

#[test]
fn wrong_texts_are_refused_with_a_place() {
    for (text, code, message) in WRONG {
        match parse(FileId(0), text) {
            Ok(_) => assert_eq!(*code, 0, "{text}"),
            Err(fault) => {
                assert!(fault.code.0 == *code && fault.message.starts_with(message), "{text}: {fault:?}");
                assert!(fault.primary.is_some(), "{text}");
            }
        }
    }
}

#[test]
fn constants_have_the_integers_of_their_types() {
    for (value, ty) in
        [("-2147483648", "i32"), ("4294967295", "i32"), ("255", "i8"), ("18446744073709551615", "i64")]
    {
        read(&format!("%a = arith.constant {value} : {ty}"));
        read(&format!("%a = arith.constant dense<{value}> : vector<4x{ty}>"));
    }
}

#[test]
fn versions_spell_descriptors_differently() {
    let module = read(DESIGNS[1].1);
    let (march, september) =
        (print(&module, Form::Pretty, Version::V2026_03), print(&module, Form::Pretty, Version::V2026_09));
    assert!(march.contains(
        "aie.dma_bd(%buffer : memref<16xf32>, 0, 16, [<size = 4, stride = 4>, <size = 4, stride = 1>])"
    ));
    assert!(september.contains(
        "aie.dma_bd(%buffer : memref<16xf32> offset = 0 len = 16 sizes = [4, 4] strides = [4, 1])"
    ));
    assert_eq!(print(&read(&september), Form::Pretty, Version::V2026_03), march);
}

#[test]
fn an_empty_else_is_none() {
    let text = "func.func @f(%c: i1) {\n  scf.if %c {\n    func.call @g() : () -> ()\n  } else {\n  }\n  func.return\n}\n";
    assert!(!print(&read(text), Form::Pretty, Version::default()).contains("else"));
}
