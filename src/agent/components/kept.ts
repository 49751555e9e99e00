// A component's originals: what was at each of its paths, and the state of its unit, before it was adopted. They are on disk, and listed in one journal,
// before the first link replaces them.
import { dirname, join } from 'node:path'
import { isObject } from '#lib/json.ts'
import { type KnownDigests, digestOf } from '../files/digest.ts'
import { makeFolderDurably, readState, removeDurably, writeDurably } from '../files/durable.ts'
import type { Files, Owner } from '../files/port.ts'
import { currentLink, keptFile, keptFolder, onNode, type NodeDir } from '../node-dir.ts'
import { copyFile, copyWhole } from './copy.ts'
import type { NodeLink } from './layout.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** `isWhole`: the copy also keeps times and extended attributes, and is not shared. */
export interface OriginalFile {
  readonly kind: 'File'
  readonly path: string
  readonly mode: number
  readonly owner?: Owner
  readonly size: number
  readonly sha256: string
  readonly isWhole?: true
}

export interface OriginalLink {
  readonly kind: 'Link'
  readonly path: string
  readonly target: string
  readonly owner?: Owner
  /** Digest of the file that the link pointed to. */
  readonly sha256?: string
  readonly isWhole?: true
}

export type Original = OriginalFile | OriginalLink | { readonly kind: 'Absent'; readonly path: string }

/** One process of one boot. */
export interface KeptProcess {
  readonly pid: number
  readonly startTime: string
  readonly bootId: string
}

/** Another program's unit, as it was before. */
export interface KeptUnit {
  readonly unit: string
  /** active, inactive, failed … */
  readonly active: string
  /** enabled, disabled, static … */
  readonly file: string
  /** Its main process, and when the kernel started it. */
  readonly main?: KeptProcess
  /** The unit ran the declared program with the declared arguments. */
  readonly isDeclared: boolean
}

export interface Kept {
  readonly format: 1
  readonly component: string
  readonly originals: readonly Original[]
  /** Folders created for the links. Each is removed with its last link, if it is empty. */
  readonly folders: readonly string[]
  readonly unit?: KeptUnit
  /** Files that an earlier removal left in place; they may be replaced again. */
  readonly left?: readonly { readonly path: string; readonly sha256: string }[]
}

export interface KeptDeps {
  readonly files: Files
  readonly dir: NodeDir
  /** Digests that were already computed, so that large programs are not hashed again. */
  readonly digests?: KnownDigests
}

export const digestIn = ({ files, digests }: KeptDeps, path: string): Promise<string> =>
  digests === undefined ? digestOf(files, path) : digests.of(path)

const isOriginal = (v: unknown): boolean =>
  isObject(v) &&
  typeof v['path'] === 'string' &&
  (v['kind'] === 'Absent' ||
    (v['kind'] === 'Link' && typeof v['target'] === 'string') ||
    (v['kind'] === 'File' && typeof v['sha256'] === 'string' && typeof v['mode'] === 'number'))

const parseKept = (v: unknown): Kept | undefined =>
  isObject(v) &&
  v['format'] === 1 &&
  typeof v['component'] === 'string' &&
  Array.isArray(v['originals']) &&
  v['originals'].every(isOriginal) &&
  Array.isArray(v['folders'])
    ? (v as unknown as Kept)
    : undefined

export const readKept = ({ files, dir }: KeptDeps, component: string): Promise<Kept | undefined> =>
  readState(files, keptFile(dir, component), parseKept)

export const writeKept = ({ files, dir }: KeptDeps, kept: Kept): Promise<void> =>
  writeDurably(files, keptFile(dir, kept.component), JSON.stringify(kept))

/** Remove the journal first: without it the copies mean nothing. */
export async function dropKept({ files, dir }: KeptDeps, component: string): Promise<void> {
  await removeDurably(files, keptFile(dir, component))
  await removeDurably(files, keptFolder(dir, component))
}

/** Another program had files or a unit at this component's paths. */
export const isAdopted = (kept: Kept | undefined): boolean =>
  kept !== undefined && (kept.unit !== undefined || kept.originals.some((o) => o.kind !== 'Absent'))

/** Named by its content, so different content never replaces it. Equal files with their own attributes get separate copies. */
export const keptContent = (dir: NodeDir, component: string, original: OriginalFile | OriginalLink): string => {
  const { path, isWhole } = original
  const own = sha256Hex(path).slice(0, OWN_CHARS)
  const name =
    original.kind === 'Link' ? `link-${own}` : isWhole === true ? `${original.sha256}-${own}` : original.sha256
  return join(keptFolder(dir, component), name)
}

/** A copy damaged by a failing disk cannot be restored. */
export async function isIntact(
  deps: KeptDeps,
  component: string,
  original: OriginalFile | OriginalLink,
): Promise<boolean> {
  if (original.kind === 'Link') return true
  const copy = keptContent(deps.dir, component, original)
  return (await deps.files.stat(copy))?.kind === 'File' && (await digestIn(deps, copy)) === original.sha256
}

