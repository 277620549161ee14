//! Bodies of declared kernels: functions registered by name.

use super::memory::SharedTensor;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use wsp_core::{DType, Region};
use wsp_ir::workload::{AccessMode, ParamKind, Signature};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Why a task of a registered kernel failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelFault(pub String);

impl<S: Into<String>> From<S> for KernelFault {
    fn from(message: S) -> KernelFault {
        KernelFault(message.into())
    }
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

type Body = dyn Fn(&mut KernelCx<'_>) -> Result<(), KernelFault> + Send + Sync;

/// Kernel bodies by name.
#[derive(Clone, Default)]
pub struct KernelRegistry {
    bodies: BTreeMap<String, Arc<Body>>,
}

impl fmt::Debug for KernelRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.bodies.keys()).finish()
    }
}

/// A kernel of that name is registered already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AlreadyRegistered(pub String);

impl fmt::Display for AlreadyRegistered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}` is registered already; `replace` exchanges its body", self.0)
    }
}

impl std::error::Error for AlreadyRegistered {}

impl KernelRegistry {
    /// No kernels.
    pub fn new() -> KernelRegistry {
        KernelRegistry::default()
    }

    /// Gives a kernel its body.
    ///
    /// # Errors
    /// When the name has one.
    pub fn register(
        &mut self,
        name: impl Into<String>,
        body: impl Fn(&mut KernelCx<'_>) -> Result<(), KernelFault> + Send + Sync + 'static,
    ) -> Result<(), AlreadyRegistered> {
        let name = name.into();
        if self.bodies.contains_key(&name) {
            return Err(AlreadyRegistered(name));
        }
        self.bodies.insert(name, Arc::new(body));
        Ok(())
    }

    /// Gives a kernel its body, in place of the one it may have.
    pub fn replace(
        &mut self,
        name: impl Into<String>,
        body: impl Fn(&mut KernelCx<'_>) -> Result<(), KernelFault> + Send + Sync + 'static,
    ) {
        self.bodies.insert(name.into(), Arc::new(body));
    }

    /// Whether a kernel has a body.
    pub fn has(&self, name: &str) -> bool {
        self.bodies.contains_key(name)
    }

    /// Registered names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.bodies.keys().map(String::as_str)
    }

    pub(crate) fn body(&self, name: &str) -> Option<Arc<Body>> {
        self.bodies.get(name).cloned()
    }
}

/// What a kernel body sees of its task.
pub struct KernelCx<'a> {
    pub(crate) name: &'a str,
    pub(crate) signature: &'a Signature,
    pub(crate) scalars: &'a [i64],
    pub(crate) boxes: &'a [Region],
    pub(crate) tensors: &'a [SharedTensor],
    pub(crate) scratch: &'a mut Vec<u8>,
}

impl fmt::Debug for KernelCx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.name, self.scalars)
    }
}

impl KernelCx<'_> {
    /// The kernel.
    pub fn kernel(&self) -> &str {
        self.name
    }

    /// Values of the scalar parameters, in declared order.
    pub fn scalars(&self) -> &[i64] {
        self.scalars
    }

    /// Boxes of the tensor parameters, in declared order, by element indices of their tensors.
    pub fn boxes(&self) -> &[Region] {
        self.boxes
    }

    /// Extents of the box of tensor parameter `n`, outermost dimension first.
    ///
    /// # Errors
    /// When there is no such parameter.
    pub fn shape(&self, n: usize) -> Result<Vec<usize>, KernelFault> {
        let (region, tensor) = self.parameter(n)?;
        let rank = tensor.rank();
        Ok((0..rank).map(|d| (region.hi[d] - region.lo[d]) as usize).collect())
    }

    /// The elements of tensor parameter `n` in row-major order.
    ///
    /// # Errors
    /// When there is no such parameter, it is declared `out`, or its elements have another type.
    pub fn load<T: Element>(&mut self, n: usize) -> Result<Vec<T>, KernelFault> {
        self.check::<T>(n, AccessMode::Out, "load from")?;
        let region = self.boxes[n];
        self.scratch.clear();
        self.tensors[region.tensor.index()].load(&region, self.scratch);
        let elements = self.scratch.chunks_exact(size_of::<T>());
        Ok(elements
            .map(|bytes| T::read_from_bytes(bytes).expect("a chunk should have the element's size"))
            .collect())
    }

    /// Replaces the elements of tensor parameter `n`, in row-major order.
    ///
    /// # Errors
    /// When there is no such parameter, it is declared `in`, its elements have another type, or their number differs.
    pub fn store<T: Element>(&mut self, n: usize, elements: &[T]) -> Result<(), KernelFault> {
        self.check::<T>(n, AccessMode::In, "store to")?;
        let region = self.boxes[n];
        let tensor = &self.tensors[region.tensor.index()];
        let bytes = elements.as_bytes();
        if bytes.len() != tensor.box_bytes(&region) {
            let wanted = tensor.box_bytes(&region) / size_of::<T>();
            return Err(format!(
                "stores {} elements to parameter {n}, whose box has {wanted}",
                elements.len()
            )
            .into());
        }
        tensor.store(&region, bytes);
        Ok(())
    }

    fn parameter(&self, n: usize) -> Result<(&Region, &SharedTensor), KernelFault> {
        let region = self.boxes.get(n).ok_or_else(|| {
            KernelFault(format!("there is no tensor parameter {n}: the kernel has {}", self.boxes.len()))
        })?;
        Ok((region, &self.tensors[region.tensor.index()]))
    }

    /// Refuses parameter `n` when it has this mode, or elements of another type.
    fn check<T: Element>(&self, n: usize, refused: AccessMode, what: &str) -> Result<(), KernelFault> {
        let (_, tensor) = self.parameter(n)?;
        if self.mode(n) == Some(refused) {
            let declared = if refused == AccessMode::In { "in" } else { "out" };
            return Err(format!("cannot {what} parameter {n}, which is declared `{declared}`").into());
        }
        if tensor.dtype() != T::DTYPE {
            return Err(format!(
                "parameter {n} has elements of type {:?}, not {:?}",
                tensor.dtype(),
                T::DTYPE
            )
            .into());
        }
        Ok(())
    }

    fn mode(&self, n: usize) -> Option<AccessMode> {
        let Signature::Declared(params) = self.signature else { return None };
        let modes = params
            .iter()
            .filter_map(|p| if let ParamKind::Tensor(mode) = p.kind { Some(mode) } else { None });
        modes.clone().nth(n)
    }
}

/// An element type of tensors that kernel bodies can hold.
pub trait Element: FromBytes + IntoBytes + Immutable + Copy {
    /// As tensors name it.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($ty:ty: $dtype:ident),*) => {$(
        impl Element for $ty {
            const DTYPE: DType = DType::$dtype;
        }
    )*};
}

elements!(f32: F32, f64: F64, u8: U8, u16: U16, i32: I32, u32: U32, i64: I64, u64: U64);
