// Each of two cores holds a lock while it waits for the fifo between them.
module {
  aie.device(npu2) @main {
    %t0_0 = aie.tile(0, 0)
    %t0_2 = aie.tile(0, 2)
    %t0_3 = aie.tile(0, 3)
    %t1_0 = aie.tile(1, 0)
    %s = aie.buffer(%t0_3) {sym_name = "s"} : memref<16xf32>
    %g = aie.lock(%t0_3, 0) {init = 1 : i32, sym_name = "g"}
    aie.objectfifo @x0(%t0_0, {%t0_3}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
    aie.objectfifo @y1(%t0_2, {%t1_0}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
    aie.objectfifo @t(%t0_3, {%t0_2}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
    %p1 = aie.buffer(%t0_2) {sym_name = "p1"} : memref<64xf32>
    %c0 = aie.core(%t0_3) {
      %v1 = arith.constant 1.0 : f32
      %v3 = arith.constant 0 : index
      %v4 = arith.constant 9223372036854775807 : index
      %v5 = arith.constant 1 : index
      %v10 = arith.constant 16 : index
      scf.for %v2 = %v3 to %v4 step %v5 {
        %v6 = aie.objectfifo.acquire @x0(Consume, 1) : !aie.objectfifosubview<memref<16xf32>>
        aie.use_lock(%g, AcquireGreaterEqual, 1)
        %v7 = aie.objectfifo.acquire @t(Produce, 1) : !aie.objectfifosubview<memref<16xf32>>
        scf.for %v8 = %v3 to %v10 step %v5 {
          memref.store %v1, %s[%v8] : memref<16xf32>
        }
        aie.objectfifo.release @t(Produce, 1)
        aie.use_lock(%g, Release, 1)
        aie.objectfifo.release @x0(Consume, 1)
      }
      aie.end
    }
    %c1 = aie.core(%t0_2) {
      %v13 = arith.constant 0 : index
      %v14 = arith.constant 9223372036854775807 : index
      %v15 = arith.constant 1 : index
      %v20 = arith.constant 16 : index
      scf.for %v12 = %v13 to %v14 step %v15 {
        %v16 = aie.objectfifo.acquire @y1(Produce, 1) : !aie.objectfifosubview<memref<16xf32>>
        aie.use_lock(%g, AcquireGreaterEqual, 1)
        %v17 = aie.objectfifo.acquire @t(Consume, 1) : !aie.objectfifosubview<memref<16xf32>>
        scf.for %v18 = %v13 to %v20 step %v15 {
          %v19 = memref.load %s[%v18] : memref<16xf32>
          memref.store %v19, %p1[%v18] : memref<64xf32>
        }
        aie.objectfifo.release @t(Consume, 1)
        aie.use_lock(%g, Release, 1)
        aie.objectfifo.release @y1(Produce, 1)
      }
      aie.end
    }
    aie.runtime_sequence @sequence(%A0: memref<32xf32>, %B1: memref<32xf32>) {
      aiex.npu.dma_memcpy_nd(%A0[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 0 : i64, metadata = @x0} : memref<32xf32>
      aiex.npu.dma_memcpy_nd(%B1[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y1} : memref<32xf32>
      aiex.npu.dma_wait {symbol = @y1}
    }
  }
}
