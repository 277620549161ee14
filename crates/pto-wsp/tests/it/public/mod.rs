//! The public interface, as a list that a change of it changes: what can be imported, and the signatures of it.
//!
//! Types of the intermediate representation and of memory are listed by name only: what they are made of is their crates' business.

mod crates;

use crates::{Crates, Place, is_hidden, is_public};
use expect_test::expect_file;
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::visit::Visit;
use syn::{Fields, ImplItem, Item, Signature, TraitItem, Type};

/// Modules that their documentation calls unstable.
const UNSTABLE: [&str; 4] = ["backend::cpu", "backend::npu", "codes", "shared"];

/// Types that are listed without what they are made of. What their functions take and give can be imported all the same.
const OPAQUE: [&str; 40] = [
    "Array",
    "Buffer",
    "ByteRange",
    "Bytes",
    "Claim",
    "Code",
    "CodeCache",
    "Const",
    "DeviceModel",
    "Diagnostic",
    "Engine",
    "ExprOp",
    "Instr",
    "KernelEntry",
    "KernelSet",
    "LoweredPlan",
    "Mode",
    "Module",
    "Namespace",
    "ParamValue",
    "PlanSource",
    "Platform",
    "Reader",
    "Region",
    "Scalar",
    "SourceFile",
    "SourceMap",
    "StatementKind",
    "Stored",
    "Symbol",
    "Target",
    "TensorRef",
    "TgModule",
    "Transferred",
    "VerifiedWorkload",
    "View",
    "ViewKernelSource",
    "WorkloadModule",
    "WorkloadPlan",
    "Writer",
];

/// The face, and the crates that have what it brings in.
const CRATES: [&str; 13] = [
    "pto-wsp",
    "wsp-aie",
    "wsp-ascend",
    "wsp-backend",
    "wsp-core",
    "wsp-cpu",
    "wsp-diag",
    "wsp-ir",
    "wsp-memory",
    "wsp-plan",
    "wsp-tg",
    "wsp-kernel",
    "wsp-simd",
];

/// Names that need no `use`, and that calls of macros have too.
const PRELUDE: [&str; 9] =
    ["Box", "From", "Into", "IntoIterator", "Iterator", "Option", "Result", "Self", "Vec"];

/// What is public, and where it is declared.
struct Public<'c> {
    crates: &'c Crates,
    /// Public paths of what is declared.
    paths: BTreeMap<Place, Vec<String>>,
}

impl Public<'_> {
    /// What a module makes public, under this path.
    fn module(&mut self, krate: &str, path: &[String], public: &[String]) {
        let crates = self.crates;
        let module = crates.module(krate, path).expect("it should be read");
        let join = |name: &String| public.iter().chain([name]).cloned().collect::<Vec<String>>();
        let own = module.items.iter().filter(|(_, item)| is_seen(item)).map(|(name, _)| (name, None));
        let brought = module.uses.iter().filter(|(_, (_, is_public))| *is_public);
        let brought = brought.map(|(name, (target, _))| (name, Some(target)));
        for (name, target) in own.chain(brought) {
            let target = target.cloned().unwrap_or_else(|| vec![name.clone()]);
            match crates.resolve(krate, path, &target) {
                Some(place) => self.paths.entry(place).or_default().push(join(name).join("::")),
                None => {
                    let (krate, path) = crates.resolve_module(krate, path, &target).unwrap_or_else(|| {
                        panic!("{name} of {krate} {path:?} leads to nothing that is known")
                    });
                    self.module(&krate, &path, &join(name));
                }
            }
        }
        for (name, _) in module.children.iter().filter(|(_, is_public)| **is_public) {
            let inside: Vec<String> = path.iter().chain([name]).cloned().collect();
            self.module(krate, &inside, &join(name));
        }
    }
}

fn is_seen(item: &Item) -> bool {
    match item {
        Item::Const(item) => is_public(&item.vis),
        Item::Enum(item) => is_public(&item.vis),
        Item::Fn(item) => is_public(&item.vis),
        Item::Struct(item) => is_public(&item.vis),
        Item::Trait(item) => is_public(&item.vis),
        Item::Type(item) => is_public(&item.vis),
        _ => false,
    }
}

