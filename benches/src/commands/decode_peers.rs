//! `cargo xtask bench decode --peers`: ours and other libraries in turn on the same arrays.

use super::decode::{Floor, HEADS, Runs, arrays, kv_bytes, largest_error, problems, setting, too_large};
use crate::args::{BenchArgs, SetName};
use crate::peers::{
    Bound, Compared, Fault, Place, Problem, Team, WRONG, Workspace, heading, install, json, line, notes,
};
use crate::sets::lengths;
use crate::table::Point;
use pto_wsp::codes;
use serde_json::json;
use std::path::Path;
use wsp_backend::KvLayout;
use wsp_check::generate::Names;
use wsp_check::reference::{Attention, Cache, Features, PAGED_DECODE_ATTENTION, role};
use wsp_check::to_u32;
use wsp_cli::commands::{Outcome, Session, launch_options};
use wsp_cli::engine::{self, Loaded, Options, RunOutcome};
use wsp_cli::files::Output;
use wsp_core::DType;
use wsp_diag::Diagnostic;
use wsp_ir::Module;
use wsp_plan::{Array, Arrays, ParamValue};

/// What peers hold beside ours: dense copies in their own orders and types, f32 among them.
const PEER_COPIES: u64 = 14;

/// One problem: the same numbers in each layout that is asked for, and what f64 makes of them.
struct Case {
    set: SetName,
    dtype: DType,
    loaded: Vec<(KvLayout, Loaded)>,
    names: Names,
    output: String,
    scale: f64,
    expected: Vec<f64>,
    /// Where the peers find it.
    workspace: Workspace,
}

/// What ours has come to in one layout.
struct Ours<'a> {
    options: Options,
    error: f64,
    floor: Floor<'a>,
    runs: Runs,
}

/// Measures, printing a line per measurement.
pub(super) fn decode(
    session: &mut Session,
    args: &BenchArgs,
    module: &Module,
    programs: &Path,
    output: Option<Output>,
) -> Result<Outcome, Vec<Diagnostic>> {
    let place =
        Place::new(programs).map_err(|what| {
            let fault = Diagnostic::error(codes::FILE_MISSING, what);
            vec![fault.help(
                "start it in the project's root, or write `--peers=DIR` with its `benches/peers/decode`",
            )]
        })?;
    if args.install {
        install(&place).map_err(|what| {
            let fault = Diagnostic::error(codes::PEER_FAILED, what);
            vec![fault.help("leave out `--install` to measure with those that are there")]
        })?;
    }
    if cfg!(debug_assertions) {
        session.terminal.print("this build of wsp is not optimised: its numbers say nothing about speed\n");
    }
    session.terminal.print(&format!(
        "medians of {} rounds in which all are measured in turn, by the {} clock; (Nx): times ours; error: the largest\n{}",
        args.repeats,
        args.clock.name(),
        heading()
    ));
    let found = measure(session, args, module, &place)?;
    session.terminal.print(&notes(&found.rows, &found.missing));
    let mut all = setting(args);
    all["rows"] = json(&found.rows);
    all["missing"] = json!(found.missing);
    all["skipped"] = json!(found.skipped);
    session.keep_stats(output, &all)
}

/// What was measured, and what was not.
#[derive(Default)]
struct Found {
    rows: Vec<Compared>,
    /// Peers that are left out, and why.
    missing: Vec<String>,
    /// Batches that are left out, and why.
    skipped: Vec<String>,
}

fn measure(
    session: &Session,
    args: &BenchArgs,
    module: &Module,
    place: &Place,
) -> Result<Found, Vec<Diagnostic>> {
    let mut found = Found::default();
    for (set, dtype) in problems(args) {
        let point = Point { set, dtype, layout: args.layouts[0] };
        let takes = kv_bytes(point) * (PEER_COPIES + args.layouts.len() as u64);
        if let Some(reason) = too_large(point, takes) {
            session.terminal.print(&format!("{reason}\n"));
            found.skipped.push(reason);
            continue;
        }
        let case = Case::new(session, args, module, set, dtype)?;
        for &threads in &args.threads {
            let (rows, missing) = case.compare(session, args, place, threads)?;
            for row in &rows {
                session.terminal.print(&line(row));
            }
            found.rows.extend(rows);
            found.missing = missing;
        }
    }
    Ok(found)
}

impl Case {
    fn new(
        session: &Session,
        args: &BenchArgs,
        module: &Module,
        set: SetName,
        dtype: DType,
    ) -> Result<Case, Vec<Diagnostic>> {
        let names = Names::of(module).map_err(|fault| vec![fault])?;
        let reference = module.references.iter().find(|r| r.name == PAGED_DECODE_ATTENTION);
        let reference =
            reference.ok_or_else(|| vec![something_else("it has no such reference".to_owned())])?;
        let output = role(reference, "output").map_err(|fault| vec![fault])?.to_owned();
        let mut loaded = Vec::new();
        for layout in args.layouts.iter().copied() {
            let arrays = arrays(session, &names, args, Point { set, dtype, layout })?;
            loaded.push((layout, Loaded { module: module.clone(), arrays }));
        }
        let (layout, first) = &loaded[0];
        // Only the program knows what it scales by.
        let mut once = launch_options(&args.launch, wsp_check::cores());
        once.layout = *layout;
        let outcome = engine::execute(first, &once)?;
        largest_error(first, &outcome, &once)?;
        let named = role(reference, "sm_scale").ok();
        let scale = named.and_then(|name| real_param(&outcome, name));
        session.terminal.progress("computing the reference");
        let expected = expected(&first.arrays, &names, *layout, scale).map_err(|fault| vec![fault])?;
        let dim = first.arrays[&names.q].shape().last().copied().unwrap_or(1);
        let scale = scale.unwrap_or(1.0 / (dim as f64).sqrt());
        let workspace =
            Workspace::new().map_err(|what| vec![Diagnostic::error(codes::CANNOT_WRITE, what)])?;
        let case = Case { set, dtype, loaded, names, output, scale, expected, workspace };
        let error = case.error(&outcome);
        if error > WRONG || error.is_nan() {
            return Err(vec![something_else(format!("its largest error against that is {error:.0e}"))]);
        }
        case.workspace.write(&case.problem()).map_err(|fault| vec![fault])?;
        Ok(case)
    }

