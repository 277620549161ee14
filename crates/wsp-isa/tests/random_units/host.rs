//! What stands outside of graphs.

use super::{Made, Maker};
use wsp_core::tg::GraphNo;
use wsp_ir::tg::Expr;

impl Maker<'_, '_> {
    /// The unit behind its declarations.
    pub(super) fn unit(&mut self) {
        for _ in 0..self.choices.below(3) {
            self.partition();
        }
        for _ in 0..self.choices.below(2) {
            self.allocate(None);
        }
        for _ in 0..1 + self.choices.below(self.limits.graphs) {
            self.graph();
        }
        self.fuse();
        for at in 0..self.graphs.len() {
            self.launch(at);
        }
        if self.choices.once_in(3) {
            self.host_loop();
        }
        if self.choices.once_in(3) {
            self.host_branch();
        }
        if !self.is_run() {
            self.restore();
        }
        for Made { graph, launched, .. } in self.graphs.clone() {
            if launched {
                self.b.tg_sync(graph);
            }
        }
    }

    fn fuse(&mut self) {
        let [first, .., second] = self.graphs[..] else { return };
        if !self.choices.once_in(3) {
            return;
        }
        let name = self.name("F");
        let fused = self.b.graph(&name);
        self.b.tg_fuse(first.graph, second.graph, fused);
        self.graphs.push(Made { graph: fused, launched: false });
    }

    fn launch(&mut self, at: usize) {
        let Made { graph, .. } = self.graphs[at];
        if self.choices.once_in(4) {
            let priority = self.choices.byte() as i8;
            self.b.tg_set_priority(graph, priority);
        }
        match self.choices.below(6) {
            0 => {
                let step = self.choices.below(5) as i64;
                self.comes(graph, false);
                self.b.tg_invoke(graph, step);
            }
            1 => {
                self.comes(graph, true);
                self.b.tg_launch(graph, "side");
            }
            2 if !self.partitions.is_empty() => {
                let partition = self.partitions[0];
                self.comes(graph, false);
                self.b.tg_launch(graph, "default").in_partition(partition);
            }
            _ => {
                self.comes(graph, false);
                self.b.tg_launch(graph, "default");
            }
        }
        self.graphs[at].launched = true;
        if self.choices.once_in(6) {
            let name = self.name("saved");
            let checkpoint = self.b.checkpoint(&name);
            self.b.tg_checkpoint(graph, checkpoint);
            self.checkpoints.push((graph, checkpoint));
        }
    }

    /// A launch comes. In a unit that is run, the host waits for launches on the other stream first: they may touch the same bytes.
    fn comes(&mut self, graph: GraphNo, on_side: bool) {
        if !self.is_run() {
            return;
        }
        for (other, side) in std::mem::take(&mut self.flying) {
            if side == on_side {
                self.flying.push((other, side));
            } else {
                self.b.tg_sync(other);
            }
        }
        self.flying.push((graph, on_side));
    }

    fn any_graph(&mut self) -> Option<GraphNo> {
        self.choices.pick(&self.graphs).map(|made| made.graph)
    }

    fn host_loop(&mut self) {
        let Some(graph) = self.any_graph() else { return };
        let count = self.count();
        self.comes(graph, false);
        let name = self.name("step");
        let iter = self.b.iter(&name);
        self.b.cf_loop(count, iter);
        self.b.tg_invoke(graph, Expr::from(iter));
        if self.choices.once_in(3) {
            self.b.cf_break(Expr::from(iter).at_least(1));
        }
        self.b.cf_endloop();
    }

    fn host_branch(&mut self) {
        let Some(graph) = self.any_graph() else { return };
        let condition = self.condition();
        // Neither arm overlaps with what was launched before or is launched later.
        self.comes(graph, true);
        self.comes(graph, false);
        self.flying.push((graph, true));
        self.b.cf_if(condition);
        self.b.tg_launch(graph, "default");
        if self.choices.once_in(2) {
            self.b.cf_else();
            self.b.tg_launch(graph, "side");
        }
        self.b.cf_endif();
    }

    fn restore(&mut self) {
        let Some(&(graph, checkpoint)) = self.choices.pick(&self.checkpoints) else { return };
        if self.choices.once_in(2) {
            self.b.tg_restore(graph, checkpoint);
        }
    }
}
