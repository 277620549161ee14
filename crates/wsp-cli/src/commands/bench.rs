//! `wsp bench decode`: measures the decode attention program on fixed batches.

use super::run::compare;
use super::{Outcome, Session, options};
use crate::args::{BenchArgs, BenchLayout, BenchType, SetName};
use crate::bench::{Row, describe, json, lengths, print, read_rate};
use crate::codes;
use crate::engine::{self, Loaded, Options};
use crate::files::write_text;
use crate::generate::{Lens, Names, Spec, generate};
use crate::layout::Layout;
use crate::machine;
use crate::report::{DataSummary, bytes};
use serde_json::json;
use std::time::Duration;
use wsp_core::DType;
use wsp_ir::Module;
use wsp_ir::diag::Diagnostic;
use wsp_runtime::clock;

/// The program that is measured unless another is named.
const EXAMPLE: &str = include_str!("../../../../examples/decode_attention.pto");
/// Heads and lanes of Llama-3-8B.
const HEADS: (u32, u32) = (32, 8);
const DIM: u32 = 128;
const PAGE: u32 = 16;
/// Times the ceiling is measured; the best counts.
const CEILING_REPEATS: u32 = 5;
/// Memory left to everything but keys and values.
const SPARE_BYTES: u64 = 256 << 20;

/// What is measured at one time.
#[derive(Clone, Copy)]
struct Point {
    set: SetName,
    dtype: DType,
    layout: Layout,
}

/// Measures, printing a line per measurement.
pub(super) fn decode(session: &mut Session, args: &BenchArgs) -> Result<Outcome, Vec<Diagnostic>> {
    if let Some(layout) = super::asked_layout(&args.launch) {
        let fault = Diagnostic::error(
            codes::NO_LAYOUT,
            "`kv_layout` says nothing here: every layout of `--layouts` is measured",
        );
        return Err(vec![fault.help(format!("write `--layouts {}`", layout.name().to_lowercase()))]);
    }
    let started = clock::now();
    let module = match &args.file {
        Some(path) => session.compile(path)?,
        None => session.compile_text("decode_attention.pto", EXAMPLE.to_owned())?,
    };
    let source_ms = ms(Duration::from_nanos(clock::nanos_since(started)));
    session.terminal.print(&print(&[]));
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for &set in &args.sets {
        for dtype in args.dtypes.iter().map(|t| if *t == BenchType::F16 { DType::F16 } else { DType::Bf16 }) {
            for layout in
                args.layouts.iter().map(|l| if *l == BenchLayout::Nhd { Layout::Nhd } else { Layout::Hnd })
            {
                let point = Point { set, dtype, layout };
                if let Some(reason) = too_large(point) {
                    session.terminal.print(&format!("{reason}\n"));
                    skipped.push(reason);
                    continue;
                }
                rows.extend(measure(session, &module, args, point)?);
            }
        }
    }
    let slowest = rows.iter().map(|row| row.first_task_ms).fold(0.0, f64::max);
    session.terminal.print(&format!(
        "source to first task: {:.2} ms (source to module {source_ms:.2}, launch to first task {slowest:.2} at most)\n",
        source_ms + slowest
    ));
    if let Some(path) = &args.json {
        let machine = json!({
            "processor": machine::processor(), "cores": machine::cores(), "simd": machine::simd_level(),
        });
        let all = json!({ "machine": machine, "repeats": args.repeats, "source_ms": source_ms, "rows": json(&rows), "skipped": skipped });
        write_text(path, &format!("{all:#}\n")).map_err(|fault| vec![fault])?;
    }
    Ok(Outcome::Done)
}

/// Bytes of keys and values, with what pages round up.
fn kv_bytes(point: Point) -> u64 {
    let pages: u64 = lengths(point.set).iter().map(|n| u64::from(n.div_ceil(PAGE)) + 1).sum();
    pages * u64::from(PAGE) * u64::from(HEADS.1) * u64::from(DIM) * 2 * point.dtype.size() as u64
}

