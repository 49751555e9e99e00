// Takes a component off the node in one of three ways. Every step can be repeated: a path that is no longer ours is already done, or belongs to another program.
import { dirname, join } from 'node:path'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { makeFolderDurably, relink, removeDurably } from '../files/durable.ts'
import { digestOf } from '../files/digest.ts'
import { onNode, slotFolder } from '../node-dir.ts'
import type { Processes, Release } from '../supervise/port.ts'
import { copyFile, copyTree, copyWhole } from './copy.ts'
import {
  dropKept,
  isAdopted,
  isIntact,
  isOurLink,
  keptContent,
  readKept,
  writeKept,
  type Kept,
  type KeptDeps,
  type Original,
} from './kept.ts'
import { linksOn } from './host-units.ts'
import { layoutOf, TREE, type NodeLink } from './layout.ts'
import { isOfANode } from './removal.ts'

/** `isUndo`: the first start failed, and the previous program runs again. */
type RestoreHow = Pick<Release & { readonly kind: 'Restore' }, 'restarts' | 'isUndo'>

export interface HandBackDeps extends KeptDeps {
  readonly processes: Processes
}

export interface InUse {
  readonly component: string
  readonly slot: string
  readonly spec: MachineComponentSpec
}

/** Why some of our paths cannot get their originals back: an original is unknown, or its copy is damaged. */
export async function lostOriginal(deps: KeptDeps, { component, spec }: InUse): Promise<string | undefined> {
  const kept = await readKept(deps, component)
  const known = new Map((kept?.originals ?? []).map((o) => [o.path, o]))
  for (const path of new Set([...layoutOf(spec).links.map((l) => l.path), ...known.keys()])) {
    if (!(await isOurLink(deps, component, path))) continue
    const original = known.get(path)
    if (original === undefined) return `the original of ${path} is unknown`
    if (original.kind !== 'Absent' && !(await isIntact(deps, component, original)))
      return `the kept original of ${path} is not whole`
  }
  return undefined
}

/** Restores the original files, and the unit as it was. */
export async function restore(deps: HandBackDeps, inUse: InUse, how: RestoreHow): Promise<void> {
  const { processes } = deps
  const { component, spec } = inUse
  const { service } = spec
  const kept = await readKept(deps, component)
  const links = layoutOf(spec).links
  const declared = new Set(links.map((l) => l.path))
  const unit = processes.release === undefined ? undefined : kept?.unit
  // Do this before removing the files: otherwise systemd's own links to the component's unit would dangle, and systemd would remember a failed unit.
  if (service !== undefined && unit === undefined) {
    await processes.stop(component)
    await processes.forget?.(component, service)
  }
  // Paths of earlier versions got their originals back when a switch dropped them.
  for (const { path } of links) await restorePath(deps, component, kept, path)
  for (const { path } of kept?.originals ?? []) if (!declared.has(path)) await restorePath(deps, component, kept, path)
  if (service !== undefined && unit !== undefined)
    await processes.release?.(component, service, { kind: 'Restore', unit, ...how })
  await removeFolders(deps, kept)
  await dropKept(deps, component)
}

/** Restores one path, if it is ours: the original, or nothing if the path was empty before. */
export async function restorePath(
  deps: KeptDeps,
  component: string,
  kept: Kept | undefined,
  path: string,
): Promise<void> {
  if (!(await isOurLink(deps, component, path))) return
  const original = kept?.originals.find((o) => o.path === path)
  await putBack(deps, component, original ?? { kind: 'Absent', path })
}

async function putBack({ files, dir }: KeptDeps, component: string, original: Original): Promise<void> {
  const path = onNode(dir, original.path)
  if (original.kind !== 'Absent' && original.isWhole === true) {
    const sha256 = original.kind === 'File' ? original.sha256 : undefined
    if (await copyWhole(files, keptContent(dir, component, original), path, sha256)) return
  }
  switch (original.kind) {
    case 'Absent':
      return removeDurably(files, path)
    case 'Link':
      return relink(files, path, original.target, original.owner)
    case 'File': {
      const { mode, owner, sha256 } = original
      await copyFile(files, keptContent(dir, component, original), path, { mode, owner, sha256 })
      return undefined
    }
    default:
      return original satisfies never
  }
}

/**
 * Hands back a component whose slot cannot be read; only its originals are known. Every path that the component still owns gets its original back. If
 * the host needs the program to be a node, or the original is damaged, the path keeps its current content.
 */
