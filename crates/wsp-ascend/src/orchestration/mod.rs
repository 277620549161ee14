//! Orchestration of programs of spaces: descriptor generators as C++ that hands their tasks to a `TaskSink`.
//!
//! The text holds no array and no extent that a launch decides: it is as long as the program, whatever it generates.
//! 1. `launch`: parameters, arrays and axes as a struct, and the function that binds them;
//! 2. `body`: generators and helpers with the arithmetic of a plain run (`expr`);
//! 3. `regions`: what the tasks of a kernel touch, by descriptor;
//! 4. `submit`: for each kernel a function that submits its tasks.

mod body;
mod code;
mod consumers;
mod expr;
mod fixed;
mod launch;
mod memory;
mod names;
mod order;
mod regions;
mod submit;
mod table;
mod walk;
mod workload;

use crate::kernels::{ArgumentKind, ArrayArgument, KernelSource, codes};
use crate::places::{self, Places};
use crate::writer::{Writer, quoted};
use code::Code;
use expr::Needs;
use names::Names;
use std::cell::RefCell;
pub(crate) use walk::{Walk, WalkedKernel};
pub(crate) use workload::Workload;
use wsp_backend::{Expansion, LaunchTable};
use wsp_core::policy::{GateScope, PoolSizes, Ready};
use wsp_core::{AxisId, DType, FuncId, ParamId, TensorId, TierSetId};
use wsp_diag::Diagnostic;
use wsp_ir::{AxisEnd, Dim, Elem, Module, Storage};
use wsp_ordered::OrderedSet;
use wsp_plan::{DeviceModel, LoweredPlan};
use wsp_tile::Known;

/// A program under way.
struct Source<'a> {
    plan: &'a LoweredPlan,
    names: &'a Names,
    known: Known<'a>,
    /// Parameters whose values stand in the text of kernels, where they are known.
    fixed: &'a OrderedSet<ParamId>,
    needs: &'a RefCell<Needs>,
    /// What generates the tasks, if it is no generator of the program.
    workload: Option<&'a Workload<'a>>,
    /// The tasks themselves, if nothing generates them.
    table: Option<&'a LaunchTable>,
    /// A graph that AICPUs walk.
    walk: Option<&'a Walk>,
    /// Whether generators are functions of the text.
    has_generators: bool,
}

/// What generates the tasks of a program, if its generators do not, and how.
pub(crate) struct Generated<'a> {
    pub(crate) workload: Option<&'a Workload<'a>>,
    pub(crate) walk: Option<&'a Walk>,
    pub(crate) expansion: &'a Expansion,
}

impl Source<'_> {
    /// The element type of a tensor, where it is known.
    fn elem(&self, id: TensorId) -> Option<DType> {
        match self.plan.module.tensors[id.index()].elem {
            Elem::Fixed(elem) => Some(elem),
            Elem::Of(of) => self.known.elems.get(of.index()).copied().flatten(),
        }
    }
}

/// A kernel of a program, as C++.
pub(crate) struct Made {
    /// Which.
    pub(crate) kernel: FuncId,
    /// Its text.
    pub(crate) source: KernelSource,
}

/// The file of a table of tasks.
const TABLE: &str = "table.inc";

