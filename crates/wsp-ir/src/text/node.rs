//! What it takes to give a type its text form: one line in [`record`] or [`choice`].
//!
//! Both macros write printing and parsing from one list, and both take values apart without `..`: a field or variant
//! that the list lacks does not compile.

use super::tree::{Fault, Node, Tree};
use crate::{Function, Module};
use wsp_diag::did_you_mean;

/// What parsing yields.
pub(super) type Parsed<T> = Result<T, Fault>;

/// A value with a text form.
pub(super) trait Text: Sized {
    /// Its tree.
    fn print(&self, names: Names<'_>) -> Tree;

    /// The value of a tree.
    fn parse(tree: &Tree) -> Parsed<Self>;

    /// Whether a field with this value is left out.
    fn is_absent(&self) -> bool {
        false
    }

    /// The value of a field that is left out, for types where one can be.
    fn absent() -> Option<Self> {
        None
    }
}

/// An enum, whose text begins with a word per variant.
pub(super) trait Choice: Sized {
    /// The words of the variants.
    const HEADS: &'static [&'static str];

    /// The word of this variant.
    fn head(&self) -> &'static str;

    /// Adds the values of this variant.
    fn fill(&self, form: &mut Form<'_>);

    /// The variant with this word.
    fn take(head: &str, args: &mut Args<'_>) -> Parsed<Self>;
}

/// Where names of ids come from.
#[derive(Clone, Copy)]
pub(super) struct Names<'m> {
    pub(super) module: Option<&'m Module>,
    pub(super) function: Option<&'m Function>,
}

impl<'m> Names<'m> {
    pub(super) fn of(module: &'m Module) -> Names<'m> {
        Names { module: Some(module), function: None }
    }

    /// The names inside a function.
    pub(super) fn within<'f>(self, function: &'f Function) -> Names<'f>
    where
        'm: 'f,
    {
        Names { module: self.module, function: Some(function) }
    }
}

/// A form in the making.
pub(super) struct Form<'m> {
    items: Vec<Tree>,
    names: Names<'m>,
}

impl<'m> Form<'m> {
    pub(super) fn new(head: impl Into<String>, names: Names<'m>) -> Form<'m> {
        Form { items: vec![Tree::word(head)], names }
    }

    pub(super) fn item(&mut self, value: &impl Text) {
        self.items.push(value.print(self.names));
    }

    pub(super) fn keyword(&mut self, name: &str, value: &impl Text) {
        if !value.is_absent() {
            self.name(name);
            self.item(value);
        }
    }

    /// The name before a value. It stands once for values of all types, as [`Args::lacks`] does.
    #[inline(never)]
    fn name(&mut self, name: &str) {
        self.items.push(Tree::word(format!("{name}:")));
    }

    /// The tree: a word when there is nothing but the head.
    pub(super) fn done(mut self) -> Tree {
        match self.items.pop() {
            Some(head) if self.items.is_empty() => head,
            last => {
                self.items.extend(last);
                Tree::form(self.items)
            }
        }
    }
}

/// The parts of a form, taken one by one.
pub(super) struct Args<'t> {
    pub(super) head: &'t str,
    pub(super) at: (u32, u32),
    rest: &'t [Tree],
}

