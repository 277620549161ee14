//! Declarations: what a unit uses, what it is given, what its numbers are called.

use super::numbers::Role;
use super::{Parsed, Parser};
use crate::tg::text::codes;
use crate::tg::text::idents::{Ident, NOTHING};
use crate::tg::text::tokens::{Sign, Tok};
use crate::tg::text::words::is_expression_word;
use wsp_core::DType;
use wsp_core::tg::{EventNo, GraphNo, ScalarType, Symbol, TensorNo};
use wsp_core::words::a;
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_ir::tg::{ArgDecl, ArgSource, ExternTensor, Namespace, RefValue, Reference, Use};

/// Kinds of numbers as `name` calls them.
pub(in crate::tg::text) const SPACES: [(Namespace, &str); 11] = [
    (Namespace::Graph, "graph"),
    (Namespace::Kernel, "kernel"),
    (Namespace::Tensor, "tensor"),
    (Namespace::Event, "event"),
    (Namespace::Barrier, "barrier"),
    (Namespace::Notify, "notify"),
    (Namespace::Device, "device"),
    (Namespace::Partition, "partition"),
    (Namespace::Iter, "iter"),
    (Namespace::Stream, "stream"),
    (Namespace::Checkpoint, "checkpoint"),
];

impl Parser<'_> {
    /// The declaration that begins with this word, which is next.
    pub(super) fn declaration(&mut self, word: &str) -> Parsed<()> {
        let start = self.token.start;
        self.bump();
        match word {
            "use" => self.use_file(start),
            "extern" => self.extern_decl(start),
            "const" => self.const_decl(),
            "arg" => self.arg_decl(start, ArgSource::Launch),
            "host" => self.arg_decl(start, ArgSource::Host),
            "reference" => self.reference(start),
            _ => self.name_decl(),
        }
    }

    fn use_file(&mut self, start: u32) -> Parsed<()> {
        if self.token.tok != Tok::Str {
            return Err(self.expected("a file in quotes, as `use \"kernels.pto\"`"));
        }
        let path = self.string();
        let path = self.unit.strings.intern(&path);
        self.unit.uses.push(Use { path, span: self.since(start) });
        Ok(())
    }

    fn extern_decl(&mut self, start: u32) -> Parsed<()> {
        if self.is_word("event") {
            self.bump();
            if !self.token.fresh && matches!(self.token.tok, Tok::Ident(_) | Tok::Number(_)) {
                let event = EventNo(self.number(Namespace::Event, Role::Defines)?);
                self.unit.extern_events.push((event, self.since(start)));
                return Ok(());
            }
            // A tensor of that name.
            let span = Span::new(self.file, self.taken - "event".len() as u32, self.taken);
            let ident = self.tokens.idents.intern("event");
            return self.extern_tensor(start, ident, span);
        }
        match self.token.tok {
            Tok::Ident(ident) if self.tokens.idents.row(ident).constant == NOTHING => {
                let span = self.here();
                self.bump();
                self.extern_tensor(start, ident, span)
            }
            Tok::Ident(_) | Tok::Number(_) => {
                let tensor = TensorNo(self.number(Namespace::Tensor, Role::Defines)?);
                self.declare_extern(tensor, None);
                self.extern_type(start, tensor)
            }
            _ => Err(self.expected("the name of a tensor, or `event`")),
        }
    }

    fn extern_tensor(&mut self, start: u32, ident: Ident, span: Span) -> Parsed<()> {
        let known = self.tokens.idents.row(ident).tensor;
        if let Some(first) = self.first_extern(TensorNo(known)) {
            let message = format!("tensor `{}` is declared twice", self.text_at(span));
            let fault = Diagnostic::error(codes::DECLARED_TWICE, message)
                .at(span, "again here")
                .label(first, "declared here first");
            return Err(self.report(fault));
        }
        let tensor = TensorNo(self.resolve(Namespace::Tensor, ident, span, Role::Defines)?);
        self.declare_extern(tensor, Some(ident));
        self.extern_type(start, tensor)
    }

    fn extern_type(&mut self, start: u32, tensor: TensorNo) -> Parsed<()> {
        let at = self.unit.externs.len();
        self.unit.externs.push(ExternTensor {
            tensor,
            dtype: None,
            shape: Vec::new(),
            span: self.since(start),
        });
        if self.token.fresh || !self.eat(Sign::Colon) {
            return Ok(());
        }
        let dtype = if self.is(Sign::LBracket) { None } else { Some(self.dtype()?) };
        let mut shape = Vec::new();
        if !self.token.fresh && self.eat(Sign::LBracket) && !self.eat(Sign::RBracket) {
            loop {
                shape.push(<u64 as super::operand::Operand>::read(self, Role::Uses)?);
                if self.eat(Sign::RBracket) {
                    break;
                }
                if !self.eat(Sign::Comma) {
                    return Err(self.expected("`,` or `]`"));
                }
            }
        }
        let span = self.since(start);
        if let Some(decl) = self.unit.externs.get_mut(at) {
            (decl.dtype, decl.shape, decl.span) = (dtype, shape, span);
        }
        Ok(())
    }

    fn dtype(&mut self) -> Parsed<DType> {
        let Tok::Ident(ident) = self.token.tok else {
            return Err(self.expected("a type of elements, as `f16`"));
        };
        let text = self.tokens.idents.row(ident).text;
        if let Some(dtype) = DType::from_name(text) {
            self.bump();
            return Ok(dtype);
        }
        let names = DType::ALL.map(DType::name);
        let mut fault = Diagnostic::error(codes::UNKNOWN_CHOICE, format!("`{text}` is no type of elements"))
            .at(self.here(), "")
            .note(format!("it can be {}", names.join(", ")));
        if let Some(meant) = did_you_mean(text, names) {
            fault = fault.help(format!("did you mean `{meant}`?"));
        }
        Err(self.report(fault))
    }

    /// A name for a scalar, which must be free.
    fn scalar_name(&mut self) -> Parsed<Ident> {
        let Tok::Ident(ident) = self.token.tok else { return Err(self.expected("a name")) };
        let row = self.tokens.idents.row(ident);
        let why = if is_expression_word(ident.word()) {
            "is a word of expressions"
        } else if row.constant != NOTHING || row.arg != NOTHING {
            "is declared already"
        } else {
            self.bump();
            return Ok(ident);
        };
        let fault = Diagnostic::error(codes::DECLARED_TWICE, format!("`{}` {why}", row.text))
            .at(self.here(), "")
            .help("take another name");
        Err(self.report(fault))
    }

    fn const_decl(&mut self) -> Parsed<()> {
        let ident = self.scalar_name()?;
        self.need(Sign::Eq)?;
        let value = self.constant()?;
        self.tokens.idents.row_mut(ident).constant = self.consts.len() as u32;
        self.consts.push(value);
        Ok(())
    }

    fn arg_decl(&mut self, start: u32, source: ArgSource) -> Parsed<()> {
        let at = self.unit.args.len() as u32;
        let name = if self.token.tok == Tok::Str {
            let text = self.string();
            self.unit.strings.intern(&text)
        } else {
            let ident = self.scalar_name()?;
            self.tokens.idents.row_mut(ident).arg = at;
            self.symbol(ident)
        };
        // It stands even if what follows is wrong, so that its uses are not.
        self.unit.args.push(ArgDecl {
            name,
            source,
            ty: ScalarType::I64,
            default: None,
            span: self.since(start),
        });
        self.need(Sign::Colon)?;
        let ty = self.scalar_type()?;
        let mut default = None;
        if !self.token.fresh && self.eat(Sign::Eq) {
            let from = self.token.start;
            let value = self.constant()?;
            self.in_type(value, ty, from)?;
            default = Some(value);
        }
        let span = self.since(start);
        if let Some(arg) = self.unit.args.last_mut() {
            (arg.ty, arg.default, arg.span) = (ty, default, span);
        }
        Ok(())
    }

    fn in_type(&mut self, value: i64, ty: ScalarType, from: u32) -> Parsed<()> {
        let (low, high) = match ty {
            ScalarType::U8 => (0, u8::MAX.into()),
            ScalarType::U32 => (0, u32::MAX.into()),
            ScalarType::I32 => (i32::MIN.into(), i32::MAX.into()),
            ScalarType::U64 => (0, i64::MAX),
            ScalarType::I64 => (i64::MIN, i64::MAX),
        };
        if (low..=high).contains(&value) {
            return Ok(());
        }
        let name = ScalarType::ALL[ty as usize].1;
        Err(self.out_of_range(self.since(from), value.into(), &format!("`{name}`"), low.into(), high.into()))
    }

    fn word_or_string(&mut self, what: &str) -> Parsed<Symbol> {
        match self.token.tok {
            Tok::Ident(ident) => {
                self.bump();
                Ok(self.symbol(ident))
            }
            Tok::Str => {
                let text = self.string();
                Ok(self.unit.strings.intern(&text))
            }
            _ => Err(self.expected(what)),
        }
    }

    /// `reference name(parameter = value, …)`.
    fn reference(&mut self, start: u32) -> Parsed<()> {
        let name = self.word_or_string("the name of a reference")?;
        self.need(Sign::LParen)?;
        let mut bindings = Vec::new();
        if !self.eat(Sign::RParen) {
            loop {
                let parameter = self.word_or_string("a parameter of the reference")?;
                self.need(Sign::Eq)?;
                bindings.push((parameter, self.ref_value()?));
                if self.eat(Sign::RParen) {
                    break;
                }
                if !self.eat(Sign::Comma) {
                    return Err(self.expected("`,` or `)`"));
                }
            }
        }
        self.unit.references.push(Reference { name, bindings, span: self.since(start) });
        Ok(())
    }

    fn ref_value(&mut self) -> Parsed<RefValue> {
        if let Tok::Ident(ident) = self.token.tok {
            let row = *self.tokens.idents.row(ident);
            let span = self.here();
            if ident.word() == "arg" && self.tokens.dot_follows() {
                return Ok(RefValue::Arg(self.dotted()?));
            }
            if row.text == "tensor" && self.tokens.dot_follows() {
                let tensor = self.dotted()?;
                self.tensor_by_number(tensor);
                return Ok(RefValue::Tensor(TensorNo(tensor)));
            }
            if row.constant == NOTHING && row.arg != NOTHING {
                self.bump();
                return Ok(RefValue::Arg(row.arg));
            }
            if row.constant == NOTHING {
                self.bump();
                return Ok(RefValue::Tensor(TensorNo(self.resolve(
                    Namespace::Tensor,
                    ident,
                    span,
                    Role::Uses,
                )?)));
            }
        }
        Ok(RefValue::Const(self.constant()?))
    }

    /// `name kind NAME = number`, with `in graph` for names of a graph that is elsewhere.
    fn name_decl(&mut self) -> Parsed<()> {
        let Tok::Ident(kind) = self.token.tok else { return Err(self.expected("what the name is for")) };
        let text = self.tokens.idents.row(kind).text;
        let Some((space, _)) = SPACES.into_iter().find(|(_, word)| *word == text) else {
            let words = SPACES.map(|(_, word)| word);
            let fault = Diagnostic::error(codes::UNKNOWN_CHOICE, format!("`{text}` is no kind of numbers"))
                .at(self.here(), "")
                .note(format!("it can be {}", words.join(", ")));
            return Err(self.report(fault));
        };
        self.bump();
        let ident = if let Tok::Ident(ident) = self.token.tok { Some(ident) } else { None };
        let name = self.word_or_string("a name, in quotes if it is no word")?;
        self.need(Sign::Eq)?;
        let from = self.token.start;
        let value = self.constant()?;
        let Ok(number) = u32::try_from(value) else {
            let what = format!("the number of {}", a(space.noun()));
            return Err(self.out_of_range(self.since(from), value.into(), &what, 0, u32::MAX.into()));
        };
        let mut graph = if space.is_per_graph() { self.graph } else { Some(GraphNo(0)) };
        let elsewhere = !self.token.fresh && self.is_word("in");
        if elsewhere {
            self.bump();
            graph = Some(GraphNo(<u32 as super::operand::Operand>::read(self, Role::Uses)?));
        }
        let Some(graph) = graph else {
            return Err(self.expected("`in` and the number of a graph"));
        };
        self.unit.names.set(space, graph, number, name);
        if let Some(ident) = ident.filter(|_| !elsewhere) {
            self.bind(space, ident, number);
        }
        Ok(())
    }
}
