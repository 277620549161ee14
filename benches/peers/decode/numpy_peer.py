"""numpy as a peer of `decode`: products of matrices in f32, the query heads of a group as rows."""

from __future__ import annotations

from common import Problem, np, serve


class Folded:
    """Scores, softmax and sums, one call of numpy each for a batch."""

    name = "f32"

    def __init__(self, problem: Problem) -> None:
        self.scale = np.float32(problem.scale)
        k, v = problem.heads_first("k", np.float32), problem.heads_first("v", np.float32)
        q = [problem.q[batch.start : batch.stop] for batch in problem.batches()]
        self.parts = list(zip(q, k, v, strict=True))
        self.results: list[np.ndarray] = []

    def run(self) -> None:
        self.results = [self.attend(*part) for part in self.parts]

    def attend(self, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Attention of a batch of one length."""
        scores = (q * self.scale) @ k.swapaxes(-1, -2)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        return (scores @ v) / scores.sum(axis=-1, keepdims=True)

    def output(self) -> np.ndarray:
        return np.concatenate(self.results)


if __name__ == "__main__":
    serve(np.__version__, lambda problem: [Folded(problem)])
