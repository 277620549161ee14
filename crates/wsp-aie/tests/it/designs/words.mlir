// One of each operation, so that both spellings of all are read.
module {
  aie.device(npu1) @words {
    func.func private @kernel(memref<16xf32>, i32) -> i32 attributes {link_with = "kernel.o"}
    %t00 = aie.tile(0, 0)
    %t01 = aie.tile(0, 1)
    %t02 = aie.tile(0, 2)
    %t03 = aie.tile(0, 3) {allocation_scheme = "bank-aware"}
    %buffer = aie.buffer(%t02) {address = 1024 : i32, mem_bank = 0 : i32, sym_name = "buffer"} : memref<16xf32>
    %there = aie.buffer(%t01) : memref<64xi32>
    %lock = aie.lock(%t02, 0) {init = 1 : i32, sym_name = "lock"}
    %free = aie.lock(%t02) {init = 0 : i32}
    aie.flow(%t00, DMA : 0, %t02, DMA : 0)
    aie.packet_flow(3) {
      aie.packet_source<%t02, DMA : 1>
      aie.packet_dest<%t00, DMA : 1>
    } {keep_pkt_header = false}
    aie.cascade_flow(%t03, %t02)
    aie.shim_dma_allocation @given(%t00, MM2S, 0)
    aie.objectfifo @a(%t00, {%t01}, [2, 3]) : !aie.objectfifo<memref<8x8xi32>>
    aie.objectfifo @b(%t01 dimensionsToStream [<size = 8, stride = 1>, <size = 8, stride = 8>], {%t02 dimensionsFromStream [<size = 64, stride = 1>], %t03}, 2 : i32) {via_DMA = true} : !aie.objectfifo<memref<8x8xi32>> = [dense<0> : memref<8x8xi32>, dense<[[1, 2], [3, 4]]> : memref<2x2xi32>]
    aie.objectfifo.link [@a] -> [@b]([] [])
    aie.objectfifo.allocate @b(%t02)
    %mem = aie.mem(%t02) {
      %s = aie.dma_start(S2MM, 0, ^fill, ^end, repeat_count = 1)
    ^fill:
      aie.use_lock(%lock, AcquireGreaterEqual, 1)
      aie.dma_bd(%buffer : memref<16xf32>, 0, 16, [<size = 4, stride = 4>, <size = 4, stride = 1>]) {bd_id = 0 : i32}
      aie.use_lock(%lock, Release, 1)
      aie.next_bd ^fill
    ^end:
      aie.end
    }
    %memtile = aie.memtile_dma(%t01) {
      aie.end
    }
    %shim = aie.shim_dma(%t00) {
      aie.end
    }
    %core = aie.core(%t02) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0.0 : f32
      %nan = arith.constant 0x7FC00000 : f32
      %small = arith.constant -1.5e-7 : f32
      %yes = arith.constant true
      %i = arith.constant -7 : i32
      %lanes = arith.constant dense<1.0> : vector<4xf32>
      %held = memref.alloc() : memref<16xf32>
      %sum, %last = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero, %was = %i) -> (f32, i32) {
        %v = memref.load %buffer[%k] : memref<16xf32>
        %w = arith.addf %acc, %v : f32
        %e = math.exp %w : f32
        %n = arith.addi %was, %i : i32
        scf.yield %e, %n : f32, i32
      }
      scf.for %j = %i to %last step %i : i32 {
      }
      %bigger = arith.cmpf ogt, %sum, %zero : f32
      %same = arith.cmpi eq, %i, %last : i32
      %one = arith.select %bigger, %sum, %nan : f32
      %both = arith.andi %bigger, %same : i1
      %short = arith.truncf %one : f32 to bf16
      %long = arith.extf %short : bf16 to f32
      %index = arith.index_cast %i : i32 to index
      scf.if %both {
        memref.store %long, %buffer[%c1] : memref<16xf32>
      } else {
        memref.store %small, %buffer[%c1] : memref<16xf32>
      }
      %picked = scf.if %yes -> (f32) {
        scf.yield %sum : f32
      } else {
        scf.yield %zero : f32
      }
      %four = vector.load %buffer[%c0] : memref<16xf32>, vector<4xf32>
      %wide = vector.broadcast %picked : f32 to vector<4xf32>
      %fused = vector.fma %four, %wide, %lanes : vector<4xf32>
      %total = vector.reduction <add>, %fused : vector<4xf32> into f32
      vector.store %fused, %held[%c4] : memref<16xf32>, vector<4xf32>
      memref.copy %held, %buffer : memref<16xf32> to memref<16xf32>
      %told = func.call @kernel(%buffer, %i) : (memref<16xf32>, i32) -> i32
      aie.use_lock(%lock, Release)
      aie.end
    }
    aie.runtime_sequence @sequence(%x: memref<64xi32>, %n: i64) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, %n][0, 0, 0, 1], packet = <pkt_type = 0, pkt_id = 3>) {id = 0 : i64, issue_token = true, metadata = @a} : memref<64xi32>
      aiex.npu.dma_wait {symbol = @a}
      %task = aiex.dma_configure_task_for @a {
        aie.dma_bd(%x : memref<64xi32>, 0, 64) {burst_length = 0 : i32}
        aie.end
      } {issue_token = true, repeat_count = 1 : i32}
      aiex.dma_start_task(%task)
      aiex.dma_await_task(%task)
      %other = aiex.dma_configure_task(%t00, MM2S, 1) {
        aie.dma_bd(%x : memref<64xi32>)
        aie.end
      }
      aiex.dma_start_task(%other)
      aiex.dma_free_task(%other)
    }
  }
}
