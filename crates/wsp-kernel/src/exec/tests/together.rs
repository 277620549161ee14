//! Runs that are taken together end as each would by itself.
#![allow(unsafe_code, reason = "tests lend their own vectors as tensors")]

use super::by_hand::{Kernel, tile_op, word};
use super::*;
use crate::{KernelCode, Layout, Level, Mode, Paged, Scratch, TensorMem};
use wsp_core::DType;
use wsp_ir::{BinaryTileOp, Block, Operand, Place, TileOp};
use wsp_memory::Bytes;
use wsp_simd::write_f32;

const U32: ScalarTy = ScalarTy::U32;
const BATCH: u32 = 2;
const TOKENS: u32 = 120;
const HEADS: u32 = 3;
const PAGE: u32 = 8;
/// Rows of queries per head.
const GROUP: u32 = 2;
/// Tokens per tile.
const TILE: u32 = 40;

const Q: TensorId = TensorId(0);
const KV: TensorId = TensorId(1);
const O: TensorId = TensorId(2);

/// Where the heads of a token lie.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Order {
    /// Side by side, in pages or one array.
    PagesOfTokens,
    Tokens,
    /// Apart.
    PagesOfHeads,
}

/// Queries, a cache and outputs, and one kernel.
struct Bench {
    module: Module,
    lanes: u32,
    order: Order,
    dtype: DType,
    queries: Vec<f32>,
    cache: Vec<u8>,
    outputs: Vec<f32>,
}

impl Bench {
    fn new(lanes: u32, order: Order, dtype: DType, body: impl FnOnce(&mut Kernel, u32) -> Block) -> Bench {
        let mut module = module(Vec::new());
        add_tensor(&mut module, "q", &[HEADS * GROUP, lanes]);
        add_tensor(&mut module, "kv", &[BATCH, TOKENS, HEADS, lanes]);
        add_tensor(&mut module, "o", &[BATCH * HEADS * GROUP, lanes]);
        // Request, head, first token and end.
        let mut k = Kernel::of(4);
        let body = body(&mut k, lanes);
        module.functions = vec![k.body(body)];
        let mut random = 7u32;
        let mut value = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) as f32 / 32768.0 - 1.0
        };
        let queries = (0..HEADS * GROUP * lanes).map(|_| value()).collect();
        let elements = (BATCH * TOKENS * HEADS * lanes) as usize;
        let mut cache = vec![0u8; elements * dtype.size()];
        for element in cache.chunks_mut(dtype.size()) {
            // SAFETY: the chunk has the element's bytes.
            unsafe { write_f32(element.as_mut_ptr(), dtype, value()) };
        }
        let outputs = vec![0.0; (BATCH * HEADS * GROUP * lanes) as usize];
        Bench { module, lanes, order, dtype, queries, cache, outputs }
    }

    fn cache_layout(&self) -> Layout {
        let (heads, lanes, page) = (u64::from(HEADS), u64::from(self.lanes), u64::from(PAGE));
        if self.order == Order::Tokens {
            let strides = vec![u64::from(TOKENS) * heads * lanes, heads * lanes, lanes, 1];
            return Layout::Strided { dims: vec![BATCH, TOKENS, HEADS, self.lanes], strides };
        }
        let pages = TOKENS / PAGE;
        let (slot_stride, head_stride) = match self.order {
            Order::PagesOfHeads => (lanes, page * lanes),
            _ => (heads * lanes, lanes),
        };
        Layout::Paged(Paged {
            lengths: [TOKENS, TOKENS - 13].into(),
            indptr: [0, pages, 2 * pages].into(),
            indices: (0..2 * pages).rev().collect(),
            page_size: PAGE,
            heads: HEADS,
            lanes: self.lanes,
            page_stride: page * heads * lanes,
            slot_stride,
            head_stride,
        })
    }

    fn env(&mut self, mode: Mode, engine: Engine) -> Env {
        let mut env = Env::new(&self.module, Vec::new());
        (env.mode, env.engine) = (mode, engine);
        let plain =
            |rows| Layout::Strided { dims: vec![rows, self.lanes], strides: vec![u64::from(self.lanes), 1] };
        let layouts = [plain(HEADS * GROUP), self.cache_layout(), plain(BATCH * HEADS * GROUP)];
        let memory = [
            (self.queries.as_mut_ptr().cast(), self.queries.len() * 4, DType::F32),
            (self.cache.as_mut_ptr(), self.cache.len(), self.dtype),
            (self.outputs.as_mut_ptr().cast(), self.outputs.len() * 4, DType::F32),
        ];
        for ((tensor, layout), (first, bytes, dtype)) in env.tensors.iter_mut().zip(layouts).zip(memory) {
            // SAFETY: the vectors live in the bench, which outlives the env in every test; kernels run one at a time.
            let bytes = unsafe { Bytes::new(first, bytes) };
            *tensor = Some(TensorMem::new(bytes, dtype, layout));
        }
        env
    }

    /// What the runs store and how they end, one after the other or together.
    fn run(
        &mut self,
        env: &Env,
        descriptors: &[[u32; 4]],
        together: bool,
    ) -> (Vec<u32>, Vec<Result<(), Trap>>) {
        let code = KernelCode::compile(&self.module, FuncId(0), env).unwrap();
        let mut scratch = Scratch::new();
        let mut outcomes = Vec::new();
        // Twice: what one run leaves behind must not matter to the next.
        for _ in 0..2 {
            outcomes.clear();
            self.outputs.fill(f32::NAN);
            if together {
                let words: Vec<&[u32]> = descriptors.iter().map(|words| &words[..]).collect();
                code.run_together(&mut scratch, env, &words, &mut |outcome| outcomes.push(outcome));
            } else {
                outcomes.extend(descriptors.iter().map(|words| code.run(&mut scratch, env, words)));
            }
        }
        (self.outputs.iter().map(|x| x.to_bits()).collect(), outcomes)
    }

    /// Asserts that the runs do the same together as alone.
    fn compare(&mut self, descriptors: &[[u32; 4]]) -> Vec<Result<(), Trap>> {
        let mut outcomes = Vec::new();
        for mode in modes() {
            for engine in [Engine::Interpreter, Engine::Native].into_iter().filter(|e| e.is_available()) {
                let env = self.env(mode, engine);
                let alone = self.run(&env, descriptors, false);
                let together = self.run(&env, descriptors, true);
                let what = format!("{mode:?} {engine:?} {:?} {:?} {}", self.order, self.dtype, self.lanes);
                assert_eq!(alone.1, together.1, "{what}");
                assert_eq!(alone.0, together.0, "{what}");
                outcomes = alone.1;
            }
        }
        outcomes
    }
}

