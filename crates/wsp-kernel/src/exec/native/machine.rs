//! The compiler for this machine, and one module of code per program.

use super::function::{self, Shape};
use super::image::{FunctionImage, Image};
use crate::exec::code::CompiledFunction;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, ModuleReloc, default_libcall_names};
use std::sync::OnceLock;

/// What code is worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effort {
    /// Mostly it runs for a short time, between calls of tile operations: compiling fast is worth more than the last percent.
    Fast,
    /// It runs once per task of a plan, and what is the same for many of them is worked out once.
    Thorough,
}

impl Effort {
    /// Of a program: thorough for what emits tasks.
    fn of(program: &CompiledFunction) -> Effort {
        if program.entry().emits.is_empty() { Effort::Fast } else { Effort::Thorough }
    }

    fn level(self) -> &'static str {
        match self {
            Effort::Fast => "none",
            Effort::Thorough => "speed",
        }
    }
}

/// Settings that differ from Cranelift's own.
const SETTINGS: [(&str, &str); 5] = [
    ("regalloc_algorithm", "backtracking"),
    ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
    ("is_pic", "false"),
    ("use_colocated_libcalls", "false"),
    // Panics never pass through compiled code.
    ("unwind_info", "false"),
];

/// The instruction set of this machine; none where Cranelift has no backend for it.
pub(super) fn isa(effort: Effort) -> Option<&'static OwnedTargetIsa> {
    static ISAS: [OnceLock<Option<OwnedTargetIsa>>; 2] = [const { OnceLock::new() }; 2];
    ISAS[effort as usize]
        .get_or_init(|| {
            let mut flags = settings::builder();
            flags.set("opt_level", effort.level()).ok()?;
            for (name, value) in SETTINGS {
                flags.set(name, value).ok()?;
            }
            cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()
        })
        .as_ref()
}

/// What code depends on beside the program: the compiler, what it is set to, and the instructions of this machine.
pub(super) fn describe() -> String {
    let Some(isa) = isa(Effort::Fast) else { return String::new() };
    let features: Vec<String> = isa.isa_flags().iter().map(ToString::to_string).collect();
    format!("{} {} {} {}", cranelift_codegen::VERSION, isa.triple(), isa.flags(), features.join(" "))
}

/// Compiles the functions of a program.
pub(super) fn compile(program: &CompiledFunction) -> Option<Image> {
    let isa = isa(Effort::of(program))?;
    let mut module = JITModule::new(JITBuilder::with_isa(isa.clone(), default_libcall_names()));
    let functions = translate_all(&mut module, program);
    // SAFETY: the module has no code: nothing is defined in it.
    unsafe { module.free_memory() };
    Some(Image { functions: functions? })
}

/// The code of each function; the module knows their names.
fn translate_all(module: &mut JITModule, program: &CompiledFunction) -> Option<Vec<FunctionImage>> {
    let target = module.target_config();
    let shapes = Shape::of_all(program);
    let mut context = module.make_context();
    let mut builder = FunctionBuilderContext::new();
    let mut ids: Vec<FuncId> = Vec::with_capacity(program.funcs.len());
    let mut functions = Vec::with_capacity(program.funcs.len());
    for index in 0..program.funcs.len() {
        context.func.signature = shapes[index].signature(module.isa());
        let id = module.declare_anonymous_function(&context.func.signature).ok()?;
        ids.push(id);
        let declared: Vec<_> =
            ids.iter().map(|id| module.declare_func_in_func(*id, &mut context.func)).collect();
        function::translate(program, index, &shapes, &declared, &mut context.func, &mut builder, target);
        context.compile(module.isa(), &mut ControlPlane::default()).ok()?;
        let code = context.compiled_code()?;
        let relocations = code.buffer.relocs().iter();
        functions.push(FunctionImage {
            alignment: u64::from(code.buffer.alignment),
            bytes: code.code_buffer().to_vec(),
            relocations: relocations
                .map(|one| ModuleReloc::from_mach_reloc(one, &context.func, id))
                .collect(),
        });
        module.clear_context(&mut context);
    }
    Some(functions)
}

/// Puts the code of a program where it can run; gives the address of the entry.
pub(super) fn place(program: &CompiledFunction, image: &Image) -> Option<(JITModule, *const u8)> {
    let isa = isa(Effort::of(program))?;
    let mut module = JITModule::new(JITBuilder::with_isa(isa.clone(), default_libcall_names()));
    match define_all(&mut module, program, image) {
        Some(entry) => {
            let address = module.get_finalized_function(entry);
            Some((module, address))
        }
        None => {
            // SAFETY: no address was taken.
            unsafe { module.free_memory() };
            None
        }
    }
}

fn define_all(module: &mut JITModule, program: &CompiledFunction, image: &Image) -> Option<FuncId> {
    let mut last = None;
    for (shape, function) in Shape::of_all(program).into_iter().zip(&image.functions) {
        let signature = shape.signature(module.isa());
        let id = module.declare_anonymous_function(&signature).ok()?;
        let FunctionImage { alignment, bytes, relocations } = function;
        module.define_function_bytes(id, *alignment, bytes, relocations).ok()?;
        last = Some(id);
    }
    module.finalize_definitions().ok()?;
    last
}
