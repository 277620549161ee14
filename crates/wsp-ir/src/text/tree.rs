//! Words, strings, forms and lists: the shape of the text without its meaning.

use crate::verify::MAX_DEPTH;
use wsp_syntax::{Escapes, Language, Lexer, Lexicon, Names, Numbers, Rules, Tok, Token, quoted, unescape};

/// Deepest nesting of brackets that is read: a statement takes two, an expression one, and the tables a few.
pub(super) const MAX_BRACKETS: usize = MAX_DEPTH as usize * 2 + 16;
/// Columns that a line may take.
const WIDTH: usize = 110;
/// Deepest indentation, in steps of two columns.
const MAX_INDENT: usize = 40;

/// A node of the text.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Tree {
    /// First byte and one past the last; empty when printing.
    pub(super) at: (u32, u32),
    pub(super) node: Node,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Node {
    Word(String),
    Text(String),
    /// `( … )`
    Form(Vec<Tree>),
    /// `[ … ]`
    List(Vec<Tree>),
}

/// Why a text cannot be read.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: (u32, u32),
    pub(super) message: String,
    /// A word that was probably meant.
    pub(super) meant: Option<String>,
}

impl Fault {
    pub(super) fn new(at: (u32, u32), message: impl Into<String>) -> Fault {
        Fault { at, message: message.into(), meant: None }
    }
}

impl Tree {
    pub(super) fn word(word: impl Into<String>) -> Tree {
        Tree { at: (0, 0), node: Node::Word(word.into()) }
    }

    pub(super) fn text(text: impl Into<String>) -> Tree {
        Tree { at: (0, 0), node: Node::Text(text.into()) }
    }

    pub(super) fn form(items: Vec<Tree>) -> Tree {
        Tree { at: (0, 0), node: Node::Form(items) }
    }

    pub(super) fn list(items: Vec<Tree>) -> Tree {
        Tree { at: (0, 0), node: Node::List(items) }
    }

    /// The text of the tree, in lines of bounded width where that is possible.
    pub(super) fn layout(&self) -> String {
        let mut page = Page { text: String::new(), line_start: 0 };
        page.tree(self, 0);
        page.text.push('\n');
        page.text
    }
}

/// Text in the making.
struct Page {
    text: String,
    /// Where the current line begins.
    line_start: usize,
}

impl Page {
    fn column(&self) -> usize {
        self.text.len() - self.line_start
    }

    fn new_line(&mut self, indent: usize) {
        self.text.push('\n');
        self.line_start = self.text.len();
        for _ in 0..indent.min(MAX_INDENT) {
            self.text.push_str("  ");
        }
    }

    /// Writes a tree, on the current line if it fits.
    fn tree(&mut self, tree: &Tree, indent: usize) {
        if fits(tree, WIDTH.saturating_sub(self.column())) {
            self.flat(tree);
            return;
        }
        match &tree.node {
            Node::Word(_) | Node::Text(_) => self.flat(tree),
            Node::Form(items) => {
                self.text.push('(');
                self.form(items, indent);
                self.text.push(')');
            }
            Node::List(items) => {
                self.text.push('[');
                for item in items {
                    self.new_line(indent + 1);
                    self.tree(item, indent + 1);
                }
                self.new_line(indent);
                self.text.push(']');
            }
        }
    }

    /// The parts of a form that needs several lines: lists open at the end of a line, other parts go to lines of their own.
    fn form(&mut self, items: &[Tree], indent: usize) {
        let mut rest = items;
        while let Some((first, tail)) = rest.split_first() {
            let (keyword, value, tail) = match (&first.node, tail.split_first()) {
                (Node::Word(word), Some((value, tail))) if word.ends_with(':') => (Some(word), value, tail),
                _ => (None, first, tail),
            };
            let room = WIDTH.saturating_sub(self.column() + 1 + keyword.map_or(0, |k| k.len() + 1));
            let begins = rest.len() == items.len();
            if !begins && !fits(value, room) && !matches!(value.node, Node::List(_)) {
                self.new_line(indent + 1);
            } else if !begins {
                self.text.push(' ');
            }
            if let Some(keyword) = keyword {
                self.text.push_str(keyword);
                self.text.push(' ');
            }
            let inner = if matches!(value.node, Node::List(_)) { indent } else { indent + 1 };
            self.tree(value, inner);
            rest = tail;
        }
    }

