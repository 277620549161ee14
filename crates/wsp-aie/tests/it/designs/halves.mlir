// An object of 64 numbers goes to a memory tile, its halves to two cores, and what they make is joined again.
module {
  aie.device(npu2) @halves {
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    %t2 = aie.tile(0, 2)
    %t3 = aie.tile(0, 3)
    aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<64xf32>>
    aie.objectfifo @part2(%mem, {%t2}, 2 : i32) : !aie.objectfifo<memref<32xf32>>
    aie.objectfifo @part3(%mem, {%t3}, 2 : i32) : !aie.objectfifo<memref<32xf32>>
    aie.objectfifo @made2(%t2, {%mem}, 2 : i32) : !aie.objectfifo<memref<32xf32>>
    aie.objectfifo @made3(%t3, {%mem}, 2 : i32) : !aie.objectfifo<memref<32xf32>>
    aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<64xf32>>
    aie.objectfifo.link [@in] -> [@part2, @part3]([] [0, 32])
    aie.objectfifo.link [@made2, @made3] -> [@out]([0, 32] [])
    %core_2 = aie.core(%t2) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %c16 = arith.constant 16 : index
      %forever = arith.constant 9223372036854775807 : index
      %factor = arith.constant dense<2.0> : vector<16xf32>
      scf.for %round = %c0 to %forever step %c1 {
        %s = aie.objectfifo.acquire @part2(Consume, 1) : !aie.objectfifosubview<memref<32xf32>>
        %a = aie.objectfifo.subview.access %s[0] : !aie.objectfifosubview<memref<32xf32>> -> memref<32xf32>
        %t = aie.objectfifo.acquire @made2(Produce, 1) : !aie.objectfifosubview<memref<32xf32>>
        %b = aie.objectfifo.subview.access %t[0] : !aie.objectfifosubview<memref<32xf32>> -> memref<32xf32>
        scf.for %i = %c0 to %c32 step %c16 {
          %x = vector.load %a[%i] : memref<32xf32>, vector<16xf32>
          %y = arith.mulf %x, %factor : vector<16xf32>
          vector.store %y, %b[%i] : memref<32xf32>, vector<16xf32>
        }
        aie.objectfifo.release @part2(Consume, 1)
        aie.objectfifo.release @made2(Produce, 1)
      }
      aie.end
    }
    %core_3 = aie.core(%t3) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %c16 = arith.constant 16 : index
      %forever = arith.constant 9223372036854775807 : index
      %factor = arith.constant dense<4.0> : vector<16xf32>
      scf.for %round = %c0 to %forever step %c1 {
        %s = aie.objectfifo.acquire @part3(Consume, 1) : !aie.objectfifosubview<memref<32xf32>>
        %a = aie.objectfifo.subview.access %s[0] : !aie.objectfifosubview<memref<32xf32>> -> memref<32xf32>
        %t = aie.objectfifo.acquire @made3(Produce, 1) : !aie.objectfifosubview<memref<32xf32>>
        %b = aie.objectfifo.subview.access %t[0] : !aie.objectfifosubview<memref<32xf32>> -> memref<32xf32>
        scf.for %i = %c0 to %c32 step %c16 {
          %x = vector.load %a[%i] : memref<32xf32>, vector<16xf32>
          %y = arith.mulf %x, %factor : vector<16xf32>
          vector.store %y, %b[%i] : memref<32xf32>, vector<16xf32>
        }
        aie.objectfifo.release @part3(Consume, 1)
        aie.objectfifo.release @made3(Produce, 1)
      }
      aie.end
    }
    aie.runtime_sequence @sequence(%x: memref<256xf32>, %y: memref<256xf32>) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<256xf32>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<256xf32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
