//! The host entry: its parameters and `PTO_LAUNCH`.

use super::Sema;
use super::codes;
use super::diags::{Reported, Res};
use super::globals::GlobalDecl;
use super::names::{Named, Symbol, quoted, with_suggestion};
use super::types::{Head, dtype_of};
use super::walk;
use crate::ast::{self, ExprKind, FieldInit, Ident, Indirection, StmtKind};
use wsp_core::{DType, SpaceId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Binding, BindingSource, Entry, EntryParam, EntryTy, Launch, LaunchTarget, ScalarTy};

/// The host entry, before its launch is lowered.
pub(crate) struct EntryDecl<'a> {
    /// The function.
    pub(crate) decl: &'a ast::Function,
    params: Vec<EntryParam>,
    /// Element types of the caches among them, where they are given.
    of_caches: Vec<Option<DType>>,
    target: Option<&'a ast::Expr>,
    bindings: Vec<BindingDecl<'a>>,
    launch: Span,
}

/// `.inner = param`
#[derive(Clone)]
struct BindingDecl<'a> {
    inner: &'a Ident,
    param: usize,
}

impl<'a> Sema<'a> {
    /// Finds the function that launches, and what it binds.
    pub(crate) fn find_entry(&mut self, file: &'a ast::File) {
        for item in &file.items {
            let ast::Item::Function(decl) = item else { continue };
            let mut launches = Vec::new();
            walk::each_expr(&decl.body, &mut |e| {
                if matches!(&e.kind, ExprKind::Call { callee, .. } if callee.as_str() == "PTO_LAUNCH") {
                    launches.push(e);
                }
            });
            let Some(launch) = launches.first() else { continue };
            if let Some(other) = launches.get(1) {
                self.two_entries("an entry launches once", other.span, launch.span);
            }
            match &self.entry {
                Some(first) => {
                    let first = first.decl.name.span;
                    self.two_entries("two functions launch", decl.name.span, first);
                }
                None => self.read_entry(decl, launch),
            }
        }
    }

    fn two_entries(&mut self, message: &str, span: Span, first: Span) {
        self.fail(
            Diagnostic::error(codes::TWO_ENTRIES, message)
                .at(span, "again here")
                .label(first, "first here")
                .help("chain several spaces with `PTO_GRAPH` and launch that; write other programs to other files"),
        );
    }

    fn read_entry(&mut self, decl: &'a ast::Function, launch: &'a ast::Expr) {
        let mut entry = EntryDecl {
            decl,
            params: Vec::new(),
            of_caches: Vec::new(),
            target: None,
            bindings: Vec::new(),
            launch: launch.span,
        };
        if decl.ret.name() != Some("void") || !decl.template.is_empty() {
            self.fail(
                Diagnostic::error(codes::BAD_SIGNATURE, "the host entry is a plain `void` function")
                    .at(decl.ret.span, "this is something else"),
            );
        }
        for param in &decl.params {
            if let Some(earlier) = entry.params.iter().find(|p| p.name == param.name.as_str()) {
                let earlier = earlier.span;
                self.redefined(param.name.as_str(), param.name.span, earlier);
            }
            let ty = self.entry_type(&param.ty).unwrap_or(EntryTy::Tensor(None));
            let is_cache = ty == EntryTy::PagedKvCache;
            entry.of_caches.push(if is_cache {
                self.cache_elements(&param.ty).unwrap_or(None)
            } else {
                None
            });
            entry.params.push(EntryParam { name: param.name.name.to_string(), ty, span: param.name.span });
        }
        if let ExprKind::Call { args, .. } = &launch.kind {
            self.read_launch(&mut entry, args, launch.span);
        }
        self.check_entry_body(&decl.body);
        self.entry = Some(entry);
    }

    fn check_entry_body(&mut self, body: &ast::Block) {
        for stmt in &body.stmts {
            match &stmt.kind {
                StmtKind::Empty => {}
                StmtKind::Block(block) => self.check_entry_body(block),
                StmtKind::Expr(ast::Expr { kind: ExprKind::Call { callee, .. }, .. })
                    if callee.as_str() == "PTO_LAUNCH" => {}
                _ => {
                    self.fail(
                        Diagnostic::error(codes::ENTRY_BODY, "the host entry only launches")
                            .at(stmt.span, "nothing would run this")
                            .help(
                                "compute in `PTO_DESCRIPTOR_GEN`, or declare `PTO_PARAM` and `const` values",
                            ),
                    );
                }
            }
        }
    }

