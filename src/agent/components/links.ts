// The paths of a component on the node: symbolic links through `current`. A foreign file in the way is left alone and reported, unless it is
// identical: that is how a host with running components is adopted.
import { dirname, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { makeFolderDurably, relink, removeDurably } from '../files/durable.ts'
import { digestOf } from '../files/digest.ts'
import type { Files } from '../files/port.ts'
import { currentLink, onNode, type NodeDir } from '../node-dir.ts'
import type { NodeLink } from './layout.ts'
import { agentErrors } from '../agent-errors.ts'

export interface LinkDeps {
  readonly files: Files
  readonly dir: NodeDir
}

const targetOf = (dir: NodeDir, component: string, link: NodeLink): string =>
  join(currentLink(dir, component), link.inSlot)

/** Paths occupied by something else. */
export async function foreignPaths(
  { files, dir }: LinkDeps,
  component: string,
  links: readonly NodeLink[],
): Promise<readonly string[]> {
  const found: string[] = []
  for (const link of links) {
    const path = onNode(dir, link.path)
    if ((await files.stat(path)) === undefined) continue
    const target = await files.readLink(path)
    if (target?.startsWith(`${currentLink(dir, component)}/`) === true) continue
    if (!(await isSameFile(files, path, targetOf(dir, component, link)))) found.push(link.path)
  }
  return found
}

/** A process that runs the old file is not affected: the same bytes now have another name. */
async function isSameFile(files: Files, path: string, target: string): Promise<boolean> {
  const [there, ours] = [await files.stat(path), await files.stat(target)]
  if (there?.kind !== 'File' || ours?.kind !== 'File' || there.size !== ours.size) return false
  return (await digestOf(files, path)) === (await digestOf(files, target))
}

export async function makeLinks(deps: LinkDeps, component: string, links: readonly NodeLink[]): Promise<void> {
  const foreign = await foreignPaths(deps, component, links)
  const [first] = foreign
  if (first !== undefined) throw new KubeNodeError(agentErrors.KN8023({ component, first }), { data: { foreign } })
  for (const link of links) {
    const path = onNode(deps.dir, link.path)
    await makeFolderDurably(deps.files, dirname(path))
    await relink(deps.files, path, targetOf(deps.dir, component, link))
  }
}

/** Removes only links that KubeNode made. */
export async function removeLinks(
  { files, dir }: LinkDeps,
  component: string,
  links: readonly NodeLink[],
): Promise<void> {
  for (const link of links) {
    const path = onNode(dir, link.path)
    const target = await files.readLink(path)
    if (target?.startsWith(`${currentLink(dir, component)}/`) === true) await removeDurably(files, path)
  }
}
