//! The rules of programs, and their verifier.
//!
//! One scan over the words of all bodies, from the first to the last: an instruction that has a body leaves a mark at its
//! first word, with what is in scope there. Memory is the caller's; time is linear in the program, as the length of an
//! expression is limited. Total: any program gives [`Verified`] or a [`VerifyError`].
//!
//! # Instructions
//! * **V00** the memory for verifying has `marks_needed` bytes
//! * **V01** the opcode of an instruction is in the table
//! * **V02** what an instruction, an expression word or a record does not use is 0
//! * **V03** `flags` is the number of extension words that the instruction takes
//! * **V04** extension words stand behind the instruction that counts them, and nowhere else
//! * **V05** an index names a row of its table, or one of as many as the program counts
//!
//! # Bodies
//! * **V06** the outermost body ends with HALT, every other with END
//! * **V07** a body begins behind the instruction that names it, among the program's words
//! * **V08** a body is named once
//! * **V09** a body begins where another has ended
//! * **V10** what follows the end of a body is a body that an instruction names
//! * **V11** bodies nest no deeper than the limit
//! * **V12** no more loop variables than the limit are in scope
//!
//! # Axes
//! * **V13** AXIS_* stand at the beginning of the outermost body, where only NOP stands beside them
//! * **V14** an axis of the form `Set` is set by one AXIS_*, and no other axis is
//! * **V15** the form of an axis is known
//! * **V16** SELECT goes over a sparse axis, PARALLEL_FOR and FOR_EACH over any other
//! * **V17** a row is given for ragged and sparse axes only
//! * **V18** a loop over a ragged or sparse axis that gives no row stands where a loop variable is in
//!   scope
//!
//! # Tasks
//! * **V19** behind a TASK, and only there, stand as many parameters, accesses and AFTERs as it counts,
//!   AFTERs last
//! * **V20** a task has no more parameters and accesses than the limits
//! * **V21** an access bounds no more dimensions than its tensor has
//! * **V22** the kind of a dimension's bounds is known
//! * **V23** a depth names a loop variable in scope
//!
//! # Dispatch
//! * **V24** a policy is known, and one that a threshold may name where it stands in one
//! * **V25** a filter has the extension words of its policy
//! * **V26** the bounds of a threshold increase, and the ends of a partition never decrease
//! * **V27** the number of streams is within its limits
//!
//! # Expressions
//! * **V28** the opcode of an expression word is in the table
//! * **V29** the only flag of an expression word is that of the last
//! * **V30** an expression has a last word, and no more words than the limit
//! * **V31** an operation finds its operands, and an expression leaves one value
//! * **V32** the stack of an expression is no higher than the limit
//! * **V33** a skip leads to a word of its expression, or behind the last
//! * **V34** where two ways through an expression meet, the stack has one height
//! * **V35** every word of an expression can be reached
//! * **V36** an expression names only what is known where it is evaluated: keys the indices of axes,
//!   bounds of dense axes nothing but values and tables, others everything but indices of axes
//! * **V37** a position is that of a SELECT
//! * **V38** a key names no axis of the form `Range`
//!
//! # Tables
//! * **V39** the pool of a kernel is known
//! * **V40** the element type of a tensor is known, and its rank within the limit
//! * **V41** names are UTF-8 and end with a zero byte, one at least for each value, table and axis where
//!   there are any, and where a name begins another has ended
//!
//! # Processes
//! * **V42** SEND, RECV, CLOSE, SELECT_CH and SELECT_ALL stand in a process; PROCESS and CHANNEL stand
//!   in none
//! * **V43** what sends or takes tokens stands in no body of FOR_EACH, WHILE or SEQUENTIAL of its
//!   process, and in no more bodies of it than the limit

mod expr;
mod filter;
mod instruction;
mod rule;
mod scan;
mod tables;

pub use rule::{Allowed, Place, Rule, VerifyError};

use super::{Program, Verified};
use rule::broken;
use scan::{Mark, Scan};

/// How bodies end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Style {
    /// The outermost with `HALT`, every other with `END`.
    #[default]
    Ours,
    /// As [`Style::Ours`], but others may end with `HALT` as well: how programs are written that know no `END`.
    Document,
}

/// Bytes of memory that verifying a program takes.
pub fn marks_needed(program: &Program<'_>) -> usize {
    marks_for(program.words.len(), program.axes.len())
}

/// The same for so many words and axes.
pub(super) fn marks_for(words: usize, axes: usize) -> usize {
    words.saturating_mul(size_of::<Mark>()).saturating_add(axes)
}

impl<'a> Verified<'a> {
    /// Checks every rule. `marks` has [`marks_needed`] bytes or more, whatever is in them.
    ///
    /// # Errors
    /// A rule that is broken.
    pub fn new(program: Program<'a>, marks: &mut [u8]) -> Result<Verified<'a>, VerifyError> {
        Verified::with_style(program, marks, Style::Ours)
    }

    /// As [`Verified::new`], for a style.
    ///
    /// # Errors
    /// As [`Verified::new`].
    pub fn with_style(
        program: Program<'a>,
        marks: &mut [u8],
        style: Style,
    ) -> Result<Verified<'a>, VerifyError> {
        let (need, have) = (marks_needed(&program), marks.len());
        let Some((forms, marks)) =
            marks.get_mut(..need).and_then(|m| m.split_at_mut_checked(program.axes.len()))
        else {
            return broken(Rule::V00, Place::Program, have as i64, Allowed::AtLeast(need as i64));
        };
        let (marks, _) = marks.as_chunks_mut::<{ size_of::<Mark>() }>();
        marks.fill(Mark::default());
        expr::pool(&program)?;
        tables::tables(&program)?;
        Scan::new(&program, marks, forms, style).run()?;
        Ok(Verified { program })
    }

    /// Checks an expression that is named from outside, as the metric of a dispatch configuration is: it is one over
    /// indices of axes.
    ///
    /// # Errors
    /// A rule that is broken.
    pub fn check_key(&self, first: u32) -> Result<(), VerifyError> {
        expr::check(&self.program, Place::Program, first, expr::Over::Axes)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::Rule;
    use std::{format, string::String, vec::Vec};

    #[test]
    fn the_list_of_rules_is_that_of_the_table() {
        let lines = include_str!("mod.rs").lines().map_while(|line| line.strip_prefix("//!"));
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        let text: String = words.join(" ");
        for rule in Rule::ALL {
            let bullet = format!("* **{}** {}", rule.id(), rule.text());
            assert!(text.contains(&bullet), "missing: {bullet}");
        }
        assert_eq!(text.matches("* **V").count(), Rule::ALL.len());
    }
}
