//! Descriptor types: their fields, and who takes them.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::diags::{Reported, Res};
use super::names::quoted;
use super::types::Head;
use crate::ast::{self, Indirection};
use std::rc::Rc;
use wsp_core::words::counted;
use wsp_core::{FuncId, StructId, TierSetId, limits};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Consumer, Field, ScalarTy};

/// A descriptor type as declared.
pub(crate) struct StructInfo<'a> {
    /// The declaration.
    pub(crate) decl: &'a ast::Struct,
    /// Its fields.
    pub(crate) fields: Vec<FieldInfo>,
    /// A field of it is wrong, so that its layout is not known.
    pub(crate) broken: bool,
}

/// A field as declared.
#[derive(Clone)]
pub(crate) struct FieldInfo {
    /// Its name.
    pub(crate) name: Rc<str>,
    /// Index of its first word.
    pub(crate) word: u32,
    /// Its length when it is an array.
    pub(crate) len: Option<u32>,
}

impl<'a> StructInfo<'a> {
    /// A type whose fields are still to be looked at.
    pub(crate) fn new(decl: &'a ast::Struct) -> StructInfo<'a> {
        StructInfo { decl, fields: Vec::new(), broken: false }
    }

    /// The field with this name.
    pub(crate) fn field(&self, name: &str) -> Option<&FieldInfo> {
        self.fields.iter().find(|f| &*f.name == name)
    }
}

impl Sema<'_> {
    /// Lowers the fields of every descriptor type.
    pub(crate) fn lower_structs(&mut self) {
        for at in 0..self.structs.len() {
            let decl = self.structs[at].decl;
            for field in &decl.fields {
                match self.lower_field(at, field) {
                    Ok(true) => {}
                    Ok(false) => {
                        self.too_long(at, field);
                        self.structs[at].broken = true;
                        break;
                    }
                    Err(_) => self.structs[at].broken = true,
                }
            }
        }
    }

    /// Reports the first field that a descriptor has no room for.
    fn too_long(&mut self, at: usize, field: &ast::StructField) -> Reported {
        let decl = self.structs[at].decl;
        let d = Diagnostic::error(
            codes::LARGE_DESCRIPTOR,
            format!("descriptor `{}` is too long", decl.name.as_str()),
        )
        .at(field.span, "this field does not fit any more")
        .note(format!("a descriptor has at most {} of 32 bits", counted(limits::MAX_PAYLOAD_WORDS, "word")))
        .help("keep indices and bounds, let the kernel work out the rest")
        .help("or put the data into a tensor and its index into the descriptor");
        self.fail(d)
    }

    /// Adds a field, or tells that there is no room for it.
    fn lower_field(&mut self, at: usize, field: &ast::StructField) -> Res<bool> {
        let name = field.name.as_str();
        if let Some(earlier) = self.structs[at].decl.fields.iter().find(|f| f.name.name == field.name.name)
            && earlier.span != field.span
            && self.structs[at].field(name).is_some()
        {
            return Err(self.fail(
                Diagnostic::error(codes::DUPLICATE_FIELD, format!("two fields are named `{name}`"))
                    .at(field.name.span, "again here")
                    .label(earlier.name.span, "first here"),
            ));
        }
        self.check_field_type(field)?;
        let len = match &field.len {
            Some(e) => Some(self.field_count(e)?),
            None => None,
        };
        let word = self.module.structs[at].fields.len() as u32;
        if word.saturating_add(len.unwrap_or(1)) > limits::MAX_PAYLOAD_WORDS {
            return Ok(false);
        }
        let span = field.name.span;
        let words = &mut self.module.structs[at].fields;
        match len {
            Some(n) => words.extend((0..n).map(|i| Field { name: format!("{name}[{i}]"), span })),
            None => words.push(Field { name: name.to_owned(), span }),
        }
        self.structs[at].fields.push(FieldInfo { name: field.name.name.clone(), word, len });
        Ok(true)
    }

