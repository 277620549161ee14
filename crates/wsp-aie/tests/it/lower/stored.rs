//! What tasks store, element by element: the rest of a box stays as it was, and is reported where nothing gave it.

use super::{args, array, numbers, plan, run_with};
use wsp_backend::{Recording, RunError, RunOptions};
use wsp_memory::Array;

const KERNELS: &str = "
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
struct Gaps { uint32_t first; };
struct Some { uint32_t first; };
struct Less { uint32_t first; };
struct Put { uint32_t first; };
struct Take { uint32_t first; };
// Stores the first and the third quarter of its box.
PTO_KERNEL_IMPL(gaps) {
    auto desc = PTO_GET_DESCRIPTOR<Gaps>();
    VecTile<float, 1, 32> t;
    TLOAD(t, x, {desc.first});
    for (uint32_t i = 0; i < 4; i += 2) {
        TSTORE(y, t, {desc.first + 32 * i});
    }
}
// Stores its box where its first element is positive.
PTO_KERNEL_IMPL(some) {
    auto desc = PTO_GET_DESCRIPTOR<Some>();
    VecTile<float, 1, 96> t;
    TLOAD(t, x, {desc.first});
    if (PTO_LOAD_SCALAR(x, {desc.first}) > 0.0f) {
        TSTORE(y, t, {desc.first});
    }
}
// Stores the first 32 elements of a tile that had 96.
PTO_KERNEL_IMPL(less) {
    auto desc = PTO_GET_DESCRIPTOR<Less>();
    VecTile<float, 1, 96> t;
    TLOAD(t, x, {desc.first});
    TASSIGN(t, 5.0f, 1, 32);
    TSTORE(y, t, {desc.first});
}
PTO_TENSOR(between, float, 192)
PTO_KERNEL_IMPL(put) {
    auto desc = PTO_GET_DESCRIPTOR<Put>();
    VecTile<float, 1, 32> t;
    TLOAD(t, x, {desc.first});
    for (uint32_t i = 0; i < 4; i += 2) {
        TSTORE(between, t, {desc.first + 32 * i});
    }
}
PTO_KERNEL_IMPL(take) {
    auto desc = PTO_GET_DESCRIPTOR<Take>();
    VecTile<float, 1, 96> t;
    TLOAD(t, between, {desc.first});
    TSTORE(y, t, {desc.first});
}
";

fn calls(kernel: &str) -> wsp_plan::PlanSource {
    let text =
        format!("use \"k.pto\"; workload main {{ parallel for i in 0..2 {{ {kernel}(first = 96 * i); }} }}");
    plan(&text, KERNELS, "xdna1")
}

fn recorded() -> RunOptions {
    RunOptions { recording: Recording::On, ..RunOptions::default() }
}

#[test]
fn what_a_task_may_leave_of_a_box_stays_as_it_was() {
    let (x, y) = (array(&[192], 1), array(&[192], 2));
    let (of_x, of_y) = (numbers(&x), numbers(&y));
    let wanted: [(&str, &dyn Fn(usize) -> f64); 3] = [
        ("gaps", &|at| if at % 96 / 32 == 1 { of_y[at] } else { of_x[at / 96 * 96 + at % 32] }),
        ("some", &|at| if of_x[at / 96 * 96] > 0.0 { of_x[at] } else { of_y[at] }),
        ("less", &|at| if at % 96 < 32 { 5.0 } else { of_y[at] }),
    ];
    assert!(of_x[0] < 0.0 && of_x[96] > 0.0, "one task stores, the other does not");
    for (kernel, wanted) in wanted {
        let given = args(&[("x", &x), ("y", &y)], &[]);
        let outcome =
            run_with(&calls(kernel), given, recorded()).unwrap_or_else(|e| panic!("{kernel}: {e:?}"));
        assert_eq!(numbers(&outcome.outputs["y"]), (0..192).map(wanted).collect::<Vec<_>>(), "{kernel}");
    }
}

/// What tasks leave of `y`: how many elements, and the first.
fn left(kernel: &str, x: &Array) -> Vec<(u64, Vec<u64>)> {
    let outcome = run_with(&calls(kernel), args(&[("x", x)], &[]), recorded()).expect("it runs");
    outcome.unwritten.into_iter().map(|of| (of.elements, of.first)).collect()
}

#[test]
fn elements_that_no_task_stores_are_counted_within_boxes() {
    let x = array(&[192], 1);
    assert_eq!(left("gaps", &x), [(64, vec![32])]);
    assert_eq!(left("some", &x), [(96, vec![0])]);
    assert_eq!(left("less", &x), [(128, vec![32])]);
    assert_eq!(
        run_with(&calls("gaps"), args(&[("x", &x)], &[]), RunOptions::default()).expect("it runs").unwritten,
        []
    );
}

/// A run that records nothing finds it too, as on `cpu_sim`.
#[test]
fn loads_of_temporaries_that_no_task_has_stored_are_told() {
    let text = "use \"k.pto\"; workload main { parallel for i in 0..2 { put(first = 96 * i); take(first = 96 * i); } }";
    let plan = plan(text, KERNELS, "xdna1");
    for options in [RunOptions::default(), recorded()] {
        let ran = run_with(&plan, args(&[("x", &array(&[192], 1))], &[]), options);
        let Err(RunError::Failed(found)) = ran else { panic!("{ran:?}") };
        assert!(found.0[0].message.contains("`between`"), "{found}");
    }
}
