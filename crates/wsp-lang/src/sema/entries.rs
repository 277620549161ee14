//! Entries of task graphs: kernels with parameters, and the tensors that they are given.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::diags::Res;
use super::functions::KernelDecl;
use super::names::{Named, Symbol};
use super::shapes::ShapeDecl;
use super::types::{Head, dtype_of};
use crate::ast::{self, Ident, Indirection, TypeBase};
use wsp_core::{DType, FuncId, LocalId, StructId, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{
    Consumer, Elem, Expr, ExprKind as Ir, Field, FuncKind, KernelEntry, KernelParam, LocalTy, PtoWord,
    ScalarTy, ShapeOwner, Storage, StructDef,
};
use wsp_ordered::OrderedSet;

/// What the entry whose body is being lowered is given.
pub(crate) struct Given {
    name: String,
    params: Vec<TensorId>,
    /// Resident tensors that it has named so far.
    residents: OrderedSet<TensorId>,
}

impl KernelDecl<'_> {
    /// Whether task graphs run it.
    pub(crate) fn is_entry(&self) -> bool {
        !self.decl.params.is_empty()
    }
}

impl<'a> Sema<'a> {
    /// Declares what a `PTO_RESIDENT` describes.
    pub(crate) fn declare_resident(&mut self, decl: &'a ast::Resident) {
        let id = self.add_tensor(&decl.shape.name, Storage::Launch);
        if let Ok(dtype) = self.stored_type(&decl.elem) {
            self.module.tensors[id.index()].elem = Elem::Fixed(dtype);
        }
        self.residents.push(id);
        self.declare(&decl.shape.name, Symbol::Tensor(id));
        self.shapes.push(ShapeDecl { decl: &decl.shape, owner: ShapeOwner::Tensor(id) });
    }

    /// Whether some entry has a parameter of this name.
    pub(crate) fn is_entry_param(&self, name: &str) -> bool {
        self.kernels.iter().any(|k| k.decl.params.iter().any(|p| p.name.as_str() == name))
    }

    /// Finds the tensors that entries have as parameters, once every name is known.
    pub(crate) fn declare_entries(&mut self) {
        let Some(first) = self.kernels.iter().position(KernelDecl::is_entry) else {
            self.refuse_residents();
            return;
        };
        self.refuse_tasks(self.kernels[first].decl.name.span);
        for at in 0..self.kernels.len() {
            let decl = self.kernels[at].decl;
            let mut params: Vec<KernelParam> = Vec::new();
            for param in &decl.params {
                if let Ok(found) = self.entry_param(param, &params) {
                    params.push(found);
                }
            }
            self.kernels[at].params = params;
        }
    }

    /// A parameter: its type decides what it is, its name which tensor.
    fn entry_param(&mut self, param: &ast::FnParam, earlier: &[KernelParam]) -> Res<KernelParam> {
        let (workspace, dtype) = self.entry_param_type(param)?;
        let id = self.entry_tensor(&param.name)?;
        if earlier.iter().any(|p| p.tensor() == id) {
            return Err(self.redefined(param.name.as_str(), param.name.span, param.name.span));
        }
        self.set_element(id, dtype, param)?;
        if !workspace {
            return Ok(KernelParam::Argument(id));
        }
        if earlier.iter().any(|p| matches!(p, KernelParam::Workspace(_))) {
            return Err(self.fail(
                Diagnostic::error(codes::BAD_ENTRY_PARAM, "a kernel has one workspace")
                    .at(param.span, "another one")
                    .help("add a dimension to the first one, for each part that is needed"),
            ));
        }
        Ok(KernelParam::Workspace(id))
    }

    /// Whether a parameter is the workspace, and the type of its elements.
    fn entry_param_type(&mut self, param: &ast::FnParam) -> Res<(bool, DType)> {
        let name = match &param.ty.base {
            TypeBase::Named(ident) if param.ty.indirection == Indirection::None => ident.as_str(),
            _ => "",
        };
        match (name, param.ty.element()) {
            ("Tensor", Some(elem)) => self.stored_type(&elem).map(|dtype| (false, dtype)),
            ("Workspace", Some(elem)) => self.stored_type(&elem).map(|dtype| (true, dtype)),
            ("Tensor" | "Workspace", None) => Err(self.fail(
                Diagnostic::error(codes::BAD_ENTRY_PARAM, "the elements of a parameter have a type")
                    .at(param.ty.span, "says nothing of them")
                    .help(format!("for instance `{name}<float> {}`", param.name.as_str())),
            )),
            _ => Err(self.fail(
                Diagnostic::error(codes::BAD_ENTRY_PARAM, "a kernel cannot take this")
                    .at(param.span, "neither `Tensor<T>` nor `Workspace<T>`")
                    .help("give numbers with `PTO_PARAM`, or bind them as a tensor: `Tensor<uint32_t> n`, `n[0]`"),
            )),
        }
    }

    /// A type that elements in memory have.
    fn stored_type(&mut self, ty: &ast::Type) -> Res<DType> {
        if ty.indirection == Indirection::None {
            match self.head(ty)? {
                Head::Element(dtype) => return Ok(dtype),
                Head::Scalar(scalar) => return Ok(dtype_of(scalar)),
                _ => {}
            }
        }
        Err(self.not_allowed(ty.span, "not a type of elements", "for instance `float`, `half` or `int32_t`"))
    }