impl<'t> Args<'t> {
    /// Takes a form or a bare word apart.
    pub(super) fn of(tree: &'t Tree) -> Parsed<Args<'t>> {
        let (first, rest) = match &tree.node {
            Node::Word(_) => (Some(tree), &[][..]),
            Node::Form(items) => (items.first(), items.get(1..).unwrap_or_default()),
            Node::Text(_) | Node::List(_) => (None, &[][..]),
        };
        match first.map(|t| &t.node) {
            Some(Node::Word(head)) => Ok(Args { head, at: tree.at, rest }),
            _ => Err(Fault::new(tree.at, "expected a word or `(word …)`")),
        }
    }

    /// The next part, given by place.
    pub(super) fn item<T: Text>(&mut self, name: &str) -> Parsed<T> {
        match self.next() {
            Some(part) => T::parse(part),
            None => Err(self.lacks_item(name)),
        }
    }

    /// The next part, given by name.
    pub(super) fn keyword<T: Text>(&mut self, name: &str) -> Parsed<T> {
        if self.is_next(name) { self.item(name) } else { T::absent().ok_or_else(|| self.lacks(name)) }
    }

    fn next(&mut self) -> Option<&'t Tree> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Whether the next part has this name, which is taken then.
    fn is_next(&mut self, name: &str) -> bool {
        let is = matches!(self.rest.first(), Some(Tree { node: Node::Word(word), .. }) if word.strip_suffix(':') == Some(name));
        if is {
            self.next();
        }
        is
    }

    #[cold]
    fn lacks(&self, name: &str) -> Fault {
        let at = self.rest.first().map_or(self.at, |part| part.at);
        Fault::new(at, format!("`{}` lacks `{name}:` here", self.head))
    }

    /// [`Args::lacks`], of a part given by place.
    #[cold]
    fn lacks_item(&self, name: &str) -> Fault {
        Fault::new(self.at, format!("`{}` lacks its {name}", self.head))
    }

    /// Nothing may be left.
    pub(super) fn done(self) -> Parsed<()> {
        match self.rest.first() {
            Some(extra) => Err(Fault::new(extra.at, format!("`{}` has no such part here", self.head))),
            None => Ok(()),
        }
    }

    /// The head is none of these words.
    pub(super) fn unknown(&self, head: &str, known: &[&'static str]) -> Fault {
        let meant = did_you_mean(head, known.iter().copied()).map(str::to_owned);
        Fault { at: self.at, message: format!("unknown word `{head}`"), meant }
    }
}

/// Prints a variant.
pub(super) fn print_choice<T: Choice>(value: &T, names: Names<'_>) -> Tree {
    let mut form = Form::new(value.head(), names);
    value.fill(&mut form);
    form.done()
}

/// Reads a variant.
pub(super) fn parse_choice<T: Choice>(tree: &Tree) -> Parsed<T> {
    let mut args = Args::of(tree)?;
    let value = T::take(args.head, &mut args)?;
    args.done()?;
    Ok(value)
}

/// Text forms of structs: `"head" => Type { fields; span }`, where `span` is the field that is not printed. A word after
/// the braces names the method of [`Names`] that gives the names inside.
macro_rules! record {
    ($($head:literal => $ty:ident { $($field:ident),* $(; $span:ident)? } $($scope:ident)?;)*) => {$(
        impl Text for $ty {
            fn print(&self, names: Names<'_>) -> Tree {
                $(let names = names.$scope(self);)?
                let $ty { $($field,)* $($span: _)? } = self;
                let mut form = Form::new($head, names);
                $(form.keyword(stringify!($field), $field);)*
                form.done()
            }

            fn parse(tree: &Tree) -> Parsed<$ty> {
                let mut args = Args::of(tree)?;
                if args.head != $head {
                    return Err(args.unknown(args.head, &[$head]));
                }
                let value = $ty {
                    $($field: args.keyword(stringify!($field))?,)*
                    $($span: wsp_diag::Span::default())?
                };
                args.done()?;
                Ok(value)
            }
        }

        #[cfg(test)]
        impl $crate::text::random::Random for $ty {
            fn random(bytes: &mut $crate::text::random::Bytes<'_>) -> $ty {
                $ty {
                    $($field: $crate::text::random::Random::random(bytes),)*
                    $($span: wsp_diag::Span::default())?
                }
            }
        }
    )*};
}

/// Text forms of enums: `Type { "head" => Variant, "head" => Variant(values), "head" => Variant { fields } }`.
macro_rules! choice {
    ($($ty:ident {
        $($head:literal => $variant:ident $(($($item:ident),*))? $({$($field:ident),*})?),* $(,)?
    })*) => {$(
        impl Choice for $ty {
            const HEADS: &'static [&'static str] = &[$($head),*];

            fn head(&self) -> &'static str {
                match self {
                    $($ty::$variant { .. } => $head,)*
                }
            }

            fn fill(&self, form: &mut Form<'_>) {
                let _ = &form;
                match self {
                    $($ty::$variant $(($($item),*))? $({$($field),*})? => {
                        $($(form.item($item);)*)?
                        $($(form.keyword(stringify!($field), $field);)*)?
                    })*
                }
            }

            fn take(head: &str, args: &mut Args<'_>) -> Parsed<$ty> {
                match head {
                    $($head => {
                        // A function of its own: recursion then takes the stack of one variant, not of all.
                        #[inline(never)]
                        fn variant(args: &mut Args<'_>) -> Parsed<$ty> {
                            let _ = &args;
                            Ok($ty::$variant
                                $(($(args.item(stringify!($item))?),*))?
                                $({$($field: args.keyword(stringify!($field))?),*})?)
                        }
                        variant(args)
                    })*
                    _ => Err(args.unknown(head, Self::HEADS)),
                }
            }
        }

        #[cfg(test)]
        impl $crate::text::random::Random for $ty {
            fn random(bytes: &mut $crate::text::random::Bytes<'_>) -> $ty {
                let mut choice = bytes.below(<$ty as Choice>::HEADS.len());
                $(
                    if choice == 0 {
                        return $ty::$variant
                            $(($({
                                let _ = stringify!($item);
                                $crate::text::random::Random::random(bytes)
                            }),*))?
                            $({$($field: $crate::text::random::Random::random(bytes)),*})?;
                    }
                    choice -= 1;
                )*
                unreachable!("{choice} variants too many")
            }
        }
    )*};
}

/// Text forms of enums that print as they are; the others are part of another text.
macro_rules! plain_choice {
    ($($ty:ident)*) => {$(
        impl Text for $ty {
            fn print(&self, names: Names<'_>) -> Tree {
                print_choice(self, names)
            }

            fn parse(tree: &Tree) -> Parsed<$ty> {
                parse_choice(tree)
            }
        }
    )*};
}

pub(super) use {choice, plain_choice, record};
