//! Programs as designs.
//!
//! 1. `trace`: the tasks of a launch with the boxes that they read and write, by the [bodies](crate::kernel) of their kernels.
//! 2. `assign`: cores for tasks: one for each process of a pipeline, or as many as groups of tasks without data between them can be dealt to.
//! 3. `flow`: boxes that pass between cores and the host become objects of fifos, all others buffers.
//! 4. `program`: what a core runs, in all launches that a design is for; `lines`: as loops, with numbers that the host writes; `emit`: as operations.
//! 5. `host`: fifos at the host, by way of memory tiles where shim tiles have too few channels, and transfers. `sequence`: what starts them and waits for them.
//! 6. `array`: tiles and ways of streams. `range`: sequences of several lengths as one that takes the length, which `series` writes, and `holds` compares with all lengths.

mod array;
mod assign;
mod depths;
mod emit;
mod flow;
mod holds;
mod host;
mod lines;
mod order;
mod processes;
mod program;
mod range;
mod sequence;
mod series;
mod share;
mod trace;
mod values;

pub use array::Placed;
pub(crate) use holds::Probe;
pub(crate) use processes::by_process;
pub use range::Range;
pub use trace::Listed;
pub(crate) use values::{forms, values};

use crate::codes;
use crate::design::{Design, Fifo, Link, Sequence};
use crate::device::{Device, Tile};
use crate::mlir::{Type, Value};
use assign::Assigned;
use emit::{Emitter, words_of};
use flow::{End, Flows};
use host::{Fed, HostEnd};
use program::{Bodies, Program};
use range::{Fitted, Listing};
use trace::Trace;
use wsp_backend::ArrayForm;
use wsp_core::DType;
use wsp_diag::{Diagnostic, Diagnostics};
use wsp_ordered::{OrderedMap, OrderedSet};
use wsp_plan::{LoweredPlan, ParamValue, PlanSource};

/// The kernels of a plan that has a form on an array.
///
/// # Errors
/// It has none.
pub(crate) fn kernels_of(source: &PlanSource) -> Result<&LoweredPlan, Diagnostic> {
    trace::parts(source).map(|(plan, _)| plan)
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
    let traces = launches
        .iter()
        .map(|of| Trace::new(source, &of.listed, &of.arrays, &of.values))
        .collect::<Result<Vec<Trace>, _>>()?;
    let cores = device.tiles().filter(|tile| tile.row >= 2).count();
    let mut all: Vec<Vec<Assigned>> = traces.iter().map(|trace| assign::ways(trace, cores)).collect();
    let ways = std::mem::take(&mut all[0]);
    let (mut first, mut tried) = (None, 0);
    let listing = ranged.as_ref().map(|(listing, _)| *listing);
    for way in ways {
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
            (Ok(lowered), Ok(mut draft)) => {
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
    Err(first
        .unwrap_or_else(|| {
            refused("the tasks of these launches can not be dealt to as many cores in each".to_owned())
                .help("emit a design for each of them, or give lengths that are multiples of a larger one")
        })
        .into())
}

/// One launch of a design.
struct Part<'a> {
    trace: &'a Trace,
    assigned: Assigned,
    flows: Flows,
}

/// Tasks on cores, and what flows.
struct Draft<'a> {
    launches: &'a [Launch],
    listing: Option<Listing<'a>>,
    parts: Vec<Part<'a>>,
    programs: Vec<Program>,
    bodies: Bodies,
    ends: Vec<HostEnd>,
    /// Of a range.
    fitted: Option<Fitted>,
    /// How deep fifos between cores are to be that need it; 0 where none is known to.
    deep: u32,
}