    fn check_field_type(&mut self, field: &ast::StructField) -> Res<()> {
        let pointer = field.ty.indirection != Indirection::None;
        let head = if pointer { None } else { Some(self.head(&field.ty)?) };
        if head == Some(Head::Scalar(ScalarTy::U32)) {
            return Ok(());
        }
        let (message, help) = if pointer {
            ("a descriptor holds no pointers", "store an index or an offset: `uint32_t`")
        } else {
            ("fields of a descriptor are `uint32_t`", "store an index, a bound or an offset: `uint32_t`")
        };
        Err(self.fail(
            Diagnostic::error(codes::BAD_FIELD_TYPE, message)
                .at(field.span, format!("`{}` is something else", field.name.as_str()))
                .help(help),
        ))
    }

    fn field_count(&mut self, e: &ast::Expr) -> Res<u32> {
        let mut b = Body::new(BodyKind::Launch("the length of a field"));
        let count = self.launch_value(&mut b, e, ScalarTy::U32, "the length of a field")?;
        match count.as_const_int().and_then(|n| u32::try_from(n).ok()) {
            Some(n) if n > 0 => Ok(n),
            Some(_) => Err(self.fail(
                Diagnostic::error(codes::BAD_FIELD_COUNT, "a field of length 0").at(e.span, "this is 0"),
            )),
            None => Err(self.fail(
                Diagnostic::error(codes::BAD_FIELD_COUNT, "the length of a field must be a constant")
                    .at(e.span, "known only at launch")
                    .help("use a literal, or a `const` made of literals"),
            )),
        }
    }

    /// The names of all words of a descriptor type.
    pub(crate) fn field_names(&self, of: StructId) -> Vec<String> {
        self.module.structs[of.index()].fields.iter().map(|f| f.name.clone()).collect()
    }

    /// Works out who takes each descriptor type.
    pub(crate) fn find_consumers(&mut self) {
        for at in 0..self.structs.len() {
            let id = StructId(at as u32);
            let takers: Vec<FuncId> =
                self.kernels.iter().filter(|k| k.descriptor == Some(id)).map(|k| k.id).collect();
            let consumer = match &takers[..] {
                [] => Ok(self.silent_consumer(id)),
                _ => self.consumer_of(id, &takers),
            };
            if let Ok(consumer) = consumer {
                self.module.structs[at].consumer = consumer;
            }
        }
    }

    fn tier_field(&self, of: StructId) -> Option<u32> {
        self.structs[of.index()].field("tier").filter(|f| f.len.is_none()).map(|f| f.word)
    }

    fn in_set(&self, set: &wsp_ir::TierSet, kernel: FuncId) -> bool {
        set.tiers.iter().any(|t| t.kernel == kernel)
    }

    fn consumer_of(&mut self, of: StructId, takers: &[FuncId]) -> Res<Consumer> {
        let sets = &self.module.tier_sets;
        let holding: Vec<usize> =
            (0..sets.len()).filter(|s| takers.iter().all(|k| self.in_set(&sets[*s], *k))).collect();
        let field = self.tier_field(of);
        match (takers, &holding[..], field) {
            ([kernel], _, None) => Ok(Consumer::Kernel(*kernel)),
            ([kernel], [], Some(_)) => Ok(Consumer::Kernel(*kernel)),
            (_, [set], Some(field)) => {
                self.check_set(of, *set)?;
                Ok(Consumer::Tiers { set: TierSetId(*set as u32), field })
            }
            (_, [set, ..], None) => Err(self.missing_tier_field(of, *set)),
            (_, [], _) => Err(self.mixed_consumers(of, takers)),
            (_, [first, second, ..], Some(_)) => {
                let name = &self.module.structs[of.index()].name;
                let d = Diagnostic::error(codes::MIXED_CONSUMERS, format!("two tier sets take `{name}`"))
                    .at(self.structs[of.index()].decl.name.span, "which `tier` is meant is not clear")
                    .label(self.module.tier_sets[*first].span, "this set does")
                    .label(self.module.tier_sets[*second].span, "so does this one")
                    .help("give each tier set its own descriptor type");
                Err(self.fail(d))
            }
        }
    }

