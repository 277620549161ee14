//! Programs as text: both directions, on programs of every kind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::choices::{Choices, bytes};
use crate::random_programs::{mutate, valid_program};
use expect_test::expect;
use proptest::prelude::*;
use wsp_core::ptow::{Program, Verified, marks_needed};
use wsp_diag::{SourceMap, render_all};
use wsp_isa::ptow::{AlignedBytes, assemble, disassemble, encode};

fn encoded(text: &str) -> Vec<u8> {
    let mut sources = SourceMap::default();
    encode("a.ptows", text, &mut sources)
        .unwrap_or_else(|found| panic!("{}", render_all(&found, &sources, false)))
}

/// What is wrong with a text.
fn faults(text: &str) -> String {
    let mut sources = SourceMap::default();
    match assemble("a.ptows", text, &mut sources) {
        Ok(_) => "nothing".to_owned(),
        Err(found) => render_all(&found, &sources, false),
    }
}

fn verified(program: &[u8]) -> Result<(), String> {
    let aligned = AlignedBytes::copy(program);
    let program = Program::read(aligned.as_bytes()).map_err(|e| e.to_string())?;
    let mut marks = vec![0; marks_needed(&program)];
    Verified::new(program, &mut marks).map(|_| ()).map_err(|e| e.to_string())
}

#[test]
fn a_row_behind_a_label_has_its_name() {
    let [labelled, plain] =
        ["here: .kernel one vector\nHALT\n", ".kernel one vector\nhere: HALT\n"].map(encoded);
    assert_eq!(labelled, plain);
}

#[test]
fn made_up_programs_keep_every_rule_and_survive_the_round_trip() {
    for seed in 0..4000 {
        let decisions = bytes(seed, 16 + (seed as usize % 64) * 16);
        let program = valid_program(&mut Choices::new(&decisions));
        if let Err(error) = verified(&program) {
            panic!("seed {seed}: {error}\n{}", disassemble(&program).unwrap());
        }
        let text = disassemble(&program).unwrap();
        assert_eq!(encoded(&text), program, "seed {seed}\n{text}");
        assert!(!text.contains(".word") && !text.contains(".expr"), "seed {seed}\n{text}");
    }
}

#[test]
fn damaged_programs_survive_the_round_trip() {
    let mut read = 0;
    for seed in 0..8000 {
        let decisions = bytes(seed, 400);
        let (make, damage) = decisions.split_at(320);
        let mut program = valid_program(&mut Choices::new(make));
        mutate(&mut program, &mut Choices::new(damage));
        if let Ok(text) = disassemble(&program) {
            read += 1;
            assert_eq!(encoded(&text), program, "seed {seed}\n{text}");
        }
    }
    assert!(read > 2000, "{read} of 8000 could be read");
}

/// The pool of an expression as an operand of `PARAM_EXPR`, and what it is printed as.
fn expression(text: &str) -> (Vec<(u8, u32)>, String) {
    let source = format!(
        ".value n\n.value m\n.table lens\n.slots 4\n.axis b dyn n\n.kernel k any\nTASK k\nPARAM_EXPR {text}\nHALT\n"
    );
    let bytes = encoded(&source);
    let aligned = AlignedBytes::copy(&bytes);
    let program = Program::read(aligned.as_bytes()).unwrap();
    let words = program.exprs.iter().map(|word| (word.opcode, word.operand2)).collect();
    let printed = disassemble(&bytes).unwrap();
    let line = printed.lines().find_map(|line| line.trim().strip_prefix("PARAM_EXPR ")).unwrap().to_owned();
    (words, line)
}

#[test]
fn expressions_are_printed_as_they_are_written() {
    for text in [
        "n",
        "-5",
        "-(5)",
        "--n",
        "!n",
        "i0 + i15",
        "n - (m - 1)",
        "n - m - 1",
        "(n + m) * 2",
        "n + m * 2",
        "n / m % 3",
        "n - -1",
        "min(n, max(m, ceildiv(n, 2)))",
        "lens[lens[n] + 1]",
        "len(lens)",
        "slot(3)",
        "pos(i2)",
        "axis(b)",
        "n ? m : 3",
        "n ? m ? 1 : 2 : 3",
        "(n ? m : 1) ? 2 : 3",
        "n && m",
        "n && m && 3",
        "n && (m && 3)",
        "n || m && 1",
        "(n || m) && 1",
        "n == m != 1",
        "n < m == 1",
        "n < (m == 1)",
        "9223372036854775807",
        "-9223372036854775808",
        "4294967296",
        "-2147483648",
        "2147483648",
        "{const 1, value n, skip 0}",
        "{value n, value m, skipz 1, neg}",
        "{const 7, high 0}",
    ] {
        assert_eq!(expression(text).1, text);
    }
}

