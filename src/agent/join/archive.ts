// Builds the files that hosts download, or that are carried to hosts without network access: one compressed archive per architecture, and the script
// that checks and unpacks it. Equal inputs give equal bytes, so the script's digest can be a setting of an installation.
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { parseElf, ELF_BYTES } from '#lib/elf.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { sha256Hex } from '#lib/sha256.ts'
import { measured } from '#artifacts/oci/measured.ts'
import { FILE_MODE, PROGRAM_MODE, type TarEntry, type TarFile } from '#artifacts/oci/tar-entry.ts'
import { tarPieces } from '#artifacts/oci/tar-writer.ts'
import { bundleErrors } from './bundle-errors.ts'
import { bundleAgent, filesOf, filesOfNode, type Bundled } from './program-bundle.ts'
import { archiveName, joinScript, type Archive } from './join-script.ts'

export interface ArchivesOptions {
  readonly root: string
  /** Absolute path. */
  readonly out: string
  /** Node.js programs, at most one per architecture. */
  readonly nodes: readonly string[]
  /** Libraries that Node.js needs and small hosts lack, per architecture. Default: those of this machine. */
  readonly libraries?: Readonly<Partial<Record<Archive['arch'], readonly TarFile[]>>>
}

/** Tar and gzip exist everywhere; a higher level takes twice as long for one percent. */
const LEVEL = 6
const PIECE_BYTES = 1024 * 1024

/** Returns the archives, then join.sh. */
export async function makeArchives({ root, out, nodes, libraries }: ArchivesOptions): Promise<readonly Bundled[]> {
  mkdirSync(out, { recursive: true })
  const made: Bundled[] = []
  const archives: Archive[] = []
  for (const node of nodes) {
    const arch = archOf(node)
    if (archives.some((a) => a.arch === arch))
      throw new KubeNodeError(bundleErrors.KN1051({ node, why: `there are two for ${arch}` }))
    const one = await makeArchive({ root, node, libraries: libraries?.[arch], file: join(out, archiveName(arch)) })
    archives.push({ arch, sha256: one.sha256 })
    made.push(one)
  }
  const script = joinScript(archives.toSorted((a, b) => (a.arch < b.arch ? -1 : 1)))
  const file = join(out, 'join.sh')
  writeFileSync(file, script, { mode: PROGRAM_MODE })
  return [...made, { file, bytes: Buffer.byteLength(script), sha256: sha256Hex(script) }]
}

function archOf(node: string): Archive['arch'] {
  const why = (text: string) => new KubeNodeError(bundleErrors.KN1051({ node, why: text }))
  let head: Buffer
  try {
    head = readFileSync(node).subarray(0, ELF_BYTES)
  } catch (cause) {
    throw why(String(cause))
  }
  const arch = parseElf(head)?.arch
  if (arch !== 'amd64' && arch !== 'arm64') throw why('it is no program for Linux on amd64 or arm64')
  return arch
}

/** Every build of Node.js contains this variable's name; a program for another architecture cannot be executed to check. */
const OF_NODE = 'NODE_OPTIONS'

/** Refuses a program that is not Node.js: otherwise hosts would find out only when they join. */
export function checkNode(node: string): void {
  archOf(node)
  if (!readFileSync(node).includes(OF_NODE))
    throw new KubeNodeError(bundleErrors.KN1051({ node, why: 'it is not Node.js' }))
}

interface ArchiveOptions {
  readonly root: string
  readonly node: string
  readonly libraries: readonly TarFile[] | undefined
  readonly file: string
}

async function makeArchive({ root, node, libraries, file }: ArchiveOptions): Promise<Bundled> {
  const scratch = mkdtempSync(join(tmpdir(), 'kubenode-bundle-'))
  try {
    await bundleAgent({ root, out: scratch, prefix: '/opt/kubenode' })
    // Reads Node.js where it is: a pod's temporary folder is in memory and has no room for a copy.
    const fileOf = (path: string, from: string): TarFile => {
      const isProgram = path === 'bin/node' || (statSync(from).mode & 0o100) !== 0
      return { kind: 'File', path, mode: isProgram ? PROGRAM_MODE : FILE_MODE, content: () => readFileSync(from) }
    }
    const ofNode = filesOfNode(node).filter(({ path }) => libraries === undefined || path === 'bin/node')
    const entries = [
      ...filesOf(scratch).map((path) => fileOf(path, join(scratch, path))),
      ...ofNode.map(({ path, from }) => fileOf(path, from)),
      ...(libraries ?? []),
    ].toSorted((a, b) => (a.path < b.path ? -1 : 1))
    const { stream, total } = measured()
    await pipeline(Readable.from(pieces(entries)), createGzip({ level: LEVEL }), stream, createWriteStream(file))
    return { file, ...total() }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Small pieces, so that a slow disk blocks nothing else. */
function* pieces(entries: readonly TarEntry[]): Generator<Buffer> {
  for (const piece of tarPieces(entries))
    for (let at = 0; at < piece.length; at += PIECE_BYTES) yield piece.subarray(at, at + PIECE_BYTES)
}
