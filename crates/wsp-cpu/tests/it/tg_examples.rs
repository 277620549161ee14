//! The example units run with the kernels of their files.

use std::sync::Arc;
use wsp_backend::MemoryStore;
use wsp_core::DType;
use wsp_core::tg::Instr;
use wsp_cpu::tg::{Session, SessionOptions, TgKernels};
use wsp_diag::{Diagnostic, SourceMap, render_all};
use wsp_ir::tg::TgModule;
use wsp_kernel::{Engine, Mode};
use wsp_plan::{Array, Arrays};
use wsp_runtime::tg::{RuntimeConfig, Tracing};

/// A unit and the text of the file that it uses.
struct Example {
    unit: &'static str,
    kernels: &'static str,
}

macro_rules! example {
    ($unit:literal, $kernels:literal) => {
        Example {
            unit: include_str!(concat!("../../../../examples/", $unit)),
            kernels: include_str!(concat!("../../../../examples/", $kernels)),
        }
    };
}

const DEEPSEEK: Example = example!("deepseek_indexer.tg", "deepseek/indexer.pto");
const CORRECTED: Example = example!("deepseek_indexer_corrected.tg", "deepseek/indexer.pto");
const POWER: Example = example!("power_iteration.tg", "power_iteration.pto");
const DEVICES: Example = example!("two_devices.tg", "two_devices.pto");
const STEPS: Example = example!("thousand_steps.tg", "thousand_steps.pto");

/// The text of document 000, section 8.
const VERBATIM: &str = include_str!("../../../../examples/deepseek_indexer_verbatim.tg");

fn unit(text: &str) -> TgModule {
    let mut sources = SourceMap::default();
    let (module, findings) = wsp_isa::tg::text::parse("example.tg", text, &mut sources);
    module.unwrap_or_else(|| panic!("{}", render_all(&findings, &sources, false)))
}

fn said(faults: &[Diagnostic]) -> String {
    faults.iter().map(|fault| format!("{} {fault:?}\n", fault.code)).collect()
}

impl Example {
    fn session(&self, options: SessionOptions) -> Session {
        let mut sources = SourceMap::default();
        let (module, findings) = wsp_lang::compile("example.pto", self.kernels, &mut sources);
        let module = module.unwrap_or_else(|| panic!("{}", render_all(&findings, &sources, false)));
        let mut kernels = TgKernels::new();
        kernels
            .add_library(&Arc::new(module), &[], Mode::default(), Engine::default())
            .expect("the file has its kernels once");
        Session::new(&unit(self.unit), &kernels, options).unwrap_or_else(|faults| panic!("{}", said(&faults)))
    }
}

fn options(threads: u32, devices: u32, inputs: Arrays) -> SessionOptions {
    let runtime = RuntimeConfig { threads, devices, tracing: Tracing::On, ..RuntimeConfig::default() };
    SessionOptions { runtime, inputs, ..SessionOptions::default() }
}

/// Numbers in `[-scale, scale)` by a fixed formula, stored as f32 or f16.
fn made(dtype: DType, shape: &[u64], scale: f32, seed: u64) -> Array {
    let mut array = Array::zeros(dtype, shape).expect("it is small");
    let mut state = seed;
    for element in array.bytes_mut().chunks_exact_mut(dtype.size()) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let value = ((state >> 40) as f32 / (1u32 << 23) as f32 - 1.0) * scale;
        match dtype {
            DType::F16 => element.copy_from_slice(&half(value).to_le_bytes()),
            _ => element.copy_from_slice(&value.to_le_bytes()),
        }
    }
    array
}

/// The bits of a number of moderate size in f16, rounded towards zero.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    match (bits >> 23 & 0xFF).checked_sub(112) {
        None | Some(0) => sign,
        Some(exponent) => sign | (exponent << 10 | bits >> 13 & 0x3FF) as u16,
    }
}

fn floats(session: &Session, name: &str) -> Vec<f32> {
    let array = session.tensor(name).unwrap_or_else(|fault| panic!("{fault:?}"));
    array.as_slice::<f32>().expect("it holds f32").to_vec()
}

fn run(session: &mut Session) -> wsp_cpu::tg::Report {
    session.run().unwrap_or_else(|faults| panic!("{}", said(&faults)))
}

fn deepseek_inputs() -> Arrays {
    let half = |name: &str, shape: &[u64], scale: f32, seed: u64| {
        (name.to_owned(), made(DType::F16, shape, scale, seed))
    };
    let weight = (3.0f32 / 512.0).sqrt();
    Arrays::from([
        half("INPUT_HIDDEN", &[4096, 512], 1.0, 1),
        half("rms_weight", &[1, 512], 1.5, 2),
        half("w_q", &[512, 128], weight, 3),
        half("w_kv", &[512, 128], weight, 4),
        half("index_q", &[512, 128], weight, 5),
        half("index_k", &[512, 32], weight, 6),
        half("index_w", &[512, 4], weight, 7),
    ])
}

/// ISA-EX-01, ISA-EX-05, ISA-GEN-02, and ISA-GEN-01: a session of the host, graphs of a device, kernels of its cores.
#[test]
fn the_document_example_runs_once_its_external_tensors_are_declared() {
    let given = VERBATIM.split_once("\n\n").expect("a comment stands above the text of the document").1;
    assert!(DEEPSEEK.unit.ends_with(given), "the statements that run are those of the document");
    let mut session = DEEPSEEK.session(options(2, 1, deepseek_inputs()));
    let report = run(&mut session);
    assert_eq!((report.stats.kernels, report.stats.blocks), (4, 96));
    let scores = floats(&session, "QK_SCORES");
    assert!(scores[..4096 - 1023].iter().all(|x| x.is_finite()) && scores[4095] == f32::NEG_INFINITY);
    let output = session.tensor("OUTPUT").unwrap_or_else(|fault| panic!("{fault:?}"));
    assert!(output.bytes().chunks_exact(2).filter(|bits| *bits != [0, 0]).count() > 130_000);
}

