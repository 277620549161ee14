//! Names and the numbers that they are for.

use super::report::MAX_CANDIDATES;
use super::{Parsed, Parser, Skip};
use crate::tg::text::codes;
use crate::tg::text::idents::{Ident, NOTHING};
use crate::tg::text::tokens::{Sign, Tok};
use rustc_hash::FxHashMap;
use wsp_core::limits::MAX_DIAGNOSTICS;
use wsp_core::tg::{ExprOp, GraphNo, Instr, TensorNo, TensorRef};
use wsp_core::words::a;
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_ir::tg::{ExternTensor, Namespace, RefValue};

/// What an operand does with a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The name is there from here on.
    Defines,
    /// It must be defined somewhere.
    Uses,
}

/// How many kinds of numbers there are.
const SPACES: usize = Namespace::Checkpoint as usize + 1;

/// A name of the unit or of the graph around the place.
#[derive(Clone, Copy)]
struct Named {
    number: u32,
    defined: bool,
}

/// Names and numbers given so far.
pub(super) struct Numbers {
    /// By kind, by run of kernels for what is a graph's own, by identifier. Kernels and tensors have theirs with the identifiers.
    named: FxHashMap<(Namespace, u32, Ident), Named>,
    /// The next number of each kind.
    next: [u32; SPACES],
    /// Which run of kernels this is: they begin anew with each graph, and behind it.
    run: u32,
    /// Kernels that were used before they were defined in this run.
    open_kernels: Vec<(Ident, Span)>,
    /// Tensors that were used before they were declared.
    open_tensors: Vec<(Ident, Span)>,
    /// Others.
    open: Vec<(Namespace, Ident, Span)>,
    /// Identifiers of tensors in the order in which they got their numbers.
    tensors: Vec<Ident>,
    /// Whether the text gives tensors numbers itself.
    tensors_by_number: bool,
    /// Names of tensors declared `extern`, in this order.
    externs: Vec<Option<Ident>>,
    /// The first declaration of each of these tensors.
    first_externs: FxHashMap<TensorNo, usize>,
}

impl Default for Numbers {
    fn default() -> Numbers {
        let mut next = [0; SPACES];
        // 0 is no tensor, and the default stream.
        next[Namespace::Tensor as usize] = 1;
        next[Namespace::Stream as usize] = 1;
        Numbers {
            named: FxHashMap::default(),
            next,
            run: 0,
            open_kernels: Vec::new(),
            open_tensors: Vec::new(),
            open: Vec::new(),
            tensors: Vec::new(),
            tensors_by_number: false,
            externs: Vec::new(),
            first_externs: FxHashMap::default(),
        }
    }
}

impl Numbers {
    /// Takes note of a number that the text gives itself.
    #[inline]
    fn given(&mut self, space: Namespace, number: u32) {
        let next = &mut self.next[space as usize];
        *next = (*next).max(number.saturating_add(1));
        self.tensors_by_number |= space == Namespace::Tensor && number != 0;
    }
}

