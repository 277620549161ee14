//! Programs as designs.
//!
//! 1. `trace`: the tasks of a launch with the boxes that they read and write, by the [bodies](crate::kernel) of their kernels.
//! 2. `assign`: cores for tasks: one for each process of a pipeline, or as many as groups of tasks without data between them can be dealt to.
//! 3. `flow`: boxes that pass between cores and the host become objects of fifos, all others buffers.
//! 4. `program`: what a core runs, in all launches that a design is for; `lines`: as loops, with numbers that the host writes; `emit`: as operations.
//! 5. `host`: fifos at the host, by way of memory tiles where shim tiles have too few channels, and transfers, whose `fields` hold boxes. `sequence`: what starts them and waits for them.
//! 6. `part`: a launch of a design, `draft`: all of them, which `build` makes of it. `array`: tiles and ways of streams. `range`: sequences of several lengths as one that takes the length, which `series` writes, and `holds` compares with all lengths.

mod array;
mod assign;
mod build;
mod deep;
mod depths;
mod draft;
mod emit;
#[doc(hidden)]
pub mod fields;
mod flow;
mod holds;
mod host;
#[doc(hidden)]
pub mod lines;
mod memory;
mod order;
mod part;
mod processes;
mod program;
mod range;
mod sequence;
mod series;
mod share;
mod sizes;
mod trace;
mod values;

pub use array::Placed;
pub(crate) use holds::Probe;
pub(crate) use processes::by_process;
pub use range::Range;
pub(crate) use range::{COMPARED, OF_LENGTH, RangeOf};
pub use trace::Listed;
pub(crate) use trace::has_room;
pub(crate) use values::{forms, values};

use crate::codes;
use crate::design::Design;
use crate::device::{Device, Tile};
use crate::mlir::Type;
use crate::stop;
use assign::Assigned;
use draft::Draft;
use part::Part;
use range::Listing;
use trace::Trace;
use wsp_backend::ArrayForm;
use wsp_core::DType;
use wsp_diag::{Diagnostic, Diagnostics, Span};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_plan::{LoweredPlan, ParamValue, PlanSource};

/// The kernels of a plan that has a form on an array.
///
/// # Errors
/// It has none.
pub(crate) fn kernels_of(source: &PlanSource) -> Result<&LoweredPlan, Diagnostic> {
    let (plan, _) = trace::parts(source)?;
    values::plain(plan)?;
    Ok(plan)
}

/// Placements that are tried.
const TRIED: usize = 4;

/// What of a program has no form on an array.
fn refused(message: String) -> Diagnostic {
    Diagnostic::error(codes::LOWERING, message)
}

/// The memory reference of an object, or of an array.
fn object(len: &[u64], dtype: DType) -> Type {
    Type::memref(len, element(dtype))
}

fn element(dtype: DType) -> Type {
    match dtype {
        DType::F32 => Type::F32,
        DType::F64 => Type::F64,
        DType::F16 => Type::F16,
        DType::Bf16 => Type::Bf16,
        _ => Type::Int(8 * dtype.size() as u32),
    }
}

/// An array of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostArray {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub dtype: DType,
    /// Extents, the outermost first.
    pub shape: Vec<u64>,
    /// Whether a sequence reads it.
    pub read: bool,
    /// Whether it writes it.
    pub written: bool,
}

/// A launch that a design is for.
#[derive(Debug)]
pub struct Launch {
    /// What tells it from others, as words behind the name of its sequence; empty for the only one.
    pub name: String,
    /// Its tasks.
    pub listed: Listed,
    /// Its arrays.
    pub arrays: Vec<ArrayForm>,
    /// Values of parameters.
    pub values: Vec<(String, ParamValue)>,
}

/// The sequence of a launch.
#[derive(Clone, Debug)]
pub struct Launched {
    /// Its name.
    pub sequence: String,
    /// Its arrays, in order.
    pub arrays: Vec<HostArray>,
    /// Tasks by kernel.
    pub tasks: Vec<(String, u64)>,
    /// The lengths that it takes as its last argument, a number.
    pub range: Option<Range>,
}

/// A program as a design.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The design.
    pub design: Design,
    /// Where its parts are.
    pub placed: Placed,
    /// Its sequences.
    pub launches: Vec<Launched>,
    /// Its cores are the processes of a pipeline.
    pub(crate) is_pipeline: bool,
    /// Where the tensors of its fifos are declared, by name.
    pub(crate) tensors: OrderedMap<String, Span>,
    /// Where a kernel of each core is written.
    pub(crate) kernels: OrderedMap<Tile, Span>,
    /// Lengths that are still to be listed, of a design for a range.
    pub(crate) open: OrderedSet<i64>,
}