impl<'a> Draft<'a> {
    fn new(
        (launches, listing): (&'a [Launch], Option<Listing<'a>>),
        given: Vec<(&'a Trace, Assigned)>,
        device: &Device,
    ) -> Result<Draft<'a>, Diagnostic> {
        let mut parts = Vec::new();
        let mut ends: Vec<HostEnd> = Vec::new();
        for (trace, assigned) in given {
            order::keeps_order(trace, &assigned)?;
            let flows = flow::flows(trace, &assigned)?;
            let own = host::ends(&flows, device)?;
            let part = Part { trace, assigned, flows };
            let at = parts.len();
            match parts.first_mut() {
                None => ends = own,
                Some(first) => part.joins(first, own == ends, &launches[at].name)?,
            }
            parts.push(part);
        }
        let (mut bodies, mut programs) = (Bodies::default(), Vec::new());
        for core in 0..parts[0].assigned.names.len() {
            programs.push(Program::new(&parts, (core, &mut bodies))?);
        }
        let fitted = listing.map(|listing| listing.fit((&parts, &ends), &programs)).transpose()?;
        Ok(Draft { launches, listing, parts, programs, bodies, ends, fitted, deep: 0 })
    }

    /// A design, where tiles have too little memory with fifos that are only as deep as they must be.
    fn in_memory(&mut self, within: (Device, u32)) -> Result<Lowered, Diagnostic> {
        let fault = match self.design(within) {
            Err(fault) if fault.code == codes::CAPACITY => fault,
            done => return done.map(|lowered| self.alive(lowered, within)),
        };
        let streams = &mut self.parts[0].flows.streams;
        let is_deeper = streams.iter().any(|of| of.depth > of.held);
        streams.iter_mut().for_each(|of| of.depth = of.held);
        if !is_deeper {
            return Err(fault);
        }
        let lowered = self.design(within).map_err(|_| fault)?;
        Ok(self.alive(lowered, within))
    }

    fn design(&self, (device, steps): (Device, u32)) -> Result<Lowered, Diagnostic> {
        let Part { trace, assigned, flows } = &self.parts[0];
        let placed = array::place(trace, assigned, (flows, self.deep), &self.ends, (device, steps))?;
        let mut design = Design::new("main", device);
        let fifos = self.fifos(&placed, &mut design);
        for (core, program) in self.programs.iter().enumerate() {
            let (bodies, fifos) = (&self.bodies, &fifos.at_core);
            let mut emitter = Emitter { trace, flows, bodies, design: &mut design, fifos };
            emitter.core(program, placed.cores[core], &assigned.names[core]);
        }
        let mut launches = Vec::new();
        let mut open = OrderedSet::new();
        match self.listing.zip(self.fitted.as_ref()) {
            Some((listing, fitted)) => {
                launches.push(self.ranged((listing.range, fitted), (&placed, &fifos), &mut design)?);
                open.clone_from(&fitted.open);
            }
            None => {
                for at in 0..self.parts.len() {
                    launches.push(self.sequence(at, (&placed, &fifos), &mut design)?);
                }
            }
        }
        array::route(&design)?;
        Ok(Lowered { design, placed, launches, open })
    }

    /// Adds the sequence of a launch.
    fn sequence(
        &self,
        at: usize,
        (placed, fifos): (&Placed, &FifoNames),
        design: &mut Design,
    ) -> Result<Launched, Diagnostic> {
        let Part { trace, assigned, flows } = &self.parts[at];
        let suffix = |name: &str| match self.launches[at].name.as_str() {
            "" => name.to_owned(),
            of => format!("{name}_{}", word(of)),
        };
        let (values, arrays) = self.arrays(&self.parts[at], &suffix, design);
        let fed = self.fed((placed, fifos), &values);
        let mut body = Vec::new();
        for (program, name) in self.programs.iter().zip(&assigned.names) {
            let words = program.words(at).zip(0..);
            body.extend(words.map(|(value, index)| host::parameter(&words_of(name), index, value)));
        }
        body.extend(sequence::sequence(trace, flows, (&self.ends, &fed))?);
        let args = values.iter().map(|(_, value)| *value).collect();
        let name = suffix("sequence");
        design.sequences.push(Sequence {
            name: name.clone(),
            args,
            lengths: None,
            body,
            span: Default::default(),
        });
        Ok(Launched { sequence: name, arrays, tasks: tasks(trace), range: None })
    }

