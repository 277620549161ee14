//! Products: on cube cores alone, and of tiles of the vector core.

use super::{Shape, Text};

impl Text {
    /// A product of a tile with a square one that is loaded for it.
    pub(super) fn product(&mut self, name: &str) {
        let k = self.fresh_name("k");
        let cols = self.cols;
        let valid = self.valid(Shape::Wide)[1].clone();
        let (row, col) = (self.row(), self.numbers.below(32 - cols + 1));
        let turned = self.numbers.below(2) == 0;
        let to = if name == "TMATMUL_ACC" { self.tile(Shape::Wide, false).name } else { String::new() };
        let mut a = self.tile(Shape::Wide, false).name;
        if a == to {
            a = self.target_apart(Shape::Wide, &to);
            self.say(format!("TNEG({a}, {to});"));
        }
        let to = if to.is_empty() { self.target_apart(Shape::Wide, &a) } else { to };
        self.say(format!(
            "RightTile<float, {cols}, {cols}> {k}; TLOAD({k}, x, {{{row}, {col}}}, {valid}, {valid});"
        ));
        let b = if turned { format!("PTO_TRANSPOSE({k})") } else { k };
        self.say(format!("{name}({to}, {a}, {b});"));
        self.clamp(&to);
    }

    /// A kernel of products alone.
    pub(super) fn cube(&mut self) {
        let inner = self.one_of(&[8, 15, 16, 17, 32]);
        let (rows, cols) = (self.rows, self.cols);
        let turned = self.numbers.below(2) == 0;
        let right = if turned { [cols, inner] } else { [inner, cols] };
        self.say(format!(
            "LeftTile<float, {rows}, {inner}> l; RightTile<float, {}, {}> r;",
            right[0], right[1]
        ));
        self.say(format!("AccTile<float, {rows}, {cols}> acc; AccTile<float, {rows}, {cols}> other;"));
        self.operands(inner, right);
        let b = if turned { "PTO_TRANSPOSE(r)" } else { "r" };
        match self.numbers.below(2) {
            0 => self.say(format!("TASSIGN(acc, 0.0f, {});", self.valid(Shape::Wide)[0])),
            _ => self.say(format!("TMATMUL(acc, l, {b});")),
        }
        self.say(format!("TMATMUL(other, l, {b});"));
        self.cube_block(0, (inner, right, b));
        for acc in ["acc", "other"] {
            let place = self.place(Shape::Wide);
            self.say(format!("TSTORE(y, {acc}, {place});"));
        }
    }

    fn operands(&mut self, inner: u64, right: [u64; 2]) {
        let valid = self.valid(Shape::Wide)[0].clone();
        let terms = if self.open[1] { "desc.d".to_owned() } else { inner.to_string() };
        let (row, col) = (self.row(), self.numbers.below(32 - inner + 1));
        self.say(format!("TLOAD(l, x, {{{row}, {col}}}, {valid}, {terms});"));
        if self.numbers.below(3) > 0 || self.left == 12 {
            let (row, col) = (self.row(), self.numbers.below(32 - right[1] + 1));
            self.say(format!("TLOAD(r, x, {{{row}, {col}}});"));
        }
    }

    fn cube_block(&mut self, depth: usize, of: (u64, [u64; 2], &str)) {
        let (inner, right, b) = of;
        for _ in 0..2 + self.numbers.below(3) {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            match self.numbers.below(9) {
                0..=2 if depth < 3 => {
                    let (name, end) = (self.fresh_name("i"), if depth == 0 { "desc.a" } else { "desc.b" });
                    self.say(format!("for (uint32_t {name} = 0; {name} < {end}; {name} += 1) {{"));
                    self.loops.push(name);
                    self.operands(inner, right);
                    self.say(format!("TMATMUL_ACC(acc, l, {b});"));
                    self.cube_block(depth + 1, of);
                    self.loops.pop();
                    self.say("}");
                }
                3 if depth < 3 => {
                    self.say("if (desc.a > 1) {");
                    self.cube_block(depth + 1, of);
                    self.say("}");
                }
                4 => {
                    let place = self.place(Shape::Wide);
                    let (word, acc) =
                        (self.one_of(&["TSTORE", "TSTORE_ATOMIC_ADD"]), self.one_of(&["acc", "other"]));
                    self.say(format!("{word}(y, {acc}, {place});"));
                }
                5 => self.operands(inner, right),
                _ => {
                    let (word, acc) = self.one_of(&[
                        ("TMATMUL", "other"),
                        ("TMATMUL_ACC", "acc"),
                        ("TMATMUL_ACC", "other"),
                    ]);
                    self.drawn.used.push(word);
                    self.say(format!("{word}({acc}, l, {b});"));
                }
            }
        }
    }
}
