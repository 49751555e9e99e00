// Makes tars for tests, good ones and hostile ones, header field by header field.
export interface TarEntry {
  readonly name: string
  readonly content?: string | Buffer
  readonly type?: string
  readonly mode?: number
  readonly linkName?: string
  readonly prefix?: string
  /** Instead of the length of the content. */
  readonly size?: number
  /** Writes over bytes of the header; the checksum is made after it, unless it is what is written over. */
  readonly patch?: (header: Buffer) => void
  readonly checksum?: number
}

/** An extended header with these records, for the entry that follows. */
export const paxOf = (...records: readonly string[]): TarEntry => ({
  name: 'pax',
  type: 'x',
  content: Buffer.concat(records.map(recordOf)),
})

/** The length counts its own digits. */
function recordOf(text: string): Buffer {
  const rest = Buffer.from(` ${text}\n`)
  let length = rest.length
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length
  return Buffer.concat([Buffer.from(String(length)), rest])
}

const BLOCK = 512

export function tarOf(entries: readonly TarEntry[], { end = true } = {}): Buffer {
  const blocks = entries.flatMap((e) => [headerOf(e), padded(Buffer.from(e.content ?? ''))])
  return Buffer.concat([...blocks, ...(end ? [Buffer.alloc(2 * BLOCK)] : [])])
}

function headerOf(e: TarEntry): Buffer {
  const header = Buffer.alloc(BLOCK)
  const content = Buffer.from(e.content ?? '')
  header.write(e.name, 0, 100, 'utf8')
  header.write(`${octal(e.mode ?? 0o644, 7)}\0`, 100)
  header.write(`${octal(0, 7)}\0`, 108)
  header.write(`${octal(0, 7)}\0`, 116)
  header.write(`${octal(e.size ?? content.length, 11)}\0`, 124)
  header.write(`${octal(0, 11)}\0`, 136)
  header.write(e.type ?? '0', 156, 'latin1')
  header.write(e.linkName ?? '', 157, 100, 'utf8')
  header.write('ustar\u000000', 257, 'latin1')
  header.write(e.prefix ?? '', 345, 155, 'utf8')
  e.patch?.(header)
  header.write('        ', 148)
  const sum = e.checksum ?? header.reduce((a, b) => a + b, 0)
  header.write(`${octal(sum, 6)}\0 `, 148)
  return header
}

const octal = (n: number, digits: number): string => n.toString(8).padStart(digits, '0')

const padded = (content: Buffer): Buffer =>
  Buffer.concat([content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)])