    fn fed<'f>(
        &'f self,
        (placed, fifos): (&Placed, &'f FifoNames),
        arrays: &'f OrderedMap<usize, Value>,
    ) -> Vec<Fed<'f>> {
        let ends = self.ends.iter().zip(&fifos.at_host).zip(&placed.hosts);
        ends.map(|((end, name), tile)| Fed { end, name, shim: tile.col, arrays }).collect()
    }

    /// Adds the sequence for a range of lengths.
    fn ranged(
        &self,
        (range, fitted): (&Range, &Fitted),
        (placed, fifos): (&Placed, &FifoNames),
        design: &mut Design,
    ) -> Result<Launched, Diagnostic> {
        let (values, arrays) = self.arrays(&self.parts[0], &str::to_owned, design);
        let fed = self.fed((placed, fifos), &values);
        let buffers: Vec<String> = self.parts[0].assigned.names.iter().map(|name| words_of(name)).collect();
        let (body, length) = series::sequence((range, fitted), &fed, &buffers, &mut design.module)?;
        let args = values.iter().map(|(_, value)| *value).chain([length]).collect();
        let name = "sequence".to_owned();
        design.sequences.push(Sequence {
            name: name.clone(),
            args,
            lengths: Some((range.from, range.to)),
            body,
            span: Default::default(),
        });
        let range = Some(range.clone());
        Ok(Launched { sequence: name, arrays, tasks: tasks(self.parts[0].trace), range })
    }

    /// The arrays of the sequence of a launch, by tensor.
    fn arrays(
        &self,
        Part { trace, flows, .. }: &Part<'_>,
        suffix: &dyn Fn(&str) -> String,
        design: &mut Design,
    ) -> (OrderedMap<usize, Value>, Vec<HostArray>) {
        let mut used: OrderedMap<usize, [bool; 2]> = OrderedMap::new();
        for end in &self.ends {
            let of = &flows.streams[end.streams[0]];
            for at in 0..of.boxes.len() {
                used.entry(of.tensor_of(at)).or_default()[usize::from(end.into)] = true;
            }
        }
        let (mut values, mut arrays) = (OrderedMap::new(), Vec::new());
        for (tensor, [read, written]) in used {
            let of = &trace.tensors[tensor];
            let ty = object(&[of.dims.iter().product()], of.dtype);
            // The name of the program, where it is not that of another value of the design.
            let name = suffix(&word(&of.name));
            let is_taken = design.module.values.iter().any(|value| value.name == name)
                || self.listing.is_some_and(|listing| word(&listing.range.name) == name)
                || name.strip_prefix('v').is_some_and(|rest| rest.bytes().all(|c| c.is_ascii_digit()));
            let name = if is_taken { format!("array_{name}") } else { name };
            values.insert(tensor, design.module.value(name, ty));
            arrays.push(HostArray {
                name: of.name.clone(),
                dtype: of.dtype,
                shape: of.dims.clone(),
                read,
                written,
            });
        }
        (values, arrays)
    }

    /// Adds the fifos, and links on memory tiles.
    fn fifos(&self, placed: &Placed, design: &mut Design) -> FifoNames {
        let Part { trace, flows, .. } = &self.parts[0];
        let mut names = FifoNames::default();
        let mut memory_of: OrderedMap<usize, Tile> = OrderedMap::new();
        let mut host_of: OrderedMap<usize, Tile> = OrderedMap::new();
        for (end, (host, memory)) in self.ends.iter().zip(placed.hosts.iter().zip(&placed.memories)) {
            for stream in &end.streams {
                match memory {
                    Some(memory) => memory_of.insert(*stream, *memory),
                    None => host_of.insert(*stream, *host),
                };
            }
        }
        let mut own: OrderedMap<usize, String> = OrderedMap::new();
        for (at, stream) in flows.streams.iter().enumerate() {
            let tensor = &trace.tensors[stream.tensor];
            let tile = |end: &End| match end {
                End::Core(core) => placed.cores[*core],
                End::Host => memory_of.get(&at).or(host_of.get(&at)).copied().unwrap_or(Tile::new(0, 0)),
            };
            let name = format!("{}_{at}", word(&tensor.name));
            let to: Vec<Tile> = stream.to.iter().map(tile).collect();
            let ty = object(&stream.boxes[0].len, tensor.dtype);
            let mut fifo = Fifo::new(name.clone(), tile(&stream.from), &to, stream.depth, ty);
            fifo.depths = stream.depths(self.deep);
            design.fifos.push(fifo);
            for end in [&stream.from].into_iter().chain(&stream.to) {
                if let End::Core(core) = end {
                    names.at_core.insert((at, *core), name.clone());
                }
            }
            own.insert(at, name);
        }
        for (at, (end, memory)) in self.ends.iter().zip(&placed.memories).enumerate() {
            let Some(memory) = memory else {
                names.at_host.push(own[&end.streams[0]].clone());
                continue;
            };
            let of = &flows.streams[end.streams[0]];
            let tensor = &trace.tensors[of.tensor];
            let each = of.boxes[0].elements();
            let name = format!("{}_all_{at}", word(&tensor.name));
            let ty = object(&[each * end.streams.len() as u64], tensor.dtype);
            let (from, to) = if end.into { (*memory, placed.hosts[at]) } else { (placed.hosts[at], *memory) };
            design.fifos.push(Fifo::new(name.clone(), from, &[to], 2, ty));
            let parts: Vec<String> = end.streams.iter().map(|stream| own[stream].clone()).collect();
            let offsets: Vec<i64> = (0..parts.len() as i64).map(|part| part * each as i64).collect();
            let (ins, outs) =
                if end.into { (parts, vec![name.clone()]) } else { (vec![name.clone()], parts) };
            let (join, distribute) = match (end.streams.len(), end.into) {
                (1, _) => (Vec::new(), Vec::new()),
                (_, true) => (offsets, Vec::new()),
                (_, false) => (Vec::new(), offsets),
            };
            design.links.push(Link { ins, outs, join, distribute, span: Default::default() });
            names.at_host.push(name);
        }
        let tiles: Vec<Tile> = design
            .fifos
            .iter()
            .flat_map(|fifo| std::iter::once(&fifo.producer).chain(&fifo.consumers))
            .map(|end| end.tile)
            .collect();
        tiles.into_iter().for_each(|tile| {
            design.tile(tile);
        });
        names
    }
}

