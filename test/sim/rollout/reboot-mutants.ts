// Planted bugs of reboots and power cycles: each leaves out one precaution, and must be found within its seeds.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import type { ControllerContext, ControllerModule } from '#controllers/module.ts'
import { isObject } from '#lib/json.ts'
import type { Provider } from '#providers/port.ts'
import { overridden } from '#test/doubles/providers/memory-provider.ts'
import type { ControllerParts } from './fleet.ts'
import type { Weather } from './reboots.ts'

export interface RebootMutant {
  readonly name: string
  /** Tried first in the quick run. */
  readonly shownBy: number
  readonly finds: RegExp
  readonly parts?: ControllerParts
  readonly weather?: Partial<Weather>
}

const inContext = (change: (context: ControllerContext) => Partial<ControllerContext>): ControllerParts => ({
  machine: {
    name: machineModule.name,
    setup: (context) => machineModule.setup({ ...context, ...change(context) }),
  } satisfies ControllerModule,
})

/** Asks again what was not answered. */
const insisting = (provider: Provider): Provider =>
  overridden(provider, {
    reboot: (id, how, signal) => provider.reboot(id, how, signal).catch(() => provider.reboot(id, how, signal)),
  })

export const rebootMutants: readonly RebootMutant[] = [
  {
    name: 'an order to a provider is not recorded',
    shownBy: 2,
    finds: /orders to its provider/,
    parts: inContext(({ client }) => ({
      client: {
        ...client,
        apply: (type, object, options) => {
          if (type.kind !== machineType.kind || !isObject(object['status'])) return client.apply(type, object, options)
          const { powerCycle: _, ...status } = object['status']
          return client.apply(type, { ...object, status }, options)
        },
      },
    })),
  },
  {
    name: 'a provider that does not answer is asked again',
    shownBy: 2,
    finds: /orders to its provider/,
    parts: inContext(({ config }) => ({
      config: {
        ...config,
        providers: Object.fromEntries(Object.entries(config.providers).map(([name, p]) => [name, insisting(p)])),
      },
    })),
  },
  {
    name: 'the neighbors of a silent machine are not looked at',
    shownBy: 1,
    finds: /although it is up/,
    weather: { boot: () => 'Outage', power: () => 'Does', told: () => 'Truth' },
    parts: inContext(({ informers }) => {
      const of: typeof informers.of = (type, options) => {
        const cache = informers.of(type, options)
        if (type.kind !== machineType.kind) return cache
        const unjoined = ({ apiVersion, kind, metadata, spec }: Machine): Machine => ({
          apiVersion,
          kind,
          metadata,
          spec,
        })
        return new Proxy(cache, {
          get: (target, property) =>
            property === 'list'
              ? () => (target.list() as unknown as readonly Machine[]).map(unjoined)
              : (Reflect.get(target, property, target) as unknown),
        })
      }
      return { informers: { ...informers, of } }
    }),
  },
  {
    name: 'an agent does not know how long its machine was away',
    shownBy: 1,
    finds: /which had hung/,
    weather: { forgets: true },
  },
]
