/* wsp_ptow.h: generates the tasks of a PTOW program on one AICPU.
 *
 * A program is bytes. Its interpreter lives in memory of the caller, allocates nothing and goes on from wherever it has
 * stopped, so that one thread can alternate between generating tasks and running them:
 *
 *     wsp_ptow_scratch_bytes(program, len, &need, &report);
 *     wsp_ptow_verify(program, len, scratch, need, &need, &report);
 *     wsp_ptow_open(program, len, &launch, &config, NULL, WSP_PTOW_SKIP, memory, need, &handle, &report);
 *     while (wsp_ptow_run(handle, &host, 64, UINT32_MAX, &report) == WSP_PTOW_YIELDED) { ... }
 *
 * Program, launch (with its values, tables and extents) and memory stay where and as they are until the handle is no longer
 * used; the configuration is copied. There is nothing to close. A handle is used by one thread at a time; a callback does
 * not run the handle that has called it. Any number of handles may share a program and a launch.
 *
 * Wherever a report is taken, NULL will do when it is not wanted. */
#ifndef WSP_PTOW_H
#define WSP_PTOW_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What functions return. */
enum {
    WSP_PTOW_OK = 0,
    /* All tasks have been handed over. */
    WSP_PTOW_FINISHED = 1,
    /* A budget is spent; there is more. */
    WSP_PTOW_YIELDED = 2,
    /* The value of the slot `report.found` is needed; run again when it is there. */
    WSP_PTOW_WAITS = 3,
    /* A callback has asked to stop; the next run begins with what it has not taken. */
    WSP_PTOW_STOPPED = 4,
    /* A pointer is null that must not be. */
    WSP_PTOW_NULL = -1,
    /* A pointer is not aligned: programs to 4 bytes, the memory of an interpreter to 8, others as their type. */
    WSP_PTOW_ALIGNMENT = -2,
    /* The memory has `report.found` bytes and needs `report.limit`; both are 0 when a length is more than can be. */
    WSP_PTOW_MEMORY = -3,
    /* The bytes are no program: `report.kind` is 1 misaligned, 2 other magic, 3 other version, 4 a count beyond its limit,
     * 5 cut off, 6 bytes behind the end; `report.at` is the byte. */
    WSP_PTOW_READ = -4,
    /* The program breaks rule `report.kind`, as in V05; `report.at` counts what `report.place` says: 0 the program, 1
     * instruction words, 2 expression words, 3 axes, 4 kernels, 5 tensors, 6 bytes of names. */
    WSP_PTOW_VERIFY = -5,
    /* Values (`report.kind` 2), tables (3) or extents (4) are missing:
     * `report.found` are given, `report.limit` are needed; or the configuration is wrong: 10 number of AICPUs, 11 id, 12
     * policy, 13 a byte that should be 0, 14 depth, 15 levels, 16 thresholds that do not increase, 17 the policy of a
     * level, 18 metric, 19 a range that ends before it starts;
     * or the schedule is wrong. `report.at` is 0 for the dispatch, 1 to 9 for levels of the threshold, 10 for the metric, 11
     * for the stream: 30 a policy that is none there, 31 a depth beyond `report.limit`, or of another policy than affinity,
     * 32 an expression that is missing, or that nothing reads, 33 no bounds, or more than `report.limit`, 34 the range
     * `report.at` does not go on from `report.limit`, 35 ranges without a static partition, or none with one, 36 the
     * program has a schedule already, at instruction word `report.at`. */
    WSP_PTOW_REFUSED = -6,
    /* The program is at fault with this launch, at instruction word `report.at`, after `report.ordinal` tasks:
     * `report.kind` is 1 an expression, at its word `report.found`: `report.limit` is 1 overflow, 2 division by zero, 3 an
     * index outside of its table; 2 a box outside its tensor, 3 a loop that is not entered: `report.limit` is 1 the step
     * `report.found`, 2 no row `report.found`, 3 the pointers of that row, 4 `report.found` iterations; 4 rounds of a WHILE,
     * 5 steps, 6 priority, 7 a task behind a static partition, 8 no such descriptor generator, 9 structure, 10 the depth
     * of a channel, 11 no process can go on, 12 a channel that the word `report.found` has closed. The handle stays at the
     * fault; `wsp_ptow_waits_of` says what each process waits for. */
    WSP_PTOW_FAULT = -7,
    /* The handle is none, or it is running; or sums are none. */
    WSP_PTOW_HANDLE = -8,
    /* There is no such mode. */
    WSP_PTOW_MODE = -9
};

