// Data that a tile's own descriptors fill, a core that a lock lets on, and streams of each kind.
module {
  aie.device(npu2) @streams {
    func.func private @kernel(memref<64xi32>) attributes {link_with = "kernel.o"}
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    %t2 = aie.tile(0, 2)
    %t3 = aie.tile(0, 3)
    %far = aie.tile(4, 4)
    %data = aie.buffer(%t2) {address = 4096 : i32, mem_bank = 0 : i32, sym_name = "data"} : memref<64xi32>
    %free = aie.lock(%t2, 0) {init = 1 : i32, sym_name = "free"}
    %full = aie.lock(%t2, 1) {init = 0 : i32, sym_name = "full"}
    aie.flow(%shim, DMA : 0, %t2, DMA : 0)
    aie.flow(%mem, DMA : 0, %mem, North : 2)
    aie.packet_flow(3) {
      aie.packet_source<%t2, DMA : 1>
      aie.packet_dest<%shim, DMA : 1>
    }
    aie.cascade_flow(%t3, %t2)
    aie.shim_dma_allocation @given(%shim, MM2S, 0)
    %fill = aie.mem(%t2) {
      %s = aie.dma_start(S2MM, 0, ^fill, ^end)
    ^fill:
      aie.use_lock(%free, AcquireGreaterEqual, 1)
      aie.dma_bd(%data : memref<64xi32>, 0, 64) {bd_id = 0 : i32}
      aie.use_lock(%full, Release, 1)
      aie.next_bd ^fill
    ^end:
      aie.end
    }
    %work = aie.core(%t2) {
      aie.use_lock(%full, AcquireGreaterEqual, 1)
      func.call @kernel(%data) : (memref<64xi32>) -> ()
      aie.use_lock(%free, Release, 1)
      aie.end
    }
    aie.runtime_sequence @sequence(%x: memref<64xi32>) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 0 : i64, issue_token = true, metadata = @given} : memref<64xi32>
      aiex.npu.dma_wait {symbol = @given}
    }
  }
}
