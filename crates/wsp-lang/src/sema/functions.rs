//! Function bodies: kernels, generators, helpers and their instances.

use super::Sema;
use super::body::{Body, BodyKind};
use super::codes;
use super::diags::Res;
use super::names::{Symbol, quoted};
use super::walk;
use crate::ast::{self, ExprKind, Ident, Indirection, TemplateArg};
use wsp_core::{FuncId, SpaceId, StructId};
use wsp_diag::{Diagnostic, Span};
use wsp_ir::{Block, Const, FuncKind, KernelParam, LocalTy};
use wsp_ordered::{Arrange, OrderedMap};

/// A kernel and the descriptor type it asks for.
pub(crate) struct KernelDecl<'a> {
    /// Its id.
    pub(crate) id: FuncId,
    /// The definition.
    pub(crate) decl: &'a ast::Kernel,
    /// What it asks for.
    pub(crate) descriptor: Option<StructId>,
    /// Its parameters, if it is an entry of task graphs.
    pub(crate) params: Vec<KernelParam>,
}

/// A generator.
pub(crate) struct GeneratorDecl<'a> {
    /// Its id.
    pub(crate) id: FuncId,
    /// The definition.
    pub(crate) decl: &'a ast::Generator,
}

/// What a plain function is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Returns a scalar.
    Helper,
    /// Returns nothing; its code becomes part of its callers.
    Inline,
    /// Launches.
    Entry,
}

/// A plain function.
pub(crate) struct FunctionDecl<'a> {
    /// The definition.
    pub(crate) decl: &'a ast::Function,
    /// What it is for.
    pub(crate) role: Role,
    /// Its id when it is a helper without template parameters.
    pub(crate) id: Option<FuncId>,
    /// It calls itself, which has been reported.
    pub(crate) recursive: bool,
    /// Somebody calls it.
    pub(crate) called: bool,
}

/// A helper body that is still to be lowered.
pub(crate) struct Instance {
    /// Index into `Sema::functions`.
    pub(crate) function: usize,
    /// Its id.
    pub(crate) id: FuncId,
    /// The template arguments.
    pub(crate) arguments: Vec<Const>,
    /// The first call of a template's instance.
    pub(crate) call: Option<Span>,
}

/// The struct that `PTO_GET_DESCRIPTOR<T>` names, as written.
enum Asked {
    Named(Ident, Span),
    Any(Span),
}

impl<'a> Sema<'a> {
    /// What a plain function is for.
    pub(crate) fn role(&self, decl: &ast::Function) -> Role {
        let mut launches = false;
        walk::each_expr(&decl.body, &mut |e| {
            launches |= matches!(&e.kind, ExprKind::Call { callee, .. } if callee.as_str() == "PTO_LAUNCH");
        });
        if launches {
            Role::Entry
        } else if decl.ret.name() == Some("void") && decl.ret.indirection == Indirection::None {
            Role::Inline
        } else {
            Role::Helper
        }
    }

    /// Finds out which descriptor type each kernel asks for.
    pub(crate) fn find_descriptors(&mut self) {
        let asked: Vec<Vec<Asked>> = self.kernels.iter().map(|k| asked_for(&k.decl.body)).collect();
        for (at, asked) in asked.iter().enumerate() {
            if let (Some(first), true) = (asked.first(), self.kernels[at].is_entry()) {
                let (Asked::Named(_, span) | Asked::Any(span)) = first;
                self.no_descriptor(at, *span);
            }
            for one in asked {
                let Asked::Named(ident, span) = one else { continue };
                if let Ok(id) = self.struct_named(ident) {
                    self.set_descriptor(at, id, *span);
                }
            }
        }
        let explicit: Vec<StructId> = self.kernels.iter().filter_map(|k| k.descriptor).collect();
        for (at, asked) in asked.iter().enumerate() {
            let implicit = asked.iter().find_map(|a| match a {
                Asked::Any(span) => Some(*span),
                Asked::Named(..) => None,
            });
            if let Some(span) = implicit
                && self.kernels[at].descriptor.is_none()
            {
                self.kernels[at].descriptor = self.implied_descriptor(&explicit, span).ok();
            }
        }
    }

