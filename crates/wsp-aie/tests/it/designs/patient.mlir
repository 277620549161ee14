// One core reads behind a unit that two release, of which one waits for a lock that two release, too: it may be any of both.
module {
  aie.device(npu2) @d {
    %s0 = aie.tile(0, 0)
    %t0 = aie.tile(0, 3)
    %t1 = aie.tile(0, 2)
    %t2 = aie.tile(0, 4)
    %t3 = aie.tile(1, 3)
    %x = aie.buffer(%t0) {sym_name = "x"} : memref<16xi32>
    %l1 = aie.lock(%t0, 0) {init = 0 : i32, sym_name = "l1"}
    %l2 = aie.lock(%t0, 1) {init = 0 : i32, sym_name = "l2"}
    aie.objectfifo @out(%t0, {%s0}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
    %c0 = aie.core(%t0) {
      %i0 = arith.constant 0 : index
      aie.use_lock(%l1, AcquireGreaterEqual, 1)
      %r2 = memref.load %x[%i0] : memref<16xi32>
      %o3 = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
      aie.objectfifo.release @out(Produce, 1)
      aie.end
    }
    %c1 = aie.core(%t1) {
      aie.use_lock(%l2, AcquireGreaterEqual, 1)
      aie.use_lock(%l1, Release, 1)
      aie.end
    }
    %c2 = aie.core(%t2) {
      %v = arith.constant 1 : i32
      %i0 = arith.constant 0 : index
      memref.store %v, %x[%i0] : memref<16xi32>
      aie.use_lock(%l1, Release, 1)
      aie.use_lock(%l2, Release, 1)
      aie.end
    }
    %c3 = aie.core(%t3) {
      aie.use_lock(%l2, Release, 1)
      aie.end
    }
    aie.runtime_sequence @sequence(%y: memref<16xi32>) {
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @out} : memref<16xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