#[test]
fn other_ways_to_write_an_expression_give_the_same_words() {
    for (one, other) in [
        ("n+m*2", "(n) + ((m * 2))"),
        ("0x10", "1_6"),
        ("n && m", "n ? m != 0 : 0"),
        ("n || m", "n ? 1 : m != 0"),
        ("n + 1", "{value n, const 1, add}"),
        ("n ? m : 3", "{value n, skipz 2, value m, skip 1, const 3}"),
    ] {
        assert_eq!(expression(one), expression(other), "{one}");
    }
    let (words, _) = expression("-4294967297");
    assert_eq!(words, [(0x01, u32::MAX), (0x02, 0xFFFF_FFFE)]);
}

#[test]
fn nested_expressions_are_read_up_to_a_limit() {
    let nested = |depth: usize| {
        format!("TASK k\nPARAM_EXPR {}1{}\nHALT\n.kernel k any", "(".repeat(depth), ")".repeat(depth))
    };
    assert_eq!(faults(&nested(60)), "nothing");
    assert!(faults(&nested(70)).contains("WSP0918"), "{}", faults(&nested(70)));
    assert!(faults(&nested(100_000)).contains("WSP0918"));
    let chain = format!("TASK k\nPARAM_EXPR 1{}\nHALT\n.kernel k any", " + 1".repeat(127));
    assert_eq!(faults(&chain), "nothing");
    let minus = format!("TASK k\nPARAM_EXPR {}n\nHALT\n.kernel k any\n.value n", "-".repeat(100));
    assert!(faults(&minus).contains("WSP0918"));
}

#[test]
fn programs_that_no_text_fits_are_printed_by_their_numbers() {
    let text = "\
.names none
.values 2
.axis a0 raw 9 1 2 3
.kernel k0 raw 7 0 1
.tensor x0 raw 99 9 0
    .word 0x99 1 2 3
    TASK #9
    .word 0x7f 0 0 0
    PARALLEL_FOR #5, #77
    COND @4000, #2000, -
    .word 0x10 3 0 0
    HALT
";
    let bytes = encoded(text);
    let printed = disassemble(&bytes).unwrap();
    let (head, printed) = printed.split_once('\n').unwrap();
    assert!(head.starts_with("; "), "{head}");
    assert_eq!(printed, text);
}

#[test]
fn a_pool_in_another_order_is_listed() {
    let text =
        ".value n\n.expr n + 1\n.expr n\n.kernel k any\nTASK k\nPARAM_EXPR n\nPARAM_EXPR n + 1\nHALT\n";
    let bytes = encoded(text);
    let printed = disassemble(&bytes).unwrap();
    assert!(printed.contains("\n.expr n + 1 "), "{printed}");
    assert_eq!(encoded(&printed), bytes);
}

#[test]
fn names_that_cannot_be_symbols_are_kept() {
    let text =
        ".value n\n.value v1 \"n\"\n.value v2 \"kv.indptr \u{202e}\\\"\"\n.kernel k0 \"\" cube\nHALT\n";
    let bytes = encoded(text);
    let printed = disassemble(&bytes).unwrap();
    for line in
        [".value n\n", ".value v1 \"n\"", ".value v2 \"kv.indptr \\u{202e}\\\"\"", ".kernel k0 \"\" cube"]
    {
        assert!(printed.contains(line), "{line} is missing:\n{printed}");
    }
    assert_eq!(encoded(&printed), bytes);
}

