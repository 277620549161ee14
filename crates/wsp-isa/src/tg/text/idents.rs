//! Identifiers of a text as small numbers, with what each of them stands for.

use super::words::WORDS;
use wsp_core::tg::{OPS, Op};

/// An identifier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Ident(pub(super) u32);

/// No number, constant, symbol and so on.
pub(super) const NOTHING: u32 = u32::MAX;

/// An identifier and what it stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'t> {
    pub(super) text: &'t str,
    hash: u32,
    /// Its symbol in the unit.
    pub(super) symbol: u32,
    /// Its place among the constants.
    pub(super) constant: u32,
    /// Its place among the scalars that are given from outside.
    pub(super) arg: u32,
    /// In which run of kernels, counted over all graphs, it is a kernel.
    pub(super) kernel_in: u32,
    /// Which kernel it is there.
    pub(super) kernel: u32,
    /// In which run of kernels it was defined last.
    pub(super) kernel_defined_in: u32,
    /// Which tensor it is.
    pub(super) tensor: u32,
    /// Whether that is declared.
    pub(super) tensor_declared: bool,
}

/// All identifiers of a text. Mnemonics and [`WORDS`] have the first numbers.
#[derive(Debug)]
pub(super) struct Idents<'t> {
    rows: Vec<Row<'t>>,
    /// Places in `rows`, by hash; a power of two of them, at most half of them taken.
    slots: Vec<u32>,
}

impl<'t> Idents<'t> {
    /// Those that have a meaning.
    pub(super) fn new() -> Idents<'t> {
        let mut idents = Idents { rows: Vec::new(), slots: vec![NOTHING; 256] };
        for info in OPS {
            idents.intern(info.mnemonic);
        }
        for word in WORDS {
            idents.intern(word);
        }
        idents
    }

    /// The identifier with this text.
    #[inline]
    pub(super) fn intern(&mut self, text: &'t str) -> Ident {
        let hash = hash(text.as_bytes());
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        // An empty slot holds no row.
        while let Some((&at, row)) =
            self.slots.get(slot).and_then(|at| Some((at, self.rows.get(*at as usize)?)))
        {
            if row.hash == hash && row.text == text {
                return Ident(at);
            }
            slot = (slot + 1) & mask;
        }
        self.add(text, hash, slot)
    }

    #[cold]
    fn add(&mut self, text: &'t str, hash: u32, slot: usize) -> Ident {
        let ident = Ident(self.rows.len() as u32);
        self.rows.push(Row {
            text,
            hash,
            symbol: NOTHING,
            constant: NOTHING,
            arg: NOTHING,
            kernel_in: NOTHING,
            kernel: NOTHING,
            kernel_defined_in: NOTHING,
            tensor: NOTHING,
            tensor_declared: false,
        });
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = ident.0;
        }
        if self.rows.len() * 2 > self.slots.len() {
            self.grow();
        }
        ident
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![NOTHING; mask + 1];
        for (at, row) in self.rows.iter().enumerate() {
            let mut slot = row.hash as usize & mask;
            while slots[slot] != NOTHING {
                slot = (slot + 1) & mask;
            }
            slots[slot] = at as u32;
        }
        self.slots = slots;
    }

    /// What an identifier stands for.
    #[inline]
    pub(super) fn row(&self, ident: Ident) -> &Row<'t> {
        &self.rows[ident.0 as usize]
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn row_mut(&mut self, ident: Ident) -> &mut Row<'t> {
        &mut self.rows[ident.0 as usize]
    }

    /// Every identifier, in the order in which they appeared.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Row<'t>> {
        self.rows.iter()
    }
}

impl Ident {
    /// The instruction that it is.
    #[inline]
    pub(super) fn op(self) -> Option<Op> {
        OPS.get(self.0 as usize).map(|info| info.op)
    }

    /// The word of [`WORDS`] that it is; nothing for other identifiers.
    #[inline]
    pub(super) fn word(self) -> &'static str {
        WORDS.get((self.0 as usize).wrapping_sub(OPS.len())).copied().unwrap_or("")
    }
}

fn hash(bytes: &[u8]) -> u32 {
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state = (state.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(MULTIPLIER);
    }
    let tail = rest.iter().fold(0u64, |tail, &byte| tail << 8 | u64::from(byte));
    state = (state.rotate_left(5) ^ tail).wrapping_mul(MULTIPLIER);
    (state >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_identifier() {
        let texts: Vec<String> = (0..2000).map(|n| format!("kernel_{n}")).collect();
        let mut idents = Idents::new();
        let first: Vec<Ident> = texts.iter().map(|text| idents.intern(text)).collect();
        let again: Vec<Ident> = texts.iter().map(|text| idents.intern(text)).collect();
        assert_eq!(first, again);
        assert!(texts.iter().zip(&first).all(|(text, &ident)| idents.row(ident).text == text));
    }

    #[test]
    fn mnemonics_and_words_are_known() {
        let mut idents = Idents::new();
        assert_eq!(idents.intern("TG_KERNEL").op(), Some(Op::TgKernel));
        assert_eq!(idents.intern("extern").word(), "extern");
        let other = idents.intern("TG_KERNELS");
        assert_eq!((other.op(), other.word()), (None, ""));
    }
}
