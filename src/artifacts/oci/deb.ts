// Reads a Debian package: its control record and the files that it would install. Nothing of it is run.
import { spawnSync } from 'node:child_process'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { ociErrors } from './oci-errors.ts'
import type { TarEntry } from './tar-entry.ts'
import { entriesOf } from './tar-reader.ts'

export interface Deb {
  /** The record as in /var/lib/dpkg/status. */
  readonly control: string
  readonly entries: readonly TarEntry[]
}

const AR_MAGIC = '!<arch>\n'
const AR_HEADER = 60
/** The largest of the image's packages unpacks to a fifth of it. */
const MAX_UNPACKED = 256 * 1024 * 1024

/** `file` is for messages only. */
export async function readDeb(file: string, bytes: Buffer): Promise<Deb> {
  const bad = (why: string) => new KubeNodeError(ociErrors.KN13002({ file, why }))
  const members = membersOf(bytes)
  const unpacked = (stem: string): Buffer => {
    const member = members?.find(({ name }) => name.startsWith(`${stem}.tar`))
    if (member === undefined) throw bad(`it has no ${stem}.tar`)
    return unpack(file, member)
  }
  const record = (await entriesOf(unpacked('control'))).find(({ path }) => path === 'control')
  if (record?.kind !== 'File') throw bad('it has no control record')
  return { control: record.content().toString('utf8').trim(), entries: await entriesOf(unpacked('data')) }
}

interface Member {
  readonly name: string
  readonly content: Buffer
}

/** Undefined for anything but an archive of `ar`. */
function membersOf(bytes: Buffer): readonly Member[] | undefined {
  if (bytes.toString('latin1', 0, AR_MAGIC.length) !== AR_MAGIC) return undefined
  const members: Member[] = []
  for (let at = AR_MAGIC.length; at + AR_HEADER <= bytes.length;) {
    const header = bytes.toString('latin1', at, at + AR_HEADER)
    const size = Number(header.slice(48, 58).trim())
    if (!header.endsWith('`\n') || !Number.isSafeInteger(size) || size < 0) return undefined
    const start = at + AR_HEADER
    members.push({ name: header.slice(0, 16).trim().replace(/\/$/, ''), content: bytes.subarray(start, start + size) })
    at = start + size + (size % 2)
  }
  return members
}

function unpack(file: string, { name, content }: Member): Buffer {
  try {
    if (name.endsWith('.tar')) return content
    if (name.endsWith('.gz')) return gunzipSync(content, { maxOutputLength: MAX_UNPACKED })
    if (name.endsWith('.zst')) return zstdDecompressSync(content, { maxOutputLength: MAX_UNPACKED })
  } catch (e) {
    throw new KubeNodeError(ociErrors.KN13002({ file, why: `${name}: ${messageOf(e)}` }))
  }
  if (name.endsWith('.xz')) return unpackXz(file, content)
  throw new KubeNodeError(ociErrors.KN13002({ file, why: `it is packed as ${name}` }))
}

/** Node.js has no xz. */
function unpackXz(file: string, content: Buffer): Buffer {
  const { error, status, stdout, stderr } = spawnSync('xz', ['--decompress', '--stdout'], {
    input: content,
    maxBuffer: MAX_UNPACKED,
  })
  if (error !== undefined && 'code' in error && error.code === 'ENOENT')
    throw new KubeNodeError(ociErrors.KN13003({ file, program: 'xz', package: 'xz-utils' }))
  if (error !== undefined || status !== 0)
    throw new KubeNodeError(ociErrors.KN13002({ file, why: error?.message ?? stderr.toString('utf8').trim() }))
  return stdout
}