fn is_unstable(path: &str) -> bool {
    UNSTABLE.iter().any(|module| path.strip_prefix(module).is_some_and(|rest| rest.starts_with("::")))
}

/// Text of tokens as it is written by hand.
fn text(tokens: impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (from, to) in [
        (" :: ", "::"),
        (" : ", ": "),
        (" ,", ","),
        (" < ", "<"),
        (" >", ">"),
        ("< ", "<"),
        ("& ", "&"),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (" ;", ";"),
        ("[ ", "["),
        (" ]", "]"),
        ("->", " ->"),
        ("  ->", " ->"),
        (" &", " &"),
        (" :: ", "::"),
        (":: ", "::"),
        (",)", ")"),
        ("fn(", "fn ("),
        (" <", "<"),
        (",>", ">"),
    ] {
        text = text.replace(from, to);
    }
    text
}

/// Paths in a signature or type.
#[derive(Default)]
struct Named(BTreeSet<Vec<String>>);

impl<'a> Visit<'a> for Named {
    fn visit_path(&mut self, path: &'a syn::Path) {
        self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }
}

/// The lines of an item, and the paths that they name, each in the module that says it.
#[derive(Default)]
struct Listed {
    lines: Vec<String>,
    named: Vec<(Vec<String>, Vec<String>)>,
}

impl Listed {
    fn line(&mut self, line: String, module: &[String], names: impl FnOnce(&mut Named)) {
        self.lines.push(line);
        let mut named = Named::default();
        names(&mut named);
        self.named.extend(named.0.into_iter().map(|path| (module.to_vec(), path)));
    }

    fn signature(&mut self, signature: &Signature, module: &[String]) {
        self.line(text(signature), module, |named| named.visit_signature(signature));
    }

    fn fields(&mut self, fields: &Fields, module: &[String], all: bool) {
        for (at, field) in fields.iter().enumerate().filter(|(_, field)| all || is_public(&field.vis)) {
            let name = field.ident.as_ref().map_or(at.to_string(), ToString::to_string);
            let line = format!("{name}: {}", text(&field.ty));
            self.line(line, module, |named| named.visit_type(&field.ty));
        }
    }
}

