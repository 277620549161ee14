// A core stores to a buffer once for each object, and its tile's channel sends the buffer twice; the host waits for both before the next object.
module {
  aie.device(npu2) @drained {
    %shim = aie.tile(0, 0)
    %core = aie.tile(0, 2)
    aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
    aie.objectfifo @out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<256xi32>>
    %both = aie.buffer(%core) {sym_name = "both"} : memref<64xi32>
    %done = aie.lock(%core, 15) {init = 0 : i32, sym_name = "done"}
    %side = aie.tile(1, 0)
    aie.flow(%core, DMA : 1, %side, DMA : 0)
    aie.shim_dma_allocation @drain(%side, S2MM, 0)
    %dma = aie.mem(%core) {
      %m = aie.dma_start(MM2S, 1, ^drain, ^end)
    ^drain:
      aie.use_lock(%done, AcquireGreaterEqual, 1)
      aie.dma_bd(%both : memref<64xi32>, 0, 64)
      aie.next_bd ^drain
    ^end:
      aie.end
    }
    %work = aie.core(%core) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c256 = arith.constant 256 : index
      %forever = arith.constant 9223372036854775807 : index
      %three = arith.constant 3 : i32
      scf.for %round = %c0 to %forever step %c1 {
        %s = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<memref<256xi32>>
        %a = aie.objectfifo.subview.access %s[0] : !aie.objectfifosubview<memref<256xi32>> -> memref<256xi32>
        memref.store %three, %both[%c0] : memref<64xi32>
        aie.use_lock(%done, Release, 2)
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
    aie.runtime_sequence @waits(%x: memref<512xi32>, %y: memref<512xi32>, %d: memref<256xi32>) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<512xi32>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 4 : i64, issue_token = true, metadata = @out} : memref<512xi32>
      aiex.npu.dma_memcpy_nd(%d[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {id = 8 : i64, issue_token = true, metadata = @drain} : memref<256xi32>
      aiex.npu.dma_memcpy_nd(%d[0, 0, 0, 64][1, 1, 1, 64][0, 0, 0, 1]) {id = 9 : i64, issue_token = true, metadata = @drain} : memref<256xi32>
      aiex.npu.dma_wait {symbol = @out}
      aiex.npu.dma_wait {symbol = @drain}
      aiex.npu.dma_wait {symbol = @drain}
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, metadata = @in} : memref<512xi32>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 5 : i64, issue_token = true, metadata = @out} : memref<512xi32>
      aiex.npu.dma_memcpy_nd(%d[0, 0, 0, 128][1, 1, 1, 64][0, 0, 0, 1]) {id = 10 : i64, issue_token = true, metadata = @drain} : memref<256xi32>
      aiex.npu.dma_memcpy_nd(%d[0, 0, 0, 192][1, 1, 1, 64][0, 0, 0, 1]) {id = 11 : i64, issue_token = true, metadata = @drain} : memref<256xi32>
      aiex.npu.dma_wait {symbol = @out}
      aiex.npu.dma_wait {symbol = @drain}
      aiex.npu.dma_wait {symbol = @drain}
    }
    aie.runtime_sequence @awaits(%x: memref<512xi32>, %y: memref<512xi32>, %d: memref<256xi32>) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<512xi32>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 256][0, 0, 0, 1]) {id = 4 : i64, issue_token = true, metadata = @out} : memref<512xi32>
      %k0 = aiex.dma_configure_task(%side, S2MM, 0) {
        aie.dma_bd(%d : memref<256xi32>, 0, 64) {bd_id = 8 : i32}
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%k0)
      %k1 = aiex.dma_configure_task(%side, S2MM, 0) {
        aie.dma_bd(%d : memref<256xi32>, 64, 64) {bd_id = 9 : i32}
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%k1)
      aiex.npu.dma_wait {symbol = @out}
      aiex.dma_await_task(%k0)
      aiex.dma_await_task(%k1)
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 1 : i64, metadata = @in} : memref<512xi32>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 256][1, 1, 1, 256][0, 0, 0, 1]) {id = 5 : i64, issue_token = true, metadata = @out} : memref<512xi32>
      %k2 = aiex.dma_configure_task(%side, S2MM, 0) {
        aie.dma_bd(%d : memref<256xi32>, 128, 64) {bd_id = 10 : i32}
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%k2)
      %k3 = aiex.dma_configure_task(%side, S2MM, 0) {
        aie.dma_bd(%d : memref<256xi32>, 192, 64) {bd_id = 11 : i32}
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%k3)
      aiex.npu.dma_wait {symbol = @out}
      aiex.dma_await_task(%k2)
      aiex.dma_await_task(%k3)
    }
  }
}