fn modes() -> Vec<Mode> {
    let levels = Level::ALL.into_iter().filter(|level| level.is_available()).map(Mode::At);
    [Mode::Plain].into_iter().chain(levels).collect()
}

/// Rows of the queries or the outputs from row `group * GROUP` on.
fn rows_of(group: Expr) -> Place {
    let index = vec![op(BinOp::Mul, group, u(GROUP)), u(0)];
    Place { index, row_dim: Some(0), col_dim: Some(1) }
}

/// `o += ((q · kᵀ) · 0.1) · k` over the tokens of the descriptor.
fn attention(k: &mut Kernel, lanes: u32) -> Block {
    let (q, o) = (k.tile("q", GROUP, lanes), k.tile("o", GROUP, lanes));
    let (kv, scores) = (k.tile_of("kv", Elem::Of(KV), u(TILE), u(lanes)), k.tile("scores", GROUP, TILE));
    let (pos, count) = (k.var("pos", U32), k.var("count", U32));
    let at_token = Place { index: vec![word(0), v(pos), word(1), u(0)], row_dim: Some(1), col_dim: Some(3) };
    let product =
        |dst, a, b, transpose_b, accumulate| tile_op(TileOp::MatMul { dst, a, b, transpose_b, accumulate });
    let tenth = Operand::Scalar(real(0.1));
    let body = vec![
        let_(count, op(BinOp::Min, u(TILE), op(BinOp::Sub, word(3), v(pos)))),
        tile_op(TileOp::Load { dst: kv, tensor: KV, at: at_token, rows: Some(v(count)), cols: None }),
        product(scores, q, kv, true, false),
        product(scores, q, kv, true, true),
        tile_op(TileOp::Binary { op: BinaryTileOp::Mul, dst: scores, a: scores, b: tenth }),
        product(o, scores, kv, false, true),
    ];
    let output = add(op(BinOp::Mul, word(0), u(HEADS)), word(1));
    vec![
        tile_op(TileOp::Load { dst: q, tensor: Q, at: rows_of(word(1)), rows: None, cols: None }),
        tile_op(TileOp::Fill { dst: o, value: real(0.0), rows: None, cols: None }),
        stmt(StmtKind::For { var: pos, start: word(2), end: word(3), step: u(TILE), body }),
        tile_op(TileOp::Store { tensor: O, src: o, at: rows_of(output), rows: None, cols: None, add: false }),
    ]
}

/// The heads of a request over some of its tokens.
fn heads(batch: u32, tokens: std::ops::Range<u32>) -> Vec<[u32; 4]> {
    (0..HEADS).map(|head| [batch, head, tokens.start, tokens.end]).collect()
}

