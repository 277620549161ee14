//! `cargo xtask bench decode`: measures the decode attention program on fixed batches.

use super::decode_peers;
use crate::args::{BenchArgs, BenchType, SetName};
use crate::ceiling::read_time;
use crate::runtime::measure::{Span, median};
use crate::sets::{describe, lengths};
use crate::table::{Point, Row, doubt, json, print};
use pto_wsp::codes;
use serde_json::{Value, json};
use std::time::Duration;
use wsp_check::generate::{Lens, Names, Origin, Spec, generate};
use wsp_cli::args::Setting;
use wsp_cli::commands::{Outcome, Session, asked_layout, compare, launch_options, set_once, tried};
use wsp_cli::engine::{self, Loaded, Options, Purpose};
use wsp_cli::machine;
use wsp_cli::report::{DataSummary, bytes};
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_ir::Module;
use wsp_kernel::{Engine, Level, Mode};
use wsp_plan::{Array, Arrays};
use wsp_runtime::clock;

/// The program that is measured unless another is named.
const EXAMPLE: &str = include_str!("../../../examples/decode_attention.pto");
/// Heads and lanes of Llama-3-8B.
pub(super) const HEADS: (u32, u32) = (32, 8);
const DIM: u32 = 128;
const PAGE: u32 = 16;
/// Memory left to everything but keys and values.
const SPARE_BYTES: u64 = 256 << 20;

/// Measures, printing a line per measurement.
pub(super) fn decode(session: &mut Session, args: &BenchArgs) -> Result<Outcome, Vec<Diagnostic>> {
    if let Some(layout) = asked_layout(&args.launch) {
        let fault = Diagnostic::error(
            codes::NO_LAYOUT,
            "`kv_layout` says nothing here: every layout of `--layouts` is measured",
        );
        return Err(vec![fault.help(format!("write `--layouts {}`", layout.name().to_lowercase()))]);
    }
    set_once(args.launch.set.iter().map(Setting::name)).map_err(|fault| vec![fault])?;
    let output = tried(args.json.as_ref())?;
    let started = clock::now();
    let module = match &args.file {
        Some(path) => session.compile(path)?.module,
        None => session.compile_text("decode_attention.pto", EXAMPLE.to_owned(), Purpose::Program)?.module,
    };
    let source_ms = ms(Duration::from_nanos(clock::nanos_since(started)));
    if let Some(programs) = &args.peers {
        return decode_peers::decode(session, args, &module, programs, output);
    }
    session.terminal.print(&print(&[]));
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    for (set, dtype) in problems(args) {
        for layout in args.layouts.iter().copied() {
            let point = Point { set, dtype, layout };
            if let Some(reason) = too_large(point, kv_bytes(point)) {
                session.terminal.print(&format!("{reason}\n"));
                skipped.push(reason);
                continue;
            }
            rows.extend(measure(session, &module, args, point)?);
        }
    }
    session.terminal.print(&doubt(&rows));
    let slowest = rows.iter().map(|row| row.first_task_ms).fold(0.0, f64::max);
    let source_to_first_task_ms = source_ms + slowest;
    session.terminal.print(&format!(
        "source to first task: {source_to_first_task_ms:.2} ms (source to module {source_ms:.2}, launch to first task {slowest:.2} at most)\n"
    ));
    let mut all = setting(args);
    all["source_ms"] = json!(source_ms);
    all["source_to_first_task_ms"] = json!(source_to_first_task_ms);
    all["rows"] = json(&rows);
    all["skipped"] = json!(skipped);
    session.keep_stats(output, &all)
}

/// Sets and element types that are asked for.
pub(super) fn problems(args: &BenchArgs) -> Vec<(SetName, DType)> {
    let dtype = |name: &BenchType| if *name == BenchType::F16 { DType::F16 } else { DType::Bf16 };
    let dtypes = || args.dtypes.iter().map(dtype);
    args.sets.iter().flat_map(|&set| dtypes().map(move |dtype| (set, dtype))).collect()
}

/// What the figures depend on, for machines.
pub(super) fn setting(args: &BenchArgs) -> Value {
    let isa = match args.launch.isa.unwrap_or_default() {
        Mode::Plain => "plain",
        Mode::Fast => Level::detect().name(),
        Mode::At(level) => level.name(),
    };
    let native = match args.launch.engine.unwrap_or_default() {
        Engine::Auto => Engine::Native.is_available(),
        engine => engine == Engine::Native,
    };
    json!({
        "machine": {
            "processor": machine::processor(), "cores": wsp_check::cores(), "simd": machine::simd_level(),
        },
        "isa": isa,
        "engine": if native { "native" } else { "interpreter" },
        "schedule": args.launch.schedule,
        "clock": args.clock.name(),
        "optimised": !cfg!(debug_assertions),
        "repeats": args.repeats,
    })
}

/// Bytes of keys and values, with what pages round up.
pub(super) fn kv_bytes(point: Point) -> u64 {
    let pages: u64 = lengths(point.set).iter().map(|n| u64::from(n.div_ceil(PAGE)) + 1).sum();
    pages * u64::from(PAGE) * u64::from(HEADS.1) * u64::from(DIM) * 2 * point.dtype.size() as u64
}

