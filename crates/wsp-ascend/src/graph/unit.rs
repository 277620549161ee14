//! The translation unit of a graph.

use super::fences::Fence;
use super::{GraphEmitError, expr};
use crate::writer::{Writer, quoted};
use wsp_core::tg::{CoreType, FenceScope, Platform, Scalar};
use wsp_tg::plan::{BindItem, BindTensor, KernelItem};
use wsp_tg::{GraphPlan, UnitPlan};

/// Words of an image in a line.
const WORDS_PER_LINE: usize = 12;

pub(super) fn unit(
    plan: &UnitPlan,
    graph: &GraphPlan,
    fences: &[Option<Fence>],
    namespace: &str,
    target: Platform,
) -> Result<String, GraphEmitError> {
    let mut w = Writer::default();
    w.line(format!("// Graph {} for {target:?}.", quoted(&graph.name)));
    w.line("#include \"pto/wsp/backend/npu/task_graph.hpp\"");
    w.line("");
    w.line(format!("namespace pto::wsp::backend::npu::{namespace} {{"));
    w.line("");
    tensors(&mut w, plan);
    image(&mut w, graph);
    tables(&mut w, graph);
    before(&mut w, graph, fences);
    arguments(&mut w, graph)?;
    conditions(&mut w, graph)?;
    w.line("extern const Graph GRAPH;");
    w.line("const Graph GRAPH = {");
    w.line(format!(
        "    {}, IMAGE, sizeof IMAGE / sizeof IMAGE[0], KERNELS, COPIES, FREES, NOTIFIES,",
        quoted(&graph.name)
    ));
    w.line("    NOTIFY_WAITS, EVENT_WAITS, SIGNALS, BATCH_FIRST, BATCHES, before, arguments, condition,");
    w.line("};");
    w.line("");
    w.line(format!("}}  // namespace pto::wsp::backend::npu::{namespace}"));
    Ok(w.finish())
}

/// What the numbers of tensors are.
fn tensors(w: &mut Writer, plan: &UnitPlan) {
    for (at, tensor) in plan.tensors.iter().enumerate() {
        let bytes =
            tensor.bytes.map_or_else(|| "bytes not known".to_owned(), |bytes| format!("{bytes} bytes"));
        w.line(format!("// Tensor {at}: {}, {:?}, {bytes}.", quoted(&tensor.name), tensor.kind));
    }
    w.line("");
}

fn image(w: &mut Writer, graph: &GraphPlan) {
    let bytes = graph.records.image_bytes();
    let words: Vec<String> = bytes
        .chunks_exact(4)
        .map(|word| format!("{:#x}", u32::from_le_bytes([word[0], word[1], word[2], word[3]])))
        .collect();
    w.open("alignas(8) static const uint32_t IMAGE[] = {");
    words.chunks(WORDS_PER_LINE).for_each(|line| w.line(format!("{},", line.join(", "))));
    w.close("};");
    w.line("");
}

/// A table, with a last row that nobody uses, so that none is empty.
fn table(w: &mut Writer, ty: &str, name: &str, rows: impl Iterator<Item = String>) {
    w.open(format!("static const {ty} {name}[] = {{"));
    rows.for_each(|row| w.line(format!("{row},")));
    w.line("{},");
    w.close("};");
}

fn tables(w: &mut Writer, graph: &GraphPlan) {
    let kernels = (0..).zip(&graph.kernels).map(|(at, kernel)| kernel_row(graph, at, kernel));
    table(w, "Kernel", "KERNELS", kernels);
    let copies = graph.copies.iter().map(|copy| {
        format!("{{{}, {}, {}u, {}u, {}u}}", copy.src, copy.dst, copy.size, copy.src_offset, copy.dst_offset)
    });
    table(w, "Copy", "COPIES", copies);
    table(w, "uint32_t", "FREES", graph.frees.iter().map(|free| free.tensor.to_string()));
    for (name, list) in [("NOTIFIES", &graph.notifies), ("NOTIFY_WAITS", &graph.notify_waits)] {
        table(
            w,
            "Notification",
            name,
            list.iter().map(|item| format!("{{{}, {}}}", item.device.0, item.notify.0)),
        );
    }
    for (name, list) in [("EVENT_WAITS", &graph.event_waits), ("SIGNALS", &graph.signals)] {
        table(w, "uint32_t", name, list.iter().map(|item| item.event.0.to_string()));
    }
    let mut first = 0;
    let firsts = graph.kernels.iter().map(|kernel| {
        first += kernel.batch.len();
        first.to_string()
    });
    table(w, "uint32_t", "BATCH_FIRST", std::iter::once("0".to_owned()).chain(firsts));
    table(
        w,
        "uint32_t",
        "BATCHES",
        graph.kernels.iter().flat_map(|kernel| &kernel.batch).map(u32::to_string),
    );
    w.line("");
}

