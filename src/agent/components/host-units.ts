// Which paths of a component are linked on this host: all of them, except a unit that gives way to the host's own unit of the same name, or to a mask. A
// kubelet set up by kubeadm or a distribution keeps its unit, so adopting it, upgrading it and handing it back never restart it just for a unit file. A
// mask is a user's decision and is never replaced.
import { basename, dirname, join } from 'node:path'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { onNode } from '../node-dir.ts'
import { isOurLink, type KeptDeps } from './kept.ts'
import { layoutOf, type NodeLink } from './layout.ts'

export const UNITS = '/etc/systemd/system'
/** Folders in systemd's lookup order. */
const UNIT_FOLDERS = [
  UNITS,
  '/run/systemd/system',
  '/usr/local/lib/systemd/system',
  '/usr/lib/systemd/system',
  '/lib/systemd/system',
]

const NOTHING = '/dev/null'

export async function linksOn(deps: KeptDeps, spec: MachineComponentSpec): Promise<readonly NodeLink[]> {
  const { links } = layoutOf(spec)
  const theirs = new Set((await unitsOfHost(deps, spec)).map((u) => u.path))
  return links.filter((l) => !theirs.has(l.path))
}

interface UnitOfHost {
  /** The component's unit path. */
  readonly path: string
  /** The host's path that is in force instead. */
  readonly theirs: string
}

/** Host units that stay in force. A unit that we already own stays ours. */
export async function unitsOfHost(deps: KeptDeps, spec: MachineComponentSpec): Promise<readonly UnitOfHost[]> {
  const found: UnitOfHost[] = []
  for (const { path, existing } of spec.files ?? []) {
    if (dirname(path) !== UNITS || (await isOurLink(deps, spec.component, path))) continue
    const mask = await maskOf(deps, basename(path))
    const theirs = mask ?? (existing === 'Leave' ? await unitOfHost(deps, spec, basename(path)) : undefined)
    if (theirs !== undefined) found.push({ path, theirs })
  }
  return found
}

async function unitOfHost(
  { files, dir }: KeptDeps,
  spec: MachineComponentSpec,
  name: string,
): Promise<string | undefined> {
  for (const folder of UNIT_FOLDERS) {
    const path = join(folder, name)
    const text = (await files.read(onNode(dir, path)))?.toString('utf8')
    if (text !== undefined) return startsOneOf(text, spec) ? path : undefined
  }
  return undefined
}

/** The path that masks the unit: an empty file or a link to /dev/null. Undefined: not masked. */
export async function maskOf(
  { files, dir }: Pick<KeptDeps, 'files' | 'dir'>,
  unit: string,
): Promise<string | undefined> {
  for (const folder of UNIT_FOLDERS) {
    const path = join(folder, unit)
    const stat = await files.stat(onNode(dir, path))
    if (stat === undefined) continue
    const isMask =
      stat.kind === 'Link'
        ? (await files.readLink(onNode(dir, path))) === NOTHING
        : stat.kind === 'File' && stat.size === 0
    return isMask ? path : undefined
  }
  return undefined
}

/** If the unit starts a program at another path, the component's version would never run. */
function startsOneOf(text: string, spec: MachineComponentSpec): boolean {
  const paths = new Set(layoutOf(spec).links.map((l) => l.path))
  return startedBy(text).some((path) => paths.has(path))
}

/** The programs that a unit starts, without prefixes such as `-` and `!`. */
export const startedBy = (text: string): readonly string[] =>
  [...text.matchAll(/^[ \t]*ExecStart[ \t]*=[ \t]*[-@:+!|]*(\/\S+)/gm)].map(([, path = '']) => path)