/// Why a point that takes so many bytes cannot be measured here.
pub(super) fn too_large(point: Point, takes: u64) -> Option<String> {
    let need = takes + SPARE_BYTES;
    let have = wsp_check::available_memory()?;
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

/// Arrays of a point, under the names that the program has for them.
pub(super) fn arrays(
    session: &Session,
    names: &Names,
    args: &BenchArgs,
    point: Point,
) -> Result<Arrays, Vec<Diagnostic>> {
    let spec = Spec {
        batch: None,
        lens: Lens::List(lengths(point.set)),
        q_heads: HEADS.0,
        kv_heads: HEADS.1,
        dim: DIM,
        page: PAGE,
        dtype: point.dtype,
        layout: Some(point.layout),
        // Libraries that are compared with may round logits to less than f32.
        steep: false,
        ..Spec::default()
    };
    session.terminal.progress(&format!("making up {}", describe(point.set)));
    generate(&spec, Origin::of(args.seed), point.layout, names).map_err(|fault| vec![fault])
}

/// A mere read of the keys and values of a program's arrays by as many threads, page by page what tokens take of them.
pub(super) struct Floor<'a> {
    kv: Vec<&'a [u8]>,
    /// Bytes that are read for one that counts.
    padding: f64,
    threads: u32,
}

impl<'a> Floor<'a> {
    /// Of arrays in which tokens take `kv_bytes`.
    pub(super) fn new(arrays: &'a Arrays, names: &Names, kv_bytes: u64, threads: u32) -> Floor<'a> {
        // Where values are part of their keys there is no array of values.
        let side = |f: &&str| arrays.get(&format!("{}.{f}", names.kv));
        let kv: Vec<&[u8]> = ["k", "v"].iter().filter_map(side).map(Array::bytes).collect();
        let total: usize = kv.iter().map(|part| part.len()).sum();
        Floor { kv, padding: total as f64 / kv_bytes.max(1) as f64, threads }
    }

    /// What it takes now.
    fn read(&self) -> Span {
        read_time(&self.kv, self.threads, 1).over(self.padding)
    }
}

fn measure(
    session: &Session,
    module: &Module,
    args: &BenchArgs,
    point: Point,
) -> Result<Vec<Row>, Vec<Diagnostic>> {
    let names = Names::of(module).map_err(|fault| vec![fault])?;
    let loaded = Loaded { module: module.clone(), arrays: arrays(session, &names, args, point)? };
    let data = DataSummary::of(module, &loaded.arrays, point.layout).unwrap_or_default();
    let mut rows = Vec::new();
    for &threads in &args.threads {
        let floor = Floor::new(&loaded.arrays, &names, data.kv_bytes, threads);
        let mut options = launch_options(&args.launch, threads);
        options.layout = point.layout;
        let check = args.check && rows.is_empty();
        let (times, error) = time(&loaded, &options, &floor, args.repeats, check)?;
        let row = times.row(point, threads, data.kv_bytes, args);
        let row = Row { error, ..row };
        let line = print(&[row]);
        session.terminal.print(line.split_once('\n').map_or("", |(_, line)| line));
        rows.push(row);
    }
    Ok(rows)
}

/// Runs of a program, each after a mere read of the same data: a machine that is faster now and slower then is so for both.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    floors: Vec<Span>,
    runs: Vec<Span>,
    first_tasks: Vec<f64>,
}

impl Runs {
    /// Reads and runs once more.
    pub(super) fn again(
        &mut self,
        loaded: &Loaded,
        options: &Options,
        floor: &Floor<'_>,
    ) -> Result<(), Vec<Diagnostic>> {
        self.floors.push(floor.read());
        let stats = engine::execute(loaded, options)?.stats;
        let nanos = |time: Duration| time.as_nanos() as f64;
        self.runs.push(Span { wall: nanos(stats.run), cpu: nanos(stats.run_computed) });
        self.first_tasks.push(ms(stats.first_task));
        Ok(())
    }

    /// What they come to.
    pub(super) fn row(&self, point: Point, threads: u32, kv_bytes: u64, args: &BenchArgs) -> Row {
        let least = |of: fn(&Span) -> f64| self.runs.iter().map(of).fold(f64::INFINITY, f64::min);
        let ratio =
            |(run, floor): (&Span, &Span)| Span { wall: run.wall / floor.wall, cpu: run.cpu / floor.cpu };
        let ratios: Vec<Span> = self.runs.iter().zip(&self.floors).map(ratio).collect();
        Row {
            point,
            threads,
            kv_bytes,
            run: Span::median(&self.runs),
            best: Span { wall: least(|s| s.wall), cpu: least(|s| s.cpu) },
            first_task_ms: median(self.first_tasks.clone()),
            floor: Span::median(&self.floors),
            ratios: Span::median(&ratios),
            clock: args.clock,
            error: None,
        }
    }
}

fn time(
    loaded: &Loaded,
    options: &Options,
    floor: &Floor<'_>,
    repeats: u32,
    check: bool,
) -> Result<(Runs, Option<f64>), Vec<Diagnostic>> {
    let first = engine::execute(loaded, options)?;
    let error = if check { Some(largest_error(loaded, &first, options)?) } else { None };
    let mut runs = Runs::default();
    for _ in 0..repeats {
        runs.again(loaded, options, floor)?;
    }
    Ok((runs, error))
}

fn ms(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// The largest error as a multiple of what is allowed; an error when that is above 1.
pub(super) fn largest_error(
    loaded: &Loaded,
    outcome: &engine::RunOutcome,
    options: &Options,
) -> Result<f64, Vec<Diagnostic>> {
    let checks = compare(loaded, outcome, options)?;
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
    use wsp_backend::KvLayout;

    #[test]
    fn set_a_holds_a_quarter_of_a_gigabyte() {
        let point = Point { set: SetName::A, dtype: DType::F16, layout: KvLayout::Nhd };
        assert_eq!(kv_bytes(point), (4096 + 16) * 16 * 8 * 128 * 2 * 2);
    }
}
