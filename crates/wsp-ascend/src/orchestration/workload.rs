//! The tasks of a workload as C++: its values and tables are part of the launch, and its expander takes the place of generators.

use super::Source;
use super::expr::binary;
use super::names::all;
use super::order::{Operand, can_fail, int_can_fail};
use crate::expander::{ExpanderNames, emit_expander};
use crate::kernels::codes;
use crate::places::word_places;
use crate::writer::{Writer, quoted};
use wsp_backend::{Expansion, LaunchTable};
use wsp_core::{FuncId, TableId};
use wsp_diag::{Diagnostic, Diagnostics, Span};
use wsp_ir::workload::{AxisKind, IntExpr, IntExprKind, ParamSource, WorkloadModule};
use wsp_ir::{BinOp, Const, ScalarTy, UnOp};
use wsp_plan::ptow::{DispatchPlan, Lowered, lower};
use wsp_plan::workload::{Functions, WorkloadPlan};

/// `priority_word` of `generator.hpp`.
const PRIORITY_WORD: u32 = u32::MAX - 1;

/// What generates the tasks as loops.
fn loops(lowered: &Lowered) -> Result<String, Diagnostic> {
    let names = ExpanderNames { namespace: "workload", ..ExpanderNames::default() };
    let made = emit_expander(&lowered.program.verified(), names);
    made.map(|made| made.translation_unit).map_err(|fault| {
        Diagnostic::error(codes::NOT_EMITTED, "the workload has no expander")
            .note(fault.to_string())
            .help("write the package with bytecode, or with the tasks of a launch: `--expand bytecode` or `--expand table`")
    })
}

/// A workload that generates the descriptors of a program's kernels.
pub(crate) struct Workload<'a> {
    module: &'a WorkloadModule,
    functions: &'a Functions,
    lowered: Lowered,
    /// What generates its tasks: `expander.inc`, or `program.inc`.
    pub(crate) expander: (&'static str, String),
    /// Names of members of the launch.
    values: Vec<String>,
    tables: Vec<String>,
}

