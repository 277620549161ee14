/* wsp_tg.h: runs a task graph on a device.
 *
 * A graph is an image: bytes that a compiler on the host has made. Its machine lives in memory of the caller, allocates nothing,
 * and says what can start next; starting kernels and copies, memory and cores are the caller's:
 *
 *     wsp_tg_bytes(image, len, &need, &report);
 *     wsp_tg_open(image, len, memory, need, &handle, &report);
 *     while (wsp_tg_next(handle, &host, &step, &report) == WSP_TG_OK && step.kind != WSP_TG_DONE) {
 *         if (step.kind == WSP_TG_RUN) start(step.at, step.node_kind, step.item);
 *         if (step.kind == WSP_TG_IDLE) wsp_tg_complete(handle, wait_for_any());
 *     }
 *
 * Image and memory stay where and as they are until the handle is no longer used. There is nothing to close. A handle is used
 * by one thread at a time; a callback does not use the handle that has called it. Any number of handles may share an image.
 *
 * An image is checked when it is opened, so that no run of it goes out of bounds. A panic of the library, which calls
 * `wsp_panic_reached`, is a fault of the library: a program that uses these functions defines it, and stops there.
 *
 * Wherever a report is taken, NULL will do when it is not wanted. */
#ifndef WSP_TG_H
#define WSP_TG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. */
enum {
    WSP_TG_OK = 0,
    /* A pointer is null that must not be. */
    WSP_TG_NULL = -1,
    /* A pointer is not aligned: images to 4 bytes, the memory of a handle to 8, others as their type. */
    WSP_TG_ALIGNMENT = -2,
    /* The memory has `report.found` bytes and needs `report.limit`. */
    WSP_TG_MEMORY = -3,
    /* The bytes are no image: `report.kind` is 1 other magic, 2 other version, 3 other size, 4 other fingerprint. */
    WSP_TG_READ = -4,
    /* A number in the image is wrong: `report.kind` is 1 a list too long, 2 counts of edges missing, 3 a node, 4 an edge of a
     * node, 5 the count of edges to a node, 6 a decision, 7 a guard, 8 a loop, 9 a gang, 10 the levels; `report.at` is
     * which. */
    WSP_TG_IMAGE = -5,
    /* The words are no state of this graph: `report.kind` is 1 their number, 2 they are of another graph, 3 a node, 4 the
     * number of open nodes, 5 a guard, 6 a loop, 7 a gang; `report.at` is which. */
    WSP_TG_STATE = -6,
    /* `report.kind` is 1 a condition that the callback could not evaluate: it returned `report.found`; 2 loop `report.at`
     * begins an iteration more than its maximum `report.limit`; 3 its count `report.found` is negative or above that. The
     * run cannot go on. */
    WSP_TG_FAULT = -7,
    /* The handle is none, or it is running. */
    WSP_TG_HANDLE = -8,
    /* There is no such node or gang, or the node is complete. */
    WSP_TG_NODE = -9
};

/* What happens next. */
enum {
    /* Node `at` can start. It is over with wsp_tg_complete. */
    WSP_TG_RUN = 0,
    /* The members of gang `at`, which wsp_tg_gang lists, start together. Each is over with wsp_tg_complete. */
    WSP_TG_GANG = 1,
    /* The event of node `at` has fired. There is nothing to complete. */
    WSP_TG_SIGNAL = 2,
    /* Nothing can start before something is complete. */
    WSP_TG_IDLE = 3,
    /* Everything is complete. */
    WSP_TG_DONE = 4
};

/* Kinds of nodes that are handed out. */
enum {
    WSP_TG_KERNEL = 0,
    WSP_TG_COPY = 1,
    WSP_TG_FREE = 2,
    WSP_TG_NOTIFY = 3,
    WSP_TG_WAIT_NOTIFY = 4,
    WSP_TG_WAIT_EVENT = 5,
    WSP_TG_CHECKPOINT = 6,
    WSP_TG_SIGNAL_NODE = 7
};

/* What happens next: `node_kind` and `item` say what node `at` is, of WSP_TG_RUN and WSP_TG_SIGNAL. */
typedef struct wsp_tg_step {
    uint32_t kind;
    uint32_t at;
    uint32_t node_kind;
    uint32_t item;
} wsp_tg_step;

/* What was wrong. */
typedef struct wsp_tg_report {
    uint32_t kind;
    uint32_t at;
    int64_t found;
    int64_t limit;
} wsp_tg_report;

/* Whoever knows the values of conditions: stores the value of a condition of the plan and returns 0. `iterations` has the number of
 * the running iteration of each loop of the graph. May be NULL for a graph without conditions. */
typedef struct wsp_tg_host {
    void *user;
    int32_t (*eval)(void *user, uint32_t condition, const uint32_t *iterations, uint64_t loops, int64_t *value);
} wsp_tg_host;

typedef struct wsp_tg_handle wsp_tg_handle;

/* Bytes of memory that opening a graph takes. */
int32_t wsp_tg_bytes(const uint8_t *image, uint64_t len, uint64_t *bytes, wsp_tg_report *report);

/* Begins a run. */
int32_t wsp_tg_open(const uint8_t *image, uint64_t len, uint8_t *memory, uint64_t memory_len, wsp_tg_handle **handle,
                    wsp_tg_report *report);

/* Goes on with a run from the words that wsp_tg_state has given. Nodes that were handed out and not complete are handed out
 * again. */
int32_t wsp_tg_resume(const uint8_t *image, uint64_t len, const uint32_t *words, uint64_t num_words, uint8_t *memory,
                      uint64_t memory_len, wsp_tg_handle **handle, wsp_tg_report *report);

/* What happens next. Decides and repeats what the graph's control flow says, on the way. */
int32_t wsp_tg_next(wsp_tg_handle *handle, const wsp_tg_host *host, wsp_tg_step *step, wsp_tg_report *report);

/* A node that was handed out is complete: once for each node that was handed out, and for no other. */
int32_t wsp_tg_complete(wsp_tg_handle *handle, uint32_t node);

/* Up to `room` of the members of a gang that starts, and how many there are. */
int32_t wsp_tg_gang(wsp_tg_handle *handle, uint32_t gang, uint32_t *nodes, uint64_t room, uint64_t *count);

/* What a node is, as a step that runs it. */
int32_t wsp_tg_node(wsp_tg_handle *handle, uint32_t node, wsp_tg_step *step);

/* Up to `room` of the numbers of the running iteration of each loop, from 0, and how many loops there are. */
int32_t wsp_tg_iterations(wsp_tg_handle *handle, uint32_t *iterations, uint64_t room, uint64_t *count);

/* Up to `room` of the words of the run's state, and how many there are: a checkpoint. */
int32_t wsp_tg_state(wsp_tg_handle *handle, uint32_t *words, uint64_t room, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
