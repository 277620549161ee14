//! Kernels on real memory.
#![allow(unsafe_code, reason = "tests lend their own vectors as tensors")]

use super::by_hand::{Kernel, tile_op, word};
use super::*;
use crate::{Engine, KernelCode, Layout, Mode, Scratch, TensorMem};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, Block, Operand, Place, ReduceOp, TileOp, UnaryTileOp};
use wsp_memory::Bytes;

const U32: ScalarTy = ScalarTy::U32;

/// Two matrices `x` and `y` of `f32`, and one kernel whose descriptor has three words.
struct Bench {
    module: Module,
    data: [Vec<f32>; 2],
    mode: Mode,
    dtype: DType,
    setup: fn(&mut Env),
}

const X: TensorId = TensorId(0);
const Y: TensorId = TensorId(1);
const ROWS: u32 = 5;
const COLS: u32 = 4;

impl Bench {
    fn new() -> Bench {
        let mut module = module(Vec::new());
        add_tensor(&mut module, "x", &[ROWS, COLS]);
        add_tensor(&mut module, "y", &[ROWS, COLS]);
        let data = [(0..20).map(|n| n as f32).collect(), vec![0.0; 20]];
        Bench { module, data, mode: Mode::Fast, dtype: DType::F32, setup: |_| {} }
    }

    fn env(&mut self) -> Env {
        let mut env = Env::new(&self.module, Vec::new());
        env.mode = self.mode;
        let layout = || Layout::Strided { dims: vec![ROWS, COLS], strides: vec![u64::from(COLS), 1] };
        for (tensor, data) in env.tensors.iter_mut().zip(&mut self.data) {
            // SAFETY: the vectors live in the bench, which outlives the env in every test; kernels run one at a time.
            let bytes = unsafe { Bytes::new(data.as_mut_ptr().cast(), data.len() * 4) };
            *tensor = Some(TensorMem::new(bytes, self.dtype, layout()));
        }
        (self.setup)(&mut env);
        env
    }

    fn run(&mut self, kernel: Function, descriptor: &[u32]) -> Result<(), Trap> {
        self.module.functions = vec![kernel];
        let mut env = self.env();
        let before = self.data.clone();
        let mut outcomes = Vec::new();
        for engine in [Engine::Interpreter, Engine::Native].into_iter().filter(|e| e.is_available()) {
            env.engine = engine;
            let code = KernelCode::compile(&self.module, FuncId(0), &env)?;
            let mut scratch = Scratch::new();
            // Twice: what one run leaves behind must not matter to the next.
            for _ in 0..2 {
                self.data.iter_mut().zip(&before).for_each(|(data, old)| data.copy_from_slice(old));
                let result = code.run(&mut scratch, &env, descriptor);
                outcomes.push((result, self.data.clone()));
            }
        }
        let (result, data) = outcomes.remove(0);
        for (again, after) in outcomes {
            assert_eq!(again, result);
            assert_eq!(after, data);
        }
        result
    }
}

/// Rows from `row` on, columns from `col` on.
fn place(row: Expr, col: Expr) -> Place {
    Place { index: vec![row, col], row_dim: Some(0), col_dim: Some(1) }
}

fn load_rows(dst: LocalId, tensor: TensorId, row: Expr, rows: Option<Expr>) -> Stmt {
    tile_op(TileOp::Load { dst, tensor, at: place(row, u(0)), rows, cols: None })
}

fn store_rows(tensor: TensorId, src: LocalId, row: Expr) -> Stmt {
    tile_op(TileOp::Store { tensor, src, at: place(row, u(0)), rows: None, cols: None, add: false })
}

fn binary(op: BinaryTileOp, dst: LocalId, a: LocalId, b: Operand) -> Stmt {
    tile_op(TileOp::Binary { op, dst, a, b })
}

fn declare(local: LocalId) -> Stmt {
    stmt(StmtKind::Let { local, init: None })
}