/// Why a point cannot be measured here.
fn too_large(point: Point) -> Option<String> {
    let need = kv_bytes(point) + SPARE_BYTES;
    let have = machine::available_memory()?;
    (need > have).then(|| {
        format!(
            "skipped {:?} {} {} ({}): it needs {}, and {} are available",
            point.set,
            point.dtype,
            point.layout,
            describe(point.set),
            bytes(need),
            bytes(have)
        )
    })
}

fn measure(
    session: &Session,
    module: &Module,
    args: &BenchArgs,
    point: Point,
) -> Result<Vec<Row>, Vec<Diagnostic>> {
    let names = Names::of(module).map_err(|fault| vec![fault])?;
    let spec = Spec {
        batch: None,
        lens: Lens::List(lengths(point.set)),
        q_heads: HEADS.0,
        kv_heads: HEADS.1,
        dim: DIM,
        page: PAGE,
        dtype: point.dtype,
        layout: Some(point.layout),
    };
    session.terminal.progress(&format!("making up {}", describe(point.set)));
    let arrays = generate(&spec, args.seed, point.layout, &names).map_err(|fault| vec![fault])?;
    let loaded = Loaded { module: module.clone(), arrays };
    let kv: Vec<&[u8]> =
        ["k", "v"].iter().map(|f| loaded.arrays[&format!("{}.{f}", names.kv)].bytes()).collect();
    let data = DataSummary::of(module, &loaded.arrays, point.layout).unwrap_or_default();
    let mut rows = Vec::new();
    for &threads in &args.threads {
        let ceiling = read_rate(&kv, threads, CEILING_REPEATS);
        let mut options = options(&args.launch, threads, session.interrupt.flag());
        options.layout = point.layout;
        let check = args.check && rows.is_empty();
        let times = session.interrupt.while_running(|| time(&loaded, &options, args.repeats, check))?;
        let row = Row {
            set: point.set,
            dtype: point.dtype.name(),
            layout: point.layout.name(),
            threads,
            kv_bytes: data.kv_bytes,
            ms: times.median,
            best_ms: times.best,
            first_task_ms: times.first_task,
            ceiling,
            error: times.error,
        };
        let line = print(&[row]);
        session.terminal.print(line.split_once('\n').map_or("", |(_, line)| line));
        rows.push(row);
    }
    Ok(rows)
}

/// Milliseconds of several runs.
struct Times {
    median: f64,
    best: f64,
    first_task: f64,
    error: Option<f64>,
}

fn time(loaded: &Loaded, options: &Options, repeats: u32, check: bool) -> Result<Times, Vec<Diagnostic>> {
    let first = engine::execute(loaded, options)?;
    let error = if check { Some(largest_error(loaded, &first, options.layout)?) } else { None };
    let (mut runs, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        let stats = engine::execute(loaded, options)?.stats;
        runs.push(ms(stats.run));
        starts.push(ms(stats.first_task));
    }
    runs.sort_by(f64::total_cmp);
    starts.sort_by(f64::total_cmp);
    Ok(Times { median: runs[runs.len() / 2], best: runs[0], first_task: starts[starts.len() / 2], error })
}

fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// The largest error as a multiple of what is allowed; an error when that is above 1.
fn largest_error(
    loaded: &Loaded,
    outcome: &engine::RunOutcome,
    layout: Layout,
) -> Result<f64, Vec<Diagnostic>> {
    let checks = compare(loaded, outcome, layout)?;
    let faults: Vec<Diagnostic> = checks.iter().filter_map(|c| c.diagnostic()).collect();
    if checks.is_empty() {
        return Err(vec![Diagnostic::error(
            codes::NOTHING_TO_CHECK,
            "there is no reference to check the outputs with",
        )]);
    }
    if faults.is_empty() { Ok(checks.iter().map(|c| c.max_ratio).fold(0.0, f64::max)) } else { Err(faults) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_a_holds_a_quarter_of_a_gigabyte() {
        let point = Point { set: SetName::A, dtype: DType::F16, layout: Layout::Nhd };
        assert_eq!(kv_bytes(point), (4096 + 16) * 16 * 8 * 128 * 2 * 2);
    }
}
