// What NVIDIA's accelerators say about themselves, read with nvidia-smi if it is there. Errors in the kernel's log are found by the hardware monitor.
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

const FIELDS = [
  'pci.bus_id',
  'ecc.errors.uncorrected.volatile.total',
  'remapped_rows.pending',
  'remapped_rows.failure',
] as const

export const GPU_ARGUMENTS: readonly string[] = [`--query-gpu=${FIELDS.join(',')}`, '--format=csv,noheader,nounits']

export interface Gpu {
  readonly address: string
  readonly uncorrected: number
  readonly isResetPending: boolean
  readonly isWornOut: boolean
}

const MOST_GPUS = 64
/** "00000000:3B:00.0" */
const ADDRESS = /^[0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-7]$/

export const gpusIn = (csv: string): readonly Gpu[] =>
  csv
    .split('\n', MOST_GPUS)
    .map((line) => line.split(',').map((field) => field.trim()))
    .filter(([address = '']) => ADDRESS.test(address))
    .map(([address = '', errors = '', pending = '', failure = '']) => ({
      address,
      // "[N/A]" on cards without ECC.
      uncorrected: /^\d+$/.test(errors) ? Number(errors) : 0,
      isResetPending: pending === 'Yes' || pending === '1',
      isWornOut: failure === 'Yes' || failure === '1',
    }))

/** `most` is the largest number of accelerators that answered since the agent started. */
export function judgeGpus(gpus: readonly Gpu[], most: number): readonly Reading[] {
  const missing = most - gpus.length
  return [
    readingOf({ type: 'GPUFaulty', calm: { reason: 'GPUsWork', message: 'all GPUs answer and are sound' } }, [
      ...(missing > 0 ? [`${missing} of ${most} GPUs are gone`] : []),
      ...gpus.flatMap(({ address, isWornOut }) =>
        isWornOut ? [`${address}: no spare rows are left for its memory`] : [],
      ),
    ]),
    readingOf(
      { type: 'GPUNeedsReset', calm: { reason: 'GPUsWork', message: 'no GPU waits for a reset' } },
      gpus.flatMap(({ address, uncorrected, isResetPending }) => {
        if (isResetPending) return [`${address}: waits for a reset to remap rows of its memory`]
        return uncorrected > 0 ? [`${address}: uncorrectable memory errors`] : []
      }),
    ),
  ]
}
