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
    /// Those of the body, and real numbers of 16 bits or more that it computes from what a written argument held. What is computed from
    /// other numbers looks like any number.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tg::{Session, SessionOptions, TgKernels};
    use std::sync::{Arc, Mutex};
    use wsp_backend::Recording;
    use wsp_diag::{Diagnostic, SourceMap};
    use wsp_ir::tg::{ArgSignature, KernelSignature};

    const UNIT: &str =
        "extern Y: f32[4]\nextern Z: i32[4]\nextern W: f8e4m3[4]\nTG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIV, 0)
MC_BIND(K, 0, Y)\nMC_BIND(K, 1, Z)\nMC_BIND(K, 2, W)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)";

    /// What a run of the unit leaves.
    #[derive(Debug)]
    struct Left {
        /// Elements that nothing has stored, by output.
        unwritten: Vec<(String, u64)>,
        /// The bytes of each output before the block and after it.
        bytes: Vec<[Vec<u8>; 2]>,
    }

    /// Runs the unit with a kernel that replaces the bytes of its three outputs by what `of` makes of them.
    fn run(of: fn(usize, &mut [u8])) -> Result<Left, Vec<Diagnostic>> {
        let args = (0..3).map(|n| ArgSignature::new(format!("a{n}"), Direction::Out)).collect();
        let before = Arc::new(Mutex::new(Vec::new()));
        let held = Arc::clone(&before);
        let mut kernels = TgKernels::new();
        let signature = Some(KernelSignature::new("k", args));
        let body = move |cx: &mut TgCx<'_>| {
            let bytes = |n| cx.peek(n).map(|arg| arg.range.to_vec());
            *held.lock().expect("no test panics here") = [bytes(0)?, bytes(1)?, bytes(2)?].to_vec();
            cx.watched(&[DType::F32, DType::I32, DType::F8E4m3], || {
                for n in 0..3 {
                    let mut bytes = bytes(n)?;
                    of(n, &mut bytes);
                    cx.peek(n)?.range.put(&bytes);
                }
                Ok(())
            })
        };
        kernels.register("k", signature, body).expect("it is the only one");
        let (unit, _) = wsp_isa::tg::text::parse("a.tg", UNIT, &mut SourceMap::default());
        let options = SessionOptions { recording: Recording::On, ..SessionOptions::default() };
        let mut session = Session::new(&unit.expect("it is a unit"), &kernels, options)?;
        session.run()?;
        let unwritten = session.unwritten().into_iter().map(|one| (one.tensor, one.elements)).collect();
        let before = std::mem::take(&mut *before.lock().expect("no test panics here"));
        let after =
            ["Y", "Z", "W"].map(|name| session.tensor(name).expect("it is declared").bytes().to_vec());
        let bytes = before.into_iter().zip(after).map(|(before, after)| [before, after]).collect();
        Ok(Left { unwritten, bytes })
    }

    #[test]
    fn what_a_body_stores_is_recorded_and_the_rest_is_as_it_was() {
        let Left { unwritten, bytes } =
            run(|n, bytes| bytes[..[8, 4, 1][n]].fill(0)).expect("nothing is computed");
        assert_eq!(unwritten, [("Y".to_owned(), 2), ("Z".to_owned(), 3)], "8-bit floats have no pattern");
        for ([before, after], stored) in bytes.iter().zip([8, 4, 1]) {
            assert!(after[..stored].iter().all(|byte| *byte == 0));
            assert_eq!(after[stored..], before[stored..]);
        }
    }

    #[test]
    fn real_numbers_that_are_computed_from_what_an_output_held_fail_the_block() {
        let add_one = |n: usize, bytes: &mut [u8]| {
            for element in bytes.chunks_exact_mut(4).filter(|_| n == 0) {
                let value = f32::from_ne_bytes([element[0], element[1], element[2], element[3]]) + 1.0;
                element.copy_from_slice(&value.to_ne_bytes());
            }
        };
        let faults = format!("{:?}", run(add_one).expect_err("every element is computed"));
        assert!(
            faults.contains("argument 0 is only written, and 4 of its 4 elements are computed"),
            "{faults}"
        );
    }
}
