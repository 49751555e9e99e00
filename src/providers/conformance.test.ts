import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONFORMANCE, type ConformanceTools, conformanceFor } from './conformance.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import type { CreateResult, Host, HostRequest, Provider } from './port.ts'
import { createProcessProvider } from './process/provider.ts'
import { StaticProvider, notesIn, notesInMemory } from './static/provider.ts'

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

describe('the static provider', () => {
  let base: string
  const start = async () => new StaticProvider({ notes: await notesIn(join(base, 'static')), clock: systemClock })
  beforeAll(async () => {
    base = await realpath(await mkdtemp(join(tmpdir(), 'conformance-')))
  })
  afterAll(() => rm(base, { recursive: true, force: true }))

  test.each(conformanceFor({ isHostKept: true }))('$name', async (c) => {
    await c.run({ provider: await start(), until, restarted: start })
  })

  test('cannot switch a host off and on, and says who can', async () => {
    const provider = new StaticProvider({ notes: notesInMemory(), clock: systemClock })
    const made = await provider.create({
      clientToken: 'u',
      machineUid: 'u',
      machine: 'm',
      params: { address: '10.0.0.1' },
      join: bundle,
    })
    expect(made).toMatchObject({ kind: 'Host', host: { providerID: 'static://m', address: '10.0.0.1' } })
    await expect(provider.reboot('static://m')).rejects.toThrow('KN11011')
  })

  test('a damaged note is no evidence about the host', async () => {
    const provider = new StaticProvider({
      notes: notesInMemory(new Map([['m', '{"clientToken":1}']])),
      clock: systemClock,
    })
    await expect(provider.get('static://m')).rejects.toThrow('KN11001')
  })
})

const bundle = {
  server: 'https://127.0.0.1:6443',
  caData: 'Q0E=',
  token: 'abcdef.0123456789abcdef',
  machine: 'm',
  node: 'm',
  cluster: 'test',
  artifactBase: 'file:///nowhere/',
  trust: { sequence: 1, threshold: 1, keys: [] },
}

const once: ConformanceTools['until'] = async (holds) => {
  if (!(await holds())) throw new Error('it never happened')
}

const STEADY = 'every read shows every host, however often it is repeated'