#[test]
fn faults_show_the_line_and_what_was_meant() {
    let text = "\
.value batch
.axis b dyn bath
.kernal k cube
.kernel k cub
PARALEL_FOR b, body
PARALLEL_FOR b
    LET batch +, body
TASK k, 3
TASK k extra
body:
body: PARAM_CONST 99999999999
IO_INPUT Q[:, 1 ..]
END $
HALT
";
    expect![[r#"
        error[WSP0914]: no value is called `bath`
         --> a.ptows:2:13
          |
        2 | .axis b dyn bath
          |             ^^^^
          |
          = help: did you mean `batch`?

        error[WSP0913]: no directive is called `.kernal`
         --> a.ptows:3:1
          |
        3 | .kernal k cube
          | ^^^^^^^
          |
          = help: did you mean `.kernel`?

        error[WSP0914]: no pool is called `cub`
         --> a.ptows:4:11
          |
        4 | .kernel k cub
          |           ^^^
          |
          = help: did you mean `cube`?

        error[WSP0913]: no instruction is called `PARALEL_FOR`
         --> a.ptows:5:1
          |
        5 | PARALEL_FOR b, body
          | ^^^^^^^^^^^
          |
          = help: did you mean `PARALLEL_FOR`?

        error[WSP0916]: expected `,`
         --> a.ptows:6:15
          |
        6 | PARALLEL_FOR b
          |               ^ the line ends here
          |
          = help: it is written `PARALLEL_FOR AXIS, BODY [, EXPR]`

        error[WSP0916]: expected an expression
         --> a.ptows:7:16
          |
        7 |     LET batch +, body
          |                ^ found `,`
          |
          = help: it is written `LET EXPR, BODY`

        error[WSP0916]: expected `label`
         --> a.ptows:8:9
          |
        8 | TASK k, 3
          |         ^ found `3`
          |
          = help: it is written `TASK KERNEL [, label N]`

        error[WSP0916]: expected `,`
         --> a.ptows:9:8
          |
        9 | TASK k extra
          |        ^^^^^ found `extra`
          |
          = help: it is written `TASK KERNEL [, label N]`

        error[WSP0915]: label `body` stands twice
          --> a.ptows:11:1
           |
        10 | body:
           | ---- it stands here already
        11 | body: PARAM_CONST 99999999999
           | ^^^^

        error[WSP0914]: no tensor is called `Q`
          --> a.ptows:12:10
           |
        12 | IO_INPUT Q[:, 1 ..]
           |          ^

        error[WSP0912]: unexpected character `$`
          --> a.ptows:13:5
           |
        13 | END $
           |     ^

        error: `a.ptows`: 11 errors
    "#]]
    .assert_eq(&faults(text));
}

#[test]
fn a_broken_rule_is_shown_where_it_is_broken() {
    let text = "\
.value n
.axis b dyn n
.kernel k cube
PARALLEL_FOR b, body
HALT
body:
TASK k
  PARAM_LOOPVAR i1
END
";
    expect![[r#"
        error[WSP0919]: rule V23 of programs is broken
         --> a.ptows:8:3
          |
        8 |   PARAM_LOOPVAR i1
          |   ^^^^^^^^^^^^^ found 1, which must be below 1
          |
          = note: the rule: a depth names a loop variable in scope
          = note: in the program this is instruction word 3

        error: `a.ptows`: 1 error
    "#]]
    .assert_eq(&faults(text));
    let text = ".kernel k any\nTASK k\nPARAM_EXPR i0 + 1\nHALT\n";
    expect![[r#"
        error[WSP0919]: rule V23 of programs is broken
         --> a.ptows:3:12
          |
        3 | PARAM_EXPR i0 + 1
          |            ^^ found 0, which must be below 0
          |
          = note: the rule: a depth names a loop variable in scope
          = note: in the program this is expression word 0

        error: `a.ptows`: 1 error
    "#]]
    .assert_eq(&faults(text));
    let text = ".tensor x f32 3 slot 0\nHALT\n";
    assert!(faults(text).contains(" --> a.ptows:1:9"), "{}", faults(text));
}

#[test]
fn a_flood_of_faults_is_cut() {
    let text = "FOO\n".repeat(100_000);
    let shown = faults(&text);
    assert!(shown.contains("WSP0911") && shown.lines().count() < 500, "{shown}");
    let labels: String = (0..10_000).map(|n| format!("PARALLEL_FOR #0, l{n}x\nl{n}:\n")).collect();
    assert!(faults(&labels).contains("WSP0911"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_bytes_or_faults(text in ".{0,200}") {
        let _ = faults(&text);
    }

    #[test]
    fn any_words_of_the_language_give_bytes_or_faults(
        words in prop::collection::vec(
            prop::sample::select(vec![
                ".value", ".axis", ".kernel", ".tensor", ".names", "none", "bytes", ".expr", ".word", "dense", "range", "n", "b",
                "i0", "PARALLEL_FOR", "TASK", "COND", "COMBINE", "DISPATCH_FILTER", "threshold", "key", "IO_INPUT", "HALT",
                "END", "\n", "\n", "\n", ",", ":", "[", "]", "..", "+:", "(", ")", "{", "}", "-", "?", "&&", "@", "#", "1", "7", "\"a\"",
                "cube", "f32", "step", "of", "set", "label",
            ]),
            0..60,
        ),
    ) {
        let text = words.join(" ");
        let mut sources = SourceMap::default();
        if let Ok(bytes) = encode("a", &text, &mut sources)
            && let Ok(printed) = disassemble(&bytes)
        {
            prop_assert_eq!(encoded(&printed), bytes, "{}", printed);
        }
    }
}
