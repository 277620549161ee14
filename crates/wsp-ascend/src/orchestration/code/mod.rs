//! Generators as code that AICPUs interpret: words for `pto/wsp/backend/npu/generator_code.hpp`.

mod body;
mod expr;
mod ops;

use super::Source;
use super::launch::printer;
use super::workload::{hex, list};
use crate::places::word_places;
use crate::writer::Writer;
use ops::{Op, code_of};
use wsp_core::{FuncId, ParamId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{ArrayRef, ScalarTy};

/// All ones: none.
const NONE: u32 = u32::MAX;

/// The file of the code.
pub(super) const FILE: &str = "program.inc";

/// Generators as code.
pub(super) struct Code {
    words: Vec<u32>,
    /// Where each function begins, what it takes and its variables.
    functions: Vec<[u32; 3]>,
    /// Arrays of the launch that they read.
    arrays: Vec<ArrayRef>,
    /// Where instructions that may fail stand in the source.
    places: Vec<(u32, String)>,
}

/// A function under way.
struct Coder<'a> {
    source: &'a Source<'a>,
    code: Code,
    /// Functions by their places: generators of stages, then helpers as they are called.
    called: Vec<FuncId>,
    /// Variables of the function, with those for values on the way.
    locals: u32,
    /// What a condition of tiers is about: its variable and type.
    selector: Option<(u32, ScalarTy)>,
    loops: Vec<Loop>,
    found: Vec<Diagnostic>,
}

/// Words that are to lead out of a loop, and to its next pass.
#[derive(Default)]
struct Loop {
    breaks: Vec<usize>,
    continues: Vec<usize>,
}

/// The code of all generators.
///
/// # Errors
/// Expressions over tiles.
pub(super) fn code(source: &Source<'_>) -> Result<Code, Vec<Diagnostic>> {
    let (module, stages) = (&source.plan.module, &source.plan.stages);
    let mut coder = Coder {
        source,
        code: Code { words: Vec::new(), functions: Vec::new(), arrays: Vec::new(), places: Vec::new() },
        called: stages.iter().map(|stage| stage.generator).collect(),
        locals: 0,
        selector: None,
        loops: Vec::new(),
        found: Vec::new(),
    };
    for (at, stage) in (0..).zip(stages) {
        let axes = &module.spaces[stage.space.index()].axes;
        coder.op(Op::Enter);
        coder.words([at, axes.len() as u32]);
        coder.words(axes.iter().map(|axis| axis.0));
        coder.op(Op::Call);
        coder.words([at]);
    }
    coder.op(Op::Halt);
    while let Some(function) = coder.called.get(coder.code.functions.len()) {
        coder.function(*function);
    }
    if coder.found.is_empty() { Ok(coder.code) } else { Err(coder.found) }
}

impl Code {
    /// `program.inc`.
    pub(super) fn text(&self, source: &Source<'_>) -> String {
        let mut out = Writer::default();
        out.line("// The generators of the program as code, which AICPUs interpret. Emitted by PTO-WSP; do not edit.");
        out.line("#include \"pto/wsp/backend/npu/generator_code.hpp\"");
        out.line("");
        out.line("namespace program {");
        out.line("");
        hex(&mut out, "words", self.words.iter().copied());
        out.line("// Where each function begins, what it takes and its variables.");
        let functions =
            self.functions.iter().map(|[entry, params, locals]| format!("{{{entry}, {params}, {locals}}}"));
        list(&mut out, "static const code::Function", "functions", "{0, 0, 0}", functions);
        out.line("// Words of each descriptor.");
        let structs = &source.plan.module.structs;
        let fields = structs.iter().map(|def| def.fields.len().to_string());
        list(&mut out, "static const std::uint32_t", "fields", "0", fields);
        let places =
            word_places(&mut out, self.places.iter().map(|(word, place)| (*word, NONE, place.clone())));
        out.line(format!(
            "static const code::Program generators{{words, {}, functions, {}, fields, {}, {places}}};",
            self.words.len(),
            self.functions.len(),
            structs.len()
        ));
        out.line("");
        out.line("}  // namespace program");
        out.finish()
    }

    /// The function that runs them.
    pub(super) fn generate(&self, out: &mut Writer, source: &Source<'_>) {
        let (params, printer) = (source.plan.module.params.len(), printer(source));
        out.line("// Runs every generator.");
        out.open("template <class Out> static void generate(const Launch& l, Planner& s, Out& out) {");
        let words =
            (0..params as u32).map(|at| format!("generator::word(l.{})", source.names.param(ParamId(at))));
        list(out, "const std::uint64_t", "params", "0", words);
        list(out, "const IntArray", "arrays", "{}", self.arrays.iter().map(|array| printer.array(*array)));
        let arrays = self.arrays.len();
        out.line(format!(
            "code::run(generators, code::Given{{params, {params}, arrays, {arrays}}}, l, s, out);"
        ));
        out.close("}");
        out.line("");
    }
}

impl Coder<'_> {
    fn words(&mut self, words: impl IntoIterator<Item = u32>) {
        self.code.words.extend(words);
    }

    fn op(&mut self, op: Op) {
        self.words([op as u32]);
    }

    fn typed(&mut self, op: Op, ty: ScalarTy) {
        self.words([op as u32 | code_of(ty) << 8]);
    }

    /// The next instruction stands there.
    fn at(&mut self, span: Span) {
        let place = self.source.needs.borrow_mut().places.place(span);
        let here = self.here();
        self.code.places.extend(place.map(|place| (here, place)));
    }

    fn here(&self) -> u32 {
        self.code.words.len() as u32
    }

    /// A jump whose end comes later.
    fn jump(&mut self, op: Op) -> usize {
        self.op(op);
        self.words([NONE]);
        self.code.words.len() - 1
    }

    fn land(&mut self, jumps: impl IntoIterator<Item = usize>) {
        let here = self.here();
        jumps.into_iter().for_each(|at| self.code.words[at] = here);
    }

    fn variable(&mut self) -> u32 {
        self.locals += 1;
        self.locals - 1
    }

    fn local(&mut self, op: Op, at: u32) {
        self.op(op);
        self.words([at]);
    }

    fn bits(&mut self, bits: u64) {
        self.op(Op::Constant);
        self.words([bits as u32, (bits >> 32) as u32]);
    }

    fn function(&mut self, id: FuncId) {
        let function = &self.source.plan.module.functions[id.index()];
        let entry = self.here();
        self.locals = function.locals.len() as u32;
        self.block(&function.body);
        if function.ret.is_some() {
            self.bits(0);
            self.op(Op::Result);
        } else {
            self.op(Op::Leave);
        }
        self.code.functions.push([entry, function.params, self.locals]);
    }
}
