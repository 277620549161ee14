//! One function in Cranelift's terms: blocks, jumps, steps and calls.

use super::helpers::Helper;
use super::run::Run;
use crate::exec::code::{Code, CompiledFunction, Inst, Op};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, FuncRef, Function, InstBuilder, MemFlagsData, SigRef, Signature, Value,
};
use cranelift_codegen::isa::{TargetFrontendConfig, TargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use std::mem::offset_of;
use wsp_ir::ScalarTy;

/// What callers need to know of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Arguments: the first slots of its frame.
    args: usize,
}

impl Shape {
    pub(super) fn of_all(program: &CompiledFunction) -> Vec<Shape> {
        let mut shapes = vec![Shape { args: 0 }; program.funcs.len()];
        for site in program.funcs.iter().flat_map(|code| &code.calls) {
            shapes[site.func].args = site.args.len();
        }
        shapes
    }

    /// The run, the frame and the arguments in; whether the run stopped out. The value is in the run.
    pub(super) fn signature(self, isa: &dyn TargetIsa) -> Signature {
        let mut signature = Signature::new(isa.default_call_conv());
        signature.params.resize(2 + self.args, AbiParam::new(I64));
        signature.returns.push(AbiParam::new(I64));
        signature
    }
}

/// Translates one function.
pub(super) struct Translator<'t> {
    pub(super) b: FunctionBuilder<'t>,
    pub(super) code: &'t Code,
    index: i64,
    /// By slot; none for constants.
    variables: Vec<Option<Variable>>,
    pub(super) run: Value,
    pub(super) frame: Value,
    /// By instruction that something jumps to.
    blocks: Vec<Option<Block>>,
    /// Stops as the instruction whose number and operands it is given.
    fault: Block,
    /// Returns that the run stopped.
    pub(super) stopped: Block,
    helper: SigRef,
    pub(super) funcs: &'t [FuncRef],
    /// Whether tile operations read slots, so that all of them are kept in the frame too.
    in_frame: bool,
    /// Whether this is the function that runs of the program start with.
    is_entry: bool,
}

/// Fills `func`, whose signature is set, with function number `index` of a program.
pub(super) fn translate(
    program: &CompiledFunction,
    index: usize,
    shapes: &[Shape],
    funcs: &[FuncRef],
    func: &mut Function,
    context: &mut FunctionBuilderContext,
    target: TargetFrontendConfig,
) {
    let code = &program.funcs[index];
    let mut b = FunctionBuilder::new(func, context);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let params = b.block_params(entry).to_vec();
    let mut signature = Signature::new(b.func.signature.call_conv);
    signature.params.resize(6, AbiParam::new(I64));
    signature.returns.push(AbiParam::new(I64));
    let helper = b.import_signature(signature);
    let (fault, stopped) = (b.create_block(), b.create_block());
    let mut t = Translator {
        code,
        index: index as i64,
        variables: vec![None; code.template.len()],
        run: params[0],
        frame: params[1],
        blocks: vec![None; code.insts.len() + 1],
        fault,
        stopped,
        helper,
        funcs,
        in_frame: !code.tiles.is_empty(),
        is_entry: index + 1 == program.funcs.len(),
        b,
    };
    t.declare(&params[2..], shapes[index]);
    t.find_blocks();
    t.body();
    t.endings();
    t.b.seal_all_blocks();
    t.b.finalize(target);
}

/// Whether an operation writes its `dst`.
fn writes(op: Op) -> bool {
    !matches!(
        op,
        Op::Jump
            | Op::JumpIf
            | Op::JumpIfNot
            | Op::Back
            | Op::CheckStep
            | Op::Return
            | Op::Stop
            | Op::Emit
            | Op::Fence
            | Op::SetTile
            | Op::SetExtentScalar
            | Op::SetExtentArray
    )
}

