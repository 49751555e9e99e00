// Planted bugs on the way to a host: each leaves out one precaution, and must be found within its seeds.
import type { Machine } from '#api/kinds/machine.ts'
import { ANY_HOST, HostSightings } from '#controllers/machine/hosts/sightings.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import type { ControllerModule } from '#controllers/module.ts'
import { messageOf } from '#lib/errors.ts'
import type { CreateResult } from '#providers/port.ts'
import { overridden } from '#test/doubles/providers/memory-provider.ts'
import type { HostScenario } from './simulation.ts'

export interface Mutant {
  readonly name: string
  readonly within: number
  readonly scenario: HostScenario
  /** Puts the bug into the program itself; what it returns takes it out again. */
  readonly plant?: () => () => void
}

type Sightings = HostSightings
// eslint-disable-next-line typescript/unbound-method -- each is called with an object
const { seen, untilSureMs } = HostSightings.prototype

/** Host sightings with one method replaced. */
const planted = (change: Partial<Pick<Sightings, 'seen' | 'untilSureMs'>>) => () => {
  Object.assign(HostSightings.prototype, change)
  return () => void Object.assign(HostSightings.prototype, { seen, untilSureMs })
}

/** The attempt is kept in memory only: a crash forgets it, and whatever is decided next has another token. */
const unrecorded: ControllerModule = {
  name: machineModule.name,
  setup: (context) => {
    const { client, informers } = context
    const apply: typeof client.apply = async (type, object, options) => {
      const { provisioning, ...status } = (object['status'] ?? {}) as NonNullable<Machine['status']>
      if (provisioning === undefined || provisioning.answer !== undefined) return client.apply(type, object, options)
      const written = await client.apply(type, { ...object, status }, options)
      return { ...written, status: { ...(written['status'] as object), provisioning } }
    }
    return machineModule.setup({ ...context, informers, client: { ...client, apply } })
  },
}

export const mutants: readonly Mutant[] = [
  {
    name: 'uses a new token for every call',
    within: 5,
    scenario: {
      only: ['create'],
      provider: (p) => {
        let calls = 0
        return overridden(p, {
          create: (request, signal) =>
            p.create({ ...request, clientToken: `${request.clientToken}-${calls++}` }, signal),
        })
      },
    },
  },
  {
    name: 'takes an error of the call for a refusal',
    within: 5,
    scenario: {
      only: ['create'],
      provider: (p) =>
        overridden(p, {
          create: (request, signal) =>
            p.create(request, signal).catch((e: unknown): CreateResult => ({ kind: 'Refused', reason: messageOf(e) })),
        }),
    },
  },
  {
    name: 'takes a host that is not shown yet for a deleted one',
    within: 20,
    scenario: {
      only: ['create', 'grow'],
      provider: (p) => overridden(p, { capabilities: { ...p.capabilities, visibleWithinMs: 0 } }),
    },
  },
  {
    name: 'calls the provider before the attempt is written down',
    within: 60,
    scenario: { modules: [unrecorded, machineSetModule], only: ['create', 'grow'] },
  },
  {
    name: 'takes a list that broke off for an empty one',
    within: 60,
    scenario: {
      only: ['create', 'a change of mind while hosts are being made'],
      provider: (p) =>
        overridden(p, {
          list: async (signal) => p.list(signal).catch(() => ({ hosts: [], asOf: '2026-01-05T00:00:00Z' })),
        }),
    },
  },
  {
    name: 'takes a host for deleted that one answer does not show',
    within: 20,
    scenario: { only: ['create', 'labels of the machines change'], trouble: { lies: 0.5 } },
    plant: planted({
      untilSureMs(this: Sightings, provider, uid) {
        return untilSureMs.call(this, provider, uid, undefined)
      },
    }),
  },
  {
    name: 'counts absences of long ago although the host was shown since',
    within: 20,
    scenario: { only: ['create', 'labels of the machines change'], trouble: { lies: 0.5 } },
    plant: planted({
      seen(this: Sightings, host) {
        if (host.state === 'Deleting') seen.call(this, host)
      },
    }),
  },
  {
    name: 'never counts the second absence',
    within: 5,
    scenario: { only: ['create', 'a host is lost before it joined'] },
    plant: planted({
      untilSureMs(this: Sightings, provider, uid, missing) {
        seen.call(this, { state: 'Running', machineUid: uid, providerID: missing ?? '' })
        return untilSureMs.call(this, provider, uid, missing)
      },
    }),
  },
  {
    name: 'believes the first list after a backup was restored',
    within: 60,
    scenario: { only: ['create', 'a backup is restored'], trouble: { lies: 0.5 } },
    plant: planted({
      untilSureMs(this: Sightings, provider, uid, missing) {
        return untilSureMs.call(this, provider, uid, missing === ANY_HOST ? undefined : missing)
      },
    }),
  },
  {
    name: 'looks for no host after a backup was restored',
    within: 60,
    scenario: {
      only: ['create', 'a backup is restored'],
      provider: (p) => overridden(p, { list: async (signal) => ({ ...(await p.list(signal)), hosts: [] }) }),
    },
  },
]
