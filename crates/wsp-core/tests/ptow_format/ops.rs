//! The tables of instructions and expression words.

use crate::image::{
    Image, dim, end, ext, halt, lay_out, plain, sample, tables_only, task_counts, with, with_axes, word,
};
use wsp_core::ptow::{DimKind, Ext, Group, OPS, Op, Operand, Rule, XOPS, XOp};

/// Checks a row of the table: code, text, operands and extension words.
fn row(op: Op, code: u8, mnemonic: &str, operands: (Operand, Operand), ext: Ext) {
    let info = op.info();
    assert_eq!((info.op, op.code(), info.mnemonic), (op, code, mnemonic));
    assert_eq!(((info.operand1, info.operand2), info.ext), (operands, ext));
    assert_eq!(Op::from_code(code), Some(op));
    assert!(!info.meaning.is_empty());
}

/// Asserts that the words are a program over the tables of [`tables_only`].
fn accepted(words: Vec<wsp_core::ptow::Word>) {
    assert_eq!(Image { words, ..tables_only().0 }.verify(), Ok(()));
}

const NO: Operand = Operand::None;

#[test]
fn codes_increase_over_both_tables() {
    assert!(OPS.is_sorted_by(|a, b| a.op.code() < b.op.code()));
    assert!(XOPS.is_sorted_by(|a, b| a.op.code() < b.op.code()));
    assert!(XOPS.iter().all(|row| row.op.info() == row && XOp::from_code(row.op.code()) == Some(row.op)));
}

#[test]
fn mnemonics_are_unique() {
    let names = OPS.iter().map(|row| row.mnemonic).chain(XOPS.iter().map(|row| row.mnemonic));
    let unique: std::collections::BTreeSet<&str> = names.collect();
    assert_eq!(unique.len(), OPS.len() + XOPS.len());
}

#[test]
fn every_other_opcode_is_rejected() {
    for code in 0..=u8::MAX {
        if OPS.iter().any(|row| row.op.code() == code) {
            continue;
        }
        assert_eq!(Op::from_code(code), None);
        let mut image = Image { words: vec![halt(), halt()], ..Image::default() };
        image.words[0].opcode = code;
        let error = image.verify().expect_err("the opcode is not in the table");
        assert_eq!((error.rule, error.found), (Rule::V01, i64::from(code)));
    }
}

#[test]
fn every_other_code_of_an_expression_is_rejected() {
    for code in (0..=u8::MAX).filter(|code| XOp::from_code(*code).is_none()) {
        let (mut image, _) = tables_only();
        image.exprs[0].opcode = code;
        let error = image.verify().expect_err("the code is not in the table");
        assert_eq!((error.rule, error.found), (Rule::V28, i64::from(code)));
    }
}

#[test]
fn a_program_with_every_instruction_is_accepted() {
    let (image, _) = sample();
    assert_eq!(image.verify(), Ok(()));
    for row in OPS {
        assert!(image.words.iter().any(|word| word.opcode == row.op.code()), "{} is missing", row.mnemonic);
    }
}

#[test]
fn halt_is_0x00_and_ends_the_program() {
    row(Op::Halt, 0x00, "HALT", (NO, NO), Ext::None);
    accepted(vec![halt()]);
}

#[test]
fn nop_is_0x01_and_may_stand_anywhere_between_statements() {
    row(Op::Nop, 0x01, "NOP", (NO, NO), Ext::None);
    accepted(lay_out(vec![plain([word(Op::Nop, 0, 0, 0)])]));
}

#[test]
fn parallel_for_is_0x10_with_axis_and_body() {
    row(
        Op::ParallelFor,
        0x10,
        "PARALLEL_FOR",
        (Operand::Axis, Operand::Body),
        Ext::Optional(NO, Operand::Expr),
    );
    accepted(vec![word(Op::ParallelFor, 0, 1, 2), halt(), end()]);
}