/* How an interpreter finds its own tasks. Both modes hand over the same tasks in the same order. */
enum {
    /* Leaves out what holds no task of its own. */
    WSP_PTOW_SKIP = 0,
    /* Tests every task. */
    WSP_PTOW_NAIVE = 1
};

/* Boundaries of ordered scopes. */
enum {
    /* A scope begins, with a step. */
    WSP_PTOW_BEGIN = 0,
    /* Another step of the innermost scope begins: its tasks start after all tasks of the scope so far. */
    WSP_PTOW_STEP = 1,
    /* The innermost scope ends. */
    WSP_PTOW_END = 2
};

/* Label or stream of a task that has none. */
#define WSP_PTOW_NONE UINT32_MAX
/* Most dimensions of a tensor. */
#define WSP_PTOW_MAX_RANK 6

/* What was wrong, as the status says. Zeros when nothing was. */
typedef struct wsp_ptow_report {
    uint32_t kind;
    uint32_t place;
    uint64_t at;
    int64_t found;
    int64_t limit;
    uint64_t ordinal;
} wsp_ptow_report;

/* A launch-time table. */
typedef struct wsp_ptow_table {
    const int64_t *data;
    uint64_t len;
} wsp_ptow_table;

/* What a launch gives a program, in the order in which the program counts it. */
typedef struct wsp_ptow_launch {
    const int64_t *values;
    uint64_t num_values;
    const wsp_ptow_table *tables;
    uint64_t num_tables;
    /* Of every tensor, outermost dimension first; those past its rank are 1. */
    const uint32_t (*extents)[WSP_PTOW_MAX_RANK];
    uint64_t num_extents;
} wsp_ptow_launch;

/* Which tasks are this AICPU's. The same for all but `my_aicpu_id` and, of a static partition, the range. */
typedef struct wsp_ptow_config {
    uint16_t num_aicpus;
    uint16_t my_aicpu_id;
    /* 0 round robin, 1 affinity, 2 threshold, 3 static partition. */
    uint8_t policy_type;
    uint8_t reserved[3];
    /* By policy: wsp_ptow_affinity, wsp_ptow_threshold, wsp_ptow_partition; then zeros. Bytes, little-endian. */
    uint8_t params[44];
} wsp_ptow_config;

typedef struct wsp_ptow_affinity {
    /* Depth of the loop whose variable decides, 0 for the outermost. */
    uint8_t depth;
} wsp_ptow_affinity;

typedef struct wsp_ptow_threshold {
    /* One more than thresholds. */
    uint16_t num_levels;
    /* An expression of the program over axes: its first word. */
    uint16_t metric;
    uint32_t thresholds[8];
    /* 0 round robin, 16 vector pool, 17 cube pool, 18 any pool. */
    uint8_t policy_per_level[8];
} wsp_ptow_threshold;

typedef struct wsp_ptow_partition {
    uint32_t task_range_start;
    uint32_t task_range_end;
} wsp_ptow_partition;

/* A word of a program or of an expression. */
typedef struct wsp_ptow_word {
    uint8_t opcode;
    /* Of the last word of an expression WSP_PTOW_LAST. */
    uint8_t flags;
    uint16_t operand1;
    uint32_t operand2;
} wsp_ptow_word;

/* Flag of the last word of an expression. */
#define WSP_PTOW_LAST 1

/* An expression over axes, as the expression words of a program have it; a `len` of 0 is none. */
typedef struct wsp_ptow_key {
    const wsp_ptow_word *words;
    uint64_t len;
} wsp_ptow_key;

/* Which AICPU takes a task. */
typedef struct wsp_ptow_policy {
    /* 0 round robin, 1 affinity, 4 key, 5 hash. Of a dispatch 3, static partition; of a level 16 vector pool, 17 cube pool,
     * 18 any pool. */
    uint32_t policy;
    /* Of an affinity: the depth of the loop whose variable decides, 0 for the outermost. Else 0. */
    uint32_t depth;
    /* Of a key or a hash: what decides. Else none. */
    wsp_ptow_key key;
} wsp_ptow_policy;