#[test]
fn heads_that_lie_side_by_side_have_the_results_of_each_alone() {
    let types = [DType::F32, DType::F16, DType::Bf16, DType::F8E4m3, DType::F8E5m2];
    for order in [Order::PagesOfTokens, Order::Tokens, Order::PagesOfHeads] {
        for (dtype, lanes) in types.into_iter().zip([20, 64, 128, 33, 256]) {
            let mut bench = Bench::new(lanes, order, dtype, attention);
            for tokens in [0..120, 3..4, 0..40, 17..97, 5..5, 0..63] {
                let outcomes = bench.compare(&heads(0, tokens));
                assert!(outcomes.iter().all(Result::is_ok));
            }
        }
    }
}

#[test]
fn runs_of_other_operations_are_taken_apart() {
    let mut bench = Bench::new(64, Order::PagesOfTokens, DType::Bf16, attention);
    let mut mixed = heads(0, 0..120);
    mixed.extend(heads(1, 0..60));
    // Heads out of turn, and one with fewer steps among the rest.
    mixed.swap(1, 4);
    mixed[2][3] = 30;
    assert!(bench.compare(&mixed).iter().all(Result::is_ok));
}

#[test]
fn a_run_that_fails_stops_as_it_would_alone_and_harms_no_other() {
    let mut bench = Bench::new(64, Order::PagesOfTokens, DType::F16, attention);
    let mut some = heads(1, 0..100);
    // A head that does not exist.
    some[1] = [1, HEADS, 0, 100];
    let outcomes = bench.compare(&some);
    let ends: Vec<Option<u16>> = outcomes.iter().map(|o| o.as_ref().err().map(|trap| trap.code.0)).collect();
    assert_eq!(ends[..3], [None, Some(610), None]);
}

#[test]
fn more_runs_than_are_taken_at_once_all_run() {
    let mut bench = Bench::new(32, Order::PagesOfTokens, DType::F32, attention);
    let many: Vec<[u32; 4]> = (0..40).flat_map(|n| heads(n % 2, 0..60 + n % 2)).collect();
    assert_eq!(bench.compare(&many).len(), 120);
}

#[test]
fn what_a_kernel_does_may_depend_on_its_tiles_then_nothing_is_taken_together() {
    let body = |k: &mut Kernel, lanes| {
        let (q, sum) = (k.tile("q", 1, lanes), k.var("sum", ScalarTy::F32));
        let positive = op(BinOp::Lt, real(0.0), local(sum, ScalarTy::F32));
        let store = tile_op(TileOp::Store {
            tensor: O,
            src: q,
            at: rows_of(word(1)),
            rows: None,
            cols: None,
            add: false,
        });
        vec![
            tile_op(TileOp::Load { dst: q, tensor: Q, at: rows_of(word(1)), rows: None, cols: None }),
            let_(sum, expr(ExprKind::TileSum(q), ScalarTy::F32)),
            if_(positive, vec![store]),
        ]
    };
    let mut bench = Bench::new(16, Order::Tokens, DType::F32, body);
    assert!(bench.compare(&heads(0, 0..1)).iter().all(Result::is_ok));
}

#[test]
fn what_lies_side_by_side_is_worth_taking_together() {
    for (order, gains) in [(Order::PagesOfTokens, true), (Order::Tokens, true), (Order::PagesOfHeads, false)]
    {
        let mut bench = Bench::new(64, order, DType::Bf16, attention);
        let mut env = bench.env(Mode::Fast, Engine::Auto);
        let code = KernelCode::compile(&bench.module, FuncId(0), &env).unwrap();
        assert_eq!(code.gains_together(&env), gains, "{order:?}");
        env.loads_in_place = false;
        assert!(!code.gains_together(&env));
        let env = bench.env(Mode::Plain, Engine::Auto);
        let code = KernelCode::compile(&bench.module, FuncId(0), &env).unwrap();
        assert!(!code.gains_together(&env), "what is copied anyway is not read in turns");
    }
}

#[test]
fn a_run_that_is_cancelled_says_so_for_every_descriptor() {
    let mut bench = Bench::new(64, Order::PagesOfTokens, DType::Bf16, attention);
    let mut env = bench.env(Mode::Fast, Engine::Auto);
    let code = KernelCode::compile(&bench.module, FuncId(0), &env).unwrap();
    env.cancel = Some(std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true)));
    let (descriptors, mut outcomes) = (heads(0, 0..100), Vec::new());
    let words: Vec<&[u32]> = descriptors.iter().map(|words| &words[..]).collect();
    code.run_together(&mut Scratch::new(), &env, &words, &mut |outcome| outcomes.push(outcome));
    assert_eq!(outcomes.len(), 3);
    assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_err_and(Trap::is_cancelled)));
}
