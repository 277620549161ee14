//! Reading types and attributes, and what all readers of the text share.

use super::tree::{Attr, Dim, MAX_DEPTH, Module, Shaped, Type};
use super::types::as_numbers;
use crate::codes;
use wsp_diag::{Code, Diagnostic, Span};
use wsp_ordered::OrderedMap;
use wsp_syntax::{Cursor, Tok};

/// What is read, or why it cannot be.
pub(super) type Read<T> = Result<T, Box<Diagnostic>>;

/// Names of blocks of a region.
#[derive(Default)]
pub(super) struct Labels {
    /// In the order in which they were met; of those that stand in the region, which of its blocks they are.
    pub(super) all: Vec<(String, Option<u32>)>,
    /// Their places there.
    pub(super) known: OrderedMap<String, u32>,
}

/// A text that is being read.
pub(super) struct Reader<'t> {
    pub(super) cursor: Cursor<'t>,
    pub(super) module: Module,
    /// Values by name, of each region around the current place.
    pub(super) scopes: Vec<OrderedMap<String, Vec<super::tree::Value>>>,
    /// Names of blocks of each region around it, and which of them were met.
    pub(super) labels: Vec<Labels>,
    depth: u32,
}

impl<'t> Reader<'t> {
    pub(super) fn new(cursor: Cursor<'t>) -> Reader<'t> {
        let module = Module::default();
        Reader { cursor, module, scopes: vec![OrderedMap::new()], labels: Vec::new(), depth: 0 }
    }

    pub(super) fn fault<T>(&self, code: Code, at: Span, message: impl Into<String>) -> Read<T> {
        Err(Box::new(Diagnostic::error(code, message).at(at, "")))
    }

    pub(super) fn expected<T>(&self, what: &str) -> Read<T> {
        Err(Box::new(self.cursor.expected(codes::SYNTAX, what)))
    }

    pub(super) fn at(&self, tok: Tok) -> bool {
        self.cursor.at(tok)
    }

    pub(super) fn eat(&mut self, tok: Tok) -> bool {
        self.cursor.eat(tok)
    }

    pub(super) fn take(&mut self, tok: Tok) -> Read<()> {
        if self.cursor.eat(tok) { Ok(()) } else { self.expected(&format!("`{}`", tok.text())) }
    }

    pub(super) fn take_word(&mut self, word: &str) -> Read<()> {
        if self.cursor.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    /// Runs a reader one level deeper.
    pub(super) fn deeper<T>(&mut self, read: fn(&mut Reader<'t>) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} levels inside each other");
            return self.fault(codes::SYNTAX, self.cursor.span(), message);
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// Items between commas up to a closing sign, which is taken.
    pub(super) fn list<T>(
        &mut self,
        close: Tok,
        read: &mut dyn FnMut(&mut Reader<'t>) -> Read<T>,
    ) -> Read<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(read(self)?);
            if !self.eat(Tok::Comma) {
                self.take(close)?;
                return Ok(items);
            }
        }
    }

    /// A name, with `.` and `$` joined where they touch.
    pub(super) fn dotted(&mut self, what: &str) -> Read<String> {
        if self.cursor.word().is_none() {
            return self.expected(what);
        }
        let first = self.cursor.bump();
        let mut end = first.end;
        while self.at(Tok::Dot) && self.cursor.token().start == end {
            let next = self.cursor.peek(1);
            if !matches!(next.kind, Tok::Ident | Tok::Number) || next.start != end + 1 {
                break;
            }
            self.cursor.bump();
            end = self.cursor.bump().end;
        }
        Ok(self.cursor.text[first.start as usize..end as usize].to_owned())
    }

    /// A word or a number behind a sign that it touches, such as `%name` or `@name`.
    pub(super) fn sigil(&mut self, sign: Tok, what: &str) -> Read<String> {
        let next = self.cursor.peek(1);
        let touches = next.start == self.cursor.token().end;
        if !self.at(sign) || !touches || !matches!(next.kind, Tok::Ident | Tok::Number | Tok::Str) {
            return self.expected(what);
        }
        self.cursor.bump();
        if next.kind == Tok::Str {
            let text = self.string()?;
            return Ok(text);
        }
        if next.kind == Tok::Ident {
            return self.dotted(what);
        }
        let token = self.cursor.bump();
        Ok(self.cursor.text_of(token).to_owned())
    }

    /// `@name`
    pub(super) fn symbol(&mut self) -> Read<String> {
        self.sigil(Tok::At, "a symbol `@name`")
    }

    /// What stands between quotes.
    pub(super) fn string(&mut self) -> Read<String> {
        let token = self.cursor.token();
        if token.kind != Tok::Str || token.fault.is_some() {
            return self.expected("a string");
        }
        self.cursor.bump();
        let text = self.cursor.text_of(token);
        Ok(text[1..text.len() - 1].to_owned())
    }

    /// A type.
    pub(super) fn ty(&mut self) -> Read<Type> {
        self.deeper(Reader::ty_inside)
    }

    fn ty_inside(&mut self) -> Read<Type> {
        let at = self.cursor.span();
        if self.eat(Tok::LParen) {
            let inputs = self.list(Tok::RParen, &mut Reader::ty)?;
            self.take(Tok::Arrow)?;
            return Ok(Type::Function(inputs, self.types_behind_arrow()?));
        }
        if self.eat(Tok::Bang) {
            let name = self.dotted("the name of a type")?;
            self.take(Tok::Lt)?;
            let inner = Box::new(self.ty()?);
            self.take(Tok::Gt)?;
            return match name.as_str() {
                "aie.objectfifo" => Ok(Type::Fifo(inner)),
                "aie.objectfifosubview" => Ok(Type::Subview(inner)),
                _ => self.fault(codes::TYPE, at, format!("no type `!{name}`")),
            };
        }
        let Some(word) = self.cursor.word() else { return self.expected("a type") };
        let shaped = match word {
            "memref" => Type::MemRef,
            "vector" => Type::Vector,
            "tensor" => Type::Tensor,
            _ => {
                let Some(ty) = scalar(word) else {
                    return self.fault(codes::TYPE, at, format!("no type `{word}`"));
                };
                self.cursor.bump();
                return Ok(ty);
            }
        };
        self.cursor.bump();
        self.take(Tok::Lt)?;
        Ok(shaped(self.shaped()?))
    }

    /// A type or `(types)`.
    pub(super) fn types_behind_arrow(&mut self) -> Read<Vec<Type>> {
        if self.eat(Tok::LParen) {
            return self.list(Tok::RParen, &mut Reader::ty);
        }
        Ok(vec![self.ty()?])
    }

    /// `4x8xf32>`, behind the `<`. The lexer joins extents and a scalar type into one token where no `?` parts them.
    fn shaped(&mut self) -> Read<Shaped> {
        let mut shape = Vec::new();
        loop {
            let token = self.cursor.token();
            let at = self.cursor.span();
            let mut text = match token.kind {
                Tok::Question => {
                    self.cursor.bump();
                    shape.push(None);
                    let next = self.cursor.token();
                    match self.cursor.text_of(next).strip_prefix('x') {
                        Some(rest) if next.kind == Tok::Ident => rest,
                        _ => return self.expected("`x` and the next extent"),
                    }
                }
                Tok::Number => self.cursor.text_of(token),
                _ => {
                    let element = Box::new(self.ty()?);
                    return self.shaped_end(shape, element);
                }
            };
            self.cursor.bump();
            while text.starts_with(|c: char| c.is_ascii_digit()) {
                let Some((extent, rest)) = text.split_once('x') else { break };
                match extent.parse::<u32>() {
                    Ok(extent) => shape.push(Some(u64::from(extent))),
                    Err(_) => {
                        return self.fault(codes::NUMBER, at, format!("`{extent}` is no extent below 2³²"));
                    }
                }
                text = rest;
            }
            if text.is_empty() {
                continue;
            }
            let shaped_inside = matches!(text, "vector" | "memref" | "tensor");
            let Some(ty) = scalar(text).filter(|_| !shaped_inside) else {
                return self.fault(codes::TYPE, at, format!("no type `{}`", wsp_syntax::shorten(text)));
            };
            return self.shaped_end(shape, Box::new(ty));
        }
    }

    fn shaped_end(&mut self, shape: Vec<Option<u64>>, element: Box<Type>) -> Read<Shaped> {
        let rest = if self.eat(Tok::Comma) { self.balanced(Tok::Gt)? } else { String::new() };
        self.take(Tok::Gt)?;
        Ok(Shaped { shape, element, rest })
    }

    /// Text up to a closing sign, which is left, with the brackets in it closed.
    fn balanced(&mut self, close: Tok) -> Read<String> {
        let start = self.cursor.token().start as usize;
        let mut open = 0u32;
        loop {
            let tok = self.cursor.tok();
            match tok {
                Tok::Eof | Tok::Bad => return self.expected(&format!("`{}`", close.text())),
                _ if tok == close && open == 0 => break,
                Tok::LParen | Tok::LBracket | Tok::LBrace | Tok::Lt => open += 1,
                Tok::RParen | Tok::RBracket | Tok::RBrace | Tok::Gt if open == 0 => {
                    return self.expected(&format!("`{}`", close.text()));
                }
                Tok::RParen | Tok::RBracket | Tok::RBrace | Tok::Gt => open -= 1,
                _ => {}
            }
            self.cursor.bump();
        }
        // A comment behind the last token would take what is printed next with it.
        let end = self.cursor.last_span().end as usize;
        Ok(self.cursor.text.get(start..end).unwrap_or("").to_owned())
    }

    /// `{name = value, …}` behind the `{`.
    pub(super) fn dict(&mut self) -> Read<Vec<(String, Attr)>> {
        let entries = self.list(Tok::RBrace, &mut Reader::entry)?;
        Ok(entries)
    }

    pub(super) fn entry(&mut self) -> Read<(String, Attr)> {
        let name = if self.at(Tok::Str) { self.string()? } else { self.dotted("the name of an attribute")? };
        let value = if self.eat(Tok::Eq) { self.attr()? } else { Attr::Unit };
        Ok((name, value))
    }

    /// An attribute.
    pub(super) fn attr(&mut self) -> Read<Attr> {
        self.deeper(Reader::attr_inside)
    }

    fn attr_inside(&mut self) -> Read<Attr> {
        match self.cursor.tok() {
            Tok::Str => return Ok(Attr::Str(self.string()?)),
            Tok::At => return Ok(Attr::Symbol(self.symbol()?)),
            Tok::Number | Tok::Minus => return self.number(),
            Tok::LBracket => {
                self.cursor.bump();
                return Ok(Attr::Array(self.list(Tok::RBracket, &mut Reader::attr)?));
            }
            Tok::LBrace => {
                self.cursor.bump();
                return Ok(Attr::Dict(self.dict()?));
            }
            Tok::Hash => return self.dialect_attr(),
            _ => {}
        }
        match self.cursor.word() {
            Some("true") => self.word(Attr::Bool(true)),
            Some("false") => self.word(Attr::Bool(false)),
            Some("unit") => self.word(Attr::Unit),
            Some("dense") => {
                self.cursor.bump();
                self.take(Tok::Lt)?;
                let mut values = Box::new(self.attr()?);
                self.take(Tok::Gt)?;
                self.take(Tok::Colon)?;
                let ty = self.ty()?;
                if ty.scalar().is_float() {
                    as_numbers(&mut values, ty.scalar());
                }
                Ok(Attr::Elements(values, ty))
            }
            Some("array") => {
                self.cursor.bump();
                self.take(Tok::Lt)?;
                let ty = self.ty()?;
                if self.eat(Tok::Gt) {
                    return Ok(Attr::Dense(ty, Vec::new()));
                }
                self.take(Tok::Colon)?;
                Ok(Attr::Dense(ty, self.list(Tok::Gt, &mut Reader::int)?))
            }
            _ => Ok(Attr::Type(self.ty()?)),
        }
    }

    fn word(&mut self, attr: Attr) -> Read<Attr> {
        self.cursor.bump();
        Ok(attr)
    }

    /// `#dialect<…>` or `#dialect.name<…>`.
    fn dialect_attr(&mut self) -> Read<Attr> {
        let start = self.cursor.token().start as usize;
        self.cursor.bump();
        let name = self.dotted("the name of an attribute")?;
        if !self.eat(Tok::Lt) {
            return Ok(Attr::Raw(format!("#{name}")));
        }
        if name == "aie" && self.cursor.word_at(0) == Some("bd_dim_layout_array") {
            self.cursor.bump();
            let dims = self.dims()?;
            self.take(Tok::Gt)?;
            return Ok(Attr::Dims(dims));
        }
        if name == "aie" && self.cursor.word_at(0) == Some("bd_dim_layout_array_array") {
            self.cursor.bump();
            self.take(Tok::LBracket)?;
            let all = self.list(Tok::RBracket, &mut Reader::dims)?;
            self.take(Tok::Gt)?;
            return Ok(Attr::DimsPer(all));
        }
        self.balanced(Tok::Gt)?;
        self.take(Tok::Gt)?;
        let end = self.cursor.last_span().end as usize;
        Ok(Attr::Raw(self.cursor.text[start..end].to_owned()))
    }

    /// `<…>` as it is written.
    pub(super) fn angled(&mut self) -> Read<String> {
        let start = self.cursor.token().start as usize;
        self.take(Tok::Lt)?;
        self.balanced(Tok::Gt)?;
        self.take(Tok::Gt)?;
        let end = self.cursor.last_span().end as usize;
        Ok(self.cursor.text[start..end].to_owned())
    }

    /// `[<size = 4, stride = 1>, …]`
    pub(super) fn dims(&mut self) -> Read<Vec<Dim>> {
        self.take(Tok::LBracket)?;
        self.list(Tok::RBracket, &mut Reader::dim)
    }

    fn dim(&mut self) -> Read<Dim> {
        self.take(Tok::Lt)?;
        self.take_word("size")?;
        self.take(Tok::Eq)?;
        let size = self.unsigned()?;
        self.take(Tok::Comma)?;
        self.take_word("stride")?;
        self.take(Tok::Eq)?;
        let stride = self.unsigned()?;
        self.take(Tok::Gt)?;
        Ok(Dim { size, stride })
    }
}

/// A scalar type by its name.
fn scalar(word: &str) -> Option<Type> {
    Some(match word {
        "index" => Type::Index,
        "f32" => Type::F32,
        "bf16" => Type::Bf16,
        "f64" => Type::F64,
        "f16" => Type::F16,
        "ui32" => Type::Unsigned(32),
        _ => {
            let bits = word.strip_prefix('i')?.parse::<u32>().ok()?;
            // `i07` and `i+7` are none.
            return ((1..=64).contains(&bits) && word.len() == 1 + bits.to_string().len())
                .then_some(Type::Int(bits));
        }
    })
}
