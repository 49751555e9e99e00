// Writes git objects that git itself would never write: sizes that lie, streams that never end, deltas that grow.
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { createDeflate, deflateSync } from 'node:zlib'

/** A stream that begins with `start`, followed by that many zeros. */
export async function bombOf(start: string, zeros: number): Promise<Buffer> {
  const stream = createDeflate({ level: 1 })
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.write(start)
  const block = Buffer.alloc(1024 * 1024)
  for (let written = 0; written < zeros; written += block.length) if (!stream.write(block)) await once(stream, 'drain')
  stream.end()
  await once(stream, 'end')
  return Buffer.concat(chunks)
}

export const hashOf = (type: string, content: Buffer): string =>
  createHash('sha1').update(`${type} ${content.length}\0`).update(content).digest('hex')

export function putLoose(gitDir: string, oid: string, deflated: Buffer): void {
  mkdirSync(join(gitDir, 'objects', oid.slice(0, 2)), { recursive: true })
  writeFileSync(join(gitDir, 'objects', oid.slice(0, 2), oid.slice(2)), deflated)
}

export function putObject(gitDir: string, type: string, content: Buffer): string {
  const oid = hashOf(type, content)
  putLoose(gitDir, oid, deflateSync(Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content])))
  return oid
}

/** A commit whose fleet/main.ts is this object. */
export function commitNaming(gitDir: string, blob: string, fleetTree?: string): string {
  const tree = (mode: string, name: string, oid: string) =>
    putObject(gitDir, 'tree', Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, 'hex')]))
  const root = tree('40000', 'fleet', fleetTree ?? tree('100644', 'main.ts', blob))
  const who = 't <t@example.org> 1700000000 +0000'
  return putObject(gitDir, 'commit', Buffer.from(`tree ${root}\nauthor ${who}\ncommitter ${who}\n\nx\n`))
}

export interface PackedEntry {
  readonly oid: string
  /** 1 commit, 2 tree, 3 blob, 4 tag, 7 delta of `base`. */
  readonly type: number
  readonly size: number
  readonly base?: string
  readonly deflated: Buffer
}

export function entryHeader(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 0x0f)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest & 0x7f)
  }
  return Buffer.from(bytes)
}

const uint32 = (n: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(n)
  return bytes
}

/** A pack with its index, both written by hand: git's own tools would refuse what is inside. */
export function putPack(gitDir: string, name: string, entries: readonly PackedEntry[]): void {
  const chunks = [Buffer.from('PACK'), uint32(2), uint32(entries.length)]
  let at = 12
  const rows = entries.map(({ oid, type, size, base, deflated }) => {
    const chunk = Buffer.concat([entryHeader(type, size), Buffer.from(base ?? '', 'hex'), deflated])
    const row = { oid, at }
    chunks.push(chunk)
    at += chunk.length
    return row
  })
  const sorted = rows.toSorted((a, b) => (a.oid < b.oid ? -1 : 1))
  const fanout = Array.from({ length: 256 }, (_, i) =>
    uint32(sorted.filter((r) => Number.parseInt(r.oid.slice(0, 2), 16) <= i).length),
  )
  const end = Buffer.alloc(20)
  const index = [
    Buffer.from('ff744f6300000002', 'hex'),
    ...fanout,
    ...sorted.map((r) => Buffer.from(r.oid, 'hex')),
    ...sorted.map(() => uint32(0)),
    ...sorted.map((r) => uint32(r.at)),
    end,
    end,
  ]
  mkdirSync(join(gitDir, 'objects/pack'), { recursive: true })
  writeFileSync(join(gitDir, 'objects/pack', `pack-${name}.pack`), Buffer.concat([...chunks, end]))
  writeFileSync(join(gitDir, 'objects/pack', `pack-${name}.idx`), Buffer.concat(index))
}

export function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}

/** Copies the first 64 KiB of the base so many times. */
export const growingDelta = (base: number, copies: number): Buffer =>
  Buffer.concat([varint(base), varint(copies * 0x10000), Buffer.alloc(copies, 0x80)])
