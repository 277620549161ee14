// Two cores hand one buffer to each other by two locks, four objects of 16.
module {
"aie.device"() <{device = 8 : i32, sym_name = "main"}> ({
%t0_0 = "aie.tile"() <{col = 0 : i32, row = 0 : i32}> : () -> index
%t0_2 = "aie.tile"() <{col = 0 : i32, row = 2 : i32}> : () -> index
%t0_3 = "aie.tile"() <{col = 0 : i32, row = 3 : i32}> : () -> index
"aie.objectfifo"(%t0_0, %t0_2) <{dimensionsFromStreamPerConsumer = #aie<bd_dim_layout_array_array[[]]>, dimensionsToStream = #aie<bd_dim_layout_array[]>, elemNumber = 2 : i32, elemType = !aie.objectfifo<memref<16xf32>>, sym_name = "x"}> : (index, index) -> ()
"aie.objectfifo"(%t0_3, %t0_0) <{dimensionsFromStreamPerConsumer = #aie<bd_dim_layout_array_array[[]]>, dimensionsToStream = #aie<bd_dim_layout_array[]>, elemNumber = 2 : i32, elemType = !aie.objectfifo<memref<16xf32>>, sym_name = "y"}> : (index, index) -> ()
%sh = "aie.buffer"(%t0_3) <{sym_name = "sh"}> : (index) -> memref<16xf32>
%free = "aie.lock"(%t0_3) <{init = 1 : i32, lockID = 0 : i32, sym_name = "free"}> : (index) -> index
%full = "aie.lock"(%t0_3) <{init = 0 : i32, lockID = 1 : i32, sym_name = "full"}> : (index) -> index
%core_0_2 = "aie.core"(%t0_2) ({
%v618 = arith.constant 0 : index
%v619 = arith.constant 9223372036854775807 : index
%v620 = arith.constant 1 : index
scf.for %v621 = %v618 to %v619 step %v620 {
%v600 = "aie.objectfifo.acquire"() <{objFifo_name = @x, port = 1 : i32, size = 1 : i32}> : () -> !aie.objectfifosubview<memref<16xf32>>
%v601 = "aie.objectfifo.subview.access"(%v600) <{index = 0 : i32}> : (!aie.objectfifosubview<memref<16xf32>>) -> memref<16xf32>
"aie.use_lock"(%free) <{action = 2 : i32, blocking = 1 : i32, value = 1 : i32}> : (index) -> ()
%v604 = arith.constant 0 : index
%v605 = arith.constant 16 : index
%v606 = arith.constant 1 : index
%v608 = arith.constant 1.000000e+00 : f32
scf.for %v607 = %v604 to %v605 step %v606 {
%v609 = memref.load %v601[%v607] : memref<16xf32>
%v610 = arith.addf %v608, %v609 : f32
memref.store %v610, %sh[%v607] : memref<16xf32>
scf.yield
}
"aie.use_lock"(%full) <{action = 1 : i32, blocking = 1 : i32, value = 1 : i32}> : (index) -> ()
"aie.objectfifo.release"() <{objFifo_name = @x, port = 1 : i32, size = 1 : i32}> : () -> ()
scf.yield
}

"aie.end"() : () -> ()
}) : (index) -> index
%core_0_3 = "aie.core"(%t0_3) ({
%v622 = arith.constant 0 : index
%v623 = arith.constant 9223372036854775807 : index
%v624 = arith.constant 1 : index
scf.for %v625 = %v622 to %v623 step %v624 {
%v602 = "aie.objectfifo.acquire"() <{objFifo_name = @y, port = 0 : i32, size = 1 : i32}> : () -> !aie.objectfifosubview<memref<16xf32>>
%v603 = "aie.objectfifo.subview.access"(%v602) <{index = 0 : i32}> : (!aie.objectfifosubview<memref<16xf32>>) -> memref<16xf32>
"aie.use_lock"(%full) <{action = 2 : i32, blocking = 1 : i32, value = 1 : i32}> : (index) -> ()
%v611 = arith.constant 0 : index
%v612 = arith.constant 16 : index
%v613 = arith.constant 1 : index
%v615 = arith.constant 1.000000e+00 : f32
scf.for %v614 = %v611 to %v612 step %v613 {
%v616 = memref.load %sh[%v614] : memref<16xf32>
%v617 = arith.addf %v615, %v616 : f32
memref.store %v617, %v603[%v614] : memref<16xf32>
scf.yield
}
"aie.use_lock"(%free) <{action = 1 : i32, blocking = 1 : i32, value = 1 : i32}> : (index) -> ()
"aie.objectfifo.release"() <{objFifo_name = @y, port = 0 : i32, size = 1 : i32}> : () -> ()
scf.yield
}

"aie.end"() : () -> ()
}) : (index) -> index
"aie.runtime_sequence"() <{sym_name = "sequence"}> ({
^bb0(%A: memref<64xf32>, %B: memref<64xf32>):
"aiex.npu.dma_memcpy_nd"(%A) <{id = 0 : i64, metadata = @x, operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0, 0, 0>, static_sizes = array<i64: 1, 1, 1, 64>, static_strides = array<i64: 0, 0, 0, 1>}> : (memref<64xf32>) -> ()
"aiex.npu.dma_memcpy_nd"(%B) <{id = 1 : i64, issue_token = true, metadata = @y, operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0, 0, 0, 0>, static_sizes = array<i64: 1, 1, 1, 64>, static_strides = array<i64: 0, 0, 0, 1>}> : (memref<64xf32>) -> ()
"aiex.npu.dma_wait"() <{symbol = @y}> : () -> ()
}) : () -> ()
"aie.end"() : () -> ()
}) : () -> ()
}