fn kernel_row(graph: &GraphPlan, at: u32, kernel: &KernelItem) -> String {
    let Some(def) = graph.defs.get(kernel.def as usize) else { return "{}".to_owned() };
    let core = match def.core_type {
        CoreType::Aic => "Aic",
        CoreType::Aiv => "Aiv",
        CoreType::AicAiv => "AicAiv",
        CoreType::Aicpu => "Aicpu",
    };
    let (name, entry) = (quoted(&graph.kernel_name(at)), quoted(&def.entry));
    format!("{{{name}, {entry}, {}, CoreType::{core}, {}u, {}}}", def.block_dim, def.workspace, kernel.binds)
}

/// Fences before nodes.
fn before(w: &mut Writer, graph: &GraphPlan, fences: &[Option<Fence>]) {
    w.open("static void before([[maybe_unused]] Device &device, uint32_t node) {");
    w.line("switch (node) {");
    for (node, fence) in fences.iter().enumerate() {
        let is_started = graph.records.nodes.get(node).is_some_and(|record| {
            wsp_core::tg::image::NodeKind::from_code(record.kind).is_some_and(|kind| kind.is_handed_out())
        });
        if let Some(fence) = fence.as_ref().filter(|_| is_started) {
            w.open(format!("case {node}:  // {}: {}", node_name(graph, node as u32), fence.why()));
            w.line(format!("device.fence(FenceScope::{});", scope_name(fence.scope)));
            w.close("    break;");
        }
    }
    w.line("default: break;");
    w.line("}");
    w.close("}");
    w.line("");
}

fn scope_name(scope: FenceScope) -> &'static str {
    match scope {
        FenceScope::Device => "Device",
        FenceScope::L2 => "L2",
        FenceScope::Gm => "Gm",
    }
}

/// What a node is, for a comment.
fn node_name(graph: &GraphPlan, node: u32) -> String {
    let kernel = (0..).zip(&graph.kernels).find(|(_, kernel)| kernel.node == node);
    match kernel {
        Some((at, _)) => comment(&graph.kernel_name(at)),
        None => match graph.copies.iter().find(|copy| copy.node == node) {
            Some(copy) => format!("copy.{}", copy.copy),
            None => "node".to_owned(),
        },
    }
}

/// Text that does not leave a comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_graphic() && c != '\\' { c } else { '_' }).collect()
}

fn arguments(w: &mut Writer, graph: &GraphPlan) -> Result<(), GraphEmitError> {
    w.open(
        "static void arguments([[maybe_unused]] Scalars &s, uint32_t kernel, [[maybe_unused]] Argument *a) {",
    );
    w.line("switch (kernel) {");
    for (at, kernel) in graph.kernels.iter().enumerate() {
        let binds = graph.binds_of(kernel);
        if binds.is_empty() {
            continue;
        }
        w.open(format!("case {at}: {{"));
        for (place, bind) in binds.iter().enumerate() {
            let argument = argument(w, graph, place, bind)?;
            w.line(format!("a[{place}] = {{{argument}}};"));
        }
        w.line("break;");
        w.close("}");
    }
    w.line("default: break;");
    w.line("}");
    w.close("}");
    w.line("");
    Ok(())
}

fn argument(
    w: &mut Writer,
    graph: &GraphPlan,
    place: usize,
    bind: &BindItem,
) -> Result<String, GraphEmitError> {
    let tensor = match bind.tensor {
        BindTensor::One(tensor) => tensor.to_string(),
        BindTensor::Table { index, .. } => {
            let tensors: Vec<String> = graph.tensors_of(&bind.tensor).iter().map(u32::to_string).collect();
            let name = format!("table_{place}");
            w.line(format!("static const uint32_t {name}[] = {{{}}};", tensors.join(", ")));
            format!("s.choose({name}, {}, {})", tensors.len(), value(graph, index)?)
        }
    };
    Ok(format!("{}, {tensor}, {}, {}", bind.arg, value(graph, bind.offset)?, value(graph, bind.size)?))
}

fn value(graph: &GraphPlan, scalar: Scalar) -> Result<String, GraphEmitError> {
    expr::scalar(scalar, graph.expr(scalar)).ok_or(GraphEmitError::Malformed)
}

fn conditions(w: &mut Writer, graph: &GraphPlan) -> Result<(), GraphEmitError> {
    w.open(
        "static int64_t condition([[maybe_unused]] Device &device, [[maybe_unused]] Scalars &s, uint32_t condition) {",
    );
    w.line("switch (condition) {");
    for (at, condition) in graph.conditions.iter().enumerate() {
        w.open(format!("case {at}:"));
        if expr::loads(graph.expr(condition.value)) {
            w.line("device.fence(FenceScope::Device);");
        }
        w.close(format!("    return {};", value(graph, condition.value)?));
    }
    w.line("default: return 0;");
    w.line("}");
    w.close("}");
    w.line("");
    Ok(())
}
