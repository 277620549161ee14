//! What a kernel sees of its launch: its block, and exactly the bytes that are bound to its arguments.

use super::memory::TensorRange;
use crate::workload::KernelFault;
use std::fmt;
use wsp_core::tg::Direction;
use wsp_core::words::counted;
use wsp_plan::Element;
use wsp_tg::plan::KernelDef;
use zerocopy::IntoBytes;

/// An argument of a kernel: bytes, and what the kernel may do with them.
#[derive(Clone, Debug)]
pub struct BoundArg {
    /// The bytes.
    pub range: TensorRange,
    /// [`Direction::Auto`] reads and writes.
    pub direction: Direction,
}

/// What a function that runs one block of a kernel sees.
pub struct TgCx<'a> {
    pub(crate) def: &'a KernelDef,
    pub(crate) args: &'a [BoundArg],
    pub(crate) workspace: Option<&'a TensorRange>,
    pub(crate) block: u32,
    pub(crate) blocks: u32,
    pub(crate) iteration: i64,
    pub(crate) device: u32,
    pub(crate) devices: u32,
}

impl fmt::Debug for TgCx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} block {} of {}", self.def.name, self.block, self.blocks)
    }
}

impl<'a> TgCx<'a> {
    /// The kernel's name in its graph.
    pub fn kernel(&self) -> &str {
        &self.def.name
    }

    /// Which block this is, from 0.
    #[inline]
    pub fn block(&self) -> u32 {
        self.block
    }

    /// How many blocks the kernel has.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The iteration that `TG_INVOKE` gave; 0 of a launch.
    #[inline]
    pub fn iteration(&self) -> i64 {
        self.iteration
    }

    /// The device, from 0.
    #[inline]
    pub fn device(&self) -> u32 {
        self.device
    }

    /// How many devices there are.
    pub fn devices(&self) -> u32 {
        self.devices
    }

    /// How many arguments are bound.
    pub fn args(&self) -> usize {
        self.args.len()
    }

    /// Bytes bound to argument `n`.
    ///
    /// # Errors
    /// When there is no such argument.
    pub fn bytes(&self, n: usize) -> Result<u64, KernelFault> {
        Ok(self.bound(n)?.range.bytes())
    }

    /// Elements bound to argument `n`.
    ///
    /// # Errors
    /// When there is no such argument, or its bytes are not a whole number of elements.
    pub fn len<T: Element>(&self, n: usize) -> Result<usize, KernelFault> {
        whole::<T>(self.bound(n)?.range.bytes(), Piece::Arg(n))
    }

    /// All elements of argument `n`.
    ///
    /// # Errors
    /// When there is no such argument, it is written only, or its bytes are not a whole number of elements.
    pub fn load<T: Element>(&self, n: usize) -> Result<Vec<T>, KernelFault> {
        let range = self.readable(n)?;
        let len = whole::<T>(range.bytes(), Piece::Arg(n))?;
        let mut elements = vec![T::new_zeroed(); len];
        range.read(0, size_of::<T>(), elements.as_mut_bytes());
        Ok(elements)
    }

    /// The elements of argument `n` from element `first` on, as many as `into` has.
    ///
    /// # Errors
    /// When there is no such argument, it is written only, or has fewer elements.
    pub fn load_at<T: Element>(&self, n: usize, first: usize, into: &mut [T]) -> Result<(), KernelFault> {
        let range = self.readable(n)?;
        let at = inside::<T>(range, first, into.len(), Piece::Arg(n))?;
        range.read(at, size_of::<T>(), into.as_mut_bytes());
        Ok(())
    }

    /// Replaces elements of argument `n` from element `first` on.
    ///
    /// # Errors
    /// When there is no such argument, it is read only, or has fewer elements.
    pub fn store<T: Element>(&self, n: usize, first: usize, elements: &[T]) -> Result<(), KernelFault> {
        let range = self.writable(n)?;
        let at = inside::<T>(range, first, elements.len(), Piece::Arg(n))?;
        range.write(at, size_of::<T>(), elements.as_bytes());
        Ok(())
    }

