//! Designs of the examples with one thing changed: the checker or a run finds each.

use super::examples::example;
use super::{args, array, plan, text};
use wsp_aie::design::Design;
use wsp_aie::mlir::parse;
use wsp_aie::run::{Allocation, Arg, Machine};
use wsp_diag::FileId;
use wsp_memory::Array;

/// Instructions after which a changed design is as good as one that hangs.
const STEPS: u64 = 4_000_000;

/// A change of the first line that has all of these words: what stands for what; nothing for the whole line.
struct Edit(&'static [&'static str], Option<(&'static str, &'static str)>);

const ACQUIRE: &str = "\"aie.objectfifo.acquire\"";
const RELEASE: &str = "\"aie.objectfifo.release\"";
const TRANSFER: &str = "\"aiex.npu.dma_memcpy_nd\"";
const FIFO: &str = "\"aie.objectfifo\"(";

const EDITS: &[Edit] = &[
    Edit(&["\"aie.device\""], Some(("device = 8", "device = 99"))),
    Edit(&["\"aie.tile\"", "row = 2"], Some(("row = 2", "row = 9"))),
    Edit(&["\"aie.tile\"", "row = 2"], Some(("row = 2", "row = 1"))),
    Edit(&["\"aie.tile\"", "row = 0"], Some(("row = 0", "row = 3"))),
    Edit(&["\"aie.buffer\""], Some(("memref<", "memref<4096x"))),
    Edit(&[FIFO], Some(("elemNumber = 2", "elemNumber = 0"))),
    Edit(&[FIFO], Some(("sym_name = \"", "sym_name = \"other_"))),
    Edit(&[FIFO], Some(("objectfifo<memref<", "objectfifo<memref<2x"))),
    Edit(&["\"aie.objectfifo.link\""], None),
    Edit(&["\"aie.objectfifo.link\""], Some(("_offsets = [0, ", "_offsets = [4, "))),
    Edit(&[ACQUIRE, "port = 1"], None),
    Edit(&[ACQUIRE, "port = 1"], Some(("port = 1", "port = 0"))),
    Edit(&[ACQUIRE], Some(("size = ", "size = 9"))),
    Edit(&["subview.access"], Some(("index = 0", "index = 7"))),
    Edit(&[RELEASE, "port = 1"], None),
    Edit(&[RELEASE, "port = 0"], None),
    Edit(&[RELEASE, "port = 0"], Some(("size = ", "size = 9"))),
    Edit(&["arith.addf"], Some(("arith.addf", "arith.subf"))),
    Edit(&["arith.mulf"], Some(("arith.mulf", "arith.addf"))),
    Edit(&["math.exp"], Some(("math.exp", "math.sqrt"))),
    Edit(&["math.rsqrt"], Some(("math.rsqrt", "math.sqrt"))),
    Edit(&[TRANSFER], None),
    Edit(&[TRANSFER, "issue_token"], None),
    Edit(&[TRANSFER], Some(("metadata = @", "metadata = @other_"))),
    Edit(&[TRANSFER], Some(("id = 0", "id = 16"))),
    Edit(
        &[TRANSFER],
        Some(("static_offsets = array<i64: 0, 0, 0, 0", "static_offsets = array<i64: 0, 0, 0, 16")),
    ),
    Edit(&[TRANSFER], Some(("static_sizes = array<i64: 1, 1, 1, ", "static_sizes = array<i64: 1, 1, 2, "))),
    Edit(&[TRANSFER], Some(("static_sizes = array<i64: 1, 1, 1, ", "static_sizes = array<i64: 1, 1, 1, 1"))),
    Edit(&["\"aiex.npu.dma_wait\""], Some(("symbol = @", "symbol = @other_"))),
];

impl Edit {
    /// A text with the change, where it has such a line.
    fn of(&self, text: &str) -> Option<String> {
        let Edit(words, change) = self;
        let is_this = |line: &&str| {
            words.iter().all(|word| line.contains(word)) && change.is_none_or(|(from, _)| line.contains(from))
        };
        let line = text.lines().find(is_this)?;
        let at = line.as_ptr() as usize - text.as_ptr() as usize;
        let new = change.map_or(String::new(), |(from, to)| line.replacen(from, to, 1));
        Some([&text[..at], &new, &text[at + line.len()..]].concat())
    }
}

/// How a changed design shows.
#[derive(PartialEq, Debug)]
enum Outcome {
    /// It is refused before it runs.
    Refused,
    /// It does not come to its end.
    Failed,
    /// What the arrays hold then.
    Ran(Vec<Arg>),
}

fn design(text: &str) -> Option<Design> {
    let design = Design::read(&parse(FileId::default(), text).ok()?).ok()?.pop()?;
    let is_right = !wsp_aie::check(&design).iter().any(wsp_diag::Diagnostic::is_error);
    is_right.then_some(design)
}

