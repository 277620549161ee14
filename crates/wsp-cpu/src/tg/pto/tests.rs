//! Entries over memory: extents from bytes, residents, workspaces, integers, faults.

use super::*;
use wsp_core::tg::Direction;
use wsp_diag::{SourceMap, render};

fn entries_with(program: &str, set: &[(&str, i64)]) -> Result<Vec<PtoEntry>, Vec<Diagnostic>> {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_lang::compile("test.pto", program, &mut sources);
    let shown: String = findings.iter().map(|d| render(d, &sources, false)).collect();
    let module = module.unwrap_or_else(|| panic!("{shown}"));
    let set: Vec<(String, ParamValue)> =
        set.iter().map(|(name, value)| ((*name).to_owned(), ParamValue::Int((*value).into()))).collect();
    PtoEntry::all(&Arc::new(module), &set, Mode::default(), Engine::default(), &CodeCache::default())
}

/// Every entry of a program that is right.
pub(super) fn entries_of(program: &str, set: &[(&str, i64)]) -> Vec<PtoEntry> {
    entries_with(program, set).expect("the parameters fit")
}

fn entry(program: &str) -> PtoEntry {
    entries_with(program, &[]).expect("the parameters fit").remove(0)
}

pub(super) fn floats(values: &[f32]) -> TensorRange {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    TensorRange::of_bytes(&bytes).expect("it is small")
}

pub(super) fn read(range: &TensorRange) -> Vec<f32> {
    let bytes = range.to_vec();
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
}

pub(super) fn nothing() -> TensorRange {
    TensorRange::zeros(0, 1).expect("it is small")
}

/// Runs every block on one scratch.
pub(super) fn run(entry: &PtoEntry, args: &[TensorRange], workspace: &TensorRange, blocks: u32) {
    let bound = entry.bind(args, &[], workspace, None).expect("the arguments fit");
    let mut scratch = Scratch::new();
    for block in 0..blocks {
        bound.run(&mut scratch, block, blocks).expect("the kernel runs");
    }
}

const DOUBLE: &str = "
PTO_SHAPE(x, rows, 4) PTO_SHAPE(y, rows, 4)
PTO_KERNEL_IMPL(double_rows, Tensor<float> x, Tensor<float> y) {
    for (uint32_t r = get_block_idx(); r < rows; r += get_block_num()) {
        VecTile<float, 1, 4> t;
        TLOAD(t, x, {r});
        TMULS(t, t, 2.0f);
        TSTORE(y, t, {r});
    }
}
";

