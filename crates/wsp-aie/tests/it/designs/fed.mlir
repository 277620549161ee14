// A core hands on what a channel brings by locks, of which the host takes half.
module {
  aie.device(npu1) @locks {
    %shim = aie.tile(1, 0)
    %t = aie.tile(1, 2)
    %data = aie.buffer(%t) {sym_name = "data"} : memref<64xi32>
    %free = aie.lock(%t, 0) {init = 1 : i32, sym_name = "free"}
    %full = aie.lock(%t, 1) {init = 0 : i32, sym_name = "full"}
    aie.flow(%shim, DMA : 0, %t, DMA : 0)
    aie.shim_dma_allocation @in(%shim, MM2S, 0)
    aie.objectfifo @out(%t, {%shim}, 2 : i32) : !aie.objectfifo<memref<64xi32>>
    %dma = aie.mem(%t) {
      %s = aie.dma_start(S2MM, 0, ^fill, ^end)
    ^fill:
      aie.use_lock(%free, AcquireGreaterEqual, 1)
      aie.dma_bd(%data : memref<64xi32>, 0, 64)
      aie.use_lock(%full, Release, 1)
      aie.next_bd ^fill
    ^end:
      aie.end
    }
    %work = aie.core(%t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %forever = arith.constant 9223372036854775807 : index
      scf.for %n = %c0 to %forever step %c1 {
        aie.use_lock(%full, AcquireGreaterEqual, 1)
        %o = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<memref<64xi32>>
        %b = aie.objectfifo.subview.access %o[0] : !aie.objectfifosubview<memref<64xi32>> -> memref<64xi32>
        scf.for %i = %c0 to %c64 step %c1 {
          %x = memref.load %data[%i] : memref<64xi32>
          memref.store %x, %b[%i] : memref<64xi32>
        }
        aie.objectfifo.release @out(Produce, 1)
        aie.use_lock(%free, Release, 1)
      }
      aie.end
    }
    aie.runtime_sequence @sequence(%x: memref<256xi32>, %y: memref<128xi32>) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<256xi32>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 128][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<128xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
