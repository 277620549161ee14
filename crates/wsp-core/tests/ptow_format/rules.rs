//! Every rule of the verifier, broken by one change of a program that keeps all.

use crate::image::{Aligned, Exprs, Image, Item, NONE, ext, halt, lay_out, sample, task_counts, with, word};
use wsp_core::ptow::{
    Allowed, MAX_BODY_DEPTH, MAX_EXPR_STACK, MAX_EXPR_WORDS, MAX_LOOP_DEPTH, MAX_PROCESS_DEPTH, Op, Place,
    Program, Rule, Style, Verified, VerifyError, XOp, marks_needed,
};

/// Applies a change to the sample; the error.
fn error(change: impl FnOnce(&mut Image, &Exprs)) -> VerifyError {
    let (mut image, exprs) = sample();
    change(&mut image, &exprs);
    image.verify().expect_err("a rule is broken")
}

/// Asserts that a change breaks a rule.
#[track_caller]
fn breaks(rule: Rule, change: impl FnOnce(&mut Image, &Exprs)) {
    let found = error(change);
    assert_eq!(found.rule, rule, "{found}");
}

/// Asserts that an expression breaks a rule where it is evaluated in the body of a loop.
#[track_caller]
fn expression(rule: Rule, ops: &[(XOp, u32)]) {
    breaks(rule, |image, _| {
        let first = image.expr(ops);
        image.word_mut(Op::ParamExpr).operand2 = u32::from(first);
    });
}

#[test]
fn v00_memory_for_verifying() {
    let aligned = Aligned::new(&sample().0.bytes());
    let program = Program::read(aligned.get()).expect("it can be read");
    let need = marks_needed(&program);
    assert_eq!(need, program.words.len() * 5 + program.axes.len());
    let found = Verified::new(program, &mut vec![0; need - 1]).expect_err("it is too small");
    assert_eq!((found.rule, found.place), (Rule::V00, Place::Program));
    assert_eq!((found.found, found.allowed), (need as i64 - 1, Allowed::AtLeast(need as i64)));
    assert!(Verified::new(program, &mut vec![0; need + 1]).is_ok());
}

#[test]
fn v01_opcodes() {
    breaks(Rule::V01, |image, _| image.word_mut(Op::Nop).opcode = 0x60);
}

#[test]
fn v02_what_is_not_used_is_zero() {
    breaks(Rule::V02, |image, _| image.word_mut(Op::Nop).operand1 = 1);
    breaks(Rule::V02, |image, _| image.word_mut(Op::Halt).operand2 = 1);
    breaks(Rule::V02, |image, _| image.word_mut(Op::End).operand1 = 1);
    breaks(Rule::V02, |image, _| image.word_mut(Op::ParamConst).operand1 = 1);
    breaks(Rule::V02, |image, _| image.word_mut(Op::DispatchFilter).operand2 = 1);
    breaks(Rule::V02, |image, _| image.word_mut(Op::Task).operand2 |= 1 << 24);
    breaks(Rule::V02, |image, _| image.ext_mut(Op::Cond, 0).operand1 = 1);
    breaks(Rule::V02, |image, _| image.ext_mut(Op::Cond, 0).flags = 1);
    breaks(Rule::V02, |image, _| image.ext_mut(Op::IoInput, 1).operand1 = 1);
    breaks(Rule::V02, |image, _| image.ext_mut(Op::IoInout, 1).operand2 = 1);
    breaks(Rule::V02, |image, _| image.ext_mut(Op::DispatchFilter, 5).operand2 = 1);
    breaks(Rule::V02, |image, _| image.ext_mut(Op::DispatchFilter, 1).operand1 = 1);
    breaks(Rule::V02, |image, _| image.exprs[0].operand1 = 1);
    breaks(Rule::V02, |image, _| image.axes[0].reserved = 1);
    breaks(Rule::V02, |image, _| image.axes[1].b = 1);
    breaks(Rule::V02, |image, _| image.axes[5].a = 1);
    breaks(Rule::V02, |image, _| image.axes[5].b = 1);
    breaks(Rule::V02, |image, _| image.kernels[0].reserved = 1);
    breaks(Rule::V02, |image, _| image.kernels[0].reserved2 = 1);
}

