//! Tensors: launch arrays, caches, temporaries and workspace fields, and the extents their shapes name.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::diags::{Reported, Res};
use super::globals::GlobalDecl;
use super::names::Symbol;
use crate::ast::{self, Extent};
use wsp_core::words::counted;
use wsp_core::{AxisId, CacheId, MAX_RANK, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{AxisEnd, Cache, Dim, Elem, EntryTy, Expr, ScalarTy, ShapeOwner, Storage};

/// `PTO_SHAPE` and what it became.
pub(crate) struct ShapeDecl<'a> {
    /// The form.
    pub(crate) decl: &'a ast::Shape,
    /// The tensor or cache.
    pub(crate) owner: ShapeOwner,
}

impl<'a> Sema<'a> {
    /// Declares what a `PTO_SHAPE` describes. What kind of thing it is the launch says; in a file without one, the shape.
    pub(crate) fn declare_shape(&mut self, decl: &'a ast::Shape) {
        let name = decl.name.as_str();
        let bound = self.binding_type(name).cloned();
        let looks_paged = decl.dims.len() == 4 && matches!(decl.dims[1], Extent::Dynamic(_));
        let cache = match &bound {
            Some(ty) => *ty == EntryTy::PagedKvCache,
            None => looks_paged,
        };
        if bound.is_none() && self.entry.is_some() && !self.is_entry_param(name) {
            let message = format!("`{name}` has a shape but no array");
            self.fail(
                Diagnostic::error(codes::UNBOUND_SHAPE, message)
                    .at(decl.name.span, "`PTO_LAUNCH` does not bind this name")
                    .help(format!("add `.{name} = …` to `PTO_LAUNCH`, or remove this line")),
            );
        }
        let owner = if cache { self.declare_cache(decl) } else { self.declare_tensor(decl, bound.as_ref()) };
        self.shapes.push(ShapeDecl { decl, owner });
    }

    fn declare_tensor(&mut self, decl: &'a ast::Shape, bound: Option<&EntryTy>) -> ShapeOwner {
        let id = self.add_tensor(&decl.name, Storage::Launch);
        match bound {
            Some(EntryTy::Tensor(Some(dtype))) => self.module.tensors[id.index()].elem = Elem::Fixed(*dtype),
            Some(EntryTy::Array(scalar)) => {
                let dtype = super::types::dtype_of(*scalar);
                self.module.tensors[id.index()].elem = Elem::Fixed(dtype);
                if decl.dims.len() != 1 {
                    let message = format!("`{}` is an array and has one dimension", decl.name.as_str());
                    self.fail(
                        Diagnostic::error(codes::BAD_BINDING, message)
                            .at(decl.span, format!("this shape has {}", decl.dims.len()))
                            .help("pass a `Tensor` to the entry for more dimensions"),
                    );
                }
            }
            _ => {}
        }
        self.declare(&decl.name, Symbol::Tensor(id));
        ShapeOwner::Tensor(id)
    }

    fn declare_cache(&mut self, decl: &'a ast::Shape) -> ShapeOwner {
        let id = CacheId(self.module.caches.len() as u32);
        let (name, span) = (decl.name.as_str(), decl.name.span);
        let short = name == "kv_cache";
        let part = |side: &str| if short { format!("{side}_cache") } else { format!("{name}.{side}") };
        let keys = self.add_tensor_named(part("k"), span, Storage::CacheKeys(id));
        let values = self.add_tensor_named(part("v"), span, Storage::CacheValues(id));
        if let Some(dtype) = self.cache_type(name) {
            [keys, values].iter().for_each(|id| self.module.tensors[id.index()].elem = Elem::Fixed(dtype));
        }
        self.module.caches.push(Cache { name: name.to_owned(), keys, values, span });
        self.declare(&decl.name, Symbol::Cache(id));
        if short {
            self.declare_as("k_cache".into(), span, Symbol::Tensor(keys));
            self.declare_as("v_cache".into(), span, Symbol::Tensor(values));
        }
        ShapeOwner::Cache(id)
    }

    /// Lone names of shapes that nothing else defines become parameters.
    pub(crate) fn declare_extents(&mut self) {
        for at in 0..self.shapes.len() {
            let (decl, owner) = (self.shapes[at].decl, self.shapes[at].owner);
            for (dim, extent) in decl.dims.iter().enumerate() {
                let Extent::Expr(e) = extent else { continue };
                let Some(ident) = e.as_name() else { continue };
                if self.lookup(ident.as_str()).is_none() {
                    self.add_global(&ident, GlobalDecl::Shape(owner, dim as u32));
                }
            }
        }
    }

