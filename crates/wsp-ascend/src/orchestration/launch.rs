//! What a launch of a program is, as C++: its parameters, arrays and axes, and how arrays and values of a user become them.

use super::Source;
use super::expr::{Printer, Scope};
use crate::kernels::constant;
use crate::writer::Writer;
use wsp_core::{AxisId, CacheId, DType, ParamId, TensorId};
use wsp_ir::{
    AxisEnd, BindingSource, Derivation, Dim, Elem, ExprKind, Module, ParamSource, ShapeOwner, Storage,
    TileSize,
};

/// Declares `Launch`.
pub(super) fn declare(out: &mut Writer, source: &Source<'_>) {
    let (module, names) = (&source.plan.module, source.names);
    out.line("// Parameters, arrays and axes of a launch.");
    out.open("struct Launch {");
    for (at, param) in module.params.iter().enumerate() {
        out.line(format!("{} {}{{}};", param.ty.c_name(), names.param(ParamId(at as u32))));
    }
    for (id, tensor) in tensors(module) {
        out.line(format!("Tensor {}{{}};", names.tensor(id)));
        if is_integers(module, id) {
            out.line(format!("IntArray {}{{}};", names.integers(id)));
        }
        if matches!(tensor.storage, Storage::CacheKeys(_) | Storage::CacheValues(_)) {
            out.line(format!("bool {}_shares_pages = false;", names.tensor(id)));
        }
    }
    for at in 0..module.caches.len() {
        out.line(format!("Pages {}{{}};", names.cache(CacheId(at as u32))));
    }
    out.line("std::vector<Axis> axes;");
    for at in 0..module.axes.len() {
        out.line(format!("std::uint32_t iterations_of_{} = 0;", names.axis(AxisId(at as u32))));
    }
    for of in &source.plan.derived {
        let elem = of.kind.elem().c_name();
        out.line(format!("std::vector<{elem}> elements_of_{};", names.derived(of)));
        out.line(format!("IntArray {}{{}};", names.derived(of)));
    }
    if let Some(workload) = source.workload {
        workload.declare(out);
    }
    if source.walk.is_some() {
        out.line("Memory* memory = nullptr;");
    }
    out.line("std::uint64_t workspace_bytes = 0;");
    out.line("// Descriptors of each kernel that has some.");
    out.line("std::vector<std::pair<const char*, std::uint64_t>> kernels;");
    out.line("// Cores that automatic tiles are chosen for.");
    out.line(format!("std::uint32_t cores = {};", source.plan.options.max_blocks));
    out.close("};");
}

/// The function that gives a launch its values: `in` has arrays and settings by name.
pub(super) fn bind(out: &mut Writer, source: &Source<'_>) {
    out.line("// Gives a launch its arrays and parameters. False: `in` has said why.");
    out.open("template <class Inputs> bool bind(Launch& l, Inputs& in) {");
    out.line("[[maybe_unused]] Checked s;");
    if let Some(workload) = source.workload {
        workload.state(out);
    }
    arrays(out, source);
    lengths(out, source);
    out.line("if (!in.good()) return false;");
    parameters(out, source);
    out.line("if (!in.good(s)) return false;");
    if let Some(workload) = source.workload {
        workload.bind(out, source);
    }
    shapes(out, source);
    requirements(out, source);
    axes(out, source);
    derived(out, source);
    if let Some(table) = source.table {
        out.line("if (!in.good(s)) return false;");
        super::table::bind(out, source, table);
    }
    out.line("return in.good(s);");
    out.close("}");
}

/// Tensors that kernels of the program use.
fn tensors(module: &Module) -> impl Iterator<Item = (TensorId, &wsp_ir::Tensor)> {
    module.tensors.iter().enumerate().map(|(at, tensor)| (TensorId(at as u32), tensor))
}

/// Whether generators may read the elements of a tensor.
fn is_integers(module: &Module, id: TensorId) -> bool {
    let tensor = &module.tensors[id.index()];
    let whole = matches!(tensor.elem, Elem::Fixed(elem) if int_type(elem).is_some());
    tensor.storage == Storage::Launch && tensor.dims.len() == 1 && whole
}

fn int_type(elem: DType) -> Option<&'static str> {
    match elem {
        DType::I32 => Some("i32"),
        DType::U32 => Some("u32"),
        DType::I64 => Some("i64"),
        DType::U64 => Some("u64"),
        _ => None,
    }
}

/// The name by which a user gives a tensor.
pub(super) fn user_name(module: &Module, id: TensorId) -> Option<&str> {
    bound(module, BindingSource::Tensor(id))
}

fn bound(module: &Module, source: BindingSource) -> Option<&str> {
    let entry = module.entry.as_ref()?;
    let of = entry.launch.bindings.iter().find(|binding| binding.source == source)?;
    Some(entry.params[of.param as usize].name.as_str())
}

