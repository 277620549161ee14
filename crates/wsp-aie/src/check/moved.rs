//! Arrays of the host of which transfers write a part.

use super::Findings;
use crate::codes;
use crate::design::{Design, Length, Move, Sequence, Step, steps};
use crate::device::Direction;
use crate::mlir::Value;
use wsp_core::words::counted;
use wsp_diag::Diagnostic;

/// Elements of an array, and elements that are moved, up to which they are followed.
const MOST: u64 = 1 << 24;

/// Warns of arrays that sequences write and do not read, where elements are left.
pub(super) fn check(design: &Design, findings: &mut Findings) {
    for sequence in &design.sequences {
        let Ok(steps) = steps(sequence) else { continue };
        for array in &sequence.args {
            findings.0.extend(left(design, (sequence, &steps), *array));
        }
    }
}

/// The warning of an array; none where a launch decides what is moved.
fn left(design: &Design, (sequence, steps): (&Sequence, &[Step]), array: Value) -> Option<Diagnostic> {
    let elements = design.module.ty(array).elements().filter(|elements| *elements <= MOST)?;
    let is_of = |step: &Step| matches!(step, Step::Move(transfer) if transfer.array == array);
    let mut written = vec![false; elements as usize];
    let (mut last, mut moved) = (None, 0);
    for step in steps.iter().filter(|step| step.has(&is_of)) {
        let Step::Move(transfer) = step else { return None };
        if design.direction_of(transfer) != Some(Direction::S2mm) {
            return None;
        }
        moved += mark(transfer, &mut written)?;
        if moved > MOST {
            return None;
        }
        last = Some(transfer);
    }
    let (span, first) = (last?.span, written.iter().position(|written| !written)?);
    let name = design.module.name(array);
    let message = format!(
        "transfers of `@{}` write {} of the {} of `{name}`",
        sequence.name,
        written.iter().filter(|written| **written).count(),
        counted(elements, "element")
    );
    Some(
        Diagnostic::warning(codes::PART, message)
            .at(span, "")
            .note(format!("element {first} is the first that none writes: it stays as it was"))
            .help("write the rest too, or give the sequence an array of the elements that it writes"),
    )
}

/// Marks what a transfer writes; how many elements it moves.
fn mark(transfer: &Move, written: &mut [bool]) -> Option<u64> {
    let fixed = |length: &Length| match length {
        Length::Fixed(value) => u64::try_from(*value).ok(),
        Length::Of(_) => None,
    };
    let all = |lengths: &[Length]| lengths.iter().map(fixed).collect::<Option<Vec<u64>>>();
    let (offset, mut sizes, strides) =
        (fixed(&transfer.offset)?, all(&transfer.sizes)?, all(&transfer.strides)?);
    // The outermost of four is done as often as a task says; rounds beyond it write the same again.
    if let ([outer, _, _, _], Some(_)) = (sizes.as_mut_slice(), transfer.task) {
        *outer = (*outer).min(transfer.rounds());
    }
    let moved = sizes.iter().try_fold(1u64, |all, size| all.checked_mul(*size))?;
    if moved > MOST {
        return None;
    }
    // What lies one after the other is marked at once.
    let (run, outer) = match (sizes.last(), strides.last()) {
        (Some(size), Some(1)) => (*size, sizes.len() - 1),
        _ => (1, sizes.len()),
    };
    for number in 0..moved.checked_div(run)? {
        let (mut rest, mut at) = (number, offset);
        for (size, stride) in sizes[..outer].iter().zip(&strides).rev() {
            at = at.checked_add((rest % size).checked_mul(*stride)?)?;
            rest /= size;
        }
        let (from, to) = (usize::try_from(at).ok()?, usize::try_from(at.checked_add(run)?).ok()?);
        written.get_mut(from..to)?.fill(true);
    }
    Some(moved)
}
