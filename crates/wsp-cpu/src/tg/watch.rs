//! What a body that is not looked into stores to the arguments that it only writes.

use super::cx::{BoundArg, TgCx};
use crate::pattern::{Fate, Fill};
use crate::workload::KernelFault;
use wsp_core::DType;
use wsp_core::tg::Direction;
use wsp_core::words::by_count;

/// An argument that a block may write.
struct Written<'a> {
    number: usize,
    arg: &'a BoundArg,
    dtype: DType,
    before: Vec<u8>,
    /// What it is filled with, if it is watched.
    fill: Option<Fill>,
    /// What it held after the first of two calls.
    first: Option<Vec<u8>>,
}

impl TgCx<'_> {
    /// Runs a body that takes arguments as memory, through [`peek`](Self::peek), and records of each that is only written exactly the
    /// elements that it stores: the argument is filled with a pattern first, and elements that still hold it get back what
    /// they held. `dtypes` are the types of elements by argument. Arguments that are read as well, or that share memory with another one, count as
    /// stored whole. Where an argument of integers or of 8-bit floats is watched, the body runs twice, over other patterns and with all else that it
    /// writes as before: it is to do the same both times. No other block may run meanwhile.
    ///
    /// # Errors
    /// Those of the body, and elements that it computes from what a written argument held.
    pub fn watched(
        &self,
        dtypes: &[DType],
        mut body: impl FnMut() -> Result<(), KernelFault>,
    ) -> Result<(), KernelFault> {
        self.watch(dtypes, true, &mut body)
    }

    /// [`watched`](Self::watched) of a body that runs once, whose caller sees to it that no integer and no 8-bit float follows from what an argument
    /// held. Arguments whose elements have too few values for a pattern (`u8`, `u16` and 8-bit floats) count as stored whole.
    ///
    /// # Errors
    /// Those of the body, and real numbers of 16 bits or more that it computes from what a written argument held.
    pub fn watched_once(
        &self,
        dtypes: &[DType],
        body: impl FnOnce() -> Result<(), KernelFault>,
    ) -> Result<(), KernelFault> {
        let mut body = Some(body);
        self.watch(dtypes, false, &mut || body.take().map_or(Ok(()), |body| body()))
    }

    fn watch(
        &self,
        dtypes: &[DType],
        may_repeat: bool,
        body: &mut dyn FnMut() -> Result<(), KernelFault>,
    ) -> Result<(), KernelFault> {
        let args = self.args.iter().enumerate().zip(dtypes);
        let written = args.filter(|((_, arg), _)| arg.direction != Direction::In);
        let mut written: Vec<Written<'_>> =
            written.map(|((number, arg), &dtype)| self.begin(number, arg, dtype, may_repeat)).collect();
        for one in &written {
            match &one.fill {
                Some(fill) => one.arg.range.put(fill.first()),
                None => one.arg.range.note_store(),
            }
        }
        let mut ran = body();
        let repeats =
            may_repeat && written.iter().filter_map(|one| one.fill.as_ref()).any(Fill::takes_two_calls);
        if repeats && ran.is_ok() {
            written.iter_mut().for_each(|one| one.first = Some(one.arg.range.to_vec()));
            for Written { arg, before, fill, .. } in &written {
                arg.range.put(&fill.as_ref().map_or(before.clone(), Fill::second));
            }
            ran = body();
        }
        let faults: Vec<String> = written.into_iter().filter_map(Written::end).collect();
        ran?;
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ").into()) }
    }

    fn begin<'a>(&self, number: usize, arg: &'a BoundArg, dtype: DType, may_repeat: bool) -> Written<'a> {
        let others = || self.args.iter().enumerate().filter(|(other, _)| *other != number);
        let shared = others().any(|(_, other)| other.range.overlaps(&arg.range));
        let before = arg.range.to_vec();
        let fill = match (arg.direction == Direction::Out && !shared, may_repeat) {
            (false, _) => None,
            (true, true) => Some(Fill::new(dtype, before.len())),
            (true, false) => Fill::of_one_call(dtype, before.len()),
        };
        Written { number, arg, dtype, before, fill, first: None }
    }
}

impl Written<'_> {
    /// Records what was stored, and gives the rest back what it held; what to say of elements that were computed from a pattern.
    fn end(self) -> Option<String> {
        let range = &self.arg.range;
        let mut after = range.to_vec();
        let size = self.dtype.size();
        let elements = after.len() / size;
        let mut computed = 0;
        for element in 0..elements {
            let at = element * size..(element + 1) * size;
            let fate = match (&self.fill, &self.first) {
                (Some(fill), first) => fill.fate(element, first.as_deref(), &after),
                (None, Some(first)) if first[at.clone()] != after[at.clone()] => Fate::Computed,
                (None, _) => Fate::Stored,
            };
            match fate {
                Fate::Stored if self.fill.is_some() => {
                    if let Some(part) = range.part(at.start as u64, size as u64) {
                        part.note_store();
                    }
                    continue;
                }
                Fate::Stored => continue,
                Fate::Computed => computed += 1,
                Fate::Left => {}
            }
            after[at.clone()].copy_from_slice(&self.before[at]);
        }
        range.put(&after);
        let are = by_count(computed, "is", "are");
        (computed > 0).then(|| match self.fill {
            Some(_) => format!(
                "argument {} is only written, and {computed} of its {elements} elements {are} computed from what it held before the block",
                self.number
            ),
            None => format!(
                "{computed} of the {elements} elements of argument {} {are} computed from what arguments that are only written held before the block",
                self.number
            ),
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
        assert_eq!(unwritten, [("Y".to_owned(), 2), ("Z".to_owned(), 3), ("W".to_owned(), 3)]);
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

    #[test]
    fn integers_that_are_computed_from_what_an_output_held_fail_the_block() {
        let add_one = |n: usize, bytes: &mut [u8]| {
            for element in bytes.chunks_exact_mut(4).filter(|_| n == 1) {
                let value = i32::from_ne_bytes([element[0], element[1], element[2], element[3]]);
                element.copy_from_slice(&value.wrapping_add(1).to_ne_bytes());
            }
        };
        let faults = format!("{:?}", run(add_one).expect_err("every element is computed"));
        assert!(
            faults.contains("argument 1 is only written, and 4 of its 4 elements are computed"),
            "{faults}"
        );
    }

    #[test]
    fn an_integer_that_is_what_the_pattern_holds_is_stored() {
        let Left { unwritten, bytes } = run(|n, bytes| {
            let held = Fill::new([DType::F32, DType::I32, DType::F8E4m3][n], bytes.len());
            bytes.copy_from_slice(if n == 0 { &[0; 16] } else { held.first() });
        })
        .expect("nothing is computed");
        assert_eq!(unwritten, []);
        assert_eq!(bytes[1][1], Fill::new(DType::I32, 16).first());
        assert_eq!(bytes[2][1], Fill::new(DType::F8E4m3, 4).first());
    }
}