/// An item with what is public of it.
fn listed(crates: &Crates, place: &Place) -> (String, Listed) {
    let mut listed = Listed::default();
    let module = &place.module;
    let Some(item) = crates.item(place) else { return ("type".to_owned(), listed) };
    let is_opaque = OPAQUE.contains(&place.name.as_str());
    let grows = |attributes: &[syn::Attribute]| {
        let grows = attributes.iter().any(|attribute| attribute.path().is_ident("non_exhaustive"));
        if grows { " (non-exhaustive)" } else { "" }
    };
    let kind = match item {
        Item::Fn(function) => {
            listed.signature(&function.sig, module);
            "fn".to_owned()
        }
        Item::Const(constant) => format!("const: {}", text(&constant.ty)),
        Item::Type(alias) => {
            if !is_opaque {
                listed.line(format!("= {}", text(&alias.ty)), module, |named| named.visit_type(&alias.ty));
            }
            "type".to_owned()
        }
        Item::Struct(item) => {
            if !is_opaque {
                listed.fields(&item.fields, module, false);
            }
            format!("struct{}{}", text(&item.generics), grows(&item.attrs))
        }
        Item::Enum(item) => {
            for variant in item.variants.iter().filter(|_| !is_opaque) {
                listed.lines.push(variant.ident.to_string());
                let before = listed.lines.len();
                listed.fields(&variant.fields, module, true);
                listed.lines[before..].iter_mut().for_each(|line| line.insert_str(0, "  "));
            }
            format!("enum{}{}", text(&item.generics), grows(&item.attrs))
        }
        Item::Trait(item) => {
            for member in &item.items {
                match member {
                    TraitItem::Fn(function) if !is_hidden(&function.attrs) => {
                        listed.signature(&function.sig, module);
                    }
                    TraitItem::Const(constant) if !is_hidden(&constant.attrs) => {
                        listed.lines.push(format!("const {}: {}", constant.ident, text(&constant.ty)));
                    }
                    TraitItem::Type(ty) => listed.lines.push(format!("type {}", ty.ident)),
                    _ => {}
                }
            }
            format!("trait{}", text(&item.generics))
        }
        _ => "macro".to_owned(),
    };
    let own = listed.lines.len();
    for (krate, module, block) in &crates.impls {
        let Type::Path(of) = &*block.self_ty else { continue };
        let path: Vec<String> = of.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if block.trait_.is_some() || *krate != place.krate || path.last() != Some(&place.name) {
            continue;
        }
        if crates.resolve(krate, module, &path).as_ref() != Some(place) {
            continue;
        }
        let before = listed.lines.len();
        for member in &block.items {
            match member {
                ImplItem::Fn(function) if is_public(&function.vis) && !is_hidden(&function.attrs) => {
                    listed.signature(&function.sig, module);
                }
                ImplItem::Const(constant) if is_public(&constant.vis) => {
                    listed.lines.push(format!("const {}: {}", constant.ident, text(&constant.ty)));
                }
                _ => {}
            }
        }
        // A directive is one file: its tests hold its method, and the list need not.
        if module.iter().any(|part| part == "directive") {
            listed.lines.truncate(before);
        }
    }
    if is_opaque {
        listed.lines.truncate(own);
    }
    (kind, listed)
}

/// The list, and the types that it names and that cannot be imported.
fn interface(public: &Public<'_>) -> (String, Vec<String>) {
    let (mut entries, mut hidden) = (Vec::new(), BTreeSet::new());
    for (place, paths) in &public.paths {
        let Some(path) = paths.iter().find(|path| !is_unstable(path)) else { continue };
        let (kind, listed) = listed(public.crates, place);
        for (module, named) in listed.named {
            if named.len() == 1 && PRELUDE.contains(&named[0].as_str()) {
                continue;
            }
            let Some(of) = public.crates.resolve(&place.krate, &module, &named) else { continue };
            if !public.paths.contains_key(&of) {
                hidden.insert(format!("{path} names {}::{}", of.krate, of.name));
            }
        }
        let members = listed.lines.iter().map(|line| format!("    {line}\n"));
        entries.push(format!("{path}: {kind}\n{}", members.collect::<String>()));
    }
    entries.sort();
    (entries.concat(), hidden.into_iter().collect())
}

/// Types whose name is that of another one: functions are called with the name of their module, as `npy::read`.
fn ambiguous(public: &Public<'_>) -> Vec<String> {
    let mut meanings: BTreeMap<&str, BTreeSet<&Place>> = BTreeMap::new();
    for (place, paths) in &public.paths {
        // Handles of the builder go by the name of its module.
        for path in paths.iter().filter(|path| !is_unstable(path) && !path.starts_with("workload::build::")) {
            meanings.entry(path.rsplit("::").next().unwrap_or(path)).or_default().insert(place);
        }
    }
    let several = meanings
        .into_iter()
        .filter(|(name, places)| places.len() > 1 && name.starts_with(char::is_uppercase));
    several.map(|(name, places)| format!("{name}: {places:?}")).collect()
}

#[test]
fn the_public_interface_is_the_list_and_its_types_can_be_imported_by_names_of_their_own() {
    let crates = Crates::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &CRATES);
    let mut public = Public { crates: &crates, paths: BTreeMap::new() };
    public.module("pto_wsp", &[], &[]);
    let (list, hidden) = interface(&public);
    expect_file!["../../../public.txt"].assert_eq(&list);
    assert_eq!(hidden, Vec::<String>::new(), "types that signatures name and that cannot be imported");
    assert_eq!(ambiguous(&public), Vec::<String>::new());
}
