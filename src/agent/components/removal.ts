// Decides how a component leaves the node: restore the originals, keep what runs, or uninstall. Pure. Restore never puts older files over newer ones. A
// program that the host needs to be a node is never removed. Anything that is not known to be safe keeps running.
import { basename } from 'node:path'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { effectFor } from './adoption.ts'
import { savedFolder } from '../node-dir.ts'
import { isAdopted, type Kept, type Original } from './kept.ts'
import { layoutOf, type NodeLink } from './layout.ts'
import type { OnRemoval, RemovalPlan } from './record.ts'

export interface RemovalFacts {
  readonly spec: MachineComponentSpec
  readonly version: string
  /** The latest value from the set. */
  readonly wanted: OnRemoval | undefined
  readonly kept: Kept | undefined
  /** SHA-256 of what is in use, by path. */
  readonly inUse: ReadonlyMap<string, string>
  /** A file that changed on the node since the install. */
  readonly changed: string | undefined
  /** An original that is unknown or damaged. */
  readonly lost: string | undefined
  /** Why this version may no longer be installed. */
  readonly refused: string | undefined
  /** The process from before the adoption still runs. */
  readonly isOriginalProcess: boolean
  readonly isRunning: boolean
  /** The process exited without a failure and was not restarted, as after a user stops it. */
  readonly isStopped: boolean
  /** The unit is masked, so no command can start it. */
  readonly isMasked: boolean
  /** From now on the Machine is only observed, so the components stay as they are. */
  readonly isObserved: boolean
}

export function planRemoval(facts: RemovalFacts): RemovalPlan {
  const { spec, kept, wanted, isObserved } = facts
  const adopted = isAdopted(kept)
  const declared = wanted ?? (adopted ? 'Restore' : 'Uninstall')
  if (isObserved || declared === 'Keep') return KEEP
  if (declared === 'Restore' && adopted) {
    const why = notRestored(facts)
    return why === undefined
      ? { how: 'Restore', restarts: restoreRestarts(facts) }
      : keep(`${why}; originals: ${savedFolder(spec.component)}`)
  }
  // It is unknown whether another program had it before; only a declared Uninstall removes it.
  if (facts.lost !== undefined && wanted !== 'Uninstall')
    return keep(`${facts.lost}, so ${facts.version} stays; copies of originals: ${savedFolder(spec.component)}`)
  if (makesANode(spec))
    return keep(`${spec.component} makes this host a node and is not removed without something in its place`)
  return { how: 'Uninstall', restarts: facts.isRunning }
}

const KEEP: RemovalPlan = { how: 'Keep', restarts: false }
const keep = (message: string): RemovalPlan => ({ ...KEEP, message: message.slice(0, MAX_MESSAGE) })
/** The length limit of a status field. */
const MAX_MESSAGE = 200

/** Why the running version stays although the originals are kept. Undefined: the originals are restored. */
function notRestored({ spec, version, kept, inUse, changed, lost, refused }: RemovalFacts): string | undefined {
  const why = changed ?? lost
  if (why !== undefined) return `${why}, so ${version} stays as it is`
  if (refused !== undefined) return `the original may not run any more (${refused}), so ${version} stays`
  const programs = programLinks(spec)
  for (const { path } of programs) {
    const original = originalOf(kept, path)
    if (original === undefined || original.kind === 'Absent') {
      if (makesANode(spec)) return `${path} was not there before, so ${version} stays`
    } else if (original.sha256 !== inUse.get(path))
      return `another version runs than the one that was adopted, so ${version} stays`
  }
  return undefined
}

const originalOf = (kept: Kept | undefined, path: string): Original | undefined =>
  kept?.originals.find((o) => o.path === path)

const programLinks = (spec: MachineComponentSpec): readonly NodeLink[] => {
  const files = new Set((spec.files ?? []).map((f) => f.path))
  return layoutOf(spec).links.filter((l) => !files.has(l.path))
}

function restoreRestarts(facts: RemovalFacts): boolean {
  const { spec, kept, inUse, isOriginalProcess, isRunning, isStopped, isMasked } = facts
  const unit = kept?.unit
  if (spec.service === undefined || isMasked) return false
  // Only we use the unit, or it did not run before: stop it.
  if (unit === undefined || unit.active !== 'active') return isRunning
  if (isOriginalProcess || isStopped) return false
  if (spec.service.exec !== undefined && !unit.isDeclared) return true
  return layoutOf(spec).links.some((link) => {
    const original = originalOf(kept, link.path)
    if (original === undefined || effectFor(spec, link) !== 'Restart') return false
    return original.kind === 'Absent' || original.sha256 !== inUse.get(link.path)
  })
}

const NODE_PROGRAMS: ReadonlySet<string> = new Set([
  'kubelet',
  'containerd',
  'containerd-shim-runc-v2',
  'crio',
  'dockerd',
  'cri-dockerd',
  'runc',
  'crun',
])
const PLUGINS = /\/cni\/bin(\/|$)|\/usr\/lib\/cni(\/|$)/

/** A kubelet, a container runtime or the plugins of its network, whatever the component is called. */
function makesANode(spec: MachineComponentSpec): boolean {
  const { service } = spec
  const paths = [...layoutOf(spec).links.map((l) => l.path), ...(service?.exec === undefined ? [] : [service.exec])]
  const unit = service?.unit?.replace(/\.service$/, '')
  return (unit !== undefined && NODE_PROGRAMS.has(unit)) || isOfANode(spec.component, paths)
}

/** The same check for a component of which only the paths are known. */
export const isOfANode = (component: string, paths: readonly string[]): boolean =>
  NODE_PROGRAMS.has(component) || paths.some((p) => NODE_PROGRAMS.has(basename(p)) || PLUGINS.test(p))