/* What a schedule says of a program. Zeros say nothing: tasks are taken in turn. */
typedef struct wsp_ptow_schedule {
    wsp_ptow_policy dispatch;
    /* Of a static partition: the ordinals of each AICPU, from 0 on without a gap. */
    const wsp_ptow_partition *ranges;
    uint64_t num_ranges;
    /* A threshold, which comes before the dispatch: what is compared, the increasing bounds, at most 8, and the policies of
     * the levels, one more than bounds. Without a threshold none, 0 and NULL. */
    wsp_ptow_key metric;
    const int32_t *bounds;
    uint64_t num_bounds;
    const wsp_ptow_policy *levels;
    /* The stream of a task; without one its ordinal modulo the number of streams. */
    wsp_ptow_key stream_by;
    /* The priority of a task. */
    wsp_ptow_key priority;
    /* How many streams there are; 0 for none. */
    uint32_t streams;
} wsp_ptow_schedule;

/* A box of a tensor: `lo[d] <= index < hi[d]`; past its rank `0 <= index < 1`. */
typedef struct wsp_ptow_region {
    uint32_t tensor;
    uint32_t lo[WSP_PTOW_MAX_RANK];
    uint32_t hi[WSP_PTOW_MAX_RANK];
} wsp_ptow_region;

/* A task. What the pointers name is gone when the callback returns. */
typedef struct wsp_ptow_task {
    /* How many tasks were generated before it, whoever owns them. */
    uint64_t ordinal;
    const int64_t *params;
    const wsp_ptow_region *regions;
    /* What it does to each box: 0 reads, 1 writes, 2 both. */
    const uint8_t *modes;
    /* Ordinals of the tasks that it waits for. */
    const uint64_t *after;
    /* Loop variables in scope, outermost first, and those of loops over axes among them. */
    const int64_t *vars;
    const int64_t *indices;
    /* Its TASK instruction. */
    uint32_t site;
    uint32_t label;
    /* Larger first. */
    int32_t priority;
    uint32_t stream;
    uint16_t kernel;
    /* 0 vector, 1 cube, 255 any. */
    uint8_t pool;
    uint8_t num_params;
    uint8_t num_regions;
    uint8_t num_after;
    uint8_t num_vars;
    uint8_t num_indices;
} wsp_ptow_task;

/* Who takes the tasks. Callbacks return 0 when they have done what they are for; they do not throw. */
typedef struct wsp_ptow_host {
    void *user;
    /* Takes a task; other than 0 stops the run, and the next run begins with it. Not null. */
    int32_t (*task)(void *user, const wsp_ptow_task *task);
    /* Takes a boundary of an ordered scope; `ordinal` tasks were generated before, by all AICPUs. Other than 0 stops the run.
     * Null when boundaries do not matter. */
    int32_t (*ordered)(void *user, uint32_t event, uint64_t ordinal);
    /* Stores the value of a slot, once all tasks that write it and whose ordinal is smaller are complete; other than 0
     * before. Null when no slot ever has a value. */
    int32_t (*slot)(void *user, uint32_t slot, uint64_t ordinal, int64_t *value);
    /* Runs a descriptor generator whose first task has this ordinal, and stores how many tasks it generated; negative when
     * there is none, positive to stop. Null when there are none. */
    int32_t (*plan)(void *user, uint16_t generator, uint64_t ordinal, uint64_t *tasks);
} wsp_ptow_host;

/* What an interpreter has done so far. */
typedef struct wsp_ptow_stats {
    /* Tasks handed over. */
    uint64_t tasks;
    /* Bodies entered, iterations, and skips. */
    uint64_t steps;
    uint64_t scopes;
    uint64_t while_rounds;
    /* Tasks counted, whoever owns them. */
    uint64_t total_ordinals;
} wsp_ptow_stats;

/* What a process waits for. */
typedef struct wsp_ptow_waits {
    /* 0 there is no such process, 1 for nothing, as it has ended, 2 to go on with its instruction, 3 that the token which the
     * instruction has sent is taken. */
    uint32_t kind;
    /* The instruction: a word of the program. */
    uint32_t word;
} wsp_ptow_waits;

/* An interpreter. */
typedef struct wsp_ptow wsp_ptow;

/* Prefix sums of the tasks of loops. */
typedef struct wsp_ptow_sums wsp_ptow_sums;

/* Bytes of memory that verifying a program takes, into `*bytes`. WSP_PTOW_OK, or NULL, ALIGNMENT, MEMORY, READ. */
int32_t wsp_ptow_scratch_bytes(const uint8_t *program, uint64_t len, uint64_t *bytes, wsp_ptow_report *report);

/* Verifies a program in so many bytes of memory, which are free again afterwards. Bytes that wsp_ptow_open takes, into
 * `*bytes`: they follow from the program alone. As above, or VERIFY. */