#[test]
fn rows_follow_from_bytes_and_blocks_share_the_work() {
    let entry = entry(DOUBLE);
    for rows in [1usize, 3, 7] {
        let x: Vec<f32> = (0..rows * 4).map(|i| i as f32).collect();
        let args = [floats(&x), floats(&vec![0.0; rows * 4])];
        run(&entry, &args, &nothing(), 3);
        assert_eq!(read(&args[1]), x.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
    }
}

#[test]
fn a_block_touches_its_own_part_only() {
    let entry = entry(DOUBLE);
    let args = [floats(&[1.0; 16]), floats(&[0.0; 16])];
    let bound = entry.bind(&args, &[], &nothing(), None).expect("the arguments fit");
    bound.run(&mut Scratch::new(), 1, 3).expect("the kernel runs");
    let ones = |r: usize| read(&args[1])[r * 4..][..4].iter().all(|v| *v == 2.0);
    assert_eq!([0, 1, 2, 3].map(ones), [false, true, false, false]);
}

#[test]
fn the_signature_says_what_is_read_and_written() {
    let entry = entry(
        "PTO_PARAM(uint32_t, D, 4)
         PTO_SHAPE(a, n, D) PTO_SHAPE(b, n, D) PTO_SHAPE(c, 2 * D) PTO_SHAPE(i, 1) PTO_SHAPE(w, slots, D)
         PTO_RESIDENT(weight, half, D)
         PTO_KERNEL_IMPL(k, Tensor<float> a, Workspace<float> w, Tensor<float> b, Tensor<half> c, Tensor<int32_t> i) {
             VecTile<float, 1, D> t;
             VecTile<half, 1, D> s;
             TLOAD(t, a, {0});
             TLOAD(s, weight, {});
             TMUL(t, t, s);
             TSTORE(b, t, {0});
             TLOAD(t, c, {0});
             TSTORE(c, t, {i[0]});
         }",
    );
    let signature = entry.signature();
    assert_eq!(signature.name, "k");
    let args: Vec<_> =
        signature.args.iter().map(|a| (a.name.as_str(), a.direction, a.dtype, a.shape.clone())).collect();
    let (f32, f16) = (Some(DType::F32), Some(DType::F16));
    assert_eq!(
        args,
        [
            ("a", Direction::In, f32, vec![None, Some(4)]),
            ("b", Direction::Out, f32, vec![None, Some(4)]),
            ("c", Direction::InOut, f16, vec![Some(8)]),
            ("i", Direction::In, Some(DType::I32), vec![Some(1)]),
        ]
    );
    assert_eq!(signature.resident.len(), 1);
    assert_eq!(
        (signature.resident[0].name.as_str(), &signature.resident[0].shape[..]),
        ("weight", &[Some(4)][..])
    );
    assert_eq!(signature.workspace, 16);
}

#[test]
fn an_extent_in_a_product_follows_from_a_later_argument() {
    let entry = entry(
        "PTO_SHAPE(y, 2 * rows, 4) PTO_SHAPE(x, rows, 4)
         PTO_KERNEL_IMPL(k, Tensor<float> y, Tensor<float> x) {
             for (uint32_t r = get_block_idx(); r < rows; r += get_block_num()) {
                 VecTile<float, 1, 4> t;
                 TLOAD(t, x, {r});
                 TSTORE(y, t, {2 * r});
             }
         }",
    );
    let args = [floats(&[0.0; 16]), floats(&[1.0; 8])];
    run(&entry, &args, &nothing(), 1);
    let row = |value| [value; 4];
    assert_eq!(read(&args[0]), [row(1.0), row(0.0), row(1.0), row(0.0)].concat());
    let few = [floats(&[0.0; 12]), floats(&[1.0; 8])];
    entry.bind(&few, &[], &nothing(), None).map(|_| ()).expect_err("it has three rows, not four");
}

#[test]
fn the_text_of_an_entry_is_all_that_its_results_depend_on() {
    let text = |program: &str| entry(program).text();
    let other = DOUBLE.replace("2.0f", "3.0f");
    assert_ne!(text(DOUBLE), text(&other));
    assert_eq!(text(DOUBLE), text(&format!("// Twice.\n{DOUBLE}")));
    assert_eq!(text(DOUBLE), text(&DOUBLE.replace("    ", "  ")));
}

#[test]
fn residents_give_extents_that_bytes_do_not_tell() {
    let entry = entry(
        "PTO_SHAPE(x, rows, D) PTO_SHAPE(y, rows, D) PTO_RESIDENT(w, float, 1, D)
         PTO_KERNEL_IMPL(k, Tensor<float> x, Tensor<float> y) {
             VecTile<float, rows, D> t;
             VecTile<float, 1, D> s;
             TLOAD(t, x, {});
             TLOAD(s, w, {});
             TCOLEXPANDMUL(t, t, s);
             TSTORE(y, t, {});
         }",
    );
    let (weights, args) = (floats(&[1.0, 2.0, 3.0]), [floats(&[1.0; 6]), floats(&[0.0; 6])]);
    let resident = PtoResident { range: &weights, dtype: DType::F32, shape: &[1, 3] };
    let bound = entry.bind(&args, &[resident], &nothing(), None).expect("the arguments fit");
    bound.run(&mut Scratch::new(), 0, 1).expect("the kernel runs");
    assert_eq!(read(&args[1]), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    let fault = |resident| entry.bind(&args, &[resident], &nothing(), None).unwrap_err();
    let half = PtoResident { dtype: DType::F16, ..resident };
    assert_eq!(fault(half), "`w` holds `f16` elements, and the kernel takes `f32`");
    let flat = PtoResident { shape: &[3], ..resident };
    assert_eq!(fault(flat), "`w` has 1 dimension, and the kernel takes 2");
    let tall = PtoResident { shape: &[3, 1], ..resident };
    assert_eq!(fault(tall), "dimension 0 of `w` has 3 elements, and the kernel takes 1");
}

#[test]
fn each_block_has_its_slot_of_the_workspace() {
    let entry = entry(
        "PTO_SHAPE(x, rows, 2) PTO_SHAPE(y, rows, 2) PTO_SHAPE(slot, slots, 2)
         PTO_KERNEL_IMPL(k, Tensor<float> x, Tensor<float> y, Workspace<float> slot) {
             VecTile<float, 1, 2> t;
             VecTile<float, 1, 2> u;
             TLOAD(t, x, {get_block_idx()});
             TSTORE(slot, t, {get_block_idx()});
             TLOAD(u, slot, {get_block_idx()});
             TSTORE(y, u, {get_block_idx()});
         }",
    );
    let args = [floats(&[1.0, 2.0, 3.0, 4.0]), floats(&[0.0; 4])];
    // Three slots and a part of another.
    run(&entry, &args, &TensorRange::zeros(30, 1).expect("it is small"), 2);
    assert_eq!(read(&args[1]), [1.0, 2.0, 3.0, 4.0]);
    let none = entry.bind(&args, &[], &nothing(), None).unwrap_err();
    assert_eq!(none, "`slot` is bound to 0 bytes, which is no multiple of the 8 bytes for each of `slots`");
}

#[test]
fn integers_are_read_and_stored() {
    let entry = entry(
        "PTO_SHAPE(n, 3) PTO_SHAPE(m, 2, 2)
         PTO_KERNEL_IMPL(k, Tensor<int32_t> n, Tensor<int64_t> m) {
             PTO_STORE_SCALAR(n, n[0] - 5, {1});
             PTO_STORE_SCALAR(n, n[1] * 2, {2});
             PTO_STORE_SCALAR(m, PTO_LOAD_SCALAR(m, {0, 1}) + n[2], {1, 0});
         }",
    );
    let n = TensorRange::of_bytes(&[3i32, 0, 0].map(i32::to_le_bytes).concat()).expect("it is small");
    let m =
        TensorRange::of_bytes(&[0i64, 1 << 40, 0, 0].map(i64::to_le_bytes).concat()).expect("it is small");
    run(&entry, &[n.clone(), m.clone()], &nothing(), 1);
    assert_eq!(n.to_vec(), [3i32, -2, -4].map(i32::to_le_bytes).concat());
    assert_eq!(m.to_vec(), [0i64, 1 << 40, (1 << 40) - 4, 0].map(i64::to_le_bytes).concat());
    assert_eq!(entry.signature().args[0].direction, Direction::InOut);
}

#[test]
fn bytes_that_do_not_fit_are_refused_with_the_numbers() {
    let entry = entry(DOUBLE);
    let fault = |x: usize, y: usize| {
        let args = [TensorRange::zeros(x as u64, 1), TensorRange::zeros(y as u64, 1)];
        let args = args.map(|range| range.expect("it is small"));
        entry.bind(&args, &[], &nothing(), None).unwrap_err()
    };
    assert_eq!(
        fault(20, 16),
        "`x` is bound to 20 bytes, which is no multiple of the 16 bytes for each of `rows`"
    );
    assert_eq!(fault(32, 16), "`y` is bound to 16 bytes, and [2, 4] elements of `f32` take 32");
    assert_eq!(fault(32, 48), "`y` is bound to 48 bytes, and [2, 4] elements of `f32` take 32");
    let few = entry.bind(&[nothing()], &[], &nothing(), None).unwrap_err();
    assert_eq!(few, "`double_rows` takes 2 arguments, and 1 are bound");
}

#[test]
fn extents_that_nothing_tells_are_refused_by_name() {
    let two = entry("PTO_SHAPE(x, rows, cols) PTO_KERNEL_IMPL(k, Tensor<float> x) { }");
    let fault = two.bind(&[floats(&[0.0; 4])], &[], &nothing(), None).unwrap_err();
    assert!(
        fault.starts_with("the extents `rows` and `cols` of `x` do not follow from its 16 bytes"),
        "{fault}"
    );
    let other = entries_with(
        "PTO_SHAPE(x, rows) PTO_SHAPE(y, cols)
         PTO_KERNEL_IMPL(k, Tensor<float> x) { uint32_t n = cols; }
         PTO_KERNEL_IMPL(l, Tensor<float> y) { }",
        &[],
    );
    let other = other.expect("the parameters fit").remove(0);
    let fault = other.bind(&[floats(&[0.0; 4])], &[], &nothing(), None).unwrap_err();
    assert_eq!(fault, "`cols` follows from no tensor that the kernel is given");
}

#[test]
fn a_requirement_is_checked_with_the_extents_found() {
    let entry =
        entry("PTO_SHAPE(x, rows) PTO_REQUIRE(rows % 4 == 0) PTO_KERNEL_IMPL(k, Tensor<float> x) { }");
    let bind = |n: usize| entry.bind(&[floats(&vec![0.0; n])], &[], &nothing(), None).map(drop);
    assert_eq!(bind(8), Ok(()));
    assert_eq!(bind(6), Err("a `PTO_REQUIRE` is false: rows = 6".to_owned()));
}

#[test]
fn parameters_are_set_and_unfit_values_refused() {
    let program = "PTO_PARAM(uint32_t, D, 4) const uint32_t E = 2 * D; PTO_SHAPE(x, n, E)
                   PTO_KERNEL_IMPL(k, Tensor<float> x) { }";
    let entries = entries_with(program, &[("D", 3), ("other", 1)]).expect("the parameters fit");
    assert_eq!(entries[0].signature().args[0].shape, [None, Some(6)]);
    let faults = entries_with(program, &[("D", -1)]).unwrap_err();
    assert_eq!(faults[0].code, crate::codes::BAD_PARAMETER);
    let mut sources = SourceMap::default();
    let module = wsp_lang::compile("t.pto", program, &mut sources).0.expect("it compiles");
    assert_eq!(wsp_plan::entry::settable(&module).collect::<Vec<_>>(), ["D"]);
}

#[test]
fn a_fault_in_a_block_stops_it_with_its_place() {
    let entry = entry(
        "PTO_SHAPE(x, rows) PTO_KERNEL_IMPL(k, Tensor<float> x) { PTO_STORE_SCALAR(x, 1.0f, {rows}); }",
    );
    let args = [floats(&[0.0; 4])];
    let bound = entry.bind(&args, &[], &nothing(), None).expect("the arguments fit");
    let trap = bound.run(&mut Scratch::new(), 0, 1).unwrap_err();
    assert_eq!(trap.message, "index 4 is outside of dimension 0 of `x`");
}

#[test]
fn a_flag_from_outside_stops_a_block() {
    let entry = entry(
        "PTO_SHAPE(x, rows) PTO_KERNEL_IMPL(k, Tensor<float> x) { while (true) { PTO_STORE_SCALAR(x, 1.0f, {0}); } }",
    );
    let cancel = Arc::new(AtomicBool::new(true));
    let bound = entry.bind(&[floats(&[0.0])], &[], &nothing(), Some(&cancel)).expect("the arguments fit");
    assert!(bound.run(&mut Scratch::new(), 0, 1).unwrap_err().is_cancelled());
}

#[test]
fn ranges_of_one_memory_give_what_separate_ones_give() {
    let program = "
        PTO_SHAPE(x, rows, 2) PTO_SHAPE(y, rows, 2)
        PTO_KERNEL_IMPL(k, Tensor<float> x, Tensor<float> y) {
            VecTile<float, 2, 2> t;
            VecTile<float, 1, 2> s;
            TLOAD(t, x, {0});
            TASSIGN(s, 9.0f);
            TSTORE(y, s, {1});
            TSTORE(y, t, {0});
        }";
    let entry = entry(program);
    let one = floats(&[1.0, 2.0, 3.0, 4.0]);
    run(&entry, &[one.clone(), one.clone()], &nothing(), 1);
    assert_eq!(read(&one), [1.0, 2.0, 3.0, 4.0], "the tile keeps what was loaded before the store");
}

#[test]
fn many_extents_do_not_grow_without_bound() {
    let entry = entry(DOUBLE);
    for rows in 1..=3 * KEPT_VERSIONS {
        let args = [floats(&vec![1.0; rows * 4]), floats(&vec![0.0; rows * 4])];
        run(&entry, &args, &nothing(), 1);
    }
    assert_eq!(entry.versions.lock().expect("nobody panicked").len(), KEPT_VERSIONS);
}