    /// Measures ours in every layout and all peers in turn; also says which peers are left out.
    fn compare(
        &self,
        session: &Session,
        args: &BenchArgs,
        place: &Place,
        threads: u32,
    ) -> Result<(Vec<Compared>, Vec<String>), Vec<Diagnostic>> {
        let bound = Bound::to_first(threads);
        session.terminal.progress("starting the peers");
        let mut team = Team::start(place, self.workspace.path(), threads).map_err(peer_fault)?;
        let kv_bytes = lengths(self.set).iter().map(|&n| u64::from(n)).sum::<u64>() * self.bytes_per_token();
        let mut ours = Vec::new();
        for (layout, loaded) in &self.loaded {
            let mut options = launch_options(&args.launch, threads);
            options.layout = *layout;
            let warm = engine::execute(loaded, &options)?;
            let floor = Floor::new(&loaded.arrays, &self.names, kv_bytes, threads);
            ours.push(Ours { options, error: self.error(&warm), floor, runs: Runs::default() });
        }
        for _ in 0..args.repeats {
            for (mine, (_, loaded)) in ours.iter_mut().zip(&self.loaded) {
                mine.runs.again(loaded, &mine.options, &mine.floor)?;
            }
            team.round().map_err(peer_fault)?;
        }
        let peers = team.results();
        let mut rows = Vec::new();
        for (mine, (layout, _)) in ours.iter().zip(&self.loaded) {
            let point = Point { set: self.set, dtype: self.dtype, layout: *layout };
            let row = mine.runs.row(point, threads, kv_bytes, args);
            rows.push(Compared { row, error: mine.error, peers: peers.clone() });
        }
        drop(bound);
        Ok((rows, team.missing))
    }

    fn problem(&self) -> Problem<'_> {
        let (layout, loaded) = &self.loaded[0];
        let cache = |field: &str| &loaded.arrays[&format!("{}.{field}", self.names.kv)];
        Problem {
            q: &loaded.arrays[&self.names.q],
            k: cache("k"),
            v: cache("v"),
            indptr: cache("indptr"),
            indices: cache("indices"),
            lengths: lengths(self.set),
            scale: self.scale,
            layout: *layout,
            kv_heads: HEADS.1,
            expected: &self.expected,
        }
    }

    fn bytes_per_token(&self) -> u64 {
        let q = &self.loaded[0].1.arrays[&self.names.q];
        let dim = q.shape().last().copied().unwrap_or(1);
        2 * u64::from(HEADS.1) * dim * q.dtype().size() as u64
    }

    /// The largest error of our output, relative to the larger of 1 and the value.
    fn error(&self, outcome: &RunOutcome) -> f64 {
        let have = outcome.outputs[&self.output].as_slice::<f32>().unwrap_or(&[]);
        let off = |(have, want): (&f32, &f64)| (f64::from(*have) - want).abs() / want.abs().max(1.0);
        let errors = have.iter().zip(&self.expected).map(off);
        errors.fold(if have.is_empty() { f64::NAN } else { 0.0 }, f64::max)
    }
}

/// The program cannot be set beside the peers.
fn something_else(why: String) -> Diagnostic {
    let what = format!("the peers compute plain `{PAGED_DECODE_ATTENTION}`, and this program something else");
    Diagnostic::error(codes::CANNOT_COMPARE, what).note(why).help("leave out `--peers`")
}

/// The value of a parameter of a run.
fn real_param(outcome: &RunOutcome, name: &str) -> Option<f64> {
    outcome.params.iter().find(|(n, _)| n == name).and_then(|(_, value)| match value {
        ParamValue::Float(x) => Some(*x),
        ParamValue::Int(_) | ParamValue::Bool(_) => None,
    })
}

/// Outputs in f64.
fn expected(
    arrays: &Arrays,
    names: &Names,
    layout: KvLayout,
    sm_scale: Option<f64>,
) -> Result<Vec<f64>, Diagnostic> {
    let cache = |field: &str| -> &Array { &arrays[&format!("{}.{field}", names.kv)] };
    let table = |field: &str| to_u32(field, cache(field));
    let (indptr, indices, last_page_len) = (table("indptr")?, table("indices")?, table("last_page_len")?);
    let q = &arrays[&names.q];
    let cache = Cache {
        k: cache("k"),
        v: Some(cache("v")),
        indptr: &indptr,
        indices: &indices,
        last_page_len: &last_page_len,
        layout,
    };
    let out_lanes = q.shape().last().copied().unwrap_or(1) as usize;
    let features = Features::default();
    let problem = Attention { q, q_indptr: None, cache, prefix: None, out_lanes, sm_scale, features };
    let dense = problem.dense(wsp_check::cores() as usize).map_err(|why| {
        Diagnostic::error(codes::CANNOT_COMPARE, "the reference cannot be computed from these arrays")
            .note(why)
    })?;
    Ok(dense.o)
}

/// A peer's fault as diagnostics.
fn peer_fault(Fault { what, said }: Fault) -> Vec<Diagnostic> {
    let fault = Diagnostic::error(codes::PEER_FAILED, what);
    vec![if said.is_empty() { fault } else { fault.note(said) }]
}
