//! A plain walk over the instructions of a graph: kernels run where they stand, one after the other.

use std::collections::{BTreeMap, HashMap};
use wsp_core::tg::{
    Direction, Env, EvalFault, GraphNo, Instr, IterNo, KernelNo, Scalar, ScalarType, TensorNo, TensorRef,
    eval,
};
use wsp_ir::tg::TgModule;

/// Bytes of every tensor.
pub(crate) const BYTES: usize = 64;

/// Contents of tensors.
pub(crate) type Memory = BTreeMap<TensorNo, Vec<u8>>;

/// A run of a kernel: which, and the iterations of the loops around it, outermost first.
pub(crate) type Run = (KernelNo, Vec<u64>);

pub(crate) fn memory(module: &TgModule) -> Memory {
    let fill = |no: TensorNo| (0..BYTES).map(|at| (at as u32 * 7 + no.0 * 31) as u8).collect();
    module.externs.iter().map(|tensor| (tensor.tensor, fill(tensor.tensor))).collect()
}

/// What a kernel makes of its arguments: for `inc`, the first byte and 1; else a mix of everything that it reads.
pub(crate) fn apply(entry: &str, kernel: KernelNo, args: &[Vec<u8>]) -> Vec<Vec<u8>> {
    if entry == "inc" {
        let mut out = args.to_vec();
        out[0][0] = out[0][0].wrapping_add(1);
        return out;
    }
    let mut mix = u64::from(kernel.0) * 977 + 13;
    args.iter().flatten().for_each(|&byte| mix = (mix ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    let bytes =
        |arg: &Vec<u8>| (0..arg.len()).map(|at| (mix.rotate_left(at as u32 * 5) as u8) ^ at as u8).collect();
    args.iter().map(bytes).collect()
}

/// Reads a scalar of memory.
pub(crate) fn load(bytes: &[u8], ty: ScalarType, offset: i64) -> Option<i64> {
    let at = usize::try_from(offset).ok()?;
    Some(match ty {
        ScalarType::U8 => i64::from(*bytes.get(at)?),
        ScalarType::I32 => i64::from(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)),
        _ => panic!("the tests read bytes and 32-bit integers"),
    })
}

pub(crate) struct Oracle<'m> {
    module: &'m TgModule,
    pub(crate) memory: Memory,
    pub(crate) runs: Vec<Run>,
    /// Checkpoints that were passed.
    pub(crate) checkpoints: usize,
    iters: HashMap<IterNo, i64>,
    rounds: Vec<u64>,
}

struct Values<'v, 'm>(&'v Oracle<'m>);

impl Env for Values<'_, '_> {
    fn iter(&self, iter: IterNo) -> Result<i64, EvalFault> {
        Ok(self.0.iters[&iter])
    }

    fn load(&self, tensor: TensorNo, ty: ScalarType, offset: i64) -> Result<i64, EvalFault> {
        load(&self.0.memory[&tensor], ty, offset).ok_or(EvalFault::Load { tensor, offset, ty })
    }

    fn arg(&self, arg: u32) -> Result<i64, EvalFault> {
        self.0.module.args[arg as usize].default.ok_or(EvalFault::Malformed)
    }

    fn iteration(&self) -> Result<i64, EvalFault> {
        Ok(0)
    }
}

/// Whether a block was left by a `CF_BREAK`.
#[derive(PartialEq)]
enum Flow {
    Through,
    Left,
}

