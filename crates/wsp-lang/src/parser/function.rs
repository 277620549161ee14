//! Functions and their headers.

use super::{Parsed, Parser, Skip};
use crate::ast::{FnParam, Function, Ident, TemplateParam, Type};
use crate::codes;
use wsp_diag::{Diagnostic, Span};
use wsp_syntax::Tok;

impl Parser<'_> {
    /// `template <…> T name(…) { … }`; none for what [`Parser::function`] leaves out.
    pub(super) fn template_function(&mut self) -> Parsed<Option<Function>> {
        let start = self.span();
        self.bump();
        let open = self.expect(Tok::Lt, "`<` after `template`")?;
        let mut template = Vec::new();
        while !self.at(Tok::Gt) {
            template.push(self.template_param()?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        if !self.eat(Tok::Gt) {
            let diagnostic = Diagnostic::error(codes::UNCLOSED, "expected `,` or `>`")
                .at(self.gap(), format!("found {}", self.found()))
                .label(self.span_of(open), "this `<` is not closed");
            return Err(self.report(diagnostic));
        }
        while self.eat_word("static") || self.eat_word("inline") {}
        let ret = self.ty()?;
        let name = self.name("the name of the function")?;
        if !self.at(Tok::LParen) {
            return Err(self.unexpected(codes::EXPECTED_TOKEN, "`(` after the name of the function"));
        }
        self.function(start, template, ret, name)
    }

    fn template_param(&mut self) -> Parsed<TemplateParam> {
        if matches!(self.word(), Some("typename" | "class")) {
            let diagnostic = Diagnostic::error(codes::TYPE_PARAMETER, "template parameters are integers")
                .at(self.span(), "a type parameter")
                .help(
                    "write `template <uint32_t N>`; tiles take their element type from `PTO_DTYPE(tensor)`",
                );
            return Err(self.report(diagnostic));
        }
        let ty = self.ty()?;
        let name = self.name("the name of the template parameter")?;
        if self.at(Tok::Eq) {
            return Err(self.default_argument());
        }
        Ok(TemplateParam { ty, name })
    }

    /// The rest of a function from its `(` on; none for a prototype or broken parameters, which are reported.
    pub(super) fn function(
        &mut self,
        start: Span,
        template: Vec<TemplateParam>,
        ret: Type,
        name: Ident,
    ) -> Parsed<Option<Function>> {
        let base = self.open.len();
        let open = self.bump();
        let params = match self
            .fn_params()
            .and_then(|p| self.close(open, "`,` or `)` after the parameter").map(|()| p))
        {
            Ok(params) => Some(params),
            Err(Skip) => {
                self.recover_header(base, false)?;
                None
            }
        };
        if self.at(Tok::Semi) {
            let diagnostic = Diagnostic::error(codes::PROTOTYPE, "a function needs a body")
                .at(name.span, "declared, not defined")
                .help("leave the prototype out: every function is visible in the whole file");
            if params.is_some() {
                self.report(diagnostic);
            }
            self.bump();
            return Ok(None);
        }
        if params.is_none() && !self.at(Tok::LBrace) {
            return Err(Skip);
        }
        let body = self.block("the parameters")?;
        let span = self.span_from(start);
        Ok(params.map(|params| Function { template, ret, name, params, body, span }))
    }

    pub(super) fn fn_params(&mut self) -> Parsed<Vec<FnParam>> {
        let mut params = Vec::new();
        if self.at_word("void") && self.peek(1).kind == Tok::RParen {
            self.bump();
        }
        while !self.at(Tok::RParen) {
            let start = self.span();
            let ty = self.ty()?;
            let name = self.name("the name of the parameter")?;
            match self.tok() {
                Tok::Eq => return Err(self.default_argument()),
                Tok::LBracket => {
                    let diagnostic =
                        Diagnostic::error(codes::ARRAY_VARIABLE, "an array parameter is a pointer")
                            .at(self.span(), "")
                            .help(format!("write `const uint32_t* {}`", name.as_str()));
                    return Err(self.report(diagnostic));
                }
                _ => {}
            }
            params.push(FnParam { ty, name, span: self.span_from(start) });
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        Ok(params)
    }

    fn default_argument(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::DEFAULT_ARGUMENT, "parameters have no default values")
            .at(self.span(), "")
            .help("pass the value at each call");
        self.report(diagnostic)
    }
}