#[test]
fn v03_flags_count_extension_words() {
    breaks(Rule::V03, |image, _| image.word_mut(Op::Nop).flags = 1);
    breaks(Rule::V03, |image, _| image.word_mut(Op::Cond).flags = 0);
    breaks(Rule::V03, |image, _| image.word_mut(Op::Sequential).flags = 1);
    breaks(Rule::V03, |image, _| image.word_mut(Op::Sequential).operand1 = 3);
    breaks(Rule::V03, |image, _| image.word_mut(Op::ParallelFor).flags = 2);
    let words = vec![word(Op::Combine, 1, 1, 0)];
    assert_eq!(Image { words, ..Image::default() }.verify().map_err(|e| e.rule), Err(Rule::V03));
}

#[test]
fn v04_extension_words_stand_behind_their_instruction() {
    breaks(Rule::V04, |image, _| *image.word_mut(Op::Nop) = ext(0, 0));
    breaks(Rule::V04, |image, _| image.ext_mut(Op::Cond, 0).opcode = Op::Nop.code());
}

#[test]
fn v05_indices_name_rows() {
    breaks(Rule::V05, |image, _| image.word_mut(Op::ParallelFor).operand1 = 9);
    breaks(Rule::V05, |image, _| image.word_mut(Op::Task).operand1 = 1);
    breaks(Rule::V05, |image, _| image.word_mut(Op::IoInput).operand1 = 2);
    breaks(Rule::V05, |image, _| image.ext_mut(Op::Task, 0).operand1 = 2);
    breaks(Rule::V05, |image, _| image.word_mut(Op::After).operand1 = 2);
    breaks(Rule::V05, |image, _| image.word_mut(Op::Plan).operand1 = 1);
    breaks(Rule::V05, |image, _| image.word_mut(Op::AxisDenseDyn).operand2 = 2);
    breaks(Rule::V05, |image, _| image.word_mut(Op::AxisRagged).operand2 = 3);
    breaks(Rule::V05, |image, _| image.ext_mut(Op::AxisSparse, 0).operand2 = 3);
    breaks(Rule::V05, |image, _| image.word_mut(Op::Send).operand1 = 1);
    breaks(Rule::V05, |image, _| image.word_mut(Op::Reset).operand2 = 3);
    breaks(Rule::V05, |image, _| image.word_mut(Op::Reset).operand1 = 2);
    breaks(Rule::V05, |image, _| image.word_mut(Op::ParamExpr).operand2 = 99);
    breaks(Rule::V05, |image, _| image.axes[1].a = 2);
    breaks(Rule::V05, |image, _| image.axes[2].a = 9);
    breaks(Rule::V05, |image, _| image.axes[2].b = 3);
    breaks(Rule::V05, |image, _| image.axes[3].b = 3);
    breaks(Rule::V05, |image, _| image.axes[3].b = 3 << 16);
    breaks(Rule::V05, |image, _| image.axes[4].a = 99);
    breaks(Rule::V05, |image, _| image.axes[4].b = 99 << 16);
    breaks(Rule::V05, |image, _| image.tensors[1].slot = 2);
    breaks(Rule::V05, |image, x| image.exprs[usize::from(x.value)].operand2 = 2);
    breaks(Rule::V05, |image, x| image.exprs[usize::from(x.slot)].operand2 = 1);
    breaks(Rule::V05, |image, x| image.exprs[usize::from(x.key)].operand2 = 9);
    expression(Rule::V05, &[(XOp::XLen, 3)]);
}

#[test]
fn v06_halt_and_end() {
    breaks(Rule::V06, |image, _| image.word_mut(Op::Halt).opcode = Op::End.code());
    breaks(Rule::V06, |image, _| image.word_mut(Op::End).opcode = Op::Halt.code());
    breaks(Rule::V06, |image, _| {
        let last = image.words.len() - 1;
        image.words[last] = word(Op::Nop, 0, 0, 0);
    });
    assert_eq!(Image::default().verify().map_err(|e| e.rule), Err(Rule::V06));
}

