// Finds differences between a component in use and its installation. Cheap: compares the metadata of a few dozen entries, and reads only files whose
// metadata differs.
import { join } from 'node:path'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { linksOn } from '../components/host-units.ts'
import { layoutOf, TREE, type NodeLink } from '../components/layout.ts'
import { isAsDescribed, type Manifest, type ManifestFile } from '../components/manifest.ts'
import { digestOf } from '../files/digest.ts'
import type { Files } from '../files/port.ts'
import { currentLink, onNode, slotFolder, type NodeDir } from '../node-dir.ts'

export type Finding =
  | { readonly kind: 'Link'; readonly key: string; readonly link: NodeLink; readonly what: string }
  | { readonly kind: 'File'; readonly key: string; readonly file: ManifestFile; readonly what: string }
  /** The link that every other link of the component goes through. */
  | { readonly kind: 'Current'; readonly key: string; readonly what: string }
  | { readonly kind: 'Unit'; readonly key: string; readonly what: string }
  /** The process differs from the installed program: only a restart fixes that, so it waits for an order. */
  | { readonly kind: 'Running'; readonly key: string; readonly what: string }

export interface InspectDeps {
  readonly files: Files
  readonly dir: NodeDir
}

export interface InUse {
  readonly component: string
  readonly slot: string
  readonly spec: MachineComponentSpec
  readonly manifest: Manifest
}

/** Programs inside an unpacked tree that are watched as closely as files linked into the node. */
const MAX_PROGRAMS = 64

/** Files whose modification must be found within seconds; the rest of a large tree is checked in the slow round. */
export function closelyWatched({ spec, manifest }: InUse): readonly ManifestFile[] {
  const rendered = new Set(layoutOf(spec).files.map((f) => f.inSlot))
  const inTree = (f: ManifestFile): boolean => f.path.startsWith(`${TREE}/`) && !rendered.has(f.path)
  const programs = manifest.files.filter((f) => inTree(f) && (f.mode & 0o111) !== 0).slice(0, MAX_PROGRAMS)
  return [...manifest.files.filter((f) => !inTree(f)), ...programs]
}

export async function inspectLinks(
  { files, dir }: InspectDeps,
  { component, slot, spec }: InUse,
): Promise<readonly Finding[]> {
  const found: Finding[] = []
  if ((await files.readLink(currentLink(dir, component))) !== slotFolder(dir, component, slot))
    found.push({
      kind: 'Current',
      key: 'current',
      what: 'the link to the version in use is missing or points elsewhere',
    })
  for (const link of await linksOn({ files, dir }, spec)) {
    const path = onNode(dir, link.path)
    const target = await files.readLink(path)
    if (target === join(currentLink(dir, component), link.inSlot)) continue
    const there = target === undefined ? await files.stat(path) : undefined
    const seen = target !== undefined ? 'points elsewhere' : there === undefined ? 'is missing' : 'is no longer a link'
    found.push({ kind: 'Link', key: `link ${link.path}`, link, what: `${link.path} ${seen}` })
  }
  return found
}

export async function inspectFiles(
  { files, dir }: InspectDeps,
  { component, slot, spec }: InUse,
  watched: readonly ManifestFile[],
): Promise<readonly Finding[]> {
  const found: Finding[] = []
  // The path as users of the host know it; computed only for changed files.
  const nameOf = (inSlot: string) => layoutOf(spec).links.find((l) => l.inSlot === inSlot)?.path ?? inSlot
  for (const file of watched) {
    const path = join(slotFolder(dir, component, slot), file.path)
    const stat = await files.stat(path)
    if (isAsDescribed(file, stat)) continue
    const finding = (what: string): Finding => ({
      kind: 'File',
      key: `file ${file.path}`,
      file,
      what: `${nameOf(file.path)} ${what}`,
    })
    if (stat === undefined) found.push(finding('is missing'))
    else if (stat.kind !== 'File') found.push(finding('is no longer a file'))
    else if (stat.size !== file.size || (await digestOf(files, path)) !== file.sha256)
      found.push(finding('has different content'))
    else if (stat.mode !== file.mode)
      found.push(finding(`has mode ${stat.mode.toString(8)}, expected ${file.mode.toString(8)}`))
  }
  return found
}
