//! How long it takes to read, decode and verify a binary unit of many kernels, part by part.
//!
//! `cargo run --release -p wsp-isa --example tg_speed -- 100000`
//!
//! Each kernel has an edge from the one before and two bindings, in graphs of 10,000 kernels, and a name. Times are the
//! best of several rounds.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    missing_docs,
    reason = "a program of its own: it prints, and takes times"
)]

use std::hint::black_box;
use std::time::Instant;
use wsp_core::tg::crc::crc32;
use wsp_core::tg::read::Ptog;
use wsp_core::tg::{
    CoreType, DEFAULT_ALIGNMENT, DependencyType, Direction, GraphNo, Instr, KernelNo, MemLocation, NodeNo,
    PartitionNo, Scalar, TensorNo, TensorRef,
};
use wsp_ir::tg::{Namespace, TgModule};
use wsp_isa::tg::binary::{decode, encode};

const PER_GRAPH: u32 = 10_000;
const ROUNDS: u32 = 15;

/// Whether kernels have names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    Numbers,
    Names,
}

fn unit(kernels: u32, naming: Naming) -> TgModule {
    let mut unit = TgModule::default();
    let entry_symbol = unit.strings.intern("scale_entry");
    let instrs = &mut unit.instrs;
    for graph in 0..kernels.div_ceil(PER_GRAPH) {
        let graph_id = GraphNo(graph);
        instrs.push(Instr::TgBegin { graph_id });
        let tensors = [TensorNo(2 * graph + 1), TensorNo(2 * graph + 2)];
        for tensor_id in tensors {
            let (size, alignment, location) = (1 << 20, DEFAULT_ALIGNMENT, MemLocation::Gm);
            instrs.push(Instr::McAlloc { tensor_id, size, alignment, location });
        }
        for kernel in 0..PER_GRAPH.min(kernels - graph * PER_GRAPH) {
            let kernel_id = KernelNo(kernel);
            let (core_type, partition) = (CoreType::Aiv, PartitionNo::NONE);
            instrs.push(Instr::TgKernel {
                kernel_id,
                entry_symbol,
                block_dim: 8,
                core_type,
                workspace_size: 0,
                partition,
            });
            for (arg_index, tensor) in (0..).zip(tensors) {
                let (tensor_id, offset) = (TensorRef::Tensor(tensor), Scalar::Const(64));
                let (size, direction) = (Scalar::Const(4096), Direction::Auto);
                instrs.push(Instr::McBind { kernel_id, arg_index, tensor_id, offset, size, direction });
            }
            if kernel > 0 {
                instrs.push(Instr::TgDepend {
                    src_kernel: NodeNo(kernel - 1),
                    dst_kernel: NodeNo(kernel),
                    dep_type: DependencyType::Data,
                    tensor_id: tensors[0],
                });
            }
            if naming == Naming::Names {
                let name = unit.strings.intern(&format!("kernel_{graph}_{kernel}"));
                unit.names.set(Namespace::Kernel, graph_id, kernel, name);
            }
        }
        instrs.push(Instr::TgEnd { graph_id });
    }
    unit
}

/// The best time of several rounds, in milliseconds.
fn best<T>(what: &str, mut work: impl FnMut() -> T) -> f64 {
    let times = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        let made = black_box(work());
        let time = start.elapsed();
        drop(made);
        time
    });
    let time = times.min().unwrap().as_secs_f64() * 1e3;
    println!("  {what:<28} {time:8.2} ms");
    time
}

fn main() {
    let kernels = std::env::args().nth(1).map_or(100_000, |text| text.parse().unwrap());
    for (naming, title) in [(Naming::Numbers, "numbers only"), (Naming::Names, "every kernel has a name")] {
        let unit = unit(kernels, naming);
        let bytes = encode(&unit).unwrap();
        let path = std::env::temp_dir().join(format!("tg_speed-{}.ptog", std::process::id()));
        std::fs::write(&path, &bytes).unwrap();
        println!("{kernels} kernels, {} instructions, {} bytes, {title}", unit.instrs.len(), bytes.len());
        best("encode", || encode(&unit).unwrap());
        best("checksum alone", || crc32(&bytes));
        best("read and check", || Ptog::read(&bytes).unwrap().kernels.len());
        best("read, check, decode", || decode("unit", &bytes).unwrap());
        best("verify", || wsp_ir::tg::verify(&unit));
        let errors: Vec<_> =
            wsp_ir::tg::verify(&unit).into_iter().filter(wsp_diag::Diagnostic::is_error).collect();
        assert!(errors.is_empty(), "{:?}", &errors[..errors.len().min(3)]);
        best("file, read, decode, verify", || {
            let bytes = std::fs::read(&path).unwrap();
            let unit = decode("unit", &bytes).unwrap();
            assert!(!wsp_ir::tg::verify(&unit).iter().any(|found| found.is_error()));
            unit
        });
        std::fs::remove_file(&path).unwrap();
    }
}
