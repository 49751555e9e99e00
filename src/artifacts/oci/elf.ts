// Reads what a program or library needs to start: its interpreter and the names of its libraries.

export interface ElfNeeds {
  /** Path of the loader; only programs have one. */
  readonly interpreter?: string
  readonly libraries: readonly string[]
}

const MAGIC = Buffer.from('\x7fELF', 'latin1')
const CLASS_64 = 2
const LITTLE_ENDIAN = 1
const HEADER_BYTES = 64
const PROGRAM_HEADER_BYTES = 56
const [PT_LOAD, PT_DYNAMIC, PT_INTERP] = [1, 2, 3]
const [DT_NULL, DT_NEEDED, DT_STRTAB] = [0, 1, 5]
/** Ten times the longest known list. */
const MAX_DYNAMIC = 4_096

interface Segment {
  readonly type: number
  readonly offset: number
  readonly address: number
  readonly size: number
}

/** Undefined for anything but a 64-bit little-endian ELF file. */
export function elfNeeds(file: Buffer): ElfNeeds | undefined {
  if (file.length < HEADER_BYTES || !file.subarray(0, 4).equals(MAGIC)) return undefined
  if (file[4] !== CLASS_64 || file[5] !== LITTLE_ENDIAN) return undefined
  try {
    return needsOf(file)
  } catch (e) {
    // An offset beyond the end: a loader would not start it either.
    if (e instanceof RangeError) return undefined
    throw e
  }
}

function needsOf(file: Buffer): ElfNeeds {
  const segments = segmentsOf(file)
  const dynamic = segments.find((s) => s.type === PT_DYNAMIC)
  const loader = segments.find((s) => s.type === PT_INTERP)
  const interpreter = loader === undefined ? {} : { interpreter: textAt(file, loader.offset) }
  if (dynamic === undefined) return { ...interpreter, libraries: [] }
  const needed: number[] = []
  let table: number | undefined
  for (let i = 0; i < MAX_DYNAMIC && i * 16 < dynamic.size; i++) {
    const tag = number(file, dynamic.offset + i * 16)
    const value = number(file, dynamic.offset + i * 16 + 8)
    if (tag === DT_NULL) break
    if (tag === DT_NEEDED) needed.push(value)
    if (tag === DT_STRTAB) table = offsetOf(segments, value)
  }
  const start = table
  return { ...interpreter, libraries: start === undefined ? [] : needed.map((at) => textAt(file, start + at)) }
}

function segmentsOf(file: Buffer): readonly Segment[] {
  const start = number(file, 32)
  const size = file.readUInt16LE(54)
  const count = file.readUInt16LE(56)
  if (size < PROGRAM_HEADER_BYTES) return []
  return Array.from({ length: count }, (_, i) => start + i * size).map((at) => ({
    type: file.readUInt32LE(at),
    offset: number(file, at + 8),
    address: number(file, at + 16),
    size: number(file, at + 32),
  }))
}

/** The dynamic table contains memory addresses; the load segments map them to file offsets. */
function offsetOf(segments: readonly Segment[], address: number): number | undefined {
  const within = segments.find((s) => s.type === PT_LOAD && address >= s.address && address < s.address + s.size)
  return within === undefined ? undefined : address - within.address + within.offset
}

const number = (file: Buffer, at: number): number => Number(file.readBigUInt64LE(at))

function textAt(file: Buffer, at: number): string {
  const end = file.indexOf(0, at)
  return end < 0 ? '' : file.toString('latin1', at, end)
}
