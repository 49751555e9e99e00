// Planted bugs of the machine controllers: each leaves out one precaution, and must be found within its seeds.
import { machine as machineType } from '#api/kinds/machine.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import type { ControllerContext, ControllerModule } from '#controllers/module.ts'
import type { KubeClient } from '#kube/client.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { overridden } from '#test/doubles/providers/memory-provider.ts'
import type { FaultKind } from '../sim-faults.ts'
import type { Scenario } from './simulation.ts'

export interface Mutant {
  readonly name: string
  /** Faults under which it is found; none means that it shows without any. */
  readonly faults: readonly FaultKind[]
  readonly within: number
  readonly scenario: Scenario
}

const changed = (
  module: ControllerModule,
  client: (context: ControllerContext) => Partial<KubeClient>,
): ControllerModule => ({
  name: module.name,
  setup: (context) => module.setup({ ...context, client: { ...context.client, ...client(context) } }),
})

/** A list that answers from the cache, as a controller would that counts there. */
const countsInCache = changed(machineSetModule, ({ client, informers }) => ({
  list: async (type, options) => {
    if (type.kind !== machineType.kind) return client.list(type, options)
    return { items: informers.of(type).list(), resourceVersion: '0' }
  },
}))

/** Believes in every permit: the machine set needs no grant to remove. */
const asksNobody = changed(machineSetModule, ({ client }) => ({
  create: async (type, object, options) => {
    const made = await client.create(type, object, options)
    if (type.kind === operationPermit.kind)
      for (const m of (await client.list(machineType)).items.slice(0, 1)) {
        const { uid = '', resourceVersion = '', name = '' } = m.metadata
        await client.delete(machineType, { name }, { preconditions: { uid, resourceVersion } })
      }
    return made
  },
}))

/** Sees no hold: the same caches, but for one that is empty. */
const seesNoHold = (module: ControllerModule): ControllerModule => ({
  name: module.name,
  setup: (context) => {
    const of: ControllerContext['informers']['of'] = (type, options) => {
      const cache = context.informers.of(type, options)
      if (type.kind !== operationalHold.kind) return cache
      return new Proxy(cache, {
        get: (target, property) =>
          property === 'list' ? () => [] : (Reflect.get(target, property, target) as unknown),
      })
    }
    return module.setup({ ...context, informers: { ...context.informers, of } })
  },
})

export const mutants: readonly Mutant[] = [
  {
    name: 'counts its machines in the cache before it makes one',
    faults: ['LostReply', 'Refuse'],
    within: 60,
    scenario: { modules: [machineModule, countsInCache], only: ['create', 'grow'] },
  },
  {
    name: 'removes a machine as soon as it has asked for the permit',
    faults: [],
    within: 1,
    scenario: { modules: [machineModule, asksNobody], only: ['create', 'shrink to one'] },
  },
  {
    name: 'orders switches although its set is held',
    faults: [],
    within: 1,
    scenario: {
      modules: [seesNoHold(machineModule), machineSetModule],
      only: ['create', 'pause', 'upgrade'],
    },
  },
  {
    name: 'makes machines although the set is held',
    faults: [],
    within: 1,
    scenario: {
      modules: [machineModule, seesNoHold(machineSetModule)],
      only: ['create', 'pause', 'grow while paused'],
    },
  },
  {
    name: 'forgets hosts whose deletion was only ordered',
    faults: [],
    within: 1,
    scenario: {
      only: ['create', 'to nothing'],
      provider: (p) => overridden(p, { get: async () => undefined, delete: async () => 'Deleting' }),
    },
  },
]
