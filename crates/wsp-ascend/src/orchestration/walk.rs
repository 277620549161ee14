//! A task graph that AICPUs walk as C++: the graph for the machine, and what its kernels are given.

use super::Source;
use super::workload::list;
use crate::writer::Writer;
use wsp_core::{FuncId, TensorId};

/// What the machine of graphs calls where it would read past one of its own records.
const PANIC: &str = "
// The machine of graphs calls it where it is itself at fault.
extern \"C\" [[noreturn]] void wsp_panic_reached() { __builtin_trap(); }
";

/// The file of the graph.
pub(super) const FILE: &str = "graph.inc";

/// A graph that AICPUs walk.
pub(crate) struct Walk {
    /// Its text.
    pub(crate) text: String,
    /// The namespace in it.
    pub(crate) namespace: String,
    /// By the numbers that the text has for kernels.
    pub(crate) kernels: Vec<WalkedKernel>,
    /// Tensors of kernels that are given the memory of others with each launch.
    pub(crate) given: Vec<TensorId>,
    /// By the numbers that the text has for tensors: those that some node names.
    pub(crate) tensors: Vec<Option<TensorId>>,
}

/// A kernel of the graph.
pub(crate) struct WalkedKernel {
    pub(crate) function: FuncId,
    /// Its tensors, by argument.
    pub(crate) arguments: Vec<TensorId>,
}

impl Walk {
    /// `graph.inc`.
    pub(super) fn included(&self) -> String {
        format!("#include \"pto/wsp/backend/npu/unit.hpp\"\n{PANIC}\n{}", self.text)
    }

    /// The function that gives a launch the arguments of a kernel.
    pub(super) fn bind(&self, out: &mut Writer, source: &Source<'_>) {
        out.line("// Gives a launch the arguments of a kernel of the graph.");
        out.open("static std::uint32_t bind_kernel(Launch& l, std::size_t kernel, const Argument* arguments, const unit::Tensors& all) {");
        out.open("switch (kernel) {");
        for (at, WalkedKernel { function, arguments }) in self.kernels.iter().enumerate() {
            out.line(format!("case {at}:"));
            for (arg, tensor) in arguments.iter().enumerate() {
                let name = source.names.tensor(*tensor);
                out.line(format!("    unit::take(l.{name}, *all.tensors[arguments[{arg}].tensor]);"));
            }
            out.line(format!("    return {};", function.0));
        }
        out.line("default: return no_kernel;");
        out.close("}");
        out.close("}");
        out.line("");
    }

    /// Hands over the tasks of an AICPU.
    pub(super) fn submit(&self, out: &mut Writer, source: &Source<'_>) {
        let name = |id: TensorId| format!("&l.{}", source.names.tensor(id));
        let tensors = self.tensors.iter().map(|id| id.map_or("nullptr".to_owned(), name));
        list(out, "const Tensor* const", "tensors", "nullptr", tensors);
        let (count, buffers) = (self.tensors.len(), source.plan.module.tensors.len());
        out.line(format!("const unit::Tensors all{{tensors, {count}, {buffers}}};"));
        let graph = format!("pto::wsp::backend::npu::{}::GRAPH", self.namespace);
        out.line(format!("unit::run<Tasks, Launch>({graph}, l, s, sink, all, bind_kernel);"));
    }
}
