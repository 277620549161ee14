//! Building modules by hand and running them in the plainest way.
#![allow(dead_code)]

pub(crate) mod build;
pub(crate) mod machine;
pub(crate) mod random;
