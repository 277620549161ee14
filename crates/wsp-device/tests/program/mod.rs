//! A program with loops over every form of axis, slots, labels, streams and a descriptor generator; and launches of it.

#[path = "../../../wsp-core/tests/ptow_format/image.rs"]
#[allow(dead_code)]
pub(crate) mod image;

use image::{Image, Item, NONE, dim, ext, lay_out, plain, task_counts, with, word};
use wsp_core::MAX_RANK;
use wsp_core::ptow::{
    AxisDescriptor, AxisForm, DimKind, KernelDescriptor, Op, PoolHeader, TensorDescriptor, XOp,
};

/// What a launch gives the program.
pub(crate) struct Data {
    pub(crate) values: Vec<i64>,
    pub(crate) tables: Vec<Vec<i64>>,
    pub(crate) extents: Vec<[u32; MAX_RANK]>,
}

/// Three rows of several lengths.
pub(crate) fn data() -> Data {
    Data {
        values: vec![3, 2],
        tables: vec![vec![4, 0, 2], vec![0, 2, 3, 6], vec![5, 1, 4, 0, 2, 7]],
        extents: vec![[3, 8, 4, 1, 1, 1], [1; MAX_RANK]],
    }
}

/// The expression `axis 0`, the metric of the program.
pub(crate) const METRIC: u16 = 0;

/// The program.
pub(crate) fn program() -> Image {
    let mut image = Image::default();
    let key = image.expr(&[(XOp::XAxis, 0)]);
    let zero = image.expr(&[(XOp::XConst, 0)]);
    let rows = image.expr(&[(XOp::XValue, 0)]);
    let two = image.expr(&[(XOp::XConst, 2)]);
    let outer = image.expr(&[(XOp::XVar, 0)]);
    let inner = image.expr(&[(XOp::XVar, 1)]);
    let sum =
        image.expr(&[(XOp::XVar, 0), (XOp::XConst, 10), (XOp::XMul, 0), (XOp::XVar, 1), (XOp::XAdd, 0)]);
    let position = image.expr(&[(XOp::XPos, 1)]);
    let slot = image.expr(&[(XOp::XSlot, 0)]);
    assert_eq!(key, METRIC);
    image.pool = PoolHeader {
        num_values: 2,
        num_tables: 3,
        num_slots: 1,
        num_labels: 1,
        num_generators: 1,
        ..PoolHeader::default()
    };
    let axis = |form: AxisForm, a: u16, b: u32| AxisDescriptor { form: form as u8, reserved: 0, a, b };
    image.axes = vec![
        axis(AxisForm::Dense, zero, u32::from(rows)),
        axis(AxisForm::DenseDyn, 1, 0),
        axis(AxisForm::Ragged, 0, 0),
        axis(AxisForm::Sparse, 0, 1 | 2 << 16),
        axis(AxisForm::Range, two, u32::from(two) << 16 | 9),
        axis(AxisForm::Set, 0, 0),
    ];
    let seven = image.expr(&[(XOp::XConst, 7)]);
    image.axes[4].b = u32::from(two) << 16 | u32::from(seven);
    let kernel = |pool| KernelDescriptor { pool, reserved: 0, name: NONE, reserved2: 0 };
    image.kernels = vec![kernel(0), kernel(1), kernel(255)];
    let tensor = |rank, slot| TensorDescriptor { dtype: 0, rank, name: NONE, slot };
    image.tensors = vec![tensor(3, 0), tensor(0, 1)];
    let call = |kernel, param: u16| {
        plain([word(Op::Task, 0, kernel, task_counts(1, 0, 0)), word(Op::ParamExpr, 0, 0, u32::from(param))])
    };
    let steps = ragged_body(&image, outer, inner, sum);
    let ragged = with([word(Op::ForEach, 0, 2, 0)], [(0, steps)]);
    let sparse = with([word(Op::Select, 1, 3, 0), ext(0, u32::from(outer))], [(0, vec![call(1, position)])]);
    let other = with([word(Op::Let, 0, sum, 0)], [(0, vec![call(2, inner)])]);
    let choose = with(
        [word(Op::Cond, 1, outer, 0), ext(0, 0)],
        [(0, vec![call(0, outer)]), (1, vec![call(1, outer)])],
    );
    let nest = vec![ragged, sparse, choose, with([word(Op::ParallelFor, 0, 1, 0)], [(0, vec![other])])];
    let ranges = with([word(Op::ParallelFor, 0, 4, 0)], [(0, vec![call(2, outer)])]);
    image.words = lay_out(vec![
        plain([word(Op::AxisDense, 0, 5, 3)]),
        plain([
            word(Op::StreamBy, 1, 0, 2),
            ext(0, u32::from(key)),
            word(Op::Priority, 0, 0, u32::from(key)),
        ]),
        with([word(Op::ParallelFor, 0, 0, 0)], [(0, nest)]),
        with(
            [word(Op::Sequential, 2, 2, 0), ext(0, 0), ext(0, 0)],
            [(1, vec![ranges]), (2, vec![plain([word(Op::Plan, 0, 0, 0)])])],
        ),
        with([word(Op::While, 1, slot, 0), ext(0, u32::MAX)], [(0, vec![call(0, outer)])]),
        with(
            [word(Op::Combine, 1, 1, 0), ext(0, 0)],
            [(1, vec![with([word(Op::ForEach, 0, 5, 0)], [(0, vec![call(1, outer)])])])],
        ),
    ]);
    image
}

/// A task with regions and a label, and one that waits for it.
fn ragged_body(image: &Image, outer: u16, inner: u16, sum: u16) -> Vec<Item> {
    assert!(image.tensors.len() == 2);
    vec![
        plain([word(Op::Task, 1, 0, task_counts(3, 2, 0)), ext(0, 0)]),
        plain([word(Op::ParamConst, 0, 0, (-5i32).cast_unsigned())]),
        plain([word(Op::ParamLoopvar, 0, 1, 0), word(Op::ParamExpr, 0, 0, u32::from(sum))]),
        plain([
            word(Op::IoInput, 2, 0, 0),
            dim(DimKind::Index, false, outer, 0),
            dim(DimKind::Sized, true, inner, 2),
        ]),
        plain([word(Op::IoOutput, 0, 1, 0)]),
        plain([word(Op::Task, 0, 1, task_counts(0, 1, 1)), word(Op::IoInout, 3, 0, 0)]),
        plain([
            dim(DimKind::Whole, false, 0, 0),
            dim(DimKind::Range, true, inner, 8),
            dim(DimKind::Whole, false, 0, 0),
        ]),
        plain([word(Op::After, 0, 0, 0)]),
    ]
}
