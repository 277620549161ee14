//! What is known of programs before they run: expressions, forms, numbers of tasks, owners.

mod affine;
mod config;
mod count;
mod dispatch;
mod eval;
mod program;
mod tree;
