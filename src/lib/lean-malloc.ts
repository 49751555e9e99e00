// Tunes the C library's memory for many small programs on one machine: one pool for all threads of a program, and free memory goes back to the system. By
// default each thread gets its own pool, and a program keeps its peak.

/** Variables for glibc; other C libraries ignore them. */
export const LEAN_MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' } as const