    /// Who takes a type that no kernel asks for: kernels that ignore their descriptor, when there is no doubt which.
    fn silent_consumer(&self, of: StructId) -> Consumer {
        let silent = |kernel: FuncId| self.kernels.iter().any(|k| k.id == kernel && k.descriptor.is_none());
        let sets = &self.module.tier_sets;
        let mut holding = (0..sets.len())
            .filter(|s| !sets[*s].tiers.is_empty() && sets[*s].tiers.iter().all(|t| silent(t.kernel)));
        if let (Some(field), Some(set), None) = (self.tier_field(of), holding.next(), holding.next()) {
            return Consumer::Tiers { set: TierSetId(set as u32), field };
        }
        let alone = |k: FuncId| silent(k) && !sets.iter().any(|s| self.in_set(s, k));
        let mut kernels = self.kernels.iter().map(|k| k.id).filter(|k| alone(*k));
        match (self.structs.len(), kernels.next(), kernels.next()) {
            (1, Some(kernel), None) => Consumer::Kernel(kernel),
            _ => Consumer::None,
        }
    }

    /// Every kernel of the set takes this type, or ignores its descriptor.
    fn check_set(&mut self, of: StructId, set: usize) -> Res<()> {
        let other = self.module.tier_sets[set].tiers.iter().find_map(|tier| {
            let kernel = self.kernels.iter().find(|k| k.id == tier.kernel)?;
            kernel
                .descriptor
                .filter(|d| *d != of)
                .map(|d| (tier.span, d, kernel.decl.name.as_str().to_owned()))
        });
        let Some((span, other, kernel)) = other else { return Ok(()) };
        let (ty, other) = (&self.module.structs[of.index()].name, &self.module.structs[other.index()].name);
        let message =
            format!("the kernels of `{}` take different descriptors", self.module.tier_sets[set].name);
        let d = Diagnostic::error(codes::MIXED_CONSUMERS, message)
            .at(span, format!("`{kernel}` takes `{other}`"))
            .note(format!("other tiers take `{ty}`"))
            .help("let all kernels of one tier set take the same descriptor type");
        Err(self.fail(d))
    }

    fn missing_tier_field(&mut self, of: StructId, set: usize) -> Reported {
        let info = &self.structs[of.index()];
        if info.broken {
            return Reported::earlier(&self.diags);
        }
        let (ty, span) = (&self.module.structs[of.index()].name, info.decl.name.span);
        let d = Diagnostic::error(codes::MISSING_TIER_FIELD, format!("`{ty}` has no field `tier`"))
            .at(span, "the tier of a task is not known without one")
            .label(self.module.tier_sets[set].span, "its kernels take this descriptor")
            .help("add `uint32_t tier;` and set it with `PTO_SELECT_TIER`");
        self.fail(d)
    }

    fn mixed_consumers(&mut self, of: StructId, takers: &[FuncId]) -> Reported {
        let names: Vec<&str> =
            takers.iter().map(|k| self.module.functions[k.index()].name.as_str()).collect();
        let ty = &self.module.structs[of.index()].name;
        let mut d = Diagnostic::error(codes::MIXED_CONSUMERS, format!("several kernels take `{ty}`"))
            .at(self.structs[of.index()].decl.name.span, "which one runs is not clear")
            .note(format!("{} take it, and no tier set holds them all", quoted(&names)))
            .help("give each kernel its own descriptor type, or put them into one `PTO_TIER_DEF`");
        for kernel in takers.iter().take(4) {
            d = d.label(self.module.functions[kernel.index()].span, "takes it");
        }
        self.fail(d)
    }

    /// What is emitted has somebody to take it.
    pub(crate) fn check_emitted(&mut self) {
        for (of, span) in std::mem::take(&mut self.emitted) {
            let def = &self.module.structs[of.index()];
            let taken = self.kernels.iter().any(|k| k.descriptor == Some(of));
            if def.consumer == Consumer::None && !taken {
                let name = def.name.clone();
                self.no_consumer(&name, def.span, span);
            }
        }
    }

    fn no_consumer(&mut self, name: &str, defined: Span, span: Span) {
        self.fail(
            Diagnostic::error(codes::NO_CONSUMER, format!("no kernel takes `{name}`"))
                .at(span, "emitted here")
                .label(defined, "defined here")
                .help(format!("let a kernel ask for it: `auto desc = PTO_GET_DESCRIPTOR<{name}>();`")),
        );
    }
}
