//! The items of the workspace's crates, read from their text: which module declares what, and what a path leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item, ItemImpl, Meta, UseTree, Visibility};

/// A module of a crate.
#[derive(Default)]
pub(super) struct Module {
    pub(super) items: BTreeMap<String, Item>,
    /// What `use` brings in, by name: the path, and whether others see it.
    pub(super) uses: BTreeMap<String, (Vec<String>, bool)>,
    globs: Vec<Vec<String>>,
    /// Modules in it, and whether they are public.
    pub(super) children: BTreeMap<String, bool>,
    /// Names in calls of macros, among them those of types that these declare.
    macros: BTreeSet<String>,
}

/// A place of an item: crate, module path, name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) krate: String,
    pub(super) module: Vec<String>,
    pub(super) name: String,
}

/// All crates.
#[derive(Default)]
pub(super) struct Crates {
    modules: BTreeMap<(String, Vec<String>), Module>,
    /// Every block of implementations, with its module.
    pub(super) impls: Vec<(String, Vec<String>, ItemImpl)>,
}

impl Crates {
    /// Reads the sources of these crates of a folder.
    pub(super) fn read(folder: &Path, names: &[&str]) -> Crates {
        let mut all = Crates::default();
        for name in names {
            let sources = folder.join(name).join("src");
            all.file(&name.replace('-', "_"), Vec::new(), &sources.join("lib.rs"), &sources);
        }
        all
    }

    /// Reads a file, whose modules lie in `folder`.
    #[expect(clippy::disallowed_methods, reason = "the test reads the text of the crates")]
    fn file(&mut self, krate: &str, module: Vec<String>, path: &Path, folder: &Path) {
        let text = fs::read_to_string(path).expect("a module's file should be there");
        let file = syn::parse_file(&text).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()));
        self.items(krate, module, file.items, folder);
    }

    fn items(&mut self, krate: &str, path: Vec<String>, items: Vec<Item>, folder: &Path) {
        let mut module = Module::default();
        for item in items {
            if is_of_tests(attributes(&item)) {
                continue;
            }
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    module.children.insert(name.clone(), is_public(&inner.vis));
                    let inside: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
                    match inner.content {
                        Some((_, items)) => self.items(krate, inside, items, &folder.join(&name)),
                        None => {
                            let files: [PathBuf; 2] =
                                [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
                            if let Some(file) = files.iter().find(|file| file.is_file()) {
                                self.file(krate, inside, file, &folder.join(&name));
                            }
                        }
                    }
                }
                Item::Use(import) => {
                    let is_public = is_public(&import.vis);
                    imports(&import.tree, &mut Vec::new(), &mut |name, path| match name {
                        Some(name) => {
                            module.uses.insert(name, (path, is_public));
                        }
                        None => module.globs.push(path),
                    });
                }
                Item::Impl(block) => self.impls.push((krate.to_owned(), path.clone(), block)),
                Item::Macro(call) => {
                    let words = call.mac.tokens.to_string();
                    let words = words.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                    module
                        .macros
                        .extend(words.filter(|w| w.starts_with(char::is_uppercase)).map(str::to_owned));
                    if let Some(name) = &call.ident {
                        module.items.insert(name.to_string(), Item::Macro(call));
                    }
                }
                item => {
                    if let Some(name) = name(&item) {
                        module.items.insert(name, item);
                    }
                }
            }
        }
        self.modules.insert((krate.to_owned(), path), module);
    }

    pub(super) fn module(&self, krate: &str, path: &[String]) -> Option<&Module> {
        self.modules.get(&(krate.to_owned(), path.to_vec()))
    }

    pub(super) fn item(&self, place: &Place) -> Option<&Item> {
        self.module(&place.krate, &place.module)?.items.get(&place.name)
    }

    /// What a path in a module leads to; none outside of these crates, and for a module.
    pub(super) fn resolve(&self, krate: &str, module: &[String], path: &[String]) -> Option<Place> {
        self.follow(krate, module, path, 0)
    }

    /// The module that a path in a module leads to.
    pub(super) fn resolve_module(
        &self,
        krate: &str,
        module: &[String],
        path: &[String],
    ) -> Option<(String, Vec<String>)> {
        let (first, rest) = path.split_first()?;
        let inside: Vec<String> = module.iter().chain(path).cloned().collect();
        if self.module(krate, &inside).is_some() {
            return Some((krate.to_owned(), inside));
        }
        self.module(first, rest).map(|_| (first.clone(), rest.to_vec()))
    }

    fn follow(&self, krate: &str, module: &[String], path: &[String], depth: u32) -> Option<Place> {
        let (first, rest) = path.split_first()?;
        if depth > 20 {
            return None;
        }
        match first.as_str() {
            "crate" => return self.follow(krate, &[], rest, depth + 1),
            "self" => return self.follow(krate, module, rest, depth + 1),
            "super" => return self.follow(krate, module.split_last()?.1, rest, depth + 1),
            _ => {}
        }
        let here = self.module(krate, module)?;
        if here.children.contains_key(first) && !rest.is_empty() {
            let inside: Vec<String> = module.iter().cloned().chain([first.clone()]).collect();
            return self.follow(krate, &inside, rest, depth + 1);
        }
        if rest.is_empty() && here.items.contains_key(first) {
            return Some(Place { krate: krate.to_owned(), module: module.to_vec(), name: first.clone() });
        }
        if let Some((target, _)) = here.uses.get(first) {
            let whole: Vec<String> = target.iter().chain(rest).cloned().collect();
            if whole != path {
                return self.follow(krate, module, &whole, depth + 1);
            }
        }
        if self.module(first, &[]).is_some() {
            return self.follow(first, &[], rest, depth + 1);
        }
        let of_globs = here.globs.iter().find_map(|glob| {
            let whole: Vec<String> = glob.iter().chain(path).cloned().collect();
            self.follow(krate, module, &whole, depth + 1)
        });
        let declared = || Place { krate: krate.to_owned(), module: module.to_vec(), name: first.clone() };
        of_globs.or_else(|| (rest.is_empty() && here.macros.contains(first)).then(declared))
    }
}

