//! Items, except workloads' bodies and schedules.

use super::outline::{Item, ItemKind};
use super::words::Words;
use super::{Parsed, Parser, Skip, codes};
use crate::workload::walk::Reference;
use crate::workload::{
    AccessMode, Axis, AxisKind, ExecPool, IntExpr, Kernel, KernelParam, Param, ParamKind, ParamSource,
    Signature, Slot, Table, Tensor, Use,
};
use wsp_core::words::counted;
use wsp_core::{AxisId, DType, ParamId, TableId, TensorId, VarId};
use wsp_diag::{Diagnostic, Span, did_you_mean};
use wsp_syntax::{Tok, shorten};

impl<'t> Parser<'t> {
    /// Reads one item. Every item but `use` and schedules adds one entry to its table, broken or not, as declared.
    pub(super) fn item(&mut self, item: Item) -> Parsed<()> {
        let start = self.span();
        match item.kind {
            ItemKind::Stray => return self.stray(),
            ItemKind::Use => return self.use_file(),
            ItemKind::Schedule => return self.schedule(),
            ItemKind::Workload => return self.workload(),
            ItemKind::Param | ItemKind::Let => {
                let source = ParamSource::Set(None);
                self.module.params.push(Param { name: String::new(), source, span: start });
            }
            ItemKind::Table => {
                self.module.tables.push(Table { name: String::new(), len: None, values: None, span: start });
            }
            ItemKind::Axis => {
                let kind = AxisKind::Dense { start: 0.into(), end: 0.into() };
                self.module.axes.push(Axis { name: String::new(), kind, span: start });
            }
            ItemKind::Tensor | ItemKind::Slot => {
                let tensor = TensorId(self.module.tensors.len() as u32);
                let (name, dims) = (String::new(), vec![1.into()]);
                self.module.tensors.push(Tensor { name, dtype: DType::I64, dims, span: start });
                if item.kind == ItemKind::Slot {
                    self.module.slots.push(Slot { tensor, init: 0.into(), span: start });
                }
            }
            ItemKind::Kernel => {
                let (name, signature) = (String::new(), Signature::Library);
                self.module.kernels.push(Kernel {
                    name,
                    signature,
                    unit: ExecPool::Any,
                    on_host: false,
                    cost: None,
                    span: start,
                });
            }
        }
        self.bump();
        match item.kind {
            ItemKind::Param => self.param(),
            ItemKind::Let => self.derived(),
            ItemKind::Table => self.table(),
            ItemKind::Axis => self.axis(),
            ItemKind::Tensor => self.tensor(),
            ItemKind::Slot => self.slot(),
            _ => self.kernel(),
        }
    }

    /// What stands before the first item: `;` means nothing.
    fn stray(&mut self) -> Parsed<()> {
        while self.eat(Tok::Semi) {}
        if self.at(Tok::Eof) { Ok(()) } else { Err(self.not_an_item()) }
    }

