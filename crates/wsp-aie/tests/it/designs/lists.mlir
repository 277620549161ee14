// A core doubles what its tile's own descriptors bring and take away, four objects of 64: each channel has its descriptors in a list, with memory and locks beside them.
module {
  aie.device(npu1) @lists {
    %shim = aie.tile(1, 0)
    %t = aie.tile(1, 2)
    aie.flow(%shim, "DMA" : 0, %t, DMA : 0)
    aie.flow(%t, DMA : 0, %shim, DMA : 0)
    aie.shim_dma_allocation @in(%shim, "MM2S", 0)
    aie.shim_dma_allocation @out(%shim, S2MM, 0)
    %data = aie.buffer(%t) {sym_name = "data"} : memref<64xi32>
    %full = aie.lock(%t, 1) {init = 0 : i32, sym_name = "full"}
    %done = aie.lock(%t, 2) {init = 0 : i32, sym_name = "done"}
    %free = aie.lock(%t, 0) {init = 1 : i32, sym_name = "free"}
    %dma = aie.mem(%t) {
      %other = aie.buffer(%t) {sym_name = "other"} : memref<64xi32>
      %empty = aie.lock(%t, 3) {init = 1 : i32, sym_name = "empty"}
      %s = aie.dma(S2MM, 0) [{
        aie.use_lock(%free, "AcquireGreaterEqual", 1)
        aie.dma_bd(%data : memref<64xi32>, 0, 64)
        aie.use_lock(%full, "Release", 1)
      }, {
        aie.use_lock(%free, AcquireGreaterEqual)
        aie.dma_bd(%data : memref<64xi32>, 0, 64)
        aie.use_lock(%full, Release)
      }]
      %m = aie.dma(MM2S, 0) {repeat_count = 0 : i32} [{
        aie.use_lock(%done, AcquireGreaterEqual, 1)
        aie.dma_bd(%data : memref<64xi32>, 0, 64)
        aie.use_lock(%free, Release, 1)
      }]
      aie.end
    }
    %work = aie.core(%t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %forever = arith.constant 9223372036854775807 : index
      scf.for %n = %c0 to %forever step %c1 {
        aie.use_lock(%full, AcquireGreaterEqual, 1)
        scf.for %i = %c0 to %c64 step %c1 {
          %x = memref.load %data[%i] : memref<64xi32>
          %y = arith.addi %x, %x : i32
          memref.store %y, %data[%i] : memref<64xi32>
        }
        aie.use_lock(%done, Release, 1)
      }
      aie.end
    }
    aie.runtime_sequence @sequence(%x: memref<256xi32>, %y: memref<256xi32>) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<256xi32>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, issue_token = true, metadata = @out} : memref<256xi32>
      aiex.npu.dma_wait {symbol = @out}
    }
  }
}