    fn flat(&mut self, tree: &Tree) {
        match &tree.node {
            Node::Word(word) => self.text.push_str(word),
            Node::Text(text) => self.text.push_str(&quoted(text, ESCAPES)),
            Node::Form(items) => self.flat_items(items, '(', ')'),
            Node::List(items) => self.flat_items(items, '[', ']'),
        }
    }

    fn flat_items(&mut self, items: &[Tree], open: char, close: char) {
        self.text.push(open);
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.text.push(' ');
            }
            self.flat(item);
        }
        self.text.push(close);
    }
}

/// Whether the tree fits into so many columns. Looks no deeper than there is room.
fn fits(tree: &Tree, room: usize) -> bool {
    fn take(tree: &Tree, room: &mut usize) -> bool {
        let need = match &tree.node {
            Node::Word(word) => word.len(),
            Node::Text(text) => text.len() + 2,
            Node::Form(items) | Node::List(items) => items.len() + 1,
        };
        match room.checked_sub(need) {
            Some(left) => *room = left,
            None => return false,
        }
        match &tree.node {
            Node::Word(_) | Node::Text(_) => true,
            Node::Form(items) | Node::List(items) => items.iter().all(|item| take(item, room)),
        }
    }
    let mut room = room;
    take(tree, &mut room)
}

/// The tokens: words, strings and brackets.
struct IrText;

/// The escapes of strings.
const ESCAPES: Escapes = Escapes::Lines;

impl Lexicon for IrText {
    const LANGUAGE: &'static Language = &Language::new(Rules {
        signs: &[Tok::LParen, Tok::RParen, Tok::LBracket, Tok::RBracket],
        comment: ";",
        block_comments: false,
        joined_lines: false,
        quotes: "\"",
        escapes: Some(ESCAPES),
        numbers: Numbers::Integers { binary: false, fractions: false },
        names: Names::Words,
        directives: false,
        strays: None,
    });
}

/// A bracket that is open.
struct Open {
    at: u32,
    list: bool,
    items: Vec<Tree>,
}

/// The one tree of a text. Takes any text; recursion is not used, so that no text exhausts the stack.
pub(super) fn read(text: &str) -> Result<Tree, Fault> {
    let Ok(end) = u32::try_from(text.len()) else {
        return Err(Fault::new((0, 0), "the text is longer than 4 GiB"));
    };
    let mut lexer = Lexer::<IrText>::new(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root: Option<Tree> = None;
    loop {
        let token = lexer.next();
        let at = (token.start, token.end);
        let tree = match token.kind {
            Tok::Eof => break,
            Tok::LParen | Tok::LBracket => {
                if root.is_some() || open.len() >= MAX_BRACKETS {
                    let message =
                        if root.is_some() { "text after the end" } else { "brackets are nested too deep" };
                    return Err(Fault::new(at, message));
                }
                open.push(Open { at: token.start, list: token.kind == Tok::LBracket, items: Vec::new() });
                continue;
            }
            Tok::RParen | Tok::RBracket => {
                let list = token.kind == Tok::RBracket;
                let Some(Open { at: start, items, .. }) = open.pop_if(|open| open.list == list) else {
                    return Err(Fault::new(at, format!("nothing to close with `{}`", token.kind.text())));
                };
                Tree {
                    at: (start, token.end),
                    node: if list { Node::List(items) } else { Node::Form(items) },
                }
            }
            Tok::Str => Tree { at, node: Node::Text(string(token, text)?) },
            _ => Tree { at, node: Node::Word(token.text(text).to_owned()) },
        };
        match open.last_mut() {
            Some(open) => open.items.push(tree),
            None if root.is_none() => root = Some(tree),
            None => return Err(Fault::new(tree.at, "text after the end")),
        }
    }
    match (open.last(), root) {
        (Some(open), _) => Err(Fault::new((open.at, open.at + 1), "a bracket is not closed")),
        (None, Some(root)) => Ok(root),
        (None, None) => Err(Fault::new((end, end), "the text is empty")),
    }
}

/// What a string says. Of one that is not closed, an escape that there is not is found first.
fn string(token: Token, text: &str) -> Result<String, Fault> {
    let is_open = token.fault == Some(wsp_syntax::Fault::OpenString);
    let quoted = token.text(text);
    let said = if is_open { unescape(&format!("{quoted} \""), ESCAPES) } else { unescape(quoted, ESCAPES) };
    match said {
        Ok(said) if !is_open => Ok(said),
        Ok(_) => Err(Fault::new((token.start, token.start + 1), "a string is not closed")),
        Err(escape) => {
            let at = token.start + escape as u32;
            Err(Fault::new((at, at + 1), "unknown escape in a string"))
        }
    }
}