fn arrays(out: &mut Writer, source: &Source<'_>) {
    let (module, names) = (&source.plan.module, source.names);
    for (id, tensor) in tensors(module) {
        let Some(name) = user_name(module, id) else { continue };
        let elem = source.elem(id);
        let usage = source.plan.tensors[id.index()];
        let role = if usage.written { "Role::output" } else { "Role::input" };
        out.line(format!(
            "in.array(l.{}, {}, {}, {}, {role});",
            names.tensor(id),
            super::quoted(name),
            super::quoted(elem.map_or("", DType::name)),
            tensor.dims.len()
        ));
        if is_integers(module, id) {
            let ty = elem.and_then(int_type).unwrap_or("u32");
            out.line(format!(
                "in.integers(l.{}, l.{}, IntType::{ty});",
                names.integers(id),
                names.tensor(id)
            ));
        }
    }
    for (at, cache) in module.caches.iter().enumerate() {
        let id = CacheId(at as u32);
        let Some(name) = bound(module, BindingSource::Cache(id)) else { continue };
        let used = |id: TensorId| source.plan.tensors[id.index()];
        let values = used(cache.values);
        let elem = source.elem(cache.keys).map_or("", DType::name);
        out.line(format!(
            "in.cache(l.{}, l.{}, l.{}, {}, {}, {});",
            names.cache(id),
            names.tensor(cache.keys),
            names.tensor(cache.values),
            super::quoted(name),
            super::quoted(elem),
            values.read || values.written
        ));
        for (tensor, used) in [(cache.keys, used(cache.keys)), (cache.values, values)] {
            if used.written {
                let (tensor, cache) = (names.tensor(tensor), names.cache(id));
                out.line(format!("l.{tensor}_shares_pages = l.{cache}.shares_pages();"));
            }
        }
    }
}

/// Lengths that are given beside the first cache.
fn lengths(out: &mut Writer, source: &Source<'_>) {
    let (module, names) = (&source.plan.module, source.names);
    let Some(id) = module.tensor_named("kv_lens").filter(|id| is_integers(module, *id)) else { return };
    if let (false, Some(user)) = (module.caches.is_empty(), user_name(module, id)) {
        let cache = names.cache(CacheId(0));
        out.line(format!("in.agree(l.{}, l.{cache}, {});", names.integers(id), super::quoted(user)));
    }
}

fn parameters(out: &mut Writer, source: &Source<'_>) {
    let (module, names) = (&source.plan.module, source.names);
    let printer = printer(source);
    for (at, param) in module.params.iter().enumerate() {
        let id = ParamId(at as u32);
        let to = format!("l.{}", names.param(id));
        let ty = param.ty.c_name();
        match &param.source {
            ParamSource::Shape { of, dim } => {
                let places = places(source, id, *of, *dim).join(", ");
                out.line(format!("{to} = in.extent({}, {{{places}}});", super::quoted(&param.name)));
            }
            ParamSource::Set { default } => {
                let value = printer.expr(default);
                let users: Vec<String> = module.user_names(id).map(super::quoted).collect();
                out.line(format!(
                    "{to} = in.template set<{ty}>({{{}}}, s, [&] {{ return {value}; }});",
                    users.join(", ")
                ));
            }
            ParamSource::Derived(value) => out.line(format!("{to} = {};", printer.expr(value))),
            ParamSource::Entry => {
                let users: Vec<String> = module.user_names(id).map(super::quoted).collect();
                out.line(format!("{to} = in.template need<{ty}>({{{}}}, s);", users.join(", ")));
            }
        }
        if let Some(Some(value)) = source.known.params.get(at)
            && source.fixed.contains(&id)
        {
            let value = constant(*value, param.ty);
            out.line(format!(
                "in.is_made_for({}, {to}, static_cast<{ty}>({value}));",
                super::quoted(&param.name)
            ));
        }
    }
}

/// Where an extent may be read: in the shape that names it first, then in others.
fn places(source: &Source<'_>, id: ParamId, of: ShapeOwner, dim: u32) -> Vec<String> {
    let (module, names) = (&source.plan.module, source.names);
    let place = |owner: ShapeOwner, dim: u32| match owner {
        ShapeOwner::Tensor(tensor) => {
            user_name(module, tensor).map(|_| format!("in.extent_of(l.{}, {dim})", names.tensor(tensor)))
        }
        ShapeOwner::Cache(cache) => Some(format!("in.extent_of(l.{}, {dim})", names.cache(cache))),
    };
    let mut all: Vec<String> = place(of, dim).into_iter().collect();
    for (tensor, declared) in tensors(module) {
        let owner = match declared.storage {
            Storage::CacheKeys(cache) => ShapeOwner::Cache(cache),
            _ => ShapeOwner::Tensor(tensor),
        };
        for (at, named) in declared.dims.iter().enumerate() {
            let is = matches!(named, Dim::Expr(e) if matches!(e.kind, ExprKind::Param(of) if of == id));
            let text = if is { place(owner, at as u32) } else { None };
            all.extend(text.filter(|text| !all.contains(text)));
        }
    }
    all
}

