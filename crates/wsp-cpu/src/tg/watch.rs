//! What a body that is not looked into stores to the arguments that it only writes.

use super::cx::{BoundArg, TgCx};
use crate::pattern::{pattern, quiet_nan};
use crate::workload::KernelFault;
use wsp_core::DType;
use wsp_core::tg::Direction;

/// An argument that holds a pattern while a block runs.
struct Filled<'a> {
    number: usize,
    arg: &'a BoundArg,
    dtype: DType,
    before: Vec<u8>,
    pattern: Vec<u8>,
}

impl TgCx<'_> {
    /// Runs a body that takes arguments as memory, through [`peek`](Self::peek), and records of each that is only written exactly the
    /// elements that it stores: the argument is filled with a pattern first, and elements that still hold it get back what
    /// they held. `dtypes` are the types of elements by argument. Arguments that are read as well, that share memory with another one, and
    /// whose elements have too few values for a pattern (`u8`, `u16` and 8-bit floats) count as stored whole. No other block may run meanwhile.
    ///
    /// # Errors
    /// Those of the body, and elements that it computes from what a written argument held.
    pub fn watched(
        &self,
        dtypes: &[DType],
        body: impl FnOnce() -> Result<(), KernelFault>,
    ) -> Result<(), KernelFault> {
        let mut filled = Vec::new();
        for ((number, arg), &dtype) in self.args.iter().enumerate().zip(dtypes) {
            match self.fill(number, arg, dtype) {
                Some(one) => filled.push(one),
                None if arg.direction == Direction::In => {}
                None => arg.range.note_store(),
            }
        }
        let ran = body();
        let faults: Vec<String> = filled.into_iter().filter_map(Filled::end).collect();
        ran?;
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
    }

    fn fill<'a>(&self, number: usize, arg: &'a BoundArg, dtype: DType) -> Option<Filled<'a>> {
        let others = || self.args.iter().enumerate().filter(|(other, _)| *other != number);
        let shared = others().any(|(_, other)| other.range.overlaps(&arg.range));
        if arg.direction != Direction::Out || shared {
            return None;
        }
        let pattern = pattern(dtype, arg.range.bytes() as usize)?;
        let before = arg.range.to_vec();
        arg.range.put(&pattern);
        Some(Filled { number, arg, dtype, before, pattern })
    }
}

impl Filled<'_> {
    /// Records what was stored, and gives the rest back what it held; what to say of elements that were computed from the pattern.
    fn end(self) -> Option<String> {
        let range = &self.arg.range;
        let mut after = range.to_vec();
        let size = self.dtype.size();
        let quiet = quiet_nan(self.dtype).unwrap_or_default();
        let mut computed = 0;
        for at in (0..after.len() / size).map(|element| element * size) {
            let element = at..at + size;
            if after[element.clone()] == *quiet {
                computed += 1;
            } else if after[element.clone()] != self.pattern[element.clone()] {
                if let Some(part) = range.part(at as u64, size as u64) {
                    part.note_store();
                }
                continue;
            }
            after[element.clone()].copy_from_slice(&self.before[element]);
        }
        range.put(&after);
        (computed > 0).then(|| {
            format!(
                "argument {} is only written, and {computed} of its {} elements are computed from what it held before the block",
                self.number,
                after.len() / size
            )
        })
    }
}
