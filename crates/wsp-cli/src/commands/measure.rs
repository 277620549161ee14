//! `wsp doctor --model`: the machine model of this machine.
//!
//! The model `cpu` with what can be measured in a few hundred milliseconds in place of its figures: the clock, copies between memory and a core's
//! cache, and operations of kernels at two sizes, from which startup and rate follow. Each is the least of several runs.

use crate::machine;
use std::hint::black_box;
use wsp_diag::{Diagnostic, SourceMap};
use wsp_ir::CostClass;
use wsp_kernel::{Env, KernelCode, Scratch, Trap};
use wsp_plan::target::model::{Mark, Model, named};
use wsp_runtime::clock::{nanos_since, now};

/// Runs of which the least counts.
const RUNS: u32 = 5;

/// Rows and columns of tiles, and how often an operation on them is repeated.
const SIZES: [(u32, u32); 2] = [(8, 256), (64, 32)];

/// Bytes that are copied: more than caches hold.
const COPIED: usize = 64 << 20;

/// Bytes of a block that stays in a core's cache.
const BLOCK: usize = 64 << 10;

/// A class, what an operation of it needs beside tiles `t` and `u` of `R` rows and columns, the operation, and how many elements count.
type Measured = (CostClass, &'static str, &'static str, fn(f64) -> f64);

/// Operations that are measured.
const OPERATIONS: [Measured; 11] = [
    (CostClass::Elementwise, "", "TADD(u, t, t);", square),
    (CostClass::Quotients, "", "TDIV(u, t, t);", square),
    (CostClass::Functions, "", "TEXP(u, t);", square),
    (CostClass::RowReduce, "VecTile<E, R, 1> c;", "TROWSUM(c, t);", square),
    (CostClass::ColReduce, "VecTile<E, 1, R> r;", "TCOLSUM(r, t);", square),
    (CostClass::Scan, "", "TCUMSUM(u, t);", square),
    (CostClass::Gather, "VecTile<E, R, R> at; TCI(at, 0);", "TGATHER(u, t, at);", square),
    (CostClass::Move, "", "TTRANS(u, t);", square),
    (CostClass::Random, "", "TRANDOM(u, 1, 0, R);", square),
    (CostClass::Sort, "VecTile<E, R, 8> v; VecTile<E, R, 8> at;", "TTOPK(v, at, t, 0);", |n| n * (n + 8.0)),
    (
        CostClass::Products,
        "LeftTile<E, R, R> a; RightTile<E, R, R> b; AccTile<E, R, R> z; TASSIGN(a, 0.5f); TASSIGN(b, 0.5f);",
        "TMATMUL(z, a, b);",
        |n| n * n * n,
    ),
];

fn square(n: f64) -> f64 {
    n * n
}

/// The model of this machine.
///
/// # Errors
/// What was measured is no model, which would be a fault of ours.
pub fn model() -> Result<Model, Vec<Diagnostic>> {
    let cpu = named("cpu").map_err(|fault| vec![fault])?;
    let processor = machine::processor().unwrap_or_else(|| "a processor without a name".to_owned());
    let title = format!("{processor}, {} cores", wsp_check::cores());
    let mut found = Found { model: Model { title, ..cpu.clone() }, hertz: clock() };
    found.set("clock", "rate", found.hertz, "a chain of multiplications, three cycles each");
    found.sizes();
    found.copies();
    found.operations();
    found.scalars();
    let text = found.model.to_text();
    Model::read(&text, SourceMap::default().add("doctor", text.as_str()))
}

/// Least seconds of some runs.
fn least(mut run: impl FnMut()) -> f64 {
    let timed = |_| {
        let start = now();
        run();
        nanos_since(start) as f64 * 1e-9
    };
    (0..RUNS).map(timed).fold(f64::INFINITY, f64::min)
}

/// Cycles a second.
fn clock() -> f64 {
    const STEPS: u32 = 1 << 20;
    let chain = || {
        let mut x = black_box(3u64);
        for _ in 0..STEPS {
            x = x.wrapping_mul(black_box(0x9E37_79B9_7F4A_7C15));
        }
        black_box(x);
    };
    3.0 * f64::from(STEPS) / least(chain)
}

struct Found {
    model: Model,
    hertz: f64,
}

impl Found {
    /// Sets a figure of the model, if what was measured can be one.
    fn set(&mut self, part: &str, key: &str, value: f64, how: &str) {
        if value.is_finite() && value > 0.0 {
            // Four digits: the next run has others.
            let scale = 10f64.powi(3 - value.log10().floor() as i32);
            let value = if value.fract() == 0.0 { value } else { (value * scale).round() / scale };
            self.model.set_figure(part, key, value, Mark::Measured, &format!("wsp doctor: {how}"));
        }
    }

