//! What a launch binds: the surroundings in which functions are compiled and run.

use crate::{CodeCache, Mode, Series, TensorMem, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use wsp_core::{AxisId, CacheId, DType, Poll, TensorId, limits};
use wsp_ir::{ArrayRef, DerivedArray, MetaKind, Module, ScalarTy};

/// A read-only integer array.
#[derive(Clone, Debug)]
pub enum IntArray {
    /// `int32_t` elements.
    I32(Arc<[i32]>),
    /// `uint32_t` elements.
    U32(Arc<[u32]>),
    /// `int64_t` elements.
    I64(Arc<[i64]>),
    /// `uint64_t` elements.
    U64(Arc<[u64]>),
    /// Elements where they lie.
    View(TensorMem<Series>),
}

impl IntArray {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            IntArray::I32(a) => a.len(),
            IntArray::U32(a) => a.len(),
            IntArray::I64(a) => a.len(),
            IntArray::U64(a) => a.len(),
            IntArray::View(a) => a.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Type of the elements.
    pub fn ty(&self) -> ScalarTy {
        match self {
            IntArray::I32(_) => ScalarTy::I32,
            IntArray::U32(_) => ScalarTy::U32,
            IntArray::I64(_) => ScalarTy::I64,
            IntArray::U64(_) => ScalarTy::U64,
            IntArray::View(a) => a.ty(),
        }
    }

    /// An element in slot form.
    pub fn bits(&self, index: usize) -> Option<u64> {
        match self {
            IntArray::I32(a) => a.get(index).map(|v| i64::from(*v) as u64),
            IntArray::U32(a) => a.get(index).map(|v| u64::from(*v)),
            IntArray::I64(a) => a.get(index).map(|v| *v as u64),
            IntArray::U64(a) => a.get(index).copied(),
            IntArray::View(a) => a.bits(index),
        }
    }

    /// An element in slot form, of an array that is held here and has elements of this type.
    #[inline]
    pub(crate) fn held(&self, ty: ScalarTy, index: u64) -> Option<u64> {
        if matches!(self, IntArray::View(_)) || self.ty() != ty {
            return None;
        }
        self.bits(usize::try_from(index).ok()?)
    }

    /// As [`TensorMem::never_stored`]; copies are of what was stored.
    pub(crate) fn never_stored(&self, first: usize, count: usize) -> Option<usize> {
        match self {
            IntArray::View(view) => view.never_stored(first, count),
            _ => None,
        }
    }
}

/// The page table of one paged cache.
#[derive(Clone, Debug)]
pub struct CacheArrays {
    /// Tokens per request.
    pub lengths: IntArray,
    /// First page of each request.
    pub indptr: IntArray,
    /// Page ids.
    pub indices: IntArray,
    /// Tokens in each request's last page.
    pub last_page_len: IntArray,
}

/// What runs the scalar parts of functions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Engine {
    /// [`Engine::Native`] where there is a compiler for this machine, else [`Engine::Interpreter`].
    #[default]
    Auto,
    /// The interpreter: the oracle of the compiler.
    Interpreter,
    /// Code compiled for this machine.
    Native,
}

impl Engine {
    /// The engine with this name: `auto`, `interpreter` or `native`.
    pub fn from_name(name: &str) -> Option<Engine> {
        match name {
            "auto" => Some(Engine::Auto),
            "interpreter" => Some(Engine::Interpreter),
            "native" => Some(Engine::Native),
            _ => None,
        }
    }

    /// Whether this build can run it on this machine.
    pub fn is_available(self) -> bool {
        self != Engine::Native || crate::exec::has_native()
    }
}

/// Everything a launch binds. Compiled code is valid for the `Env` it was compiled with, and is run with the same one.
#[derive(Debug)]
pub struct Env {
    /// A value per parameter of the module.
    pub params: Vec<Value>,
    /// Memory per tensor of the module; none for integer arrays and unused tensors.
    pub tensors: Vec<Option<TensorMem>>,
    /// Data per tensor of the module that is a rank-1 integer array.
    pub arrays: Vec<Option<IntArray>>,
    /// Page table per cache of the module.
    pub caches: Vec<Option<CacheArrays>>,
    /// Arrays that follow from those above, as lowered schedules ask for them.
    pub derived: Vec<(DerivedArray, IntArray)>,
    /// Cores of the machine model.
    pub max_blocks: u32,
    /// Extent per axis of the module where bounds are known at launch.
    pub axis_extents: Vec<Option<u32>>,
    /// Elements per tile and axis of the module, as kernels see it; 0 while unknown. A generator's host sets it before
    /// the first task is emitted.
    pub axis_tiles: Vec<AtomicU32>,
    /// Which implementation of tile operations runs.
    pub mode: Mode,
    /// What runs scalar code.
    pub engine: Engine,
    /// Code compiled by earlier launches; by itself, of this one only.
    pub code: CodeCache,
    /// Loop iterations and calls that one kernel run may take.
    pub kernel_steps: u64,
    /// Set from outside to stop kernels.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Asked now and then while a function runs.
    pub poll: Option<Arc<dyn Poll>>,
    /// Whether a tile may stay in the memory it is loaded from, where nothing is stored to that tensor. Not so when another
    /// tensor that is stored to shares its memory.
    pub loads_in_place: bool,
}

