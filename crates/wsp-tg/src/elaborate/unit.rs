//! What graphs and the host share: tensors, events, partitions, declared scalars, and where graphs lie among the instructions.

use super::Faults;
use crate::lint::ExclusiveArms;
use crate::plan::{PlanArg, PlanEvent, PlanPartition, PlanTensor, TensorKind};
use std::collections::HashMap;
use std::ops::Range;
use wsp_core::tg::{DEFAULT_ALIGNMENT, EventNo, ExprOp, GraphNo, Instr, MemLocation, TensorNo, TensorRef};
use wsp_ir::tg::{Namespace, TgModule, earlier_waits};
use wsp_ordered::{Arrange, OrderedMap, OrderedSet};

/// A graph among the instructions, without its begin and end.
#[derive(Clone, Debug)]
pub(super) struct GraphSpan {
    pub(super) no: GraphNo,
    pub(super) begin: u32,
    pub(super) body: Range<usize>,
}

/// Who signals an event, and who waits for it: graphs in the order in which they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct EventUse {
    pub(super) signals: Vec<GraphNo>,
    pub(super) waits: Vec<GraphNo>,
}

/// What graphs and the host share.
#[derive(Debug)]
pub(super) struct Unit<'m> {
    pub(super) module: &'m TgModule,
    pub(super) graphs: Vec<GraphSpan>,
    pub(super) tensors: Vec<PlanTensor>,
    /// Tensors of the unit and of whoever runs it.
    shared: HashMap<TensorNo, u32>,
    /// Tensors of graphs.
    private: HashMap<(GraphNo, TensorNo), u32>,
    pub(super) events: OrderedMap<EventNo, EventUse>,
    /// Waits for events that their graphs signal too, which are for other launches.
    pub(super) earlier: OrderedSet<u32>,
    /// Arms of which a launch runs at most one.
    pub(super) exclusive: ExclusiveArms,
}

