// Packs the running kubenode into a file that npm installs without a registry. Equal releases give equal bytes.
import { createHash } from 'node:crypto'
import {
  createWriteStream,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { FILE_MODE, PROGRAM_MODE, type TarEntry } from '#artifacts/oci/tar-entry.ts'
import { tarPieces } from '#artifacts/oci/tar-writer.ts'
import { entriesBelow } from '#lib/entries-below.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { VERSION } from '#lib/program-version.ts'
import { LOCK_FILE, type LockEntries } from './manifest.ts'
import { stagePackage } from './stage.ts'

export interface PackedRelease {
  readonly file: string
  readonly bytes: number
  /** In the format of npm's lock file. */
  readonly integrity: string
  readonly entries: LockEntries
}

/** For a program below node_modules: what npm or Node.js added later. */
const LEFT_OUT = new Set(['.bin', '.cache'])
/** npm's prefix for all files of a package. */
const PREFIX = 'package'
const EXECUTABLE = 0o100
const LEVEL = 9

const packedName = (): string => `kubenode-${VERSION}.tgz`

export async function packRelease(folder: string): Promise<PackedRelease> {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, packedName())
  const root = releaseRoot()
  if (existsSync(join(root, LOCK_FILE))) return packFolder(root, file)
  const scratch = mkdtempSync(join(tmpdir(), 'kubenode-pack-'))
  try {
    await stagePackage(root, scratch)
    return await packFolder(scratch, file)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function packFolder(cwd: string, file: string): Promise<PackedRelease> {
  const partial = mkdtempSync(join(dirname(file), '.packing-'))
  try {
    const made = join(partial, 'package.tgz')
    const files = [...entriesBelow(cwd, (path) => !LEFT_OUT.has(path.split('/').at(-1) ?? ''))]
      .flatMap(({ kind, path }) => (kind === 'File' ? [path] : []))
      .map((path): TarEntry => {
        const from = join(cwd, path)
        const mode = (lstatSync(from).mode & EXECUTABLE) === 0 ? FILE_MODE : PROGRAM_MODE
        return { kind: 'File', path: `${PREFIX}/${path}`, mode, content: () => readFileSync(from) }
      })
    await pipeline(Readable.from(tarPieces(files)), createGzip({ level: LEVEL }), createWriteStream(made))
    renameSync(made, file)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  const integrity = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
  const entries = JSON.parse(readFileSync(join(cwd, LOCK_FILE), 'utf8')) as LockEntries
  return { file, bytes: lstatSync(file).size, integrity, entries }
}
