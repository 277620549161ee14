"""onnxruntime as a peer of `decode`: its CPU kernels of GroupQueryAttention and MultiHeadAttention.

One session computes all requests: one node where they are of one length, else a node per request, so that
nothing is padded. Caches are bound as they lie, and past and present of GroupQueryAttention share memory, so
that nothing is copied.
"""

from __future__ import annotations

from typing import Any

from common import Problem, absent, np, serve

try:
    import onnxruntime as ort
    from onnx import helper
except ImportError as fault:
    absent(f"the Python package {fault.name}")


class Graph:
    """Nodes of a model and the arrays bound to it."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.inputs: dict[str, np.ndarray] = {}
        self.outputs: dict[str, np.ndarray] = {}
        #: Outputs that are written where an input lies.
        self.shared: dict[str, str] = {}

    def add(
        self, kind: str, part: int, inputs: dict[str, np.ndarray], outputs: dict[str, Any], **more: Any
    ) -> None:
        """A node for one part of the problem. An output is an array, or the name of the input it shares."""
        self.inputs |= {f"{name}{part}": array for name, array in inputs.items()}
        for name, target in outputs.items():
            if isinstance(target, str):
                self.shared[f"{name}{part}"] = f"{target}{part}"
            else:
                self.outputs[f"{name}{part}"] = target
        given, made = ([f"{name}{part}" for name in side] for side in (inputs, outputs))
        self.nodes.append(helper.make_node(kind, given, made, domain="com.microsoft", **more))

    def bound(self, threads: int) -> tuple[ort.InferenceSession, Any]:
        """A session of the nodes, and everything bound to it."""

        def info(name: str, array: np.ndarray) -> Any:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            return helper.make_tensor_value_info(name, kind, array.shape)

        results = self.outputs | {name: self.inputs[place] for name, place in self.shared.items()}
        graph = helper.make_graph(
            self.nodes,
            "decode",
            [info(name, array) for name, array in self.inputs.items()],
            [info(name, array) for name, array in results.items()],
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.force_spinning_stop", "1")
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in self.inputs.items()}
        for name, value in values.items():
            binding.bind_ortvalue_input(name, value)
        for name in [output.name for output in session.get_outputs()]:
            if name in self.shared:
                binding.bind_ortvalue_output(name, values[self.shared[name]])
            else:
                binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(self.outputs[name]))
        return session, binding


class Session:
    """What both forms do with their graph."""

    def __init__(self, problem: Problem, graph: Graph) -> None:
        self.shape = problem.expected.shape
        self.session, self.binding = graph.bound(problem.threads)

    def run(self) -> None:
        self.session.run_with_iobinding(self.binding)

    def results(self) -> list[np.ndarray]:
        """The outputs that share no input."""
        names = [output.name for output in self.session.get_outputs()]
        values = self.binding.get_outputs()
        return [value.numpy() for name, value in zip(names, values, strict=True) if name.startswith("output")]


class GroupQuery(Session):
    """GroupQueryAttention: the last token of each request is the one that the step appends."""

    def __init__(self, problem: Problem, dtype: Any) -> None:
        self.name = f"GQA {np.dtype(dtype).name.replace('float', 'f')}"
        graph = Graph()
        caches = [problem.heads_first(side, dtype) for side in ("k", "v")]
        for part, batch in enumerate(problem.batches()):
            k, v = caches[0][part], caches[1][part]
            count, tokens = len(batch), problem.lengths[batch.start]
            q = problem.q[batch.start : batch.stop].reshape(count, 1, -1).astype(dtype)
            inputs = {
                "query": q,
                "key": k[:, :, -1].reshape(count, 1, -1).copy(),
                "value": v[:, :, -1].reshape(count, 1, -1).copy(),
                "past_key": k,
                "past_value": v,
                "seqlens_k": np.full(count, tokens - 1, np.int32),
                "total": np.array([tokens], np.int32),
            }
            outputs = {"output": np.zeros(q.shape, dtype)}
            outputs |= {"present_key": "past_key", "present_value": "past_value"}
            heads = {"num_heads": problem.kv_heads * problem.group, "kv_num_heads": problem.kv_heads}
            graph.add("GroupQueryAttention", part, inputs, outputs, scale=problem.scale, **heads)
        super().__init__(problem, graph)

    def output(self) -> np.ndarray:
        parts = [each.reshape(each.shape[0], -1) for each in self.results()]
        return np.concatenate(parts).reshape(self.shape)


class MultiHead(Session):
    """MultiHeadAttention over the KV heads, the query heads of a group as a sequence of queries."""

    name = "MHA f32"

    def __init__(self, problem: Problem) -> None:
        graph = Graph()
        caches = [problem.heads_first(side, np.float32) for side in ("k", "v")]
        self.heads = (problem.group, problem.kv_heads, problem.dim)
        for part, batch in enumerate(problem.batches()):
            q = problem.q[batch.start : batch.stop].swapaxes(1, 2).reshape(len(batch), problem.group, -1)
            inputs = {"query": np.ascontiguousarray(q), "key": caches[0][part], "value": caches[1][part]}
            outputs = {"output": np.zeros(q.shape, np.float32)}
            heads = {"num_heads": problem.kv_heads}
            graph.add("MultiHeadAttention", part, inputs, outputs, scale=problem.scale, **heads)
        super().__init__(problem, graph)

    def output(self) -> np.ndarray:
        parts = [each.reshape(each.shape[0], *self.heads).swapaxes(1, 2) for each in self.results()]
        return np.concatenate(parts).reshape(self.shape)


def forms(problem: Problem) -> list[Any]:
    """All of them; the CPU kernels take no bf16."""
    return [GroupQuery(problem, np.float32), GroupQuery(problem, np.float16), MultiHead(problem)]


if __name__ == "__main__":
    serve(ort.__version__, forms)