impl Env {
    /// Surroundings of a module with everything unbound: the tables have the module's lengths.
    pub fn new(module: &Module, params: Vec<Value>) -> Env {
        Env {
            params,
            tensors: module.tensors.iter().map(|_| None).collect(),
            arrays: vec![None; module.tensors.len()],
            caches: vec![None; module.caches.len()],
            derived: Vec::new(),
            max_blocks: limits::DEFAULT_MAX_BLOCKS,
            axis_extents: vec![None; module.axes.len()],
            axis_tiles: module.axes.iter().map(|_| AtomicU32::new(0)).collect(),
            mode: Mode::default(),
            engine: Engine::default(),
            code: CodeCache::default(),
            kernel_steps: limits::MAX_GENERATOR_STEPS,
            cancel: None,
            poll: None,
            loads_in_place: true,
        }
    }

    /// Makes the tile of an axis known to kernels; they see it in every task emitted afterwards.
    pub fn set_axis_tile(&self, axis: AxisId, size: u32) {
        if let Some(tile) = self.axis_tiles.get(axis.index()) {
            // Emission of a task orders this before the kernel's load.
            tile.store(size, Ordering::Relaxed);
        }
    }

    /// The tile of an axis, if known.
    pub fn axis_tile(&self, axis: AxisId) -> Option<u32> {
        self.axis_tiles.get(axis.index()).map(|t| t.load(Ordering::Relaxed)).filter(|t| *t != 0)
    }

    /// Whether the run was cancelled from outside.
    pub fn cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Element type of the memory or array bound to a tensor.
    pub fn dtype(&self, tensor: TensorId) -> Option<DType> {
        if let Some(mem) = self.tensors.get(tensor.index())? {
            return Some(mem.dtype());
        }
        self.arrays.get(tensor.index())?.as_ref().map(|array| match array.ty() {
            ScalarTy::I32 => DType::I32,
            ScalarTy::I64 => DType::I64,
            ScalarTy::U64 => DType::U64,
            _ => DType::U32,
        })
    }

    /// The number by which running code knows an array: tensors first, then four arrays per cache, then derived ones.
    /// `None` for a local.
    pub(crate) fn array_number(&self, array: ArrayRef) -> Option<u32> {
        match array {
            ArrayRef::Local(_) => None,
            ArrayRef::Tensor(t) => Some(t.0),
            ArrayRef::Meta(CacheId(cache), kind) => Some(self.arrays.len() as u32 + 4 * cache + kind as u32),
            ArrayRef::Derived(which) => {
                let at = self.derived.iter().position(|(of, _)| *of == which)?;
                Some((self.arrays.len() + 4 * self.caches.len() + at) as u32)
            }
        }
    }

    /// Numbers of arrays, bound or not.
    pub(crate) fn array_count(&self) -> usize {
        self.arrays.len() + 4 * self.caches.len() + self.derived.len()
    }

    /// Every array, in the order of their numbers.
    pub(crate) fn array_refs(&self) -> impl Iterator<Item = ArrayRef> {
        let tensors = (0..self.arrays.len()).map(|t| ArrayRef::Tensor(TensorId(t as u32)));
        let caches = (0..self.caches.len()).flat_map(|cache| {
            let kinds = [MetaKind::Lengths, MetaKind::Indptr, MetaKind::Indices, MetaKind::LastPageLen];
            kinds.map(|kind| ArrayRef::Meta(CacheId(cache as u32), kind))
        });
        tensors.chain(caches).chain(self.derived.iter().map(|(of, _)| ArrayRef::Derived(*of)))
    }

    /// The array with this number.
    pub(crate) fn array(&self, number: u64) -> Option<&IntArray> {
        let number = number as usize;
        if let Some(array) = self.arrays.get(number) {
            return array.as_ref();
        }
        let meta = number - self.arrays.len();
        if let Some(derived) = meta.checked_sub(4 * self.caches.len()) {
            return self.derived.get(derived).map(|(_, array)| array);
        }
        let cache = self.caches.get(meta / 4)?.as_ref()?;
        Some(match meta % 4 {
            n if n == MetaKind::Lengths as usize => &cache.lengths,
            n if n == MetaKind::Indptr as usize => &cache.indptr,
            n if n == MetaKind::Indices as usize => &cache.indices,
            _ => &cache.last_page_len,
        })
    }
}
