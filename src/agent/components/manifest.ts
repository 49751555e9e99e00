// The content of a slot at the time it was filled: every file with its digest and metadata. A file with unchanged metadata is not read again.
import { join } from 'node:path'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import { BROKEN, readState } from '../files/durable.ts'
import type { FileStat, Files } from '../files/port.ts'
import { slotFolder, type NodeDir } from '../node-dir.ts'

export const MANIFEST = 'manifest.json'

/** The limit of watched files; files linked into the node come first in every slot. */
const MAX_FILES = 5_000

export interface PlacedDigest {
  /** Path inside the slot. */
  readonly path: string
  readonly mode: number
  readonly sha256: string
}

export interface ManifestFile extends PlacedDigest {
  readonly size: number
  readonly modifiedMs: number
  readonly changedMs?: number
}

export interface Manifest {
  readonly format: 1
  readonly files: readonly ManifestFile[]
}

/** The path of the unchanged copy of a rendered file. */
export const keptFile = (inSlot: string): string => `kept/${inSlot}`
const isKept = (path: string): boolean => path.startsWith('kept/')

export async function describe(files: Files, folder: string, placed: PlacedDigest): Promise<ManifestFile | undefined> {
  const stat = await files.stat(join(folder, placed.path))
  if (stat?.kind !== 'File') return undefined
  const { size, modifiedMs, changedMs } = stat
  return { ...placed, size, modifiedMs, ...defined({ changedMs }) }
}

export async function manifestOf(files: Files, folder: string, placed: readonly PlacedDigest[]): Promise<Manifest> {
  const described: ManifestFile[] = []
  for (const one of placed.filter((p) => !isKept(p.path)).slice(0, MAX_FILES)) {
    const found = await describe(files, folder, one)
    if (found !== undefined) described.push(found)
  }
  return { format: 1, files: described }
}

export const readManifest = (
  { files, dir }: { readonly files: Files; readonly dir: NodeDir },
  component: string,
  slot: string,
): Promise<Manifest | undefined> =>
  readState(files, join(slotFolder(dir, component, slot), MANIFEST), (v) =>
    isObject(v) && v['format'] === 1 && Array.isArray(v['files']) && v['files'].every(isFile)
      ? (v as unknown as Manifest)
      : undefined,
  )

/** An earlier read found it damaged and set it aside. */
export const isManifestBroken = async (
  { files, dir }: { readonly files: Files; readonly dir: NodeDir },
  component: string,
  slot: string,
): Promise<boolean> => (await files.stat(`${join(slotFolder(dir, component, slot), MANIFEST)}${BROKEN}`)) !== undefined

const isFile = (v: unknown): boolean =>
  isObject(v) && typeof v['path'] === 'string' && typeof v['sha256'] === 'string' && typeof v['size'] === 'number'

/** The metadata has not changed since the file was installed. */
export const isAsDescribed = (file: ManifestFile, stat: FileStat | undefined): boolean =>
  stat?.kind === 'File' &&
  stat.size === file.size &&
  stat.mode === file.mode &&
  stat.modifiedMs === file.modifiedMs &&
  stat.changedMs === file.changedMs
