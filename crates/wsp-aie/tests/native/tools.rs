//! LLVM's programs, below `target/tools`, where `cargo xtask deep` unpacks them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What each module goes through to LLVM.
const PASSES: &str = "builtin.module(arith-expand{include-bf16=true},convert-scf-to-cf,convert-vector-to-llvm,\
    convert-math-to-llvm,convert-math-to-libm,expand-strided-metadata,convert-arith-to-llvm,convert-index-to-llvm,\
    finalize-memref-to-llvm,func.func(llvm-request-c-wrappers),convert-func-to-llvm,convert-cf-to-llvm,\
    reconcile-unrealized-casts)";

/// Where they are.
pub(crate) struct Tools {
    root: PathBuf,
    /// What is made.
    folder: PathBuf,
}

impl Tools {
    /// They, with a folder for what they make; none where they are not there, of which `cargo xtask test` tells.
    pub(crate) fn find(folder: &str) -> Option<Tools> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = workspace.join("target/tools/llvm-22/root");
        if !root.is_dir() {
            eprintln!(
                "nothing is compiled: `cargo xtask deep LLVM` unpacks LLVM's programs to {}",
                root.display()
            );
            return None;
        }
        let folder = workspace.join("target/tools/tests").join(folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        Some(Tools { root, folder })
    }

    fn run(&self, command: &mut Command) {
        let output = command.output().unwrap_or_else(|fault| panic!("{command:?}: {fault}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}\n{said}");
    }

    /// One of LLVM's programs, with the libraries that it was built for.
    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.root.join("usr/lib64/ld-linux-x86-64.so.2"));
        let libraries = ["usr/lib/x86_64-linux-gnu", "usr/lib/llvm-22/lib"].map(|at| self.root.join(at));
        command.arg("--library-path").arg(format!("{}:{}", libraries[0].display(), libraries[1].display()));
        command.arg(self.root.join("usr/lib/llvm-22/bin").join(name));
        command
    }

    #[expect(clippy::disallowed_methods, reason = "a test writes what it compiles")]
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// The object of a module, beside it.
    pub(crate) fn object(&self, name: &str, text: &str) -> PathBuf {
        let at = |ending: &str| self.folder.join(format!("{name}.{ending}"));
        let source = self.write(&format!("{name}.mlir"), text);
        let mut lower = self.program("mlir-opt");
        self.run(lower.arg(source).arg(format!("--pass-pipeline={PASSES}")).arg("-o").arg(at("llvm.mlir")));
        let mut translate = self.program("mlir-translate");
        self.run(translate.arg("--mlir-to-llvmir").arg(at("llvm.mlir")).arg("-o").arg(at("ll")));
        let mut compile = self.program("llc");
        compile.args(["-O1", "--fp-contract=off", "-filetype=obj", "-relocation-model=pic"]);
        self.run(compile.arg(at("ll")).arg("-o").arg(at("o")));
        at("o")
    }

    /// What a program of these objects writes, from what it reads.
    #[expect(clippy::disallowed_methods, reason = "a test reads what its program writes")]
    pub(crate) fn output(&self, name: &str, source: &str, objects: &[PathBuf], input: &[u8]) -> Vec<u8> {
        let (given, made) =
            (self.write(&format!("{name}.in"), input), self.folder.join(format!("{name}.out")));
        let source = self.write(&format!("{name}.cpp"), source);
        let program = self.folder.join(name);
        let mut link = Command::new("c++");
        link.args(["-std=c++17", "-O1", "-pthread", "-I"])
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/native"));
        self.run(link.arg(source).args(objects).arg("-o").arg(&program));
        self.run(Command::new(program).arg(given).arg(&made));
        std::fs::read(made).expect("what the program writes")
    }
}