impl<'a> Workload<'a> {
    /// # Errors
    /// What programs of AICPUs have no room for, and what nothing of a package gives: values of slots.
    pub(crate) fn new(
        plan: &'a WorkloadPlan,
        functions: &'a Functions,
        expansion: &Expansion,
    ) -> Result<Workload<'a>, Diagnostics> {
        let module = &plan.module;
        if let Some(slot) = module.slots.first() {
            let name = &module.tensors[slot.tensor.index()].name;
            let fault = Diagnostic::error(
                codes::NOT_EMITTED,
                format!("no kernel of a used file can write slot `{name}`"),
            );
            return Err(fault
                .at(slot.span, "declared here")
                .help("make it a parameter: `param name = value;`")
                .into());
        }
        let lowered = lower(module, &plan.schedule)?;
        let expander = match expansion {
            Expansion::Bytecode => ("program.inc", bytecode(lowered.program.as_bytes())),
            Expansion::Loops => ("expander.inc", loops(&lowered)?),
            // The tasks are there.
            Expansion::Table(_) => ("expander.inc", String::new()),
        };
        Ok(Workload {
            module,
            functions,
            lowered,
            expander,
            values: all("value", &module.params, |of| &of.name),
            tables: all("table", &module.tables, |of| &of.name),
        })
    }

    /// What the program of AICPUs does in another way than the schedule says.
    pub(crate) fn notes(&self) -> &[Diagnostic] {
        &self.lowered.notes
    }

    /// Members of the launch.
    pub(super) fn declare(&self, out: &mut Writer) {
        self.values.iter().for_each(|name| out.line(format!("std::int64_t {name} = 0;")));
        self.tables.iter().for_each(|name| out.line(format!("std::vector<std::int64_t> {name};")));
    }

    /// Tables whose elements the source states: kernels may take them too.
    pub(super) fn state(&self, out: &mut Writer) {
        for table in &self.module.tables {
            let Some(values) = &table.values else { continue };
            let values: Vec<String> = values.iter().map(|n| int(*n)).collect();
            out.line(format!("in.stated({}, {{{}}});", quoted(&table.name), values.join(", ")));
        }
    }

    /// Gives tables and values what they are in a launch, and compares them with what axes say.
    pub(super) fn bind(&self, out: &mut Writer, source: &Source<'_>) {
        for (table, name) in self.module.tables.iter().zip(&self.tables) {
            out.line(format!("l.{name} = in.table({});", quoted(&table.name)));
        }
        out.line("if (!in.good()) return false;");
        let library = &source.plan.module;
        for (param, name) in self.module.params.iter().zip(&self.values) {
            let shared = library.param_named(&param.name).filter(|id| {
                !matches!(library.params[id.index()].ty, ScalarTy::Bool | ScalarTy::F32 | ScalarTy::F64)
            });
            let user = quoted(&param.name);
            let value = match (shared, &param.source) {
                (Some(id), _) => format!("s.template cast<std::int64_t>(l.{})", source.names.param(id)),
                (None, ParamSource::Derived(e)) => self.expr(source, e),
                (None, ParamSource::Set(Some(e))) => {
                    format!(
                        "in.template set<std::int64_t>({{{user}}}, s, [&] {{ return {}; }})",
                        self.expr(source, e)
                    )
                }
                (None, ParamSource::Set(None)) => format!("in.template need<std::int64_t>({{{user}}}, s)"),
            };
            out.line(format!("l.{name} = {value};"));
            out.line("if (!in.good(s)) return false;");
        }
        for (table, name) in self.module.tables.iter().zip(&self.tables) {
            if let Some(len) = &table.len {
                out.line(format!(
                    "in.has_length({}, l.{name}, {});",
                    quoted(&table.name),
                    self.expr(source, len)
                ));
            }
        }
        self.axes(out, source);
    }

    fn axes(&self, out: &mut Writer, source: &Source<'_>) {
        let table = |id: TableId| (quoted(&self.module.tables[id.index()].name), &self.tables[id.index()]);
        for axis in &self.module.axes {
            let (outer, rows, extra) = match &axis.kind {
                AxisKind::Dense { .. } => continue,
                AxisKind::DenseDyn(param) => {
                    let condition = format!("l.{} >= 0", self.values[param.index()]);
                    out.line(format!("in.is_extent({}, {condition});", quoted(&axis.name)));
                    continue;
                }
                AxisKind::Ragged { outer, lengths } => {
                    let (user, name) = table(*lengths);
                    out.line(format!("in.has_lengths({user}, l.{name});"));
                    (outer, *lengths, 0)
                }
                AxisKind::Sparse { outer, indptr, indices } => {
                    let ((user, name), (_, columns)) = (table(*indptr), table(*indices));
                    out.line(format!("in.has_rows({user}, l.{name}, l.{columns});"));
                    (outer, *indptr, 1)
                }
            };
            let end = match &self.module.axes[outer.index()].kind {
                AxisKind::Dense { start, end } => {
                    let of = |e| Operand::new(self.expr(source, e), int_can_fail(e));
                    let made = |a: &str, b: &str| format!("s.template max<std::int64_t>({a}, {b})");
                    of(start).joined(&of(end), (BinOp::Max, ScalarTy::I64), made).text
                }
                AxisKind::DenseDyn(param) => format!("l.{}", self.values[param.index()]),
                AxisKind::Ragged { .. } | AxisKind::Sparse { .. } => continue,
            };
            let (user, name) = table(rows);
            let wanted = format!("s.template max<std::int64_t>(0, {end})");
            out.line(format!(
                "in.has_length({user}, l.{name}, s.template add<std::int64_t>({wanted}, {extra}));"
            ));
        }
    }

    /// The values of a launch that users may want to see and that no parameter of the program is.
    pub(super) fn parameters(&self, out: &mut Writer, source: &Source<'_>) {
        for (param, name) in self.module.params.iter().zip(&self.values) {
            if source.plan.module.param_named(&param.name).is_none() {
                out.line(format!("f({}, l.{name});", quoted(&param.name)));
            }
        }
    }

    /// The function that is the body of a kernel.
    pub(super) fn function(&self, kernel: u32) -> Option<FuncId> {
        self.functions.get(kernel as usize).copied().flatten()
    }

    /// A table, as users call it and as an array of a launch.
    pub(super) fn table(&self, id: TableId) -> (String, String) {
        let name = &self.tables[id.index()];
        let text = format!("IntArray{{l.{name}.data(), l.{name}.size(), IntType::i64}}");
        (self.module.tables[id.index()].name.clone(), text)
    }

    /// Compares values with those of the launch whose tasks are in a table.
    pub(super) fn is_made_for(&self, out: &mut Writer, table: &LaunchTable) {
        for ((param, name), value) in self.module.params.iter().zip(&self.values).zip(&table.params) {
            let Some(Const::Int(value)) = value else { continue };
            let value = int(i64::try_from(*value).unwrap_or_default());
            out.line(format!("in.is_generated_for({}, l.{name}, {value});", quoted(&param.name)));
        }
    }

    /// The functions that generate tasks, count them and hand them over.
    pub(super) fn generate(&self, out: &mut Writer, source: &Source<'_>) {
        out.line("// The tasks of an AICPU.");
        out.open(
            "template <class F, class G> static void generate(const Launch& l, Checked& s, const DispatchConfig& config, F task, G ordered) {",
        );
        let values = self.lowered.values.iter().map(|id| format!("l.{}", self.values[id.index()]));
        let tables: Vec<&String> = self.lowered.tables.iter().map(|id| &self.tables[id.index()]).collect();
        let data = tables.iter().map(|name| format!("l.{name}.data()"));
        let lengths = tables.iter().map(|name| format!("l.{name}.size()"));
        list(out, "const std::int64_t", "values", "0", values);
        list(out, "const std::int64_t* const", "tables", "nullptr", data);
        list(out, "const std::size_t", "lengths", "0", lengths);
        let functions =
            self.functions.iter().map(|of| of.map_or("no_kernel".to_owned(), |id| id.0.to_string()));
        list(out, "static const std::uint32_t", "functions", "no_kernel", functions);
        let tensors = self.module.tensors.len();
        out.line(format!("static const std::uint32_t extents[{}][max_rank] = {{}};", tensors.max(1)));
        let mut needs = source.needs.borrow_mut();
        let places = self.lowered.places().filter_map(|(word, expr, span)| {
            let place = needs.places.place(span)?;
            Some((word.unwrap_or(u32::MAX), expr.unwrap_or(u32::MAX), place))
        });
        let mut places: Vec<_> = places.collect();
        let priority = source.plan.policy.priority.as_ref().and_then(|key| needs.places.place(key.span));
        places.extend(priority.map(|place| (PRIORITY_WORD, u32::MAX, place)));
        let places = word_places(out, places.into_iter());
        let (v, t) = (self.lowered.values.len(), tables.len());
        out.line(format!(
            "const pto::wsp::backend::npu::Launch launch{{values, {v}, tables, lengths, {t}, extents, {tensors}}};"
        ));
        out.line(format!("const WordPlaces places_of_words{places};"));
        out.line("expand(wsp_expand, launch, functions, places_of_words, config, s, task, ordered);");
        out.close("}");
        out.line("");
    }

    /// Calls of `count` with every descriptor.
    pub(super) fn count(&self, out: &mut Writer) {
        out.line("const auto count = [&](const Task&, std::uint32_t function, const std::uint32_t* f) { out.count(l, s, function, f); };");
        out.line("generate(l, s, in_turn(1, 0), count, [](Ordered, std::uint64_t) {});");
        if let DispatchPlan::StaticPartition(ranges) = &self.lowered.dispatch {
            let end = ranges.last().map_or(0, |(_, end)| *end);
            out.line(format!("if (out.descriptors > {end}u) s.fail<bool>(Trap::partition);"));
        }
    }

    /// Hands over the tasks of an AICPU.
    pub(super) fn submit(&self, out: &mut Writer) {
        let config = match &self.lowered.dispatch {
            DispatchPlan::RoundRobin => "in_turn(sink.num_aicpus, sink.my_aicpu_id)".to_owned(),
            DispatchPlan::Affinity { depth } => {
                format!("by_depth(sink.num_aicpus, sink.my_aicpu_id, {depth})")
            }
            DispatchPlan::StaticPartition(ranges) => {
                let all = ranges.iter().map(|(start, end)| format!("{{{start}u, {end}u}}"));
                list(out, "static const PartitionParams", "ranges", "{0, 0}", all);
                let count = ranges.len();
                out.line(format!(
                    "if (sink.num_aicpus > 1 && sink.num_aicpus < {count}) s.fail<bool>(Trap::partition);"
                ));
                format!("by_ranges(sink.num_aicpus, sink.my_aicpu_id, ranges, {count})")
            }
        };
        out.open("const auto task = [&](const Task& task, std::uint32_t function, const std::uint32_t* f) {");
        out.line("if (!hand_over<Tasks>(l, sink, task, function, f)) s.fail<bool>(Trap::stopped);");
        out.close("};");
        out.open("const auto ordered = [&](Ordered event, std::uint64_t ordinal) {");
        out.line("if (!sink.ordered(sink.user, event, ordinal)) s.fail<bool>(Trap::stopped);");
        out.close("};");
        out.line(format!("generate(l, s, {config}, task, ordered);"));
    }

    /// An expression over values and tables of a launch.
    fn expr(&self, source: &Source<'_>, e: &IntExpr) -> String {
        let expr = |e: &IntExpr| self.expr(source, e);
        let place = |span: Span| source.needs.borrow_mut().places.argument(span);
        let operand = |e: &IntExpr| Operand::new(expr(e), int_can_fail(e));
        let joined = |op: BinOp, a: Operand, b: Operand, span: Span| {
            let place = if can_fail(op, ScalarTy::I64) { place(span) } else { String::new() };
            a.joined(&b, (op, ScalarTy::I64), |a, b| operation(op, a, b, &place))
        };
        match &e.kind {
            IntExprKind::Const(n) => int(*n),
            IntExprKind::Param(id) => format!("l.{}", self.values[id.index()]),
            IntExprKind::TableLen(id) => {
                format!("static_cast<std::int64_t>(l.{}.size())", self.tables[id.index()])
            }
            IntExprKind::Table(id, at) => {
                format!("element(s, l.{}, {}{})", self.tables[id.index()], expr(at), place(e.span))
            }
            IntExprKind::Unary(UnOp::Neg, a) => {
                format!("s.template neg<std::int64_t>({}{})", expr(a), place(e.span))
            }
            IntExprKind::Unary(UnOp::Not, a) => format!("std::int64_t{{{} == 0}}", expr(a)),
            IntExprKind::Binary(op, a, b) => joined(*op, operand(a), operand(b), e.span).text,
            IntExprKind::Chain(first, rest) => {
                let join = |a: Operand, (op, b): &(BinOp, IntExpr)| {
                    joined(*op, a, operand(b), first.span.to(b.span))
                };
                rest.iter().fold(operand(first), join).text
            }
            IntExprKind::Choose(c, a, b) => {
                format!("({} != 0 ? {} : {})", expr(c), expr(a), expr(b))
            }
            // Verified launch-time expressions name none of these.
            IntExprKind::Var(_) | IntExprKind::Slot(_) | IntExprKind::Axis(_) => "0".to_owned(),
        }
    }
}

