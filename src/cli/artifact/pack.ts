// Packs a folder into a plain tar whose bytes depend on nothing but names, contents and what can be run: packing twice gives the same digest.
import { createHash } from 'node:crypto'
import { type Stats, readdirSync, renameSync, rmSync, statSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { create } from 'tar'
import { KubeNodeError } from '#lib/errors.ts'
import { cliErrors } from '../cli-errors.ts'

export interface Packed {
  readonly sha256: string
  readonly size: number
  readonly files: number
}

/** A component with more files than this is not one that an agent should unpack. */
const MAX_FILES = 100_000

function filesOf(root: string, below = ''): string[] {
  return readdirSync(join(root, below), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.isDirectory()) return [path, ...filesOf(root, path)]
      if (entry.isFile()) return [path]
      throw new KubeNodeError(cliErrors.KN1101({ path: join(root, path) }))
    })
}

const EXECUTABLE = 0o100

/** As git keeps them: whether a file can be run is content, what the umask of a checkout left of the rest is not. */
const packedMode = (stat: Stats): number => (stat.isDirectory() || (stat.mode & EXECUTABLE) !== 0 ? 0o755 : 0o644)

export async function packFolder(folder: string, target: string): Promise<Packed> {
  const paths = filesOf(folder)
  const files = paths.filter((p) => statSync(join(folder, p)).isFile()).length
  if (files === 0) throw new KubeNodeError(cliErrors.KN1102({ folder }))
  if (paths.length > MAX_FILES)
    throw new KubeNodeError(cliErrors.KN1103({ folder, length: paths.length, maxFiles: MAX_FILES }))
  const partial = `${target}.partial`
  try {
    await create(
      {
        file: partial,
        cwd: folder,
        // No owner, no device numbers, no extended headers, one time for all: what differs between machines stays out.
        portable: true,
        noPax: true,
        noDirRecurse: true,
        mtime: new Date(0),
        onWriteEntry: ({ stat }) => {
          if (stat !== undefined) stat.mode = packedMode(stat)
        },
      },
      paths,
    )
    renameSync(partial, target)
  } finally {
    rmSync(partial, { force: true })
  }
  const bytes = readFileSync(target)
  return { sha256: createHash('sha256').update(bytes).digest('hex'), size: bytes.length, files }
}
