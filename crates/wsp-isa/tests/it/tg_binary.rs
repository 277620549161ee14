//! The binary form of task graphs: nothing is lost, nothing that is damaged is taken, version 1 is document 000's layout.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking and reads the page that it checks"
)]

use crate::choices::{Choices, bytes};
use crate::tg_units::unit;
use wsp_core::tg::crc::crc32_without;
use wsp_core::tg::read::{CHECKSUM_OFFSET, DirectoryFault, Ptog, ReadError};
use wsp_core::tg::wire::{HEADER_BYTES, NAMESPACES, Section};
use wsp_core::tg::{
    CoreType, DependencyType, Direction, EventNo, ExprId, GraphNo, Instr, KernelNo, KernelSet, MemLocation,
    NodeNo, OPS, PartitionNo, Scalar, Symbol, TensorNo, TensorRef,
};
use wsp_diag::Span;
use wsp_ir::tg::{Namespace, TgModule};
use wsp_isa::tg::binary::{Source, decode, encode, encode_with_source};

fn made(seed: u64) -> TgModule {
    unit(&mut Choices::new(&bytes(seed, 2000)))
}

/// Puts the right checksum into bytes.
fn seal(bytes: &mut [u8]) {
    let checksum = crc32_without(bytes, CHECKSUM_OFFSET);
    bytes[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 4].copy_from_slice(&checksum.to_le_bytes());
}

