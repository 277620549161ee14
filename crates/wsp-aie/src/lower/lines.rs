//! What is repeated in what a core does, as loops, which are the same for all launches that a design is for.

use super::program::PERIOD;

/// What a core does: a step, by number, with the numbers that it takes where they differ between launches.
pub type Item = (usize, Vec<i64>);

/// Steps, some of them again and again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// A step, by number.
    Once(usize),
    /// Lines, so many times.
    Loop(usize, Vec<Line>),
}

/// A number in what a core runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// It is known.
    Fixed(i64),
    /// A word that the host writes, by its place.
    Word(usize),
    /// A number, and as much more in each round.
    Step(i64, i64),
    /// What is left of such a word when each round before took so many, and not more than that.
    Left(i64, usize),
}

/// What a core runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Code {
    /// A step, by number, with numbers.
    Once(usize, Vec<Count>),
    /// Code, so many times.
    Loop(Count, Vec<Code>),
}

/// What a core runs in all launches.
#[derive(Clone, Debug, Default)]
pub struct Common {
    /// The steps, with their loops.
    pub code: Vec<Code>,
    /// Words that the host writes, each with its value in every launch.
    pub words: Vec<Vec<i64>>,
}

/// Finds what is repeated.
pub fn fold(sequence: &[usize]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = 0;
    while at < sequence.len() {
        let rest = &sequence[at..];
        let mut best = (1, 1);
        for period in 1..=PERIOD.min(rest.len() / 2) {
            let same = rest[period..].iter().zip(rest).take_while(|(a, b)| a == b).count();
            let rounds = 1 + same / period;
            if rounds > 1 && rounds * period > best.0 * best.1 {
                best = (period, rounds);
            }
        }
        let (period, rounds) = best;
        match rounds {
            1 => lines.push(Line::Once(rest[0])),
            _ => lines.push(Line::Loop(rounds, fold(&rest[..period]))),
        }
        at += period * rounds;
    }
    lines
}

/// What launches do at each line, in the order of the lines.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// Rounds of a loop.
    rounds: Vec<Option<usize>>,
    /// Numbers of a step, with the round of the loop around it.
    numbers: Vec<Vec<(usize, Vec<i64>)>>,
    /// Whether the lines are those of this launch.
    is_own: bool,
}

/// How many lines there are, with those inside.
fn size(lines: &[Line]) -> usize {
    let of = |line: &Line| match line {
        Line::Once(_) => 1,
        Line::Loop(_, inner) => 1 + size(inner),
    };
    lines.iter().map(of).sum()
}

/// Where items end that follow these lines, the loops of which go on for as long as they can.
fn end(lines: &[Line], items: &[Item], mut at: usize) -> Option<usize> {
    for line in lines {
        match line {
            Line::Once(step) if items.get(at)?.0 == *step => at += 1,
            Line::Once(_) => return None,
            Line::Loop(_, inner) => {
                while let Some(next) = end(inner, items, at) {
                    at = next;
                }
            }
        }
    }
    Some(at)
}

impl Seen {
    /// Follows lines, and whether the items have them with each loop of the same rounds wherever it is met.
    fn follow(
        &mut self,
        lines: &[Line],
        items: &[Item],
        at: &mut usize,
        (mut node, round): (usize, usize),
    ) -> bool {
        for line in lines {
            match line {
                Line::Once(step) => {
                    let Some((of, numbers)) = items.get(*at).filter(|(of, _)| of == step) else {
                        return false;
                    };
                    debug_assert_eq!(of, step);
                    self.numbers[node].push((round, numbers.clone()));
                    *at += 1;
                    node += 1;
                }
                Line::Loop(known, inner) => {
                    let mut rounds = 0;
                    // The launch that the loops are of has as many rounds as they say.
                    while if self.is_own { rounds < *known } else { end(inner, items, *at).is_some() } {
                        if !self.follow(inner, items, at, (node + 1, rounds)) {
                            return false;
                        }
                        rounds += 1;
                    }
                    if *self.rounds[node].get_or_insert(rounds) != rounds {
                        return false;
                    }
                    node += 1 + size(inner);
                }
            }
        }
        true
    }
}

impl Common {
    /// What is common to what launches do: the loops of the longest, with rounds and numbers that the host writes where launches differ.
    /// None where there is nothing like it.
    pub fn of(launches: &[Vec<Item>]) -> Option<Common> {
        let longest = (0..launches.len()).max_by_key(|at| launches[*at].len())?;
        let lines = fold(&launches[longest].iter().map(|(step, _)| *step).collect::<Vec<_>>());
        let mut all = Vec::new();
        for (launch, items) in launches.iter().enumerate() {
            let (count, is_own) = (size(&lines), launch == longest);
            let mut seen = Seen { rounds: vec![None; count], numbers: vec![Vec::new(); count], is_own };
            let mut at = 0;
            if !seen.follow(&lines, items, &mut at, (0, 0)) || at < items.len() {
                return None;
            }
            all.push(seen);
        }
        let mut common = Common::default();
        let code = common.code(&lines, &all, 0)?;
        // A design is launched again and again, so all of it is repeated anyway.
        let counts = |code: &Code| matches!(code, Code::Once(_, numbers) if numbers.iter().any(|of| matches!(of, Count::Left(..) | Count::Step(..))));
        common.code = match code.as_slice() {
            [Code::Loop(rounds, inner)] if !inner.iter().any(counts) => {
                let (rounds, inner) = (*rounds, inner.clone());
                common.drop_word(rounds, &inner);
                inner
            }
            _ => code,
        };
        Some(common)
    }