#[test]
fn v06_the_style_of_the_document_ends_inner_bodies_with_halt() {
    let (mut image, _) = sample();
    for word in &mut image.words {
        if word.opcode == Op::End.code() {
            word.opcode = Op::Halt.code();
        }
    }
    assert_eq!(image.verify().map_err(|e| e.rule), Err(Rule::V06));
    assert_eq!(image.verify_as(Style::Document), Ok(()));
    image.word_mut(Op::Halt).opcode = Op::End.code();
    assert_eq!(image.verify_as(Style::Document).map_err(|e| e.rule), Err(Rule::V06));
}

#[test]
fn v07_bodies_begin_behind_their_instruction() {
    breaks(Rule::V07, |image, _| image.word_mut(Op::ParallelFor).operand2 = 0);
    breaks(Rule::V07, |image, _| image.word_mut(Op::ParallelFor).operand2 = u32::MAX);
    let own_word = |image: &mut Image| image.find(Op::Sequential) as u32 + 1;
    breaks(Rule::V07, |image, _| image.ext_mut(Op::Sequential, 0).operand2 = own_word(image));
}

#[test]
fn v08_bodies_are_named_once() {
    breaks(Rule::V08, |image, _| {
        let body = image.ext_mut(Op::Sequential, 0).operand2;
        image.ext_mut(Op::Sequential, 1).operand2 = body;
    });
}

#[test]
fn v09_bodies_begin_where_another_has_ended() {
    breaks(Rule::V09, |image, _| image.word_mut(Op::ParallelFor).operand2 = image.find(Op::Halt) as u32);
    breaks(Rule::V09, |image, _| image.word_mut(Op::ParallelFor).operand2 = image.find(Op::While) as u32 + 1);
}

#[test]
fn v10_no_words_that_no_instruction_names() {
    breaks(Rule::V10, |image, _| image.words.push(word(Op::End, 0, 0, 0)));
    breaks(Rule::V10, |image, _| image.ext_mut(Op::Cond, 0).operand2 = 0);
}

/// A program of bodies within bodies.
fn tower(op: Op, bodies: usize) -> Image {
    let (mut image, x) = sample();
    let mut inner = vec![];
    for _ in 1..bodies {
        inner = match op {
            Op::Combine => vec![with([word(op, 1, 1, 0), ext(0, 0)], [(1, inner)])],
            _ => vec![with([word(op, 0, x.three, 0)], [(0, inner)])],
        };
    }
    image.axes.clear();
    image.exprs[usize::from(x.key)].opcode = XOp::XConst.code();
    image.words = lay_out(inner);
    image
}

#[test]
fn v11_bodies_nest_only_so_deep() {
    assert_eq!(tower(Op::Combine, MAX_BODY_DEPTH).verify(), Ok(()));
    let found = tower(Op::Combine, MAX_BODY_DEPTH + 1).verify().expect_err("too deep");
    assert_eq!((found.rule, found.allowed), (Rule::V11, Allowed::AtMost(MAX_BODY_DEPTH as i64)));
}

#[test]
fn v12_only_so_many_loop_variables_are_in_scope() {
    assert_eq!(tower(Op::Let, MAX_LOOP_DEPTH + 1).verify(), Ok(()));
    let found = tower(Op::Let, MAX_LOOP_DEPTH + 2).verify().expect_err("too deep");
    assert_eq!((found.rule, found.allowed), (Rule::V12, Allowed::AtMost(MAX_LOOP_DEPTH as i64)));
}

#[test]
fn v13_axes_are_set_at_the_beginning() {
    breaks(Rule::V13, |image, _| {
        let (nop, axis) = (*image.word_mut(Op::Nop), *image.word_mut(Op::AxisDense));
        *image.word_mut(Op::AxisDense) = nop;
        *image.word_mut(Op::Reset) = axis;
    });
    breaks(Rule::V13, |image, _| *image.word_mut(Op::Close) = word(Op::AxisDense, 0, 5, 1));
}

#[test]
fn v14_set_axes_are_set_once() {
    breaks(Rule::V14, |image, _| image.word_mut(Op::AxisDense).operand1 = 0);
    breaks(Rule::V14, |image, _| image.word_mut(Op::AxisDense).operand1 = 6);
    let unset = error(|image, _| *image.word_mut(Op::AxisDense) = word(Op::Nop, 0, 0, 0));
    assert_eq!((unset.rule, unset.place), (Rule::V14, Place::Axis(5)));
    breaks(Rule::V14, |image, _| {
        *image.word_mut(Op::AxisDense) = word(Op::Nop, 0, 0, 0);
        image.word_mut(Op::ParallelFor).operand1 = 5;
    });
}