fn put(bytes: &mut [u8], at: usize, word: u32) {
    bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Where the row of the directory for a section stands, and where the section begins.
fn section(bytes: &[u8], section: Section) -> (usize, usize) {
    let rows = word(bytes, 36) as usize;
    let at = (0..rows).map(|row| HEADER_BYTES as usize + 24 * row);
    let row = at.clone().find(|at| word(bytes, *at) == section as u32).unwrap();
    (row, word(bytes, row + 8) as usize)
}

/// ISA-GEN-03, ISA-IMP-08: what is written is read again, with every instruction of the table, and the same bytes come of it.
#[test]
fn nothing_is_lost() {
    for seed in 0..400 {
        let unit = made(seed);
        assert!(unit.instrs.len() >= OPS.len());
        let bytes = encode(&unit).unwrap();
        let again = decode("unit.ptog", &bytes).unwrap();
        assert_eq!(again, unit, "seed {seed}");
        let places = |unit: &TgModule| -> Vec<Span> {
            (unit.spans.iter().copied())
                .chain(unit.uses.iter().map(|u| u.span))
                .chain(unit.externs.iter().map(|e| e.span))
                .chain(unit.extern_events.iter().map(|e| e.1))
                .chain(unit.args.iter().map(|a| a.span))
                .chain(unit.references.iter().map(|r| r.span))
                .collect()
        };
        assert_eq!(places(&again), places(&unit), "seed {seed}");
        assert_eq!(encode(&again).unwrap(), bytes, "seed {seed}");
    }
}

#[test]
fn an_empty_unit_has_a_header_only() {
    let bytes = encode(&TgModule::default()).unwrap();
    assert_eq!(bytes.len(), HEADER_BYTES as usize);
    assert_eq!(decode("empty.ptog", &bytes).unwrap(), TgModule::default());
}

/// ISA-IMP-02: the document's fields come first and in its order.
#[test]
fn the_header_begins_with_the_fields_of_the_document() {
    let unit = made(7);
    let bytes = encode(&unit).unwrap();
    let count = |test: fn(&Instr) -> bool| unit.instrs.iter().filter(|instr| test(instr)).count() as u32;
    let expected = [
        0x5054_4F47,
        3,
        count(|instr| matches!(instr, Instr::TgKernel { .. })),
        count(|instr| matches!(instr, Instr::TgDepend { .. })),
        count(|instr| matches!(instr, Instr::McAlloc { .. })),
    ];
    let found: Vec<u32> = (0..5).map(|at| word(&bytes, 4 * at)).collect();
    assert_eq!(found, expected);
    let first = unit.instrs.iter().find_map(|instr| match instr {
        Instr::TgBegin { graph_id } => Some(graph_id.0),
        _ => None,
    });
    assert_eq!(word(&bytes, 28), first.unwrap());
    assert_eq!(word(&bytes, 32), count(|instr| matches!(instr, Instr::McBind { .. })));
}

/// ISA-CF-11: control flow stands in section CTRL.
#[test]
fn control_flow_has_a_section() {
    let unit = TgModule {
        instrs: vec![Instr::CfIf { condition: Scalar::Const(1) }, Instr::CfEndif {}],
        ..TgModule::default()
    };
    let bytes = encode(&unit).unwrap();
    let (row, at) = section(&bytes, Section::Ctrl);
    assert_eq!(word(&bytes, row + 4), 2);
    assert_eq!([word(&bytes, at), word(&bytes, at + 4), word(&bytes, at + 24)], [0x40, 1, 0x42]);
}

/// Version 1, byte for byte as document 000 and the widths of its rows say.
fn document() -> Vec<u32> {
    let header = [0x5054_4F47, 1, 2, 1, 1];
    let kernels = [[5, 0, 24, 1, 65_536, 0], [9, 4096, 65_535, 2, 0, 1]];
    let depends = [[5, 9, 1, 3]];
    let allocs = [[3, 0, 1 << 20, 0, 512, 1]];
    let binds = [[5, 0, 3, 0, 0, 0, 0, 0], [9, 0, 3, 0, 64, 0, 4096, 0], [9, 1, 8, 0, 0, 0, 0, 0]];
    [header.to_vec(), kernels.concat(), depends.concat(), allocs.concat(), binds.concat()].concat()
}

fn document_bytes() -> Vec<u8> {
    document().into_iter().flat_map(u32::to_le_bytes).collect()
}

/// ISA-IMP-02, ISA-IMP-03, ISA-IMP-04, ISA-IMP-05, ISA-IMP-06: the tables of the document are read.
#[test]
fn version_1_is_the_layout_of_the_document() {
    let unit = decode("one.ptog", &document_bytes()).unwrap();
    let (graph, tensor) = (GraphNo(0), TensorNo(3));
    let bind = |kernel, arg_index, tensor, offset, size| Instr::McBind {
        kernel_id: KernelNo(kernel),
        arg_index,
        tensor_id: TensorRef::Tensor(TensorNo(tensor)),
        offset: Scalar::Const(offset),
        size: Scalar::Const(size),
        direction: Direction::Auto,
    };
    let kernel = |kernel, symbol, block_dim, core_type, workspace_size| Instr::TgKernel {
        kernel_id: KernelNo(kernel),
        entry_symbol: Symbol(symbol),
        block_dim,
        core_type,
        workspace_size,
        partition: PartitionNo::NONE,
    };
    let expected = [
        Instr::TgBegin { graph_id: graph },
        Instr::McAlloc { tensor_id: tensor, size: 1 << 20, alignment: 512, location: MemLocation::L2 },
        kernel(5, 0, 24, CoreType::Aiv, 65_536),
        kernel(9, 1, 65_535, CoreType::AicAiv, 1 << 32),
        bind(5, 0, 3, 0, 0),
        bind(9, 0, 3, 64, 4096),
        bind(9, 1, 8, 0, 0),
        Instr::TgDepend {
            src_kernel: NodeNo(5),
            dst_kernel: NodeNo(9),
            dep_type: DependencyType::Data,
            tensor_id: tensor,
        },
        Instr::TgEnd { graph_id: graph },
    ];
    assert_eq!(unit.instrs, expected);
    assert_eq!([unit.str(Symbol(0)), unit.str(Symbol(1))], ["entry_0", "entry_4096"]);
    let external: Vec<TensorNo> = unit.externs.iter().map(|tensor| tensor.tensor).collect();
    assert_eq!(external, [TensorNo(8)], "tensors that are not allocated are external");
}

#[test]
fn tables_of_version_1_may_be_aligned() {
    let mut aligned = document_bytes();
    aligned.splice(20..20, [0; 4]);
    assert_eq!(decode("a", &aligned).unwrap(), decode("b", &document_bytes()).unwrap());
    aligned[22] = 1;
    assert!(matches!(Ptog::read(&aligned), Err(ReadError::Header { field: "padding", .. })));
}

#[test]
fn bytes_may_begin_anywhere_in_memory() {
    let bytes = encode(&made(3)).unwrap();
    for shift in 0..8 {
        let mut moved = vec![0; shift];
        moved.extend_from_slice(&bytes);
        assert_eq!(Ptog::read(&moved[shift..]).unwrap().instrs().count(), made(3).instrs.len());
    }
}

/// ISA-IMP-06: the number of bindings is what is left, which has to be whole.
#[test]
fn bindings_of_version_1_are_what_is_left() {
    let bytes = document_bytes();
    for cut in 1..32 {
        let cut_off = &bytes[..bytes.len() - cut];
        let error = Ptog::read(cut_off).unwrap_err();
        assert!(
            matches!(error, ReadError::NotIntegral { .. } | ReadError::Header { .. }),
            "{cut} bytes less: {error}"
        );
    }
    assert_eq!(Ptog::read(&bytes[..bytes.len() - 32]).unwrap().binds.len(), 2);
}

#[test]
fn version_1_has_nothing_of_version_3() {
    // A partition, unknown choices, padding, modes of bindings, offsets and sizes beyond 63 bits.
    for (at, value) in
        [(8, 1 << 16 | 1), (14, 4), (19, 4), (22, 1), (26, 4), (30, 1), (32, 1 << 31), (34, 1 << 31)]
    {
        let mut words = document();
        words[at] = value;
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        assert!(matches!(Ptog::read(&bytes), Err(ReadError::Row { .. })), "word {at}");
    }
}

/// ISA-IMP-07: files of another kind, order or version are named as such.
#[test]
fn foreign_files_are_named() {
    let told = |bytes: &[u8]| {
        let found = decode("x", bytes).unwrap_err();
        assert_eq!(found[0].code.0, 1430);
        found[0].notes.join(" ")
    };
    assert!(told(b"PTOG\0\0\0\x01").contains("big-endian"));
    assert!(told(&0x5054_4F57u32.to_le_bytes()).contains("PTOW"));
    assert!(told(b"TG_BEGIN(G)\n").contains("text"));
    assert!(told(&[0xff; 64]).contains("0xffffffff"));
    let mut later = encode(&made(0)).unwrap();
    put(&mut later, 4, 4);
    let text = told(&later);
    assert!(text.contains("version 4") && text.contains("document 000"), "{text}");
    put(&mut later, 4, 2);
    let text = told(&later);
    assert!(text.contains("`wsp asm FILE.tg -o FILE.ptog`") && text.contains("both sides"), "{text}");
}

/// ISA-REV-01: the version is tied to the revision of the instruction set.
#[test]
fn another_revision_is_explained() {
    let mut bytes = encode(&made(0)).unwrap();
    assert_eq!(word(&bytes, 44), 1, "revision 0.1");
    put(&mut bytes, 44, 0x0001_0002);
    seal(&mut bytes);
    assert_eq!(Ptog::read(&bytes).unwrap_err(), ReadError::Revision { found: 0x0001_0002 });
    assert!(decode("x", &bytes).unwrap_err()[0].notes[0].contains("revision 1.2"));
}

/// ISA-IMP-07: skips lead out of no expression.
#[test]
fn a_skip_out_of_its_expression_is_refused() {
    use wsp_core::tg::ExprOp::{And, Const, End, SkipZero};
    for (past, fits) in [(2, true), (3, false), (u32::MAX, false)] {
        let exprs = vec![Const(1), SkipZero(past), Const(1), And, End, Const(1), End];
        // What is written is read first.
        let refused = encode(&TgModule { exprs, ..TgModule::default() }).err();
        let notes = refused.map(|fault| fault.notes.join(""));
        let expected = format!("row 1 of section SCALAR: `number` cannot be {past}");
        assert_eq!(notes, (!fits).then_some(expected));
    }
}

/// ISA-IMP-07.
#[test]
fn a_file_cut_off_anywhere_is_refused() {
    for file in [encode(&made(1)).unwrap(), document_bytes()] {
        let version = file[4];
        for len in 0..file.len() {
            let cut = &file[..len];
            match Ptog::read(cut) {
                Err(error) => assert!(!error.to_string().is_empty()),
                // In version 1 bindings end where the file ends.
                Ok(unit) => assert!(version == 1 && unit.binds.len() < 3, "{len} bytes are taken"),
            }
        }
    }
}

/// ISA-IMP-07: the checksum sees every changed bit.
#[test]
fn a_changed_bit_anywhere_is_refused() {
    let good = encode(&made(2)).unwrap();
    let mut bytes = good.clone();
    for at in 0..good.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            assert!(Ptog::read(&bytes).is_err(), "bit {bit} of byte {at}");
            bytes[at] ^= 1 << bit;
        }
    }
    assert_eq!(bytes, good);
}

