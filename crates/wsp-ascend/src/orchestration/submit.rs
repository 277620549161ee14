//! Tasks of kernels as C++: a function for each kernel that hands the tasks of a descriptor to the sink.

use super::expr::Needs;
use super::names::{Names, table};
use super::regions;
use crate::kernels::{Argument, ArgumentKind, ArrayArgument, KernelSource, Number, Pages};
use crate::writer::Writer;
use std::cell::RefCell;
use wsp_core::{AccessKind, ExecPool, FuncId, TensorId};
use wsp_plan::LoweredPlan;

/// What functions of kernels are printed from.
pub(super) struct Kernels<'a> {
    pub(super) plan: &'a LoweredPlan,
    pub(super) names: &'a Names,
    pub(super) needs: &'a RefCell<Needs>,
}

/// Where the arguments of a task come from.
enum From<'a> {
    /// A kernel that is one task: numbers follow from the descriptor.
    Descriptor,
    /// A task of several: variables of the kernel are parameters of the function, by position.
    Parameters(&'a [Argument]),
}

impl Kernels<'_> {
    /// The function of a kernel.
    pub(super) fn function(&self, kernel: FuncId, made: &KernelSource) -> String {
        let mut out = Writer::default();
        let name = self.names.function(kernel);
        if made.tasks.is_empty() {
            self.open(&mut out, name);
            if exchanged(made).next().is_some() {
                out.line(format!("Tensor exchanged[{}];", exchanged(made).count()));
                self.exchange(&mut out, made, "");
            }
            regions::declare(&mut out, self.plan, self.names, kernel, self.needs);
            self.task(&mut out, kernel, made, &From::Descriptor);
            out.close("}");
            return out.finish();
        }
        self.steps(&mut out, kernel, made);
        self.open(&mut out, name);
        out.line(format!("Steps_of_{name} steps{{l, sink, place, true, {{}}, {{}}}};"));
        self.exchange(&mut out, made, "steps.");
        let accesses = regions::ordering(self.plan, kernel).count();
        regions::declare(&mut out, self.plan, self.names, kernel, self.needs);
        if accesses > 0 {
            out.line(format!(
                "for (std::size_t at = 0; at < {accesses}; ++at) steps.accesses[at] = accesses[at];"
            ));
        }
        self.await_walked(&mut out, made);
        let given: Vec<String> = made.arguments.iter().map(|argument| self.given(argument)).collect();
        out.line(format!("{0}_kernel::{0}_tasks(steps, {1});", made.name, given.join(", ")));
        out.line("return steps.good;");
        out.close("}");
        out.finish()
    }

    fn open(&self, out: &mut Writer, name: &str) {
        out.open(format!(
            "static bool {name}([[maybe_unused]] const Launch& l, const TaskSink& sink, [[maybe_unused]] std::uint64_t ordinal, \
             [[maybe_unused]] const std::uint32_t* f, const Place& place) {{"
        ));
    }

    /// The object whose functions are the tasks of a kernel.
    fn steps(&self, out: &mut Writer, kernel: FuncId, made: &KernelSource) {
        out.open(format!("struct Steps_of_{} {{", self.names.function(kernel)));
        out.line("const Launch& l;");
        out.line("const TaskSink& sink;");
        out.line("const Place& place;");
        out.line("bool good;");
        let accesses = regions::ordering(self.plan, kernel).count();
        out.line(format!("Access accesses[{}];", accesses.max(1)));
        out.line(format!("Tensor exchanged[{}];", exchanged(made).count().max(1)));
        for task in &made.tasks {
            let takes = task.arguments.iter().enumerate().map(|(at, argument)| match &argument.kind {
                ArgumentKind::Array { elem, .. } => format!("const {elem}*"),
                ArgumentKind::Number { ty, .. } => format!("{} a{at}", ty.c_name()),
            });
            let takes: Vec<String> = takes.collect();
            out.open(format!("void {}({}) {{", task.name, takes.join(", ")));
            out.line("if (!good) return;");
            self.task(out, kernel, task, &From::Parameters(&made.arguments));
            out.close("}");
        }
        out.close("};");
        out.line("");
    }

    /// Memory of the tensors through which the tasks of a kernel exchange tiles.
    fn exchange(&self, out: &mut Writer, made: &KernelSource, steps: &str) {
        for (at, (bytes, ..)) in exchanged(made).enumerate() {
            out.line(format!("if (!sink.alloc(sink.user, {bytes}, &{steps}exchanged[{at}])) return false;"));
        }
    }

    /// Waits for the tensors whose elements decide which tasks there are.
    fn await_walked(&self, out: &mut Writer, made: &KernelSource) {
        for argument in &made.arguments {
            let ArgumentKind::Array { array: ArrayArgument::Tensor(id), walked: true, .. } = argument.kind
            else {
                continue;
            };
            if self.plan.tensors[id.index()].written {
                out.open("{");
                out.line("Access all{};");
                out.line(format!("all.all_of({});", self.tensor(id)));
                out.line("if (!sink.wait(sink.user, &all.region, ordinal)) return false;");
                out.close("}");
            }
        }
    }

    fn tensor(&self, id: TensorId) -> String {
        format!("l.{}", self.names.tensor(self.plan.memory[id.index()]))
    }

    /// An argument of the function that runs the tasks of a kernel.
    fn given(&self, argument: &Argument) -> String {
        match &argument.kind {
            ArgumentKind::Array { array, elem, .. } => {
                format!("static_cast<{elem}*>({}.data)", self.array(*array, "steps."))
            }
            ArgumentKind::Number { number, .. } => self.number(*number),
        }
    }

    fn array(&self, array: ArrayArgument, steps: &str) -> String {
        match array {
            ArrayArgument::Tensor(id) => format!("l.{}", self.names.tensor(id)),
            ArrayArgument::Table(cache, kind) => {
                format!("l.{}.tensor_of_{}", self.names.cache(cache), table(kind))
            }
            ArrayArgument::Exchange { place, .. } => format!("{steps}exchanged[{place}]"),
        }
    }

    fn number(&self, number: Number) -> String {
        match number {
            Number::Field(at) => format!("f[{at}]"),
            Number::Param(id) => format!("l.{}", self.names.param(id)),
            Number::Extent(axis) => format!("l.axes[{}].extent", axis.0),
            Number::Iterations(axis) => format!("l.iterations_of_{}", self.names.axis(axis)),
            Number::Pages(cache, what) => {
                let what = match what {
                    Pages::Size => "page_size",
                    Pages::PositionStride => "position_stride",
                    Pages::HeadStride => "head_stride",
                };
                format!("l.{}.{what}", self.names.cache(cache))
            }
            Number::Local(_) => "0".to_owned(),
        }
    }

    /// Submits a task.
    fn task(&self, out: &mut Writer, kernel: FuncId, task: &KernelSource, from: &From<'_>) {
        out.line("TaskArgs t;");
        out.line(format!("t.kernel = static_cast<std::uint16_t>(KernelId::{}_kernel);", task.name));
        let pool = match task.unit {
            ExecPool::Vector => "vector",
            ExecPool::Cube => "cube",
            ExecPool::Any => "any",
        };
        out.line(format!("t.pool = Pool::{pool};"));
        out.line("place.put(t);");
        for (at, argument) in task.arguments.iter().enumerate() {
            match &argument.kind {
                ArgumentKind::Array { array, read, written, .. } => {
                    let array = match (array, from) {
                        (ArrayArgument::Exchange { id, dims, .. }, From::Parameters(all)) => {
                            let place = place_of(all, *id).unwrap_or(0);
                            ArrayArgument::Exchange { id: *id, dims: *dims, place }
                        }
                        _ => *array,
                    };
                    self.takes(out, kernel, array, [*read, *written]);
                }
                ArgumentKind::Number { number, ty } => {
                    let value = match from {
                        From::Descriptor => self.number(*number),
                        From::Parameters(_) => format!("a{at}"),
                    };
                    out.line(format!("t.add_scalar(generator::word<{}>({value}));", ty.c_name()));
                }
            }
        }
        match from {
            From::Descriptor => out.line("return sink.submit(sink.user, &t);"),
            From::Parameters(_) => out.line("good = sink.submit(sink.user, &t);"),
        }
    }

    /// A tensor that a task takes, and what it does to it.
    fn takes(&self, out: &mut Writer, kernel: FuncId, array: ArrayArgument, [read, written]: [bool; 2]) {
        let text = self.array(array, "");
        match array {
            ArrayArgument::Exchange { .. } => {
                let how = match (read, written) {
                    (true, true) => "add_inout",
                    (false, true) => "add_output",
                    (_, false) => "add_input",
                };
                out.line(format!("t.{how}({text});"));
            }
            ArrayArgument::Table(..) => out.line(format!("t.add_tensor({text});")),
            ArrayArgument::Tensor(id) => {
                out.line(format!("t.add_tensor({text});"));
                let memory = |id: TensorId| self.plan.memory[id.index()];
                for (at, access) in regions::ordering(self.plan, kernel) {
                    let (mode, does) = match access.mode {
                        AccessKind::Read => ("in", read),
                        AccessKind::Write => ("out", written),
                    };
                    if memory(access.tensor) == memory(id) && does {
                        out.line(format!("accesses[{at}].add_to(t, AccessMode::{mode});"));
                    }
                }
            }
        }
    }
}

/// Bytes of each tensor through which the tasks of a kernel exchange tiles.
pub(super) fn exchanged(made: &KernelSource) -> impl Iterator<Item = (u64, u32)> {
    made.arguments.iter().filter_map(|argument| match &argument.kind {
        ArgumentKind::Array { array: ArrayArgument::Exchange { id, dims, .. }, elem_bytes, .. } => {
            Some((dims.iter().map(|n| u64::from(*n)).product::<u64>() * u64::from(*elem_bytes), *id))
        }
        _ => None,
    })
}

/// Bytes of memory that the tasks of a descriptor exchange tiles through, each tensor from a multiple of 64 on.
pub(super) fn exchanged_bytes(made: &KernelSource) -> u64 {
    exchanged(made).map(|(bytes, _)| bytes.next_multiple_of(64) + 64).sum()
}

/// Which of the exchange tensors of a kernel one is.
fn place_of(all: &[Argument], id: u32) -> Option<u32> {
    let mut ids = all.iter().filter_map(|argument| match &argument.kind {
        ArgumentKind::Array { array: ArrayArgument::Exchange { id, .. }, .. } => Some(*id),
        _ => None,
    });
    ids.position(|of| of == id).map(|at| at as u32)
}
