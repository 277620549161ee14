//! The translation unit of an expander, from top to bottom.

use super::ExpanderNames;
use super::body::ExpansionCx;
use super::emitter::Emitter;
use super::expr::words;
use super::filter::InForce;
use super::names::Names;
use super::summary::Leaves;
use super::tree::Body;
use crate::writer::Writer;
use wsp_core::ptow::{MAX_AICPUS, MAX_LOOP_DEPTH, Op, Program, XOp};
use wsp_core::{MAX_RANK, limits};
use wsp_ordered::OrderedSet;

/// The unit of a program.
pub(super) fn unit(program: &Program<'_>, body: &Body, unit: ExpanderNames<'_>) -> String {
    let names = Names::new(program);
    let metrics = metrics(program);
    let key_axes = metrics.iter().flat_map(|expr| Leaves::of(program, *expr).axes).collect();
    let mut emitter = Emitter {
        program,
        names: &names,
        key_axes,
        functions: Vec::new(),
        made: OrderedSet::new(),
        process: None,
    };
    let expand = expand(&mut emitter, body);
    let metric_functions = metric_functions(&mut emitter, &metrics);
    let mut writer = Writer::default();
    opening(&mut writer, program, unit);
    listed(&mut writer, &names);
    let mut text = writer.finish();
    for function in &emitter.functions {
        text.push_str(function);
        text.push('\n');
    }
    text.push_str(&metric_functions);
    text.push_str(&expand);
    text.push_str(&entry(program, unit));
    text
}

fn opening(writer: &mut Writer, program: &Program<'_>, unit: ExpanderNames<'_>) {
    writer.line(format!(
        "// Generates the tasks of a program of {} words for one AICPU. Emitted by PTO-WSP; do not edit.",
        program.words.len()
    ));
    let support = if has_processes(program) { "turns" } else { "support" };
    writer.line(format!("#include \"pto/wsp/backend/npu/expander_{support}.hpp\""));
    writer.line("");
    writer.line(format!("namespace pto::wsp::backend::npu::{} {{", unit.namespace));
    writer.line("");
    writer.line("using namespace expander;");
    writer.line("");
    for (name, value) in [
        ("max_rank", MAX_RANK as u64),
        ("max_aicpus", u64::from(MAX_AICPUS)),
        ("max_loop_depth", MAX_LOOP_DEPTH as u64),
        ("max_generator_steps", limits::MAX_GENERATOR_STEPS),
        ("max_while_rounds", u64::from(limits::MAX_WHILE_ROUNDS)),
    ] {
        writer.line(format!("static_assert({name} == {value}u, \"the headers are of another version\");"));
    }
    writer.line("");
}

fn has_processes(program: &Program<'_>) -> bool {
    program.words.iter().any(|word| word.opcode == Op::Process.code())
}

/// The rows of the tables, by name.
fn listed(writer: &mut Writer, names: &Names) {
    for table in names.tables_of_names() {
        if table.is_empty() {
            continue;
        }
        writer.open("enum : std::uint16_t {");
        for name in table {
            writer.line(format!("{name},"));
        }
        writer.close("};");
    }
    writer.line("");
}

/// First words of the expressions that may be metrics: those over indices of axes.
fn metrics(program: &Program<'_>) -> Vec<u32> {
    let mut metrics = Vec::new();
    let mut at = 0;
    while (at as usize) < program.exprs.len() {
        let words = words(program, at);
        let leaves = Leaves::of(program, at);
        let known = words.iter().all(|word| XOp::from_code(word.opcode).is_some());
        if known && !leaves.axes.is_empty() && leaves.variables == 0 && !leaves.slots {
            metrics.push(at);
        }
        at += words.len().max(1) as u32;
    }
    metrics
}

fn metric_functions(emitter: &mut Emitter<'_>, metrics: &[u32]) -> String {
    let mut writer = Writer::default();
    writer.line("// Whether the metric of a configuration is an expression over axes.");
    writer.open("static bool is_metric(std::uint32_t expression) {");
    writer.open("switch (expression) {");
    for metric in metrics {
        writer.line(format!("case {metric}: return true;"));
    }
    writer.line("default: return false;");
    writer.close("}");
    writer.close("}");
    writer.line("");
    writer.open("static Int metric([[maybe_unused]] const State& s, std::uint32_t expression) {");
    writer.open("switch (expression) {");
    for metric in metrics {
        let key = emitter.key(*metric);
        writer.line(format!("case {metric}: return {key};"));
    }
    writer.line("default: return 0;");
    writer.close("}");
    writer.close("}");
    writer.line("");
    writer.finish()
}

/// The function that generates the tasks.
fn expand(emitter: &mut Emitter<'_>, body: &Body) -> String {
    let mut writer = Writer::default();
    writer.open("static bool expand(State& s) {");
    writer.line("[[maybe_unused]] const Rule rule = s.by_config();");
    if has_processes(emitter.program) {
        writer
            .line(format!("[[maybe_unused]] Channel channels[{}];", emitter.program.counts.channels.max(1)));
    }
    let scope = ExpansionCx {
        variables: Vec::new(),
        filters: vec![InForce::config()],
        streams: None,
        priority: None,
    };
    emitter.body(&mut writer, body, &scope);
    writer.line("return true;");
    writer.close("}");
    writer.finish()
}

/// The function that is called.
fn entry(program: &Program<'_>, unit: ExpanderNames<'_>) -> String {
    let counts = &program.counts;
    let (axes, labels) = (program.axes.len().max(1), counts.labels.max(1));
    let slots = program.exprs.iter().any(|word| XOp::from_code(word.opcode) == Some(XOp::XSlot));
    let mut writer = Writer::default();
    writer.line("");
    writer.line(format!("}}  // namespace pto::wsp::backend::npu::{}", unit.namespace));
    writer.line("");
    writer.line(format!("extern \"C\" int {}(const pto::wsp::backend::npu::Launch* launch,", unit.entry));
    let indent = " ".repeat(16 + unit.entry.len());
    writer.line(format!("{indent}const pto::wsp::backend::npu::DispatchConfig* config,"));
    writer.line(format!("{indent}const pto::wsp::backend::npu::Sink* sink,"));
    writer.open(format!("{indent}pto::wsp::backend::npu::Outcome* outcome) {{"));
    writer.line(format!("using namespace pto::wsp::backend::npu::{};", unit.namespace));
    writer.line("using namespace pto::wsp::backend::npu;");
    writer.line(format!(
        "const expander::Needs needs{{{}, {}, {}, {slots}}};",
        counts.values,
        counts.tables,
        program.tensors.len()
    ));
    writer.line("const Status status = expander::fits(*launch, *config, *sink, needs, is_metric);");
    writer.line("if (status != status_done) return status;");
    writer.line(format!("std::int64_t axis[{axes}] = {{}};"));
    writer.line(format!("std::uint64_t labels[{labels}];"));
    writer.line("for (std::uint64_t& label : labels) label = expander::nothing;");
    writer.line("expander::State s(*launch, *config, *sink, metric, axis, labels);");
    writer.line("const bool finished = expand(s);");
    writer.line("return expander::close(s, finished, *outcome);");
    writer.close("}");
    writer.finish()
}
