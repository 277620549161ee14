//! Kernels of decode attention alone, without planning: time per task against reading the same bytes.
//!
//! `cargo run --release -p wsp-kernel --example decode_tile [-- KERNEL [TYPE...]]`, where `KERNEL` is 2k, 8k, 64k or 128k and a
//! type f16, bf16 or f32. Every task is timed alone, several times, and the least times are added up: what else
//! the machine does meanwhile matters little. With `HOT` set all pages of the cache are the same few: no waiting for memory. `ISA` names
//! instruction sets to compare, `TOKENS` the length of each request.

#![allow(unsafe_code, reason = "tensors of a launch are memory that the caller vouches for")]
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement: reads the clock and prints"
)]

use half::{bf16, f16};
use memmap2::MmapMut;
use std::hint::black_box;
use std::time::Instant;
use wsp_core::{DType, FuncId};
use wsp_diag::SourceMap;
use wsp_ir::{Module, ParamSource, Storage};
use wsp_kernel::{Env, KernelCode, Layout, Mode, Paged, Scratch, TensorMem, Value, eval_launch_expr};
use wsp_memory::Bytes;

const PROGRAM: &str = include_str!("../../../examples/decode_attention.pto");
/// Tokens of all requests together.
const ALL_TOKENS: usize = 32_768;
const HEADS: usize = 8;
const GROUP: usize = 4;
const DIM: usize = 128;
const PAGE: usize = 16;
const ROUNDS: usize = 12;

/// Elements of one array of the cache.
const CACHE: usize = ALL_TOKENS * HEADS * DIM;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let kernel = format!("decode_kernel_{}", args.first().map_or("64k", String::as_str));
    let types = [("f16", DType::F16), ("bf16", DType::Bf16), ("f32", DType::F32)];
    let modes: Vec<Mode> = match std::env::var("ISA") {
        Ok(names) => names.split(',').filter_map(Mode::from_name).collect(),
        Err(_) => vec![Mode::Fast],
    };
    let tokens = std::env::var("TOKENS").map_or(2048, |n| n.parse().expect("TOKENS is a number"));
    let batch = ALL_TOKENS / tokens;
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_lang::compile("decode_attention.pto", PROGRAM, &mut sources);
    let module = module.unwrap_or_else(|| panic!("{findings:?}"));
    for (name, dtype) in types {
        let asked = &args[args.len().min(1)..];
        let measured = if asked.is_empty() { dtype != DType::F32 } else { asked.iter().any(|a| a == name) };
        if !measured {
            continue;
        }
        let data = Data::new(dtype, batch, tokens);
        for nhd in [false, true] {
            let mut floor = vec![f64::INFINITY; batch * HEADS];
            let mut tasks = vec![vec![f64::INFINITY; batch * HEADS]; modes.len()];
            let envs: Vec<Env> = modes.iter().map(|mode| data.env(&module, *mode, nhd)).collect();
            let codes: Vec<KernelCode> = envs
                .iter()
                .map(|env| {
                    KernelCode::compile(&module, function(&module, &kernel), env).expect("it compiles")
                })
                .collect();
            for _ in 0..ROUNDS {
                for (task, least) in floor.iter_mut().enumerate() {
                    let share = data.keys.len() / (batch * HEADS);
                    let parts =
                        [&data.keys, &data.values].map(|part| &part[task * share..(task + 1) * share]);
                    timed(least, || parts.map(read_all));
                }
                for ((env, code), least) in envs.iter().zip(&codes).zip(&mut tasks) {
                    let mut scratch = Scratch::new();
                    for (task, least) in least.iter_mut().enumerate() {
                        let (batch, head) = ((task / HEADS) as u32, (task % HEADS) as u32);
                        let words = [0, batch, 0, head, 0, tokens as u32, 1, 0];
                        timed(least, || code.run(&mut scratch, env, &words).expect("it runs"));
                    }
                }
            }
            let total = |least: &[f64]| least.iter().sum::<f64>();
            let rate = |seconds: f64| (2 * size_of_val(&data.keys[..])) as f64 / seconds / 1e9;
            let base = total(&floor);
            print!("{name:5} {} floor {:5.1} GB/s", if nhd { "NHD" } else { "HND" }, rate(base));
            for (mode, least) in modes.iter().zip(&tasks) {
                print!("  {mode:?} {:5.1} GB/s {:.2}x", rate(total(least)), total(least) / base);
            }
            println!(
                "  {:.2} us per task  {:08x}",
                total(&tasks[0]) / (batch * HEADS) as f64 * 1e6,
                data.checksum()
            );
        }
    }
}

fn timed<T>(least: &mut f64, run: impl FnOnce() -> T) {
    let start = Instant::now();
    black_box(run());
    *least = least.min(start.elapsed().as_secs_f64());
}

fn read_all(bytes: &[u8]) -> u64 {
    let mut lanes = [0u64; 8];
    for block in bytes.as_chunks::<64>().0 {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = lane.wrapping_add(u64::from_le_bytes(*word));
        }
    }
    lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
}

fn function(module: &Module, name: &str) -> FuncId {
    let index = module.functions.iter().position(|f| f.name == name).expect("the program has the kernel");
    FuncId(index as u32)
}

/// Large pages where the system has them, as for the arrays of the command line.
fn large(bytes: usize) -> MmapMut {
    let memory = MmapMut::map_anon(bytes).expect("there is memory");
    // A wish: small pages do.
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    memory
}