/// ISA-IMP-07: with a right checksum, every byte may hold anything; what is taken can be written again.
#[test]
fn sealed_damage_is_refused_or_understood() {
    let good = encode(&made(4)).unwrap();
    let mut taken = 0;
    for at in 0..good.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            seal(&mut bytes);
            if let Ok(unit) = decode("damaged", &bytes) {
                let again = encode(&unit).unwrap();
                assert_eq!(decode("again", &again).unwrap(), unit, "byte {at}");
                taken += 1;
            }
        }
    }
    assert!(taken > 100, "{taken}");
}

#[test]
fn hostile_counts_are_refused_at_once() {
    let good = encode(&made(5)).unwrap();
    for at in (8..HEADER_BYTES as usize).step_by(4) {
        for value in [u32::MAX, 1 << 31, 0xffff_0000, 0x1000_0000] {
            let mut bytes = good.clone();
            put(&mut bytes, at, value);
            seal(&mut bytes);
            let result = Ptog::read(&bytes);
            assert!(result.is_err() || at == CHECKSUM_OFFSET, "byte {at}: {value}");
        }
    }
    for at in 2..5 {
        let mut words = document();
        words[at] = u32::MAX;
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        assert!(matches!(Ptog::read(&bytes), Err(ReadError::TooShort { .. })));
    }
}

