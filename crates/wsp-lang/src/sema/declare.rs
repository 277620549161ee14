//! The first layer: every item gets its id and its name.

use super::Sema;
use super::functions::{FunctionDecl, GeneratorDecl, KernelDecl, Role};
use super::globals::GlobalDecl;
use super::names::Symbol;
use super::structs::StructInfo;
use crate::ast::{self, Item};
use wsp_core::{AxisId, FuncId, GraphId, ScheduleId, SpaceId, StructId, TensorId, TierSetId};
use wsp_diag::Span;
use wsp_ir::{
    Axis, AxisEnd, Elem, Expr, Graph, KernelUnit, Schedule, Space, Storage, StructDef, Tensor, TierSet,
};

impl<'a> Sema<'a> {
    /// Gives every item its id and name.
    pub(crate) fn declare_items(&mut self, file: &'a ast::File) {
        self.find_entry(file);
        self.slot_bytes = self.globals.len();
        let name = ast::Ident { name: "PTO_SLOT_BYTES".into(), span: Span::default() };
        self.globals.push(super::globals::Global {
            name: name.name.clone(),
            span: name.span,
            decl: GlobalDecl::SlotBytes,
            state: super::globals::State::Todo,
        });
        for item in &file.items {
            self.declare_item(item);
        }
        self.declare_bindings();
        self.declare_entries();
        self.declare_extents();
    }

    fn declare_item(&mut self, item: &'a Item) {
        match item {
            Item::Shape(shape) => self.declare_shape(shape),
            Item::Param(param) => self.add_global(&param.name, GlobalDecl::Param(param)),
            Item::Const(decl) => self.add_global(&decl.name, GlobalDecl::Const(decl)),
            Item::Tensor(tensor) => {
                let id = self.add_tensor(&tensor.name, Storage::Temporary);
                self.temporaries.push((id, tensor));
                self.declare(&tensor.name, Symbol::Tensor(id));
            }
            Item::Resident(resident) => self.declare_resident(resident),
            Item::Workspace(workspace) => {
                let id = self.add_tensor(&workspace.name, Storage::Workspace);
                self.workspaces.push(workspace);
                self.workspace_ids.push(id);
                if let GlobalDecl::SlotBytes = self.globals[self.slot_bytes].decl
                    && self.workspaces.len() == 1
                {
                    self.globals[self.slot_bytes].span = workspace.span;
                }
                self.declare(&workspace.name, Symbol::Tensor(id));
            }
            Item::Space(space) => self.declare_space(space),
            Item::TierDef(tiers) => {
                let id = TierSetId(self.module.tier_sets.len() as u32);
                let name = tiers.name.name.to_string();
                self.module.tier_sets.push(TierSet {
                    name,
                    selector: None,
                    tiers: Vec::new(),
                    span: tiers.name.span,
                });
                self.tier_defs.push(tiers);
                self.declare(&tiers.name, Symbol::Tiers(id));
            }
            Item::Schedule(schedule) => {
                let id = ScheduleId(self.module.schedules.len() as u32);
                let name = schedule.name.name.to_string();
                self.module.schedules.push(Schedule {
                    name,
                    span: schedule.name.span,
                    ..Schedule::default()
                });
                self.schedules.push(schedule);
                self.declare(&schedule.name, Symbol::Schedule(id));
            }
            Item::Struct(decl) => {
                let id = StructId(self.module.structs.len() as u32);
                self.module.structs.push(StructDef {
                    name: decl.name.name.to_string(),
                    fields: Vec::new(),
                    consumer: wsp_ir::Consumer::None,
                    span: decl.name.span,
                });
                self.structs.push(StructInfo::new(decl));
                self.declare(&decl.name, Symbol::Struct(id));
            }
            Item::Graph(graph) => {
                let id = GraphId(self.module.graphs.len() as u32);
                let name = graph.name.name.to_string();
                let (stages, dependencies) = (Vec::new(), Vec::new());
                self.module.graphs.push(Graph { name, stages, dependencies, span: graph.name.span });
                self.graphs.push(graph);
                self.declare(&graph.name, Symbol::Graph(id));
            }
            Item::Reference(reference) => self.references.push(reference),
            Item::Require(require) => self.requires.push(require),
            Item::Generator(_) | Item::Kernel(_) | Item::Function(_) => self.declare_code(item),
        }
    }

    fn declare_code(&mut self, item: &'a Item) {
        match item {
            Item::Generator(decl) => {
                let id = self.reserve_function(decl.space.as_str(), decl.space.span);
                self.generators.push(GeneratorDecl { id, decl });
            }
            Item::Kernel(decl) => {
                let id = self.reserve_function(decl.name.as_str(), decl.name.span);
                self.kernels.push(KernelDecl { id, decl, descriptor: None, params: Vec::new() });
                if let Some((unit, span)) = decl.unit {
                    self.module.units.push(KernelUnit { function: id, unit, span });
                }
                self.declare(&decl.name, Symbol::Kernel(id));
            }
            Item::Function(decl) => {
                let role = self.role(decl);
                let id = (role == Role::Helper && decl.template.is_empty())
                    .then(|| self.reserve_function(decl.name.as_str(), decl.name.span));
                let index = self.functions.len();
                self.functions.push(FunctionDecl { decl, role, id, recursive: false, called: false });
                self.declare(&decl.name, Symbol::Function(index));
            }
            _ => {}
        }
    }

    /// Adds a function without a body.
    pub(crate) fn reserve_function(&mut self, name: &str, span: Span) -> FuncId {
        self.module.functions.push(wsp_ir::Function {
            name: name.to_owned(),
            kind: wsp_ir::FuncKind::Helper,
            params: 0,
            locals: Vec::new(),
            ret: None,
            body: Vec::new(),
            span,
        });
        FuncId(self.module.functions.len() as u32 - 1)
    }

    /// Adds a tensor without dimensions, of elements of its own type.
    pub(crate) fn add_tensor(&mut self, name: &ast::Ident, storage: Storage) -> TensorId {
        self.add_tensor_named(name.name.to_string(), name.span, storage)
    }

    /// [`Sema::add_tensor`] for a tensor whose name is not in the source.
    pub(crate) fn add_tensor_named(&mut self, name: String, span: Span, storage: Storage) -> TensorId {
        let id = TensorId(self.module.tensors.len() as u32);
        self.module.tensors.push(Tensor { name, elem: Elem::Of(id), dims: Vec::new(), storage, span });
        id
    }

    fn declare_space(&mut self, space: &'a ast::Space) {
        let id = SpaceId(self.module.spaces.len() as u32);
        let mut axes = Vec::new();
        for member in &space.members {
            let ast::SpaceMember::Axis(axis) = member else { continue };
            axes.push(AxisId(self.module.axes.len() as u32));
            self.module.axes.push(Axis {
                name: axis.name.name.to_string(),
                start: Expr::u32(0, axis.span),
                end: AxisEnd::Dynamic,
                tile: None,
                span: axis.name.span,
            });
        }
        let name = space.name.name.to_string();
        self.module.spaces.push(Space {
            name,
            axes,
            constraints: Vec::new(),
            generator: None,
            span: space.name.span,
        });
        self.spaces.push(space);
        self.declare(&space.name, Symbol::Space(id));
    }
}
