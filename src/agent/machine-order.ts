// The orders from the Machine to its agent, kept on disk so that an agent that starts without the API server knows what to keep running.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { ComponentOrder, Machine } from '#api/kinds/machine.ts'
import type { NoticeCloud } from '#providers/cloud/metadata.ts'
import type { AdoptionMode } from './components/adoption.ts'
import { writeDurably } from './files/durable.ts'
import type { Files } from './files/port.ts'

export interface MachineOrder {
  readonly format: 1
  readonly name: string
  readonly uid: string
  readonly generation: number
  readonly components: readonly ComponentOrder[]
  readonly jobs: readonly string[]
  /** The cloud whose metadata service is asked. */
  readonly notices?: NoticeCloud
  /** What to do with files of others; Refuse when left out. */
  readonly adoption?: AdoptionMode
  /** The agent is to hand the host back and to leave it. */
  readonly leaving?: boolean
  /** The Machine is only observed from now on: components stay as they are. */
  readonly isObserved?: boolean
}

export function orderOf({ metadata, spec }: Machine): MachineOrder {
  return {
    format: 1,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    generation: metadata.generation ?? 0,
    // Components that run as pods are installed and reported by the machine controller.
    components: (spec.components ?? [])
      .filter((c) => c.workload !== true)
      .map((c) => ({
        name: c.name,
        version: c.version,
        // A server that does not fill in defaults leaves it out.
        attempt: c.attempt ?? 1,
        ...defined({ config: c.config, switch: c.switch, onRemoval: c.onRemoval }),
      })),
    jobs: spec.jobs ?? [],
    ...defined({ adoption: spec.adoption, notices: spec.notices }),
    ...(spec.leaving === true && { leaving: true }),
    ...(spec.channel === 'Observe' && { isObserved: true }),
  }
}

export const parseOrder = (v: unknown): MachineOrder | undefined =>
  isObject(v) &&
  v['format'] === 1 &&
  typeof v['name'] === 'string' &&
  typeof v['uid'] === 'string' &&
  Array.isArray(v['components']) &&
  v['components'].every((c) => isObject(c) && typeof c['name'] === 'string' && typeof c['version'] === 'string') &&
  Array.isArray(v['jobs'])
    ? (v as unknown as MachineOrder)
    : undefined

/** A switch order is valid only when read; one from the disk is none. */
export const withoutSwitches = (order: MachineOrder): MachineOrder => ({
  ...order,
  components: order.components.map(({ switch: _switch, ...rest }) => rest),
})

/** Each of our own status writes comes back as an event of the Machine, with the same order. */
export async function keepOrder(files: Files, path: string, order: MachineOrder): Promise<void> {
  const text = JSON.stringify(order)
  if ((await files.read(path))?.toString('utf8') !== text) await writeDurably(files, path, text)
}