    /// Lowers the dimensions of every tensor.
    pub(crate) fn lower_tensors(&mut self) {
        for at in 0..self.shapes.len() {
            let (decl, owner) = (self.shapes[at].decl, self.shapes[at].owner);
            match owner {
                ShapeOwner::Tensor(id) => self.lower_array_shape(decl, id),
                ShapeOwner::Cache(id) => self.lower_cache_shape(decl, id),
            }
        }
        for at in 0..self.temporaries.len() {
            let (id, decl) = self.temporaries[at];
            self.lower_temporary(id, decl);
        }
        for at in 0..self.workspaces.len() {
            self.lower_workspace(self.workspace_ids[at], self.workspaces[at]);
        }
    }

    fn lower_array_shape(&mut self, decl: &'a ast::Shape, id: TensorId) {
        if self.check_rank(decl.dims.len(), 0, decl.span).is_err() {
            return;
        }
        let dims: Vec<Res<Dim>> = (decl.dims.iter().enumerate())
            .map(|(at, extent)| match extent {
                Extent::Expr(e) => self.extent(e, "the size of a tensor").map(Dim::Expr),
                Extent::Dynamic(span) => Err(self.dynamic_outside_cache(decl, at, *span)),
            })
            .collect();
        self.set_dims(id, dims);
    }

    /// Gives a tensor its dimensions. One with a wrong dimension keeps none.
    fn set_dims(&mut self, id: TensorId, dims: Vec<Res<Dim>>) {
        if let Ok(dims) = dims.into_iter().collect() {
            self.module.tensors[id.index()].dims = dims;
        }
    }

    fn dynamic_outside_cache(&mut self, decl: &ast::Shape, at: usize, span: Span) -> Reported {
        let message = format!("dimension {at} of `{}` cannot be `PTO_DYNAMIC`", decl.name.as_str());
        self.fail(
            Diagnostic::error(codes::BAD_DIM, message)
                .at(span, "only the position of a paged cache is dynamic")
                .help("name the extent, for instance `seq_len`; it takes its value from the array"),
        )
    }

    fn lower_cache_shape(&mut self, decl: &'a ast::Shape, id: CacheId) {
        let paged = decl.dims.len() == 4
            && decl.dims.iter().enumerate().all(|(at, d)| matches!(d, Extent::Dynamic(_)) == (at == 1));
        let name = decl.name.as_str();
        if !paged {
            let message = format!("`{name}` is a paged cache with another shape");
            self.fail(
                Diagnostic::error(codes::BAD_CACHE_SHAPE, message)
                    .at(decl.span, "a cache is [batch, position, head, lane] with a dynamic position")
                    .help(format!(
                        "write `PTO_SHAPE({name}, batch_size, PTO_DYNAMIC, num_kv_heads, HEAD_DIM)`"
                    )),
            );
            return;
        }
        let mut dims = Vec::new();
        for extent in &decl.dims {
            match extent {
                Extent::Expr(e) => match self.extent(e, "the size of a cache") {
                    Ok(e) => dims.push(Dim::Expr(e)),
                    Err(_) => return,
                },
                Extent::Dynamic(_) => dims.push(Dim::Dynamic),
            }
        }
        let Cache { keys, values, .. } = self.module.caches[id.index()];
        self.module.tensors[keys.index()].dims.clone_from(&dims);
        self.module.tensors[values.index()].dims = dims;
    }

    fn lower_temporary(&mut self, id: TensorId, decl: &'a ast::Tensor) {
        let mut b = Body::new(BodyKind::Launch("the size of a tensor"));
        if let Ok(elem) = self.element_type(&mut b, &decl.elem) {
            self.module.tensors[id.index()].elem = elem;
        }
        if self.check_rank(decl.dims.len(), 0, decl.span).is_err() {
            return;
        }
        let dims: Vec<Res<Dim>> = (decl.dims.iter())
            .map(|e| match e.as_name().filter(|n| self.module.axes.iter().any(|a| a.name == n.as_str())) {
                Some(ident) => self.axis_of_tensor(&ident, decl).map(Dim::Axis),
                None => self.extent(e, "the size of a tensor").map(Dim::Expr),
            })
            .collect();
        self.set_dims(id, dims);
    }