    fn read_launch(&mut self, entry: &mut EntryDecl<'a>, args: &'a [ast::Expr], span: Span) {
        let fields: &[FieldInit] = match args {
            [_, ast::Expr { kind: ExprKind::Init { ty: None, fields }, .. }] => fields,
            [_, ast::Expr { kind: ExprKind::Braces(list), .. }] if list.is_empty() => &[],
            [_] => &[],
            _ => {
                self.fail(
                    Diagnostic::error(
                        codes::BAD_LAUNCH,
                        "`PTO_LAUNCH` takes a space or graph and what it works on",
                    )
                    .at(span, "other arguments")
                    .help("write `PTO_LAUNCH(Space, { .q = q, … })`"),
                );
                return;
            }
        };
        entry.target = args.first();
        for field in fields {
            let param =
                field.value.as_name().and_then(|n| entry.params.iter().position(|p| p.name == n.as_str()));
            let Some(param) = param else {
                self.unknown_binding(entry, field);
                continue;
            };
            if let Some(earlier) = entry.bindings.iter().find(|b| b.inner.name == field.field.name) {
                let d = Diagnostic::error(
                    codes::DUPLICATE_BINDING,
                    format!("`{}` is bound twice", field.field.as_str()),
                )
                .at(field.field.span, "again here")
                .label(earlier.inner.span, "first here");
                self.fail(d);
                continue;
            }
            entry.bindings.push(BindingDecl { inner: &field.field, param });
        }
    }

    fn unknown_binding(&mut self, entry: &EntryDecl<'_>, field: &FieldInit) {
        let names: Vec<&str> = entry.params.iter().map(|p| p.name.as_str()).collect();
        let ident = field.value.as_name();
        let near = ident.as_ref().and_then(|n| self.suggest(n.as_str(), names.iter().copied()));
        let message = match &ident {
            Some(ident) => format!("the entry has no parameter `{}`", ident.as_str()),
            None => "a launch argument is a parameter of the entry".to_owned(),
        };
        let d = Diagnostic::error(codes::BAD_BINDING, message).at(field.value.span, "not a parameter");
        let d = if names.is_empty() { d } else { d.note(format!("its parameters: {}", quoted(&names))) };
        self.fail(with_suggestion(d, near));
    }

    fn entry_type(&mut self, ty: &ast::Type) -> Res<EntryTy> {
        let by_value = ty.indirection != Indirection::Pointer;
        match self.head(ty)? {
            Head::Tensor if by_value && ty.args.is_empty() => Ok(EntryTy::Tensor(None)),
            Head::Tensor if by_value => match ty.element() {
                Some(t) => match self.head(&t)? {
                    Head::Element(dtype) => Ok(EntryTy::Tensor(Some(dtype))),
                    Head::Scalar(scalar) => Ok(EntryTy::Tensor(Some(dtype_of(scalar)))),
                    _ => Err(self.not_allowed(
                        t.span,
                        "not a type of elements",
                        "for instance `Tensor<float>`",
                    )),
                },
                None => Err(self.not_allowed(
                    ty.span,
                    "a tensor has one element type",
                    "for instance `Tensor<float>`",
                )),
            },
            Head::Cache if by_value => Ok(EntryTy::PagedKvCache),
            Head::Scalar(scalar) if by_value => Ok(EntryTy::Scalar(scalar)),
            Head::Scalar(scalar) if scalar.is_int() => Ok(EntryTy::Array(scalar)),
            Head::Scalar(scalar) if scalar.is_float() => Ok(EntryTy::Tensor(Some(dtype_of(scalar)))),
            Head::Element(dtype) if !by_value => Ok(EntryTy::Tensor(Some(dtype))),
            _ => Err(self.not_allowed(
                ty.span,
                "the entry cannot take this",
                "it takes `Tensor`, `PagedKVCache`, `uint32_t*` and numbers",
            )),
        }
    }

    /// The `T` of `PagedKVCache<T>`.
    fn cache_elements(&mut self, ty: &ast::Type) -> Res<Option<DType>> {
        const HELP: &str = "for instance `PagedKVCache<half>`; elements are `float`, `half`, `bfloat16_t`, `float8_e4m3_t` or `float8_e5m2_t`";
        if ty.args.is_empty() {
            return Ok(None);
        }
        let Some(of) = ty.element() else {
            return Err(self.not_allowed(ty.span, "a cache has one element type", HELP));
        };
        match self.head(&of)? {
            Head::Scalar(ScalarTy::F32) => Ok(Some(DType::F32)),
            Head::Element(dtype) if dtype.is_short_float() => Ok(Some(dtype)),
            _ => Err(self.not_allowed(of.span, "not a type of elements of a cache", HELP)),
        }
    }

    /// The element type that the entry gives the cache of a name.
    pub(crate) fn cache_type(&self, inner: &str) -> Option<DType> {
        let entry = self.entry.as_ref()?;
        let binding = entry.bindings.iter().find(|b| b.inner.as_str() == inner)?;
        entry.of_caches.get(binding.param).copied().flatten()
    }

    /// The type of what the launch binds to a name.
    pub(crate) fn binding_type(&self, inner: &str) -> Option<&EntryTy> {
        let entry = self.entry.as_ref()?;
        entry.bindings.iter().find(|b| b.inner.as_str() == inner).map(|b| &entry.params[b.param].ty)
    }

