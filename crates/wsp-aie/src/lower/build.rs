//! The design of a draft: its fifos on tiles, the programs of its cores, and its sequences.

use super::draft::Draft;
use super::emit::{Emitter, words_of};
use super::flow::End;
use super::host::{self, Fed, OF_LINK};
use super::range::{Fitted, Range};
use super::trace::Trace;
use super::{HostArray, Launched, Lowered, Part, Placed, array, object, sequence, series, word};
use crate::design::{Design, Fifo, Link, Sequence};
use crate::device::{Device, Tile};
use crate::mlir::Value;
use wsp_diag::{Diagnostic, Span};
use wsp_ordered::{OrderedMap, OrderedSet};

/// What fifos are called.
#[derive(Default)]
struct FifoNames {
    /// By stream and core.
    at_core: OrderedMap<(usize, usize), String>,
    /// By fifo at the host.
    at_host: Vec<String>,
    /// Where the tensors of fifos are declared.
    tensors: OrderedMap<String, Span>,
}

impl Draft<'_> {
    /// # Errors
    /// No places, or no ways of streams.
    pub(super) fn design(&self, (device, steps): (Device, u32)) -> Result<Lowered, Diagnostic> {
        let Part { trace, assigned, flows } = &self.parts[0];
        let ends = (self.ends.as_slice(), self.placed.as_ref());
        let placed =
            array::place(trace, assigned, (flows, &self.deep, &self.buffers), ends, (device, steps))?;
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
        let mut kernels = OrderedMap::new();
        for (task, core) in trace.tasks.iter().zip(&assigned.core_of) {
            kernels.entry(placed.cores[*core]).or_insert_with(|| trace.written_at(task));
        }
        let (tensors, is_pipeline) = (fifos.tensors, !trace.processes.is_empty());
        Ok(Lowered { design, placed, launches, is_pipeline, tensors, kernels, open })
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
            names.tensors.insert(name.clone(), tensor.span);
            let mut fifo = Fifo::new(name.clone(), tile(&stream.from), &to, stream.depth, ty);
            fifo.depths = self.deep.depths(at, stream);
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
            names.tensors.insert(name.clone(), tensor.span);
            let ty = object(&[each * end.streams.len() as u64], tensor.dtype);
            let (from, to) = if end.into { (*memory, placed.hosts[at]) } else { (placed.hosts[at], *memory) };
            design.fifos.push(Fifo::new(name.clone(), from, &[to], OF_LINK, ty));
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
