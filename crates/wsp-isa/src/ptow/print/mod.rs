//! Bytes to text.

mod code;
mod infix;
mod pool;
mod tables;

pub(super) use self::tables::POOLS;

use self::pool::{Order, Pool};
use super::codes;
use super::image::{AlignedBytes, EmptyPool};
use super::names::{self, Stored};
use super::parse;
use super::symbols::{Kind, Symbols};
use std::fmt::Write as _;
use std::rc::Rc;
use wsp_core::ptow::{Operand, Program, ReadError, Word, XOp};
use wsp_diag::Diagnostic;
use wsp_ordered::OrderedSet;

/// Bytes of inline expressions in all; those behind them are named by their place.
const MAX_INLINE: usize = 1 << 20;

/// The text of a program, as [the module](super) describes it.
///
/// Works on everything that can be read, whether it keeps the rules or not; [`encode`](super::encode) gives the same
/// bytes again.
///
/// # Errors
/// When the bytes are no program.
pub fn disassemble(bytes: &[u8]) -> Result<String, ReadError> {
    let aligned = AlignedBytes::copy(bytes);
    let program = Program::read(aligned.as_bytes())?;
    let tables =
        24 + 8 * (program.words.len() + program.axes.len() + program.kernels.len() + program.tensors.len());
    let pool = if bytes.len() > tables { EmptyPool::Written } else { EmptyPool::Omitted };
    let mut printer = Printer::new(&program, Order::OfUse);
    printer.print(bytes.len(), pool);
    if !printer.pool.is_told() {
        printer = Printer::new(&program, Order::Listed);
        printer.print(bytes.len(), pool);
    }
    Ok(printer.out)
}

/// What is said of a file that is no program.
pub fn not_a_program(name: &str, error: &ReadError) -> Diagnostic {
    let fault =
        Diagnostic::error(codes::NOT_A_PROGRAM, format!("`{name}` is no program that generates tasks"))
            .note(error.to_string());
    match error {
        ReadError::Magic { .. } => fault.help("give a file that `wsp asm` wrote"),
        _ => fault.help("write the file again"),
    }
}

/// A program while it is printed.
pub(super) struct Printer<'p> {
    program: &'p Program<'p>,
    stored: Stored,
    symbols: Rc<Symbols>,
    pool: Pool<'p>,
    /// The text of each expression that was printed.
    texts: Vec<Option<String>>,
    inline: usize,
    /// Words at which a line begins and which are named by others.
    labels: OrderedSet<u32>,
    out: String,
}

impl<'p> Printer<'p> {
    fn new(program: &'p Program<'p>, order: Order) -> Printer<'p> {
        let stored = names::stored(program);
        let counts = [
            usize::from(program.counts.values),
            usize::from(program.counts.tables),
            program.axes.len(),
            program.kernels.len(),
            program.tensors.len(),
        ];
        let symbols = match &stored {
            Stored::Named(names) => Symbols::of(names),
            Stored::None | Stored::Bytes => Symbols::of(&counts.map(|count| vec![None; count])),
        };
        let pool = Pool::new(program.exprs, order);
        let texts = vec![None; pool.items.len()];
        let symbols = Rc::new(symbols);
        Printer {
            program,
            stored,
            symbols,
            pool,
            texts,
            inline: 0,
            labels: OrderedSet::new(),
            out: String::new(),
        }
    }

    fn print(&mut self, bytes: usize, pool: EmptyPool) {
        let _ = writeln!(self.out, "; {bytes} bytes, {} words of instructions", self.program.words.len());
        self.tables(pool);
        self.code();
    }

    /// A line of the tables.
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// An operand as its kind says; what names nothing is a number behind `#`.
    fn operand(&mut self, kind: Operand, value: u32) -> String {
        match kind {
            Operand::Expr | Operand::Key => self.expr(value),
            Operand::OptExpr | Operand::OptKey if value == u32::MAX => "-".to_owned(),
            Operand::OptExpr | Operand::OptKey => self.expr(value),
            Operand::OptBody if value == 0 => "-".to_owned(),
            Operand::Body | Operand::OptBody if self.labels.contains(&value) => format!("L{value}"),
            _ => self.named(kind, value).unwrap_or_else(|| format!("#{value}")),
        }
    }

    /// An operand that is no expression and no place, if it names something.
    fn named(&self, kind: Operand, value: u32) -> Option<String> {
        let symbol = |kind| self.symbols.symbol(kind, value).map(str::to_owned);
        match kind {
            Operand::Axis => symbol(Kind::Axis),
            Operand::Kernel => symbol(Kind::Kernel),
            Operand::Tensor => symbol(Kind::Tensor),
            Operand::Value => symbol(Kind::Value),
            Operand::Table => symbol(Kind::Table),
            Operand::Depth => Some(format!("i{value}")),
            Operand::Imm => Some((value as i32).to_string()),
            Operand::Label => Some(format!("label {value}")),
            Operand::Generator => Some(format!("generator {value}")),
            Operand::Channel => Some(format!("channel {value}")),
            Operand::Slot | Operand::Count => Some(value.to_string()),
            Operand::None
            | Operand::Expr
            | Operand::OptExpr
            | Operand::OptKey
            | Operand::Key
            | Operand::Body
            | Operand::OptBody
            | Operand::Policy
            | Operand::TaskCounts => None,
        }
    }

    /// The expression that begins at a word of the pool; by its place, such as `@12`, where its text would not lead there.
    fn expr(&mut self, at: u32) -> String {
        let by_place = format!("@{at}");
        let Some(index) = self.pool.use_of(at) else { return by_place };
        let text = self.expression(index);
        self.inline = self.inline.saturating_add(text.len());
        if self.inline > MAX_INLINE {
            self.pool.give_up();
            return by_place;
        }
        text
    }

    /// The text of an expression of the pool: infix, or its words in braces.
    fn expression(&mut self, index: usize) -> String {
        if let Some(Some(text)) = self.texts.get(index) {
            return text.clone();
        }
        let words = self.pool.items.get(index).map_or(&[][..], |item| item.words);
        let infix = infix::infix(self, words)
            .filter(|text| parse::expression(&self.symbols, text).as_deref() == Some(words));
        let text = infix.unwrap_or_else(|| self.postfix(words));
        if let Some(place) = self.texts.get_mut(index) {
            *place = Some(text.clone());
        }
        text
    }

    /// Expression words by name.
    fn postfix(&mut self, words: &[Word]) -> String {
        let mut text = String::from("{");
        for (n, word) in words.iter().enumerate() {
            let Some(op) = XOp::from_code(word.opcode) else { continue };
            let info = op.info();
            text.push_str(if n == 0 { "" } else { ", " });
            text.push_str(info.mnemonic);
            if info.operand != Operand::None {
                text.push(' ');
                text.push_str(&self.operand(info.operand, word.operand2));
            }
        }
        text.push('}');
        text
    }
}

/// A word that has no other form.
fn raw(directive: &str, word: &Word) -> String {
    format!("{directive} {:#04x} {} {} {}", word.opcode, word.flags, word.operand1, word.operand2)
}
