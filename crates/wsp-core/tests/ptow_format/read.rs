//! What is read, and what is said about bytes that are no program.

use crate::image::{Aligned, Image, halt, read_error, sample, tables_only};
use wsp_core::ptow::{Counts, MAGIC, Program, ReadError, Section};

#[test]
fn a_program_may_end_before_its_pools() {
    let image = Image { words: vec![halt()], ..Image::default() };
    let aligned = Aligned::new(&image.tables());
    let program = Program::read(aligned.get()).expect("it can be read");
    assert_eq!((program.counts, program.exprs.len(), program.names.len()), (Counts::default(), 0, 0));
    assert_eq!((program.header.num_instructions, program.words.len()), (1, 1));
}

#[test]
fn what_is_read_is_what_was_written() {
    let (image, _) = sample();
    let aligned = Aligned::new(&image.bytes());
    let program = Program::read(aligned.get()).expect("it can be read");
    assert_eq!((program.words, program.axes), (&image.words[..], &image.axes[..]));
    assert_eq!((program.kernels, program.tensors), (&image.kernels[..], &image.tensors[..]));
    assert_eq!((program.exprs, program.names), (&image.exprs[..], &image.names[..]));
    assert_eq!(program.counts, Counts::from(&image.pool));
}

/// The message for the sample with the first bytes replaced.
fn message(first: &[u8]) -> String {
    let mut bytes = sample().0.bytes();
    bytes[..first.len()].copy_from_slice(first);
    read_error(&bytes).expect("it cannot be read").to_string()
}

#[test]
fn files_of_other_kinds_are_named() {
    assert!(message(&MAGIC.to_be_bytes()).contains("big-endian"));
    assert!(message(b"GOTP").contains("task graph (PTOG)"));
    assert!(message(b"task").contains("looks like text"));
    assert_eq!(
        message(&[0x7F, b'E', b'L', b'F']),
        "byte 0: the first word is 0x464c457f, a PTOW program begins with 0x50544f57"
    );
}

#[test]
fn other_versions_are_refused_with_both_numbers() {
    let text = message(&[0x57, 0x4F, 0x54, 0x50, 2]);
    assert!(text.contains("version 2") && text.contains("takes version 1"), "{text}");
}

#[test]
fn the_kind_of_a_short_file_is_named_all_the_same() {
    assert_eq!(read_error(b"GOTP"), Some(ReadError::Magic { found: 0x5054_4F47 }));
    let short = ReadError::TooShort { section: Section::Header, offset: 0, need: 24, have: 3 };
    assert_eq!(read_error(&[0x57, 0x4F, 0x54]), Some(short));
}

#[test]
fn every_shorter_prefix_is_refused_with_what_is_missing() {
    let (image, _) = sample();
    let (bytes, tables) = (image.bytes(), image.tables().len());
    for len in 0..bytes.len() {
        let error = read_error(&bytes[..len]);
        if len == tables {
            assert_eq!(error, None, "a program may end before its pools");
            continue;
        }
        let Some(ReadError::TooShort { offset, need, have, .. }) = error else {
            panic!("{len} bytes: {error:?}");
        };
        assert!(need > have && offset + have == len, "{len} bytes: {error:?}");
    }
}

#[test]
fn bytes_behind_the_program_are_refused() {
    let mut bytes = sample().0.bytes();
    let offset = bytes.len();
    bytes.extend([0; 5]);
    let error = read_error(&bytes).expect("it cannot be read");
    assert_eq!(error, ReadError::Trailing { offset, extra: 5 });
    assert_eq!(error.offset(), offset);
    assert_eq!(error.to_string(), format!("byte {offset}: 5 bytes follow the end of the program"));
}

#[test]
fn counts_beyond_their_limit_are_refused_where_they_stand() {
    let (image, _) = tables_only();
    let base = image.tables().len();
    let cases = [
        (8, 65_537, Section::Instructions),
        (12, 65_536, Section::Axes),
        (16, u32::MAX, Section::Kernels),
        (20, 65_536, Section::Tensors),
        (base, 65_537, Section::Expressions),
        (base + 4, 65_536, Section::Names),
    ];
    for (offset, count, section) in cases {
        let mut bytes = image.bytes();
        bytes[offset..offset + 4].copy_from_slice(&count.to_le_bytes());
        let Some(ReadError::TooMany { section: found, offset: at, count: of, most }) = read_error(&bytes)
        else {
            panic!("{section:?}: {:?}", read_error(&bytes));
        };
        assert_eq!((found, at, of), (section, offset, count));
        assert!(most < count);
    }
}

#[test]
fn bytes_at_an_odd_address_are_refused() {
    let mut bytes = vec![0];
    bytes.extend(sample().0.bytes());
    let aligned = Aligned::new(&bytes);
    let error = Program::read(&aligned.get()[1..]).err();
    assert_eq!(error, Some(ReadError::Misaligned { remainder: 1 }));
}
