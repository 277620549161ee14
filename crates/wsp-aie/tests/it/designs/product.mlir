// A product of 16 x 32 and 32 x 16 elements of bf16 with sums in f32, row by row; a kernel of the host scales it, and negative results are 0.
module {
  aie.device(npu2) @product {
    func.func private @scale(memref<256xf32>, f32) -> i32 attributes {link_with = "scale.o"}
    %shim = aie.tile(2, 0)
    %core = aie.tile(2, 2)
    aie.objectfifo @a(%shim, {%core}, 1 : i32) : !aie.objectfifo<memref<16x32xbf16>>
    aie.objectfifo @b(%shim, {%core dimensionsFromStream [<size = 16, stride = 32>, <size = 32, stride = 1>]}, 1 : i32) : !aie.objectfifo<memref<16x32xbf16>>
    aie.objectfifo @c(%core, {%shim}, 1 : i32) : !aie.objectfifo<memref<256xf32>>
    %work = aie.core(%core) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %c32 = arith.constant 32 : index
      %zero = arith.constant 0.0 : f32
      %half = arith.constant 0.5 : f32
      %forever = arith.constant 4294967295 : index
      %held = memref.alloc() : memref<256xf32>
      scf.for %round = %c0 to %forever step %c1 {
        %sa = aie.objectfifo.acquire @a(Consume, 1) : !aie.objectfifosubview<memref<16x32xbf16>>
        %a = aie.objectfifo.subview.access %sa[0] : !aie.objectfifosubview<memref<16x32xbf16>> -> memref<16x32xbf16>
        %sb = aie.objectfifo.acquire @b(Consume, 1) : !aie.objectfifosubview<memref<16x32xbf16>>
        %b = aie.objectfifo.subview.access %sb[0] : !aie.objectfifosubview<memref<16x32xbf16>> -> memref<16x32xbf16>
        %sc = aie.objectfifo.acquire @c(Produce, 1) : !aie.objectfifosubview<memref<256xf32>>
        %c = aie.objectfifo.subview.access %sc[0] : !aie.objectfifosubview<memref<256xf32>> -> memref<256xf32>
        scf.for %i = %c0 to %c16 step %c1 {
          scf.for %j = %c0 to %c16 step %c1 {
            %sum = scf.for %k = %c0 to %c32 step %c16 iter_args(%acc = %zero) -> (f32) {
              %x = vector.load %a[%i, %k] : memref<16x32xbf16>, vector<16xbf16>
              %y = vector.load %b[%j, %k] : memref<16x32xbf16>, vector<16xbf16>
              %xf = arith.extf %x : vector<16xbf16> to vector<16xf32>
              %yf = arith.extf %y : vector<16xbf16> to vector<16xf32>
              %p = arith.mulf %xf, %yf : vector<16xf32>
              %s = vector.reduction <add>, %p : vector<16xf32> into f32
              %next = arith.addf %acc, %s : f32
              scf.yield %next : f32
            }
            %negative = arith.cmpf olt, %sum, %zero : f32
            %kept = scf.if %negative -> (f32) {
              scf.yield %zero : f32
            } else {
              scf.yield %sum : f32
            }
            %row = arith.muli %i, %c16 : index
            %at = arith.addi %row, %j : index
            memref.store %kept, %held[%at] : memref<256xf32>
          }
        }
        %made = func.call @scale(%held, %half) : (memref<256xf32>, f32) -> i32
        memref.copy %held, %c : memref<256xf32> to memref<256xf32>
        %f = arith.sitofp %made : i32 to f32
        memref.store %f, %c[%c0] : memref<256xf32>
        aie.objectfifo.release @a(Consume, 1)
        aie.objectfifo.release @b(Consume, 1)
        aie.objectfifo.release @c(Produce, 1)
      }
      aie.end
    }
    aie.runtime_sequence @sequence(%x: memref<1024xbf16>, %y: memref<1024xbf16>, %z: memref<512xf32>) {
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][2, 1, 1, 512][512, 0, 0, 1]) {id = 0 : i64, metadata = @a} : memref<1024xbf16>
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 1024][0, 0, 0, 1]) {id = 1 : i64, metadata = @b} : memref<1024xbf16>
      aiex.npu.dma_memcpy_nd(%z[0, 0, 0, 0][1, 1, 1, 512][0, 0, 0, 1]) {id = 2 : i64, metadata = @c} : memref<512xf32>
      aiex.npu.dma_wait {symbol = @c}
    }
  }
}
