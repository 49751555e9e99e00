// Objects that belong to a Machine, a Node, a set or a Release, read from the server, as a tree. What holds an object is shown directly below it.
import { type Machine, machine } from '#api/kinds/machine.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { type Release } from '#api/kinds/release.ts'
import { commitText } from '#api/protocol/commit-title.ts'
import { activeMachines, sliceName, stagePart } from '#api/protocol/part.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { counted } from '#lib/counted.ts'
import { formatAge } from '#lib/duration.ts'
import { isInForce, readable } from '#permits/holds/in-force.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { findCondition } from '#kube/conditions.ts'
import type { KubeClient } from '#kube/client.ts'
import { listAll } from '#kube/list-all.ts'
import { matchesLabels } from '#kube/selector.ts'
import type { Condition, KubeObject } from '#api/schema/object.ts'
import { isObject } from '#lib/json.ts'
import { holdLine } from './hold-line.ts'
import { healthyText } from './release/status.ts'
import type { Branch } from './tree.ts'
import { waitText } from './wait.ts'

const nodes = coreKind('Node')

/** Limit for each kind of branch; the rest is counted. */
const MOST = 50

const bounded = (branches: readonly Branch[], noun: string): readonly Branch[] =>
  branches.length <= MOST
    ? branches
    : [...branches.slice(0, MOST), { text: `… and ${counted(branches.length - MOST, `more ${noun}`)}` }]

export async function branchesOf(client: KubeClient, object: KubeObject, now: number): Promise<Branch> {
  if (object.kind === 'Release') return releaseBranch(client, object as Release, now)
  if (object.kind === 'MachineComponentSet') return setBranch(client, object as MachineComponentSet, now)
  if (object.kind === 'Machine') return machineBranch(client, object as Machine, now)
  const own = (await listAll(client, machine)).find((m) => m.status?.nodeRef?.name === object.metadata.name)
  return {
    text: nodeText(object),
    below:
      own === undefined
        ? [{ text: 'no machine: KubeNode does not manage this node' }]
        : [await machineBranch(client, own, now)],
  }
}

async function holdsOf(client: KubeClient, { kind, metadata }: KubeObject, now: number): Promise<readonly Branch[]> {
  const isOver = ({ spec: { target } }: OperationalHold): boolean =>
    target.kind === kind && target.name === metadata.name
  return (await listAll(client, operationalHold))
    .map(readable)
    .filter((h) => isOver(h) && isInForce(h, now))
    .map((hold) => ({ text: holdLine(hold) }))
}

function nodeText(object: KubeObject): string {
  const status = isObject(object['status']) ? object['status'] : {}
  const conditions = Array.isArray(status['conditions']) ? (status['conditions'] as Condition[]) : []
  const ready = findCondition(conditions, 'Ready')
  return `node/${object.metadata.name ?? ''} ${ready?.status === 'True' ? 'Ready' : 'NotReady'}`
}

const ofStatus = (phase: string | undefined): string => (phase === undefined ? '' : ` ${phase}`)

async function machineBranch(client: KubeClient, own: Machine, now: number): Promise<Branch> {
  const name = own.metadata.name ?? ''
  const nodeName = own.status?.nodeRef?.name
  const [node, jobs, holds] = await Promise.all([
    nodeName === undefined ? undefined : client.get(nodes, { name: nodeName }),
    listAll(client, remedyOperationJob),
    holdsOf(client, { ...own, kind: 'Machine' }, now),
  ])
  const components = (own.status?.components ?? []).map(({ name: component, version, desired, state, message }) => {
    const part = own.spec.components?.find((c) => c.name === component)?.part
    return {
      text: `component ${component} ${version ?? 'none'}${desired === undefined || desired === version ? '' : ` → ${desired}`} ${state}${part === undefined ? '' : ` by ${part}`}${message === undefined ? '' : `: ${message}`}`,
    }
  })
  const repairs = jobs
    .filter((j) => j.spec.machine === name)
    .map((j) => ({
      text: `job/${j.metadata.name ?? ''} ${j.spec.remedierRef.name}, ${j.status?.outcome ?? j.status?.phase ?? 'Pending'}`,
    }))
  const owners = (own.metadata.ownerReferences ?? []).map((o) => ({
    text: `owned by ${o.kind.toLowerCase()}/${o.name}`,
  }))
  return {
    text: `machine/${name}${ofStatus(own.status?.phase)}`,
    below: [
      ...holds,
      ...owners,
      ...(node === undefined ? [] : [{ text: nodeText(node) }]),
      ...bounded(components, 'component'),
      ...bounded(repairs, 'job'),
    ],
  }
}

/** A machine of a set, with its versions of the set's components. */
function memberOf({ spec }: MachineComponentSet, { metadata, status }: Machine): Branch {
  const own = spec.components.map(({ name }) => {
    const found = status?.components?.find((c) => c.name === name)
    return found === undefined
      ? `${name} none`
      : `${name} ${found.version ?? 'none'}${found.state === 'Healthy' ? '' : ` ${found.state}`}`
  })
  return { text: `machine/${metadata.name ?? ''}${ofStatus(status?.phase)}: ${own.join(', ')}` }
}

async function setBranch(client: KubeClient, set: MachineComponentSet, now: number): Promise<Branch> {
  const slices = (set.status?.slices ?? []).map((s) => ({
    text: `${sliceName(s)}: ${s.phase}${s.waitingFor === undefined ? '' : `, ${waitText(s.waitingFor)}`}`,
    below: bounded(
      activeMachines(s).map((m) => ({ text: `machine/${m}` })),
      'machine',
    ),
  }))
  const components = set.spec.components.map((c) => ({ text: `declares ${c.name} ${c.version}` }))
  const [holds, machines] = await Promise.all([
    holdsOf(client, { ...set, kind: machineComponentSet.kind }, now),
    listAll(client, machine),
  ])
  const selected = machines
    .filter((m) => matchesLabels(set.spec.selector, m.metadata.labels))
    .map((m) => memberOf(set, m))
  return {
    text: `set/${set.metadata.name ?? ''}${ofStatus(set.status?.phase)}`,
    below: [...holds, ...components, ...bounded(slices, 'slice'), ...bounded(selected, 'machine')],
  }
}

async function releaseBranch(client: KubeClient, release: Release, now: number): Promise<Branch> {
  const { spec, metadata, status = {} } = release
  const holds = await holdsOf(client, { ...release, kind: 'Release' }, now)
  const stages = (status.stages ?? []).map((stage) => ({
    text: `${stagePart(stage.name)} ${stage.phase}, ${healthyText(stage)}`,
    below: bounded(
      (status.clusters ?? [])
        .filter((c) => c.stage === stage.name)
        .map((c) => {
          const at = Date.parse(c.since)
          const since = Number.isNaN(at) ? '' : ` for ${formatAge(now - at)}`
          const why = c.waitingFor?.seen ?? c.message
          return { text: `cluster ${c.name} ${c.phase}${since}${why === undefined ? '' : `: ${why}`}` }
        }),
      'cluster',
    ),
  }))
  return {
    text: `release/${metadata.name ?? ''}${ofStatus(status.phase)}`,
    below: [
      ...holds,
      { text: `source/${spec.source}, track ${spec.track}, commit ${commitText(spec.commit, spec)}` },
      ...(spec.previous === undefined ? [] : [{ text: `after release/${spec.previous}` }]),
      ...stages,
    ],
  }
}
