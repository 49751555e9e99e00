// What a program's header reveals about where it can run: CPU architecture, loader, and minimum C library version. Pure.

export interface Elf {
  /** In Kubernetes' terms; undefined if Kubernetes has none. */
  readonly arch: string | undefined
  /** Absolute path of the loader; undefined for a static binary. */
  readonly loader: string | undefined
  /** Highest glibc version it requires, such as [2, 34]. */
  readonly glibc: readonly [number, number] | undefined
  /** It requires libatomic, as Node.js does, which small systems lack. */
  readonly isAtomic: boolean
}

/** How much of a program to read: headers and library names are at the front, within 5 MiB for a program the size of Node.js. */
export const ELF_BYTES = 8 * 2 ** 20

const MACHINES: ReadonlyMap<number, string> = new Map([
  [0x3e, 'amd64'],
  [0xb7, 'arm64'],
  [0xf3, 'riscv64'],
  [0x15, 'ppc64le'],
  [0x16, 's390x'],
])
export const ATOMIC = 'libatomic.so.1'
const INTERPRETER = 3
const MAX_HEADERS = 64
const MAX_PATH = 256

/** Undefined for anything but a Linux program, such as a script. */
export function parseElf(head: Buffer): Elf | undefined {
  if (head.length < 64 || head.readUInt32BE(0) !== 0x7f_45_4c_46) return undefined
  const [bits, order] = [head[4], head[5]]
  const u16 = (at: number): number => (order === 2 ? head.readUInt16BE(at) : head.readUInt16LE(at))
  // No valid header exceeds 32 bits; the kernel refuses such a program.
  const u64 = (at: number): number => Number(order === 2 ? head.readBigUInt64BE(at) : head.readBigUInt64LE(at))
  const u32 = (at: number): number => (order === 2 ? head.readUInt32BE(at) : head.readUInt32LE(at))
  const arch = bits === 2 ? MACHINES.get(u16(18)) : undefined
  return {
    arch,
    loader: bits === 2 ? loaderOf(head, { u16, u32, u64 }) : undefined,
    glibc: glibcOf(head),
    isAtomic: head.includes(`\0${ATOMIC}\0`),
  }
}

interface Reader {
  readonly u16: (at: number) => number
  readonly u32: (at: number) => number
  readonly u64: (at: number) => number
}

function loaderOf(head: Buffer, { u16, u32, u64 }: Reader): string | undefined {
  const [table, size, count] = [u64(32), u16(54), u16(56)]
  for (let n = 0; n < Math.min(count, MAX_HEADERS); n++) {
    const at = table + n * size
    if (at + 56 > head.length) return undefined
    if (u32(at) !== INTERPRETER) continue
    const [from, length] = [u64(at + 8), u64(at + 32)]
    if (length < 2 || length > MAX_PATH || from + length > head.length) return undefined
    return head.toString('latin1', from, from + length - 1)
  }
  return undefined
}

function glibcOf(head: Buffer): Elf['glibc'] {
  let highest: readonly [number, number] | undefined
  for (const [, major, minor] of head.toString('latin1').matchAll(/\0GLIBC_(\d{1,2})\.(\d{1,3})(?=[.\0])/g)) {
    const found = [Number(major), Number(minor)] as const
    if (highest === undefined || isAfter(found, highest)) highest = found
  }
  return highest
}

export const isAfter = (a: readonly [number, number], b: readonly [number, number]): boolean =>
  a[0] > b[0] || (a[0] === b[0] && a[1] > b[1])
