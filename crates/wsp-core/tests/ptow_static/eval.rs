//! Expressions compute what the tree says.

use crate::tree::{Names, Tree, Why, integer, trees};
use proptest::prelude::*;
use wsp_core::SlotId;
use wsp_core::ptow::eval::{Env, ExprFaultKind, Halt, Vars, eval};
use wsp_core::ptow::{Counts, Header, Launch, Program, Word, X_LAST, XOp};

impl Env for Names {
    fn var(&self, depth: u16) -> i64 {
        self.vars.get(usize::from(depth)).copied().unwrap_or(0)
    }

    fn pos(&self, depth: u16) -> i64 {
        self.var(depth)
    }

    fn axis(&self, axis: u16) -> i64 {
        self.axes.get(usize::from(axis)).copied().unwrap_or(0)
    }

    fn slot(&mut self, slot: SlotId) -> Option<i64> {
        self.slots[slot.index()]
    }
}

/// Runs `test` with a program that is nothing but expressions.
pub(crate) fn with_pool<T>(
    pool: &[Word],
    names: &Names,
    test: impl FnOnce(&Program<'_>, &Launch<'_>) -> T,
) -> T {
    let header = Header::default();
    let program = Program {
        header: &header,
        words: &[],
        axes: &[],
        kernels: &[],
        tensors: &[],
        counts: Counts::default(),
        exprs: pool,
        names: &[],
    };
    let tables: Vec<&[i64]> = names.tables.iter().map(Vec::as_slice).collect();
    test(&program, &Launch { values: &names.values, tables: &tables, extents: &[] })
}

fn evaluated(pool: &[Word], names: &Names) -> Result<i64, Halt> {
    with_pool(pool, names, |program, launch| eval(program, launch, 0, &mut names.clone()))
}

fn why(halt: Halt) -> Option<Why> {
    Some(match halt {
        Halt::Waits(slot) => Why::Waits(slot.0),
        Halt::Fault(fault) => match fault.kind {
            ExprFaultKind::Overflow { op, left, right } => Why::Overflow(op, left, right),
            ExprFaultKind::NegOverflow => Why::Neg,
            ExprFaultKind::DivisionByZero { left } => Why::Zero(left),
            ExprFaultKind::TableIndex { index, .. } => Why::Index(index),
            ExprFaultKind::Malformed => return None,
        },
    })
}

fn leaf() -> impl Strategy<Value = Tree> {
    prop_oneof![
        4 => integer().prop_map(Tree::Const),
        2 => (0..2u32).prop_map(Tree::Value),
        3 => (0..4u32).prop_map(Tree::Var),
        1 => (0..2u32).prop_map(Tree::Axis),
        1 => (0..2u32).prop_map(Tree::Slot),
        1 => (0..2u32).prop_map(Tree::Len),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn words_compute_what_the_tree_does(
        tree in trees(leaf()),
        values in prop::collection::vec(integer(), 2),
        vars in prop::collection::vec(integer(), 4),
        axes in prop::collection::vec(integer(), 2),
        slots in prop::collection::vec(prop::option::weighted(0.8, integer()), 2),
        tables in prop::collection::vec(prop::collection::vec(integer(), 0..6), 2),
    ) {
        let names = Names { values, tables, vars, axes, slots };
        let mut pool = Vec::new();
        tree.emit(&mut pool);
        let found = evaluated(&pool, &names);
        prop_assert_eq!(found.map_err(why), tree.value(&names).map_err(Some));
    }

    #[test]
    fn any_words_end_with_a_value_or_a_fault(
        words in prop::collection::vec((any::<u8>(), 0..2u8, prop_oneof![0..8u32, any::<u32>()]), 0..40),
    ) {
        let pool: Vec<Word> = words
            .into_iter()
            .map(|(opcode, flags, operand2)| Word { opcode: opcode % 0x48, flags, operand1: 0, operand2 })
            .collect();
        let names = Names { slots: vec![Some(1); 8], ..Names::default() };
        let told = with_pool(&pool, &names, |program, launch| eval(program, launch, 0, &mut Vars::default()));
        if let Err(Halt::Fault(fault)) = told {
            prop_assert!(!fault.to_string().is_empty());
        }
    }
}

#[test]
fn quotients_at_the_ends_are_those_of_integers() {
    let cases = [
        (XOp::XRem, i64::MIN, -1, Some(0)),
        (XOp::XDiv, i64::MIN, -1, None),
        (XOp::XCeilDiv, i64::MIN, -1, None),
        (XOp::XCeilDiv, 7, 2, Some(4)),
        (XOp::XCeilDiv, -7, 2, Some(-3)),
        (XOp::XCeilDiv, -7, -2, Some(4)),
        (XOp::XDiv, -7, 2, Some(-3)),
        (XOp::XRem, -7, 2, Some(-1)),
    ];
    for (op, left, right, expected) in cases {
        let mut pool = Vec::new();
        Tree::binary(op, left, right).emit(&mut pool);
        assert_eq!(evaluated(&pool, &Names::default()).ok(), expected, "{op:?} {left} {right}");
    }
}

#[test]
fn the_word_at_fault_is_named_with_its_numbers() {
    let names = Names { tables: vec![vec![5, 6]], ..Names::default() };
    let tree = Tree::binary(XOp::XAdd, 1, Tree::Table(0, Box::new(7.into())));
    let mut pool = Vec::new();
    tree.emit(&mut pool);
    let Err(Halt::Fault(fault)) = evaluated(&pool, &names) else { panic!("a fault") };
    assert_eq!(fault.to_string(), "expression word 2: index 7 is outside table 0, which has 2 elements");
    let mut pool = Vec::new();
    Tree::binary(XOp::XMul, 1 << 40, 1 << 40).emit(&mut pool);
    let Err(Halt::Fault(fault)) = evaluated(&pool, &names) else { panic!("a fault") };
    assert!(fault.to_string().contains("`mul` of 1099511627776 and 1099511627776"), "{fault}");
}

#[test]
fn a_launch_that_gives_too_little_is_at_fault() {
    let word = |op: XOp, flags| Word { opcode: op.code(), flags, operand1: 0, operand2: 3 };
    for pool in [
        vec![word(XOp::XValue, X_LAST)],
        vec![word(XOp::XLen, X_LAST)],
        vec![word(XOp::XConst, 0), word(XOp::XTable, X_LAST)],
    ] {
        let Err(Halt::Fault(fault)) = evaluated(&pool, &Names::default()) else { panic!("a fault") };
        assert_eq!(fault.kind, ExprFaultKind::Malformed);
    }
}

#[test]
fn variables_alone_give_no_value_to_a_slot() {
    let pool = [Word { opcode: XOp::XSlot.code(), flags: X_LAST, operand1: 0, operand2: 1 }];
    let halt =
        with_pool(&pool, &Names::default(), |program, launch| eval(program, launch, 0, &mut Vars::default()));
    assert_eq!(halt, Err(Halt::Waits(SlotId(1))));
}