/// Launches of a program as one design for an array, with a sequence for each.
///
/// What cores do is the same in all of them but for how often they repeat it and how large the last of equal tiles is: these are words of a buffer, which a sequence writes.
///
/// Parts are placed with so many steps each ([`place::STEPS`](crate::place::STEPS)).
///
/// # Errors
/// What of the program has no form on an array, with what to write; more than an array has.
pub fn lower(
    source: &PlanSource,
    launches: &[Launch],
    within: (Device, u32),
) -> Result<Lowered, Diagnostics> {
    lowered(source, (launches, None), within)
}

/// Launches of a program with these lengths, in order, as one design with a sequence for all lengths of a range; lengths to be launched beside them before it is known to be right
/// are [open](Lowered::open). Where none is, all other lengths are launched and compared.
///
/// # Errors
/// As [`lower`]; launches that differ in more than numbers that follow from the length.
pub(crate) fn lower_range(
    source: &PlanSource,
    launches: &[Launch],
    (range, lengths, probe): (&Range, &[i64], Probe<'_>),
    within: (Device, u32),
) -> Result<Lowered, Diagnostics> {
    lowered(source, (launches, Some((Listing { range, lengths }, probe))), within)
}

fn lowered(
    source: &PlanSource,
    (launches, ranged): (&[Launch], Option<(Listing<'_>, Probe<'_>)>),
    (device, steps): (Device, u32),
) -> Result<Lowered, Diagnostics> {
    let traces = traces(source, launches)?;
    let cores = device.tiles().filter(|tile| tile.row >= 2).count();
    let mut all: Vec<Vec<Assigned>> = traces.iter().map(|trace| assign::ways(trace, cores)).collect();
    let ways = std::mem::take(&mut all[0]);
    let (mut first, mut tried) = (None, 0);
    let listing = ranged.as_ref().map(|(listing, _)| *listing);
    for way in ways {
        stop::look()?;
        // What is to be one design has the same cores in each launch.
        let same = |ways: &Vec<Assigned>| ways.iter().find(|of| of.is_like(&way)).cloned();
        let Some(others) = all[1..].iter().map(same).collect::<Option<Vec<Assigned>>>() else { continue };
        let assigned = std::iter::once(way.clone()).chain(others);
        let mut made = Draft::new((launches, listing), traces.iter().zip(assigned).collect(), &device);
        // A placement takes up to a second; what is counted takes no time.
        tried += usize::from(made.is_ok());
        let done = match &mut made {
            Ok(draft) => draft.in_memory((device, steps)),
            Err(fault) => Err(fault.clone()),
        };
        match (done, made) {
            (Ok(lowered), Ok(draft)) => {
                if let Some((listing, probe)) = ranged.filter(|_| lowered.open.is_empty()) {
                    draft.holds((source, probe), (listing, &device))?;
                }
                return Ok(lowered);
            }
            (Err(fault), _) | (_, Err(fault)) => {
                first.get_or_insert(fault);
            }
        }
        if tried == TRIED {
            break;
        }
    }
    stop::look()?;
    Err(first
        .unwrap_or_else(|| {
            refused("the tasks of these launches can not be dealt to as many cores in each".to_owned())
                .help("emit a design for each of them, or give lengths that are multiples of a larger one")
        })
        .into())
}

/// The tasks of launches.
///
/// # Errors
/// A launch has none that an array takes: the first, or, where they go beyond extents, the one that needs the largest.
fn traces(source: &PlanSource, launches: &[Launch]) -> Result<Vec<Trace>, Diagnostics> {
    let mut traces: Vec<Trace> = Vec::new();
    let mut worst: Option<(u64, Diagnostics)> = None;
    for of in launches {
        let trace = match traces.last_mut() {
            Some(like) => {
                let whole = like.take_whole();
                Trace::like((like, whole), source, of)
            }
            None => Trace::new(source, &of.listed, &of.arrays, &of.values),
        };
        match trace {
            Ok(trace) => traces.push(trace),
            Err(found) => {
                let extent = found.0.iter().flat_map(|of| &of.figures).find(|of| of.0 == trace::EXTENT);
                match (extent.map(|of| of.1), &worst) {
                    (Some(need), Some((most, _))) if need <= *most => {}
                    (Some(need), _) => worst = Some((need, found)),
                    (None, Some(_)) => {}
                    (None, None) => return Err(found),
                }
            }
        }
    }
    worst.map_or(Ok(traces), |(_, found)| Err(found))
}

/// What a program writes so that fewer boxes are in flight, each of which takes a descriptor at both ends of its fifo and a place of its own in a core's program.
pub(crate) fn soon(is_pipeline: bool) -> &'static str {
    match is_pipeline {
        true => {
            "give the program sizes that its tiles divide, so that no process keeps a part of a box until the next round of a channel, or its channels fewer slots"
        }
        false => {
            "start the tasks that pass boxes to each other in one loop, as in `parallel for i in 0..n { first(at = i); second(at = i); }`, so that a core takes a box soon after it is made, or have \
                  kernels be processes of a pipeline"
        }
    }
}

/// A name as a word of MLIR.
fn word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
