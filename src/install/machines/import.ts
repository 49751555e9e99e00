// Decides which Nodes become observed Machines, and which Machines an undo deletes. Pure. Nothing here touches a Node: importing only observes.
import { agentErrors } from '#agent/agent-errors.ts'
import { floorProblem } from '#agent/preflight/floor.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { Node } from '#nodes/objects.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import { isControlPlane, nodeDomains } from './node-domains.ts'

export type ImportStep =
  | { readonly kind: 'Create'; readonly name: string; readonly machine: Machine }
  /** Already exists, from an earlier run or a commit. */
  | { readonly kind: 'There'; readonly name: string; readonly text: string; readonly machine: Machine }
  /** Part of the control plane, and not named by the user. */
  | { readonly kind: 'Left'; readonly name: string; readonly text: string }
  | { readonly kind: 'Missing'; readonly name: string; readonly text: string }
  /** No agent runs on its kernel, so it could never be managed. */
  | { readonly kind: 'Refused'; readonly name: string; readonly text: string }

export interface ImportOptions {
  readonly names: readonly string[]
  /** Selected by labels or as all: control plane Nodes among them are skipped. */
  readonly picked?: readonly string[]
  readonly nodes: readonly Node[]
  readonly machines: readonly Machine[]
}

/** Sorted by name without duplicates: an interrupted run resumes where it stopped. */
export function planImport({ names, picked = [], nodes, machines }: ImportOptions): readonly ImportStep[] {
  const nodeNamed = new Map(nodes.map((n) => [n.metadata.name, n]))
  const machineOf = new Map(machines.map((m) => [nodeNameOf(m), m]))
  const named = new Set(names)
  return [...new Set([...names, ...picked])].sort().map((name): ImportStep => {
    const machine = machineOf.get(name) ?? machines.find((m) => m.metadata.name === name)
    if (machine !== undefined)
      return { kind: 'There', name, text: `machine/${machine.metadata.name} ${standing(machine)}`, machine }
    const node = nodeNamed.get(name)
    if (node === undefined) return missingNode(name, nodes)
    if (isControlPlane(node) && !named.has(name))
      return { kind: 'Left', name, text: 'part of the control plane; to import it, name it' }
    const refusal = belowFloor(node)
    if (refusal !== undefined) return { kind: 'Refused', name, text: refusal }
    return { kind: 'Create', name, machine: observedMachine(name, node) }
  })
}

/** Only what the Node reports: a C library that is too old is refused when the host joins. */
function belowFloor(node: Node): string | undefined {
  const { kernelVersion: kernel, operatingSystem: system = 'linux' } = node.status?.nodeInfo ?? {}
  const below = kernel !== undefined && system === 'linux' ? floorProblem({ kernel, glibc: undefined }) : undefined
  if (below === undefined) return undefined
  const { code, text } = agentErrors.KN8004_import({ ...below })
  return `${code}: ${text}`
}

/** Suggests a similar name, so that a typo is obvious. */
function missingNode(name: string, nodes: readonly Node[]): ImportStep & UndoStep {
  const near = didYouMean(
    name,
    nodes.map((n) => n.metadata.name ?? ''),
  )
  return {
    kind: 'Missing',
    name,
    text: `Node not found${near === undefined ? '; kubenode get nodes lists them' : ` (did you mean ${near}?)`}`,
  }
}

const standing = ({ spec, metadata }: Machine): string => {
  const commit = metadata.annotations?.[ANNOTATIONS.commit]
  const how = spec.channel === 'Observe' ? 'observes it' : 'manages it'
  return commit === undefined ? how : `${how}, as git declares`
}

/** Taints stay on the Node, which import never writes: the Machine declares none. */
function observedMachine(name: string, node: Node): Machine {
  const { labels, ...domains } = nodeDomains(node)
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: {
      name,
      annotations: { [ANNOTATIONS.imported]: 'true' },
      ...(Object.keys(labels).length > 0 && { labels }),
    },
    spec: { channel: 'Observe', adoption: 'Preview', provider: { name: 'static' }, ...domains },
  }
}

/** The declaration for the user to commit, also for a Machine from an earlier import in its current state. Undefined if git already declares it. */
export function declarationOf(step: ImportStep): Machine | undefined {
  if (step.kind === 'Create') return step.machine
  if (step.kind !== 'There') return undefined
  const { apiVersion, kind, metadata, spec } = step.machine
  const { name = '', labels, annotations = {} } = metadata
  const imported = annotations[ANNOTATIONS.imported]
  if (imported === undefined || annotations[ANNOTATIONS.commit] !== undefined) return undefined
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      annotations: { [ANNOTATIONS.imported]: imported },
      ...defined({ labels }),
    },
    spec,
  }
}

export type UndoStep =
  | { readonly kind: 'Delete'; readonly name: string; readonly machine: Machine }
  | { readonly kind: 'Keep'; readonly name: string; readonly text: string }
  | { readonly kind: 'Gone'; readonly name: string; readonly text: string }
  | { readonly kind: 'Missing'; readonly name: string; readonly text: string }

/** Only Machines that an import created, and only while they are still just observed. */
export function planUndo({ names, picked = [], nodes, machines }: ImportOptions): readonly UndoStep[] {
  return [...new Set([...names, ...picked])].sort().map((name): UndoStep => {
    const machine = machines.find((m) => m.metadata.name === name)
    if (machine === undefined)
      return nodes.some((n) => n.metadata.name === name)
        ? { kind: 'Gone', name, text: 'not observed' }
        : missingNode(name, nodes)
    const why = keptBecause(machine)
    return why === undefined ? { kind: 'Delete', name, machine } : { kind: 'Keep', name, text: why }
  })
}

function keptBecause({ metadata, spec }: Machine): string | undefined {
  if (metadata.annotations?.[ANNOTATIONS.imported] === undefined) return 'not created by an import'
  if (metadata.annotations[ANNOTATIONS.commit] !== undefined) return 'declared in git; remove it there'
  return spec.channel === 'Observe' ? undefined : 'managed; set its channel to Observe first'
}
