//! What generators emitted, as the table of a package.

use super::Plan;
use crate::backend::param_value;
use wsp_backend::{LaunchTable, TableArray, TableRow, TableTask};
use wsp_ir::{ArrayRef, LaunchArray, MetaKind};
use wsp_kernel::FlatEvent;

impl Plan {
    /// The tasks, and what they follow from.
    pub(crate) fn table(&self) -> LaunchTable {
        let (mut rows, mut end) = (Vec::new(), 0);
        for event in self.flat.events() {
            rows.push(match event {
                FlatEvent::Fence => TableRow::Fence,
                FlatEvent::Task { site, fields, hints, .. } => {
                    end += fields.len() as u32;
                    TableRow::Task(TableTask {
                        of: site.descriptor().0,
                        words_end: end,
                        after_end: 0,
                        stream: None,
                        priority: hints.priority().unwrap_or(0).try_into().unwrap_or(i32::MAX),
                    })
                }
            });
        }
        LaunchTable {
            rows,
            words: self.flat.words().to_vec(),
            after: Vec::new(),
            workspace_bytes: self.settled.workspace_bytes,
            tiles: self.settled.tiles.clone(),
            params: self.bound.params.iter().map(|value| value.map(param_value)).collect(),
            arrays: self.reads.iter().filter_map(|array| self.array(*array)).collect(),
        }
    }

    /// The elements of an array that generators read.
    fn array(&self, array: ArrayRef) -> Option<(TableArray, Vec<i64>)> {
        let (of, elements) = match array {
            ArrayRef::Tensor(id) => {
                let array = self.bound.integers[id.index()].as_ref()?;
                let elements = (0..array.len()).filter_map(|at| array.bits(at)).map(|value| value as i64);
                (LaunchArray::Tensor(id), elements.collect())
            }
            ArrayRef::Meta(id, kind) => {
                let cache = &self.bound.caches[id.index()];
                let elements = match kind {
                    MetaKind::Lengths => &cache.lengths,
                    MetaKind::Indptr => &cache.indptr,
                    MetaKind::Indices => &cache.indices,
                    MetaKind::LastPageLen => &cache.last_page_len,
                };
                (LaunchArray::Meta(id, kind), elements.iter().map(|value| i64::from(*value)).collect())
            }
            ArrayRef::Local(_) | ArrayRef::Derived(_) => return None,
        };
        Some((TableArray::Launch(of), elements))
    }
}