#[test]
fn hostile_directories_are_refused() {
    let good = encode(&made(6)).unwrap();
    let rows = word(&good, 36) as usize;
    for row in 0..rows {
        let at = HEADER_BYTES as usize + 24 * row;
        for (field, value) in
            [(4, u32::MAX), (8, 4), (8, 0), (8, !7), (12, u32::MAX), (16, u32::MAX), (20, u32::MAX)]
        {
            let mut bytes = good.clone();
            put(&mut bytes, at + field, value);
            seal(&mut bytes);
            assert!(Ptog::read(&bytes).is_err(), "row {row}, field at {field}: {value}");
        }
    }
}

#[test]
fn a_section_stands_once() {
    let good = encode(&made(6)).unwrap();
    let mut bytes = good.clone();
    let (second, _) = section(&bytes, Section::Depend);
    put(&mut bytes, second, Section::Kernel as u32);
    seal(&mut bytes);
    let error = Ptog::read(&bytes).unwrap_err();
    assert!(matches!(error, ReadError::Directory { fault: DirectoryFault::Twice, .. }), "{error}");
}

/// ISA-IMP-08: a reader skips sections that it does not know.
#[test]
fn unknown_sections_are_skipped() {
    let good = encode(&made(8)).unwrap();
    let rows = word(&good, 36);
    let end = HEADER_BYTES as usize + 24 * rows as usize;
    let mut bytes = good.clone();
    put(&mut bytes, 36, rows + 1);
    let row = [900u32, 7, good.len() as u32 + 24, 0, 8, 0];
    bytes.splice(end..end, row.into_iter().flat_map(u32::to_le_bytes));
    for row in 0..rows as usize {
        let at = HEADER_BYTES as usize + 24 * row + 8;
        let offset = word(&bytes, at);
        put(&mut bytes, at, offset + 24);
    }
    bytes.extend_from_slice(b"whatever");
    seal(&mut bytes);
    assert_eq!(decode("later", &bytes).unwrap(), made(8));
    bytes.extend_from_slice(b"trailing");
    seal(&mut bytes);
    assert!(matches!(Ptog::read(&bytes), Err(ReadError::Trailing { extra: 8, .. })));
}

#[test]
fn the_program_order_names_every_row_once() {
    let good = encode(&made(9)).unwrap();
    let (row, at) = section(&good, Section::Order);
    let len = word(&good, row + 16) as usize;
    for instr in 0..len {
        for kind in 0..=Section::COUNT as u8 {
            if good[at + instr] != kind {
                let mut bytes = good.clone();
                bytes[at + instr] = kind;
                seal(&mut bytes);
                let error = Ptog::read(&bytes).unwrap_err();
                assert!(
                    matches!(
                        error,
                        ReadError::Order { .. } | ReadError::NotOrdered { .. } | ReadError::Header { .. }
                    ),
                    "instruction {instr}, section {kind}: {error}"
                );
            }
        }
    }
}