#[test]
fn load_scale_and_store_touch_what_the_descriptor_says() {
    for mode in [Mode::Fast, Mode::Plain] {
        let mut bench = Bench { mode, ..Bench::new() };
        let mut k = Kernel::of(3);
        let t = k.tile("t", 4, 4);
        let two = Operand::Scalar(real(2.0));
        let k = k.body(vec![
            declare(t),
            load_rows(t, X, word(0), Some(word(1))),
            binary(BinaryTileOp::Mul, t, t, two),
            store_rows(Y, t, word(2)),
        ]);
        bench.run(k, &[3, 9, 1]).unwrap();
        // Rows 3 and 4 exist; they go to rows 1 and 2.
        let want: Vec<f32> =
            (0..20).map(|n| if (4..12).contains(&n) { 2.0 * (n + 8) as f32 } else { 0.0 }).collect();
        assert_eq!(bench.data[1], want, "{mode:?}");
        assert_eq!(bench.data[0][19], 19.0);
    }
}

#[test]
fn a_kernel_may_store_where_it_loaded_from() {
    for mode in [Mode::Fast, Mode::Plain] {
        let mut bench = Bench { mode, ..Bench::new() };
        let mut k = Kernel::of(3);
        let (a, product) = (k.tile("a", 4, 4), k.tile("p", 4, 4));
        let k = k.body(vec![
            load_rows(a, X, u(0), None),
            tile_op(TileOp::Fill { dst: product, value: real(7.0), rows: None, cols: None }),
            store_rows(X, product, u(0)),
            // `a` holds what was there before the store.
            tile_op(TileOp::Unary { op: UnaryTileOp::Copy, dst: product, src: a }),
            store_rows(Y, product, u(0)),
        ]);
        bench.run(k, &[0, 0, 0]).unwrap();
        assert_eq!(bench.data[0][..16], [7.0; 16]);
        assert_eq!(bench.data[1][..16], (0..16).map(|n| n as f32).collect::<Vec<_>>());
    }
}

#[test]
fn products_reductions_and_masks_agree_with_plain_loops() {
    let result = |mode| {
        let mut bench = Bench { mode, ..Bench::new() };
        let mut k = Kernel::of(3);
        let (a, b, p) = (k.tile("a", 3, 4), k.tile("b", 3, 4), k.tile("p", 3, 3));
        let (column, row, t) = (k.tile("m", 3, 1), k.tile("r", 1, 3), k.tile("t", 3, 3));
        let k = k.body(vec![
            load_rows(a, X, u(0), None),
            load_rows(b, X, u(2), None),
            tile_op(TileOp::MatMul { dst: p, a, b, transpose_b: true, accumulate: false }),
            tile_op(TileOp::MatMul { dst: p, a, b, transpose_b: true, accumulate: true }),
            tile_op(TileOp::RowReduce { op: ReduceOp::Max, dst: column, src: p }),
            binary(BinaryTileOp::Div, p, p, Operand::Column(column)),
            tile_op(TileOp::ColReduce { op: ReduceOp::Sum, dst: row, src: p }),
            binary(BinaryTileOp::Sub, p, p, Operand::Row(row)),
            tile_op(TileOp::Transpose { dst: t, src: p }),
            tile_op(TileOp::Mask { tile: t, rows: None, cols: Some(u(2)), value: real(-1.0) }),
            tile_op(TileOp::Mask { tile: t, rows: Some(u(2)), cols: None, value: real(9.0) }),
            store_rows(Y, t, u(0)),
        ]);
        bench.run(k, &[0, 0, 0]).unwrap();
        bench.data[1].clone()
    };
    let (fast, plain) = (result(Mode::Fast), result(Mode::Plain));
    for (f, p) in fast.iter().zip(&plain) {
        assert!((f - p).abs() < 1e-5, "{fast:?} {plain:?}");
    }
    assert_eq!(plain[2], -1.0);
    assert_eq!(plain[8..11], [9.0; 3]);
    // Row 0 of `a` is 0, 1, 2, 3; row 2 and 4 of `x` give 62 and 110 with it, the largest of row 0 is the latter.
    let p00 = 62.0 / 110.0;
    let sum0: f32 = p00 + plain_ratio(1) + plain_ratio(2);
    assert!((plain[0] - (p00 - sum0)).abs() < 1e-5);
}

