// What NVIDIA's DCGM exporter measures, where one runs on the host's network. Only known counters; the last Xid is left to the kernel's log, which says when it was.
import type { ReadText } from '../../metrics/host-files.ts'
import type { Reading } from '../builtin/reading.ts'
import { readingOf } from './finding.ts'

export const DCGM_PORT = 9_400

/** Bits of the table of sockets: the state LISTEN, and this port on any or the loopback address. */
const LISTEN = '0A'
const LOCAL = /^(?:0{8}|0100007F|0{32}|0{24}01000000):([0-9A-F]{4})$/
const MOST_SOCKETS = 65_536
const STATE_FIELD = 3
const UID_FIELD = 7

/** Whether root listens there. Any user may open a port above 1023, and must not drain the node with it. */
export function isOfRoot(read: ReadText, port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const owners = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    (read(file) ?? '').split('\n', MOST_SOCKETS).flatMap((line) => {
      const fields = line.trim().split(/\s+/)
      const isIt = fields[STATE_FIELD] === LISTEN && LOCAL.exec(fields[1] ?? '')?.[1] === hex
      return isIt ? [fields[UID_FIELD]] : []
    }),
  )
  return owners.length > 0 && owners.every((uid) => uid === '0')
}

const MOST_LINES = 20_000
const SAMPLE = /^(DCGM_FI_DEV_[A-Z_]{1,60})\{([^}]{0,4000})\} (\d{1,15}(?:\.0+)?)$/
const ADDRESS = /(?:^|,)pci_bus_id="([0-9A-Fa-f:.]{7,20})"/
const NUMBER = /(?:^|,)gpu="(\d{1,3})"/

type Outcome = 'GPUNeedsReset' | 'GPUFaulty'

/** More than zero is trouble. */
const COUNTERS: ReadonlyMap<string, readonly [type: Outcome, what: string]> = new Map([
  ['DCGM_FI_DEV_ECC_DBE_VOL_TOTAL', ['GPUNeedsReset', 'uncorrectable memory errors']],
  ['DCGM_FI_DEV_ROW_REMAP_PENDING', ['GPUNeedsReset', 'waits for a reset to remap rows of its memory']],
  ['DCGM_FI_DEV_RETIRED_PENDING', ['GPUNeedsReset', 'waits for a reset to retire pages of its memory']],
  ['DCGM_FI_DEV_ROW_REMAP_FAILURE', ['GPUFaulty', 'no spare rows are left for its memory']],
])

export function judgeDcgm(text: string): readonly Reading[] {
  const found: Record<Outcome, Set<string>> = { GPUNeedsReset: new Set(), GPUFaulty: new Set() }
  let samples = 0
  for (const line of text.split('\n', MOST_LINES)) {
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? []
    const counter = COUNTERS.get(name)
    const gpu = ADDRESS.exec(labels)?.[1]?.toUpperCase() ?? NUMBER.exec(labels)?.[1]
    if (counter === undefined || gpu === undefined) continue
    samples++
    if (Number(value) > 0) found[counter[0]].add(`${gpu}: ${counter[1]}`)
  }
  // An exporter that was told to leave these counters out says nothing about them.
  if (samples === 0) return []
  const calm = { reason: 'GPUsWork', message: 'DCGM reports no such error' }
  return (['GPUFaulty', 'GPUNeedsReset'] as const).map((type) => readingOf({ type, calm }, [...found[type]].toSorted()))
}
