// The component's paths on the node: symbolic links through `current`. The original is kept first, and replaced only with consent.
import { dirname, join } from 'node:path'
import { makeFolderDurably, relink } from '../files/durable.ts'
import type { Files } from '../files/port.ts'
import { currentLink, onNode, type NodeDir } from '../node-dir.ts'
import type { NodeLink } from './layout.ts'

export interface LinkDeps {
  readonly files: Files
  readonly dir: NodeDir
}

const targetOf = (dir: NodeDir, component: string, link: NodeLink): string =>
  join(currentLink(dir, component), link.inSlot)

export async function makeLinks(deps: LinkDeps, component: string, links: readonly NodeLink[]): Promise<void> {
  for (const link of links) {
    const path = onNode(deps.dir, link.path)
    await makeFolderDurably(deps.files, dirname(path))
    await relink(deps.files, path, targetOf(deps.dir, component, link))
  }
}
