//! `cargo xtask bench plan`: how long planning takes, and how even the plans are.

mod lens;
mod program;
mod table;

pub(crate) use lens::{Batch, embedded, of_folder};
pub(crate) use program::{CASES, Case};
pub(crate) use table::{heading, json, line, notes};

use program::{KV_HEADS, arrays, options};
use pto_wsp::backend::cpu::{Capacity, Plan, PlanDescriptor, Program};
use pto_wsp::{Advance, Growth};
use std::hint::black_box;
use wsp_diag::Diagnostic;
use wsp_kernel::Engine;
use wsp_plan::split::{Item, Policy, Work, balance, balance_of_shares};
use wsp_runtime::clock;

/// Runs of a generator after which it is surely compiled.
const WARM: u32 = 20;

/// Median and least of some times, in microseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Micros {
    pub(crate) median: f64,
    pub(crate) least: f64,
}

impl Micros {
    fn of(
        repeats: u32,
        mut run: impl FnMut() -> Result<(), Vec<Diagnostic>>,
    ) -> Result<Micros, Vec<Diagnostic>> {
        let mut times = Vec::with_capacity(repeats as usize);
        for _ in 0..repeats.max(1) {
            let started = clock::now();
            run()?;
            times.push(clock::nanos_since(started) as f64 / 1e3);
        }
        times.sort_by(f64::total_cmp);
        Ok(Micros { median: times[times.len() / 2], least: times[0] })
    }
}

/// Advances by one token.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Updates {
    pub(crate) micros: Micros,
    /// Of how many advances the words were changed in place.
    pub(crate) patched: u32,
    pub(crate) advances: u32,
}

/// What was measured of one batch.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    pub(crate) case: Case,
    pub(crate) batch: String,
    pub(crate) cores: u32,
    pub(crate) requests: usize,
    pub(crate) tokens_per_core: f64,
    pub(crate) descriptors: u64,
    /// Items that read tokens, or would if there were any.
    pub(crate) pieces: usize,
    pub(crate) workspace_bytes: u64,
    /// Lengths in, descriptors in the buffer.
    pub(crate) plan: Micros,
    /// The library function that cuts alike.
    pub(crate) library: Option<Micros>,
    pub(crate) balance: f64,
    pub(crate) updates: Updates,
}

/// Measures one batch.
///
/// # Errors
/// What is wrong with the program; a plan that is not what the library says.
pub(crate) fn measure(
    case: &Case,
    program: &Program,
    batch: &Batch,
    cores: u32,
    engine: Engine,
    repeats: u32,
) -> Result<Row, Vec<Diagnostic>> {
    let arrays = arrays(case, &batch.lengths).map_err(|fault| vec![fault])?;
    let mut plan = program.plan(&arrays, &options(engine), Capacity::Exact)?;
    let again = |plan: &mut Plan| plan.advance(Growth::To(&batch.lengths)).map(drop);
    Micros::of(WARM, || again(&mut plan))?;
    let work = Work { lengths: &batch.lengths, heads: KV_HEADS, cores };
    let library = match case.policy {
        Some(policy) => Some(Micros::of(repeats, || {
            black_box(work.items(black_box(policy)));
            Ok(())
        })?),
        None => None,
    };
    let micros = Micros::of(repeats, || again(&mut plan))?;
    let items = pieces(case, &plan);
    if let Some(policy) = case.policy {
        same_pieces(case, &batch.name, &items, work.items(policy))?;
    }
    Ok(Row {
        case: *case,
        batch: batch.name.clone(),
        cores,
        requests: batch.lengths.len(),
        tokens_per_core: work.elements() as f64 / f64::from(cores),
        descriptors: plan.need().descriptors,
        pieces: items.len(),
        workspace_bytes: plan.workspace_bytes(),
        plan: micros,
        library,
        balance: match case.policy {
            Some(Policy::Balanced(align)) => balance_of_shares(&work, &items, align),
            _ => balance(items, cores),
        },
        updates: updates(&mut plan, repeats)?,
    })
}

fn updates(plan: &mut Plan, repeats: u32) -> Result<Updates, Vec<Diagnostic>> {
    // The first advance finds out what follows.
    plan.advance(Growth::ByOne)?;
    let mut patched = 0;
    let micros = Micros::of(repeats, || {
        patched += u32::from(plan.advance(Growth::ByOne)? != Advance::Regenerated);
        Ok(())
    })?;
    Ok(Updates { micros, patched, advances: repeats.max(1) })
}

/// The tokens of each descriptor that reads some, in issue order.
fn pieces(case: &Case, plan: &Plan) -> Vec<Item> {
    let module = &plan.lowered().module;
    let field = |descriptor: wsp_core::StructId, name: &str| {
        module.structs[descriptor.index()].fields.iter().position(|field| field.name == name)
    };
    let [begin, end] = case.fields;
    let item = |d: PlanDescriptor<'_>| {
        let word = |name: &str| field(d.descriptor, name).map(|at| d.words[at]);
        Some(Item {
            request: word("batch_idx")?,
            head: word("head_idx")?,
            index: 0,
            count: 0,
            begin: word(begin)?,
            end: word(end)?,
        })
    };
    plan.descriptors().filter_map(item).collect()
}

/// The generator and the library cut alike, if not in the same order.
fn same_pieces(case: &Case, batch: &str, have: &[Item], want: Vec<Item>) -> Result<(), Vec<Diagnostic>> {
    let sorted = |items: &mut dyn Iterator<Item = Item>| {
        let mut all: Vec<[u32; 4]> =
            items.map(|item| [item.request, item.head, item.begin, item.end]).collect();
        all.sort_unstable();
        all
    };
    if sorted(&mut have.iter().copied()) == sorted(&mut want.into_iter()) {
        return Ok(());
    }
    let message = format!("schedule `{}` does not cut `{batch}` as `wsp_plan::split` does", case.name);
    Err(vec![Diagnostic::error(pto_wsp::codes::CHECK_FAILED, message)])
}
