// The core that stores acquires a lock, which no core that reads has to do with.
module {
  aie.device(npu2) @d {
    %s0 = aie.tile(0, 0)
    %t0 = aie.tile(0, 3)
    %t1 = aie.tile(0, 2)
    %t2 = aie.tile(0, 4)
    %t3 = aie.tile(1, 3)
    %x = aie.buffer(%t0) {sym_name = "x"} : memref<16xi32>
    %d = aie.lock(%t0, 0) {init = 1 : i32, sym_name = "d"}
    %n = aie.lock(%t0, 1) {init = 0 : i32, sym_name = "n"}
    aie.objectfifo @out(%t1, {%s0}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    %c0 = aie.core(%t0) {
      %v = arith.constant 1 : i32
      %i0 = arith.constant 0 : index
      aie.use_lock(%d, AcquireGreaterEqual, 1)
      memref.store %v, %x[%i0] : memref<16xi32>
      aie.end
    }
    %c1 = aie.core(%t1) {
      %i0 = arith.constant 0 : index
      %r1 = memref.load %x[%i0] : memref<16xi32>
      %o2 = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @out(Produce, 1)
      aie.end
    }
    %c2 = aie.core(%t2) {
      aie.use_lock(%n, AcquireGreaterEqual, 1)
      aie.use_lock(%d, Release, 1)
      aie.end
    }
    %c3 = aie.core(%t3) {
      aie.use_lock(%d, AcquireGreaterEqual, 1)
      aie.use_lock(%d, AcquireGreaterEqual, 1)
      aie.use_lock(%n, Release, 1)
      aie.end
    }
    aie.runtime_sequence @sequence(%y: memref<16xi32>) {
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @out} : memref<16xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
