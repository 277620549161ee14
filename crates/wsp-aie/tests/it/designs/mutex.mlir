// Three cores add to one buffer in turns; the last releases the lock before it uses the buffer.
module {
  aie.device(npu2) @main {
    %t0_0 = aie.tile(0, 0)
    %t0_2 = aie.tile(0, 2)
    %t0_3 = aie.tile(0, 3)
    %t0_4 = aie.tile(0, 4)
    %t1_0 = aie.tile(1, 0)
    %t2_0 = aie.tile(2, 0)
    %acc = aie.buffer(%t0_3) {sym_name = "acc"} : memref<16xf32>
    %m = aie.lock(%t0_3, 0) {init = 1 : i32, sym_name = "m"}
    aie.objectfifo @x0(%t0_0, {%t0_3}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
    aie.objectfifo @x1(%t1_0, {%t0_2}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
    aie.objectfifo @x2(%t2_0, {%t0_4}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
    aie.objectfifo @y0(%t0_3, {%t0_0}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
    aie.objectfifo @y1(%t0_2, {%t1_0}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
    aie.objectfifo @y2(%t0_4, {%t2_0}, 2 : i32) : !aie.objectfifo<memref<16xf32>>
    %p0 = aie.buffer(%t0_3) {sym_name = "p0"} : memref<64xf32>
    %p1 = aie.buffer(%t0_2) {sym_name = "p1"} : memref<64xf32>
    %p2 = aie.buffer(%t0_4) {sym_name = "p2"} : memref<64xf32>
    %c0 = aie.core(%t0_3) {
      %v1 = arith.constant 1.0 : f32
      %v3 = arith.constant 0 : index
      %v4 = arith.constant 9223372036854775807 : index
      %v5 = arith.constant 1 : index
      %v10 = arith.constant 16 : index
      scf.for %v2 = %v3 to %v4 step %v5 {
        %v6 = aie.objectfifo.acquire @x0(Consume, 1) : !aie.objectfifosubview<memref<16xf32>>
        %v7 = aie.objectfifo.acquire @y0(Produce, 1) : !aie.objectfifosubview<memref<16xf32>>
        aie.use_lock(%m, AcquireGreaterEqual, 1)
        scf.for %v8 = %v3 to %v10 step %v5 {
          %v9 = memref.load %acc[%v8] : memref<16xf32>
          memref.store %v9, %p0[%v8] : memref<64xf32>
        }
        scf.for %v11 = %v3 to %v10 step %v5 {
          memref.store %v1, %acc[%v11] : memref<16xf32>
        }
        aie.use_lock(%m, Release, 1)
        aie.objectfifo.release @x0(Consume, 1)
        aie.objectfifo.release @y0(Produce, 1)
      }
      aie.end
    }
    %c1 = aie.core(%t0_2) {
      %v13 = arith.constant 1.0 : f32
      %v15 = arith.constant 0 : index
      %v16 = arith.constant 9223372036854775807 : index
      %v17 = arith.constant 1 : index
      %v22 = arith.constant 16 : index
      scf.for %v14 = %v15 to %v16 step %v17 {
        %v18 = aie.objectfifo.acquire @x1(Consume, 1) : !aie.objectfifosubview<memref<16xf32>>
        %v19 = aie.objectfifo.acquire @y1(Produce, 1) : !aie.objectfifosubview<memref<16xf32>>
        aie.use_lock(%m, AcquireGreaterEqual, 1)
        scf.for %v20 = %v15 to %v22 step %v17 {
          %v21 = memref.load %acc[%v20] : memref<16xf32>
          memref.store %v21, %p1[%v20] : memref<64xf32>
        }
        scf.for %v23 = %v15 to %v22 step %v17 {
          memref.store %v13, %acc[%v23] : memref<16xf32>
        }
        aie.use_lock(%m, Release, 1)
        aie.objectfifo.release @x1(Consume, 1)
        aie.objectfifo.release @y1(Produce, 1)
      }
      aie.end
    }
    %c2 = aie.core(%t0_4) {
      %v25 = arith.constant 1.0 : f32
      %v27 = arith.constant 0 : index
      %v28 = arith.constant 9223372036854775807 : index
      %v29 = arith.constant 1 : index
      %v34 = arith.constant 16 : index
      scf.for %v26 = %v27 to %v28 step %v29 {
        %v30 = aie.objectfifo.acquire @x2(Consume, 1) : !aie.objectfifosubview<memref<16xf32>>
        %v31 = aie.objectfifo.acquire @y2(Produce, 1) : !aie.objectfifosubview<memref<16xf32>>
        aie.use_lock(%m, AcquireGreaterEqual, 1)
        aie.use_lock(%m, Release, 1)
        scf.for %v32 = %v27 to %v34 step %v29 {
          %v33 = memref.load %acc[%v32] : memref<16xf32>
          memref.store %v33, %p2[%v32] : memref<64xf32>
        }
        scf.for %v35 = %v27 to %v34 step %v29 {
          memref.store %v25, %acc[%v35] : memref<16xf32>
        }
        aie.objectfifo.release @x2(Consume, 1)
        aie.objectfifo.release @y2(Produce, 1)
      }
      aie.end
    }
    aie.runtime_sequence @sequence(%A0: memref<48xf32>, %B0: memref<48xf32>, %A1: memref<48xf32>, %B1: memref<48xf32>, %A2: memref<48xf32>, %B2: memref<48xf32>) {
      aiex.npu.dma_memcpy_nd(%A0[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 0 : i64, metadata = @x0} : memref<48xf32>
      aiex.npu.dma_memcpy_nd(%B0[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @y0} : memref<48xf32>
      aiex.npu.dma_memcpy_nd(%A1[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 2 : i64, metadata = @x1} : memref<48xf32>
      aiex.npu.dma_memcpy_nd(%B1[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 3 : i64, issue_token = true, metadata = @y1} : memref<48xf32>
      aiex.npu.dma_memcpy_nd(%A2[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 4 : i64, metadata = @x2} : memref<48xf32>
      aiex.npu.dma_memcpy_nd(%B2[0, 0, 0, 0][1, 1, 1, 48][0, 0, 0, 1]) {id = 5 : i64, issue_token = true, metadata = @y2} : memref<48xf32>
      aiex.npu.dma_wait {symbol = @y0}
      aiex.npu.dma_wait {symbol = @y1}
      aiex.npu.dma_wait {symbol = @y2}
    }
  }
}