impl Translator<'_> {
    /// A variable per slot that is ever written, with its first value.
    fn declare(&mut self, args: &[Value], shape: Shape) {
        let mut first: Vec<Option<Value>> = vec![None; self.code.template.len()];
        for (slot, value) in first.iter_mut().zip(args).take(shape.args) {
            *slot = Some(*value);
        }
        for (_, slot) in &self.code.fields {
            first[*slot as usize] = Some(self.load_slot(*slot));
        }
        for i in self.code.insts.iter().filter(|i| writes(i.op)) {
            let slot = i.dst as usize;
            let start = self.code.template[slot];
            first[slot].get_or_insert_with(|| self.b.ins().iconst(I64, start as i64));
        }
        for (slot, value) in first.into_iter().enumerate() {
            if let Some(value) = value {
                let variable = self.b.declare_var(I64);
                self.b.def_var(variable, value);
                self.variables[slot] = Some(variable);
            }
        }
    }

    /// A block per instruction that a jump goes to, and per one that a jump may not be taken to.
    fn find_blocks(&mut self) {
        for (pc, i) in self.code.insts.iter().enumerate() {
            let targets = match i.op {
                Op::Jump | Op::Back => [Some(i.b as usize), None],
                Op::JumpIf | Op::JumpIfNot | Op::NextU | Op::NextI => [Some(i.b as usize), Some(pc + 1)],
                _ => [None, None],
            };
            for target in targets.into_iter().flatten() {
                if self.blocks[target].is_none() {
                    self.blocks[target] = Some(self.b.create_block());
                }
            }
        }
    }

    fn body(&mut self) {
        let mut open = true;
        for (pc, i) in self.code.insts.iter().enumerate() {
            if let Some(block) = self.blocks[pc] {
                if open {
                    self.b.ins().jump(block, &[]);
                }
                self.b.switch_to_block(block);
                open = true;
            }
            // Nothing jumps to what follows a jump and has no block.
            if open {
                self.inst(pc, *i);
                open = !matches!(
                    i.op,
                    Op::Jump
                        | Op::JumpIf
                        | Op::JumpIfNot
                        | Op::Back
                        | Op::NextU
                        | Op::NextI
                        | Op::Return
                        | Op::Stop
                );
            }
        }
    }

    /// The blocks that all instructions share.
    fn endings(&mut self) {
        self.b.switch_to_block(self.fault);
        self.b.set_cold_block(self.fault);
        let [pc, a, b] = [0; 3].map(|_| self.b.append_block_param(self.fault, I64));
        let status = self.call_helper(Helper::Fault, pc, [a, b]);
        self.b.ins().return_(&[status]);

        self.b.switch_to_block(self.stopped);
        self.b.set_cold_block(self.stopped);
        let status = self.b.ins().iconst(I64, 1);
        self.b.ins().return_(&[status]);
    }

    fn inst(&mut self, pc: usize, i: Inst) {
        match i.op {
            Op::Mov => {
                let value = self.get(i.a);
                self.set(i.dst, value);
            }
            Op::Jump => {
                self.jump_to(i.b);
            }
            Op::JumpIf | Op::JumpIfNot => {
                let test = self.get(i.a);
                let (mut yes, mut no) = (self.target(i.b), self.target(pc as u32 + 1));
                if i.op == Op::JumpIfNot {
                    (yes, no) = (no, yes);
                }
                self.b.ins().brif(test, yes, &[], no, &[]);
            }
            Op::Back => {
                self.step(pc);
                self.jump_to(i.b);
            }
            Op::NextU | Op::NextI => self.next(pc, i),
            Op::CheckStep => {
                let step = self.get(i.a);
                let signed = matches!(i.ty, ScalarTy::I32 | ScalarTy::I64);
                let below = if signed { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan };
                let bad = self.b.ins().icmp_imm_s(below, step, 1);
                self.fault_if(bad, pc, [step, step]);
            }
            Op::Load => self.load(pc, i),
            Op::Call => self.call(pc, i),
            Op::Return => {
                let value = self.get(i.a);
                self.store_run(offset_of!(Run<'_, '_>, value), value);
                let status = self.b.ins().iconst(I64, super::GOES_ON);
                self.b.ins().return_(&[status]);
            }
            Op::Stop => {
                let zero = self.b.ins().iconst(I64, 0);
                let pc = self.b.ins().iconst(I64, pc as i64);
                self.b.ins().jump(self.fault, &[pc.into(), zero.into(), zero.into()]);
            }
            Op::Emit if self.is_entry => self.emit(pc, i),
            Op::AllocWs if self.is_entry => self.alloc_ws(pc, i),
            Op::Tier => self.tier(pc, i),
            _ => {
                if !self.arithmetic(pc, i) {
                    self.outlined(pc, i);
                }
            }
        }
    }

    pub(super) fn get(&mut self, slot: u32) -> Value {
        match self.variables[slot as usize] {
            Some(variable) => self.b.use_var(variable),
            None => self.b.ins().iconst(I64, self.code.template[slot as usize] as i64),
        }
    }

    /// The value of a slot that never changes.
    pub(super) fn constant(&self, slot: u32) -> Option<u64> {
        match self.variables[slot as usize] {
            Some(_) => None,
            None => Some(self.code.template[slot as usize]),
        }
    }

    pub(super) fn set(&mut self, slot: u32, value: Value) {
        let variable = self.variables[slot as usize].expect("a slot that is written should be a variable");
        self.b.def_var(variable, value);
        if self.in_frame {
            self.store_slot(slot, value);
        }
    }

    fn load_slot(&mut self, slot: u32) -> Value {
        self.b.ins().load(I64, MemFlagsData::trusted(), self.frame, 8 * slot as i32)
    }

    fn store_slot(&mut self, slot: u32, value: Value) {
        self.b.ins().store(MemFlagsData::trusted(), value, self.frame, 8 * slot as i32);
    }

    pub(super) fn load_run(&mut self, offset: usize) -> Value {
        self.b.ins().load(I64, MemFlagsData::trusted(), self.run, offset as i32)
    }

    pub(super) fn store_run(&mut self, offset: usize, value: Value) {
        self.b.ins().store(MemFlagsData::trusted(), value, self.run, offset as i32);
    }

    pub(super) fn jump_to(&mut self, pc: u32) {
        let target = self.target(pc);
        self.b.ins().jump(target, &[]);
    }

    pub(super) fn target(&self, pc: u32) -> Block {
        self.blocks[pc as usize].expect("what is jumped to should have a block")
    }

    /// Goes on in a new block unless `cond`, which goes to `other`.
    pub(super) fn leave_if(&mut self, cond: Value, other: Block, args: &[BlockArg]) {
        let next = self.b.create_block();
        self.b.ins().brif(cond, other, args, next, &[]);
        self.b.switch_to_block(next);
    }

    /// Stops the run if `bad`, as the instruction does with these operands.
    pub(super) fn fault_if(&mut self, bad: Value, pc: usize, [a, b]: [Value; 2]) {
        // In a block of its own, so that the way on has nothing to do but the test.
        let (stop, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(bad, stop, &[], next, &[]);
        self.b.switch_to_block(stop);
        self.b.set_cold_block(stop);
        let pc = self.b.ins().iconst(I64, pc as i64);
        self.b.ins().jump(self.fault, &[pc.into(), a.into(), b.into()]);
        self.b.switch_to_block(next);
    }

    fn call_helper(&mut self, helper: Helper, pc: Value, [a, b]: [Value; 2]) -> Value {
        let flags = MemFlagsData::trusted().with_readonly();
        let table = self.b.ins().load(I64, flags, self.run, offset_of!(Run<'_, '_>, helpers) as i32);
        let address = self.b.ins().load(I64, flags, table, (helper as usize * size_of::<usize>()) as i32);
        let index = self.b.ins().iconst(I64, self.index);
        let args = [self.run, self.frame, index, pc, a, b];
        let call = self.b.ins().call_indirect(self.helper, address, &args);
        self.b.inst_results(call)[0]
    }

    /// Calls a helper and leaves the function when the run stops.
    pub(super) fn call_checked(&mut self, helper: Helper, pc: usize) {
        let zero = self.b.ins().iconst(I64, 0);
        let pc = self.b.ins().iconst(I64, pc as i64);
        let status = self.call_helper(helper, pc, [zero, zero]);
        self.leave_if(status, self.stopped, &[]);
    }

    /// Has the instruction run outside, and takes its value over.
    pub(super) fn outlined(&mut self, pc: usize, i: Inst) {
        self.spill(i);
        self.call_checked(Helper::Outlined, pc);
        if writes(i.op) {
            let value = self.load_run(offset_of!(Run<'_, '_>, value));
            self.set(i.dst, value);
        }
    }

    /// Writes the operands of an instruction to the frame.
    pub(super) fn spill(&mut self, i: Inst) {
        let code = self.code;
        let mut keep = |slots: &[u32]| {
            for slot in slots {
                let value = self.get(*slot);
                self.store_slot(*slot, value);
            }
        };
        match i.op {
            // All slots are there already.
            Op::Tile | Op::Fence | Op::AxisTile | Op::HostAxisTile | Op::HostAxisExtent => {}
            Op::Emit => keep(&code.emits[i.a as usize].words),
            Op::AllocWs => {
                let site = &code.allocs[i.a as usize];
                keep(&[site.tier, site.count, site.index]);
                keep(&site.key);
            }
            Op::SetTile | Op::SetExtentScalar | Op::SetExtentArray => keep(&[i.b]),
            Op::Unary | Op::Math | Op::Cast | Op::Tier | Op::ArrayLen => keep(&[i.a]),
            _ => keep(&[i.a, i.b]),
        }
    }
}
