//! Numbers, strings, ids, lists: what the tables are made of.

use super::node::{Args, Names, Parsed, Text};
use super::tree::{Fault, Node, Tree};
use wsp_core::{
    AxisId, CacheId, FuncId, GraphId, LocalId, ParamId, ScheduleId, SpaceId, StructId, TensorId, TierSetId,
};

/// A bare word.
fn bare<'t>(tree: &'t Tree, expected: &str) -> Parsed<&'t str> {
    match &tree.node {
        Node::Word(word) => Ok(word),
        Node::Text(_) | Node::Form(_) | Node::List(_) => {
            Err(Fault::new(tree.at, format!("expected {expected}")))
        }
    }
}

/// The items of a list.
fn list(tree: &Tree) -> Parsed<&[Tree]> {
    match &tree.node {
        Node::List(items) => Ok(items),
        Node::Word(_) | Node::Text(_) | Node::Form(_) => Err(Fault::new(tree.at, "expected a list")),
    }
}

macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl Text for $ty {
            fn print(&self, _: Names<'_>) -> Tree {
                Tree::word(self.to_string())
            }

            fn parse(tree: &Tree) -> Parsed<$ty> {
                let expected = concat!("a number of type ", stringify!($ty));
                bare(tree, expected)?.parse().map_err(|_| Fault::new(tree.at, format!("expected {expected}")))
            }
        }
    )*};
}

numbers!(u8 u32);

impl Text for bool {
    fn print(&self, _: Names<'_>) -> Tree {
        Tree::word(self.to_string())
    }

    fn parse(tree: &Tree) -> Parsed<bool> {
        match bare(tree, "`true` or `false`")? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Fault::new(tree.at, "expected `true` or `false`")),
        }
    }

    fn is_absent(&self) -> bool {
        !self
    }

    fn absent() -> Option<bool> {
        Some(false)
    }
}

impl Text for String {
    fn print(&self, _: Names<'_>) -> Tree {
        Tree::text(self.as_str())
    }

    fn parse(tree: &Tree) -> Parsed<String> {
        match &tree.node {
            Node::Text(text) => Ok(text.clone()),
            Node::Word(_) | Node::Form(_) | Node::List(_) => Err(Fault::new(tree.at, "expected a string")),
        }
    }
}

impl<T: Text> Text for Box<T> {
    fn print(&self, names: Names<'_>) -> Tree {
        T::print(self, names)
    }

    fn parse(tree: &Tree) -> Parsed<Box<T>> {
        T::parse(tree).map(Box::new)
    }
}

impl<T: Text> Text for Option<T> {
    fn print(&self, names: Names<'_>) -> Tree {
        match self {
            Some(value) => value.print(names),
            None => Tree::word("none"),
        }
    }

    fn parse(tree: &Tree) -> Parsed<Option<T>> {
        match &tree.node {
            Node::Word(word) if word == "none" => Ok(None),
            _ => T::parse(tree).map(Some),
        }
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

impl<T: Text> Text for Vec<T> {
    fn print(&self, names: Names<'_>) -> Tree {
        Tree::list(self.iter().map(|item| item.print(names)).collect())
    }

    fn parse(tree: &Tree) -> Parsed<Vec<T>> {
        let items = list(tree)?;
        let mut values = Vec::with_capacity(items.len());
        // A plain loop: it takes a third of the stack that collecting results does.
        for item in items {
            values.push(T::parse(item)?);
        }
        Ok(values)
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn absent() -> Option<Vec<T>> {
        Some(Vec::new())
    }
}

impl<A: Text, B: Text> Text for (A, B) {
    fn print(&self, names: Names<'_>) -> Tree {
        Tree::list(vec![self.0.print(names), self.1.print(names)])
    }

    fn parse(tree: &Tree) -> Parsed<(A, B)> {
        match &tree.node {
            Node::List(items) if items.len() == 2 => Ok((A::parse(&items[0])?, B::parse(&items[1])?)),
            _ => Err(Fault::new(tree.at, "expected a pair `[… …]`")),
        }
    }
}

/// An id with its letters, and where to find its name.
pub(super) trait Id: Sized {
    /// The letters before the number.
    const LETTERS: &'static str;

    /// The id as a word.
    fn to_word(&self, names: Names<'_>) -> String;

    /// The id that a word stands for.
    fn from_word(word: &str) -> Option<Self>;
}

/// Whether a name can follow an id: it holds nothing that ends a word or splits off a type.
fn follows(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
}

macro_rules! ids {
    ($($ty:ident $letters:literal $table:ident . $field:ident;)*) => {$(
        impl Id for $ty {
            const LETTERS: &'static str = $letters;

            fn to_word(&self, names: Names<'_>) -> String {
                let name = names.$table.and_then(|t| t.$field.get(self.index())).map(|entry| entry.name.as_str());
                match name.filter(|name| follows(name)) {
                    Some(name) => format!("{}{}.{name}", $letters, self.0),
                    None => format!("{}{}", $letters, self.0),
                }
            }

            fn from_word(word: &str) -> Option<$ty> {
                let number = word.strip_prefix($letters)?;
                let number = number.split_once('.').map_or(number, |(number, _)| number);
                let digits = number.bytes().all(|b| b.is_ascii_digit());
                number.parse().ok().filter(|_| digits).map($ty)
            }
        }

        impl Text for $ty {
            fn print(&self, names: Names<'_>) -> Tree {
                Tree::word(self.to_word(names))
            }

            fn parse(tree: &Tree) -> Parsed<$ty> {
                let args = Args::of(tree)?;
                let id = $ty::from_word(args.head).ok_or_else(|| {
                    Fault::new(tree.at, format!("expected an id like `{}0`", $ty::LETTERS))
                })?;
                args.done()?;
                Ok(id)
            }
        }

        #[cfg(test)]
        impl super::random::Random for $ty {
            fn random(bytes: &mut super::random::Bytes<'_>) -> $ty {
                $ty(super::random::Random::random(bytes))
            }
        }
    )*};
}

ids! {
    AxisId "ax" module.axes;
    CacheId "c" module.caches;
    FuncId "f" module.functions;
    GraphId "g" module.graphs;
    LocalId "l" function.locals;
    ParamId "p" module.params;
    ScheduleId "sch" module.schedules;
    SpaceId "s" module.spaces;
    StructId "d" module.structs;
    TensorId "t" module.tensors;
    TierSetId "ts" module.tier_sets;
}