#[test]
fn for_each_is_0x11_with_axis_and_body() {
    row(Op::ForEach, 0x11, "FOR_EACH", (Operand::Axis, Operand::Body), Ext::Optional(NO, Operand::Expr));
    accepted(vec![word(Op::ForEach, 1, 2, 3), ext(0, 0), halt(), end()]);
}

#[test]
fn select_is_0x12_with_sparse_axis_and_body() {
    row(Op::Select, 0x12, "SELECT", (Operand::Axis, Operand::Body), Ext::Optional(NO, Operand::Expr));
    accepted(vec![word(Op::Select, 1, 3, 3), ext(0, 0), halt(), end()]);
}

#[test]
fn cond_is_0x13_with_expression_and_two_bodies() {
    row(Op::Cond, 0x13, "COND", (Operand::Expr, Operand::Body), Ext::One(NO, Operand::OptBody));
    accepted(vec![word(Op::Cond, 1, 0, 3), ext(0, 4), halt(), end(), end()]);
    accepted(vec![word(Op::Cond, 1, 0, 3), ext(0, 0), halt(), end()]);
}

#[test]
fn combine_is_0x14_with_a_body_per_branch() {
    row(Op::Combine, 0x14, "COMBINE", (Operand::Count, NO), Ext::Counted(NO, Operand::Body));
    accepted(vec![word(Op::Combine, 2, 2, 0), ext(0, 5), ext(0, 4), halt(), end(), end()]);
}

#[test]
fn sequential_is_0x15_with_a_body_per_step() {
    row(Op::Sequential, 0x15, "SEQUENTIAL", (Operand::Count, NO), Ext::Counted(NO, Operand::Body));
    accepted(vec![word(Op::Sequential, 1, 1, 0), ext(0, 3), halt(), end()]);
}

#[test]
fn task_is_0x20_with_kernel_and_counts() {
    let label = Ext::Optional(Operand::Label, NO);
    row(Op::Task, 0x20, "TASK", (Operand::Kernel, Operand::TaskCounts), label);
    accepted(vec![word(Op::Task, 1, 0, 0), ext(1, 0), word(Op::Task, 0, 0, 0), halt()]);
}

#[test]
fn param_const_is_0x21_with_a_32_bit_integer() {
    row(Op::ParamConst, 0x21, "PARAM_CONST", (NO, Operand::Imm), Ext::None);
    accepted(vec![word(Op::Task, 0, 0, task_counts(1, 0, 0)), word(Op::ParamConst, 0, 0, u32::MAX), halt()]);
}

#[test]
fn param_loopvar_is_0x22_with_the_depth_of_a_loop() {
    row(Op::ParamLoopvar, 0x22, "PARAM_LOOPVAR", (Operand::Depth, NO), Ext::None);
    let task = plain([word(Op::Task, 0, 0, task_counts(1, 0, 0)), word(Op::ParamLoopvar, 0, 0, 0)]);
    accepted(lay_out(vec![with([word(Op::ParallelFor, 0, 0, 0)], [(0, vec![task])])]));
}

#[test]
fn io_input_is_0x23_with_tensor_and_a_word_per_dimension() {
    row(Op::IoInput, 0x23, "IO_INPUT", (Operand::Tensor, NO), Ext::Dims);
    let task = word(Op::Task, 0, 0, task_counts(0, 1, 0));
    accepted(vec![task, word(Op::IoInput, 1, 0, 0), dim(DimKind::Sized, true, 0, 4), halt()]);
    accepted(vec![task, word(Op::IoInput, 0, 0, 0), halt()]);
}

#[test]
fn io_output_is_0x24_with_tensor_and_a_word_per_dimension() {
    row(Op::IoOutput, 0x24, "IO_OUTPUT", (Operand::Tensor, NO), Ext::Dims);
    let task = word(Op::Task, 0, 0, task_counts(0, 1, 0));
    accepted(vec![task, word(Op::IoOutput, 1, 0, 0), dim(DimKind::Index, false, 0, 0), halt()]);
}