    fn use_file(&mut self) -> Parsed<()> {
        let start = self.span();
        self.bump();
        let token = self.token();
        if token.kind != Tok::Str {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "a file name in double quotes"));
        }
        self.bump();
        let text = self.text_of(token);
        let mut path = String::new();
        let mut chars = text[1..text.len() - 1].chars();
        while let Some(c) = chars.next() {
            path.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
        }
        self.module.uses.push(Use { path, span: self.span_from(start) });
        self.semicolon("the file name")
    }

    fn param(&mut self) -> Parsed<()> {
        let (name, span) = self.name("the parameter's name")?;
        let value = if self.eat(Tok::Eq) { Some(self.expr()?) } else { None };
        if let Some(param) = self.module.params.last_mut() {
            *param = Param { name: name.to_owned(), source: ParamSource::Set(value), span };
        }
        self.semicolon("the parameter")
    }

    fn derived(&mut self) -> Parsed<()> {
        let (name, span) = self.name("the name of the value")?;
        self.expect(Tok::Eq, "`=` and the value")?;
        let value = self.expr()?;
        if let Some(param) = self.module.params.last_mut() {
            *param = Param { name: name.to_owned(), source: ParamSource::Derived(value), span };
        }
        self.semicolon("the value")
    }

    fn table(&mut self) -> Parsed<()> {
        let (name, span) = self.name("the table's name")?;
        let mut len = None;
        if self.at(Tok::LBracket) {
            let open = self.bump();
            if !self.at(Tok::RBracket) {
                len = Some(self.expr()?);
            }
            self.close(open, "`]` after the number of elements")?;
        }
        let values = if self.eat(Tok::Eq) {
            if !self.at(Tok::LBracket) {
                return Err(self.unexpected(codes::EXPECTED_TOKEN, "`[` and the elements"));
            }
            let open = self.bump();
            let values = self.list(Tok::RBracket, |p| p.integer("a number"))?;
            self.close(open, "`,` or `]`")?;
            Some(values)
        } else {
            None
        };
        if let Some(table) = self.module.tables.last_mut() {
            *table = Table { name: name.to_owned(), len, values, span };
        }
        self.semicolon("the table")
    }

    fn axis(&mut self) -> Parsed<()> {
        let (name, span) = self.name("the axis's name")?;
        self.expect(Tok::Eq, "`=` and the indices")?;
        let (form, at) = self.name("`dense`, `dense_dyn`, `ragged` or `sparse`")?;
        let forms = ["dense", "dense_dyn", "ragged", "sparse"];
        if !forms.contains(&form) {
            return Err(self.unknown_word(form, at, "kind of axis", &forms));
        }
        if !self.at(Tok::LParen) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, &format!("`(` after `{form}`")));
        }
        let open = self.bump();
        let kind = match form {
            "dense" => self.dense(at)?,
            "dense_dyn" => AxisKind::DenseDyn(self.param_name()?),
            "ragged" => {
                let outer = self.axis_name()?;
                self.expect(Tok::Comma, "`,` and the table of lengths")?;
                AxisKind::Ragged { outer, lengths: self.table_name()? }
            }
            _ => {
                let outer = self.axis_name()?;
                self.expect(Tok::Comma, "`,` and the table where rows begin")?;
                let indptr = self.table_name()?;
                self.expect(Tok::Comma, "`,` and the table of columns")?;
                AxisKind::Sparse { outer, indptr, indices: self.table_name()? }
            }
        };
        self.eat(Tok::Comma);
        self.close(open, "`)` after the axis")?;
        if let Some(axis) = self.module.axes.last_mut() {
            *axis = Axis { name: name.to_owned(), kind, span };
        }
        self.semicolon("the axis")
    }

    /// `end` or `start, end`.
    fn dense(&mut self, at: Span) -> Parsed<AxisKind> {
        let mut bounds = self.list(Tok::RParen, Self::expr)?;
        let count = bounds.len();
        let (Some(end), true) = (bounds.pop(), count <= 2) else {
            let message = format!("`dense` takes one or two bounds, not {count}");
            let diagnostic = Diagnostic::error(codes::FORM_ARGUMENTS, message)
                .at(at, "")
                .help("write `dense(end)` or `dense(start, end)`");
            return Err(self.report(diagnostic));
        };
        let start = bounds.pop().unwrap_or(IntExpr { span: at, ..0.into() });
        Ok(AxisKind::Dense { start, end })
    }

    fn param_name(&mut self) -> Parsed<ParamId> {
        let (name, span) = self.name("a parameter")?;
        match self.scope.find(name) {
            Some((Reference::Param(param), _)) => Ok(param),
            _ => Err(self.wrong_kind(name, span, "a parameter", "`dense(…)` takes any value")),
        }
    }

    fn axis_name(&mut self) -> Parsed<AxisId> {
        let (name, span) = self.name("the outer axis")?;
        match self.scope.find(name) {
            Some((Reference::Axis(axis), _)) => Ok(axis),
            _ => Err(self.wrong_kind(name, span, "an axis", "the first argument is the outer axis")),
        }
    }

    fn table_name(&mut self) -> Parsed<TableId> {
        let (name, span) = self.name("a table")?;
        match self.scope.find(name) {
            Some((Reference::Table(table), _)) => Ok(table),
            _ => Err(self.wrong_kind(name, span, "a table", "declare it: `table t[n];`")),
        }
    }

    fn tensor(&mut self) -> Parsed<()> {
        let (name, span) = self.name("the tensor's name")?;
        self.expect(Tok::Colon, "`:` and the element type")?;
        let (word, at) = self.name("an element type")?;
        let Some(dtype) = DType::from_name(word) else {
            return Err(self.unknown_type(word, at));
        };
        if !self.at(Tok::LBracket) {
            let help = format!("write `tensor {}: {word}[n, 64];`", shorten(name));
            return Err(self.unexpected_help(codes::EXPECTED_TOKEN, "`[` and the extents", &help));
        }
        let open = self.bump();
        let dims = self.list(Tok::RBracket, Self::expr)?;
        self.close(open, "`,` or `]`")?;
        if let Some(tensor) = self.module.tensors.last_mut() {
            *tensor = Tensor { name: name.to_owned(), dtype, dims, span };
        }
        self.semicolon("the tensor")
    }

    /// Reports a word that is no element type; those of C and Python are translated.
    fn unknown_type(&mut self, word: &str, span: Span) -> Skip {
        let foreign = match word {
            "float" | "float32" => "f32",
            "double" | "float64" => "f64",
            "half" | "float16" => "f16",
            "bfloat16" => "bf16",
            "float8_e4m3" | "float8_e4m3fn" => "f8e4m3",
            "float8_e5m2" => "f8e5m2",
            "int" | "int32" => "i32",
            "int64" => "i64",
            _ => {
                let names: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
                return self.unknown_word(word, span, "element type", &names);
            }
        };
        let diagnostic = Diagnostic::error(codes::UNKNOWN_WORD, format!("`{word}` is no element type"))
            .at(span, "")
            .help(format!("write `{foreign}`"));
        self.report(diagnostic)
    }

    fn slot(&mut self) -> Parsed<()> {
        let (name, span) = self.name("the slot's name")?;
        self.expect(Tok::Eq, "`=` and its first value")?;
        let init = self.expr()?;
        if let (Some(tensor), Some(slot)) = (self.module.tensors.last_mut(), self.module.slots.last_mut()) {
            tensor.name = name.to_owned();
            tensor.span = span;
            (slot.init, slot.span) = (init, span);
        }
        self.semicolon("the slot")
    }

    fn kernel(&mut self) -> Parsed<()> {
        let (name, span) = self.name("the kernel's name")?;
        self.check_kernel_count(span)?;
        let mut signature = Signature::Library;
        if self.at(Tok::LParen) {
            let open = self.bump();
            let params = self.list(Tok::RParen, Self::kernel_param)?;
            self.close(open, "`,` or `)`")?;
            let mut vars = 0;
            for (param, span) in &params {
                if param.kind == ParamKind::Scalar {
                    self.scope.open(self.slice(*span), VarId(vars), *span);
                    vars += 1;
                }
            }
            signature = Signature::Declared(params.into_iter().map(|(param, _)| param).collect());
        }
        // A broken attribute must not hide the parameters from calls.
        if let Some(kernel) = self.module.kernels.last_mut() {
            let name = name.to_owned();
            *kernel = Kernel { name, signature, unit: ExecPool::Any, on_host: false, cost: None, span };
        }
        let (unit, on_host) = if self.eat_word("on") {
            self.one_of("execution unit", Kernel::PLACES)?
        } else {
            Kernel::PLACES[2].1
        };
        let cost = if self.eat_word("cost") { Some(self.expr()?) } else { None };
        if let Some(kernel) = self.module.kernels.last_mut() {
            (kernel.unit, kernel.on_host, kernel.cost) = (unit, on_host, cost);
        }
        self.semicolon("the kernel")
    }

    /// Reports a kernel, the last of its table, that has no id.
    pub(super) fn check_kernel_count(&mut self, span: Span) -> Parsed<()> {
        let count = self.module.kernels.len();
        if count <= usize::from(u16::MAX) + 1 {
            return Ok(());
        }
        let diagnostic = Diagnostic::error(codes::FORM_ARGUMENTS, "too many kernels")
            .at(span, format!("the kernel number {count}"))
            .note(format!("a file has at most {}", counted(u32::from(u16::MAX) + 1, "kernel")));
        Err(self.report(diagnostic))
    }

    fn slice(&self, span: Span) -> &'t str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// `in a`, `out a`, `inout a` or `n`, and where its name stands.
    fn kernel_param(&mut self) -> Parsed<(KernelParam, Span)> {
        let named = self.peek(1).kind == Tok::Ident;
        let mode = match self.word() {
            Some("in") => Some(AccessMode::In),
            Some("out") if named => Some(AccessMode::Out),
            Some("inout") if named => Some(AccessMode::InOut),
            _ => None,
        };
        if mode.is_some() {
            self.bump();
        }
        let (name, span) = self.name("`in`, `out` or `inout` and a name, or the name of an integer")?;
        if mode.is_none() && self.at(Tok::Ident) {
            return Err(self.unknown_word(name, span, "mode of a parameter", &["in", "out", "inout"]));
        }
        let kind = mode.map_or(ParamKind::Scalar, ParamKind::Tensor);
        Ok((KernelParam { name: name.to_owned(), kind }, span))
    }

    /// Reads one of `words`.
    pub(in crate::workload) fn one_of<T: Copy>(&mut self, what: &str, words: Words<T>) -> Parsed<T> {
        let (word, at) = self.name(what)?;
        if let Some((_, value)) = words.iter().find(|(known, _)| *known == word) {
            return Ok(*value);
        }
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        Err(self.unknown_word(word, at, what, &known))
    }

    /// Reports a word that is none of `words`.
    pub(in crate::workload) fn unknown_word(
        &mut self,
        word: &str,
        span: Span,
        what: &str,
        words: &[&str],
    ) -> Skip {
        let message = format!("`{}` is no {what}", shorten(word));
        let list: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_WORD, message)
            .at(span, "")
            .note(format!("there are {}", list.join(", ")));
        if let Some(meant) = did_you_mean(word, words.iter().copied()) {
            diagnostic = diagnostic.help(format!("did you mean `{meant}`?"));
        }
        self.report(diagnostic)
    }
}
