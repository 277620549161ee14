//! Kernels of task graphs, by entry symbol.

use super::codes;
use super::cx::TgCx;
use super::pto::PtoEntry;
use crate::workload::KernelFault;
use std::fmt;
use std::sync::Arc;
use wsp_core::tg::{GraphNo, Instr};
use wsp_diag::{Diagnostic, did_you_mean};
use wsp_ir::Module;
use wsp_ir::tg::{KernelSignature, Namespace, Signatures, TgModule};
use wsp_kernel::{CodeCache, Engine, Mode};
use wsp_ordered::OrderedMap;
use wsp_plan::ParamValue;

/// A function that runs a block.
pub(crate) type Body = dyn Fn(&mut TgCx<'_>) -> Result<(), KernelFault> + Send + Sync;

/// What runs a kernel.
#[derive(Clone)]
pub(crate) enum KernelBody {
    /// A function of the caller.
    Function(Arc<Body>),
    /// An entry of a `.pto` file.
    Pto(Arc<PtoEntry>),
}

impl fmt::Debug for KernelBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KernelBody::Function(_) => "function",
            KernelBody::Pto(_) => "entry",
        })
    }
}

#[derive(Clone, Debug)]
struct Known {
    body: KernelBody,
    signature: Option<KernelSignature>,
}

/// Kernels by entry symbol: functions in Rust, and entries of `.pto` files.
///
/// ```
/// use wsp_cpu::tg::TgKernels;
///
/// let mut kernels = TgKernels::new();
/// kernels.register("scale_entry", None, |cx| {
///     let x: Vec<f32> = cx.load(0)?;
///     let doubled: Vec<f32> = x.iter().map(|x| 2.0 * x).collect();
///     cx.store(1, 0, &doubled)
/// })?;
/// assert!(kernels.register("scale_entry", None, |_| Ok(())).is_err());
/// # Ok::<(), Box<wsp_diag::Diagnostic>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TgKernels {
    known: OrderedMap<String, Known>,
    /// Machine code of files.
    code: CodeCache,
}

impl TgKernels {
    /// No kernels.
    pub fn new() -> TgKernels {
        TgKernels::default()
    }

