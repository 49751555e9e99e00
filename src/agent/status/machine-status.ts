// Pure: what the agent says about its Machine. Only its own fields: the rest of the status belongs to the machine controller.
import { timestamp } from '#lib/clock.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ComponentOrder } from '../components/plan.ts'
import type { ComponentRecord } from '../components/record.ts'
import type { HostFacts } from '../node/facts.ts'

type MachineStatus = NonNullable<Machine['status']>
export type ComponentStatus = NonNullable<MachineStatus['components']>[number]

export interface ComponentReport {
  readonly record: ComponentRecord
  readonly order: ComponentOrder | undefined
  readonly waiting: string | undefined
}

export interface MachineLook {
  readonly name: string
  readonly facts: HostFacts
  readonly version: string
  readonly components: readonly ComponentReport[]
}

const MAX_MESSAGE = 200

export function componentStatus({ record, order, waiting }: ComponentReport): ComponentStatus {
  const { component, state, since, current, target, open } = record
  // What is not as declared says why; what is needs no word.
  const message = record.message ?? (state === 'Healthy' ? undefined : waiting)
  // While a switch is open the old version counts: it is what would come back.
  const inUse = open === undefined ? current : (open.from ?? undefined)
  return {
    name: component,
    state,
    since: timestamp(since),
    attempt: target.attempt,
    desired: order?.version ?? target.version,
    ...(inUse === undefined ? {} : { version: inUse.version }),
    ...(current === undefined ? {} : { digest: current.digest }),
    ...(message === undefined ? {} : { message: message.slice(0, MAX_MESSAGE) }),
  }
}

export const machineStatus = ({ components, ...look }: MachineLook): KubeObject =>
  machineStatusWith(look, components.map(componentStatus))

export const machineStatusWith = (
  { name, facts, version }: Omit<MachineLook, 'components'>,
  components: readonly ComponentStatus[],
): KubeObject => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  status: {
    bootID: facts.bootId,
    agent: { version },
    platform: { os: facts.os, arch: facts.arch, kernel: facts.kernel },
    components: components.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  },
})
