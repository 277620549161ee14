//! Any bytes are read and verified without a panic, in time that does not explode.

use crate::image::{Aligned, Image, NONE, dim, halt, sample, task_counts, word};
use proptest::prelude::*;
use wsp_core::ptow::{
    DimKind, MAX_EXPR_WORDS, MAX_WORDS, Op, Program, Style, TensorDescriptor, Verified, XOp, marks_needed,
};

/// Reads and verifies; whether it went well.
fn accepts(bytes: &[u8]) -> bool {
    let aligned = Aligned::new(bytes);
    let Ok(program) = Program::read(aligned.get()) else { return false };
    let mut marks = vec![0xFF; marks_needed(&program)];
    let ours = Verified::new(program, &mut marks);
    let document = Verified::with_style(program, &mut marks, Style::Document);
    if let Err(error) = &ours {
        assert!(!error.to_string().is_empty());
    }
    assert!(document.is_ok() || ours.is_err(), "the document's style takes all of ours");
    ours.is_ok()
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_verified(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        accepts(&bytes);
    }

    #[test]
    fn any_records_behind_a_good_header_are_verified(
        counts in proptest::array::uniform4(0u32..6),
        bytes in proptest::collection::vec(prop_oneof![Just(0u8), 0u8..8, 0x10u8..0x18, 0x20u8..0x29, any::<u8>()], 0..300),
    ) {
        let mut all = Image::default().tables();
        for (index, count) in counts.iter().enumerate() {
            all[8 + 4 * index..12 + 4 * index].copy_from_slice(&count.to_le_bytes());
        }
        all.extend(bytes);
        accepts(&all);
    }

    #[test]
    fn mutated_programs_are_verified(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = sample().0.bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        accepts(&bytes);
    }

    #[test]
    fn words_in_another_order_are_verified(swaps in proptest::collection::vec(any::<[prop::sample::Index; 2]>(), 1..4)) {
        let mut image = sample().0;
        for [a, b] in swaps {
            let (a, b) = (a.index(image.words.len()), b.index(image.words.len()));
            image.words.swap(a, b);
        }
        accepts(&image.bytes());
    }
}

#[test]
fn every_change_of_one_byte_of_the_sample_is_survived() {
    let bytes = sample().0.bytes();
    let mut accepted = 0;
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            accepted += usize::from(accepts(&changed));
        }
    }
    assert!(accepted > 0, "some bits are free, as those of integers");
}

#[test]
fn the_longest_expressions_named_by_every_word_are_verified() {
    let mut image = Image::default();
    let mut ops = vec![(XOp::XConst, 1)];
    ops.resize(MAX_EXPR_WORDS, (XOp::XNeg, 0));
    let first = image.expr(&ops);
    image.kernels = vec![Default::default()];
    image.kernels[0].name = NONE;
    image.tensors = vec![TensorDescriptor { dtype: 0, rank: 1, name: NONE, slot: 0 }];
    while image.words.len() + 4 < MAX_WORDS as usize {
        image.words.extend([
            word(Op::Task, 0, 0, task_counts(0, 1, 0)),
            word(Op::IoInput, 1, 0, 0),
            dim(DimKind::Range, false, first, u32::from(first)),
        ]);
    }
    image.words.push(halt());
    assert_eq!(image.verify(), Ok(()));
}