    /// Bytes of the workspace that all blocks of the kernel share; 0 if it asked for none.
    pub fn workspace_bytes(&self) -> u64 {
        self.workspace.map_or(0, TensorRange::bytes)
    }

    /// Elements of the workspace from element `first` on, as many as `into` has. What a launch finds there is not defined.
    ///
    /// # Errors
    /// When the workspace has fewer.
    pub fn load_workspace<T: Element>(&self, first: usize, into: &mut [T]) -> Result<(), KernelFault> {
        let range = self.workspace.ok_or("the kernel has no workspace")?;
        let at = inside::<T>(range, first, into.len(), Piece::Workspace)?;
        range.read(at, size_of::<T>(), into.as_mut_bytes());
        Ok(())
    }

    /// Replaces elements of the workspace from element `first` on.
    ///
    /// # Errors
    /// When the workspace has fewer.
    pub fn store_workspace<T: Element>(&self, first: usize, elements: &[T]) -> Result<(), KernelFault> {
        let range = self.workspace.ok_or("the kernel has no workspace")?;
        let at = inside::<T>(range, first, elements.len(), Piece::Workspace)?;
        range.write(at, size_of::<T>(), elements.as_bytes());
        Ok(())
    }

    /// Argument `n` itself, for bodies that know more of memory than this crate.
    ///
    /// # Errors
    /// When there is no such argument.
    pub fn arg(&self, n: usize) -> Result<&'a BoundArg, KernelFault> {
        let arg = self.bound(n)?;
        if arg.direction != Direction::In {
            arg.range.note_store();
        }
        Ok(arg)
    }

    /// Argument `n` itself, for the body of [`watched`](Self::watched), which records what is stored.
    ///
    /// # Errors
    /// When there is no such argument.
    pub fn peek(&self, n: usize) -> Result<&'a BoundArg, KernelFault> {
        self.bound(n)
    }

    fn bound(&self, n: usize) -> Result<&'a BoundArg, KernelFault> {
        self.args.get(n).ok_or_else(|| {
            KernelFault::from(format!("there is no argument {n}: {} are bound", self.args.len()))
        })
    }

    /// The workspace itself.
    pub fn workspace(&self) -> Option<&'a TensorRange> {
        self.workspace.inspect(|range| range.note_store())
    }

    fn readable(&self, n: usize) -> Result<&'a TensorRange, KernelFault> {
        let arg = self.bound(n)?;
        if arg.direction == Direction::Out {
            return Err(format!("cannot load from argument {n}, which is written only").into());
        }
        Ok(&arg.range)
    }

    fn writable(&self, n: usize) -> Result<&'a TensorRange, KernelFault> {
        let arg = self.bound(n)?;
        if arg.direction == Direction::In {
            return Err(format!("cannot store to argument {n}, which is read only").into());
        }
        Ok(&arg.range)
    }
}

/// Memory of a kernel, in messages.
#[derive(Clone, Copy)]
enum Piece {
    Arg(usize),
    Workspace,
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Arg(n) => write!(f, "argument {n}"),
            Piece::Workspace => f.write_str("the workspace"),
        }
    }
}

/// Elements that so many bytes are.
fn whole<T>(bytes: u64, what: Piece) -> Result<usize, KernelFault> {
    let size = size_of::<T>() as u64;
    if !bytes.is_multiple_of(size) {
        return Err(format!(
            "{what} has {bytes}, no whole number of elements of {size}",
            bytes = counted(bytes, "byte"),
            size = counted(size, "byte")
        )
        .into());
    }
    // Bytes of a buffer fit an address.
    Ok((bytes / size) as usize)
}

/// Byte offset of elements that lie in a range.
fn inside<T>(range: &TensorRange, first: usize, len: usize, what: Piece) -> Result<usize, KernelFault> {
    let size = size_of::<T>();
    let end = first.checked_add(len).and_then(|end| end.checked_mul(size));
    if end.is_none_or(|end| end as u64 > range.bytes()) {
        let has = range.bytes() / size as u64;
        return Err(format!(
            "{len} from {first} on do not lie in {what}, which has {has}",
            len = counted(len, "element")
        )
        .into());
    }
    Ok(first * size)
}
