//! The state of one function body while it is lowered: variables, scopes, loops.

use std::rc::Rc;
use wsp_core::{LocalId, SpaceId, StructId, TierSetId};
use wsp_diag::Span;
use wsp_ir::{ArrayRef, Expr, Local, LocalTy, ScalarTy};
use wsp_ordered::OrderedMap;

/// What the code being lowered is for, which decides what it may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyKind {
    /// An expression whose value is known at launch; the text says what it is for.
    Launch(&'static str),
    /// `PTO_KERNEL_IMPL`.
    Kernel,
    /// `PTO_DESCRIPTOR_GEN`.
    Generator(SpaceId),
    /// A function that returns a scalar.
    Helper(ScalarTy),
    /// An inline function that nobody calls: checked by itself, the result is dropped.
    Probe,
}

/// What a name of a body means.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    /// A scalar variable.
    Scalar {
        /// The variable.
        local: LocalId,
        /// Its type.
        ty: ScalarTy,
        /// Why it cannot be assigned; none when it can.
        fixed: Option<&'static str>,
        /// Its value as an expression over parameters, when it has one.
        known: Option<Rc<Expr>>,
    },
    /// A value in place of the name: a template argument or a folded constant.
    Literal(Expr),
    /// An integer array.
    Array(ArrayRef, ScalarTy),
    /// A tile.
    Tile(LocalId),
    /// The descriptor of the running task.
    Descriptor(LocalId, StructId),
    /// The free name of a tier condition.
    Selector,
    /// A name whose definition is wrong; that has been reported.
    Poison,
}

impl Binding {
    /// What it is, with an article.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Binding::Scalar { .. } | Binding::Literal(_) | Binding::Selector => "a number",
            Binding::Array(..) => "an array",
            Binding::Tile(_) => "a tile",
            Binding::Descriptor(..) => "the descriptor",
            Binding::Poison => "not usable",
        }
    }
}

/// A loop around the statement being lowered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loop {
    /// Its index variables, in order.
    pub(crate) vars: Vec<LocalId>,
    /// It is a `PTO_SCHEDULED_FOR`.
    pub(crate) scheduled: bool,
}

/// An index that a key of workspace has beside those that its call gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddedIndex {
    /// Of an axis, by its place in the space.
    Axis(usize),
    /// Of any other loop.
    Loop(LocalId),
}

/// What a key of workspace is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KeyForm {
    /// Whose slots.
    pub(crate) tiers: TierSetId,
    /// Whether the slots of an axis lie side by side.
    pub(crate) grouped: bool,
    /// Indices that the call gives.
    pub(crate) given: usize,
    /// Those that are added, in order.
    pub(crate) added: Vec<AddedIndex>,
}

/// One `{ … }`: what each name means and where it was declared.
type Scope = OrderedMap<Rc<str>, (Binding, Span)>;

/// Where an inline function's code begins: outer names and loops are hidden from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    scopes: usize,
    loops: usize,
}

/// One function body.
#[derive(Debug)]
pub(crate) struct Body {
    /// What the code is for.
    pub(crate) kind: BodyKind,
    /// Parameters, then variables.
    pub(crate) locals: Vec<Local>,
    /// The loops around the current statement, outermost first.
    pub(crate) loops: Vec<Loop>,
    /// The descriptor type of a kernel; the descriptor is local 0.
    pub(crate) descriptor: Option<StructId>,
    /// Variables that hold a tier, and of which set; none for those that are given tiers of several.
    pub(crate) tier_of: OrderedMap<LocalId, Option<TierSetId>>,
    /// Names with a value over parameters stand for that value.
    pub(crate) expand: bool,
    /// Inside the body of an inline function.
    pub(crate) inlined: bool,
    /// The forms of the keys so far, each with the words that its keys have.
    key_forms: Vec<(KeyForm, usize)>,
    known: OrderedMap<LocalId, Rc<Expr>>,
    scopes: Vec<Scope>,
    frame: Frame,
}