pub(super) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether it is left out of the documentation, or only there in tests.
pub(super) fn is_hidden(attributes: &[Attribute]) -> bool {
    has_list(attributes, "doc", "hidden") || is_of_tests(attributes)
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    ["test", "loom", "doctest"].iter().any(|word| has_list(attributes, "cfg", word))
}

fn has_list(attributes: &[Attribute], name: &str, word: &str) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) => {
            list.path.is_ident(name) && list.tokens.to_string().split_whitespace().any(|token| token == word)
        }
        Meta::Path(_) | Meta::NameValue(_) => false,
    })
}

fn imports(tree: &UseTree, before: &mut Vec<String>, found: &mut impl FnMut(Option<String>, Vec<String>)) {
    let path = |before: &[String], name: &syn::Ident| {
        let own = (name != "self").then(|| name.to_string());
        before.iter().cloned().chain(own).collect::<Vec<String>>()
    };
    match tree {
        UseTree::Path(part) => {
            before.push(part.ident.to_string());
            imports(&part.tree, before, found);
            before.pop();
        }
        UseTree::Name(name) => {
            let path = path(before, &name.ident);
            found(path.last().cloned(), path);
        }
        UseTree::Rename(name) => found(Some(name.rename.to_string()), path(before, &name.ident)),
        UseTree::Glob(_) => found(None, before.clone()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| imports(tree, before, found)),
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    Some(match item {
        Item::Const(item) => item.ident.to_string(),
        Item::Enum(item) => item.ident.to_string(),
        Item::Fn(item) => item.sig.ident.to_string(),
        Item::Struct(item) => item.ident.to_string(),
        Item::Trait(item) => item.ident.to_string(),
        Item::Type(item) => item.ident.to_string(),
        _ => return None,
    })
}