    fn sizes(&mut self) {
        self.set(
            "unit any",
            "count",
            f64::from(wsp_check::cores() as u32),
            "cores that this process may use",
        );
        if let Some(bytes) = wsp_check::total_memory() {
            self.set("memory dram", "size", bytes as f64, "memory of the machine");
        }
        let caches = machine::caches();
        let second = caches.iter().find(|cache| cache.starts_with("L2"));
        let kib = second.and_then(|cache| cache.rsplit(' ').next()?.strip_suffix('K')?.parse::<u32>().ok());
        if let Some(kib) = kib {
            self.set("memory cache", "size", f64::from(kib) * 1024.0, "the second cache of a core");
        }
    }

    fn copies(&mut self) {
        let (mut all, mut block) = (vec![1u8; COPIED], vec![2u8; BLOCK]);
        let load = least(|| {
            for part in all.chunks_exact(BLOCK) {
                block.copy_from_slice(black_box(part));
                black_box(&mut block);
            }
        });
        let store = least(|| {
            for part in all.chunks_exact_mut(BLOCK) {
                part.copy_from_slice(black_box(&block));
                black_box(part);
            }
        });
        self.set("path dram cache", "rate", COPIED as f64 / load, "64 MiB copied into a block of 64 KiB");
        self.set("path cache dram", "rate", COPIED as f64 / store, "a block of 64 KiB copied to 64 MiB");
    }

    fn operations(&mut self) {
        if let Some(seconds) = seconds(["", ""], ("float", 8), 1) {
            self.set("launch", "kernel", seconds * self.hertz, "a kernel that fills two tiles of 8 x 8");
        }
        for (class, needs, operation, elements) in OPERATIONS {
            for (word, width) in [("float", 4), ("double", 8)] {
                let cycles = SIZES.map(|(size, times)| {
                    let all = seconds([needs, operation], (word, size), times)?;
                    let seconds = all - seconds([needs, ""], (word, size), times)?;
                    Some(seconds * self.hertz / f64::from(times))
                });
                let [Some(small), Some(large)] = cycles else { continue };
                let [few, many] = SIZES.map(|(size, _)| elements(size.into()));
                let rate = (many - few) / (large - small);
                let part = format!("operation {}", class.word());
                let how = format!("tiles of 8 x 8 and 64 x 64 {word}");
                self.set(&part, &format!("rate_{width}"), rate, &how);
                if width == 4 {
                    self.set(&part, "startup", small - few / rate, &how);
                    for narrow in ["rate_1", "rate_2"] {
                        self.set(&part, narrow, rate, &format!("{how}, which narrower elements become"));
                    }
                }
            }
        }
    }

    /// A pass of a loop costs two operators more than its statement has, which is one of 2 or of 8 operators.
    fn scalars(&mut self) {
        let once = "((s & 15) + 1)";
        let four = (0..3).fold(once.to_owned(), |inner, _| once.replace('s', &inner));
        let cycles = [once, &four].map(|value| {
            let operation = format!("s = {value};");
            Some(seconds(["uint32_t s = 0;", &operation], ("float", 8), 10_000)? * self.hertz / 10_000.0)
        });
        let [Some(short), Some(long)] = cycles else { return };
        let rate = 6.0 / (long - short);
        let how = "statements of 2 and of 8 operators in a loop";
        for key in ["rate_4", "rate_8"] {
            self.set("operation scalars", key, rate, how);
        }
        self.set("operation scalars", "startup", (short - 4.0 / rate) / 2.0, how);
    }
}

/// Seconds of a kernel that repeats an operation on tiles of elements `E` with `R` rows and columns; none where it does not run.
fn seconds([needs, operation]: [&str; 2], (elem, size): (&str, u32), times: u32) -> Option<f64> {
    let text = format!(
        "struct Rounds {{ uint32_t n; }};
constexpr uint32_t R = {size};
PTO_KERNEL_IMPL(repeated) {{
    auto desc = PTO_GET_DESCRIPTOR<Rounds>();
    VecTile<E, R, R> t;
    VecTile<E, R, R> u;
    TASSIGN(t, 0.5f);
    TASSIGN(u, 1.5f);
    {needs}
    for (uint32_t i = 0; i < desc.n; ++i) {{ {operation} }}
}}
"
    )
    .replace("<E,", &format!("<{elem},"));
    let (module, _) = wsp_lang::compile("doctor.pto", &text, &mut SourceMap::default());
    let module = module?;
    let env = Env::new(&module, Vec::new());
    let code = KernelCode::compile(&module, module.function_named("repeated")?, &env).ok()?;
    let mut scratch = Scratch::new();
    let mut ran: Result<(), Trap> = code.run(&mut scratch, &env, &[times]);
    let seconds = least(|| {
        if ran.is_ok() {
            ran = code.run(&mut scratch, &env, &[times]);
        }
    });
    ran.ok().map(|()| seconds)
}