/// Orchestration as files.
pub(crate) struct Orchestration {
    /// `program.hpp`: the launch.
    pub(crate) header: String,
    /// `orchestration.cpp`.
    pub(crate) source: String,
    /// `places.hpp`.
    pub(crate) places: String,
    /// What it includes, if it does: a name and the text.
    pub(crate) included: Option<(&'static str, String)>,
}

/// The name by which a user gives a tensor: of a cache its pages, `kv.k`.
pub(crate) fn name_of_tensor(module: &Module, id: TensorId) -> Option<String> {
    let cache = |cache: wsp_core::CacheId, field: &str| {
        launch::user_name_of_cache(module, cache.index()).map(|name| format!("{name}.{field}"))
    };
    match module.tensors[id.index()].storage {
        Storage::CacheKeys(of) => cache(of, "k"),
        Storage::CacheValues(of) => cache(of, "v"),
        _ => launch::user_name(module, id).map(str::to_owned),
    }
}

/// The orchestration of a program whose kernels are these.
///
/// # Errors
/// What has no form in C++.
pub(crate) fn emit(
    plan: &LoweredPlan,
    known: Known<'_>,
    kernels: &[Made],
    &Generated { workload, walk, expansion }: &Generated<'_>,
) -> Result<Orchestration, Vec<Diagnostic>> {
    let refused = refused(plan);
    if !refused.is_empty() {
        return Err(refused);
    }
    let names = Names::new(plan);
    let needs = RefCell::new(Needs { places: Places::new(plan.sources.clone()), ..Needs::default() });
    let fixed = fixed::fixed(plan, kernels);
    let table = if let Expansion::Table(table) = expansion { Some(table) } else { None };
    let has_generators = workload.is_none() && walk.is_none() && *expansion == Expansion::Loops;
    let source = Source {
        plan,
        names: &names,
        known,
        fixed: &fixed,
        needs: &needs,
        workload,
        table,
        walk,
        has_generators,
    };
    let code = match (expansion, workload, walk) {
        (Expansion::Bytecode, None, None) => Some(code::code(&source)?),
        _ => None,
    };
    let header = header(&source, kernels);
    let included = match (table, workload, &code) {
        (Some(table), ..) => {
            Some((TABLE, table::text(&source, table, kernels).map_err(|fault| vec![fault])?))
        }
        (None, Some(workload), _) => Some(workload.expander.clone()),
        (None, None, Some(code)) => Some((code::FILE, code.text(&source))),
        (None, None, None) => walk.map(|walk| (walk::FILE, walk.included())),
    };
    let text = orchestration(&source, kernels, code.as_ref(), included.as_ref().map(|(file, _)| *file));
    let Needs { found, places, .. } = needs.into_inner();
    let places = places.text();
    if found.is_empty() { Ok(Orchestration { header, source: text, places, included }) } else { Err(found) }
}

/// What programs may have that is not emitted.
fn refused(plan: &LoweredPlan) -> Vec<Diagnostic> {
    let module = &plan.module;
    let is_dynamic = |axis: &AxisId| matches!(module.axes[axis.index()].end, AxisEnd::Dynamic);
    let other = |(at, dim): (usize, &Dim)| matches!(dim, Dim::Axis(axis) if at != 1 && is_dynamic(axis));
    let tensors = module.tensors.iter().enumerate();
    let used = |at: usize| plan.tensors[at].read || plan.tensors[at].written;
    tensors
        .filter(|(at, tensor)| used(*at) && tensor.dims.iter().enumerate().any(other))
        .map(|(_, tensor)| {
            let message = format!(
                "a dimension of `{}` has an extent for each index, and it is not the second",
                tensor.name
            );
            Diagnostic::error(codes::NOT_EMITTED, message)
                .at(tensor.span, "declared here")
                .help("give it the longest extent, as a parameter")
        })
        .collect()
}

fn header(source: &Source<'_>, kernels: &[Made]) -> String {
    let mut out = Writer::default();
    out.line("// A launch of the program: what it is given, and how. Emitted by PTO-WSP; do not edit.");
    out.line("#pragma once");
    out.line("");
    let builds_on = if source.workload.is_some() { "workload" } else { "launch" };
    let builds_on = if source.table.is_some() { "table" } else { builds_on };
    out.line(format!("#include \"pto/wsp/backend/npu/{builds_on}.hpp\""));
    out.line(format!("#include {}", quoted(places::FILE)));
    out.line("");
    out.line("namespace program {");
    out.line("");
    out.line("using namespace pto::wsp::backend::npu;");
    out.line("using namespace pto::wsp::backend::npu::generator;");
    out.line("");
    launch::declare(&mut out, source);
    out.line("");
    policy(&mut out, source, kernels);
    out.line("");
    out.line("// Runs the generators without tasks, and gives every array that a launch needs its size.");
    out.line("bool plan(Launch& l, Memory& memory, Trapped& trap);");
    out.line("");
    out.line("// Hands over the tasks of one AICPU. False: a trap, or the sink has ended the run.");
    out.line("bool orchestrate(const Launch& l, const TaskSink& sink, Trapped& trap);");
    out.line("");
    if source.table.is_some() {
        out.line("// An array that the tasks follow from.");
        out.line("IntArray made_for(std::size_t at);");
        out.line("");
    }
    launch::bind(&mut out, source);
    out.line("");
    outputs(&mut out, source);
    out.line("");
    parameters(&mut out, source);
    out.line("");
    out.line("}  // namespace program");
    out.finish()
}

/// What the schedule says of the run.
fn policy(out: &mut Writer, source: &Source<'_>, kernels: &[Made]) {
    let plan = source.plan;
    let gate = |scope: GateScope| {
        let gate = plan.policy.gates.iter().find(|gate| gate.scope == scope);
        gate.map_or(0, |gate| gate.capacity)
    };
    let device = DeviceModel::default();
    let (cube, vector) = match plan.policy.pools {
        PoolSizes::ByUnit { vector, cube } => (cube, vector),
        PoolSizes::Shared => (device.aic, device.aiv),
    };
    let bytes = kernels.iter().map(|made| submit::exchanged_bytes(&made.source)).max().unwrap_or(0);
    let tensors = kernels.iter().map(|made| submit::exchanged(&made.source).count()).max().unwrap_or(0);
    out.line("// What the schedule says of the run, 0 is no limit; and what a descriptor needs for the tensors that its tasks exchange tiles through.");
    out.open("struct Policy {");
    for (ty, name, value) in [
        ("std::uint16_t", "cube_cores", cube.to_string()),
        ("std::uint16_t", "vector_cores", vector.to_string()),
        ("std::uint32_t", "window", plan.policy.window.map_or(1024, |window| window.capacity).to_string()),
        ("std::uint32_t", "streams", plan.policy.streams.unwrap_or(0).to_string()),
        ("std::uint32_t", "batch", plan.policy.batch.unwrap_or(1).max(1).to_string()),
        ("std::uint32_t", "gate_global", gate(GateScope::Global).to_string()),
        ("std::uint32_t", "gate_per_stream", gate(GateScope::PerStream).to_string()),
        ("std::uint32_t", "gate_per_pool", gate(GateScope::PerPool).to_string()),
        ("bool", "by_priority", (plan.policy.ready == Ready::Priority).to_string()),
        (
            "bool",
            "reads_results",
            (source.walk.is_some() || kernels.iter().any(|made| walked(plan, made))).to_string(),
        ),
        ("std::uint64_t", "descriptor_bytes", bytes.to_string()),
        ("std::uint32_t", "descriptor_tensors", tensors.to_string()),
    ] {
        out.line(format!("static constexpr {ty} {name} = {value};"));
    }
    out.close("};");
}

/// Whether elements that tasks write decide which tasks a kernel has.
pub(crate) fn walked(plan: &LoweredPlan, made: &Made) -> bool {
    made.source.arguments.iter().any(|argument| match &argument.kind {
        ArgumentKind::Array { array: ArrayArgument::Tensor(id), walked: true, .. } => {
            plan.tensors[id.index()].written
        }
        _ => false,
    })
}

/// The arrays that a launch writes, by the names of a user.
fn outputs(out: &mut Writer, source: &Source<'_>) {
    let plan = source.plan;
    out.line("// Calls `f` with each array that the launch writes, its elements, its memory, and whether it has pages.");
    out.open("template <class F> void outputs([[maybe_unused]] const Launch& l, [[maybe_unused]] F f) {");
    for (at, tensor) in plan.module.tensors.iter().enumerate() {
        let id = TensorId(at as u32);
        let name = source.names.tensor(id);
        match (launch::user_name(&plan.module, id), &tensor.storage) {
            // One array of a user may have several names in the program.
            (Some(user), Storage::Launch) if plan.tensors[at].written && plan.memory[at] == id => {
                let elem = source.elem(id).map_or("", DType::name);
                out.line(format!("f({}, {}, l.{name}, false);", quoted(user), quoted(elem)));
            }
            _ => {}
        }
    }
    for (at, cache) in plan.module.caches.iter().enumerate() {
        for (tensor, field) in [(cache.keys, "k"), (cache.values, "v")] {
            let user = launch::user_name_of_cache(&plan.module, at);
            if let (true, Some(user)) = (plan.tensors[tensor.index()].written, user) {
                let elem = source.elem(tensor).map_or("", DType::name);
                let (name, user) = (source.names.tensor(tensor), quoted(&format!("{user}.{field}")));
                out.line(format!("f({user}, {}, l.{name}, true);", quoted(elem)));
            }
        }
    }
    out.close("}");
}

/// The parameters of a launch, by name.
fn parameters(out: &mut Writer, source: &Source<'_>) {
    out.line("// Calls `f` with each parameter.");
    out.open("template <class F> void parameters([[maybe_unused]] const Launch& l, [[maybe_unused]] F f) {");
    for (at, param) in source.plan.module.params.iter().enumerate() {
        let name = source.names.param(ParamId(at as u32));
        out.line(format!("f({}, l.{name});", quoted(&param.name)));
    }
    if let Some(workload) = source.workload {
        workload.parameters(out, source);
    }
    out.close("}");
}

/// Functions of all kernels, helpers and generators, and what calls them.
fn orchestration(
    source: &Source<'_>,
    kernels: &[Made],
    code: Option<&Code>,
    included: Option<&str>,
) -> String {
    let (plan, names, needs) = (source.plan, source.names, source.needs);
    let submit = submit::Kernels { plan, names, needs };
    let mut parts = Vec::new();
    for Made { kernel, source } in kernels {
        parts.push(submit.function(*kernel, source));
    }
    parts.push(consumers::of_kernels(source, kernels));
    let all: Vec<FuncId> = kernels.iter().map(|made| made.kernel).collect();
    let mut grow = Writer::default();
    regions::grow(&mut grow, plan, names, &all, needs);
    parts.push(grow.finish());
    let mut generators = Vec::new();
    let stages = if source.has_generators { &plan.stages[..] } else { &[] };
    for (at, stage) in stages.iter().enumerate() {
        let function = &plan.module.functions[stage.generator.index()];
        generators.push(body::function(&plan.module, names, function, &format!("generate_{at}"), needs));
    }
    // Helpers call helpers, and ask for tiers.
    let mut helpers = Vec::new();
    let mut printed = OrderedSet::new();
    loop {
        let next = needs.borrow().helpers.iter().find(|id| !printed.contains(*id)).copied();
        let Some(next) = next else { break };
        printed.insert(next);
        let function = &plan.module.functions[next.index()];
        helpers.push((next, body::function(&plan.module, names, function, names.function(next), needs)));
    }
    let tiers: Vec<TierSetId> = needs.borrow().tiers.iter().copied().collect();
    let mut out = Writer::default();
    opening(&mut out, kernels, included);
    for set in tiers {
        consumers::tier_set(&mut out, source, set);
    }
    let mut text = out.finish();
    for (id, _) in &helpers {
        let function = &plan.module.functions[id.index()];
        text.push_str(&format!("{};\n", body::head(&names.within(function), function, names.function(*id))));
    }
    let helpers = helpers.into_iter().map(|(_, text)| text);
    for part in helpers.chain(parts).chain(generators) {
        text.push_str(&part);
        text.push('\n');
    }
    let mut out = Writer::default();
    runs(&mut out, source, kernels, code);
    text + &out.finish()
}

fn opening(out: &mut Writer, kernels: &[Made], included: Option<&str>) {
    out.line("// Generates the tasks of a launch. Emitted by PTO-WSP; do not edit.");
    out.line("#include \"program.hpp\"");
    out.line("#include \"kernel_ids.h\"");
    out.line("");
    out.line("#ifndef __gm__");
    out.line("#define __gm__");
    out.line("#endif");
    out.line("// Elements that orchestration does not look at.");
    out.line("struct half;");
    out.line("struct bfloat16_t;");
    for Made { source, .. } in kernels.iter().filter(|made| !made.source.tasks.is_empty()) {
        out.line(format!("#include \"kernels/{}.hpp\"", source.name));
    }
    out.line("");
    if let Some(included) = included {
        out.line(format!("#include {}", quoted(included)));
        out.line("");
    }
    out.line("namespace program {");
    out.line("");
}

/// What generates the descriptors of a launch, with the functions that it is given.
fn generate(out: &mut Writer, source: &Source<'_>, code: Option<&Code>) {
    let (plan, module) = (source.plan, &source.plan.module);
    out.open("struct Tasks {");
    if source.workload.is_none() && source.table.is_none() && source.walk.is_none() {
        out.line("static std::uint32_t kernel_of(std::uint32_t descriptor, const std::uint32_t* f) { return program::kernel_of(descriptor, f); }");
    }
    out.open("static void grow(const Launch& l, Checked& s, std::uint32_t kernel, const std::uint32_t* f, std::uint32_t* iterations) {");
    out.line("program::grow(l, s, kernel, f, iterations);");
    out.close("}");
    out.open("static bool submit(const Launch& l, const TaskSink& sink, std::uint64_t ordinal, std::uint32_t kernel, const std::uint32_t* f, const Place& place) {");
    out.line("return program::submit(l, sink, ordinal, kernel, f, place);");
    out.close("}");
    out.close("};");
    out.line("");
    match (source.table, source.workload, code) {
        (Some(_), ..) => return,
        (None, Some(workload), _) => return workload.generate(out, source),
        (None, None, Some(code)) => return code.generate(out, source),
        (None, None, None) => {}
    }
    if let Some(walk) = source.walk {
        return walk.bind(out, source);
    }
    out.line("// Runs every generator.");
    out.open("template <class Out> static void generate(const Launch& l, Planner& s, Out& out) {");
    for (at, stage) in plan.stages.iter().enumerate() {
        let axes: Vec<String> =
            module.spaces[stage.space.index()].axes.iter().map(|axis| axis.0.to_string()).collect();
        out.line(format!("s.enter({at}, {{{}}});", axes.join(", ")));
        out.line(format!("generate_{at}(l, s, out);"));
    }
    out.close("}");
    out.line("");
}

/// The functions that are called from outside.
fn runs(out: &mut Writer, source: &Source<'_>, kernels: &[Made], code: Option<&Code>) {
    let plan = source.plan;
    let (names, module) = (source.names, &plan.module);
    generate(out, source, code);
    out.open("bool plan(Launch& l, Memory& memory, Trapped& trap) {");
    out.line("Planner s(l.axes, l.cores);");
    out.line(format!("Count<Launch, Tasks> out(l.axes.size(), {});", module.functions.len()));
    match (source.table, source.workload) {
        (Some(_), _) => out.line("table::count(tasks, l, s, out);"),
        (None, Some(workload)) => workload.count(out),
        // How many tasks there are the machine alone finds out.
        (None, None) if source.walk.is_some() => out.line("l.memory = &memory;"),
        (None, None) => out.line("generate(l, s, out);"),
    }
    out.line("l.kernels.clear();");
    for made in kernels {
        let (at, name) = (made.kernel.0, quoted(&module.functions[made.kernel.index()].name));
        out.line(format!("if (out.kernels[{at}] > 0) l.kernels.emplace_back({name}, out.kernels[{at}]);"));
    }
    match source.table {
        Some(table) => table::sizes(out, table),
        None => out.line("l.workspace_bytes = s.workspace().bytes();"),
    }
    for (at, axis) in module.axes.iter().enumerate() {
        if matches!(axis.end, AxisEnd::Expr(_)) && memory::is_dimension(plan, at) {
            let name = names.axis(AxisId(at as u32));
            out.line(format!("l.iterations_of_{name} = s.iterations({at});"));
        }
    }
    for (_, axis) in regions::ragged(plan) {
        out.line(format!("l.iterations_of_{} = out.iterations[{}];", names.axis(axis), axis.0));
    }
    memory::memory_of(out, source);
    out.line("trap = s.trapped();");
    out.line("return !s.failed() && memory.good();");
    out.close("}");
    out.line("");
    out.open("bool orchestrate(const Launch& l, const TaskSink& sink, Trapped& trap) {");
    out.line("Planner s(l.axes, l.cores);");
    match (source.table, source.workload) {
        (Some(_), _) => out.line("table::submit<Tasks>(tasks, l, s, sink);"),
        (None, Some(workload)) => workload.submit(out),
        (None, None) if source.walk.is_some() => {
            source.walk.into_iter().for_each(|walk| walk.submit(out, source));
        }
        (None, None) => {
            out.line("Submit<Launch, Tasks> out(sink);");
            out.line("generate(l, s, out);");
        }
    }
    out.line("trap = s.trapped();");
    out.line("return !s.failed();");
    out.close("}");
    out.line("");
    out.line("}  // namespace program");
}