int32_t wsp_ptow_verify(const uint8_t *program, uint64_t len, uint8_t *scratch, uint64_t scratch_len, uint64_t *bytes,
                        wsp_ptow_report *report);

/* Verifies a program, and makes an interpreter in `memory`, which is aligned to 8 bytes; the handle into `*handle`. `sums` are
 * those of the same program and launch, or NULL: then skipping takes more steps where iterations generate different numbers
 * of tasks. As above, or REFUSED, HANDLE (`sums` are none), MODE. */
int32_t wsp_ptow_open(const uint8_t *program, uint64_t len, const wsp_ptow_launch *launch,
                      const wsp_ptow_config *config, const wsp_ptow_sums *sums, uint32_t mode, uint8_t *memory,
                      uint64_t memory_len, wsp_ptow **handle, wsp_ptow_report *report);

/* Bytes of memory that wsp_ptow_compile takes, into `*bytes`. WSP_PTOW_OK, or NULL, ALIGNMENT, MEMORY, READ, REFUSED. */
int32_t wsp_ptow_compile_bytes(const uint8_t *program, uint64_t len, const wsp_ptow_schedule *schedule, uint64_t *bytes,
                               wsp_ptow_report *report);

/* Puts a schedule into a program that has none: the program with its dispatch, threshold, streams and priorities stands at
 * the beginning of `memory`, which is aligned to 8 bytes, and its length goes into `*size`; what is behind is free again. It
 * is verified, and what the compiler makes of the workload with this schedule. The rules of VERIFY are those of the program
 * given, or of the program with the schedule: of expressions behind its own, and of bounds that do not increase. As above,
 * or VERIFY. */
int32_t wsp_ptow_compile(const uint8_t *program, uint64_t len, const wsp_ptow_schedule *schedule, uint8_t *memory,
                         uint64_t memory_len, uint64_t *size, wsp_ptow_report *report);

/* What one of so many AICPUs gets beside the compiled program, into `*config`. WSP_PTOW_OK, or NULL, ALIGNMENT, MEMORY,
 * REFUSED. */
int32_t wsp_ptow_dispatch(const wsp_ptow_schedule *schedule, uint32_t num_aicpus, uint32_t my_aicpu_id,
                          wsp_ptow_config *config, wsp_ptow_report *report);

/* Bytes of memory that the prefix sums of a launch take, into `*bytes`. `scratch` is aligned to 8 bytes and has as many as
 * wsp_ptow_open takes; it is free again afterwards. As wsp_ptow_verify. */
int32_t wsp_ptow_sums_bytes(const uint8_t *program, uint64_t len, const wsp_ptow_launch *launch, uint8_t *scratch,
                            uint64_t scratch_len, uint64_t *bytes, wsp_ptow_report *report);

/* Builds the prefix sums of a launch in `memory`, which is aligned to 8 bytes, into `*sums`. Any number of handles share
 * them, on any threads; program, launch and memory stay as they are until none uses them. Loops for which the memory is too
 * small have no sums. As wsp_ptow_verify. */
int32_t wsp_ptow_sums_build(const uint8_t *program, uint64_t len, const wsp_ptow_launch *launch, uint8_t *scratch,
                            uint64_t scratch_len, uint8_t *memory, uint64_t memory_len, const wsp_ptow_sums **sums,
                            wsp_ptow_report *report);

/* Goes on until `tasks` tasks were handed over, `steps` loop steps were taken, a slot's value is needed, a callback asks to
 * stop, or the program ends. FINISHED, YIELDED, WAITS, STOPPED, or NULL, ALIGNMENT, FAULT, HANDLE. */
int32_t wsp_ptow_run(wsp_ptow *handle, const wsp_ptow_host *host, uint32_t tasks, uint32_t steps,
                     wsp_ptow_report *report);

/* Every task of this AICPU with a smaller ordinal has been handed over: that ordinal, all ones at the end. */
int32_t wsp_ptow_watermark(wsp_ptow *handle, uint64_t *watermark);

/* What has been done so far. */
int32_t wsp_ptow_stats_of(wsp_ptow *handle, wsp_ptow_stats *stats);

/* What a process waits for when none can go on. Processes are numbered from 0. */
int32_t wsp_ptow_waits_of(wsp_ptow *handle, uint32_t process, wsp_ptow_waits *waits);

#ifdef __cplusplus
}
#endif

#endif
