//! What a body of a declared kernel sees of its task, and how it fails.

use super::memory::{Elements, NeverStored, RowsFault, SharedTensor};
use super::watch::{Access, Watch};
use std::cell::OnceCell;
use std::fmt;
use wsp_backend::Payload;
use wsp_core::Region;
use wsp_core::words::counted;
use wsp_ir::workload::AccessMode;
use wsp_memory::View;
use wsp_plan::Element;
use zerocopy::IntoBytes;

/// Why a task of a registered kernel failed.
#[derive(Clone, Debug, Default)]
pub struct KernelFault {
    /// What is said of it.
    pub message: String,
    /// What the caller of the run is given besides, see [`PayloadSlot`](wsp_backend::PayloadSlot).
    pub payload: Option<Payload>,
}

impl KernelFault {
    /// A fault with something for the caller of the run.
    pub fn with_payload(message: impl Into<String>, payload: Payload) -> KernelFault {
        KernelFault { message: message.into(), payload: Some(payload) }
    }
}

impl<S: Into<String>> From<S> for KernelFault {
    fn from(message: S) -> KernelFault {
        KernelFault { message: message.into(), payload: None }
    }
}

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What a kernel body sees of its task.
pub struct KernelCx<'a> {
    pub(crate) name: &'a str,
    /// Modes of the tensor parameters.
    pub(crate) modes: &'a [AccessMode],
    pub(crate) scalars: &'a [i64],
    pub(crate) regions: &'a [Region],
    pub(crate) tensors: &'a [SharedTensor],
    pub(crate) scratch: &'a mut Vec<u8>,
    /// The first load that was refused: then the task fails, whatever its body makes of that.
    pub(crate) refused: OnceCell<NeverStored>,
    /// What looks for elements that are left unwritten, if they are looked for.
    pub(crate) watch: Option<&'a Watch<'a>>,
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

    /// Regions of the tensor parameters, in declared order, by element indices of their tensors.
    pub fn regions(&self) -> &[Region] {
        self.regions
    }

    /// Extents of the region of tensor parameter `n`, outermost dimension first.
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
    /// When there is no such parameter, it is declared `out`, its elements have another type, or no task has stored some of
    /// them, see [`Absent::Refused`](wsp_backend::Absent::Refused).
    pub fn load<T: Element>(&mut self, n: usize) -> Result<Vec<T>, KernelFault> {
        self.check::<T>(n, AccessMode::Out, "load from")?;
        let region = self.regions[n];
        self.scratch.clear();
        let loaded = self.tensors[region.tensor.index()].load(&region, self.scratch);
        loaded.map_err(|fault| self.refuse(n, fault))?;
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
        let region = self.regions[n];
        let tensor = &self.tensors[region.tensor.index()];
        let bytes = elements.as_bytes();
        if bytes.len() != tensor.region_bytes(&region) {
            let wanted = tensor.region_bytes(&region) / size_of::<T>();
            return Err(format!(
                "stores {} to parameter {n}, whose region has {wanted}",
                counted(elements.len(), "element")
            )
            .into());
        }
        tensor.store(&region, bytes);
        self.watch.into_iter().for_each(|watch| watch.replace(n));
        Ok(())
    }

    /// The region of tensor parameter `n`, for a body that reads and writes it by address: until it returns, and as
    /// [`View::access`] says. The view keeps the memory from going away, also after the task.
    ///
    /// A run that looks for elements that tasks leave unwritten calls a body twice for a task that is given the view of an `out` region of
    /// integers or of 8-bit floats, with all that it may write as before: it is to do the same both times.
    ///
    /// # Errors
    /// When there is no such parameter, or it is not declared `out` and no task has stored some of the elements, see
    /// [`Absent::Refused`](wsp_backend::Absent::Refused).
    pub fn view(&self, n: usize) -> Result<View, KernelFault> {
        self.given(n, Access::Any)
    }

    /// [`view`](Self::view) for a body whose caller sees to it that no integer and no 8-bit float follows from what an `out` region holds: the
    /// body is called once. Of `out` regions of `i8`, `i16`, `u8`, `u16`, `bool`, `f8e4m3` and `f8e5m2` nothing is found to be unwritten then.
    ///
    /// # Errors
    /// As [`view`](Self::view).
    pub fn view_unread(&self, n: usize) -> Result<View, KernelFault> {
        self.given(n, Access::Unread)
    }

    fn given(&self, n: usize, access: Access) -> Result<View, KernelFault> {
        let (region, tensor) = self.parameter(n)?;
        let watched = self.watched(n, access);
        let view = tensor.view(region, self.mode(n).unwrap_or(AccessMode::InOut), watched);
        view.map_err(|fault| self.refuse(n, fault))
    }

    /// Whether a watch tells what the body stores to the region of parameter `n`, whose address it is about to be given.
    fn watched(&self, n: usize, access: Access) -> bool {
        self.watch.is_some_and(|watch| watch.give(n, access))
    }

    /// The elements of tensor parameter `n`, which the body only reads, or may write.
    pub(super) fn elements<T: Element>(&self, n: usize, writes: bool) -> Result<Elements, KernelFault> {
        let (region, tensor) = self.parameter(n)?;
        match self.mode(n) {
            Some(mode) if writes == (mode == AccessMode::In) => {
                let (what, declared) = match mode {
                    AccessMode::In => ("write", "in"),
                    AccessMode::Out => ("only read", "out"),
                    AccessMode::InOut => ("only read", "inout"),
                };
                Err(format!("the function would {what} parameter {n}, which is declared `{declared}`").into())
            }
            mode => {
                self.check_type::<T>(n)?;
                let mode = mode.unwrap_or(AccessMode::InOut);
                let watched = self.watched(n, Access::Any);
                let rows = tensor.rows(region, mode, size_of::<T>(), align_of::<T>(), watched);
                rows.map_err(|fault| match fault {
                    RowsFault::NeverStored(fault) => self.refuse(n, fault),
                    RowsFault::Columns { stride, size } => format!(
                        "elements of a row of parameter {n} lie {stride} bytes apart, and have {size}: register a function that loads \
                         and stores copies"
                    )
                    .into(),
                    RowsFault::Unaligned { align } => {
                        format!("elements of parameter {n} do not lie at multiples of {align} bytes").into()
                    }
                })
            }
        }
    }

    fn refuse(&self, n: usize, fault: NeverStored) -> KernelFault {
        let message = format!("no task has stored element {:?} of the tensor of parameter {n}", fault.index);
        self.refused.get_or_init(|| fault);
        message.into()
    }

    fn parameter(&self, n: usize) -> Result<(&Region, &SharedTensor), KernelFault> {
        let region = self.regions.get(n).ok_or_else(|| {
            KernelFault::from(format!(
                "there is no tensor parameter {n}: the kernel has {}",
                self.regions.len()
            ))
        })?;
        Ok((region, &self.tensors[region.tensor.index()]))
    }

    /// Refuses parameter `n` when it has this mode, or elements of another type.
    fn check<T: Element>(&self, n: usize, refused: AccessMode, what: &str) -> Result<(), KernelFault> {
        if self.mode(n) == Some(refused) {
            let declared = if refused == AccessMode::In { "in" } else { "out" };
            return Err(format!("cannot {what} parameter {n}, which is declared `{declared}`").into());
        }
        self.check_type::<T>(n)
    }

    /// Refuses parameter `n` when it has elements of another type.
    fn check_type<T: Element>(&self, n: usize) -> Result<(), KernelFault> {
        let (_, tensor) = self.parameter(n)?;
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
        self.modes.get(n).copied()
    }
}
