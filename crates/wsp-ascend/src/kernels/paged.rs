//! What a kernel takes of a paged cache beside its keys and values: arrays that say in which pages a request lies, and numbers that say how
//! the elements of a page lie.

use super::scalars::Number;
use wsp_core::{CacheId, DType, TensorId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Dim, Elem, Expr, MetaKind, Module, Storage, Tensor, Verified, into_verified};

/// How the pages of a cache lie.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Pages {
    /// Positions of a page.
    Size,
    /// Elements from one position of a page to the next.
    PositionStride,
    /// Elements from one head to the next.
    HeadStride,
}

impl Pages {
    /// How names of arguments end.
    pub(super) fn name(self) -> &'static str {
        match self {
            Pages::Size => "page_size",
            Pages::PositionStride => "position_stride",
            Pages::HeadStride => "head_stride",
        }
    }

    /// That of a cache.
    pub(super) fn of(self, cache: CacheId) -> Number {
        Number::Pages(cache, self)
    }
}

/// The cache whose keys or values a tensor is.
pub(super) fn cache(tensor: &Tensor) -> Option<CacheId> {
    match tensor.storage {
        Storage::CacheKeys(cache) | Storage::CacheValues(cache) => Some(cache),
        Storage::Launch | Storage::Workspace | Storage::Temporary => None,
    }
}

/// The arrays of a page table, in the order in which kernels take them.
const ARRAYS: [MetaKind; 4] = [MetaKind::Lengths, MetaKind::Indptr, MetaKind::Indices, MetaKind::LastPageLen];

fn name(cache: &str, kind: MetaKind) -> String {
    let kind = match kind {
        MetaKind::Lengths => "lengths",
        MetaKind::Indptr => "indptr",
        MetaKind::Indices => "indices",
        MetaKind::LastPageLen => "last_page_len",
    };
    format!("{cache}.{kind}")
}

/// The module with tensors for the arrays of its caches, behind its own; none where it has no caches.
///
/// # Errors
/// The module with more tensors is not right.
pub(super) fn with_arrays(module: &Verified) -> Result<Option<Verified>, Vec<Diagnostic>> {
    if module.caches.is_empty() {
        return Ok(None);
    }
    let mut more = Module::clone(module);
    for cache in &module.caches {
        more.tensors.extend(ARRAYS.map(|kind| Tensor {
            name: name(&cache.name, kind),
            elem: Elem::Fixed(DType::U32),
            dims: vec![Dim::Expr(Expr::u32(0, Span::default()))],
            storage: Storage::Temporary,
            span: cache.span,
        }));
    }
    into_verified(more).map(Some)
}

/// The tensor of an array, in a module that has them.
pub(super) fn array(module: &Module, cache: CacheId, kind: MetaKind) -> Option<TensorId> {
    let name = name(&module.caches.get(cache.index())?.name, kind);
    let at = module.tensors.iter().position(|tensor| tensor.name == name)?;
    Some(TensorId(at as u32))
}

/// The cache and the kind of an array that [`with_arrays`] has added.
pub(super) fn table_of(module: &Module, tensor: &Tensor) -> Option<(CacheId, MetaKind)> {
    let caches = module.caches.iter().enumerate();
    let mut all = caches.flat_map(|(at, cache)| ARRAYS.map(|kind| (CacheId(at as u32), &cache.name, kind)));
    all.find(|(_, cache, kind)| tensor.name == name(cache, *kind)).map(|(cache, _, kind)| (cache, kind))
}