fn outcome(text: &str, arrays: &[(&str, &Array)]) -> Outcome {
    let Some(design) = design(text) else { return Outcome::Refused };
    let given = |value: &wsp_aie::mlir::Value, from: usize| {
        let name = &design.module.values[value.0 as usize].name;
        let bytes = design.module.ty(*value).bytes().unwrap_or(0) as usize;
        let array = arrays.iter().find(|(of, _)| name == of);
        let of = |(_, array): &(&str, &Array)| [&array.bytes()[from..], &array.bytes()[..from]].concat();
        Arg::Array(array.map_or_else(|| vec![0; bytes], of))
    };
    let Ok(mut machine) = Machine::new(&design, Allocation::Lowered) else { return Outcome::Refused };
    machine.most_steps = STEPS;
    let mut left = Vec::new();
    // Of what a launch leaves behind the next one tells.
    for from in [0, 128] {
        let mut args: Vec<Arg> = design.sequences[0].args.iter().map(|value| given(value, from)).collect();
        match machine.launch(None, &mut args, &mut |_, _| false) {
            Ok(_) => left.append(&mut args),
            Err(_) => return Outcome::Failed,
        }
    }
    Outcome::Ran(left)
}

macro_rules! of_example {
    ($edited:ident, $name:literal, $arrays:expr, $values:expr) => {{
        let arrays = $arrays;
        let text = text(&example!($name, "xdna2"), args(&arrays, $values));
        let wanted = outcome(&text, &arrays);
        assert!(matches!(wanted, Outcome::Ran(_)), "{}", $name);
        for (at, edit) in EDITS.iter().enumerate() {
            let Some(edited) = edit.of(&text) else { continue };
            let found = outcome(&edited, &arrays);
            $edited.push(($name, at, found == Outcome::Refused, found == wanted));
        }
    }};
}

#[test]
fn each_change_of_an_emitted_design_is_found() {
    let mut edited: Vec<(&str, usize, bool, bool)> = Vec::new();
    let (x, square, wide) = (array(&[64, 64], 1), array(&[64, 64], 2), array(&[64, 128], 3));
    let (tall, row, flat) = (array(&[128, 64], 4), array(&[1, 64], 5), array(&[4096], 6));
    let gain = array(&[64], 7);
    of_example!(edited, "scale", [("x", &flat)], &[]);
    of_example!(edited, "gemm", [("a", &x), ("b", &square)], &[]);
    of_example!(edited, "gemm_split", [("a", &wide), ("b", &tall)], &[]);
    of_example!(edited, "linear", [("x", &x), ("w", &square)], &[]);
    of_example!(edited, "mlp", [("x", &x), ("w_up", &square), ("w_down", &x)], &[]);
    of_example!(edited, "rmsnorm", [("x", &x), ("gain", &gain)], &[]);
    of_example!(edited, "softmax", [("x", &x)], &[]);
    of_example!(edited, "decode", [("q", &row), ("keys", &tall), ("values", &tall)], &[("tokens", 100)]);
    let missed: Vec<_> = edited.iter().filter(|(.., same)| *same).collect();
    assert!(missed.is_empty(), "{missed:?}");
    let refused = edited.iter().filter(|(_, _, refused, _)| *refused).count();
    assert!(
        edited.len() >= 60 && refused > 30 && edited.len() - refused > 20,
        "{refused} of {}",
        edited.len()
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how many cases there are is read from the environment")]
fn edited_texts_of_emitted_designs_are_taken_or_refused() {
    let count = std::env::var("WSP_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(500);
    let (x, row, tall) = (array(&[4096], 1), array(&[1, 64], 5), array(&[64, 64], 4));
    let (rows, w) = (array(&[32, 32], 1), array(&[32, 32], 2));
    let texts = [
        text(&example!("scale", "xdna1"), args(&[("x", &x)], &[])),
        text(
            &example!("decode", "xdna2"),
            args(&[("q", &row), ("keys", &tall), ("values", &tall)], &[("tokens", 40)]),
        ),
        text(&example!("gemm", "xdna2"), args(&[("a", &rows), ("b", &w)], &[])),
        text(&example!("linear", "xdna1"), args(&[("x", &rows), ("w", &w)], &[])),
    ];
    let (taken, ran) = crate::text::edited(count, 0xe517, &|i| texts[i % texts.len()].clone());
    println!("{count} texts of emitted designs, {taken} read, {ran} run to the end");
    assert!(taken > count / 50 && ran > 0, "{taken} of {count} were read, {ran} ran");
}

#[test]
fn a_fifo_that_is_made_too_shallow_is_refused_before_it_runs() {
    let (row, tall) = (array(&[1, 64], 5), array(&[128, 64], 4));
    let arrays = [("q", &row), ("keys", &tall), ("values", &tall)];
    let text = text(&example!("decode", "xdna2"), args(&arrays, &[("tokens", 100)]));
    let held =
        text.lines().find(|line| line.contains(ACQUIRE) && line.contains("size = 2")).expect("two at once");
    let name = held.split('@').nth(1).and_then(|rest| rest.split(',').next()).expect("it has a name");
    let fifo =
        text.lines().find(|line| line.contains(&format!("sym_name = \"{name}\""))).expect("it is there");
    let shallow = fifo.replace("elemNumber = 3", "elemNumber = 1");
    assert_ne!(shallow, fifo);
    let edited = text.replace(fifo, &shallow);
    let read = Design::read(&parse(FileId::default(), &edited).expect("it is read")).expect("it is a design");
    let found = wsp_aie::check(&read[0]);
    assert!(found.iter().any(|found| found.code.0 == 1835), "{found:?}");
}