    /// Declares the scalars that the launch binds, and complains of arrays without a shape.
    pub(crate) fn declare_bindings(&mut self) {
        let Some(entry) = &self.entry else { return };
        let bindings: Vec<(&'a Ident, EntryTy)> =
            entry.bindings.iter().map(|b| (b.inner, entry.params[b.param].ty.clone())).collect();
        for (inner, ty) in bindings {
            let named = self.lookup(inner.as_str());
            match (&ty, named) {
                (EntryTy::Scalar(ty), None) => self.add_global(inner, GlobalDecl::Entry(*ty)),
                (EntryTy::Scalar(_), Some(Named { symbol: Symbol::Global(index), .. }))
                    if matches!(self.globals[index].decl, GlobalDecl::Param(_)) => {}
                (EntryTy::Scalar(_), Some(named)) => {
                    self.wrong_kind(inner, named, "a number of the launch");
                }
                (_, None) => {
                    self.missing_shape(inner, &ty);
                    self.declare(inner, Symbol::Poison);
                }
                (_, Some(Named { symbol: Symbol::Tensor(_) | Symbol::Cache(_), .. }))
                    if self.has_shape(inner) => {}
                (_, Some(named)) => {
                    self.wrong_kind(inner, named, "an array of the launch");
                }
            }
        }
    }

    fn has_shape(&self, inner: &Ident) -> bool {
        self.shapes.iter().any(|s| s.decl.name.name == inner.name)
    }

    fn missing_shape(&mut self, inner: &Ident, ty: &EntryTy) -> Reported {
        let name = inner.as_str();
        let line = match ty {
            EntryTy::PagedKvCache => {
                format!("PTO_SHAPE({name}, batch_size, PTO_DYNAMIC, num_kv_heads, HEAD_DIM)")
            }
            EntryTy::Array(_) => format!("PTO_SHAPE({name}, batch_size)"),
            _ => format!("PTO_SHAPE({name}, batch_size, num_qo_heads, 1, HEAD_DIM)"),
        };
        self.fail(
            Diagnostic::error(codes::MISSING_SHAPE, format!("`{name}` has no shape"))
                .at(inner.span, "its dimensions are not declared")
                .help(format!("add a line like `{line}`; names in it take their values from the arrays")),
        )
    }

    /// Lowers the entry and its launch.
    pub(crate) fn lower_entry(&mut self) {
        let Some(entry) = self.entry.take() else {
            self.lower_references(None);
            return;
        };
        let target = entry.target.map(|e| self.launch_target(e));
        let mut bindings = Vec::new();
        for binding in &entry.bindings {
            let source = match self.lookup(binding.inner.as_str()).map(|n| n.symbol) {
                Some(Symbol::Tensor(id)) => Some(BindingSource::Tensor(id)),
                Some(Symbol::Cache(id)) => Some(BindingSource::Cache(id)),
                Some(Symbol::Global(index)) => match self.global(index, binding.inner.span).map(|e| e.kind) {
                    Ok(wsp_ir::ExprKind::Param(id)) => Some(BindingSource::Param(id)),
                    _ => None,
                },
                _ => None,
            };
            if let Some(source) = source {
                bindings.push(Binding { param: binding.param as u32, source });
            }
        }
        if let Some(Ok(target)) = target {
            self.module.entry = Some(Entry {
                name: entry.decl.name.name.to_string(),
                params: entry.params.clone(),
                launch: Launch { target, bindings, span: entry.launch },
                span: entry.decl.name.span,
            });
        }
        self.lower_references(Some(&entry.params));
        self.entry = Some(entry);
    }

    fn launch_target(&mut self, e: &ast::Expr) -> Res<LaunchTarget> {
        let ident = self.name_argument(e, "a space or graph")?;
        let target =
            self.expect_symbol(&ident, "a space or graph", codes::UNKNOWN_SPACE, |symbol| match symbol {
                Symbol::Space(id) => Some(LaunchTarget::Space(id)),
                Symbol::Graph(id) => Some(LaunchTarget::Graph(id)),
                _ => None,
            })?;
        let spaces: Vec<SpaceId> = match target {
            LaunchTarget::Space(space) => vec![space],
            LaunchTarget::Kernels => Vec::new(),
            LaunchTarget::Graph(graph) => {
                self.module.graphs[graph.index()].stages.iter().map(|s| s.space).collect()
            }
        };
        for space in spaces {
            self.need_generator(space, ident.span)?;
        }
        Ok(target)
    }

    /// A space that runs has a generator.
    fn need_generator(&mut self, space: SpaceId, span: Span) -> Res<()> {
        let def = &self.module.spaces[space.index()];
        if def.generator.is_some() {
            return Ok(());
        }
        let name = def.name.clone();
        let d = Diagnostic::error(codes::NO_GENERATOR, format!("space `{name}` has no generator"))
            .at(span, "nothing would be run")
            .label(def.span, "the space")
            .help(format!("write one: `PTO_DESCRIPTOR_GEN({name}) {{ … }}`"));
        Err(self.fail(d))
    }
}