#[test]
fn causal_masks_may_begin_left_of_the_tile_and_selections_with_empty_lists() {
    for mode in [Mode::Fast, Mode::Plain] {
        let mut bench = Bench { mode, ..Bench::new() };
        let mut k = Kernel::of(3);
        let (t, x) = (k.tile("t", 3, 3), k.tile("x", 1, 4));
        let (values, indices) = (k.tile("values", 1, 3), k.tile("indices", 1, 3));
        let minus_one = expr(ExprKind::Const(Const::Int(-1)), ScalarTy::I32);
        let select = |first: u32| tile_op(TileOp::TopK { values, indices, src: x, first: u(first) });
        let k = k.body(vec![
            tile_op(TileOp::Fill { dst: t, value: real(1.0), rows: None, cols: None }),
            tile_op(TileOp::MaskCausal { tile: t, cols: minus_one, value: real(5.0) }),
            store_rows(Y, t, u(0)),
            load_rows(x, X, u(0), None),
            select(0),
            load_rows(x, X, u(2), None),
            select(8),
            store_rows(Y, values, u(3)),
            store_rows(Y, indices, u(4)),
        ]);
        bench.run(k, &[0, 0, 0]).unwrap();
        let rows: Vec<&[f32]> = bench.data[1].chunks(4).map(|row| &row[..3]).collect();
        assert_eq!(rows[..3], [[5.0; 3], [5.0; 3], [1.0, 5.0, 5.0]], "{mode:?}");
        // Row 2 holds 8 to 11, all larger than row 0.
        assert_eq!(rows[3..], [[11.0, 10.0, 9.0], [11.0, 10.0, 9.0]], "{mode:?}");
    }
}

#[test]
fn a_part_of_a_tile_is_filled_as_far_as_there_is_room() {
    for mode in [Mode::Fast, Mode::Plain] {
        let mut bench = Bench { mode, ..Bench::new() };
        let mut k = Kernel::of(3);
        let t = k.tile("t", 3, 3);
        let fill = |value, rows, cols| tile_op(TileOp::Fill { dst: t, value: real(value), rows, cols });
        let k = k.body(vec![
            fill(1.0, Some(u(2)), Some(u(9))),
            store_rows(Y, t, u(0)),
            fill(2.0, Some(u(0)), None),
            store_rows(Y, t, u(0)),
            fill(3.0, None, Some(u(1))),
            store_rows(Y, t, u(2)),
        ]);
        bench.run(k, &[0, 0, 0]).unwrap();
        let rows: Vec<&[f32]> = bench.data[1].chunks(4).collect();
        assert_eq!(rows[..2], [[1.0, 1.0, 1.0, rows[0][3]], [1.0, 1.0, 1.0, rows[1][3]]], "{mode:?}");
        assert_eq!([rows[2][0], rows[3][0], rows[4][0]], [3.0; 3], "{mode:?}");
        assert_eq!(rows[2][1..], rows[3][1..], "{mode:?}");
    }
}

/// `p[i][0] / max(p[i])` of the product above.
fn plain_ratio(i: u32) -> f32 {
    let dot = |j: u32| (0..4).map(|k| ((4 * i + k) * (4 * (j + 2) + k)) as f32).sum::<f32>();
    dot(0) / dot(2)
}

