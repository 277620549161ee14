//! What C++ has and the language has not.

use super::{Parser, Skip};
use crate::codes;
use wsp_diag::Diagnostic;
use wsp_syntax::Tok;

/// C++ keywords without a meaning here, and what to use.
const FOREIGN: &[(&str, &str)] = &[
    ("class", "declare a descriptor: `struct Name { uint32_t field; };`"),
    ("union", "declare a descriptor: `struct Name { uint32_t field; };`"),
    ("enum", "declare constants: `const uint32_t NAME = 0;`"),
    ("namespace", "a file is one scope; leave the namespace out"),
    ("using", "types are written in full; leave the line out"),
    ("typedef", "types are written in full; leave the line out"),
    ("new", "memory is declared: `PTO_TENSOR`, `PTO_WORKSPACE`, or a tile"),
    ("delete", "memory is declared and needs no release"),
    ("try", "a fault stops the run and is reported with its position"),
    ("catch", "a fault stops the run and is reported with its position"),
    ("throw", "a fault stops the run and is reported with its position"),
    ("goto", "use `while`, `break` and `continue`"),
    ("switch", "use `if` and `else if`, or `PTO_TIER_DEF`"),
    ("case", "use `if` and `else if`, or `PTO_TIER_DEF`"),
    ("default", "use `else`, or `PTO_DEFAULT` in a `PTO_TIER_DEF`"),
    ("this", "there are no methods; pass a parameter"),
    ("operator", "give the function a name"),
    ("typename", "template parameters are integers: `template <uint32_t N>`"),
    ("decltype", "write the type, or `auto`"),
    ("concept", "template parameters are integers: `template <uint32_t N>`"),
    ("requires", "template parameters are integers: `template <uint32_t N>`"),
    ("friend", "structs hold fields only"),
    ("private", "structs hold fields only"),
    ("protected", "structs hold fields only"),
    ("public", "structs hold fields only"),
    ("virtual", "there are no methods; write a function"),
    ("volatile", "memory is reached through tiles; leave it out"),
    ("mutable", "every variable that is not `const` can change; leave it out"),
    ("register", "leave it out"),
    ("extern", "one file is one program; leave it out"),
    ("static_assert", "shapes are checked by `PTO_SHAPE`"),
    ("asm", "write tile operations"),
    ("co_await", "tasks are emitted with `PTO_EMIT_DESCRIPTOR`"),
    ("co_return", "tasks are emitted with `PTO_EMIT_DESCRIPTOR`"),
    ("co_yield", "tasks are emitted with `PTO_EMIT_DESCRIPTOR`"),
    ("reinterpret_cast", "values are converted with `static_cast<T>(x)` or `(T)x`"),
    ("const_cast", "values are converted with `static_cast<T>(x)` or `(T)x`"),
    ("dynamic_cast", "values are converted with `static_cast<T>(x)` or `(T)x`"),
];

/// Keywords that the grammar uses.
const KEYWORDS: &[&str] = &[
    "if",
    "else",
    "for",
    "while",
    "do",
    "return",
    "break",
    "continue",
    "struct",
    "template",
    "const",
    "constexpr",
    "static",
    "inline",
    "true",
    "false",
    "sizeof",
    "static_cast",
];

/// Whether a word cannot be a name.
pub(super) fn is_reserved(word: &str) -> bool {
    KEYWORDS.contains(&word) || help(word).is_some() || super::types::is_scalar(word)
}

/// Whether a word is a keyword of the grammar.
pub(super) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

fn help(word: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(name, _)| *name == word).map(|(_, help)| *help)
}

impl Parser<'_> {
    /// Reports a C++ keyword that is no part of the language, if the current token is one.
    pub(super) fn foreign_keyword(&mut self) -> Option<Skip> {
        let word = self.word()?;
        let help = help(word)?;
        let diagnostic =
            Diagnostic::error(codes::FOREIGN_KEYWORD, format!("`{word}` is not part of the language"))
                .at(self.span(), "")
                .help(help);
        Some(self.report(diagnostic))
    }

    /// Reports an operator that is no part of expressions, if the current token, behind an expression, is one.
    pub(super) fn operator_left_over(&mut self) -> Option<Skip> {
        let token = self.token();
        let symbol = self.text_of(token);
        let diagnostic = match token.kind {
            Tok::Eq => {
                Diagnostic::error(codes::ASSIGNMENT_IN_EXPRESSION, "an assignment is not an expression")
                    .at(self.span(), "assigns inside an expression")
                    .help("compare with `==`, or assign in a statement of its own")
            }
            _ if super::stmt::assign_op(token.kind).is_some() => {
                Diagnostic::error(codes::ASSIGNMENT_IN_EXPRESSION, "an assignment is not an expression")
                    .at(self.span(), "assigns inside an expression")
                    .help("assign in a statement of its own")
            }
            Tok::PlusPlus | Tok::MinusMinus => {
                let message = format!("`{symbol}` is a statement, not an expression");
                Diagnostic::error(codes::INCREMENT_IN_EXPRESSION, message)
                    .at(self.span(), "changes a variable inside an expression")
                    .help("change the variable in a statement of its own")
            }
            Tok::Arrow => Diagnostic::error(codes::POINTER_OPERATOR, "there are no pointers to structs")
                .at(self.span(), "")
                .help("use `.`"),
            _ => return None,
        };
        Some(self.report(diagnostic))
    }

    pub(super) fn lambda(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::LAMBDA, "lambdas are not part of the language")
            .at(self.span(), "an expression cannot start with `[`")
            .help("write a function; every function of the file is visible here");
        self.report(diagnostic)
    }

    pub(super) fn address_of(&mut self) -> Skip {
        let diagnostic = Diagnostic::error(codes::POINTER_OPERATOR, "addresses are not part of the language")
            .at(self.span(), "takes an address")
            .help("pass arrays by name (`p`, `p + n`) and tiles by reference (`VecTile<…>& t`)");
        self.report(diagnostic)
    }
}