#[test]
fn axis_dense_is_0x30_with_an_extent() {
    row(Op::AxisDense, 0x30, "AXIS_DENSE", (Operand::Axis, Operand::Count), Ext::None);
    sets(&[word(Op::AxisDense, 0, 5, u32::MAX)], Op::ParallelFor);
}

#[test]
fn axis_dense_dyn_is_0x31_with_a_launch_time_value() {
    row(Op::AxisDenseDyn, 0x31, "AXIS_DENSE_DYN", (Operand::Axis, Operand::Value), Ext::None);
    sets(&[word(Op::AxisDenseDyn, 0, 5, 1)], Op::ForEach);
}

#[test]
fn axis_ragged_is_0x32_with_a_table_of_lengths() {
    let rows = Ext::Optional(NO, Operand::Value);
    row(Op::AxisRagged, 0x32, "AXIS_RAGGED", (Operand::Axis, Operand::Table), rows);
    sets(&[word(Op::AxisRagged, 1, 5, 2), ext(0, 1)], Op::ParallelFor);
    sets(&[word(Op::AxisRagged, 0, 5, 2)], Op::ForEach);
}

#[test]
fn axis_sparse_is_0x33_with_two_tables() {
    let columns = Ext::One(NO, Operand::Table);
    row(Op::AxisSparse, 0x33, "AXIS_SPARSE", (Operand::Axis, Operand::Table), columns);
    sets(&[word(Op::AxisSparse, 1, 5, 0), ext(0, 1)], Op::Select);
}

/// Asserts that words set axis 5, over which a loop may then go.
fn sets(words: &[wsp_core::ptow::Word], over: Op) {
    let (mut image, x) = tables_only();
    with_axes(&mut image, 1);
    image.words = words.to_vec();
    let body = vec![with([word(over, 0, 5, 0)], [(0, vec![])])];
    let outer = lay_out(vec![with([word(Op::ParallelFor, 0, 0, 0)], [(0, body)])]);
    let moved = words.len() as u32;
    image.words.extend(outer.into_iter().map(|mut word| {
        if matches!(Op::from_code(word.opcode), Some(op) if op.info().group == Group::Statement) {
            word.operand2 += moved;
        }
        word
    }));
    assert_eq!(image.verify(), Ok(()));
    assert_eq!(x.three, 0);
}

#[test]
fn dispatch_filter_is_0x40_with_policy_and_its_words() {
    row(Op::DispatchFilter, 0x40, "DISPATCH_FILTER", (Operand::Policy, NO), Ext::Policy);
    let (_, x) = tables_only();
    let key = u32::from(x.key);
    let filter = |policy: u16, words: &[wsp_core::ptow::Word]| {
        let mut all = vec![word(Op::DispatchFilter, words.len() as u8, policy, 0)];
        all.extend_from_slice(words);
        all.push(halt());
        accepted(all);
    };
    filter(0, &[]);
    filter(1, &[ext(0, 15)]);
    filter(2, &[ext(1, key), ext(0, 4), ext(18, 0), ext(5, key)]);
    filter(3, &[ext(0, 10), ext(0, 10), ext(0, u32::MAX)]);
    filter(4, &[ext(0, key)]);
    filter(5, &[ext(0, key)]);
}

#[test]
fn the_words_of_dimensions_have_four_kinds() {
    let kinds = [DimKind::Whole, DimKind::Index, DimKind::Range, DimKind::Sized];
    assert_eq!(kinds.map(|kind| kind as u8), [0, 1, 2, 3]);
    let known: Vec<u8> = (0..=u8::MAX).filter(|flags| DimKind::from_flags(*flags).is_some()).collect();
    assert_eq!(known, [0, 1, 2, 3, 0x12, 0x13]);
}