    /// The axis that a dimension names: that of the first space which has all axes that the tensor names.
    fn axis_of_tensor(&mut self, ident: &ast::Ident, decl: &ast::Tensor) -> Res<AxisId> {
        let named: Vec<String> = decl
            .dims
            .iter()
            .filter_map(ast::Expr::as_name)
            .map(|n| n.as_str().to_owned())
            .filter(|n| self.module.axes.iter().any(|a| a.name == *n))
            .collect();
        let find = |space: &wsp_ir::Space, name: &str| {
            space.axes.iter().copied().find(|a| self.module.axes[a.index()].name == name)
        };
        let spaces: Vec<&wsp_ir::Space> =
            self.module.spaces.iter().filter(|s| named.iter().all(|n| find(s, n).is_some())).collect();
        match spaces[..] {
            [space] => find(space, ident.as_str()).ok_or_else(|| Reported::earlier(&self.diags)),
            [] => {
                let d = Diagnostic::error(codes::BAD_DIM, "no space has all axes of this tensor")
                    .at(decl.span, "its dimensions name axes of different spaces");
                Err(self.fail(d))
            }
            [first, second, ..] => {
                let message = format!("several spaces have an axis `{}`", ident.as_str());
                let d = Diagnostic::error(codes::BAD_DIM, message)
                    .at(ident.span, "which one is meant is not clear")
                    .label(first.span, "this space has one")
                    .label(second.span, "so has this one")
                    .help("give the axes different names");
                Err(self.fail(d))
            }
        }
    }

    fn lower_workspace(&mut self, id: TensorId, decl: &'a ast::Workspace) {
        let mut b = Body::new(BodyKind::Launch("the size of a workspace"));
        if let Ok(elem) = self.element_type(&mut b, &decl.elem) {
            self.module.tensors[id.index()].elem = elem;
        }
        // One dimension more than declared: the slot.
        if self.check_rank(decl.dims.len(), 1, decl.span).is_err() {
            return;
        }
        let dims: Vec<Res<Dim>> =
            decl.dims.iter().map(|e| self.extent(e, "the size of a workspace").map(Dim::Expr)).collect();
        self.set_dims(id, dims);
    }

    fn extent(&mut self, e: &ast::Expr, what: &'static str) -> Res<Expr> {
        let mut b = Body::new(BodyKind::Launch(what));
        let extent = self.launch_value(&mut b, e, ScalarTy::U32, what)?;
        if extent.as_const_int() == Some(0) {
            return Err(
                self.fail(Diagnostic::error(codes::BAD_DIM, "a dimension of size 0").at(e.span, "this is 0"))
            );
        }
        Ok(extent)
    }

    fn check_rank(&mut self, dims: usize, extra: usize, span: Span) -> Res<()> {
        if dims + extra <= MAX_RANK {
            return Ok(());
        }
        Err(self.fail(
            Diagnostic::error(codes::TOO_MANY_DIMS, "too many dimensions")
                .at(span, format!("{dims}", dims = counted(dims, "dimension")))
                .note(format!("a tensor may have {}", MAX_RANK - extra)),
        ))
    }

    /// `PTO_GET_BATCH_SIZE()`: the first dimension of the only cache, else of the first tensor of the launch.
    pub(crate) fn batch_size(&mut self, span: Span) -> Res<Expr> {
        let mut caches = self.shapes.iter().filter(|s| matches!(s.owner, ShapeOwner::Cache(_)));
        let shape = match (caches.next(), caches.next()) {
            (Some(only), None) => Some(only),
            _ => self.shapes.first(),
        };
        let first = shape.and_then(|s| s.decl.dims.first());
        let Some(Extent::Expr(e)) = first else {
            return Err(self.fail(
                Diagnostic::error(codes::MISSING_SHAPE, "no tensor has a batch dimension")
                    .at(span, "the batch size is the first dimension of the first `PTO_SHAPE`")
                    .help("declare one: `PTO_SHAPE(q, batch_size, …)`"),
            ));
        };
        let mut value = self.extent(e, "the batch size")?;
        value.span = span;
        Ok(value)
    }

    /// Whether the number of iterations of an axis is known only to the generator.
    pub(crate) fn is_dynamic(&self, axis: AxisId) -> bool {
        matches!(self.module.axes[axis.index()].end, AxisEnd::Dynamic)
    }
}