/// ISA-EX-02.
#[test]
fn both_prologs_of_the_document_example_overlap_and_attention_comes_last() {
    let mut session = DEEPSEEK.session(options(2, 1, deepseek_inputs()));
    let trace = run(&mut session).trace.expect("launches are recorded");
    let spans = trace.spans();
    let of = |name: &str| {
        let at = trace.runs.iter().position(|run| run.name == name).expect("the kernel ran");
        spans[at].expect("it has blocks")
    };
    let (mla, indexer) = (of("MLA_PROLOG"), of("INDEXER_PROLOG"));
    assert!(mla.0 < indexer.1 && indexer.0 < mla.1, "{mla:?} {indexer:?}");
    let last = of("SPARSE_FA");
    assert!(["MLA_PROLOG", "INDEXER_PROLOG", "LIGHTNING_INDEXER"].iter().all(|name| of(name).1 <= last.0));
}

/// ISA-EX-01, ISA-EX-04.
#[test]
fn the_corrected_example_gives_the_same_bits_on_any_number_of_threads() {
    let outputs = |example: &Example, threads| {
        let mut session = example.session(options(threads, 1, deepseek_inputs()));
        run(&mut session);
        let bytes =
            |name: &str| session.tensor(name).unwrap_or_else(|fault| panic!("{fault:?}")).bytes().to_vec();
        [bytes("QK_SCORES"), bytes("OUTPUT")]
    };
    assert!(
        outputs(&DEEPSEEK, 1) == outputs(&CORRECTED, 3),
        "neither the correction nor threads change a number"
    );
}

/// ISA-CF-04, ISA-CF-09.
#[test]
fn power_iteration_ends_when_the_device_says_so() {
    // 5 · 1 + ones: the largest eigenvalue is 261, and its vector has one part in every direction.
    let mut matrix = Array::zeros(DType::F32, &[256, 256]).expect("it is small");
    for (i, x) in matrix.as_slice_mut::<f32>().expect("it holds f32").iter_mut().enumerate() {
        *x = if i % 257 == 0 { -6.0 } else { 1.0 };
    }
    let mut session = POWER.session(options(2, 1, Arrays::from([("MATRIX".to_owned(), matrix)])));
    let report = run(&mut session);
    assert!((floats(&session, "VALUE")[0] - 261.0).abs() < 1e-3);
    assert!(floats(&session, "VECTOR").iter().all(|x| (x - 0.0625).abs() < 1e-6));
    let rounds = (report.stats.kernels - 1) / 2;
    assert!((2..20).contains(&rounds), "{rounds} rounds");
}

/// ISA-SY-04, ISA-SY-05.
#[test]
fn the_second_device_waits_for_what_the_first_writes() {
    let x = made(DType::F32, &[512, 256], 1.0, 9);
    let rows: Vec<f64> = x
        .as_slice::<f32>()
        .expect("it holds f32")
        .chunks_exact(256)
        .map(|row| row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum())
        .collect();
    for threads in [1, 3] {
        let mut session = DEVICES.session(options(threads, 2, Arrays::from([("X".to_owned(), x.clone())])));
        run(&mut session);
        let sums = floats(&session, "SUMS");
        assert!(sums.iter().zip(&rows).all(|(have, want)| (f64::from(*have) - want).abs() < 1e-4 * want));
    }
}

/// ISA-CF-05, ISA-CF-06, ISA-FE-04.
#[test]
fn a_thousand_steps_are_what_the_same_steps_one_by_one_are() {
    let state = made(DType::F32, &[128, 1024], 1.0, 4);
    let store = Arc::new(MemoryStore::new());
    let given = SessionOptions {
        checkpoints: Some(store),
        ..options(2, 1, Arrays::from([("STATE".to_owned(), state.clone())]))
    };
    let mut session = STEPS.session(given);
    let report = run(&mut session);
    assert_eq!((report.stats.kernels, report.stats.checkpoints), (1000, 20));
    let have = floats(&session, "STATE");
    // One row, in f32 as the kernel computes it.
    let mut row = state.as_slice::<f32>().expect("it holds f32")[..1024].to_vec();
    for _ in 0..1000 {
        let before = row.clone();
        for i in 1..1023 {
            row[i] = before[i] * (1.0 - 2.0 * 0.2f32) + (before[i - 1] + before[i + 1]) * 0.2;
        }
    }
    assert!(have[..1024].iter().zip(&row).all(|(a, b)| (a - b).abs() < 1e-5));
}

/// ISA-EX-01, ISA-EX-05.
#[test]
fn the_document_example_has_its_numbers() {
    let module = unit(DEEPSEEK.unit);
    let kernels: Vec<(&str, u32, u64)> = (module.instrs.iter())
        .filter_map(|instr| match *instr {
            Instr::TgKernel { entry_symbol, block_dim, workspace_size, .. } => {
                Some((module.str(entry_symbol), block_dim, workspace_size))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        kernels,
        [
            ("mla_prolog_entry", 24, 64 << 10),
            ("indexer_prolog_entry", 24, 32 << 10),
            ("lightning_indexer_entry", 24, 128 << 10),
            ("sparse_fa_entry", 24, 256 << 10),
        ]
    );
    let sizes: Vec<u64> = (module.instrs.iter())
        .filter_map(|instr| match *instr {
            Instr::McAlloc { size, .. } => Some(size),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [512 << 20, 1024 * 128 * 2, 4096 * 128 * 2, 1024 * 256 * 4]);
}
