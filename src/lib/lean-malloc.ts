// How the C library keeps memory for many small programs on one machine: one pool for all threads of a program, and free memory goes back to the system.
// By default each thread gets a pool of its own, and a program that once took much keeps it.

/** Variables that glibc reads; other C libraries ignore them. */
export const LEAN_MALLOC = { MALLOC_ARENA_MAX: '1', MALLOC_TRIM_THRESHOLD_: '131072' } as const