#[test]
fn one_row_tiles_and_single_elements_give_scalars() {
    let mut bench = Bench::new();
    let mut k = Kernel::of(3);
    let t = k.tile("t", 1, 4);
    let f32_of = |kind| expr(kind, ScalarTy::F32);
    let store =
        |col: u32, value: Expr| stmt(StmtKind::StoreScalar { tensor: Y, index: vec![u(0), u(col)], value });
    let as_f32 = |kind| cast(ScalarTy::F32, expr(kind, U32));
    let k = k.body(vec![
        tile_op(TileOp::Load { dst: t, tensor: X, at: place(u(2), u(1)), rows: None, cols: None }),
        store(0, f32_of(ExprKind::TileMax(t))),
        store(1, f32_of(ExprKind::TileSum(t))),
        store(2, add(as_f32(ExprKind::TileRows(t)), as_f32(ExprKind::TileCols(t)))),
        store(3, f32_of(ExprKind::LoadScalar(X, vec![u(4), u(3)]))),
    ]);
    bench.run(k, &[0, 0, 0]).unwrap();
    assert_eq!(bench.data[1][..4], [11.0, 30.0, 4.0, 19.0]);
}

#[test]
fn an_element_of_a_tensor_of_the_most_dimensions_has_a_place() {
    let mut bench = Bench::new();
    let most = add_tensor(&mut bench.module, "most", &[1; wsp_core::MAX_RANK]);
    let index = vec![u(0); wsp_core::MAX_RANK];
    let store = stmt(StmtKind::StoreScalar { tensor: most, index, value: real(1.0) });
    bench.module.functions = vec![Kernel::of(3).body(vec![store])];
    let mut env = bench.env();
    env.tensors[most.index()] = env.tensors[Y.index()].take();
    assert!(KernelCode::compile(&bench.module, FuncId(0), &env).is_ok());
}

#[test]
fn a_tile_without_a_dimension_is_one_row_or_column() {
    let mut bench = Bench::new();
    let mut k = Kernel::of(3);
    let t = k.tile("t", 4, 1);
    let at = |col| Place { index: vec![u(1), u(col)], row_dim: Some(0), col_dim: None };
    let k = k.body(vec![
        tile_op(TileOp::Load { dst: t, tensor: X, at: at(2), rows: Some(u(2)), cols: None }),
        tile_op(TileOp::Store { tensor: Y, src: t, at: at(0), rows: None, cols: None, add: false }),
    ]);
    bench.run(k, &[0, 0, 0]).unwrap();
    assert_eq!((bench.data[1][4], bench.data[1][8], bench.data[1][12]), (6.0, 10.0, 0.0));
}

#[test]
fn a_tile_must_be_written_after_each_declaration() {
    let mut bench = Bench::new();
    let mut k = Kernel::of(3);
    let t = k.tile("acc", 4, 4);
    let i = k.var("i", U32);
    let pass = vec![
        declare(t),
        if_(op(BinOp::Eq, v(i), u(0)), vec![load_rows(t, X, u(0), None)]),
        store_rows(Y, t, u(0)),
    ];
    let trap = bench.run(k.body(vec![for_(i, 0, u(2), pass)]), &[0, 0, 0]).unwrap_err();
    assert_eq!(trap.code.0, 614);
    assert_eq!(trap.message, "tile `acc` is used before anything is written to it");
    assert_eq!(trap.span, at(2));

    let mut k = Kernel::of(3);
    let (a, acc) = (k.tile("a", 4, 4), k.tile("acc", 4, 4));
    let product = TileOp::MatMul { dst: acc, a, b: a, transpose_b: true, accumulate: true };
    let trap =
        bench.run(k.body(vec![load_rows(a, X, u(0), None), tile_op(product)]), &[0, 0, 0]).unwrap_err();
    assert_eq!(trap.message, "tile `acc` is used before anything is written to it");
}

