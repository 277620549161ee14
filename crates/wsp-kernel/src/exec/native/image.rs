//! Machine code that holds no address of a process, so that it can be kept for another process of the same build.

use cranelift_codegen::binemit::Reloc;
use cranelift_module::{FuncId, ModuleReloc, ModuleRelocTarget};
use wsp_memory::{Reader, Writer};

/// How one function calls another, on the instruction sets that there is a compiler for, with the bytes that the call has of it.
const CALLS: [(Reloc, usize); 4] = [
    (Reloc::X86CallPCRel4, 4),
    (Reloc::Arm64Call, 4),
    (Reloc::RiscvCallPlt, 8),
    (Reloc::S390xPLTRel32Dbl, 4),
];

/// Most bytes that a function is aligned to.
const MOST_ALIGNED: u64 = 4096;

/// The code of a program: of its functions, callees before callers.
#[derive(Clone)]
pub(crate) struct Image {
    pub(super) functions: Vec<FunctionImage>,
}

/// The code of a function.
#[derive(Clone)]
pub(super) struct FunctionImage {
    /// Bytes, a power of two.
    pub(super) alignment: u64,
    pub(super) bytes: Vec<u8>,
    /// Where it names other functions.
    pub(super) relocations: Vec<ModuleReloc>,
}

impl Image {
    /// Whether the code names nothing but functions of its own, so that [`read`](Self::read) takes what [`write`](Self::write) gives.
    pub(crate) fn can_be_kept(&self) -> bool {
        self.functions.iter().flat_map(|function| &function.relocations).all(|one| call(one).is_some())
    }

    /// Writes code that can be kept.
    pub(crate) fn write(&self, out: &mut Writer) {
        out.list(&self.functions, |out, function| {
            out.u64(function.alignment);
            out.raw(&function.bytes);
            let calls: Vec<[u32; 3]> = function.relocations.iter().filter_map(call).collect();
            let addends = function.relocations.iter().map(|one| one.addend);
            let calls: Vec<([u32; 3], i64)> = calls.into_iter().zip(addends).collect();
            out.list(&calls, |out, (words, addend)| {
                words.iter().for_each(|word| out.u32(*word));
                out.u64(addend.cast_unsigned());
            });
        });
    }

    /// Reads code of a program of so many functions.
    ///
    /// # Errors
    /// The bytes end early, or name what is not there.
    pub(crate) fn read(input: &mut Reader<'_>, functions: usize) -> Result<Image, String> {
        let mut index = 0;
        let read = input.list(24, |input| {
            index += 1;
            FunctionImage::read(input, index - 1)
        })?;
        match read.len() == functions {
            true => Ok(Image { functions: read }),
            false => {
                Err(format!("it has code of {} functions where the program has {functions}", read.len()))
            }
        }
    }
}

impl FunctionImage {
    /// Function number `index`, which calls none but those before it.
    fn read(input: &mut Reader<'_>, index: u32) -> Result<FunctionImage, String> {
        let alignment = input.u64()?;
        if !alignment.is_power_of_two() || alignment > MOST_ALIGNED {
            return Err(format!("a function is aligned to {alignment} bytes"));
        }
        let bytes = input.raw()?.to_vec();
        let relocations = input.list(20, |input| {
            let (offset, kind, callee) = (input.u32()?, input.u32()?, input.u32()?);
            let addend = input.u64()?.cast_signed();
            let known = CALLS.get(kind as usize).filter(|_| callee < index);
            let Some(&(kind, size)) = known else { return Err("a call names what is not there".to_owned()) };
            if (offset as usize).checked_add(size).is_none_or(|end| end > bytes.len()) {
                return Err("a call lies behind its function".to_owned());
            }
            let name = ModuleRelocTarget::from(FuncId::from_u32(callee));
            Ok(ModuleReloc { offset, kind, name, addend })
        })?;
        Ok(FunctionImage { alignment, bytes, relocations })
    }
}

/// Offset, kind and callee of a relocation that is a call of a function of the program.
fn call(relocation: &ModuleReloc) -> Option<[u32; 3]> {
    let kind = CALLS.iter().position(|(kind, _)| *kind == relocation.kind)?;
    match relocation.name {
        ModuleRelocTarget::User { namespace: 0, index } => Some([relocation.offset, kind as u32, index]),
        _ => None,
    }
}
