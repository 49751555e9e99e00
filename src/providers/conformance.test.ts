import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#lib/clock.ts'
import { silentLogger } from '#lib/log.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONFORMANCE, type ConformanceTools } from './conformance.ts'
import { type MemoryHost, MemoryProvider } from './memory.ts'
import type { HostRequest, Provider } from './port.ts'
import { createProcessProvider } from './process/provider.ts'

const until: ConformanceTools['until'] = async (holds) => {
  for (let i = 0; i < 500; i++) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('it never happened')
}

function memory(): ConformanceTools & { readonly hosts: Map<string, MemoryHost> } {
  const hosts = new Map<string, MemoryHost>()
  const start = () => new MemoryProvider({ clock: systemClock, hosts })
  return { provider: start(), until, restarted: async () => start(), hosts }
}

describe('the memory provider', () => {
  test.each(CONFORMANCE)('$name', async (c) => {
    await c.run(memory())
  })
})

describe('the process provider', () => {
  let base: string
  const stop = new AbortController()
  const start = (): Promise<Provider> =>
    createProcessProvider({
      dir: join(base, 'nodes'),
      agent: () => ['/bin/sh', join(base, 'agent.sh')],
      clock: systemClock,
      log: silentLogger,
    })
  beforeAll(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'conformance-')))
    await writeFile(join(base, 'agent.sh'), 'while :; do sleep 60; done\n')
  })
  afterAll(async () => {
    stop.abort()
    await rm(base, { recursive: true, force: true, maxRetries: 5 })
  })

  test.each(CONFORMANCE)('$name', async (c) => {
    const provider = await start()
    const ending = new AbortController()
    void provider.run?.(ending.signal)
    await c.run({ provider, until, restarted: start })
    ending.abort()
  })
})

/** A provider with one planted fault each; the kit must fail it, in the case that is about it. */
const faulty: Readonly<Record<string, { readonly fails: string; readonly make: () => ConformanceTools }>> = {
  'makes a new host for a repeated create': {
    fails: 'a create that is repeated after a lost reply is the same host',
    make: () => {
      let n = 0
      return changed((p) => ({
        create: (r: HostRequest) =>
          p
            .create({ ...r, machine: r.machine, clientToken: r.clientToken })
            .then((made) =>
              made.kind === 'Host' && n++ > 0
                ? { ...made, host: { ...made.host, providerID: `${made.host.providerID}-${n}` } }
                : made,
            ),
      }))
    },
  },
  'gives the host of one machine to another': {
    fails: 'another token never gets the host of a machine',
    make: () => {
      const { hosts, ...tools } = memory()
      return {
        ...tools,
        provider: overridden(tools.provider, {
          create: async (r) => {
            const known = hosts.get(`memory://${r.machine}`)
            return tools.provider.create(known === undefined ? r : { ...r, clientToken: known.clientToken })
          },
        }),
      }
    },
  },
  'says Deleted and keeps the host': {
    fails: 'what was deleted is gone from everywhere, and deleting it again says so',
    make: () => {
      const asked = new Set<string>()
      return changed((p) => ({
        delete: async (id) => (asked.has(id) ? p.delete(id) : (asked.add(id), 'Deleted')),
        get: async (id) => (asked.has(id) ? undefined : p.get(id)),
      }))
    },
  },
  'forgets its hosts when it is started again': {
    fails: 'a host whose machine nobody remembers is still in the list, with its token',
    make: () => ({ ...memory(), restarted: async () => new MemoryProvider({ clock: systemClock }) }),
  },
  'keeps the boot id over a reboot': {
    fails: 'a reboot shows as another boot id of the same host',
    make: () => ({
      ...changed(() => ({ reboot: async () => 'Ordered' as const })),
      until: async (holds) => {
        if (!(await holds())) throw new Error('it never happened')
      },
    }),
  },
  'invents hosts that never were': {
    fails: 'an id that never was is absent, and nothing can be done to it',
    make: () =>
      changed((p) => ({
        get: async (id) =>
          (await p.get(id)) ?? { providerID: id, clientToken: '', machine: '', state: 'Running', createdAt: '' },
      })),
  },
}

const overridden = (provider: Provider, change: Partial<Provider>): Provider => ({
  name: provider.name,
  create: (request) => provider.create(request),
  get: (id) => provider.get(id),
  list: () => provider.list(),
  delete: (id) => provider.delete(id),
  reboot: (id) => provider.reboot(id),
  events: (heard, signal) => provider.events(heard, signal),
  ...change,
})

function changed(change: (provider: Provider) => Partial<Provider>): ConformanceTools {
  const tools = memory()
  return { ...tools, provider: overridden(tools.provider, change(tools.provider)) }
}

describe('a provider that', () => {
  test.each(Object.entries(faulty))('%s fails the case about it', async (_, { fails, make }) => {
    const about = CONFORMANCE.find((c) => c.name === fails)
    expect(about).toBeDefined()
    await expect(about?.run(make())).rejects.toThrow()
  })
})
