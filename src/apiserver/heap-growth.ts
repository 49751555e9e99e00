// How the heap of a server process grows under load: to three times its live data, and with small pools.
import { setFlagsFromString } from 'node:v8'

/**
 * Relative to live data. The engine's own rule lets a small heap grow by a tenth and starts marking when less than one new space of that is left: a server in
 * its first minute marked six times on its way to 30 MB. With this factor it marks as rarely, and starts early enough to mark in the background: starting
 * at the last moment, which also counts bodies outside the heap, meant collecting at once, and every client waited 20 ms or more.
 */
const GROWTH_PERCENT = 200

/** After loading: compiled code that was cached under other flags is rejected. */
export function letHeapGrow(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}

/**
 * Small Buffers are slices of pools, and a pool that is alive at two collections of young garbage stays until a full one. Node's pools of 64 KiB live that
 * long in a server at rest and added 5 MiB a minute; those of 8 KiB are used up in a fraction of the time.
 */
const POOL_BYTES = 8 * 1024

export function useSmallPools(): void {
  Buffer.poolSize = POOL_BYTES
}
