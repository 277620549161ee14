//! Designs for AMD AIE arrays: the devices as data, the text of designs, checks, and runs without hardware.
//!
//! A [`design::Design`] is what is on the tiles of an array, how objects move between them, and what the host starts. It is built, or read from the text of
//! `mlir-aie`; it is printed as that text, [checked](check()) for what makes it impossible or hang, and [run](run::Machine). [Kernels](kernel) become bodies of cores.
//!
//! ```
//! use wsp_aie::design::{Design, Fifo, Link, Sequence};
//! use wsp_aie::device::{Tile, XDNA2};
//! use wsp_aie::mlir::{Attr, Form, Op, Type, Version, print};
//! use wsp_aie::run::{Allocation, Arg, Machine};
//!
//! // Objects of 16 integers from the host through a memory tile and back.
//! let mut design = Design::new("through", XDNA2);
//! let (shim, memory) = (Tile::new(0, 0), Tile::new(0, 1));
//! design.tile(shim);
//! design.tile(memory);
//! let object = Type::memref(&[16], Type::Int(32));
//! design.fifos.push(Fifo::new("in", shim, &[memory], 2, object.clone()));
//! design.fifos.push(Fifo::new("out", memory, &[shim], 2, object));
//! let names = |name: &str| vec![name.to_owned()];
//! design.links.push(Link { ins: names("in"), outs: names("out"), join: vec![], distribute: vec![], span: Default::default() });
//!
//! let array = Type::memref(&[64], Type::Int(32));
//! let (x, y) = (design.module.value("x", array.clone()), design.module.value("y", array));
//! let row = |inner: i64, rest: i64| Attr::Dense(Type::Int(64), vec![rest, rest, rest, inner]);
//! let transfer = |array, fifo: &str, id: i64| {
//!     Op::new("aiex.npu.dma_memcpy_nd")
//!         .with([array])
//!         .attr("metadata", Attr::Symbol(fifo.to_owned()))
//!         .attr("id", Attr::Int(id, Type::Int(64)))
//!         .attr("operandSegmentSizes", Attr::Dense(Type::Int(32), vec![1, 0, 0, 0]))
//!         .attr("static_offsets", row(0, 0))
//!         .attr("static_sizes", row(64, 1))
//!         .attr("static_strides", row(1, 0))
//! };
//! let wait = Op::new("aiex.npu.dma_wait").attr("symbol", Attr::Symbol("out".to_owned()));
//! let body = vec![transfer(x, "in", 0), transfer(y, "out", 1), wait];
//! design.sequences.push(Sequence { name: "sequence".to_owned(), args: vec![x, y], lengths: None, body, span: Default::default() });
//!
//! assert!(wsp_aie::check(&design).is_empty());
//! let text = print(&design.module(), Form::Pretty, Version::V2026_03);
//! assert!(text.contains("aie.objectfifo.link [@in] -> [@out]([] [])"));
//! let mut arrays = [Arg::Array((0..=255).collect()), Arg::Array(vec![0; 256])];
//! let mut machine = Machine::new(&design, Allocation::Lowered).unwrap();
//! machine.launch(None, &mut arrays, &mut |_, _| false).unwrap();
//! assert_eq!(arrays[0], arrays[1]);
//! ```
#![forbid(unsafe_code)]

mod backend;
mod check;
mod codes;
pub mod design;
pub mod device;
pub mod kernel;
pub mod lower;
pub mod mlir;
mod number;
pub mod place;
pub mod route;
pub mod run;
mod stop;
mod unwaited;

pub use backend::{AieBackend, DesignArg, DesignFile, DesignRun, Simulation};
pub use check::check;
#[doc(hidden)]
pub use stop::stoppable;

/// The codes of this crate.
pub const CODES: wsp_diag::Codes = &[codes::CODES];
