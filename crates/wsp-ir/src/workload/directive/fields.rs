//! Directives as fields by name.

use super::{Dispatch, ThresholdPolicy};
use crate::workload::IntExpr;

/// The fields of a directive, as a front end in another language writes them.
pub trait DirectiveFields {
    /// Why a field cannot be read.
    type Fault;

    /// A number.
    ///
    /// # Errors
    /// There is no such field, or it is something else; as for all others.
    fn count(&mut self, name: &'static str) -> Result<u32, Self::Fault>;

    /// Two numbers.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    fn pair(&mut self, name: &'static str) -> Result<(u32, u32), Self::Fault>;

    /// Integers; none where there is no such field.
    ///
    /// # Errors
    /// It is something else.
    fn integers(&mut self, name: &'static str) -> Result<Vec<i64>, Self::Fault>;

    /// A word of a fixed set.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    fn word<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Result<T, Self::Fault>;

    /// Words of a fixed set; none where there is no such field.
    ///
    /// # Errors
    /// One is something else.
    fn words<T: Copy>(&mut self, name: &'static str, words: &[(&str, T)]) -> Result<Vec<T>, Self::Fault>;

    /// A name.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    fn name(&mut self, name: &'static str) -> Result<String, Self::Fault>;

    /// An expression.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    fn expr(&mut self, name: &'static str) -> Result<IntExpr, Self::Fault>;

    /// A dispatch policy.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    fn policy(&mut self, name: &'static str) -> Result<Dispatch, Self::Fault>;

    /// Policies by the size of tasks; none where there is no such field.
    ///
    /// # Errors
    /// It is something else.
    fn policies(&mut self, name: &'static str) -> Result<Vec<ThresholdPolicy>, Self::Fault>;
}
