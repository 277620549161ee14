//! Top-level constructs.

use super::form::{Form, Place, is_file_form, lookup};
use super::{Parsed, Parser, Skip};
use crate::ast::{
    Const, ExprKind, FnParam, Generator, Item, Kernel, Param, Reference, Require, Resident, Role, Shape,
    Struct, StructField, Tensor, Type, Workspace,
};
use crate::codes;
use wsp_core::ExecPool;
use wsp_diag::{Code, Diagnostic, Span};
use wsp_syntax::Tok;

/// What may stand at file level, in a report.
const HERE: &str = "a declaration, a function or a `PTO_` form";

impl Parser<'_> {
    pub(super) fn item(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        if self.eat(Tok::Semi) {
            return Ok(());
        }
        let before = items.len();
        self.item_here(items)?;
        if items.len() > before {
            self.lost = false;
        }
        Ok(())
    }

    fn item_here(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        let Some(word) = self.word() else {
            return Err(match self.tok() {
                Tok::RBrace | Tok::RParen | Tok::RBracket => self.lose(Self::unmatched_closer),
                _ => self.lose(|p| p.unexpected(codes::EXPECTED_ITEM, HERE)),
            });
        };
        match word {
            "struct" => items.push(Item::Struct(self.struct_item()?)),
            "template" => items.extend(self.template_function()?.map(Item::Function)),
            "PTO_DTYPE" => return Err(self.lose(|p| p.unexpected(codes::EXPECTED_ITEM, HERE))),
            _ if word.starts_with("PTO_") && !self.at_declaration() => {
                let item = self.form_item()?;
                items.push(item);
            }
            "static" | "inline" => {
                self.bump();
                return self.item_here_or(items);
            }
            _ if self.at_declaration() => self.declaration_item(items)?,
            _ => return Err(self.not_an_item()),
        }
        Ok(())
    }

    /// What follows `static` or `inline`.
    fn item_here_or(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        while self.eat_word("static") || self.eat_word("inline") {}
        if self.at_word("template") {
            items.extend(self.template_function()?.map(Item::Function));
            return Ok(());
        }
        if self.at_declaration() {
            return self.declaration_item(items);
        }
        Err(self.unexpected(codes::EXPECTED_TYPE, "a type"))
    }

    /// Reports something out of place, unless the parser knows that it is out of step; from now on it does.
    fn lose(&mut self, report: impl FnOnce(&mut Self) -> Skip) -> Skip {
        if self.lost {
            return Skip;
        }
        self.lost = true;
        report(self)
    }

    fn not_an_item(&mut self) -> Skip {
        if self.lost {
            return Skip;
        }
        if let Some(skip) = self.foreign_keyword() {
            return skip;
        }
        let keyword = super::foreign::is_keyword(self.word().unwrap_or_default());
        let called = self.peek(1).kind == Tok::LParen && !keyword;
        if called && self.word().is_some_and(is_file_form) {
            return self.unknown_form(Place::File, "a top-level form");
        }
        if called && self.body_follows(1) {
            let diagnostic = Diagnostic::error(codes::EXPECTED_TYPE, "a function needs a result type")
                .at(self.span(), "no type before this name")
                .help("begin with `void`, `uint32_t` or another type");
            return self.report(diagnostic);
        }
        let diagnostic = Diagnostic::error(codes::EXPECTED_ITEM, format!("expected {HERE}"))
            .at(self.span(), format!("found {}", self.found()));
        let diagnostic = if called || keyword {
            diagnostic.help("statements stand in the `{ … }` of a function, kernel or generator")
        } else {
            diagnostic
        };
        self.lost = true;
        self.report(diagnostic)
    }

    /// Whether `{` follows the `(…)` whose `(` is `n` tokens ahead. Looks a bounded way ahead.
    pub(super) fn body_follows(&self, n: usize) -> bool {
        const REACH: usize = 256;
        let mut depth = 0u32;
        for n in n..n + REACH {
            match self.peek(n).kind {
                Tok::LParen => depth += 1,
                Tok::RParen if depth <= 1 => return self.peek(n + 1).kind == Tok::LBrace,
                Tok::RParen => depth -= 1,
                Tok::Semi | Tok::Eof => return false,
                _ => {}
            }
        }
        false
    }

    fn form_item(&mut self) -> Parsed<Item> {
        let start = self.span();
        let form = match self.word().and_then(lookup) {
            Some(form) if form.place == Place::File => form,
            _ if self.lost => return Err(Skip),
            _ => return Err(self.unknown_form(Place::File, "a top-level form")),
        };
        let item = match form.name {
            "PTO_SHAPE" => Item::Shape(self.shape(form, start)?),
            "PTO_PARAM" => Item::Param(self.param(form, start)?),
            "PTO_TENSOR" => {
                let (name, elem, dims) = self.typed_dims(form)?;
                Item::Tensor(Tensor { name, elem, dims, span: self.span_from(start) })
            }
            "PTO_WORKSPACE" => {
                let (name, elem, dims) = self.typed_dims(form)?;
                Item::Workspace(Workspace { name, elem, dims, span: self.span_from(start) })
            }
            "PTO_RESIDENT" => Item::Resident(self.resident(form, start)?),
            "PTO_REQUIRE" => {
                let open = self.form_open(form)?;
                let cond = self.expr()?;
                self.form_close(form, open)?;
                Item::Require(Require { cond, span: self.span_from(start) })
            }
            "PTO_SPACE" => Item::Space(self.space(form)?),
            "PTO_TIER_DEF" => Item::TierDef(self.tier_def(form)?),
            "PTO_SCHEDULE" => Item::Schedule(self.schedule(form)?),
            "PTO_GRAPH" => Item::Graph(self.graph(form)?),
            "PTO_DESCRIPTOR_GEN" => {
                let space = self.form_name(form, "the name of a space")?;
                let body = self.block(&format!("`{}(…)`", form.name))?;
                Item::Generator(Generator { space, body, span: self.span_from(start) })
            }
            "PTO_KERNEL_IMPL" => {
                let (name, params) = self.kernel_header(form)?;
                let unit = self.kernel_unit(params.is_empty())?;
                let after = format!("`{}(…)`", form.name);
                if self.at(Tok::Semi) {
                    let fault = self.expected(codes::EXPECTED_TOKEN, &format!("`{{` after {after}"));
                    return Err(self.report(fault.help(
                        "write what it does in braces; one that is only declared stands in a `.wsp` or `.tg` file",
                    )));
                }
                let body = self.block(&after)?;
                Item::Kernel(Kernel { name, params, unit, body, span: self.span_from(start) })
            }
            _ => Item::Reference(self.reference(form, start)?),
        };
        Ok(item)
    }

    fn shape(&mut self, form: &'static Form, start: Span) -> Parsed<Shape> {
        let open = self.form_open(form)?;
        let name = self.name("the name of a tensor, array or cache")?;
        self.form_comma(form, "the first dimension")?;
        let mut dims = vec![self.extent()?];
        while self.form_more() {
            dims.push(self.extent()?);
        }
        self.form_close(form, open)?;
        Ok(Shape { name, dims, span: self.span_from(start) })
    }

    fn resident(&mut self, form: &'static Form, start: Span) -> Parsed<Resident> {
        let open = self.form_open(form)?;
        let name = self.name("the name of the tensor")?;
        self.form_comma(form, "the element type")?;
        let elem = self.ty()?;
        self.form_comma(form, "the first dimension")?;
        let mut dims = vec![self.extent()?];
        while self.form_more() {
            dims.push(self.extent()?);
        }
        self.form_close(form, open)?;
        Ok(Resident { elem, shape: Shape { name, dims, span: self.span_from(start) } })
    }

    fn kernel_header(&mut self, form: &'static Form) -> Parsed<(crate::ast::Ident, Vec<FnParam>)> {
        let open = self.form_open(form)?;
        let name = self.name("the name of the kernel")?;
        let params = if self.form_more() { self.fn_params()? } else { Vec::new() };
        self.form_close(form, open)?;
        Ok((name, params))
    }

    /// `on unit` behind the header of a kernel.
    fn kernel_unit(&mut self, takes_descriptors: bool) -> Parsed<Option<(ExecPool, Span)>> {
        let start = self.span();
        if !self.eat_word("on") {
            return Ok(None);
        }
        let word = self.word();
        let Some((_, unit)) = ExecPool::WORDS.iter().find(|(name, _)| word == Some(*name)) else {
            return Err(self.unexpected(codes::UNKNOWN_POLICY, "`cube`, `vector` or `any` after `on`"));
        };
        self.bump();
        let span = self.span_from(start);
        if !takes_descriptors {
            let message = "a kernel with parameters has no unit of its own";
            let diagnostic = Diagnostic::error(codes::MISPLACED_FORM, message)
                .at(span, "task graphs run it")
                .help("leave it out: `TG_KERNEL` says on which cores it runs");
            self.report(diagnostic);
        }
        Ok(Some((*unit, span)))
    }

    fn param(&mut self, form: &'static Form, start: Span) -> Parsed<Param> {
        let open = self.form_open(form)?;
        let ty = self.ty()?;
        self.form_comma(form, "the name of the parameter")?;
        let name = self.name("the name of the parameter")?;
        self.form_comma(form, "the default value")?;
        let default = self.expr()?;
        self.form_close(form, open)?;
        Ok(Param { ty, name, default, span: self.span_from(start) })
    }

    fn typed_dims(
        &mut self,
        form: &'static Form,
    ) -> Parsed<(crate::ast::Ident, Type, Vec<crate::ast::Expr>)> {
        let open = self.form_open(form)?;
        let name = self.name("the name of the tensor")?;
        self.form_comma(form, "the element type")?;
        let elem = self.ty()?;
        self.form_comma(form, "the first dimension")?;
        let mut dims = vec![self.expr()?];
        while self.form_more() {
            dims.push(self.expr()?);
        }
        self.form_close(form, open)?;
        Ok((name, elem, dims))
    }

    fn reference(&mut self, form: &'static Form, start: Span) -> Parsed<Reference> {
        let open = self.form_open(form)?;
        let name = self.name("the name of a reference")?;
        self.form_comma(form, "the roles, `{ .role = name, … }`")?;
        if !self.at(Tok::LBrace) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "the roles, `{ .role = name, … }`"));
        }
        let value = self.value()?;
        let fields = match value.kind {
            ExprKind::Init { fields, .. } => fields,
            ExprKind::Braces(values) if values.is_empty() => Vec::new(),
            _ => {
                let diagnostic = Diagnostic::error(codes::POSITIONAL_FIELD, "roles are named")
                    .at(value.span, "")
                    .help(format!("write `{}`", form.usage));
                return Err(self.report(diagnostic));
            }
        };
        let mut roles = Vec::with_capacity(fields.len());
        for field in fields {
            let Some(value) = field.value.as_name().filter(|_| field.index.is_none()) else {
                let diagnostic = Diagnostic::error(codes::EXPECTED_NAME, "a role is played by a parameter")
                    .at(field.value.span, "expected a name");
                return Err(self.report(diagnostic));
            };
            roles.push(Role { role: field.field, value });
        }
        self.form_close(form, open)?;
        Ok(Reference { name, roles, span: self.span_from(start) })
    }

    fn struct_item(&mut self) -> Parsed<Struct> {
        let start = self.span();
        self.bump();
        let name = self.name("the name of the struct")?;
        if self.at(Tok::Colon) {
            let diagnostic = Diagnostic::error(codes::METHOD, "structs have no base")
                .at(self.span(), "")
                .help("write all fields in one struct");
            return Err(self.report(diagnostic));
        }
        let open = self.expect(Tok::LBrace, "`{` after the name of the struct")?;
        let base = self.open.len();
        let mut fields = Vec::new();
        while !self.at(Tok::RBrace) {
            let before = self.pos;
            if self.at(Tok::Eof) || (self.brace_excess > 0 && self.at_item_start()) {
                self.item_ahead = true;
                return Err(self.unclosed_block(open));
            }
            if let Err(Skip) = self.struct_fields(&name, &mut fields) {
                self.recover_statement(base)?;
                // Recovery stops before a keyword that begins a statement, which is no beginning of a field.
                if self.pos == before {
                    self.bump();
                    self.recover_statement(base)?;
                }
            }
            self.progress(before);
        }
        self.bump();
        let span = self.span_from(start);
        self.semicolon("the struct")?;
        Ok(Struct { name, fields, span })
    }

    fn struct_fields(&mut self, owner: &crate::ast::Ident, fields: &mut Vec<StructField>) -> Parsed<()> {
        if self.eat(Tok::Semi) {
            return Ok(());
        }
        if self.word() == Some(owner.as_str()) && self.peek(1).kind == Tok::LParen {
            return Err(self.struct_method());
        }
        let start = self.span();
        let unused = self.maybe_unused()?;
        let ty = self.ty()?;
        loop {
            let name = self.name("the name of a field")?;
            if self.at(Tok::LParen) {
                return Err(self.struct_method());
            }
            let mut len = None;
            if self.at(Tok::LBracket) {
                let open = self.bump();
                len = Some(self.expr()?);
                self.close(open, "`]` after the length")?;
            }
            if self.at(Tok::Eq) {
                let diagnostic = Diagnostic::error(codes::EXPECTED_SEMICOLON, "a field has no default value")
                    .at(self.span(), "expected `;`")
                    .help("give the value where the descriptor is emitted");
                return Err(self.report(diagnostic));
            }
            fields.push(StructField { ty: ty.clone(), name, len, unused, span: self.span_from(start) });
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.semicolon("the field")
    }

    /// Whether `[[maybe_unused]]` stands here, which is taken.
    fn maybe_unused(&mut self) -> Parsed<bool> {
        if !self.at(Tok::LBracket) || self.peek(1).kind != Tok::LBracket {
            return Ok(false);
        }
        let (outer, inner) = (self.bump(), self.bump());
        let name = self.name("`maybe_unused`")?;
        if name.as_str() != "maybe_unused" {
            let message = format!("there is no attribute `{}`", name.as_str());
            let diagnostic = Diagnostic::error(codes::EXPECTED_NAME, message)
                .at(name.span, "unknown")
                .help("fields may have `[[maybe_unused]]`");
            return Err(self.report(diagnostic));
        }
        self.close(inner, "`]]` after the attribute")?;
        self.close(outer, "`]]` after the attribute")?;
        Ok(true)
    }

    fn struct_method(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::METHOD, "structs have no methods")
            .at(self.span(), "")
            .help("write a function outside that takes `const Name& d`");
        self.report(diagnostic)
    }

    /// `T name(…) { … }` or `const T name = e, …;`.
    fn declaration_item(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        let start = self.span();
        let ty = self.ty()?;
        let name = self.name("a name after the type")?;
        if self.at(Tok::LParen) {
            items.extend(self.function(start, Vec::new(), ty, name)?.map(Item::Function));
            return Ok(());
        }
        if !ty.is_const {
            return Err(self.file_variable(name.span));
        }
        let mut name = name;
        loop {
            if self.at(Tok::LBracket) {
                return Err(self.array_variable());
            }
            if matches!(self.tok(), Tok::Semi | Tok::Comma) {
                return Err(self.missing_value(codes::MISSING_VALUE, name.span));
            }
            self.expect(Tok::Eq, "`=` and a value after the name of the constant")?;
            let value = self.expr()?;
            items.push(Item::Const(Const { ty: ty.clone(), name, value, span: self.span_from(start) }));
            if !self.eat(Tok::Comma) {
                break;
            }
            name = self.name("the name of a constant")?;
        }
        self.semicolon("the constant")
    }

    fn file_variable(&mut self, name: Span) -> Skip {
        if self.lost {
            return Skip;
        }
        let diagnostic = Diagnostic::error(codes::FILE_VARIABLE, "a variable cannot stand at file level")
            .at(name, "not in a function, not `const`")
            .help(
                "write `const T name = value;`, or `PTO_PARAM(type, name, default)` for what the user sets",
            );
        self.report(diagnostic)
    }

    pub(super) fn missing_value(&mut self, code: Code, name: Span) -> Skip {
        let diagnostic = Diagnostic::error(code, "a `const` or `auto` variable needs a value")
            .at(name, "declared without a value")
            .help("write `= value` after the name");
        self.report(diagnostic)
    }
}