impl Parser<'_> {
    /// A number of a kind: a name, or a constant.
    #[inline]
    pub(super) fn number(&mut self, space: Namespace, role: Role) -> Parsed<u32> {
        let start = self.token.start;
        if let Tok::Ident(ident) = self.token.tok
            && self.tokens.idents.row(ident).constant == NOTHING
        {
            let span = self.here();
            self.bump();
            return self.resolve(space, ident, span, role);
        }
        if !matches!(self.token.tok, Tok::Number(_) | Tok::Ident(_) | Tok::Sign(Sign::LParen | Sign::Minus)) {
            return Err(self.expected(&a(space.noun()).to_string()));
        }
        let value = self.constant()?;
        match u32::try_from(value) {
            Ok(number) => {
                self.numbers.given(space, number);
                Ok(number)
            }
            Err(_) => {
                let what = format!("the number of {}", a(space.noun()));
                Err(self.out_of_range(self.since(start), value.into(), &what, 0, u32::MAX.into()))
            }
        }
    }

    /// The number that a name is for.
    #[inline]
    pub(super) fn resolve(&mut self, space: Namespace, ident: Ident, span: Span, role: Role) -> Parsed<u32> {
        match space {
            Namespace::Kernel => self.kernel(ident, span, role),
            Namespace::Tensor => self.tensor(ident, span, role),
            _ => self.other(space, ident, span, role),
        }
    }

    #[inline]
    fn kernel(&mut self, ident: Ident, span: Span, role: Role) -> Parsed<u32> {
        let run = self.numbers.run;
        let row = self.tokens.idents.row_mut(ident);
        let known = (row.kernel_in == run).then_some(row.kernel);
        let defined = role == Role::Defines || row.kernel_defined_in == run;
        if defined {
            row.kernel_defined_in = run;
        } else if known.is_none() {
            self.numbers.open_kernels.push((ident, span));
        }
        match known {
            Some(kernel) => Ok(kernel),
            None => {
                let kernel = self.next_number(Namespace::Kernel, ident, span)?;
                let row = self.tokens.idents.row_mut(ident);
                (row.kernel_in, row.kernel) = (run, kernel);
                Ok(kernel)
            }
        }
    }

    #[inline]
    fn tensor(&mut self, ident: Ident, span: Span, role: Role) -> Parsed<u32> {
        let row = self.tokens.idents.row_mut(ident);
        row.tensor_declared |= role == Role::Defines;
        if row.tensor != NOTHING {
            return Ok(row.tensor);
        }
        if !row.tensor_declared {
            self.numbers.open_tensors.push((ident, span));
        }
        let tensor = self.next_number(Namespace::Tensor, ident, span)?;
        self.tokens.idents.row_mut(ident).tensor = tensor;
        self.numbers.tensors.push(ident);
        Ok(tensor)
    }

    fn other(&mut self, space: Namespace, ident: Ident, span: Span, role: Role) -> Parsed<u32> {
        let key = (space, if space.is_per_graph() { self.numbers.run } else { 0 }, ident);
        // The first use of these is enough.
        let defines = role == Role::Defines
            || !matches!(space, Namespace::Graph | Namespace::Partition | Namespace::Device);
        if let Some(named) = self.numbers.named.get_mut(&key) {
            named.defined |= defines;
            return Ok(named.number);
        }
        if space == Namespace::Stream && ident.word() == "default" {
            return Ok(0);
        }
        if space == Namespace::Device {
            let fault = Diagnostic::error(codes::UNKNOWN_NAME, "a device is a number")
                .at(span, "")
                .help(format!("give the name a number: `const {} = 0`", self.text_at(span)));
            return Err(self.report(fault));
        }
        let number = self.next_number(space, ident, span)?;
        self.numbers.named.insert(key, Named { number, defined: defines });
        if !defines {
            self.numbers.open.push((space, ident, span));
        }
        Ok(number)
    }

    /// The number that a name is for, if it has one.
    pub(super) fn known(&self, space: Namespace, ident: Ident) -> Option<u32> {
        let run = if space.is_per_graph() { self.numbers.run } else { 0 };
        self.numbers.named.get(&(space, run, ident)).map(|named| named.number)
    }

    /// Gives a name the next number.
    fn next_number(&mut self, space: Namespace, ident: Ident, span: Span) -> Parsed<u32> {
        let number = self.numbers.next[space as usize];
        if number == NOTHING {
            let message = format!("no number is left for the {} `{}`", space.noun(), self.text_at(span));
            let fault = Diagnostic::error(codes::OUT_OF_RANGE, message)
                .at(span, "")
                .note("a name gets one number more than the largest before it");
            return Err(self.report(fault));
        }
        self.numbers.next[space as usize] = number + 1;
        // What stands outside of graphs, where it must not, has no name.
        if let Some(graph) = if space.is_per_graph() { self.graph } else { Some(GraphNo(0)) } {
            let symbol = self.symbol(ident);
            self.unit.names.set(space, graph, number, symbol);
        }
        Ok(number)
    }

    /// Gives a name a number that the text says.
    pub(super) fn bind(&mut self, space: Namespace, ident: Ident, number: u32) {
        self.numbers.given(space, number);
        let run = self.numbers.run;
        match space {
            Namespace::Kernel => {
                let row = self.tokens.idents.row_mut(ident);
                (row.kernel_in, row.kernel, row.kernel_defined_in) = (run, number, run);
            }
            Namespace::Tensor => {
                let row = self.tokens.idents.row_mut(ident);
                (row.tensor, row.tensor_declared) = (number, true);
            }
            _ => {
                let key = (space, if space.is_per_graph() { run } else { 0 }, ident);
                self.numbers.named.insert(key, Named { number, defined: true });
            }
        }
    }

    /// Takes note of a tensor that is named by its number.
    pub(super) fn tensor_by_number(&mut self, number: u32) {
        self.numbers.given(Namespace::Tensor, number);
    }

    /// Takes note that the next declaration is of this tensor, by name or not.
    pub(super) fn declare_extern(&mut self, tensor: TensorNo, ident: Option<Ident>) {
        self.numbers.externs.push(ident);
        self.numbers.first_externs.entry(tensor).or_insert(self.unit.externs.len());
    }

    /// Where a tensor is declared `extern` first.
    pub(super) fn first_extern(&self, tensor: TensorNo) -> Option<Span> {
        let at = *self.numbers.first_externs.get(&tensor)?;
        self.unit.externs.get(at).map(|first| first.span)
    }

    pub(super) fn enter_graph(&mut self, graph: GraphNo) {
        self.leave_graph();
        self.graph = Some(graph);
    }

    /// Behind a graph: what is its own must be defined by now.
    pub(super) fn leave_graph(&mut self) {
        let run = self.numbers.run;
        for (ident, span) in std::mem::take(&mut self.numbers.open_kernels) {
            if self.tokens.idents.row(ident).kernel_defined_in != run {
                self.undefined_kernel(ident, span);
            }
        }
        self.graph = None;
        self.numbers.run += 1;
        self.numbers.next[Namespace::Kernel as usize] = 0;
        self.numbers.next[Namespace::Barrier as usize] = 0;
    }

    fn undefined_kernel(&mut self, ident: Ident, span: Span) {
        // Outside of graphs there are no kernels at all, which is for the rules of units to say.
        let Some(graph) = self.graph else { return };
        let what = format!("kernel of graph `{}`", self.unit.name(Namespace::Graph, graph, graph.0));
        let run = self.numbers.run;
        let most = if self.sink.is_full() { 0 } else { MAX_CANDIDATES };
        let names = self.tokens.idents.iter().filter(|row| row.kernel_defined_in == run).take(most);
        let meant = did_you_mean(self.tokens.idents.row(ident).text, names.map(|row| row.text));
        let _: Skip = self.unknown_name(ident, span, &what, meant);
    }

    /// Behind the unit: everything must be defined by now; tensors that are not come from outside.
    pub(super) fn finish_numbers(&mut self) {
        for (space, ident, span) in std::mem::take(&mut self.numbers.open) {
            if !self.numbers.named.get(&(space, 0, ident)).is_some_and(|named| named.defined) {
                self.undefined(space, ident, span);
            }
        }
        let mut found = 0;
        for (ident, span) in std::mem::take(&mut self.numbers.open_tensors) {
            let row = self.tokens.idents.row(ident);
            if !row.tensor_declared {
                let tensor = TensorNo(row.tensor);
                self.numbers.externs.push(Some(ident));
                self.unit.externs.push(ExternTensor { tensor, dtype: None, shape: Vec::new(), span });
                found += 1;
                self.undeclared_tensor(span, found);
            }
        }
        self.types_of_loads();
        self.externs_first();
    }

    fn undefined(&mut self, space: Namespace, ident: Ident, span: Span) {
        let idents = &self.tokens.idents;
        let mut names: Vec<&str> = Vec::new();
        for (number_space, _, _, symbol) in self.unit.names.iter() {
            if number_space == space && names.len() < MAX_CANDIDATES && !self.sink.is_full() {
                names.push(self.unit.strings.get(symbol));
            }
        }
        let meant = did_you_mean(idents.row(ident).text, names).map(str::to_owned);
        let _: Skip = self.unknown_name(ident, span, space.noun(), meant.as_deref());
    }

    fn undeclared_tensor(&mut self, span: Span, count: u32) {
        if count > MAX_DIAGNOSTICS {
            return;
        }
        let name = self.text_at(span);
        let warning =
            Diagnostic::warning(codes::UNDECLARED_TENSOR, format!("tensor `{name}` is declared nowhere"))
                .at(span, "taken to come from outside")
                .help(format!("if it does, say so: `extern {name}`, or `extern {name}: f16[ROWS, COLUMNS]`"))
                .help(format!("if not, allocate it: `MC_ALLOC({name}, BYTES)`"));
        self.warnings.push(warning);
    }

    /// Numbers tensors anew, those from outside first, so that the order of declarations and instructions does not matter. Numbers that
    /// the text gives itself stay as they are.
    fn externs_first(&mut self) {
        if self.numbers.tensors_by_number || self.numbers.externs.contains(&None) {
            return;
        }
        let number_of = |ident: &Ident| self.tokens.idents.row(*ident).tensor;
        let externs: Vec<u32> = self.numbers.externs.iter().flatten().map(number_of).collect();
        if externs.iter().enumerate().all(|(at, &tensor)| tensor == at as u32 + 1) {
            return;
        }
        // Without numbers in the text, those given are 1 to the count of tensors.
        let mut renumbered = vec![0u32; self.numbers.tensors.len() + 1];
        let mut next = 0;
        let others = self.numbers.tensors.iter().map(number_of);
        for old in externs.into_iter().chain(others) {
            if let Some(new) = renumbered.get_mut(old as usize)
                && *new == 0
            {
                next += 1;
                *new = next;
            }
        }
        self.renumber(&renumbered);
    }

    fn renumber(&mut self, renumbered: &[u32]) {
        let new = |tensor: TensorNo| TensorNo(renumbered.get(tensor.0 as usize).copied().unwrap_or(tensor.0));
        let unit = &mut self.unit;
        unit.externs.iter_mut().for_each(|e| e.tensor = new(e.tensor));
        unit.sets.tensors.iter_mut().for_each(|tensor| *tensor = new(*tensor));
        for (_, value) in unit.references.iter_mut().flat_map(|reference| &mut reference.bindings) {
            if let RefValue::Tensor(tensor) = value {
                *tensor = new(*tensor);
            }
        }
        for op in &mut unit.exprs {
            if let ExprOp::Load(tensor, _) = op {
                *tensor = new(*tensor);
            }
        }
        unit.instrs.iter_mut().for_each(|instr| tensors_of(instr, &new));
        let mut names = wsp_ir::tg::Names::default();
        for (space, graph, number, name) in unit.names.iter() {
            let number = if space == Namespace::Tensor { new(TensorNo(number)).0 } else { number };
            names.set(space, graph, number, name);
        }
        unit.names = names;
    }
}