#[test]
fn v15_forms_of_axes() {
    breaks(Rule::V15, |image, _| image.axes[0].form = 5);
}

#[test]
fn v16_select_goes_over_sparse_axes() {
    breaks(Rule::V16, |image, _| image.word_mut(Op::ParallelFor).operand1 = 3);
    breaks(Rule::V16, |image, _| image.word_mut(Op::ForEach).operand1 = 8);
    breaks(Rule::V16, |image, _| image.word_mut(Op::Select).operand1 = 2);
}

#[test]
fn v17_rows_are_of_ragged_and_sparse_axes() {
    breaks(Rule::V17, |image, x| {
        image.words = vec![word(Op::ParallelFor, 1, 0, 3), ext(0, u32::from(x.three)), halt()];
        image.words.push(word(Op::End, 0, 0, 0));
        image.axes.truncate(5);
    });
}

#[test]
fn v18_a_row_is_given_or_is_the_loop_variable_around() {
    breaks(Rule::V18, |image, _| image.word_mut(Op::ParallelFor).operand1 = 2);
}

#[test]
fn v19_arguments_are_those_that_their_task_counts() {
    breaks(Rule::V19, |image, _| image.word_mut(Op::Task).operand2 = task_counts(2, 2, 1));
    breaks(Rule::V19, |image, _| image.word_mut(Op::Task).operand2 = task_counts(3, 3, 1));
    breaks(Rule::V19, |image, _| image.word_mut(Op::Task).operand2 = task_counts(3, 2, 2));
    breaks(Rule::V19, |image, _| image.word_mut(Op::Task).operand2 = task_counts(3, 2, 0));
    breaks(Rule::V19, |image, _| *image.word_mut(Op::Nop) = word(Op::ParamConst, 0, 0, 1));
    breaks(Rule::V19, |image, _| *image.word_mut(Op::ParamConst) = word(Op::Nop, 0, 0, 0));
    breaks(Rule::V19, |image, _| {
        let (first, last) = (image.find(Op::ParamConst), image.find(Op::After));
        image.words.swap(first, last);
    });
    // Parameters and accesses stand in any order.
    let (mut image, _) = sample();
    let (param, access) = (image.find(Op::ParamConst), image.find(Op::IoInput));
    image.words[param..access + 3].rotate_right(3);
    assert_eq!(image.words[param].opcode, Op::IoInput.code());
    assert_eq!(image.verify(), Ok(()));
}

#[test]
fn v20_a_task_has_only_so_many_arguments() {
    for counts in [task_counts(17, 0, 0), task_counts(0, 17, 0)] {
        let found = error(|image, _| image.word_mut(Op::Task).operand2 = counts);
        assert_eq!((found.rule, found.found, found.allowed), (Rule::V20, 17, Allowed::AtMost(16)));
    }
}

#[test]
fn v21_an_access_bounds_the_dimensions_of_its_tensor() {
    breaks(Rule::V21, |image, _| image.tensors[0].rank = 1);
}

#[test]
fn v22_kinds_of_bounds() {
    breaks(Rule::V22, |image, _| image.ext_mut(Op::IoInput, 0).flags = 4);
    breaks(Rule::V22, |image, _| image.ext_mut(Op::IoInput, 1).flags = 0x10);
}

#[test]
fn v23_depths_name_variables_in_scope() {
    let found = error(|image, _| image.word_mut(Op::ParamLoopvar).operand1 = 1);
    assert_eq!((found.rule, found.allowed), (Rule::V23, Allowed::Below(1)));
    expression(Rule::V23, &[(XOp::XVar, 1)]);
    breaks(Rule::V23, |image, x| image.exprs[usize::from(x.var)].operand2 = 16);
    breaks(Rule::V23, |image, x| image.ext_mut(Op::While, 0).operand2 = u32::from(x.var));
    breaks(Rule::V23, |image, _| image.ext_mut(Op::DispatchFilter, 3).operand2 = 16);
}

#[test]
fn v23_the_condition_of_a_while_names_its_round() {
    let (mut image, x) = sample();
    image.word_mut(Op::While).operand1 = x.var;
    assert_eq!(image.verify(), Ok(()));
}