/// Arrays of a launch.
struct Data {
    dtype: DType,
    batch: usize,
    tokens: usize,
    q: MmapMut,
    keys: MmapMut,
    values: MmapMut,
    output: Vec<f32>,
    lse: Vec<f32>,
    pages: Vec<u32>,
}

impl Data {
    fn new(dtype: DType, batch: usize, tokens: usize) -> Data {
        let mut state = 88_172_645_463_325_252u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 40
        };
        let mut pages: Vec<u32> = (0..(ALL_TOKENS / PAGE) as u32).collect();
        for i in (1..pages.len()).rev() {
            pages.swap(i, random() as usize % (i + 1));
        }
        if std::env::var_os("HOT").is_some() {
            pages.iter_mut().for_each(|page| *page %= 4);
        }
        let mut floats = |n: usize| -> MmapMut {
            let mut pages = large(n * dtype.size());
            for element in pages.chunks_exact_mut(dtype.size()) {
                let x = (random() % 2001) as f32 / 1000.0 - 1.0;
                match dtype {
                    DType::F16 => element.copy_from_slice(&f16::from_f32(x).to_le_bytes()),
                    DType::Bf16 => element.copy_from_slice(&bf16::from_f32(x).to_le_bytes()),
                    _ => element.copy_from_slice(&x.to_le_bytes()),
                }
            }
            pages
        };
        let rows = batch * HEADS * GROUP;
        Data {
            dtype,
            batch,
            tokens,
            q: floats(rows * DIM),
            keys: floats(CACHE),
            values: floats(CACHE),
            output: vec![0.0; rows * DIM],
            lse: vec![0.0; rows],
            pages,
        }
    }

    fn checksum(&self) -> u32 {
        let hash = |hash: u32, x: &f32| (hash ^ x.to_bits()).wrapping_mul(16_777_619);
        self.output.iter().chain(&self.lse).fold(2_166_136_261, hash)
    }

    fn env(&self, module: &Module, mode: Mode, nhd: bool) -> Env {
        let mut env = Env::new(module, params(module, self.batch));
        env.mode = mode;
        for (tensor, slot) in module.tensors.iter().zip(&mut env.tensors) {
            let (bytes, dtype, layout) = match (&tensor.storage, tensor.name.as_str()) {
                (Storage::CacheKeys(_), _) => (bytes_of(&self.keys), self.dtype, self.paged(nhd)),
                (Storage::CacheValues(_), _) => (bytes_of(&self.values), self.dtype, self.paged(nhd)),
                (_, "q") => (bytes_of(&self.q), self.dtype, strided(&[self.batch, HEADS * GROUP, 1, DIM])),
                (_, "output") => {
                    (bytes_of(&self.output), DType::F32, strided(&[self.batch, HEADS * GROUP, 1, DIM]))
                }
                (_, "lse") => (bytes_of(&self.lse), DType::F32, strided(&[self.batch, HEADS * GROUP])),
                // Workspace: a single chunk writes none.
                (_, name) => {
                    let cols = if name == "partial_o" { DIM as u32 } else { 1 };
                    let slots = Layout::Slots {
                        slots: 0,
                        slot_bytes: 64,
                        apart: Some(64),
                        offset: 0,
                        dims: vec![GROUP as u32, cols],
                        strides: vec![u64::from(cols), 1],
                    };
                    ((std::ptr::null_mut(), 0), DType::F32, slots)
                }
            };
            // SAFETY: the arrays outlive every run; one thread runs one task at a time, and reads results afterwards.
            let bytes = unsafe { Bytes::new(bytes.0, bytes.1) };
            *slot = Some(TensorMem::new(bytes, dtype, layout));
        }
        env
    }

    fn paged(&self, nhd: bool) -> Layout {
        let (heads, lanes, page) = (HEADS as u64, DIM as u64, PAGE as u64);
        let indptr: Vec<u32> = (0..=self.batch).map(|b| (b * self.tokens / PAGE) as u32).collect();
        Layout::Paged(Paged {
            lengths: vec![self.tokens as u32; self.batch].into(),
            indptr: indptr.into(),
            indices: self.pages.clone().into(),
            page_size: PAGE as u32,
            heads: HEADS as u32,
            lanes: DIM as u32,
            page_stride: page * heads * lanes,
            slot_stride: if nhd { heads * lanes } else { lanes },
            head_stride: if nhd { lanes } else { page * lanes },
        })
    }
}

fn bytes_of<T>(values: &[T]) -> (*mut u8, usize) {
    (values.as_ptr().cast_mut().cast(), size_of_val(values))
}

fn strided(dims: &[usize]) -> Layout {
    let mut strides = vec![1u64; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i] as u64;
    }
    Layout::Strided { dims: dims.iter().map(|&n| n as u32).collect(), strides }
}

fn params(module: &Module, batch: usize) -> Vec<Value> {
    let mut params: Vec<Value> = Vec::new();
    for param in &module.params {
        let known: Vec<Option<Value>> = params.iter().copied().map(Some).collect();
        let value = match &param.source {
            ParamSource::Set { default: e } | ParamSource::Derived(e) => {
                eval_launch_expr(module, e, &known).expect("parameters have values")
            }
            ParamSource::Shape { .. } | ParamSource::Entry => Value::U32(match param.name.as_str() {
                "batch_size" => batch,
                "num_qo_heads" => HEADS * GROUP,
                "num_kv_heads" => HEADS,
                _ => DIM,
            } as u32),
        };
        params.push(value);
    }
    params
}