/// The program of a workload as constants, and the function that stands in place of an expander.
fn bytecode(program: &[u8]) -> String {
    let mut out = Writer::default();
    out.line("// The program of the workload, which AICPUs interpret. Emitted by PTO-WSP; do not edit.");
    out.line("#include \"pto/wsp/backend/npu/bytecode.hpp\"");
    out.line("");
    // Names at the end need not fill a word.
    let word = |of: &[u8]| of.iter().rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
    hex(&mut out, "wsp_program", program.chunks(4).map(word));
    out.line("");
    out.open(
        "extern \"C\" int wsp_expand(const pto::wsp::backend::npu::Launch* launch, const pto::wsp::backend::npu::DispatchConfig* config, \
         const pto::wsp::backend::npu::Sink* sink, pto::wsp::backend::npu::Outcome* outcome) {",
    );
    out.line("const auto* program = reinterpret_cast<const std::uint8_t*>(wsp_program);");
    let size = program.len();
    out.line(format!(
        "return pto::wsp::backend::npu::interpret(program, {size}, launch, config, sink, outcome);"
    ));
    out.close("}");
    out.finish()
}

/// An array of words.
pub(super) fn hex(out: &mut Writer, name: &str, words: impl Iterator<Item = u32>) {
    out.open(format!("static const std::uint32_t {name}[] = {{"));
    let words: Vec<String> = words.map(|word| format!("{word:#x}")).collect();
    words.chunks(12).for_each(|line| out.line(format!("{},", line.join(", "))));
    out.close("};");
}

fn operation(op: BinOp, a: &str, b: &str, place: &str) -> String {
    match op.is_comparison() || matches!(op, BinOp::And | BinOp::Or) {
        true => format!("std::int64_t{{{}}}", binary(op, ScalarTy::I64, a, b, place)),
        false => binary(op, ScalarTy::I64, a, b, place),
    }
}

/// A number; the smallest has no literal.
fn int(n: i64) -> String {
    if n == i64::MIN { "INT64_MIN".to_owned() } else { format!("std::int64_t{{{n}}}") }
}

/// An array of at least one element.
pub(super) fn list(out: &mut Writer, ty: &str, name: &str, none: &str, of: impl Iterator<Item = String>) {
    let all: Vec<String> = of.collect();
    let text = if all.is_empty() { none.to_owned() } else { all.join(", ") };
    out.line(format!("{ty} {name}[] = {{{text}}};"));
}