impl<'m> Unit<'m> {
    pub(super) fn new(module: &'m TgModule, faults: &mut Faults) -> Unit<'m> {
        let mut unit = Unit {
            module,
            graphs: Vec::new(),
            tensors: Vec::new(),
            shared: HashMap::new(),
            private: HashMap::new(),
            events: OrderedMap::new(),
            earlier: earlier_waits(module),
            exclusive: ExclusiveArms::new(module),
        };
        unit.find_graphs(faults);
        for declared in &module.externs {
            let tensor = PlanTensor {
                bytes: declared.bytes(),
                dtype: declared.dtype,
                shape: declared.shape.clone(),
                ..unit.plain(declared.tensor, TensorKind::Extern)
            };
            unit.add(None, tensor);
        }
        unit.find_allocations();
        unit.find_events();
        unit.find_undeclared();
        unit
    }

    fn find_graphs(&mut self, faults: &mut Faults) {
        let mut open: Option<(GraphNo, usize)> = None;
        for (at, instr) in self.module.instrs.iter().enumerate() {
            match (*instr, open) {
                (Instr::TgBegin { graph_id }, None) => open = Some((graph_id, at)),
                (Instr::TgEnd { .. }, Some((no, begin))) => {
                    self.graphs.push(GraphSpan { no, begin: begin as u32, body: begin + 1..at });
                    open = None;
                }
                (Instr::TgBegin { .. }, Some(_)) | (Instr::TgEnd { .. }, None) => {
                    faults.unverified(self.module, at, "begins or ends no graph");
                }
                _ => {}
            }
        }
        if let Some((_, begin)) = open {
            faults.unverified(self.module, begin, "begins a graph that has no end");
        }
    }

    /// The graph that an instruction stands in.
    pub(super) fn graph_at(&self, at: usize) -> Option<usize> {
        let next = self.graphs.partition_point(|graph| graph.body.start <= at);
        let graph = next.checked_sub(1)?;
        self.graphs[graph].body.contains(&at).then_some(graph)
    }

    fn plain(&self, no: TensorNo, kind: TensorKind) -> PlanTensor {
        PlanTensor {
            no,
            graph: None,
            name: self.module.name(Namespace::Tensor, GraphNo(0), no.0),
            kind,
            bytes: None,
            align: DEFAULT_ALIGNMENT,
            location: MemLocation::Gm,
            dtype: None,
            shape: Vec::new(),
        }
    }

    fn add(&mut self, graph: Option<usize>, tensor: PlanTensor) {
        let (no, place) = (tensor.no, self.tensors.len() as u32);
        match graph {
            None => self.shared.entry(no).or_insert(place),
            Some(graph) => self.private.entry((self.graphs[graph].no, no)).or_insert(place),
        };
        self.tensors.push(tensor);
    }

    fn find_allocations(&mut self) {
        for (at, instr) in self.module.instrs.iter().enumerate() {
            let Instr::McAlloc { tensor_id, size, alignment, location } = *instr else { continue };
            let graph = self.graph_at(at);
            let kind = if graph.is_some() { TensorKind::Graph } else { TensorKind::Unit };
            let tensor = PlanTensor {
                graph: graph.map(|graph| graph as u32),
                bytes: Some(size),
                align: alignment,
                location,
                ..self.plain(tensor_id, kind)
            };
            self.add(graph, tensor);
        }
    }

    /// Tensors that are used but neither allocated nor declared: whoever runs the unit provides them.
    fn find_undeclared(&mut self) {
        let module = self.module;
        let mut used: Vec<(Option<usize>, TensorNo)> = Vec::new();
        for (at, instr) in module.instrs.iter().enumerate() {
            let graph = self.graph_at(at);
            match instr {
                Instr::McBind { tensor_id: TensorRef::Tensor(tensor), .. } => used.push((graph, *tensor)),
                Instr::McBind { tensor_id, .. } => {
                    used.extend(module.tensors_of(tensor_id).iter().map(|&tensor| (graph, tensor)));
                }
                Instr::McCopy { src_tensor, dst_tensor, .. } => {
                    used.extend([(graph, *src_tensor), (graph, *dst_tensor)]);
                }
                _ => {}
            }
        }
        let loads = module.exprs.iter().filter_map(|op| match op {
            ExprOp::Load(tensor, _) => Some(*tensor),
            _ => None,
        });
        let of_graphs: std::collections::HashSet<TensorNo> = self.private.keys().map(|&(_, no)| no).collect();
        used.extend(loads.filter(|no| !of_graphs.contains(no)).map(|no| (None, no)));
        for (graph, no) in used {
            let graph = graph.map_or(GraphNo(u32::MAX), |graph| self.graphs[graph].no);
            if no != TensorNo::NONE && self.tensor(graph, no).is_none() {
                let tensor = self.plain(no, TensorKind::Extern);
                self.add(None, tensor);
            }
        }
    }

    fn find_events(&mut self) {
        for (at, instr) in self.module.instrs.iter().enumerate() {
            let Some(graph) = self.graph_at(at) else { continue };
            let graph = self.graphs[graph].no;
            let list = match *instr {
                Instr::SySignal { event_id, .. } => &mut self.events.entry(event_id).or_default().signals,
                Instr::SyWait { event_id, .. } => &mut self.events.entry(event_id).or_default().waits,
                _ => continue,
            };
            if list.last() != Some(&graph) {
                list.push(graph);
            }
        }
        for &(event, _) in &self.module.extern_events {
            self.events.entry(event).or_default();
        }
    }

    /// The place of a tensor as a graph sees it.
    pub(super) fn tensor(&self, graph: GraphNo, no: TensorNo) -> Option<u32> {
        self.private.get(&(graph, no)).or_else(|| self.shared.get(&no)).copied()
    }

    /// Makes tensors of a graph tensors of the graph that fuses it, at `place` in the plan, as far as that has none of them yet; gives the places
    /// where they stand instead.
    pub(super) fn adopt(&mut self, graph: GraphNo, place: u32) -> HashMap<u32, u32> {
        let mut own: Vec<u32> =
            self.private.iter().filter(|((of, _), _)| *of == graph).map(|(_, &at)| at).collect();
        own.arrange();
        let mut moved = HashMap::new();
        for at in own {
            moved.insert(at, self.tensors.len() as u32);
            self.tensors.push(PlanTensor { graph: Some(place), ..self.tensors[at as usize].clone() });
        }
        moved
    }

    pub(super) fn plan_events(&self) -> Vec<PlanEvent> {
        let external = |event: &EventNo| self.module.extern_events.iter().any(|(no, _)| no == event);
        let plan = |(&no, _): (&EventNo, &EventUse)| PlanEvent {
            no,
            name: self.module.name(Namespace::Event, GraphNo(0), no.0),
            external: external(&no),
        };
        self.events.iter().map(plan).collect()
    }

    pub(super) fn plan_args(&self) -> Vec<PlanArg> {
        let plan = |arg: &wsp_ir::tg::ArgDecl| PlanArg {
            name: self.module.str(arg.name).to_owned(),
            source: arg.source,
            ty: arg.ty,
            default: arg.default,
        };
        self.module.args.iter().map(plan).collect()
    }

    pub(super) fn plan_partitions(&self) -> Vec<PlanPartition> {
        let plan = |instr: &Instr| match *instr {
            Instr::CaPartition { partition_id, aic_start, aic_count, aiv_start, aiv_count } => {
                Some(PlanPartition { no: partition_id, aic_start, aic_count, aiv_start, aiv_count })
            }
            _ => None,
        };
        self.module.instrs.iter().filter_map(plan).collect()
    }
}
