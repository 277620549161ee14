//! Writes a program: bodies, expressions and tables, and in the end their bytes.
//!
//! Operands are cut to the width that the format has for them. A program in which that lost something has more rows or
//! words than the format allows, and [`Sections::too_large`] finds it before its bytes are used.

mod body;
mod expr;
mod sections;

pub(super) use body::{Bodies, BodyId, Layout, Place};
pub(super) use expr::{ExprPool, Postfix};
pub(super) use sections::{NameTable, Sections};
