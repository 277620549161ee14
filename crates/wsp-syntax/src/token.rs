//! Kinds of tokens.

macro_rules! signs {
    ($($name:ident = $text:literal,)*) => {
        /// What a token is. A language has some of the signs.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Tok {
            /// A name or keyword; with [`Names::Qualified`](crate::Names), `a::b` is one.
            Ident,
            /// A number.
            Number,
            /// A string or character literal, with its quotes.
            Str,
            /// `.word`
            Directive,
            /// Something that is no token.
            Bad,
            /// The end of the text.
            Eof,
            $(#[doc = concat!("`", $text, "`")] $name,)*
        }

        impl Tok {
            /// How a sign is written; empty for other tokens.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Tok::$name => $text,)*
                    Tok::Ident | Tok::Number | Tok::Str | Tok::Directive | Tok::Bad | Tok::Eof => "",
                }
            }
        }
    };
}

signs! {
    ShlEq = "<<=", ShrEq = ">>=", Ellipsis = "...", RangeIncl = "..=", Range = "..", PlusColon = "+:", ColonColon = "::",
    Arrow = "->", PlusPlus = "++", MinusMinus = "--", PlusEq = "+=", MinusEq = "-=", StarEq = "*=", SlashEq = "/=",
    PercentEq = "%=", AmpEq = "&=", PipeEq = "|=", CaretEq = "^=", Shl = "<<", Shr = ">>", Le = "<=", Ge = ">=", EqEq = "==",
    Ne = "!=", AmpAmp = "&&", PipePipe = "||",
    LParen = "(", RParen = ")", LBrace = "{", RBrace = "}", LBracket = "[", RBracket = "]", Semi = ";", Comma = ",", Dot = ".",
    Colon = ":", Question = "?", Plus = "+", Minus = "-", Star = "*", Slash = "/", Percent = "%", Amp = "&", Pipe = "|",
    Caret = "^", Tilde = "~", Bang = "!", Lt = "<", Gt = ">", Eq = "=", At = "@", Hash = "#",
}

/// What is wrong with a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Characters that start no token.
    Character,
    /// A word that starts with a digit and is no integer.
    Number,
    /// An integer of more than 64 bits.
    LargeNumber,
    /// A string without an end on its line.
    OpenString,
    /// An escape that strings do not have.
    Escape,
    /// A comment without an end; the token is what opens it.
    OpenComment,
    /// A name with characters outside ASCII.
    Name,
}

/// A token and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is; what it was meant to be where something is wrong with it.
    pub kind: Tok,
    /// What is wrong with it.
    pub fault: Option<Fault>,
    /// It is the first of its line.
    pub starts_line: bool,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Token {
    /// Its text.
    pub fn text(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

/// A text as a message shows it.
pub fn shorten(text: &str) -> String {
    const MOST: usize = 32;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    text.chars().take(MOST).chain(['…']).collect()
}
