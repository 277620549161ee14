// Each of 1024 integers times 3, in objects of 256, on one core.
module {
  aie.device(npu2) @scale {
    %shim = aie.tile(0, 0)
    %core = aie.tile(0, 2)
    aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
    aie.objectfifo @out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
    %work = aie.core(%core) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c256 = arith.constant 256 : index
      %forever = arith.constant 9223372036854775807 : index
      %three = arith.constant 3 : i32
      scf.for %round = %c0 to %forever step %c1 {
        %s = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<256xi32>>
        %a = aie.objectfifo.subview.access %s[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
        %t = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<256xi32>>
        %b = aie.objectfifo.subview.access %t[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
        scf.for %i = %c0 to %c256 step %c1 {
          %x = memref.load %a[%i] : memref<256xi32>
          %y = arith.muli %x, %three : i32
          memref.store %y, %b[%i] : memref<256xi32>
        }
        aie.objectfifo.release @in(Consume, 1)
        aie.objectfifo.release @out(Produce, 1)
      }
      aie.end
    } {stack_size = 2048 : i32}
    aie.runtime_sequence @sequence(%x: memref<1024xi32>, %y: memref<1024xi32>) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<1024xi32>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<1024xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