impl Body {
    /// An empty body.
    pub(crate) fn new(kind: BodyKind) -> Body {
        Body {
            kind,
            locals: Vec::new(),
            loops: Vec::new(),
            descriptor: None,
            tier_of: OrderedMap::new(),
            expand: matches!(kind, BodyKind::Launch(_)),
            inlined: false,
            key_forms: Vec::new(),
            known: OrderedMap::new(),
            scopes: vec![Scope::new()],
            frame: Frame { scopes: 0, loops: 0 },
        }
    }

    /// Adds a variable that has no name yet.
    pub(crate) fn local(&mut self, name: &str, ty: LocalTy, span: Span) -> LocalId {
        self.locals.push(Local { name: name.to_owned(), ty, span });
        LocalId(
            u32::try_from(self.locals.len() - 1)
                .expect("the size limits keep the count of locals within 32 bits"),
        )
    }

    /// Words of the keys of a form, which has at least `words`. Keys of two forms are equal only by chance, so that each form
    /// has a length of its own.
    pub(crate) fn key_words(&mut self, form: KeyForm, words: usize) -> usize {
        if let Some((_, words)) = self.key_forms.iter().find(|(known, _)| *known == form) {
            return *words;
        }
        let taken = |words: usize| {
            self.key_forms.iter().any(|(other, known)| other.tiers == form.tiers && *known == words)
        };
        let mut words = words;
        while taken(words) {
            words += 1;
        }
        self.key_forms.push((form, words));
        words
    }

    /// Opens a scope.
    pub(crate) fn push_scope(&mut self) {
        self.scopes.push(Scope::new());
    }

    /// Closes the innermost scope.
    pub(crate) fn pop_scope(&mut self) {
        self.scopes.pop();
    }

    /// Opens the scope of an inline function.
    pub(crate) fn enter_frame(&mut self) -> (Frame, bool) {
        let before = (self.frame, self.inlined);
        self.frame = Frame { scopes: self.scopes.len(), loops: self.loops.len() };
        self.inlined = true;
        self.push_scope();
        before
    }

    /// Closes it; `before` is what [`Body::enter_frame`] returned.
    pub(crate) fn leave_frame(&mut self, before: (Frame, bool)) {
        self.pop_scope();
        (self.frame, self.inlined) = before;
    }

    /// Whether `break` and `continue` have a loop to act on.
    pub(crate) fn in_loop(&self) -> bool {
        self.loops.len() > self.frame.loops
    }

    /// What a name means, innermost scope first.
    pub(crate) fn find(&self, name: &str) -> Option<&Binding> {
        self.scopes[self.frame.scopes..]
            .iter()
            .rev()
            .find_map(|scope| scope.get(name))
            .map(|(binding, _)| binding)
    }

    /// Gives a name a meaning in the innermost scope; where it already has one there, that place is returned.
    pub(crate) fn bind(&mut self, name: &Rc<str>, binding: Binding, span: Span) -> Result<(), Span> {
        let scope = self.scopes.last_mut().expect("a body always has a scope");
        match scope.get(name) {
            Some((_, earlier)) => Err(*earlier),
            None => {
                if let Binding::Scalar { local, known: Some(known), .. } = &binding {
                    self.known.insert(*local, known.clone());
                }
                scope.insert(name.clone(), (binding, span));
                Ok(())
            }
        }
    }

    /// What a constant variable is known to be.
    pub(crate) fn known(&self, local: LocalId) -> Option<&Rc<Expr>> {
        self.known.get(&local)
    }

    /// Every visible name.
    pub(crate) fn visible(&self) -> impl Iterator<Item = &str> {
        self.scopes[self.frame.scopes..].iter().rev().flat_map(|scope| scope.keys().map(|name| &**name))
    }

    /// The name by which the descriptor is known here, if it has one.
    pub(crate) fn descriptor_name(&self) -> Option<(&str, StructId)> {
        self.scopes[self.frame.scopes..].iter().rev().flat_map(|scope| scope.iter()).find_map(
            |(name, (binding, _))| match binding {
                Binding::Descriptor(_, of) => Some((&**name, *of)),
                _ => None,
            },
        )
    }
}
