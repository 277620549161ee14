//! Blocks of control flow.

/// A block of a unit: the place in [`Blocks`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct BlockId(pub u32);

/// What a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockKind {
    /// What stands outside of graphs.
    Host,
    /// A graph.
    Graph,
    /// From `CF_IF` on.
    Then,
    /// From `CF_ELSE` on.
    Else,
    /// The body of a `CF_LOOP`.
    Loop,
    /// The body of a `CF_WHILE`.
    While,
}

impl BlockKind {
    /// Whether it runs more than once.
    pub const fn is_loop(self) -> bool {
        matches!(self, BlockKind::Loop | BlockKind::While)
    }

    /// Whether it is one of two arms.
    pub const fn is_arm(self) -> bool {
        matches!(self, BlockKind::Then | BlockKind::Else)
    }

    /// The instruction that opens it.
    pub const fn opener(self) -> &'static str {
        match self {
            BlockKind::Host => "the unit",
            BlockKind::Graph => "TG_BEGIN",
            BlockKind::Then => "CF_IF",
            BlockKind::Else => "CF_ELSE",
            BlockKind::Loop => "CF_LOOP",
            BlockKind::While => "CF_WHILE",
        }
    }

    /// The instruction that closes it.
    pub const fn closer(self) -> &'static str {
        match self {
            BlockKind::Host => "the end",
            BlockKind::Graph => "TG_END",
            BlockKind::Then | BlockKind::Else => "CF_ENDIF",
            BlockKind::Loop => "CF_ENDLOOP",
            BlockKind::While => "CF_ENDWHILE",
        }
    }
}

/// A block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// The block around it; its own for the host.
    pub parent: BlockId,
    /// How many blocks are around it.
    pub depth: u32,
    /// The instruction that opens it.
    pub open: u32,
    /// The instruction whose condition or count says whether it runs: of both arms of a `CF_IF` that one.
    pub decided: u32,
    /// The instruction that closes it.
    pub close: u32,
    /// Whether a `CF_BREAK` leaves it.
    pub breaks: bool,
}

/// Every block of a unit, in the order in which they are opened; the first is the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blocks(Vec<Block>);

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks(vec![Block {
            kind: BlockKind::Host,
            parent: BlockId(0),
            depth: 0,
            open: 0,
            decided: 0,
            close: u32::MAX,
            breaks: false,
        }])
    }
}

impl Blocks {
    /// The host.
    pub const HOST: BlockId = BlockId(0);

    /// A block.
    pub fn get(&self, id: BlockId) -> &Block {
        &self.0[id.0 as usize]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        self.0.iter().enumerate().map(|(at, block)| (BlockId(at as u32), block))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never: the host is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    pub(super) fn open(&mut self, kind: BlockKind, parent: BlockId, at: u32) -> BlockId {
        let depth = self.get(parent).depth + 1;
        self.0.push(Block { kind, parent, depth, open: at, decided: at, close: u32::MAX, breaks: false });
        BlockId(self.0.len() as u32 - 1)
    }

    pub(super) fn get_mut(&mut self, id: BlockId) -> &mut Block {
        &mut self.0[id.0 as usize]
    }

    /// The block and those around it, from the inside out, up to its graph, or up to the host.
    pub fn outwards(&self, from: BlockId) -> impl Iterator<Item = (BlockId, &Block)> {
        let mut next = Some(from);
        std::iter::from_fn(move || {
            let id = next?;
            let block = self.get(id);
            let ends = matches!(block.kind, BlockKind::Graph | BlockKind::Host);
            next = (!ends).then_some(block.parent);
            Some((id, block))
        })
    }

    /// Whether `inner` is `outer` or stands in it.
    pub fn is_within(&self, inner: BlockId, outer: BlockId) -> bool {
        let depth = self.get(outer).depth;
        let mut at = inner;
        while self.get(at).depth > depth {
            at = self.get(at).parent;
        }
        at == outer
    }

    /// The innermost block around both, and what of each stands directly in it: the block itself if it is that one.
    pub fn meet(&self, a: BlockId, b: BlockId) -> (BlockId, BlockId, BlockId) {
        let (mut x, mut y) = (a, b);
        let (mut from_a, mut from_b) = (a, b);
        while x != y {
            if self.get(x).depth >= self.get(y).depth {
                from_a = x;
                x = self.get(x).parent;
            } else {
                from_b = y;
                y = self.get(y).parent;
            }
        }
        (x, from_a, from_b)
    }

    /// Whether at most one of two blocks runs, in one round of the loops around both: they stand in the two arms of one
    /// `CF_IF`.
    pub fn exclude(&self, a: BlockId, b: BlockId) -> bool {
        let (_, x, y) = self.meet(a, b);
        let (x, y) = (self.get(x), self.get(y));
        match (x.kind, y.kind) {
            (BlockKind::Then, BlockKind::Else) => x.parent == y.parent && x.close == y.open,
            (BlockKind::Else, BlockKind::Then) => x.parent == y.parent && y.close == x.open,
            _ => false,
        }
    }

    /// The innermost block around an instruction; an instruction that opens a block stands outside of it.
    pub fn around(&self, instr: u32) -> BlockId {
        let opened_before = self.0[1..].partition_point(|block| block.open < instr);
        let mut at = BlockId(opened_before as u32);
        while self.get(at).close <= instr && at != Blocks::HOST {
            at = self.get(at).parent;
        }
        at
    }

    /// The block that an instruction opens.
    pub fn opened_by(&self, instr: u32) -> Option<BlockId> {
        let at = self.0[1..].partition_point(|block| block.open < instr) + 1;
        self.0.get(at).filter(|block| block.open == instr).map(|_| BlockId(at as u32))
    }

    /// The innermost loop around a block, in the same graph or on the host.
    pub fn innermost_loop(&self, from: BlockId) -> Option<BlockId> {
        self.outwards(from).find(|(_, block)| block.kind.is_loop()).map(|(id, _)| id)
    }
}