    fn set_descriptor(&mut self, kernel: usize, id: StructId, span: Span) {
        let before = self.kernels[kernel].descriptor.replace(id);
        if let Some(before) = before.filter(|b| *b != id) {
            let (one, other) =
                (&self.module.structs[before.index()].name, &self.module.structs[id.index()].name);
            let d = Diagnostic::error(codes::TWO_DESCRIPTORS, "a kernel takes one descriptor")
                .at(span, format!("`{other}` is asked for here, `{one}` elsewhere"))
                .help("write a kernel for each descriptor type");
            self.fail(d);
        }
    }

    /// The type that `PTO_GET_DESCRIPTOR()` means: the only one, or the only one that no kernel names.
    fn implied_descriptor(&mut self, explicit: &[StructId], span: Span) -> Res<StructId> {
        let all: Vec<StructId> = (0..self.structs.len()).map(|s| StructId(s as u32)).collect();
        let free: Vec<StructId> = all.iter().copied().filter(|s| !explicit.contains(s)).collect();
        match (&all[..], &free[..]) {
            ([only], _) | (_, [only]) => Ok(*only),
            _ => {
                let names: Vec<&str> = self.structs.iter().map(|s| s.decl.name.as_str()).collect();
                let d =
                    Diagnostic::error(codes::UNCLEAR_DESCRIPTOR, "which descriptor is meant is not clear")
                        .at(span, "names no type");
                let d = match names.is_empty() {
                    true => d.help("declare one: `struct MyDescriptor { uint32_t tier; … };`"),
                    false => d
                        .note(format!("there are {}", quoted(&names)))
                        .help("name the type: `PTO_GET_DESCRIPTOR<T>()`"),
                };
                Err(self.fail(d))
            }
        }
    }

    /// Lowers every body.
    pub(crate) fn lower_bodies(&mut self) {
        self.check_recursion();
        for at in 0..self.generators.len() {
            self.lower_generator(at);
        }
        for at in 0..self.kernels.len() {
            self.lower_kernel(at);
        }
        for at in 0..self.functions.len() {
            if let (Some(id), false) = (self.functions[at].id, self.functions[at].recursive) {
                self.pending.push_back(Instance { function: at, id, arguments: Vec::new(), call: None });
            }
        }
        while let Some(instance) = self.pending.pop_front() {
            self.lower_helper(&instance);
        }
        for at in 0..self.functions.len() {
            let FunctionDecl { decl, role, recursive, called, .. } = self.functions[at];
            if role == Role::Inline && decl.template.is_empty() && !recursive && !called {
                self.probe(decl);
            }
        }
    }

    fn lower_generator(&mut self, at: usize) {
        let GeneratorDecl { id, decl } = self.generators[at];
        let space = self.expect_symbol(&decl.space, "a space", codes::UNKNOWN_SPACE, |symbol| match symbol {
            Symbol::Space(id) => Some(id),
            _ => None,
        });
        // Without a space the statements are still worth a look.
        let kind = space.as_ref().map_or(BodyKind::Probe, |space| BodyKind::Generator(*space));
        let mut b = Body::new(kind);
        let body = self.function_body(&mut b, &decl.body);
        let Ok(space) = space else { return };
        self.set_generator(space, id, decl);
        self.finish(id, FuncKind::Generator { space }, 0, b, body);
    }

    fn set_generator(&mut self, space: SpaceId, id: FuncId, decl: &ast::Generator) {
        if let Some(earlier) = self.module.spaces[space.index()].generator {
            let earlier = self.module.functions[earlier.index()].span;
            let message = format!("space `{}` has two generators", decl.space.as_str());
            self.fail(
                Diagnostic::error(codes::DUPLICATE_GENERATOR, message)
                    .at(decl.space.span, "again here")
                    .label(earlier, "first here"),
            );
            return;
        }
        self.module.spaces[space.index()].generator = Some(id);
    }

    fn lower_kernel(&mut self, at: usize) {
        let KernelDecl { id, decl, descriptor, .. } = self.kernels[at];
        if self.kernels[at].is_entry() {
            return self.lower_kernel_entry(at);
        }
        let mut b = Body::new(BodyKind::Kernel);
        b.descriptor = descriptor;
        if let Some(of) = descriptor {
            b.local("desc", LocalTy::Descriptor(of), decl.name.span);
        }
        let body = self.function_body(&mut b, &decl.body);
        self.finish(id, FuncKind::Kernel { descriptor }, u32::from(descriptor.is_some()), b, body);
    }

