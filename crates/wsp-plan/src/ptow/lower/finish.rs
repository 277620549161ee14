//! The last step: sections, limits, bytes.

use super::super::dispatch::DispatchPlan;
use super::super::emit::{BodyId, Layout, NameTable, Sections};
use super::super::{ProgramBuf, codes};
use super::{Lowered, Lowering, Pipeline, Site};
use wsp_core::ptow::{KernelDescriptor, MAX_BODY_DEPTH, MAX_LOOP_DEPTH, MAX_PROCESS_DEPTH, TensorDescriptor};
use wsp_core::words::counted;
use wsp_diag::{Diagnostic, Severity, Span};
use wsp_ordered::Arrange;

/// No name.
const NO_NAME: u16 = u16::MAX;

impl Lowering<'_> {
    /// Puts the program together and checks it.
    pub(super) fn finish(
        mut self,
        outermost: BodyId,
        dispatch: DispatchPlan,
    ) -> Result<Lowered, Vec<Diagnostic>> {
        let layout = self.bodies.lay_out(outermost);
        if layout.depth.0 > MAX_BODY_DEPTH {
            let (depth, span) = layout.depth;
            self.report(nested_too_deeply(span, depth));
        }
        if layout.waits.0 > MAX_PROCESS_DEPTH {
            let (depth, span) = layout.waits;
            self.report(waits_too_deeply(span, depth));
        }
        let sections = self.sections(&layout);
        if let Some(too_large) = sections.too_large() {
            let span = self.entry_span();
            self.report(
                Diagnostic::error(codes::TOO_LARGE, "the workload is too large for a program")
                    .at(
                        span,
                        format!(
                            "{} {}; at most {} are allowed",
                            too_large.has, too_large.what, too_large.most
                        ),
                    )
                    .help("put repeated statements and calls into a loop"),
            );
        }
        if !self.found.is_empty() {
            return Err(self.found);
        }
        let program = ProgramBuf::from_bytes(&sections.to_bytes())
            .map_err(|error| vec![error.diagnostic("what the workload makes").at(self.entry_span(), "")])?;
        let close =
            |site: super::OpenSite| Site { word: layout.index(site.place), statement: site.statement };
        let mut sites: Vec<Site> = self.sites.into_iter().map(close).collect();
        sites.arrange_by_key(|site| site.word);
        let close = |open: super::OpenPipeline| Pipeline {
            word: layout.index(open.place),
            processes: open.processes,
            channels: open.channels,
        };
        let mut pipelines: Vec<Pipeline> = self.pipelines.into_iter().map(close).collect();
        pipelines.arrange_by_key(|pipeline| pipeline.word);
        Ok(Lowered {
            program,
            values: self.values,
            tables: self.tables,
            axes: self.axes.iter().map(|row| row.axis).collect(),
            sites,
            pipelines,
            places: self.exprs_at.close(&layout, self.vars_of),
            spans: layout.spans,
            dispatch,
            keeps_after: self.keeps_after,
            notes: self.notes,
        })
    }

    fn entry_span(&self) -> Span {
        self.module.entry.map(|entry| self.module.workloads[entry.index()].span).unwrap_or_default()
    }

    fn sections(&mut self, layout: &Layout) -> Sections {
        let module = self.module;
        let mut names = NameTable::default();
        for param in &self.values {
            names.push(&module.params[param.index()].name);
        }
        for table in &self.tables {
            names.push(&module.tables[table.index()].name);
        }
        for row in &self.axes {
            names.push(row.axis.map_or("", |axis| &module.axes[axis.index()].name));
        }
        let mut sections = Sections {
            words: layout.words.clone(),
            axes: self.axes.iter().map(|row| row.row).collect(),
            kernels: self.kernels(&mut names),
            tensors: self.tensors(&mut names),
            exprs: std::mem::take(&mut self.exprs).into_words(),
            names: Vec::new(),
            values: self.values.len(),
            tables: self.tables.len(),
            slots: module.slots.len(),
            labels: if self.keeps_after { self.next_label as usize } else { 0 },
            channels: self.channels,
        };
        match names.into_bytes() {
            Some(names) => sections.names = names,
            None => {
                sections.kernels.iter_mut().for_each(|kernel| kernel.name = NO_NAME);
                sections.tensors.iter_mut().for_each(|tensor| tensor.name = NO_NAME);
                let message = "the program has no names: they would be too long";
                self.notes.push(Diagnostic::new(codes::NAMES_LEFT_OUT, Severity::Note, message));
            }
        }
        sections
    }

    fn kernels(&self, names: &mut NameTable) -> Vec<KernelDescriptor> {
        let row = |kernel: &wsp_ir::workload::Kernel| {
            let name = names.push(&kernel.name);
            KernelDescriptor { pool: kernel.unit as u8, reserved: 0, name, reserved2: 0 }
        };
        self.module.kernels.iter().map(row).collect()
    }

    fn tensors(&self, names: &mut NameTable) -> Vec<TensorDescriptor> {
        let mut rows: Vec<TensorDescriptor> = Vec::with_capacity(self.module.tensors.len());
        for tensor in &self.module.tensors {
            let (dtype, rank) = (tensor.dtype.code(), tensor.dims.len() as u8);
            rows.push(TensorDescriptor { dtype, rank, name: names.push(&tensor.name), slot: 0 });
        }
        for (slot, number) in self.module.slots.iter().zip(1..) {
            rows[slot.tensor.index()].slot = number;
        }
        rows
    }
}

fn waits_too_deeply(span: Span, depth: usize) -> Diagnostic {
    Diagnostic::error(codes::TOO_DEEP, "what a process waits for stands too deeply in it for a program")
        .at(
            span,
            format!(
                "{depth} of its process around this; at most {MAX_PROCESS_DEPTH} are allowed",
                depth = counted(depth, "body")
            ),
        )
        .note(
            "the process itself, loops, branches, sends and consumes count, and evaluated arguments of calls",
        )
}

fn nested_too_deeply(span: Span, depth: usize) -> Diagnostic {
    Diagnostic::error(codes::TOO_DEEP, "statements nest too deeply for a program")
        .at(span, format!("{depth} around this; at most {MAX_BODY_DEPTH} are allowed", depth = counted(depth, "body")))
        .note(format!(
            "loops, branches, steps and evaluated arguments of calls count; loops are at most {MAX_LOOP_DEPTH} of them"
        ))
}