/// Tasks of a launch by kernel.
fn tasks(trace: &Trace) -> Vec<(String, u64)> {
    let mut tasks: OrderedMap<String, u64> = OrderedMap::new();
    for task in &trace.tasks {
        *tasks.entry(trace.bodies[&task.func].name.clone()).or_default() += 1;
    }
    tasks.into_iter().collect()
}

impl Part<'_> {
    /// Makes the first launch of a design fit this one too: what flows has the same form, and fifos are as deep as either needs.
    fn joins(&self, first: &mut Part<'_>, same_ends: bool, name: &str) -> Result<(), Diagnostic> {
        if !same_ends || !self.flows_like(first) {
            return Err(refused(format!(
                "with `{name}` other boxes flow between cores than in the first launch"
            ))
            .note("one design has the same fifos for all lengths")
            .help("emit a design for each of them"));
        }
        for (of, own) in first.flows.streams.iter_mut().zip(&self.flows.streams) {
            (of.depth, of.held) = (of.depth.max(own.depth), of.held.max(own.held));
            of.flying = of.flying.max(own.flying);
        }
        Ok(())
    }

    /// Whether what flows has the form that it has in another launch.
    fn flows_like(&self, first: &Part<'_>) -> bool {
        let form = |flows: &Flows| {
            let stream = |of: &flow::Stream| (of.tensor, of.from, of.to.clone(), of.boxes[0].len.clone());
            let used = |of: &flow::Use| (of.stream, of.produces);
            let uses = flows.uses.iter().map(|of| of.iter().map(used).collect::<Vec<_>>());
            (flows.streams.iter().map(stream).collect::<Vec<_>>(), uses.collect::<Vec<_>>())
        };
        form(&self.flows) == form(&first.flows) && self.flows.locals == first.flows.locals
    }
}

/// What fifos are called.
#[derive(Default)]
struct FifoNames {
    /// By stream and core.
    at_core: OrderedMap<(usize, usize), String>,
    /// By fifo at the host.
    at_host: Vec<String>,
}

/// A name as a word of MLIR.
fn word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
