//! Names that a program mentions outside of their own declarations.

use crate::ast::{
    Block, Expr, ExprKind, Extent, File, Function, Item, Said, SpaceMember, Stmt, StmtKind, TemplateArg,
    TileSize, Type, TypeBase,
};
use crate::sema::walk::{each_expr, each_subexpr};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use wsp_core::policy::{AxisPolicy, SplitPolicy};

/// How often each name is mentioned. What the host entry says is left out: it binds every array, used or not.
pub(super) struct Mentions {
    counts: HashMap<Rc<str>, usize>,
    /// Names that play a role of a reference.
    roles: HashSet<Rc<str>>,
}

impl Mentions {
    /// Collects the names of a program; `entry` is the host entry.
    pub(super) fn of(tree: &File, entry: &dyn Fn(&Function) -> bool) -> Mentions {
        let mut mentions = Mentions { counts: HashMap::new(), roles: HashSet::new() };
        for item in &tree.items {
            mentions.item(item, entry);
        }
        mentions
    }

    /// How often a name is mentioned.
    pub(super) fn count(&self, name: &str) -> usize {
        self.counts.get(name).copied().unwrap_or_default()
    }

    /// Whether a name plays a role of a reference.
    pub(super) fn has_role(&self, name: &str) -> bool {
        self.roles.contains(name)
    }

    fn item(&mut self, item: &Item, entry: &dyn Fn(&Function) -> bool) {
        match item {
            Item::Shape(s) => self.extents(&s.dims),
            Item::Param(p) => {
                self.type_(&p.ty);
                self.expr(&p.default);
            }
            Item::Const(c) => {
                self.type_(&c.ty);
                self.expr(&c.value);
            }
            Item::Tensor(t) => {
                self.type_(&t.elem);
                t.dims.iter().for_each(|e| self.expr(e));
            }
            Item::Resident(r) => {
                self.type_(&r.elem);
                self.extents(&r.shape.dims);
            }
            Item::Workspace(w) => {
                self.type_(&w.elem);
                w.dims.iter().for_each(|e| self.expr(e));
            }
            Item::Space(s) => s.members.iter().for_each(|member| self.space_member(member)),
            Item::TierDef(t) => {
                for tier in &t.tiers {
                    self.add(&tier.kernel.name);
                    tier.cond.iter().chain(&tier.workspace).for_each(|e| self.expr(e));
                }
            }
            Item::Schedule(s) => {
                for member in &s.members {
                    if let Said::Axis(_, AxisPolicy::Split(SplitPolicy::Fixed(e))) = &member.said {
                        self.expr(e);
                    }
                }
            }
            Item::Struct(s) => {
                for field in &s.fields {
                    self.type_(&field.ty);
                    field.len.iter().for_each(|e| self.expr(e));
                }
            }
            Item::Generator(g) => self.block(&g.body),
            Item::Kernel(k) => {
                for param in &k.params {
                    self.type_(&param.ty);
                    self.add(&param.name.name);
                }
                self.block(&k.body);
            }
            Item::Function(f) if entry(f) => {}
            Item::Function(f) => self.function(f),
            Item::Graph(g) => {
                for dependency in &g.dependencies {
                    self.add(&dependency.reader.tensor.name);
                    self.add(&dependency.writer.tensor.name);
                }
            }
            Item::Reference(r) => self.roles.extend(r.roles.iter().map(|role| role.value.name.clone())),
            Item::Require(r) => self.expr(&r.cond),
        }
    }

    fn space_member(&mut self, member: &SpaceMember) {
        match member {
            SpaceMember::Axis(axis) => {
                self.expr(&axis.start);
                self.extents(std::slice::from_ref(&axis.end));
            }
            SpaceMember::Tile(tile) => {
                if let TileSize::Expr(e) = &tile.size {
                    self.expr(e);
                }
            }
            SpaceMember::Where(condition) => self.expr(&condition.cond),
        }
    }

    fn function(&mut self, f: &Function) {
        self.type_(&f.ret);
        f.template.iter().for_each(|param| self.type_(&param.ty));
        f.params.iter().for_each(|param| self.type_(&param.ty));
        self.block(&f.body);
    }

    fn extents(&mut self, dims: &[Extent]) {
        for dim in dims {
            if let Extent::Expr(e) = dim {
                self.expr(e);
            }
        }
    }

    fn block(&mut self, block: &Block) {
        each_expr(block, &mut |e| self.one(e));
        block.stmts.iter().for_each(|stmt| self.declared_types(stmt));
    }

    /// The types of declarations, which hold names and are no expressions.
    fn declared_types(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Decl(decl) => self.type_(&decl.ty),
            StmtKind::Block(block)
            | StmtKind::ForEach { body: block, .. }
            | StmtKind::ScheduledFor { body: block, .. } => {
                block.stmts.iter().for_each(|stmt| self.declared_types(stmt));
            }
            StmtKind::If { then, otherwise, .. } => {
                self.declared_types(then);
                otherwise.iter().for_each(|stmt| self.declared_types(stmt));
            }
            StmtKind::For { init, body, .. } => {
                init.iter().for_each(|stmt| self.declared_types(stmt));
                self.declared_types(body);
            }
            StmtKind::While { body, .. } | StmtKind::DoWhile { body, .. } => self.declared_types(body),
            StmtKind::Empty
            | StmtKind::Assign { .. }
            | StmtKind::Expr(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_) => {}
        }
    }

    fn expr(&mut self, e: &Expr) {
        each_subexpr(e, &mut |e| self.one(e));
    }

    /// What an expression says itself, without its operands.
    fn one(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Name(name) => self.add(name),
            ExprKind::Call { callee, template_args, .. } => {
                self.add(&callee.name);
                self.arguments(template_args);
            }
            ExprKind::Cast { ty, .. } | ExprKind::SizeOf(ty) => self.type_(ty),
            ExprKind::Init { ty: Some(ty), .. } => self.add(&ty.name),
            _ => {}
        }
    }

    fn type_(&mut self, ty: &Type) {
        match &ty.base {
            TypeBase::Named(name) => self.add(&name.name),
            TypeBase::DtypeOf(e) => self.expr(e),
        }
        self.arguments(&ty.args);
    }

    fn arguments(&mut self, args: &[TemplateArg]) {
        for arg in args {
            match arg {
                TemplateArg::Type(ty) => self.type_(ty),
                TemplateArg::Expr(e) => self.expr(e),
            }
        }
    }

    fn add(&mut self, name: &Rc<str>) {
        *self.counts.entry(name.clone()).or_default() += 1;
    }
}