/// Extents of every tensor, compared with those of its array.
fn shapes(out: &mut Writer, source: &Source<'_>) {
    let (module, names) = (&source.plan.module, source.names);
    let printer = printer(source);
    for (at, cache) in module.caches.iter().enumerate() {
        let dims = &module.tensors[cache.keys.index()].dims;
        for (dim, of) in dims.iter().enumerate() {
            if let Dim::Expr(e) = of {
                let cache = names.cache(CacheId(at as u32));
                out.line(format!("in.has_extent(l.{cache}, {dim}, {});", printer.expr(e)));
            }
        }
    }
    for (id, tensor) in tensors(module) {
        if user_name(module, id).is_none() || tensor.storage != Storage::Launch {
            continue;
        }
        let extents: Vec<String> = tensor.dims.iter().map(|dim| extent(source, &printer, dim)).collect();
        out.line(format!(
            "in.shape(l.{}, {{{}}}, {});",
            names.tensor(id),
            extents.join(", "),
            source.elem(id).map_or(0, DType::size)
        ));
        if is_integers(module, id) {
            out.line(format!("l.{}.length = l.{}.extents[0];", names.integers(id), names.tensor(id)));
        }
    }
}

/// The extent of a dimension that a launch decides.
pub(super) fn extent(source: &Source<'_>, printer: &Printer<'_>, dim: &Dim) -> String {
    match dim {
        Dim::Expr(e) => {
            format!("s.template cast<std::uint32_t>({}{})", printer.expr(e), printer.place(e.span))
        }
        Dim::Axis(axis) => format!("l.iterations_of_{}", source.names.axis(*axis)),
        Dim::Dynamic => "0".to_owned(),
    }
}

fn requirements(out: &mut Writer, source: &Source<'_>) {
    let printer = printer(source);
    for (at, of) in source.plan.module.requirements.iter().enumerate() {
        out.line(format!("in.require({}, s, [&] {{ return {}; }});", at + 1, printer.expr(&of.cond)));
    }
}

fn axes(out: &mut Writer, source: &Source<'_>) {
    let (module, names) = (&source.plan.module, source.names);
    let printer = printer(source);
    out.line(format!("l.axes.assign({}, Axis{{}});", module.axes.len()));
    for (at, axis) in module.axes.iter().enumerate() {
        out.open(format!("{{  // {}", names.axis(AxisId(at as u32))));
        out.line(format!("Axis& axis = l.axes[{at}];"));
        out.line(format!("axis.start = {};", printer.expr(&axis.start)));
        if let AxisEnd::Expr(end) = &axis.end {
            out.line("axis.dynamic = false;");
            let place = printer.place(end.span);
            out.line(format!("axis.extent = s.extent(axis.start, {}{place});", printer.expr(end)));
        }
        match axis.tile.as_ref().map(|tile| &tile.size) {
            None => {}
            Some(TileSize::Auto) => out.line("axis.tiles = Axis::Tiles::automatic;"),
            Some(TileSize::Fixed(size)) => {
                out.line("axis.tiles = Axis::Tiles::fixed;");
                let place = printer.place(size.span);
                out.line(format!("axis.fixed = s.tile({}{place});", printer.expr(size)));
            }
        }
        for (_, last) in source.plan.last.iter().filter(|(of, _)| of.index() == at) {
            out.line(format!("axis.last = {};", printer.expr(last)));
        }
        out.close("}");
    }
}

fn derived(out: &mut Writer, source: &Source<'_>) {
    let printer = printer(source);
    for of in &source.plan.derived {
        let name = source.names.derived(of);
        let (make, ty) = match of.kind {
            Derivation::Starts => ("starts", "u64"),
            Derivation::LongestFirst => ("longest_first", "u32"),
        };
        let last = of.last.map_or("UINT32_MAX".to_owned(), |axis| format!("l.axes[{}].last", axis.0));
        out.line(format!(
            "l.elements_of_{name} = generator::{make}(s, {}, {last});",
            printer.launch_array(of.of)
        ));
        out.line(format!(
            "l.{name} = IntArray{{l.elements_of_{name}.data(), l.elements_of_{name}.size(), IntType::{ty}}};"
        ));
    }
}

/// The printer of expressions over parameters.
pub(super) fn printer<'a>(source: &'a Source<'a>) -> Printer<'a> {
    Printer { module: &source.plan.module, names: source.names, scope: Scope::Launch, needs: source.needs }
}

/// The name by which a user gives a cache.
pub(super) fn user_name_of_cache(module: &Module, cache: usize) -> Option<&str> {
    bound(module, BindingSource::Cache(CacheId(cache as u32)))
}
