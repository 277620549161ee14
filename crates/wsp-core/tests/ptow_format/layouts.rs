//! Golden bytes of every record.

use crate::image::{Image, NONE, ext, halt, plain, word};
use core::mem::{align_of, offset_of, size_of};
use wsp_core::ptow::{
    AxisDescriptor, AxisForm, DispatchConfig, Header, KernelDescriptor, MAGIC, Op, POLICY_POOL,
    PartitionParams, PolicyType, PoolHeader, Program, TensorDescriptor, ThresholdParams, VERSION, Word,
    X_LAST, XOp,
};
use wsp_core::{DType, KernelId, TensorId};
use zerocopy::{FromBytes, IntoBytes};

#[test]
fn an_instruction_is_opcode_flags_and_two_operands_in_8_bytes() {
    assert_eq!((size_of::<Word>(), offset_of!(Word, opcode), offset_of!(Word, flags)), (8, 0, 1));
    assert_eq!((offset_of!(Word, operand1), offset_of!(Word, operand2)), (2, 4));
    let word = Word { opcode: 0x10, flags: 2, operand1: 0x0403, operand2: 0x0807_0605 };
    assert_eq!(word.as_bytes(), [0x10, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(Word::read_from_bytes(&[0x10, 2, 3, 4, 5, 6, 7, 8]), Ok(word));
}

#[test]
fn the_header_is_six_words_that_begin_with_the_magic() {
    assert_eq!((MAGIC, VERSION, size_of::<Header>(), align_of::<Header>()), (0x5054_4F57, 1, 24, 4));
    let header = Header {
        magic: MAGIC,
        version: VERSION,
        num_instructions: 3,
        num_axes: 4,
        num_kernels: 5,
        num_tensors: 6,
    };
    let expected = [0x57, 0x4F, 0x54, 0x50, 1, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0];
    assert_eq!(header.as_bytes(), expected);
}

#[test]
fn rows_of_the_tables_have_8_bytes_each() {
    let axis = AxisDescriptor { form: AxisForm::Sparse as u8, reserved: 0, a: NONE, b: 0x0002_0001 };
    assert_eq!(axis.as_bytes(), [3, 0, 0xFF, 0xFF, 1, 0, 2, 0]);
    let kernel = KernelDescriptor { pool: 255, reserved: 0, name: 0x0102, reserved2: 0 };
    assert_eq!(kernel.as_bytes(), [0xFF, 0, 2, 1, 0, 0, 0, 0]);
    let tensor = TensorDescriptor { dtype: DType::Bf16.code(), rank: 4, name: 7, slot: 9 };
    assert_eq!(tensor.as_bytes(), [3, 4, 7, 0, 9, 0, 0, 0]);
    let forms = [AxisForm::Dense, AxisForm::DenseDyn, AxisForm::Ragged, AxisForm::Sparse, AxisForm::Range];
    assert_eq!(forms.map(|form| form as u8), [0, 1, 2, 3, 4]);
    assert_eq!(AxisForm::Set as u8, 255);
    for code in 0..=u8::MAX {
        assert!(AxisForm::from_code(code).is_none_or(|form| form as u8 == code));
        assert!(DType::from_code(code).is_none_or(|dtype| dtype.code() == code));
    }
    assert_eq!(DType::ALL.map(DType::code), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
}

#[test]
fn the_header_of_the_pools_has_20_bytes() {
    let pool = PoolHeader {
        num_words: 1,
        name_bytes: 2,
        num_values: 3,
        num_tables: 4,
        num_slots: 5,
        num_labels: 6,
        num_generators: 7,
        num_channels: 8,
    };
    assert_eq!(pool.as_bytes(), [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0]);
}

/// Every section once.
fn small() -> Image {
    let mut image = Image::default();
    let value = image.expr(&[(XOp::XValue, 0)]);
    let zero = image.expr(&[(XOp::XConst, 0)]);
    image.axes = vec![AxisDescriptor { form: 0, reserved: 0, a: zero, b: u32::from(value) }];
    image.kernels = vec![KernelDescriptor { pool: 0, reserved: 0, name: 4, reserved2: 0 }];
    image.tensors = vec![TensorDescriptor { dtype: 0, rank: 1, name: 6, slot: 0 }];
    image.pool.num_values = 1;
    image.names = b"n\0i\0k\0X\0".to_vec();
    image.words = crate::image::lay_out(vec![crate::image::with(
        [word(Op::ParallelFor, 0, 0, 0)],
        [(0, vec![plain([word(Op::Task, 0, 0, 1 << 8), word(Op::IoOutput, 1, 0, 0), ext(0, 0)])])],
    )]);
    image.words[4].flags = 1;
    image
}

#[test]
fn the_sections_of_a_program_follow_one_another_in_order() {
    let image = small();
    #[rustfmt::skip]
    let expected = [
        // header
        0x57, 0x4F, 0x54, 0x50, 1, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0,
        // instructions
        0x10, 0, 0, 0, 2, 0, 0, 0,
        0x00, 0, 0, 0, 0, 0, 0, 0,
        0x20, 0, 0, 0, 0, 1, 0, 0,
        0x24, 1, 0, 0, 0, 0, 0, 0,
        0x7F, 1, 0, 0, 0, 0, 0, 0,
        0x02, 0, 0, 0, 0, 0, 0, 0,
        // axes, kernels, tensors
        0x00, 0, 1, 0, 0, 0, 0, 0,
        0x00, 0, 4, 0, 0, 0, 0, 0,
        0x00, 1, 6, 0, 0, 0, 0, 0,
        // header of the pools
        2, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        // expressions
        0x03, X_LAST, 0, 0, 0, 0, 0, 0,
        0x01, X_LAST, 0, 0, 0, 0, 0, 0,
        // names
        b'n', 0, b'i', 0, b'k', 0, b'X', 0,
    ];
    assert_eq!(image.bytes(), expected);
    assert_eq!(image.verify(), Ok(()));
}

#[test]
fn names_are_found_by_what_they_name() {
    let aligned = crate::image::Aligned::new(&small().bytes());
    let program = Program::read(aligned.get()).expect("it can be read");
    assert_eq!((program.value_name(0), program.value_name(1)), (Some("n"), None));
    assert_eq!((program.axis_name(0), program.table_name(0)), (Some("i"), None));
    assert_eq!((program.kernel_name(KernelId(0)), program.tensor_name(TensorId(0))), (Some("k"), Some("X")));
    let mut nameless = small();
    nameless.names.clear();
    (nameless.kernels[0].name, nameless.tensors[0].name) = (NONE, NONE);
    let aligned = crate::image::Aligned::new(&nameless.bytes());
    let program = Program::read(aligned.get()).expect("it can be read");
    assert_eq!((program.value_name(0), program.kernel_name(KernelId(0))), (None, None));
    assert_eq!(nameless.verify(), Ok(()));
}

fn config(policy: PolicyType, params: &[u8]) -> DispatchConfig {
    let mut config = DispatchConfig::round_robin(0x0102, 0x0304);
    config.policy_type = policy as u8;
    config.params[..params.len()].copy_from_slice(params);
    config
}

/// The bytes of a configuration with `params`, and zeros behind them.
fn expected(policy: u8, params: &[u8]) -> [u8; 52] {
    let mut bytes = [0; 52];
    bytes[..5].copy_from_slice(&[2, 1, 4, 3, policy]);
    bytes[8..8 + params.len()].copy_from_slice(params);
    bytes
}

#[test]
fn a_dispatch_configuration_is_the_counts_the_policy_and_a_union() {
    assert_eq!((size_of::<DispatchConfig>(), align_of::<DispatchConfig>()), (52, 2));
    assert_eq!(config(PolicyType::RoundRobin, &[]).as_bytes(), expected(0, &[]));
    let policies = [
        PolicyType::RoundRobin,
        PolicyType::Affinity,
        PolicyType::Threshold,
        PolicyType::StaticPartition,
        PolicyType::Key,
        PolicyType::Hash,
    ];
    assert_eq!(policies.map(|policy| policy as u16), [0, 1, 2, 3, 4, 5]);
    for code in 0..=u16::MAX {
        assert!(PolicyType::from_code(code).is_none_or(|policy| policy as u16 == code));
    }
}

#[test]
fn the_depth_of_an_affinity_is_the_first_byte_of_the_union() {
    assert_eq!(config(PolicyType::Affinity, &[3]).as_bytes(), expected(1, &[3]));
}

#[test]
fn thresholds_are_levels_metric_bounds_and_a_policy_byte_per_level() {
    let params = ThresholdParams {
        num_levels: 3,
        metric: 0x0605,
        thresholds: [10, 0x0403_0201, 0, 0, 0, 0, 0, 0],
        policy_per_level: [0, (POLICY_POOL + 1) as u8, (POLICY_POOL + 2) as u8, 0, 0, 0, 0, 0],
    };
    let mut bytes = [0; 44];
    bytes[..12].copy_from_slice(&[3, 0, 5, 6, 10, 0, 0, 0, 1, 2, 3, 4]);
    bytes[36..39].copy_from_slice(&[0, 17, 18]);
    assert_eq!(params.as_bytes(), bytes);
    assert_eq!(config(PolicyType::Threshold, params.as_bytes()).as_bytes(), expected(2, &bytes));
}

#[test]
fn a_static_partition_is_a_half_open_range_of_ordinals() {
    let params = PartitionParams { task_range_start: 7, task_range_end: 0x0100_0000 };
    assert_eq!(params.as_bytes(), [7, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(
        config(PolicyType::StaticPartition, params.as_bytes()).as_bytes(),
        expected(3, params.as_bytes())
    );
}

#[test]
fn an_unused_instruction_word_is_a_halt() {
    assert_eq!(halt().as_bytes(), [0; 8]);
}