export async function letGoUnread(deps: HandBackDeps, component: string, keepsAll: boolean): Promise<void> {
  const { processes } = deps
  const kept = await readKept(deps, component)
  const adopted = isAdopted(kept)
  const paths = (kept?.originals ?? []).map((o) => o.path)
  if (!adopted && !keepsAll && !isOfANode(component, paths)) {
    await processes.stop(component)
    await processes.forget?.(component, undefined)
  }
  const isWhole = await putBackAll(deps, component, keepsAll)
  const { unit } = kept ?? {}
  if (unit !== undefined && !keepsAll) {
    const service = { unit: unit.unit, restart: 'Always', killMode: 'Process' } as const
    await processes.release?.(component, service, { kind: 'Restore', unit, restarts: false })
  }
  if (!isWhole || keepsAll) return
  await removeFolders(deps, kept)
  await dropKept(deps, component)
}

/** Returns false when an original could not be restored. */
export async function putBackAll(deps: KeptDeps, component: string, keepsAll = false): Promise<boolean> {
  const kept = await readKept(deps, component)
  const originals = kept?.originals ?? []
  const stays =
    keepsAll ||
    isOfANode(
      component,
      originals.map((o) => o.path),
    )
  let isWhole = true
  for (const original of originals) {
    if (!(await isOurLink(deps, component, original.path))) continue
    const isThere = original.kind !== 'Absent' && !keepsAll && (await isIntact(deps, component, original))
    if (isThere || (original.kind === 'Absent' && !stays)) await putBack(deps, component, original)
    else {
      await keepContent(deps, original.path, kept)
      isWhole = false
    }
  }
  return isWhole
}

/** Removes a dangling link. */
async function keepContent(deps: KeptDeps, path: string, kept: Kept | undefined): Promise<void> {
  const { files, dir } = deps
  const from = await files.readLink(onNode(dir, path))
  if (from === undefined) return
  await leavePath(deps, from, { path, inSlot: '' }, kept)
  if ((await files.stat(onNode(dir, path)))?.kind === 'Link') await removeDurably(files, onNode(dir, path))
}

/** Keeps the component running from plain files and a unit that need no agent. The originals stay on disk as long as the agent is on the host. */
export async function keep(deps: HandBackDeps, inUse: InUse): Promise<void> {
  const { component, slot, spec } = inUse
  const kept = await readKept(deps, component)
  const left = new Map((kept?.left ?? []).map((l) => [l.path, l]))
  for (const link of await linksOn(deps, spec)) {
    if (!(await isOursOrAbsent(deps, component, link.path))) continue
    const sha256 = await leavePath(deps, join(slotFolder(deps.dir, component, slot), link.inSlot), link, kept)
    if (sha256 !== undefined) left.set(link.path, { path: link.path, sha256 })
  }
  if (spec.service !== undefined) await deps.processes.release?.(component, spec.service, { kind: 'Keep' })
  const empty: Kept = { format: 1, component, originals: [], folders: [] }
  await writeKept(deps, { ...(kept ?? empty), left: [...left.values()] })
}

/** While a tree is replaced by its copy in two steps, the path can be absent for a moment. */
async function isOursOrAbsent(deps: KeptDeps, component: string, path: string): Promise<boolean> {
  return (await isOurLink(deps, component, path)) || (await deps.files.stat(onNode(deps.dir, path))) === undefined
}

async function leavePath(
  { files, dir }: KeptDeps,
  from: string,
  link: NodeLink,
  kept: Kept | undefined,
): Promise<string | undefined> {
  const to = onNode(dir, link.path)
  const stat = await files.stat(from)
  if (stat === undefined) return undefined
  await makeFolderDurably(files, dirname(to))
  if (link.inSlot === TREE || stat.kind === 'Directory') {
    await copyTree(files, from, to)
    return undefined
  }
  const original = kept?.originals.find((o) => o.path === link.path)
  const owner = original?.kind === 'File' ? original.owner : undefined
  return copyFile(files, from, to, { mode: stat.mode, owner })
}

/** Deepest first; folders that hold other programs' files stay. */
export async function removeFolders({ files, dir }: KeptDeps, kept: Kept | undefined): Promise<void> {
  for (const folder of [...(kept?.folders ?? [])].sort((a, b) => b.length - a.length)) {
    const path = onNode(dir, folder)
    if (await files.removeEmptyFolder(path)) await files.syncFolder(dirname(path))
  }
}

/** SHA-256 of each file in use, by its path on the node. Files in a tree have no digest. */
export async function digestsInUse({ files, dir, digests }: KeptDeps, inUse: InUse): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const { path, inSlot } of layoutOf(inUse.spec).links) {
    const file = join(slotFolder(dir, inUse.component, inUse.slot), inSlot)
    if ((await files.stat(file))?.kind === 'File')
      found.set(path, await (digests === undefined ? digestOf(files, file) : digests.of(file)))
  }
  return found
}