#[test]
fn v24_policies_are_known() {
    breaks(Rule::V24, |image, _| image.word_mut(Op::DispatchFilter).operand1 = 6);
    for policy in [2, 3, 6, 19] {
        breaks(Rule::V24, |image, _| image.ext_mut(Op::DispatchFilter, 5).operand1 = policy);
    }
}

#[test]
fn v25_filters_have_the_words_of_their_policy() {
    for policy in [0, 1, 4, 5] {
        breaks(Rule::V25, |image, _| image.word_mut(Op::DispatchFilter).operand1 = policy);
    }
    for bounds in [0, 1, 3, 9] {
        breaks(Rule::V25, |image, _| image.ext_mut(Op::DispatchFilter, 0).operand1 = bounds);
    }
    for policy in [2, 3] {
        let words = vec![word(Op::DispatchFilter, 0, policy, 0), halt()];
        assert_eq!(Image { words, ..Image::default() }.verify().map_err(|e| e.rule), Err(Rule::V25));
    }
}

#[test]
fn v26_bounds_increase_and_ends_never_decrease() {
    let found = error(|image, _| image.ext_mut(Op::DispatchFilter, 2).operand2 = (-7i32) as u32);
    assert_eq!((found.rule, found.found, found.allowed), (Rule::V26, -7, Allowed::AtLeast(-6)));
    let words = vec![word(Op::DispatchFilter, 2, 3, 0), ext(0, 5), ext(0, 4), halt()];
    assert_eq!(Image { words, ..Image::default() }.verify().map_err(|e| e.rule), Err(Rule::V26));
}

#[test]
fn v27_numbers_of_streams() {
    breaks(Rule::V27, |image, _| image.word_mut(Op::StreamBy).operand2 = 0);
    breaks(Rule::V27, |image, _| image.word_mut(Op::StreamBy).operand2 = (1 << 16) + 1);
    let (mut image, _) = sample();
    image.word_mut(Op::StreamBy).operand2 = 1 << 16;
    assert!(image.verify().is_ok());
}

#[test]
fn v28_operations_of_expressions() {
    breaks(Rule::V28, |image, _| image.exprs[0].opcode = 0);
}

#[test]
fn v29_flags_of_expression_words() {
    breaks(Rule::V29, |image, _| image.exprs[0].flags |= 2);
}

#[test]
fn v30_expressions_end() {
    breaks(Rule::V30, |image, x| {
        let first = image.expr(&[(XOp::XConst, 0)]);
        image.exprs[usize::from(first)].flags = 0;
        image.word_mut(Op::ParamExpr).operand2 = u32::from(first);
        assert_ne!(first, x.var);
    });
    let long = |words: usize| {
        let mut ops = vec![(XOp::XConst, 1)];
        ops.resize(words, (XOp::XNeg, 0));
        ops
    };
    expression(Rule::V30, &long(MAX_EXPR_WORDS + 1));
    let (mut image, _) = sample();
    let first = image.expr(&long(MAX_EXPR_WORDS));
    image.word_mut(Op::ParamExpr).operand2 = u32::from(first);
    assert_eq!(image.verify(), Ok(()));
}

#[test]
fn v31_operations_find_their_operands_and_leave_one_value() {
    expression(Rule::V31, &[(XOp::XNeg, 0)]);
    expression(Rule::V31, &[(XOp::XConst, 0), (XOp::XAdd, 0)]);
    expression(Rule::V31, &[(XOp::XConst, 0), (XOp::XConst, 0)]);
    expression(Rule::V31, &[(XOp::XSkip, 0)]);
}

/// A sum of so many terms that are all on the stack at once.
fn high(terms: usize) -> Vec<(XOp, u32)> {
    let mut ops = vec![(XOp::XConst, 1); terms];
    ops.resize(2 * terms - 1, (XOp::XAdd, 0));
    ops
}

#[test]
fn v32_the_stack_is_only_so_high() {
    expression(Rule::V32, &high(MAX_EXPR_STACK + 1));
    let (mut image, _) = sample();
    let first = image.expr(&high(MAX_EXPR_STACK));
    image.word_mut(Op::ParamExpr).operand2 = u32::from(first);
    assert_eq!(image.verify(), Ok(()));
}