impl<'m> Oracle<'m> {
    pub(crate) fn run(module: &'m TgModule, memory: Memory) -> Oracle<'m> {
        let (runs, rounds) = (Vec::new(), Vec::new());
        let mut oracle = Oracle { module, memory, runs, checkpoints: 0, iters: HashMap::new(), rounds };
        let graph = oracle.module.instrs.iter().position(|i| matches!(i, Instr::TgBegin { .. }));
        oracle.block(graph.expect("there is a graph") + 1);
        oracle
    }

    fn value(&self, scalar: Scalar) -> i64 {
        match scalar {
            Scalar::Const(value) => value,
            scalar => {
                eval(self.module.scalar(scalar), &Values(self)).expect("the tests' expressions have values")
            }
        }
    }

    /// Runs a block; gives how it ended, and where its end stands.
    fn block(&mut self, mut at: usize) -> (Flow, usize) {
        loop {
            match self.module.instrs[at] {
                Instr::TgEnd { .. }
                | Instr::CfElse {}
                | Instr::CfEndif {}
                | Instr::CfEndloop {}
                | Instr::CfEndwhile {} => return (Flow::Through, at),
                Instr::TgKernel { kernel_id, entry_symbol, .. } => {
                    self.runs.push((kernel_id, self.rounds.clone()));
                    self.kernel(kernel_id, self.module.str(entry_symbol));
                }
                Instr::McCopy { src_tensor, dst_tensor, size, src_offset, dst_offset } => {
                    let source = self.memory[&src_tensor][src_offset as usize..][..size as usize].to_vec();
                    let target = self.memory.get_mut(&dst_tensor).expect("there is this tensor");
                    target[dst_offset as usize..][..size as usize].copy_from_slice(&source);
                }
                Instr::TgCheckpoint { .. } => self.checkpoints += 1,
                Instr::CfIf { condition } => {
                    let end = self.end(at);
                    let arm = if self.value(condition) != 0 { Some(at) } else { self.otherwise(at) };
                    if let Some(arm) = arm
                        && self.block(arm + 1).0 == Flow::Left
                    {
                        return (Flow::Left, 0);
                    }
                    at = end;
                }
                Instr::CfLoop { count, iterator, .. } => {
                    let count = self.value(count);
                    for round in 0..count {
                        self.iters.insert(iterator, round);
                        if self.round(at, round as u64) == Flow::Left {
                            break;
                        }
                    }
                    at = self.end(at);
                }
                Instr::CfWhile { condition, .. } => {
                    let mut round = 0;
                    while self.value(condition) != 0 {
                        if self.round(at, round) == Flow::Left {
                            break;
                        }
                        round += 1;
                    }
                    at = self.end(at);
                }
                Instr::CfBreak { condition } if self.value(condition) != 0 => return (Flow::Left, 0),
                _ => {}
            }
            at += 1;
        }
    }

    fn round(&mut self, at: usize, round: u64) -> Flow {
        self.rounds.push(round);
        let flow = self.block(at + 1).0;
        self.rounds.pop();
        flow
    }

    /// Where the block that begins here ends.
    fn end(&self, at: usize) -> usize {
        matching(self.module, at).1
    }

    fn otherwise(&self, at: usize) -> Option<usize> {
        matching(self.module, at).0
    }

    fn kernel(&mut self, kernel: KernelNo, entry: &str) {
        let mut binds = Vec::new();
        for instr in &self.module.instrs {
            if let Instr::McBind { kernel_id, arg_index, tensor_id, offset, size, direction } = *instr
                && kernel_id == kernel
            {
                let tensor = match tensor_id {
                    TensorRef::Tensor(tensor) => tensor,
                    TensorRef::Table { index, .. } => {
                        self.module.tensors_of(&tensor_id)[self.value(Scalar::Expr(index)) as usize]
                    }
                };
                let first = self.value(offset) as usize;
                let len = match self.value(size) as usize {
                    0 => BYTES - first,
                    len => len,
                };
                binds.push((arg_index, tensor, first, len, direction));
            }
        }
        binds.sort_by_key(|bind| bind.0);
        let args: Vec<Vec<u8>> = binds
            .iter()
            .map(|&(_, tensor, first, len, _)| self.memory[&tensor][first..first + len].to_vec())
            .collect();
        for (out, (_, tensor, first, len, direction)) in apply(entry, kernel, &args).iter().zip(binds) {
            if direction != Direction::In {
                let target = self.memory.get_mut(&tensor).expect("there is this tensor");
                target[first..first + len].copy_from_slice(out);
            }
        }
    }
}

/// The `CF_ELSE` and the end of a block of control flow.
fn matching(module: &TgModule, begin: usize) -> (Option<usize>, usize) {
    let (mut depth, mut otherwise) = (0, None);
    for (at, instr) in module.instrs.iter().enumerate().skip(begin + 1) {
        match instr {
            Instr::CfIf { .. } | Instr::CfLoop { .. } | Instr::CfWhile { .. } => depth += 1,
            Instr::CfElse {} if depth == 0 => otherwise = Some(at),
            Instr::CfEndif {} | Instr::CfEndloop {} | Instr::CfEndwhile {} if depth == 0 => {
                return (otherwise, at);
            }
            Instr::CfEndif {} | Instr::CfEndloop {} | Instr::CfEndwhile {} => depth -= 1,
            _ => {}
        }
    }
    panic!("a block has no end");
}

/// Instructions of the loops around each kernel, outermost first.
pub(crate) fn loops_around(module: &TgModule, graph: GraphNo) -> HashMap<KernelNo, Vec<u32>> {
    let (mut open, mut around, mut inside) = (Vec::new(), HashMap::new(), false);
    for (at, instr) in module.instrs.iter().enumerate() {
        match *instr {
            Instr::TgBegin { graph_id } => inside = graph_id == graph,
            Instr::CfLoop { .. } | Instr::CfWhile { .. } => open.push(at as u32),
            Instr::CfEndloop {} | Instr::CfEndwhile {} => {
                open.pop();
            }
            Instr::TgKernel { kernel_id, .. } if inside => {
                around.insert(kernel_id, open.clone());
            }
            _ => {}
        }
    }
    around
}