    /// Takes back the last word where only the loop around all needs it.
    fn drop_word(&mut self, rounds: Count, code: &[Code]) {
        if let Count::Word(at) = rounds
            && at + 1 == self.words.len()
            && !uses(code, at)
        {
            self.words.pop();
        }
    }

    fn code(&mut self, lines: &[Line], all: &[Seen], mut node: usize) -> Option<Vec<Code>> {
        let mut out = Vec::new();
        for line in lines {
            match line {
                Line::Once(step) => {
                    let many =
                        all.iter().flat_map(|seen| &seen.numbers[node]).map(|(_, of)| of.len()).max()?;
                    let numbers = (0..many).map(|at| self.number(all, node, at)).collect::<Option<_>>()?;
                    out.push(Code::Once(*step, numbers));
                    node += 1;
                }
                Line::Loop(_, inner) => {
                    let code = self.code(inner, all, node + 1)?;
                    let rounds: Vec<Option<i64>> =
                        all.iter().map(|seen| seen.rounds[node].map(|of| of as i64)).collect();
                    out.push(Code::Loop(self.same(&rounds), code));
                    node += 1 + size(inner);
                }
            }
        }
        Some(out)
    }

    /// A number with one value in each launch that has it.
    fn same(&mut self, values: &[Option<i64>]) -> Count {
        let known = values.iter().flatten().next().copied().unwrap_or(0);
        if values.iter().flatten().all(|value| *value == known) {
            return Count::Fixed(known);
        }
        Count::Word(self.word(values.iter().map(|value| value.unwrap_or(0)).collect()))
    }

    fn word(&mut self, values: Vec<i64>) -> usize {
        self.words.iter().position(|known| *known == values).unwrap_or_else(|| {
            self.words.push(values);
            self.words.len() - 1
        })
    }

    /// A number of a step: the same all the time, one in each launch, or tiles of a size with a smaller one at the end.
    fn number(&mut self, all: &[Seen], node: usize, at: usize) -> Option<Count> {
        let of = |seen: &Seen| {
            seen.numbers[node].iter().map(|(round, numbers)| (*round, numbers[at])).collect::<Vec<_>>()
        };
        let values: Vec<Vec<(usize, i64)>> = all.iter().map(of).collect();
        let one = |of: &Vec<(usize, i64)>| of.iter().all(|(_, value)| *value == of[0].1);
        if values.iter().all(one) {
            let firsts: Vec<Option<i64>> =
                values.iter().map(|of| of.first().map(|(_, value)| *value)).collect();
            return Some(self.same(&firsts));
        }
        let first = values.iter().flatten().find(|(round, _)| *round == 0)?.1;
        let step = values.iter().flatten().find(|(round, _)| *round == 1)?.1.checked_sub(first)?;
        let after = |round: usize| step.checked_mul(round as i64)?.checked_add(first);
        if values.iter().flatten().all(|(round, value)| after(*round) == Some(*value)) {
            return Some(Count::Step(first, step));
        }
        let tile = values.iter().flatten().map(|(_, value)| *value).max()?;
        let before = |round: usize| tile.checked_mul(round as i64);
        let mut totals = Vec::new();
        for of in &values {
            let ends = of.iter().map(|(round, value)| Some(before(*round)? + value));
            let total = ends.collect::<Option<Vec<i64>>>()?.into_iter().max().unwrap_or(0);
            let is_left = |(round, value): &(usize, i64)| {
                before(*round).map(|taken| tile.min(total - taken)) == Some(*value)
            };
            if !of.iter().all(is_left) {
                return None;
            }
            totals.push(total);
        }
        Some(Count::Left(tile, self.word(totals)))
    }
}

/// Whether code, as often as it is repeated as a whole, makes these items with these words.
pub(super) fn makes(code: &[Code], words: &[i64], items: &[Item]) -> bool {
    let mut at = 0;
    while at < items.len() {
        let before = at;
        if !follows((code, 0), words, items, &mut at) || at == before {
            return false;
        }
    }
    true
}

/// Whether items from a place on are those of a round of code; where they end.
fn follows((code, round): (&[Code], i64), words: &[i64], items: &[Item], at: &mut usize) -> bool {
    let value = |count: &Count| match count {
        Count::Fixed(value) => *value,
        Count::Word(word) => words[*word],
        Count::Step(first, step) => first.saturating_add(step.saturating_mul(round)),
        Count::Left(tile, word) => (*tile).min(words[*word].saturating_sub(tile.saturating_mul(round))),
    };
    code.iter().all(|code| match code {
        Code::Once(step, counts) => {
            let is = items.get(*at).is_some_and(|(of, numbers)| {
                of == step && numbers.iter().copied().eq(counts.iter().map(value))
            });
            *at += usize::from(is);
            is
        }
        Code::Loop(rounds, inner) => {
            (0..value(rounds)).all(|round| follows((inner, round), words, items, at))
        }
    })
}

/// Whether code takes a word.
fn uses(code: &[Code], word: usize) -> bool {
    let is = |count: &Count| matches!(count, Count::Word(of) | Count::Left(_, of) if *of == word);
    code.iter().any(|code| match code {
        Code::Once(_, numbers) => numbers.iter().any(is),
        Code::Loop(rounds, inner) => is(rounds) || uses(inner, word),
    })
}