    /// The tensor that a parameter names.
    fn entry_tensor(&mut self, ident: &Ident) -> Res<TensorId> {
        match self.lookup(ident.as_str()) {
            Some(Named { symbol: Symbol::Tensor(id), span }) => {
                let shaped = self.module.tensors[id.index()].storage == Storage::Launch;
                if shaped && !self.residents.contains(&id) {
                    return Ok(id);
                }
                Err(self.fail(
                    Diagnostic::error(
                        codes::BAD_ENTRY_PARAM,
                        format!("`{}` is no parameter", ident.as_str()),
                    )
                    .at(ident.span, "a parameter is a tensor with a `PTO_SHAPE`")
                    .label(span, "declared as something else"),
                ))
            }
            Some(Named { symbol: Symbol::Poison, .. }) => Err(super::diags::Reported::earlier(&self.diags)),
            Some(named) => Err(self.wrong_kind(ident, named, "a tensor with a `PTO_SHAPE`")),
            None => {
                let name = ident.as_str();
                let fault = Diagnostic::error(codes::MISSING_SHAPE, format!("`{name}` has no shape"))
                    .at(ident.span, "its dimensions are not declared")
                    .help(format!(
                        "add a line like `PTO_SHAPE({name}, rows, 64)`; a name in it takes its value from the bytes that are bound"
                    ));
                Err(self.fail(fault))
            }
        }
    }

    /// Gives the tensor of a parameter its type of elements, on which all entries agree.
    fn set_element(&mut self, id: TensorId, dtype: DType, param: &ast::FnParam) -> Res<()> {
        let tensor = &mut self.module.tensors[id.index()];
        match tensor.elem {
            Elem::Fixed(other) if other != dtype => {
                let message = format!("`{}` holds `{dtype}` here and `{other}` elsewhere", tensor.name);
                let shape = tensor.span;
                Err(self.fail(
                    Diagnostic::error(codes::BAD_ENTRY_PARAM, message)
                        .at(param.ty.span, "another kernel says otherwise")
                        .label(shape, "its shape, for all kernels of the file")
                        .help("give one of them another name and its own `PTO_SHAPE`"),
                ))
            }
            _ => {
                tensor.elem = Elem::Fixed(dtype);
                Ok(())
            }
        }
    }

    /// Reports what stands in a file with entries and belongs to programs that emit tasks.
    fn refuse_tasks(&mut self, entry: Span) {
        let host = self.entry.as_ref().map(|host| (host.decl.name.span, "launches a program"));
        let generators = self.generators.iter().map(|g| (g.decl.space.span, "emits tasks"));
        let kernels = self.kernels.iter().filter(|k| !k.is_entry());
        let kernels = kernels.map(|k| (k.decl.name.span, "has no parameters, so tasks run it"));
        let Some((span, what)) = host.into_iter().chain(generators).chain(kernels).next() else { return };
        self.fail(
            Diagnostic::error(codes::MIXED_KERNELS, "kernels of tasks and of task graphs in one file")
                .at(span, what)
                .label(entry, "has parameters, so task graphs run it")
                .help("move one of them to another file"),
        );
    }

    fn refuse_residents(&mut self) {
        let Some(first) = self.residents.first() else { return };
        let span = self.module.tensors[first.index()].span;
        self.fail(
            Diagnostic::error(codes::MIXED_KERNELS, "no kernel of the file has parameters")
                .at(span, "a resident tensor is for kernels with parameters")
                .help("bind it in `PTO_LAUNCH` and give its `PTO_SHAPE`, or give the kernel parameters"),
        );
    }

    /// Reports an entry that asks for a descriptor.
    pub(crate) fn no_descriptor(&mut self, kernel: usize, span: Span) {
        let decl = self.kernels[kernel].decl;
        let message = format!("`{}` has parameters, and so no descriptor", decl.name.as_str());
        self.fail(
            Diagnostic::error(codes::NOT_A_TASK, message)
                .at(span, "nobody emits one for it")
                .label(decl.name.span, "an entry of task graphs")
                .help("`get_block_idx()` and `get_block_num()` say which part of the work is this block's"),
        );
    }

    /// A kernel that tasks run.
    pub(crate) fn check_is_task(&mut self, kernel: FuncId, ident: &Ident) -> Res<()> {
        let Some(entry) = self.kernels.iter().find(|k| k.id == kernel && k.is_entry()) else { return Ok(()) };
        let defined = entry.decl.name.span;
        Err(self.fail(
            Diagnostic::error(
                codes::NOT_A_TASK,
                format!("`{}` cannot be the kernel of a tier", ident.as_str()),
            )
            .at(ident.span, "a tier runs a kernel without parameters")
            .label(defined, "this one has parameters, so task graphs run it"),
        ))
    }

