//! Numbers tasks and order points so that edges lead forward.
//!
//! A runtime makes the order point of a step when the step has its second task, so that edges of later tasks of the step
//! lead back to it. In a list it stands behind the last task that it waits for, and tasks keep their order. An order point
//! that nothing waits for orders nothing and is left out.

/// What became of each task and order point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Numbering {
    /// The old number of each that is left, in order of the new ones.
    pub(super) order: Vec<u32>,
    /// The new number of each old one; none for what is left out.
    pub(super) number: Vec<Option<u32>>,
}

/// The numbering of a graph whose edges between tasks, and from order points to tasks, lead forward. None when it can
/// stay as it is.
pub(super) fn renumber(is_point: &[bool], edges: &[(u32, u32)]) -> Option<Numbering> {
    let mut followed = vec![false; is_point.len()];
    let mut forward = true;
    for &(src, dst) in edges {
        followed[src as usize] = true;
        forward &= src < dst;
    }
    let all_used = is_point.iter().zip(&followed).all(|(point, followed)| !point || *followed);
    if forward && all_used {
        return None;
    }
    let sorted = sort(is_point, edges);
    let kept = used(is_point, edges);
    let order: Vec<u32> = sorted.into_iter().filter(|&id| kept[id as usize]).collect();
    let mut number = vec![None; is_point.len()];
    for (new, &old) in (0u32..).zip(&order) {
        number[old as usize] = Some(new);
    }
    Some(Numbering { order, number })
}

/// Tasks in their order, each order point behind the last that it waits for.
fn sort(is_point: &[bool], edges: &[(u32, u32)]) -> Vec<u32> {
    let into_points = || edges.iter().copied().filter(|(_, dst)| is_point[*dst as usize]);
    let points_after = Lists::of(is_point.len(), into_points);
    let mut waits = vec![0u32; is_point.len()];
    for (_, point) in into_points() {
        waits[point as usize] += 1;
    }
    let waits_for_nothing: Vec<bool> = waits.iter().map(|&n| n == 0).collect();
    let mut order: Vec<u32> = Vec::with_capacity(is_point.len());
    let mut at = 0;
    for id in 0..is_point.len() {
        if !is_point[id] || waits_for_nothing[id] {
            order.push(id as u32);
        }
        while at < order.len() {
            for &point in points_after.list(order[at]) {
                waits[point as usize] -= 1;
                if waits[point as usize] == 0 {
                    order.push(point);
                }
            }
            at += 1;
        }
    }
    order
}

/// Whether each is a task, or an order point before one.
fn used(is_point: &[bool], edges: &[(u32, u32)]) -> Vec<bool> {
    let from_points = || edges.iter().copied().filter(|(src, _)| is_point[*src as usize]);
    let points_before = Lists::of(is_point.len(), || from_points().map(|(src, dst)| (dst, src)));
    let mut used: Vec<bool> = is_point.iter().map(|point| !point).collect();
    let mut open: Vec<u32> = (0u32..).zip(&used).filter(|(_, task)| **task).map(|(id, _)| id).collect();
    while let Some(id) = open.pop() {
        for &point in points_before.list(id) {
            if !std::mem::replace(&mut used[point as usize], true) {
                open.push(point);
            }
        }
    }
    used
}

/// Numbers that belong to a number.
struct Lists {
    begin: Vec<usize>,
    all: Vec<u32>,
}

impl Lists {
    /// Of pairs (key, number), keys below `keys`; each list in the order of the pairs.
    fn of<I: Iterator<Item = (u32, u32)>>(keys: usize, pairs: impl Fn() -> I) -> Lists {
        let mut begin = vec![0usize; keys + 1];
        for (key, _) in pairs() {
            begin[key as usize + 1] += 1;
        }
        for key in 0..keys {
            begin[key + 1] += begin[key];
        }
        let mut next = begin.clone();
        let mut all = vec![0; begin[keys]];
        for (key, number) in pairs() {
            let slot = &mut next[key as usize];
            all[*slot] = number;
            *slot += 1;
        }
        Lists { begin, all }
    }

    fn list(&self, key: u32) -> &[u32] {
        &self.all[self.begin[key as usize]..self.begin[key as usize + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(points: &[usize], tasks: usize, edges: &[(u32, u32)]) -> Option<Vec<u32>> {
        let is_point: Vec<bool> = (0..tasks).map(|id| points.contains(&id)).collect();
        renumber(&is_point, edges).map(|numbering| numbering.order)
    }

    #[test]
    fn what_leads_forward_stays() {
        assert_eq!(order(&[2], 5, &[(0, 2), (1, 2), (2, 3), (2, 4)]), None);
        assert_eq!(order(&[], 3, &[]), None);
    }

    #[test]
    fn an_order_point_stands_behind_the_last_task_that_it_waits_for() {
        // Steps of three: the point is made with the second task, and the third leads back to it.
        let edges = [(0, 2), (1, 2), (3, 2), (2, 4), (2, 5)];
        assert_eq!(order(&[2], 6, &edges), Some(vec![0, 1, 3, 2, 4, 5]));
    }

    #[test]
    fn order_points_behind_order_points_follow_them() {
        let edges = [(0, 1), (2, 1), (1, 3), (4, 3), (3, 5)];
        assert_eq!(order(&[1, 3], 6, &edges), Some(vec![0, 2, 1, 4, 3, 5]));
    }

    #[test]
    fn order_points_before_nothing_are_left_out() {
        let is_point = [false, false, true, false, true];
        let numbering = renumber(&is_point, &[(0, 2), (1, 2), (2, 3), (3, 4)]).unwrap();
        assert_eq!(numbering.order, [0, 1, 2, 3]);
        assert_eq!(numbering.number, [Some(0), Some(1), Some(2), Some(3), None]);
        assert_eq!(order(&[1, 2], 4, &[(0, 1), (1, 2)]), Some(vec![0, 3]));
    }
}
