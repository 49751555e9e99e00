// Packs a folder into a tar whose bytes depend only on names, contents and executable bits: packing twice gives the same digest. Invariant: an archive is kept
// only after the agent's own reader has read it back and found exactly the folder.
import {
  constants,
  type Stats,
  createReadStream,
  createWriteStream,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ARCHIVE_LIMITS, TarNames, checkedPath, readTar, tarRefused } from '../oci/component-tar.ts'
import { measured } from '../oci/measured.ts'
import { endOfTar, headerOf, paddingOf } from '../oci/tar-writer.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import { artifactErrors } from './artifact-errors.ts'

export interface Packed {
  readonly sha256: string
  readonly size: number
  readonly files: number
}

interface Entry {
  readonly path: string
  readonly stat: Stats
}

/** Parents before their content, each folder sorted; links are not followed. */
function entriesOf(folder: string): readonly Entry[] {
  const entries: Entry[] = []
  const names = new TarNames(ARCHIVE_LIMITS.entries)
  let bytes = 0
  const walk = (below: string) => {
    for (const name of namesIn(join(folder, below))) {
      const path = below === '' ? name : `${below}/${name}`
      if (entries.length >= ARCHIVE_LIMITS.entries)
        throw new KubeNodeError(
          artifactErrors.KN1101_tooMany({
            folder,
            length: `more than ${entries.length}`,
            maxFiles: ARCHIVE_LIMITS.entries,
          }),
        )
      const stat = packedStat(folder, path)
      names.add({ path: checkedPath(path, stat.isFile() ? 'File' : 'Folder'), kind: stat.isFile() ? 'File' : 'Folder' })
      bytes += stat.isFile() ? stat.size : 0
      if (bytes > ARCHIVE_LIMITS.bytes) throw tarRefused(`its files exceed ${ARCHIVE_LIMITS.bytes} bytes`)
      entries.push({ path, stat })
      if (stat.isDirectory()) walk(path)
    }
  }
  walk('')
  return entries
}

const namesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { encoding: 'buffer' })
    .map((bytes) => {
      const name = bytes.toString('utf8')
      if (!Buffer.from(name).equals(bytes)) throw tarRefused(`a name in ${folder} is not UTF-8`)
      return name
    })
    .sort((a, b) => (a < b ? -1 : 1))

const EXECUTABLE = 0o100
const SET_ID_OR_STICKY = 0o7000
/** File type bits, which are part of the mode. */
const KIND_BITS = 0o170000

/** Like git's modes: the executable bit is content, the rest depends on a checkout's umask. */
function packedStat(folder: string, path: string): Stats {
  const stat = lstatSync(join(folder, path))
  if (!stat.isFile() && !stat.isDirectory())
    throw new KubeNodeError(artifactErrors.KN1101({ path: join(folder, path) }))
  // A folder inherits these bits from its parent. On a file a user set them, and agents do not keep them.
  if (stat.isFile() && (stat.mode & SET_ID_OR_STICKY) !== 0)
    throw tarRefused(`${JSON.stringify(path)} has a set-id or sticky bit`)
  stat.mode = (stat.mode & KIND_BITS) | (stat.isDirectory() || (stat.mode & EXECUTABLE) !== 0 ? 0o755 : 0o644)
  // A hard link becomes a separate file, since agents refuse links.
  stat.nlink = 1
  return stat
}

export async function packFolder(folder: string, target: string): Promise<Packed> {
  // Without a trailing slash, which would follow the link.
  const root = resolve(folder)
  if (lstatSync(root).isSymbolicLink()) throw new KubeNodeError(artifactErrors.KN1101({ path: folder }))
  const partial = `${target}.partial`
  try {
    const entries = entriesOf(root)
    const files = entries.filter((e) => e.stat.isFile()).length
    if (files === 0) throw new KubeNodeError(artifactErrors.KN1101_empty({ folder }))
    rmSync(partial, { force: true })
    const packed = await writeTar(root, entries, partial)
    await requireReadable(partial, entries)
    renameSync(partial, target)
    return { ...packed, files }
  } catch (e) {
    if (!isKubeNodeError(e) || e.code !== 'KN8020') throw e
    throw new KubeNodeError(artifactErrors.KN1101_refused({ folder, why: String(e.data['why']) }), { cause: e })
  } finally {
    rmSync(partial, { force: true })
  }
}

async function writeTar(cwd: string, entries: readonly Entry[], file: string): Promise<Omit<Packed, 'files'>> {
  const { stream, total } = measured()
  // Created exclusively: a link at this path is not written through.
  await pipeline(Readable.from(piecesOf(cwd, entries)), stream, createWriteStream(file, { flags: 'wx' }))
  const { bytes: size, sha256 } = total()
  return { sha256, size }
}

async function* piecesOf(cwd: string, entries: readonly Entry[]): AsyncGenerator<Buffer> {
  for (const { path, stat } of entries) {
    const isFile = stat.isFile()
    const size = isFile ? stat.size : 0
    yield headerOf({ kind: isFile ? 'File' : 'Folder', path, mode: stat.mode, size })
    if (size === 0) continue
    yield* contentOf(join(cwd, path), size)
    yield paddingOf(size)
  }
  yield endOfTar()
}

/** Reads exactly the checked size: refuses a file that changes meanwhile, and does not follow a link in its place. */
async function* contentOf(file: string, size: number): AsyncGenerator<Buffer> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    let bytes = 0
    for await (const chunk of handle.createReadStream({ end: size - 1, autoClose: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length
      yield chunk
    }
    if (bytes < size) throw tarRefused(`${JSON.stringify(file)} changed while it was packed`)
  } finally {
    await handle.close()
  }
}

/** Reads the archive back: agents must find exactly the folder. */
async function requireReadable(file: string, entries: readonly Entry[]): Promise<void> {
  let at = 0
  const isNext = (path: string, isFile: boolean, size: number): boolean => {
    const next = entries[at]
    const isSame = next?.path === path && next.stat.isFile() === isFile && (!isFile || next.stat.size === size)
    if (isSame) at += 1
    return isSame
  }
  const unlike = () => tarRefused('it is not what was packed')
  await readTar(createReadStream(file), ARCHIVE_LIMITS, {
    folder: async (path) => {
      if (!isNext(path, false, 0)) throw unlike()
    },
    file: async (path, _mode, size) => {
      if (!isNext(path, true, size)) throw unlike()
      return { write: async () => undefined, end: async () => undefined }
    },
  })
  if (at < entries.length) throw unlike()
}
