// The kernel's own view of the clock under node_exporter's names. Only a system call returns it, which needs node:ffi: absent where Node.js has none, or the host
// another C library. The call reads; it cannot set the clock.
import { type MetricFamily, single } from './exposition.ts'

/** What adjtimex answered: its result, and the fields of its structure. */
export interface Timex {
  /** The state of the clock; 5 is TIME_ERROR. */
  readonly state: number
  readonly offset: number
  readonly frequency: number
  readonly maxErrorUs: number
  readonly estimatedErrorUs: number
  readonly status: number
  readonly taiOffset: number
}

const TIME_ERROR = 5
/** The offset is in nanoseconds; otherwise in microseconds. */
const STA_NANO = 0x2000
const MICROS = 1e6
const NANOS = 1e9
/** Parts per million, with 16 bits behind the point. */
const FREQUENCY_UNIT = 65_536 * MICROS

export function timexFamilies(timex: Timex | undefined): readonly MetricFamily[] {
  if (timex === undefined) return []
  const { state, offset, frequency, maxErrorUs, estimatedErrorUs, status, taiOffset } = timex
  const one = (name: string, value: number): MetricFamily =>
    single('gauge', `node_timex_${name}`, `As node_exporter's node_timex_${name}.`, value)
  return [
    one('sync_status', state === TIME_ERROR ? 0 : 1),
    one('offset_seconds', offset / ((status & STA_NANO) === 0 ? MICROS : NANOS)),
    one('maxerror_seconds', maxErrorUs / MICROS),
    one('estimated_error_seconds', estimatedErrorUs / MICROS),
    one('frequency_adjustment_ratio', 1 + frequency / FREQUENCY_UNIT),
    one('status', status),
    one('tai_offset_seconds', taiOffset),
  ]
}

/** The part of node:ffi that is used. */
interface Ffi {
  dlopen(
    library: string,
    functions: Readonly<Record<string, { readonly arguments: readonly string[]; readonly return: string }>>,
  ): { readonly functions: Readonly<Record<string, (buffer: Buffer) => number>> }
}

/** Twice what any kernel writes. */
const BYTES = 512
/** Offsets in struct timex where a long has eight bytes. */
const AT = { offset: 8, frequency: 16, maxError: 24, estimatedError: 32, status: 40, tai: 160 } as const
const ARCHITECTURES: readonly string[] = ['x64', 'arm64']

export type ReadTimex = () => Timex | undefined

/** Made with the first scrape, so that a host without a scraper never loads the library. */
export function timexReader(): ReadTimex {
  const nothing = (): undefined => undefined
  if (process.platform !== 'linux' || !ARCHITECTURES.includes(process.arch)) return nothing
  try {
    const adjtimex = quietly(() => {
      const ffi = process.getBuiltinModule('node:ffi') as unknown as Ffi | undefined
      return ffi?.dlopen('libc.so.6', { adjtimex: { arguments: ['buffer'], return: 'int32' } }).functions['adjtimex']
    })
    if (adjtimex === undefined) return nothing
    const buffer = Buffer.alloc(BYTES)
    return () => {
      // Mode 0 asks without setting anything.
      buffer.fill(0)
      const state = adjtimex(buffer)
      return state < 0 ? undefined : timexIn(buffer, state)
    }
  } catch {
    return nothing
  }
}

const timexIn = (buffer: Buffer, state: number): Timex => ({
  state,
  offset: Number(buffer.readBigInt64LE(AT.offset)),
  frequency: Number(buffer.readBigInt64LE(AT.frequency)),
  maxErrorUs: Number(buffer.readBigInt64LE(AT.maxError)),
  estimatedErrorUs: Number(buffer.readBigInt64LE(AT.estimatedError)),
  status: buffer.readInt32LE(AT.status),
  taiOffset: buffer.readInt32LE(AT.tai),
})

/** Node warns once that the module is experimental, which does not help readers of the log. */
function quietly<T>(load: () => T): T {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = () => undefined
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}
