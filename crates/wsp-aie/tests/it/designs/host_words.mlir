// The host writes a word of a buffer, which two cores give to a kernel.
module {
  aie.device(npu2) @d {
    func.func private @k(memref<16xi32>)
    %s0 = aie.tile(0, 0)
    %t0 = aie.tile(0, 3)
    %t1 = aie.tile(0, 2)
    %x = aie.buffer(%t0) {sym_name = "x"} : memref<16xi32>
    aie.objectfifo @out(%t0, {%s0}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    %c0 = aie.core(%t0) {
      func.call @k(%x) : (memref<16xi32>) -> ()
      %o1 = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @out(Produce, 1)
      aie.end
    }
    %c1 = aie.core(%t1) {
      func.call @k(%x) : (memref<16xi32>) -> ()
      aie.end
    }
    aie.runtime_sequence @sequence(%y: memref<16xi32>) {
      aiex.npu.rtp_write(@x, 0, 7)
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @out} : memref<16xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