/// Changes the tensors that an operand names.
trait Retensor {
    fn retensor(&mut self, _: &impl Fn(TensorNo) -> TensorNo) {}
}

impl Retensor for TensorNo {
    fn retensor(&mut self, new: &impl Fn(TensorNo) -> TensorNo) {
        *self = new(*self);
    }
}

impl Retensor for TensorRef {
    fn retensor(&mut self, new: &impl Fn(TensorNo) -> TensorNo) {
        if let TensorRef::Tensor(tensor) = self {
            *tensor = new(*tensor);
        }
    }
}

macro_rules! no_tensors {
    ($($ty:ident),*) => {$(impl Retensor for wsp_core::tg::$ty {})*};
}

no_tensors! {
    GraphNo, KernelNo, NodeNo, EventNo, BarrierNo, NotifyNo, DeviceNo, PartitionNo, IterNo, StreamNo,
    CheckpointNo, Symbol, KernelSet, Scalar, CoreType, DependencyType, MemLocation, FenceScope, AffinityType,
    LoopMode, Direction
}
impl Retensor for u32 {}
impl Retensor for u64 {}
impl Retensor for i8 {}

macro_rules! retensor {
    ($($(#[doc = $doc:literal])* $code:literal $mnemonic:ident $name:ident $builder:ident $section:literal $scope:ident
        [$($support:ident)*] { $($operand:ident: $ty:ty $(= $default:expr)?),* };)*) => {
        #[allow(unused_variables, reason = "some instructions have no operands")]
        fn tensors_of(instr: &mut Instr, new: &impl Fn(TensorNo) -> TensorNo) {
            match instr {
                $(Instr::$name { $($operand),* } => { $($operand.retensor(new);)* })*
            }
        }
    };
}

wsp_core::for_each_tg_op!(retensor);