#[test]
fn one_of_several_operations_in_a_row_stops_at_its_own_place() {
    let mut bench = Bench::new();
    let mut k = Kernel::of(3);
    let (a, b, c) = (k.tile("a", 4, 4), k.tile("b", 4, 4), k.tile("c", 4, 4));
    let one = || Operand::Scalar(real(1.0));
    let unwritten = Stmt { span: at(7), ..binary(BinaryTileOp::Add, c, b, one()) };
    let body = vec![
        declare(a),
        declare(b),
        load_rows(a, X, u(0), None),
        binary(BinaryTileOp::Add, a, a, one()),
        store_rows(Y, a, u(0)),
        unwritten,
        store_rows(Y, b, u(0)),
    ];
    let trap = bench.run(k.body(body), &[0, 0, 0]).unwrap_err();
    assert_eq!(trap.message, "tile `b` is used before anything is written to it");
    assert_eq!(trap.span, at(7));
    // What came before it was done.
    assert_eq!(bench.data[1][..4], [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn what_one_run_wrote_is_not_there_in_the_next() {
    let mut bench = Bench::new();
    let mut k = Kernel::of(3);
    let t = k.tile("t", 4, 4);
    let first = op(BinOp::Eq, word(0), u(1));
    let k = k.body(vec![if_(first, vec![load_rows(t, X, u(0), None)]), store_rows(Y, t, u(0))]);
    bench.module.functions = vec![k];
    let env = bench.env();
    let code = KernelCode::compile(&bench.module, FuncId(0), &env).unwrap();
    let mut scratch = Scratch::new();
    assert_eq!(code.run(&mut scratch, &env, &[1, 0, 0]), Ok(()));
    assert_eq!(code.run(&mut scratch, &env, &[0, 0, 0]).unwrap_err().code.0, 614);
}

#[test]
fn a_load_of_nothing_is_a_value_too() {
    let mut bench = Bench::new();
    let mut k = Kernel::of(3);
    let (t, sum) = (k.tile("t", 4, 4), k.tile("sum", 1, 4));
    let k = k.body(vec![
        load_rows(t, X, u(0), Some(u(0))),
        tile_op(TileOp::ColReduce { op: ReduceOp::Sum, dst: sum, src: t }),
        store_rows(Y, t, u(0)),
    ]);
    bench.run(k, &[0, 0, 0]).unwrap();
    assert_eq!(bench.data[1], [0.0; 20]);
}

#[test]
fn faults_of_tile_operations_name_tiles_and_numbers() {
    let fault = |build: &dyn Fn(&mut Kernel) -> Block| {
        let mut k = Kernel::of(3);
        let body = build(&mut k);
        Bench::new().run(k.body(body), &[0, 0, 0]).unwrap_err()
    };
    let trap = fault(&|k| {
        let (a, b) = (k.tile("a", 3, 4), k.tile("b", 2, 4));
        vec![
            load_rows(a, X, u(0), None),
            load_rows(b, X, u(0), None),
            binary(BinaryTileOp::Add, a, a, Operand::Tile(b)),
        ]
    });
    assert_eq!((trap.code.0, trap.message.as_str()), (611, "tiles `a` and `b` have different shapes"));
    assert!(trap.notes.contains(&"`b` is 2 x 4, with a capacity of 2 x 4".to_owned()), "{trap:?}");

    let trap = fault(&|k| {
        let (a, b) = (k.tile("a", 3, 4), k.tile("small", 2, 4));
        vec![load_rows(a, X, u(0), None), tile_op(TileOp::Unary { op: UnaryTileOp::Neg, dst: b, src: a })]
    });
    assert_eq!((trap.code.0, trap.message.as_str()), (612, "the result does not fit tile `small`"));
    assert_eq!(trap.notes, ["need 3 x 4, have 2 x 4"]);

    let trap = fault(&|k| {
        let a = k.tile("a", 3, 4);
        vec![load_rows(a, X, u(0), None), store_rows(Y, a, u(3))]
    });
    assert_eq!((trap.code.0, trap.message.as_str()), (610, "a store past the end of dimension 0 of `y`"));
    assert_eq!(trap.notes, ["3 elements from index 3 on, where 2 of 5 are left"]);

    let trap = fault(&|_| {
        let index = vec![u(1), u(4)];
        vec![stmt(StmtKind::StoreScalar { tensor: Y, index, value: real(1.0) })]
    });
    assert_eq!((trap.code.0, trap.message.as_str()), (610, "index 4 is outside of dimension 1 of `y`"));

    let trap = fault(&|k| {
        let (a, x) = (k.tile("wide", 2, 4), k.var("x", ScalarTy::F32));
        vec![load_rows(a, X, u(0), None), let_(x, expr(ExprKind::TileSum(a), ScalarTy::F32))]
    });
    assert_eq!((trap.code.0, trap.message.as_str()), (611, "tile `wide` has more than one row"));
}

#[test]
fn tile_types_are_resolved_when_compiled() {
    let compile = |bench: &mut Bench, elem, rows, cols| {
        let mut k = Kernel::of(3);
        k.tile_of("t", elem, rows, cols);
        bench.module.functions = vec![k.body(Vec::new())];
        let env = bench.env();
        KernelCode::compile(&bench.module, FuncId(0), &env).map(|code| code.tile_bytes())
    };
    let fixed = Elem::Fixed(DType::F16);
    let mut bench = Bench::new();
    let twice = |n| op(BinOp::Mul, u(n), u(2));
    assert_eq!(compile(&mut bench, fixed, twice(4), u(16)), Ok(512));
    assert_eq!(compile(&mut bench, Elem::Of(X), u(1), u(1)), Ok(4));
    let trap = compile(&mut bench, fixed, u(0), u(16)).unwrap_err();
    assert_eq!((trap.code.0, trap.message.as_str()), (613, "tile `t` has a capacity of 0 x 16"));
    let trap = compile(&mut bench, fixed, u(u32::MAX), u(u32::MAX)).unwrap_err();
    assert_eq!((trap.code.0, trap.span), (613, at(3)));
    assert_eq!(trap.notes, ["need 73786976260478468100 bytes, have 16777216 per tile"]);
    assert_eq!(compile(&mut bench, fixed, op(BinOp::Sub, u(1), u(2)), u(16)).unwrap_err().code.0, 600);
    assert!(compile(&mut bench, Elem::Fixed(DType::I32), u(1), u(1)).is_ok());
    bench.dtype = DType::U32;
    let trap = compile(&mut bench, Elem::Of(X), u(1), u(1)).unwrap_err();
    assert_eq!((trap.code.0, trap.message.as_str()), (615, "tile `t` would hold `u32` elements"));
    bench.setup = |env| env.tensors[0] = None;
    assert_eq!(compile(&mut bench, Elem::Of(X), u(1), u(1)).unwrap_err().message, "tensor `x` is not bound");
}

#[test]
fn many_large_tiles_are_refused_before_memory_is_taken() {
    let mut bench = Bench::new();
    let mut k = Kernel::of(3);
    for _ in 0..40 {
        k.tile("t", 2048, 2048);
    }
    let trap = bench.run(k.body(Vec::new()), &[0, 0, 0]).unwrap_err();
    assert_eq!((trap.code.0, trap.message.as_str()), (613, "the tiles of the kernel are too large"));
}

#[test]
fn kernels_take_turns_on_one_scratch() {
    let mut bench = Bench::new();
    let copy = |rows: u32, factor: f32| {
        let mut k = Kernel::of(3);
        let t = k.tile("t", rows, 4);
        k.body(vec![
            load_rows(t, X, word(0), None),
            binary(BinaryTileOp::Mul, t, t, Operand::Scalar(real(factor))),
            store_rows(Y, t, word(0)),
        ])
    };
    bench.module.functions = vec![copy(1, 2.0), copy(2, 3.0)];
    let env = bench.env();
    let code = [0, 1].map(|n| KernelCode::compile(&bench.module, FuncId(n), &env).unwrap());
    let mut scratch = Scratch::new();
    for (kernel, row) in [(1, 0), (0, 1), (1, 2), (0, 4)] {
        code[kernel].run(&mut scratch, &env, &[row, 0, 0]).unwrap();
    }
    let factors = [3.0, 2.0, 3.0, 3.0, 2.0];
    let want: Vec<f32> = (0..20).map(|n| n as f32 * factors[n / 4]).collect();
    assert_eq!(bench.data[1], want);
}

#[test]
fn kernels_stop_when_cancelled_or_endless() {
    let endless = || {
        let mut k = Kernel::of(3);
        let i = k.var("i", U32);
        let yes = op(BinOp::Eq, v(i), v(i));
        k.body(vec![stmt(StmtKind::While { cond: yes, step: Vec::new(), body: Vec::new() })])
    };
    let mut bench = Bench::new();
    bench.setup = |env| env.kernel_steps = 100_000;
    let trap = bench.run(endless(), &[0, 0, 0]).unwrap_err();
    assert_eq!(trap.message, "kernel `kernel` does not end: stopped after 100000 steps");
    bench.setup = |env| env.cancel = Some(Arc::new(AtomicBool::new(true)));
    assert!(bench.run(endless(), &[0, 0, 0]).unwrap_err().is_cancelled());
}

#[test]
fn a_short_loop_of_large_operations_heeds_the_cancel_flag() {
    let mut k = Kernel::of(3);
    let i = k.var("i", U32);
    let t = k.tile("t", 1024, 1024);
    // Too few iterations to be looked at for their number alone.
    let body = vec![tile_op(TileOp::Fill { dst: t, value: real(1.0), rows: None, cols: None })];
    let kernel = k.body(vec![for_(i, 0, u(4000), body)]);
    let mut bench = Bench::new();
    bench.module.functions = vec![kernel];
    let mut env = bench.env();
    let cancel = Arc::new(AtomicBool::new(false));
    env.cancel = Some(Arc::clone(&cancel));
    let code = KernelCode::compile(&bench.module, FuncId(0), &env).unwrap();
    let stop = std::thread::spawn(move || cancel.store(true, std::sync::atomic::Ordering::Relaxed));
    let trap = code.run(&mut Scratch::new(), &env, &[0, 0, 0]).unwrap_err();
    assert!(trap.is_cancelled());
    stop.join().unwrap();
}

#[test]
fn kernels_see_the_tile_that_the_generator_set() {
    let mut bench = Bench::new();
    bench.module.axes.push(wsp_ir::Axis {
        name: "kv".to_owned(),
        start: u(0),
        end: wsp_ir::AxisEnd::Dynamic,
        tile: None,
        span: at(0),
    });
    let kernel = || {
        let value = cast(ScalarTy::F32, expr(ExprKind::AxisTile(AxisId(0)), U32));
        let index = vec![u(0), u(0)];
        Kernel::of(3).body(vec![stmt(StmtKind::StoreScalar { tensor: Y, index, value })])
    };
    let trap = bench.run(kernel(), &[0, 0, 0]).unwrap_err();
    assert_eq!((trap.message.as_str(), trap.span), ("the tile of axis `kv` is not known", at(1)));
    bench.setup = |env| env.set_axis_tile(AxisId(0), 256);
    bench.run(kernel(), &[0, 0, 0]).unwrap();
    assert_eq!(bench.data[1][0], 256.0);
}

#[test]
fn a_descriptor_of_another_size_is_an_internal_error() {
    let trap = Bench::new().run(Kernel::of(3).body(Vec::new()), &[1, 2]).unwrap_err();
    assert_eq!(trap.code.0, 639);
    let field = Kernel::of(3).body(vec![if_(op(BinOp::Eq, word(3), u(0)), Vec::new())]);
    assert_eq!(Bench::new().run(field, &[1, 2, 3]).unwrap_err().code.0, 639);
}