    /// The descriptor of entries, which no program names.
    pub(crate) fn add_block_descriptor(&mut self) {
        if !self.kernels.iter().any(KernelDecl::is_entry) {
            return;
        }
        let span = Span::default();
        let field = |name: &str| Field { name: name.to_owned(), span };
        self.module.structs.push(StructDef {
            name: "Block".to_owned(),
            fields: vec![field("idx"), field("num")],
            consumer: Consumer::None,
            span,
        });
    }

    /// Lowers the body of an entry.
    pub(crate) fn lower_kernel_entry(&mut self, at: usize) {
        let KernelDecl { id, decl, descriptor, .. } = self.kernels[at];
        let params = self.kernels[at].params.clone();
        let block = StructId(self.module.structs.len() as u32 - 1);
        let mut b = Body::new(BodyKind::Kernel);
        b.descriptor = descriptor;
        b.local("block", LocalTy::Descriptor(block), decl.name.span);
        self.given = Some(Given {
            name: decl.name.name.to_string(),
            params: params.iter().map(|p| p.tensor()).collect(),
            residents: OrderedSet::new(),
        });
        let body = self.function_body(&mut b, &decl.body);
        let residents = self.given.take().map(|given| given.residents).unwrap_or_default();
        self.finish(id, FuncKind::Kernel { descriptor: Some(block) }, 1, b, body);
        self.module.kernel_entries.push(KernelEntry {
            function: id,
            params,
            residents: residents.into_iter().collect(),
            span: decl.name.span,
        });
    }

    /// A tensor that a body names is one that it is given, where that matters.
    pub(crate) fn check_given(&mut self, b: &Body, id: TensorId, span: Span) -> Res<()> {
        let of_graphs = self.kernels.iter().any(KernelDecl::is_entry);
        let name = &self.module.tensors[id.index()].name;
        if of_graphs && matches!(b.kind, BodyKind::Helper(_)) {
            let message = format!("a function with a result is given `{name}` by nobody");
            let help = format!("pass it: a parameter `const uint32_t* {name}`");
            return Err(
                self.fail(Diagnostic::error(codes::NOT_GIVEN, message).at(span, "used here").help(help))
            );
        }
        let resident = self.residents.contains(&id);
        let Some(given) = &mut self.given else { return Ok(()) };
        if resident {
            given.residents.insert(id);
        }
        if resident || given.params.contains(&id) {
            return Ok(());
        }
        let tensor = &self.module.tensors[id.index()];
        let message = format!("kernel `{}` is not given `{name}`", given.name);
        let elem = match tensor.elem {
            Elem::Fixed(DType::F16) => "half",
            _ => "float",
        };
        let d = Diagnostic::error(codes::NOT_GIVEN, message)
            .at(span, "neither a parameter of the kernel nor resident")
            .label(tensor.span, "declared here")
            .help(format!(
                "add a parameter `Tensor<{elem}> {name}`, or declare the tensor with `PTO_RESIDENT({name}, {elem}, …)`"
            ));
        Err(self.fail(d))
    }

    /// Refuses a store that adds in an entry: blocks of a launch run at the same time and have no order.
    pub(crate) fn check_adds_here(&mut self, word: &PtoWord, callee: &Ident) -> Res<()> {
        if self.given.is_none() || word.flag != Some("add") {
            return Ok(());
        }
        let message = format!("`{}` cannot be used in a kernel of task graphs", word.name);
        Err(self.fail(
            Diagnostic::error(codes::NOT_HERE, message)
                .at(callee.span, "blocks of a launch may add to the same elements at the same time")
                .note("blocks have no order: additions would be lost, and a sum in `float` would differ from run to run")
                .help("store what each block adds in a place of its own, `TSTORE(parts, tile, {get_block_idx()})`, and add these places in a kernel of one block"),
        ))
    }

    /// A tensor of which single elements are loaded: of real numbers, in entries of integers too.
    pub(crate) fn element_tensor(&mut self, b: &Body, e: &ast::Expr) -> Res<TensorId> {
        let id = match self.given {
            None => self.float_tensor(b, e)?,
            Some(_) => self.tensor(b, e)?,
        };
        self.no_doubles(id, e.span)
    }

    /// Single elements can be stored to the tensor.
    pub(crate) fn check_stored(&mut self, id: TensorId, span: Span) -> Res<TensorId> {
        let tensor = &self.module.tensors[id.index()];
        let Elem::Fixed(dtype) = tensor.elem else { return Ok(id) };
        if dtype.is_float() || dtype.size() >= 4 {
            return Ok(id);
        }
        let message = format!("elements of `{dtype}` are not stored one by one");
        let d = Diagnostic::error(codes::TYPE_MISMATCH, message)
            .at(span, "a tensor of real numbers, or of integers of 32 or 64 bits, is needed here");
        Err(self.fail(d))
    }

    /// A word of the descriptor of an entry.
    pub(crate) fn block_word(&mut self, b: &Body, callee: &Ident, word: u32, span: Span) -> Res<Expr> {
        if b.kind == BodyKind::Kernel && self.given.is_none() {
            return Err(self.not_here(callee, "only a kernel with parameters runs in blocks"));
        }
        Ok(Expr::new(Ir::Field(LocalId(0), word), ScalarTy::U32, span))
    }
}
