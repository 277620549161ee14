//! Random numbers by their place in a sequence: Philox-4x32 with 10 rounds, of J. Salmon, M. Moraes, R. Dror and D. Shaw, "Parallel Random
//! Numbers: As Easy as 1, 2, 3", SC 2011.

use super::writer::{Kind, Writer};
use crate::mlir::{Type, Value};
use wsp_ir::TileOp;
use wsp_tile::Tile;

const FACTORS: [i64; 2] = [0xD251_1F53, 0xCD9E_8D57];
const STEPS: [i64; 2] = [0x9E37_79B9, 0xBB67_AE85];

impl Writer<'_> {
    /// `TRANDOM`: a block of four words for each element, of which it takes one.
    pub(super) fn random(&mut self, op: &TileOp<Tile>) {
        let TileOp::Random { dst, seed, first, pitch, .. } = op else { return };
        let to = self.tile(dst);
        let [seed, first, pitch] = [seed, first, pitch].map(|e| self.scalar(e));
        let wide = |writer: &mut Self, value: Value| writer.op("arith.extui", &[value], Type::Int(64));
        let [first, pitch] = [first, pitch].map(|value| wide(self, value));
        self.singly(dst, &mut |writer, r, c| {
            let [row, col] = [r, c].map(|place| {
                let place = writer.whole(place);
                wide(writer, place)
            });
            let row = writer.same("arith.muli", &[row, pitch]);
            let place = writer.same("arith.addi", &[first, row]);
            let place = writer.same("arith.addi", &[place, col]);
            let (two, four) = (writer.int(2, 64), writer.int(32, 64));
            let block = writer.same("arith.shrui", &[place, two]);
            let high = writer.same("arith.shrui", &[block, four]);
            let [low, high] = [block, high].map(|half| writer.op("arith.trunci", &[half], Type::Int(32)));
            let words = writer.philox(seed, [low, high]);
            let which = writer.op("arith.trunci", &[place], Type::Int(32));
            let three = writer.int(3, 32);
            let which = writer.same("arith.andi", &[which, three]);
            let mut word = words[0];
            for (n, other) in words.iter().enumerate().skip(1) {
                let number = writer.int(n as i64, 32);
                let is = writer.compare([0, 0], Kind::Int(32), which, number);
                word = writer.select(is, *other, word);
            }
            let eight = writer.int(8, 32);
            let word = writer.same("arith.shrui", &[word, eight]);
            let value = writer.op("arith.sitofp", &[word], Type::F32);
            let scale = writer.real(1.0 / 16_777_216.0);
            let value = writer.same("arith.mulf", &[value, scale]);
            writer.store(&to, r, c, value);
        });
    }

    fn philox(&mut self, seed: Value, block: [Value; 2]) -> Vec<Value> {
        let (zero, none, one, ten) = (self.int(0, 32), self.index(0), self.index(1), self.index(10));
        let start = [block[0], block[1], zero, zero, seed, zero];
        let mut words = self.rounds((none, ten, one), &start, &mut |writer, _, state| {
            let [high0, low0] = writer.halves(state[0], FACTORS[0]);
            let [high1, low1] = writer.halves(state[2], FACTORS[1]);
            let mut mixed = |high: Value, word: Value, key: Value| {
                let word = writer.same("arith.xori", &[high, word]);
                writer.same("arith.xori", &[word, key])
            };
            let (first, third) = (mixed(high1, state[1], state[4]), mixed(high0, state[3], state[5]));
            let keys = [0, 1].map(|i| {
                let step = writer.int(i64::from(STEPS[i] as i32), 32);
                writer.same("arith.addi", &[state[4 + i], step])
            });
            vec![first, low1, third, low0, keys[0], keys[1]]
        });
        words.truncate(4);
        words
    }

    /// The upper and the lower word of a product.
    fn halves(&mut self, word: Value, factor: i64) -> [Value; 2] {
        let wide = self.op("arith.extui", &[word], Type::Int(64));
        let (factor, bits) = (self.int(factor, 64), self.int(32, 64));
        let product = self.same("arith.muli", &[wide, factor]);
        let high = self.same("arith.shrui", &[product, bits]);
        [high, product].map(|half| self.op("arith.trunci", &[half], Type::Int(32)))
    }
}