/** Providers with one planted fault each; the kit must fail each in the matching case. */
const faulty: Readonly<Record<string, { readonly fails: string; readonly make: () => ConformanceTools }>> = {
  'says once that a host is absent': {
    fails: STEADY,
    make: () => {
      let n = 0
      return changed((p) => ({ get: async (id) => ((n += 1) === 3 ? undefined : p.get(id)) }))
    },
  },
  'shows once another host than was asked for': {
    fails: STEADY,
    make: () => {
      let n = 0
      return changed((p) => ({ get: async (id) => ((n += 1) === 4 ? (await p.list()).hosts[0] : p.get(id)) }))
    },
  },
  'lists a part of its hosts once, and all of them before and after': {
    fails: STEADY,
    make: () => {
      let n = 0
      return changed((p) => ({
        list: async () => {
          const { hosts, asOf } = await p.list()
          return { hosts: (n += 1) === 2 ? hosts.slice(1) : hosts, asOf }
        },
      }))
    },
  },
  'makes a new host for a repeated create': {
    fails: 'a create repeated after a lost reply returns the same host',
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
    fails: 'another machine of the same name never gets the host of the first',
    make: () => {
      const { hosts, ...tools } = memory()
      return {
        ...tools,
        provider: overridden(tools.provider, {
          create: async (r) => {
            const known = hosts.get(`memory://${r.machine}`)
            return tools.provider.create(known === undefined ? r : { ...r, machineUid: known.machineUid })
          },
        }),
      }
    },
  },
  'says Deleted and keeps the host': {
    fails: 'a deleted host disappears from get and list, and a second delete returns Gone',
    make: () => {
      const asked = new Set<string>()
      return changed((p) => ({
        delete: async (id) => (asked.has(id) ? p.delete(id) : (asked.add(id), 'Deleted')),
        get: async (id) => (asked.has(id) ? undefined : p.get(id)),
      }))
    },
  },
  'forgets its hosts when it is started again': {
    fails: 'a host without a machine is still listed, with its token',
    make: () => ({ ...memory(), restarted: async () => new MemoryProvider({ clock: systemClock }) }),
  },
  'keeps the boot id over a reboot': {
    fails: 'a reboot shows as another boot id of the same host, where boots can be seen',
    make: () => ({
      ...changed(() => ({ reboot: async () => 'Ordered' as const })),
      until: once,
    }),
  },
  'goes on with a create that was given up, beside the next one': {
    fails: 'a slow create that timed out returns the same host when repeated',
    make: () => {
      const extra: Host[] = []
      return changed((p) => ({
        create: async (r, signal) => {
          const made = await p.create(r)
          if (signal !== undefined && made.kind === 'Host') extra.push({ ...made.host, providerID: 'memory://second' })
          return made
        },
        list: async () => {
          const { hosts, asOf } = await p.list()
          return { hosts: [...hosts, ...extra], asOf }
        },
      }))
    },
  },
  'never says Gone': {
    fails: 'a delete repeated while the first is running ends in Gone',
    make: () => ({
      ...changed((p) => ({ delete: async (id) => (await p.delete(id), 'Deleting' as const) })),
      until: once,
    }),
  },
  'calls a host running that is on its way out': {
    fails: 'a host being deleted is never reported as running',
    make: () => {
      const last = new Map<string, Host>()
      return changed((p) => ({
        get: async (id) => {
          const host = await p.get(id)
          if (host !== undefined) last.set(id, host)
          return host ?? last.get(id)
        },
        create: async (r) => {
          const made = await p.create(r)
          if (made.kind === 'Host') last.set(made.host.providerID, made.host)
          return made
        },
      }))
    },
  },
  'asks to slow down and never says for how long': {
    fails: 'many concurrent requests each create one host or return a retry time',
    make: () => {
      let n = 0
      return changed((p) => ({
        create: async (r) => (n++ === 2 ? { kind: 'Throttled', retryAfterMs: 0 } : p.create(r)),
      }))
    },
  },
  'refuses some of many requests': {
    fails: 'many concurrent requests each create one host or return a retry time',
    make: () => {
      const tools = changed((p) => ({
        create: async (r) =>
          r.machine === 'burst-3' ? { kind: 'Refused', reason: 'no more than 3 for one user' } : p.create(r),
      }))
      // Like a real provider, which refuses it as long as the kit repeats it.
      const until = async (holds: () => Promise<boolean>) => {
        if (!(await holds())) await new Promise(() => undefined)
      }
      return { ...tools, until }
    },
  },
  'makes a host for a request that it put off': {
    fails: 'many concurrent requests each create one host or return a retry time',
    make: () => {
      let n = 0
      const broken = changed((p) => ({
        create: async (r) => {
          if (n++ !== 2) return p.create(r)
          await p.create({ ...r, clientToken: `${r.clientToken}-early`, machineUid: `${r.machineUid}-early` })
          return { kind: 'Throttled', retryAfterMs: 10 }
        },
      }))
      return { ...broken, until: once }
    },
  },
  'names hosts like another provider': {
    fails: 'every id begins with the provider name and is listed once',
    make: () =>
      changed((p) => ({
        list: async () => {
          const { hosts, asOf } = await p.list()
          return { hosts: [...hosts, ...hosts], asOf }
        },
      })),
  },
  'invents hosts that never were': {
    fails: 'an unknown id is absent, and operations on it have no effect',
    make: () =>
      changed((p) => ({
        get: async (id) =>
          (await p.get(id)) ?? {
            providerID: id,
            clientToken: '',
            machineUid: '',
            machine: '',
            state: 'Running',
            createdAt: '',
          },
      })),
  },
}

function changed(change: (provider: Provider) => Partial<Provider>): ConformanceTools {
  const tools = memory()
  return { ...tools, provider: overridden(tools.provider, change(tools.provider)) }
}

test('what the provider answers instead of a host is told in its words', async () => {
  const answering = (answer: CreateResult) => changed(() => ({ create: async () => answer }))
  const run = (answer: CreateResult) => CONFORMANCE[0]?.run(answering(answer))
  const retryAfterMs = 60_000
  await expect(run({ kind: 'Refused', reason: 'there is no type huge' })).rejects.toThrow(
    'create of found returned Refused: there is no type huge',
  )
  await expect(run({ kind: 'Exhausted', reason: 'no free host', retryAfterMs })).rejects.toThrow(
    'Exhausted: no free host',
  )
  await expect(run({ kind: 'Unknown', message: 'the switch is silent' })).rejects.toThrow(
    'Unknown: the switch is silent',
  )
})

describe('a provider that', () => {
  test.each(Object.entries(faulty))('%s fails the case about it', async (_, { fails, make }) => {
    const about = CONFORMANCE.find((c) => c.name === fails)
    expect(about).toBeDefined()
    await expect(about?.run(make())).rejects.toThrow()
  })
})
