// How the memory of a server process grows while it works: to three times what was alive, and with small pools.
import { setFlagsFromString } from 'node:v8'

/**
 * Of what is alive. The engine's own rule lets a small heap grow by a tenth and begins to mark when less than one new space is left of that: a server in
 * its first minute marked six times on its way to 30 MB. With so much room it marks as rarely, and begins early enough to do it beside the work: to begin
 * at the last moment, where bodies outside the heap count too, was to collect at once, and everybody waited 20 ms or more.
 */
const GROWTH_PERCENT = 200

/** Once all is loaded: compiled code that was kept under other flags is not taken. */
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