#[test]
fn v33_skips_stay_within_their_expression() {
    expression(Rule::V33, &[(XOp::XConst, 0), (XOp::XSkip, 1)]);
    expression(Rule::V33, &[(XOp::XConst, 0), (XOp::XConst, 1), (XOp::XSkipZero, u32::MAX), (XOp::XNeg, 0)]);
}

#[test]
fn v34_ways_meet_at_one_height() {
    expression(Rule::V34, &[(XOp::XConst, 0), (XOp::XSkipZero, 1), (XOp::XConst, 1), (XOp::XNeg, 0)]);
}

#[test]
fn v35_every_word_of_an_expression_is_reached() {
    expression(Rule::V35, &[(XOp::XConst, 0), (XOp::XSkip, 1), (XOp::XNeg, 0), (XOp::XNot, 0)]);
}

#[test]
fn a_choice_is_written_with_skips() {
    let (mut image, _) = sample();
    let first = image.expr(&[
        (XOp::XVar, 0),
        (XOp::XSkipZero, 2),
        (XOp::XConst, 1),
        (XOp::XSkip, 1),
        (XOp::XConst, 2),
    ]);
    image.word_mut(Op::ParamExpr).operand2 = u32::from(first);
    assert_eq!(image.verify(), Ok(()));
}

#[test]
fn v36_expressions_name_what_is_known() {
    expression(Rule::V36, &[(XOp::XAxis, 0)]);
    breaks(Rule::V36, |image, x| image.word_mut(Op::Priority).operand2 = u32::from(x.slot));
    breaks(Rule::V36, |image, x| image.word_mut(Op::Priority).operand2 = u32::from(x.var));
    breaks(Rule::V36, |image, x| image.ext_mut(Op::StreamBy, 0).operand2 = u32::from(x.pos));
    breaks(Rule::V36, |image, x| image.ext_mut(Op::DispatchFilter, 0).operand2 = u32::from(x.var));
    breaks(Rule::V36, |image, x| image.ext_mut(Op::DispatchFilter, 4).operand2 = u32::from(x.slot));
    breaks(Rule::V36, |image, x| image.axes[0].a = x.key);
    breaks(Rule::V36, |image, x| image.axes[0].b = u32::from(x.slot));
    breaks(Rule::V36, |image, x| image.axes[4].a = x.key);
    breaks(Rule::V36, |image, x| image.axes[4].b = u32::from(x.key) | u32::from(NONE) << 16);
    breaks(Rule::V36, |image, x| image.axes[4].b = u32::from(x.key) << 16);
}

#[test]
fn v37_positions_are_those_of_selects() {
    expression(Rule::V37, &[(XOp::XPos, 0)]);
    let (mut image, x) = sample();
    let first = image.expr(&[(XOp::XPos, 1)]);
    image.word_mut(Op::Cond).operand1 = first;
    assert_eq!(image.verify(), Ok(()));
    image.exprs[usize::from(first)].operand2 = 0;
    assert_eq!(image.verify().map_err(|e| e.rule), Err(Rule::V37));
    assert_ne!(first, x.pos);
}

#[test]
fn v38_keys_name_no_ranges() {
    breaks(Rule::V38, |image, x| image.exprs[usize::from(x.key)].operand2 = 4);
}

#[test]
fn v39_pools_of_kernels() {
    breaks(Rule::V39, |image, _| image.kernels[0].pool = 2);
}

#[test]
fn v40_types_and_ranks_of_tensors() {
    breaks(Rule::V40, |image, _| image.tensors[0].dtype = 15);
    breaks(Rule::V40, |image, _| image.tensors[0].rank = 7);
}

#[test]
fn v41_names() {
    breaks(Rule::V41, |image, _| image.names.push(b'x'));
    breaks(Rule::V41, |image, _| image.names[0] = 0xFF);
    breaks(Rule::V41, |image, _| image.names = b"gemm\0".to_vec());
    breaks(Rule::V41, |image, _| image.kernels[0].name += 1);
    breaks(Rule::V41, |image, _| image.tensors[0].name = image.names.len() as u16);
    breaks(Rule::V41, |image, _| image.names.clear());
}