    /// Stores a lowered body.
    pub(crate) fn finish(&mut self, id: FuncId, kind: FuncKind, params: u32, b: Body, body: Block) {
        let function = &mut self.module.functions[id.index()];
        function.kind = kind;
        function.params = params;
        function.locals = b.locals;
        function.body = body;
    }

    /// Reports functions that call themselves, directly or through others.
    fn check_recursion(&mut self) {
        let names: OrderedMap<&str, usize> =
            self.functions.iter().enumerate().map(|(at, f)| (f.decl.name.as_str(), at)).collect();
        let mut callees: Vec<Vec<usize>> = Vec::new();
        for function in &self.functions {
            let mut called = Vec::new();
            walk::each_expr(&function.decl.body, &mut |e| {
                if let ExprKind::Call { callee, .. } = &e.kind {
                    called.extend(names.get(callee.as_str()).copied());
                }
            });
            called.arrange();
            called.dedup();
            callees.push(called);
        }
        for at in on_cycles(&callees) {
            self.functions[at].recursive = true;
            let decl = self.functions[at].decl;
            let message = format!("`{}` calls itself", decl.name.as_str());
            self.fail(
                Diagnostic::error(codes::RECURSION, message)
                    .at(decl.name.span, "directly or through the functions it calls")
                    .help("functions are expanded before the program runs; use a loop"),
            );
        }
    }
}

/// The descriptor types that a kernel asks for.
fn asked_for(body: &ast::Block) -> Vec<Asked> {
    let mut asked = Vec::new();
    walk::each_expr(body, &mut |e| {
        let ExprKind::Call { callee, template_args, .. } = &e.kind else { return };
        if callee.as_str() != "PTO_GET_DESCRIPTOR" {
            return;
        }
        let named = match template_args.first() {
            Some(TemplateArg::Expr(arg)) => arg.as_name(),
            Some(TemplateArg::Type(ty)) => match &ty.base {
                ast::TypeBase::Named(ident) => Some(ident.clone()),
                ast::TypeBase::DtypeOf(_) => None,
            },
            None => None,
        };
        asked.push(named.map_or(Asked::Any(e.span), |ident| Asked::Named(ident, e.span)));
    });
    asked
}

/// The nodes of a graph that lie on a cycle, by Tarjan's algorithm with a stack of its own: call chains may be long.
fn on_cycles(edges: &[Vec<usize>]) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let n = edges.len();
    let (mut order, mut low, mut done) = (vec![NEW; n], vec![0; n], vec![false; n]);
    let (mut open, mut path, mut next, mut found) = (Vec::new(), Vec::new(), 0, Vec::new());
    for root in 0..n {
        if order[root] != NEW {
            continue;
        }
        path.push((root, 0));
        while let Some((node, at)) = path.pop() {
            if at == 0 {
                (order[node], low[node]) = (next, next);
                next += 1;
                open.push(node);
            }
            match edges[node].get(at) {
                Some(&to) => {
                    path.push((node, at + 1));
                    if order[to] == NEW {
                        path.push((to, 0));
                    } else if !done[to] {
                        low[node] = low[node].min(order[to]);
                    }
                }
                None => {
                    if low[node] == order[node] {
                        let start =
                            open.iter().rposition(|o| *o == node).expect("an open node is on the stack");
                        let group = open.split_off(start);
                        group.iter().for_each(|g| done[*g] = true);
                        if group.len() > 1 || edges[node].contains(&node) {
                            found.extend(group);
                        }
                    }
                    if let Some((parent, _)) = path.last() {
                        low[*parent] = low[*parent].min(low[node]);
                    }
                }
            }
        }
    }
    found.arrange();
    found
}

#[cfg(test)]
mod tests {
    use super::on_cycles;

    #[test]
    fn cycles_are_found_and_their_callers_are_not_on_them() {
        assert_eq!(on_cycles(&[vec![1], vec![2], vec![1], vec![3], vec![0]]), [1, 2, 3]);
        assert_eq!(on_cycles(&[vec![1, 2], vec![2], vec![]]), [0usize; 0]);
        assert_eq!(on_cycles(&[vec![1], vec![2], vec![3], vec![0]]), [0, 1, 2, 3]);
    }

    #[test]
    fn long_chains_do_not_recurse() {
        let chain: Vec<Vec<usize>> =
            (0..200_000).map(|i| if i + 1 < 200_000 { vec![i + 1] } else { vec![] }).collect();
        assert!(on_cycles(&chain).is_empty());
    }
}