const OWN_CHARS = 16
/** Mode of the folder. A copy of a set-user-id program keeps that bit, so no user may run it. */
const PRIVATE = 0o700

/** What is at the path now; undefined for a folder or a device, which are never replaced. */
export async function originalAt(deps: KeptDeps, path: string): Promise<Original | undefined> {
  const { files, dir } = deps
  const full = onNode(dir, path)
  const stat = await files.stat(full)
  if (stat === undefined) return { kind: 'Absent', path }
  const owner = stat.owner === undefined ? {} : { owner: stat.owner }
  if (stat.kind === 'File')
    return { kind: 'File', path, mode: stat.mode, ...owner, size: stat.size, sha256: await digestIn(deps, full) }
  const target = stat.kind === 'Link' ? await files.readLink(full) : undefined
  if (target === undefined) return undefined
  const end = target.startsWith('/') ? onNode(dir, target) : join(dirname(full), target)
  const isFile = (await files.stat(end))?.kind === 'File'
  return { kind: 'Link', path, target, ...owner, ...(isFile && { sha256: await digestIn(deps, end) }) }
}

export async function isOurLink({ files, dir }: KeptDeps, component: string, path: string): Promise<boolean> {
  const target = await files.readLink(onNode(dir, path))
  return target?.startsWith(`${currentLink(dir, component)}/`) === true
}

/** Keeps the current content of these paths. For paths that are already ours, the earlier originals stay. Nothing is replaced before this is durable. */
export async function keepOriginals(
  deps: KeptDeps,
  component: string,
  links: readonly NodeLink[],
  unit: KeptUnit | undefined,
): Promise<Kept> {
  const { files, dir } = deps
  const before = await readKept(deps, component)
  const originals = new Map((before?.originals ?? []).map((o) => [o.path, o]))
  const folders = new Set(before?.folders ?? [])
  for (const { path } of links) {
    if (await isOurLink(deps, component, path)) continue
    const now = await originalAt(deps, path)
    if (now === undefined || isLeft(before, now)) continue
    originals.set(path, now.kind === 'Absent' ? now : await keepContent(deps, component, now))
    for (const folder of await missingFolders(deps, dirname(path))) folders.add(folder)
  }
  const kept: Kept = {
    ...before,
    format: 1,
    component,
    originals: [...originals.values()],
    folders: [...folders],
    ...(before?.unit === undefined && unit !== undefined && { unit }),
  }
  if (JSON.stringify(kept) !== JSON.stringify(before)) {
    await makeFolderDurably(files, keptFolder(dir, component), PRIVATE)
    await writeKept(deps, kept)
  }
  return kept
}

/**
 * Another program, such as an upgraded package, replaced an adopted file. That file becomes the new original, and is kept before the component takes the
 * path again. Returns false when there is no original to replace.
 */
export async function renewOriginal(deps: KeptDeps, component: string, path: string): Promise<boolean> {
  const { files, dir } = deps
  const kept = await readKept(deps, component)
  const old = kept?.originals.find((o) => o.path === path)
  const now = await originalAt(deps, path)
  if (kept === undefined || old === undefined || old.kind === 'Absent' || now?.kind !== 'File') return false
  const next = await keepContent(deps, component, now)
  const originals = kept.originals.map((o) => (o.path === path ? next : o))
  await writeKept(deps, { ...kept, originals })
  const copies = originals.flatMap((o) => (o.kind === 'Absent' ? [] : [keptContent(dir, component, o)]))
  const before = keptContent(dir, component, old)
  if (!copies.includes(before)) await removeDurably(files, before)
  return true
}

/** We left this file here earlier: the original is the one that was kept back then. */
export const isLeft = (kept: Kept | undefined, now: Original): boolean =>
  now.kind === 'File' && kept?.left?.some((l) => l.path === now.path && l.sha256 === now.sha256) === true

/** Returns what was kept: a full copy where the medium supports it, else content, mode and owner. */
async function keepContent<T extends OriginalFile | OriginalLink>(
  deps: KeptDeps,
  component: string,
  original: T,
): Promise<T> {
  const { files, dir } = deps
  const from = onNode(dir, original.path)
  const whole: T = { ...original, isWhole: true }
  await makeFolderDurably(files, keptFolder(dir, component), PRIVATE)
  const sha256 = original.kind === 'File' ? original.sha256 : undefined
  if (await copyWhole(files, from, keptContent(dir, component, whole), sha256)) return whole
  if (original.kind === 'Link') return original
  const to = keptContent(dir, component, original)
  if ((await files.stat(to)) === undefined || (await digestOf(files, to)) !== original.sha256)
    await copyFile(files, from, to, { mode: 0o600, sha256: original.sha256 })
  return original
}

async function missingFolders({ files, dir }: KeptDeps, folder: string): Promise<readonly string[]> {
  const missing: string[] = []
  for (let at = folder; at !== '/' && (await files.stat(onNode(dir, at))) === undefined; at = dirname(at))
    missing.unshift(at)
  return missing
}