    /// Gives an entry symbol a function, which runs once per block. Without a signature nothing is known of its arguments, and
    /// each counts as read and written unless its binding says more. The name of the signature does not matter.
    ///
    /// # Errors
    /// When the symbol has a kernel.
    pub fn register(
        &mut self,
        entry: impl Into<String>,
        signature: Option<KernelSignature>,
        body: impl Fn(&mut TgCx<'_>) -> Result<(), KernelFault> + Send + Sync + 'static,
    ) -> Result<(), Box<Diagnostic>> {
        let entry = entry.into();
        self.check_free(&entry)?;
        self.insert(entry, signature, KernelBody::Function(Arc::new(body)));
        Ok(())
    }

    /// As [`register`](Self::register), in place of the kernel that the symbol may have.
    pub fn replace(
        &mut self,
        entry: impl Into<String>,
        signature: Option<KernelSignature>,
        body: impl Fn(&mut TgCx<'_>) -> Result<(), KernelFault> + Send + Sync + 'static,
    ) {
        self.insert(entry.into(), signature, KernelBody::Function(Arc::new(body)));
    }

    /// Keeps machine code of the files that are added from here on there.
    pub fn keep_code(&mut self, code: &CodeCache) {
        self.code = code.clone();
    }

    /// Adds every entry of a `.pto` file, with these values of its parameters. `mode` picks the implementation of tile
    /// operations, `engine` what runs scalar code, so that results do not depend on how blocks are run.
    ///
    /// # Errors
    /// Entries that cannot be compiled, parameters that do not exist or fit, entry symbols that have a kernel.
    pub fn add_library(
        &mut self,
        module: &Arc<Module>,
        set: &[(String, ParamValue)],
        mode: Mode,
        engine: Engine,
    ) -> Result<(), Vec<Diagnostic>> {
        let entries = PtoEntry::all(module, set, mode, engine, &self.code)?;
        let taken: Vec<Diagnostic> = entries
            .iter()
            .filter_map(|entry| self.check_free(entry.name()).err())
            .map(|fault| *fault)
            .collect();
        if !taken.is_empty() {
            return Err(taken);
        }
        for entry in entries {
            let signature = entry.signature().clone();
            self.insert(signature.name.clone(), Some(signature), KernelBody::Pto(Arc::new(entry)));
        }
        Ok(())
    }

    fn check_free(&self, entry: &str) -> Result<(), Box<Diagnostic>> {
        if !self.known.contains_key(entry) {
            return Ok(());
        }
        let message = format!("kernel `{entry}` is registered already");
        Err(Box::new(
            Diagnostic::error(codes::KERNEL_EXISTS, message).help("rename one of them, or replace the first"),
        ))
    }

    fn insert(&mut self, entry: String, signature: Option<KernelSignature>, body: KernelBody) {
        let signature = signature.map(|signature| KernelSignature { name: entry.clone(), ..signature });
        self.known.insert(entry, Known { body, signature });
    }

    /// Whether an entry symbol has a kernel.
    pub fn has(&self, entry: &str) -> bool {
        self.known.contains_key(entry)
    }

    /// Entry symbols, sorted.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }

    /// What is known of the arguments of kernels.
    pub fn signatures(&self) -> Signatures {
        self.known.values().filter_map(|known| known.signature.clone()).collect()
    }

    pub(crate) fn body(&self, entry: &str) -> Option<&KernelBody> {
        self.known.get(entry).map(|known| &known.body)
    }

    /// Kernels of a unit whose entry symbol is not among these.
    pub(super) fn unresolved(&self, module: &TgModule) -> Vec<Diagnostic> {
        let mut graph = GraphNo(0);
        let mut found = Vec::new();
        for (at, instr) in module.instrs.iter().enumerate() {
            match *instr {
                Instr::TgBegin { graph_id } => graph = graph_id,
                Instr::TgKernel { kernel_id, entry_symbol, .. } if !self.has(module.str(entry_symbol)) => {
                    let name = module.name(Namespace::Kernel, graph, kernel_id.0);
                    let fault = self.unknown(module.str(entry_symbol), &name);
                    found.push(fault.at(module.span(at), "defined here"));
                }
                _ => {}
            }
        }
        found
    }

    /// What is said of an entry symbol without a kernel.
    pub(super) fn unknown(&self, entry: &str, kernel: &str) -> Diagnostic {
        let message =
            format!("kernel `{kernel}` has the entry symbol `{entry}`, and no kernel is called that");
        let fault = Diagnostic::error(codes::UNKNOWN_ENTRY, message);
        if let Some(near) = did_you_mean(entry, self.entries()) {
            return fault.help(format!("did you mean `{near}`?"));
        }
        let some: Vec<&str> = self.entries().take(8).collect();
        match some.as_slice() {
            [] => fault.note("there are no kernels").help("name a file of kernels: `use \"FILE.pto\"`").python(format!(
                "give it a function with `@graph.kernel(\"{entry}\", In[f32], Out[f32])`, or a file of kernels: `graph.use(path)`"
            )),
            some => fault
                .note(format!("there are: {}", some.join(", ")))
                .help("name the file that has it with `use`, or give it with `--kernels FILE.pto`")
                .python(format!("give it a function with `@graph.kernel(\"{entry}\")`, or the file that has it: `graph.use(path)`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ISA-TG-10.
    #[test]
    fn an_entry_symbol_has_one_kernel_and_a_misspelt_one_the_nearest_name() {
        let mut kernels = TgKernels::new();
        kernels.register("mla_prolog_entry", None, |_| Ok(())).expect("it is the first");
        let again = kernels.register("mla_prolog_entry", None, |_| Ok(())).expect_err("it is the second");
        assert_eq!(again.code, codes::KERNEL_EXISTS);
        kernels.replace("mla_prolog_entry", None, |_| Ok(()));
        let fault = kernels.unknown("mla_prolg_entry", "MLA_PROLOG");
        assert_eq!(fault.help, ["did you mean `mla_prolog_entry`?"]);
        assert!(kernels.unknown("softmax", "S").notes[0].contains("mla_prolog_entry"));
    }
}
