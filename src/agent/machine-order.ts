// The Machine's orders to its agent. Kept on disk, so that an agent that starts without the API server knows what to keep running.
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
  /** The hardware class. */
  readonly class?: string
  /** The cloud whose metadata service is queried. */
  readonly notices?: NoticeCloud
  /** What to do with files of other owners; default: Refuse. */
  readonly adoption?: AdoptionMode
  /** The agent must hand back the host and leave it. */
  readonly leaving?: boolean
  /** From now on the Machine is only observed: components stay as they are. */
  readonly isObserved?: boolean
}

export function orderOf({ metadata, spec }: Machine): MachineOrder {
  return {
    format: 1,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    generation: metadata.generation ?? 0,
    // The machine controller installs and reports components that run as pods.
    components: (spec.components ?? [])
      .filter((c) => c.workload !== true)
      .map((c) => ({
        name: c.name,
        version: c.version,
        // A server that does not fill in defaults omits it.
        attempt: c.attempt ?? 1,
        ...defined({ config: c.config, switch: c.switch, onRemoval: c.onRemoval }),
      })),
    jobs: spec.jobs ?? [],
    ...defined({ class: spec.class, adoption: spec.adoption, notices: spec.notices }),
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

/** A switch order is valid only when freshly read, so one from the disk does not count. */
export const withoutSwitches = (order: MachineOrder): MachineOrder => ({
  ...order,
  components: order.components.map(({ switch: _switch, ...rest }) => rest),
})

/** Each of the agent's own status writes returns as a Machine event with the same order. */
export async function keepOrder(files: Files, path: string, order: MachineOrder): Promise<void> {
  const text = JSON.stringify(order)
  if ((await files.read(path))?.toString('utf8') !== text) await writeDurably(files, path, text)
}
