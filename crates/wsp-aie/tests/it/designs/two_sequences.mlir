// Each of two sequences fills one buffer by a channel of its own, and nothing says which of them is first.
module {
  aie.device(npu1) @d {
    %s = aie.tile(1, 0)
    %t = aie.tile(1, 2)
    %x = aie.buffer(%t) {sym_name = "x"} : memref<64xi32>
    aie.flow(%s, DMA : 0, %t, DMA : 0)
    aie.flow(%s, DMA : 1, %t, DMA : 1)
    aie.shim_dma_allocation @in0(%s, MM2S, 0)
    aie.shim_dma_allocation @in1(%s, MM2S, 1)
    %dma = aie.mem(%t) {
      %a = aie.dma_start(S2MM, 0, ^fill, ^next)
    ^fill:
      aie.dma_bd(%x : memref<64xi32>, 0, 64)
      aie.next_bd ^fill
    ^next:
      %m = aie.dma_start(S2MM, 1, ^other, ^end)
    ^other:
      aie.dma_bd(%x : memref<64xi32>, 0, 64)
      aie.next_bd ^other
    ^end:
      aie.end
    }
    aie.runtime_sequence @a(%p: memref<64xi32>) {
      aiex.npu.dma_memcpy_nd(%p[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in0} : memref<64xi32>
    }
    aie.runtime_sequence @b(%p: memref<64xi32>) {
      aiex.npu.dma_memcpy_nd(%p[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, metadata = @in1} : memref<64xi32>
    }
  }
}
