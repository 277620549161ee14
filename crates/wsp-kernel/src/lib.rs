//! Runs IR functions on a CPU: compiled scalar code and tile operations.
//!
//! Internal to PTO-WSP; `wsp-cpu` schedules what this crate runs. A launch binds an [`Env`] and compiles each function of
//! the plan once against it: [`KernelCode`] runs once per descriptor, [`GeneratorCode`] once per launch, [`ScalarCode`]
//! evaluates access summaries. A function that cannot go on stops with a [`Trap`].
//!
//! **Invariant:** knows no scheduling; what a generator emits goes to a [`GeneratorHost`].
//!
//! ```
//! use wsp_diag::Span;
//! use wsp_ir::{BinOp, Expr, Module};
//! use wsp_kernel::{Value, eval_launch_expr};
//!
//! let at = Span::default();
//! let sum = Expr::binary(BinOp::Add, Expr::u32(2, at), Expr::u32(3, at));
//! assert_eq!(eval_launch_expr(&Module::default(), &sum, &[]), Ok(Value::U32(5)));
//!
//! let huge = Expr::binary(BinOp::Add, Expr::u32(u32::MAX, at), Expr::u32(1, at));
//! let trap = eval_launch_expr(&Module::default(), &huge, &[]).unwrap_err();
//! assert_eq!(trap.message, "arithmetic overflow: 4294967295 + 1 does not fit `uint32_t`");
//! ```

mod env;
mod exec;
pub mod made_up;
mod memory;
mod tile;

pub use env::{CacheArrays, Engine, Env, IntArray};
pub use exec::trap::codes::WORKSPACE;
pub use exec::{
    CodeCache, CodeStatistics, Extent, FlatBuffer, FlatEvent, FlatFull, FlatSite, GeneratorCode,
    GeneratorHost, Growing, GrowingWord, Hints, KernelCode, PrefetchValue, Rate, ScalarCode, Scratch, Stripe,
    TierWord, Trap, Value, Workspace, WsRequest, eval_launch_expr, one_token_more, stripes,
};
pub use memory::{Fault, Layout, Paged, Series, Shape, TensorMem};
pub use wsp_simd::{Level, Mode};

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[exec::trap::codes::CODES];
