//! Graphs as tables of comma-separated values: `task_id,kernel_name,is_cube`, `src,dst`, and
//! `task_id,arg,dir,tensor,row_off,col_off,rows,cols`. Names are identifiers, so nothing needs quotes.

use super::{Graph, GraphAccess, Rows};
use wsp_ir::workload::{AccessMode, ExecPool};

/// Writes a line per task: its id, its kernel, and whether that runs on cube cores (1) or not (0).
///
/// # Errors
/// What the writer says, or that the work is to stop.
pub fn write_tasks(rows: &mut Rows<'_>, graph: &Graph) -> std::io::Result<()> {
    rows.text("task_id,kernel_name,is_cube").end()?;
    let tails: Vec<String> = graph
        .kernels()
        .iter()
        .map(|k| format!(",{},{}", k.name, if k.unit == ExecPool::Cube { '1' } else { '0' }))
        .collect();
    for (id, &kernel) in (0u32..).zip(graph.tasks()) {
        rows.number(id).text(&tails[kernel as usize]).end()?;
    }
    rows.flush()
}

/// Writes a line per edge, by source, then destination, with multiplicity.
///
/// # Errors
/// As [`write_tasks`].
pub fn write_edges(rows: &mut Rows<'_>, graph: &Graph) -> std::io::Result<()> {
    rows.text("src,dst").end()?;
    for &(src, dst) in graph.edges() {
        rows.number(src).text(",").number(dst).end()?;
    }
    rows.flush()
}

/// Writes a line per access: rows are the first dimension of its tensor, columns the second; `tensors` are their names.
///
/// # Errors
/// As [`write_tasks`].
pub fn write_accesses(
    rows: &mut Rows<'_>,
    accesses: &[GraphAccess],
    tensors: &[String],
) -> std::io::Result<()> {
    rows.text("task_id,arg,dir,tensor,row_off,col_off,rows,cols").end()?;
    for access in accesses {
        let direction = match access.mode {
            AccessMode::In => ",in,",
            AccessMode::Out => ",out,",
            AccessMode::InOut => ",inout,",
        };
        let (lo, hi) = (access.region.lo, access.region.hi);
        rows.number(access.task).text(",").number(access.arg).text(direction);
        rows.text(&tensors[access.region.tensor.index()]);
        for n in [lo[0], lo[1], hi[0].saturating_sub(lo[0]), hi[1].saturating_sub(lo[1])] {
            rows.text(",").number(n);
        }
        rows.end()?;
    }
    rows.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::tests::{kernel, random_graph};
    use wsp_core::{Region, TensorId};

    fn written(write: impl FnOnce(&mut Rows<'_>) -> std::io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut Rows::new(&mut out)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_table_of_tasks_has_a_line_for_each() {
        let kernels = vec![kernel("norm", ExecPool::Vector), kernel("gemm", ExecPool::Cube)];
        let graph = Graph::new(kernels, vec![0, 1, 1], vec![(0, 2), (0, 1), (0, 2)]);
        assert_eq!(
            written(|rows| write_tasks(rows, &graph)),
            "task_id,kernel_name,is_cube\n0,norm,0\n1,gemm,1\n2,gemm,1\n"
        );
        assert_eq!(written(|rows| write_edges(rows, &graph)), "src,dst\n0,1\n0,2\n0,2\n");
    }

    #[test]
    fn an_access_is_an_offset_and_an_extent() {
        let region = Region::new(TensorId(1), &[64, 8], &[96, 24]).unwrap();
        let names = ["x".to_owned(), "y".to_owned()];
        let access = GraphAccess { task: 7, arg: 2, mode: AccessMode::InOut, region };
        let line = Region::new(TensorId(0), &[5], &[9]).unwrap();
        let flat = GraphAccess { task: 8, arg: 0, mode: AccessMode::In, region: line };
        assert_eq!(
            written(|rows| write_accesses(rows, &[access, flat], &names)),
            "task_id,arg,dir,tensor,row_off,col_off,rows,cols\n7,2,inout,y,64,8,32,16\n8,0,in,x,5,0,4,1\n"
        );
    }

    #[test]
    fn tables_read_back_are_the_graph() {
        for seed in 0..100 {
            let graph = random_graph(seed);
            let edges: Vec<(u32, u32)> = written(|rows| write_edges(rows, &graph))
                .lines()
                .skip(1)
                .map(|line| line.split_once(',').unwrap())
                .map(|(src, dst)| (src.parse().unwrap(), dst.parse().unwrap()))
                .collect();
            assert_eq!(edges, graph.edges());
            assert_eq!(written(|rows| write_tasks(rows, &graph)).lines().count(), graph.tasks().len() + 1);
        }
    }
}