/// Where a word of a unit's bytes stands, which `find` finds in what is read.
fn place_of<T>(bytes: &[u8], find: impl Fn(&Ptog<'_>) -> *const T) -> usize {
    find(&Ptog::read(bytes).unwrap()).addr() - bytes.as_ptr().addr()
}

#[test]
fn a_mode_of_a_binding_with_an_unknown_bit_is_refused() {
    let good = encode(&made(9)).unwrap();
    let at = place_of(&good, |unit| &raw const unit.binds[0].mode);
    // Bits of expressions and tables, of directions, and behind them.
    for bit in [3, 7, 10, 31] {
        let mut bytes = good.clone();
        put(&mut bytes, at, word(&good, at) | 1 << bit);
        seal(&mut bytes);
        let error = Ptog::read(&bytes).unwrap_err();
        assert!(
            matches!(error, ReadError::Row { section: Section::Bind, field: "mode", .. }),
            "{bit}: {error}"
        );
    }
}

#[test]
fn a_binding_of_version_1_has_no_mode() {
    // Words of the header, of two kernels, of a dependence, of a tensor, and of the first binding before its mode.
    let at = 5 + 2 * 6 + 4 + 6 + 3;
    for mode in [1, 1 << 8] {
        let mut words = document();
        words[at] = mode;
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        let error = Ptog::read(&bytes).unwrap_err();
        assert!(
            matches!(error, ReadError::Row { section: Section::Bind, field: "mode", .. }),
            "{mode}: {error}"
        );
    }
}

#[test]
fn there_is_a_place_for_every_instruction_or_for_none() {
    let good = encode(&made(9)).unwrap();
    let at = place_of(&good, |unit| &raw const unit.debug.unwrap().header.instrs);
    for placed in [word(&good, at) + 1, 1, 0] {
        let mut bytes = good.clone();
        put(&mut bytes, at, placed);
        seal(&mut bytes);
        assert!(Ptog::read(&bytes).is_err(), "{placed} instead of {}", word(&good, at));
    }
}

#[test]
fn strings_are_kept_as_they_stand_and_must_be_text() {
    let mut unit = TgModule::default();
    unit.strings.intern("ab");
    unit.strings.intern("ac");
    let mut bytes = encode(&unit).unwrap();
    let (_, at) = section(&bytes, Section::Strtab);
    bytes[at + 8 + 3] = b'b';
    seal(&mut bytes);
    let mut twice = decode("twice.ptog", &bytes).unwrap();
    assert_eq!(encode(&twice).unwrap(), bytes, "a string that stands twice is not lost");
    assert_eq!(twice.strings.intern("ab"), Symbol(0), "the first is found");
    bytes[at + 8 + 3] = 0xff;
    seal(&mut bytes);
    assert_eq!(Ptog::read(&bytes).unwrap_err(), ReadError::Strings { string: 1 });
}

#[test]
fn a_unit_that_does_not_fit_is_refused() {
    let mut unit = TgModule::default();
    let entry_symbol = unit.strings.intern("entry");
    unit.instrs.push(Instr::TgKernel {
        kernel_id: KernelNo(0),
        entry_symbol,
        block_dim: 1,
        core_type: CoreType::Aic,
        workspace_size: 0,
        partition: PartitionNo(65_535),
    });
    let error = encode(&unit).unwrap_err();
    assert_eq!((error.code.0, error.message.contains("65535")), (1432, true), "{error:?}");
}

#[test]
fn a_unit_that_refers_to_what_it_has_not_is_refused() {
    let beyond = [
        Instr::CfIf { condition: Scalar::Expr(ExprId(0)) },
        Instr::SyBarrier {
            kernel_set: KernelSet { first: 0, len: 1 },
            barrier_id: wsp_core::tg::BarrierNo(0),
        },
        Instr::TgKernel {
            kernel_id: KernelNo(0),
            entry_symbol: Symbol(0),
            block_dim: 1,
            core_type: CoreType::Aic,
            workspace_size: 0,
            partition: PartitionNo::NONE,
        },
    ];
    for instr in beyond {
        let unit = TgModule { instrs: vec![instr], ..TgModule::default() };
        assert_eq!(encode(&unit).unwrap_err().code.0, 1433, "{instr:?}");
    }
}

#[test]
fn the_source_is_named() {
    let mut unit = TgModule { extern_events: vec![(EventNo(1), Span::default())], ..TgModule::default() };
    unit.instrs.push(Instr::TgBegin { graph_id: GraphNo(1) });
    unit.spans.push(Span { start: 2, end: 13, ..Span::default() });
    let text = "  TG_BEGIN(1)\n";
    let bytes = encode_with_source(&unit, Source { name: "dir/one.tg", text }).unwrap();
    let debug = Ptog::read(&bytes).unwrap().debug.unwrap();
    assert_eq!(debug.source, "dir/one.tg");
    assert_eq!(debug.header.source_bytes.get() as usize, text.len());
    assert_eq!(debug.header.source_crc32.get(), wsp_core::tg::crc::crc32(text.as_bytes()));
    assert_eq!(decode("one.ptog", &bytes).unwrap().spans, unit.spans);
}

#[test]
fn numbers_that_have_names_are_those_of_the_ir() {
    assert_eq!(Namespace::ALL.len(), NAMESPACES as usize);
    assert!(Namespace::ALL.iter().enumerate().all(|(at, space)| *space as usize == at));
}

#[test]
fn one_byte_is_left_and_two_are() {
    let said = |left| ReadError::NotIntegral { offset: 4, left }.to_string();
    assert!(said(1).starts_with("byte 4: 1 byte is left for bindings"), "{}", said(1));
    assert!(said(2).starts_with("byte 4: 2 bytes are left for bindings"), "{}", said(2));
}