#[test]
fn v42_what_processes_do_stands_in_a_process() {
    breaks(Rule::V42, |image, _| *image.word_mut(Op::Reset) = word(Op::Close, 0, 0, 0));
    breaks(Rule::V42, |image, x| *image.word_mut(Op::Close) = word(Op::Channel, 0, 0, u32::from(x.three)));
    breaks(Rule::V42, |image, _| image.word_mut(Op::SelectCh).opcode = Op::Process.code());
    for op in [Op::Send, Op::Recv, Op::SelectCh, Op::SelectAll] {
        let outside = match op {
            Op::Send | Op::Recv => with([word(op, 0, 0, 0)], [(0, vec![])]),
            _ => with([word(op, 1, 1, 0), ext(0, 0)], [(1, vec![])]),
        };
        assert_eq!(
            process(vec![outside], false).verify().map_err(|found| found.rule),
            Err(Rule::V42),
            "{op:?}"
        );
    }
}

/// A program of these statements, in a process or not.
fn process(statements: Vec<Item>, inside: bool) -> Image {
    let (mut image, x) = sample();
    image.axes.clear();
    image.exprs[usize::from(x.key)].opcode = XOp::XConst.code();
    image.words = lay_out(match inside {
        true => vec![with([word(Op::Process, 1, 1, 0), ext(0, 0)], [(1, statements)])],
        false => statements,
    });
    image
}

#[test]
fn v43_tokens_are_sent_and_taken_where_a_process_can_wait() {
    let send = || with([word(Op::Send, 0, 0, 0)], [(0, vec![])]);
    let (_, x) = sample();
    let steps = |body| with([word(Op::Sequential, 1, 1, 0), ext(0, 0)], [(1, body)]);
    let rounds = |body| with([word(Op::While, 1, x.three, 0), ext(0, u32::MAX)], [(0, body)]);
    let branch = |body| with([word(Op::Combine, 1, 1, 0), ext(0, 0)], [(1, body)]);
    let ends =
        |statement| process(vec![statement], true).verify().map_err(|found| (found.rule, found.allowed));
    let most = Err((Rule::V43, Allowed::AtMost(MAX_PROCESS_DEPTH as i64)));
    assert_eq!(ends(branch(vec![send()])), Ok(()));
    for body in [steps(vec![send()]), rounds(vec![send()]), steps(vec![branch(vec![send()])])] {
        assert_eq!(ends(body), most);
    }
    // Steps around a process are none of its own.
    let inner = with([word(Op::Process, 1, 1, 0), ext(0, 0)], [(1, vec![send()])]);
    assert_eq!(process(vec![steps(vec![inner])], false).verify(), Ok(()));
    let nested = |bodies: usize| (1..bodies).fold(send(), |inner, _| branch(vec![inner]));
    assert_eq!(ends(nested(MAX_PROCESS_DEPTH)), Ok(()));
    assert_eq!(ends(nested(MAX_PROCESS_DEPTH + 1)), most);
}

#[test]
fn a_message_has_place_numbers_rule_and_what_it_asks_for() {
    let found = error(|image, _| image.word_mut(Op::Task).operand1 = 7);
    let Place::Word(at) = found.place else { panic!("{found}") };
    let text = "an index names a row of its table, or one of as many as the program counts";
    let expected = format!("instruction word {at}: found 7, which must be below 1 (V05: {text})");
    assert_eq!(found.to_string(), expected);
}

#[test]
fn metrics_named_from_outside_are_keys() {
    let (image, x) = sample();
    let aligned = Aligned::new(&image.bytes());
    let program = Program::read(aligned.get()).expect("it can be read");
    let verified = Verified::new(program, &mut vec![0; marks_needed(&program)]).expect("it keeps every rule");
    assert_eq!(verified.check_key(u32::from(x.key)), Ok(()));
    let rule = |first: u32| verified.check_key(first).map_err(|e| e.rule);
    assert_eq!((rule(u32::from(x.var)), rule(99)), (Err(Rule::V36), Err(Rule::V05)));
}

#[test]
fn every_rule_has_a_test() {
    let tests = include_str!("rules.rs");
    for rule in Rule::ALL {
        let name = format!("fn {}_", rule.id().to_lowercase());
        assert!(tests.contains(&name), "{} has none", rule.id());
    }
}
