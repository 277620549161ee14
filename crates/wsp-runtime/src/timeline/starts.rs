//! The starts of a timeline, from which another run takes its order.

use super::{Detail, Timeline};
use wsp_core::{BlockStart, Started};
use wsp_ordered::{Arrange, OrderedMap};

/// The number that is said under a name.
fn number(details: &[(&'static str, Detail)], name: &str) -> Option<u64> {
    details.iter().find_map(|(of, detail)| match detail {
        Detail::Number(number) if *of == name => u64::try_from(*number).ok(),
        _ => None,
    })
}

impl Timeline {
    /// When and where its tasks started, without barrier nodes; and of a unit of task graphs where in it each of them stands, of anything else nothing.
    pub fn starts(&self) -> (Vec<Started>, Vec<BlockStart>) {
        let mut launches: Vec<(u32, u64)> = self
            .spans
            .iter()
            .filter_map(|span| Some((self.device(span.row)?, number(&span.details, "launch")?)))
            .collect();
        launches.arrange();
        let mut of_device: OrderedMap<u32, u32> = OrderedMap::new();
        let numbered = launches.into_iter().map(|key| {
            let next = of_device.entry(key.0).or_default();
            *next += 1;
            (key, *next - 1)
        });
        let places: OrderedMap<(u32, u64), u32> = numbered.collect();
        let (mut started, mut blocks) = (Vec::with_capacity(self.tasks.len()), Vec::new());
        for (at, task) in self.tasks.iter().enumerate() {
            let Some(row) = task.row() else { continue };
            let worker = self.rows.get(row as usize).map_or(row, |row| row.number);
            started.push(Started {
                started: task.started,
                ended: task.ended,
                worker,
                kernel: task.kernel.0.into(),
            });
            blocks.extend(self.details.get(at).and_then(|details| {
                let device = self.device(row)?;
                let launch = *places.get(&(device, number(details, "launch")?))?;
                let [node, block] = [number(details, "node")?, number(details, "block")?];
                Some(BlockStart {
                    device,
                    launch,
                    node: u32::try_from(node).ok()?,
                    block: u32::try_from(block).ok()?,
                })
            }));
        }
        (started, blocks)
    }

    /// The device of a row: processes of task graphs are named by their devices.
    fn device(&self, row: u32) -> Option<u32> {
        let process = self.processes.get(self.rows.get(row as usize)?.process as usize)?;
        process.strip_prefix("device ")?.parse().ok()
    }
}
