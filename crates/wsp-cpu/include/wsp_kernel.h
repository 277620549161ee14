/* Kernels in C: functions that run the tasks of kernels which a workload declares.
 *
 * A function is registered in Rust under the kernel's name (KernelRegistry::register_c). It is called for every task, from several threads at
 * once, and gives 0, or another number, with which the task fails. The records are its own until it returns. */
#ifndef WSP_KERNEL_H
#define WSP_KERNEL_H

#include <stdint.h>

/* Element types, as wsp_tensor.dtype has them. */
enum wsp_dtype {
    WSP_F32 = 0,
    WSP_F64 = 1,
    WSP_F16 = 2,
    WSP_BF16 = 3,
    WSP_U8 = 4,
    WSP_U16 = 5,
    WSP_I32 = 6,
    WSP_U32 = 7,
    WSP_I64 = 8,
    WSP_U64 = 9,
    WSP_F8E4M3 = 10,
    WSP_F8E5M2 = 11,
    WSP_I8 = 12,
    WSP_I16 = 13,
    WSP_BOOL = 14
};

/* The region of a tensor parameter. Elements of an `in` parameter are not to be written. */
typedef struct wsp_tensor {
    void *data;              /* the first element */
    const uint64_t *shape;   /* extents, outermost first */
    const uint64_t *strides; /* bytes from one index to the next, by dimension */
    uint32_t rank;           /* dimensions */
    uint32_t dtype;          /* an enum wsp_dtype */
} wsp_tensor;

/* A task: its parameters in declared order, tensors and scalars apart. */
typedef struct wsp_task {
    const wsp_tensor *tensors;
    const int64_t *scalars;
    uint32_t num_tensors;
    uint32_t num_scalars;
} wsp_task;

#ifdef __cplusplus
extern "C" {
#endif
typedef int32_t (*wsp_kernel)(const wsp_task *task);
#ifdef __cplusplus
}
#endif

#endif
