// Every provider conforms over a socket as well as in process. A new provider is one more entry here.
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { MemoryProvider } from '#test/doubles/providers/memory-provider.ts'
import { fakeRegion, OPEN_LIMITS, quickClock, transportTo, VENDORS, type Vendor } from '#test/doubles/clouds/worlds.ts'
import { overSocket } from '#test/support/servers/over-socket.ts'
import { isFull } from '#test/support/tools/full.ts'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { CONFORMANCE, type ConformanceTools, conformanceFor } from '../conformance.ts'
import { createHollowProvider } from '../hollow/provider.ts'
import { createNspawnProvider } from '../nspawn/provider.ts'
import { ensureTree, hasTree, treePath } from '../nspawn/tree.ts'
import type { Provider } from '../port.ts'
import { createProcessProvider } from '../process/provider.ts'
import { notesIn, StaticProvider } from '../static/provider.ts'

const until: ConformanceTools['until'] = async (holds) => {
  for (let i = 0; i < 3_000; i++) {
    if (await holds()) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('it never happened')
}

let base: string
/** An overlay cannot be on another one, and /tmp may be in memory. */
let machines: string
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'served-')))
  machines = await mkdtemp('/var/tmp/served-')
  await writeFile(join(base, 'agent.sh'), 'while :; do sleep 60; done\n')
})
afterAll(async () => {
  for (const dir of [base, machines]) await rm(dir, { recursive: true, force: true, maxRetries: 5 })
})

const clock = systemClock
const log = silentLogger
const memoryHosts = new Map()

interface Served {
  readonly start: () => Promise<Provider>
  readonly cases?: typeof CONFORMANCE
  readonly params?: Readonly<Record<string, string>>
  /** Why it cannot run on this machine. */
  readonly lacks?: () => Promise<string | undefined>
}

/** Trees are expensive to build and outlive test runs. */
const tree = { cache: process.env['KUBENODE_TREES'] ?? '/var/lib/kubenode/trees', log }

async function machinesLack(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'systemd machines need root'
  if (isFull) await ensureTree(tree)
  return (await hasTree(tree)) ? undefined : `there is no tree in ${tree.cache}; a full run builds one`
}

/** Against a region that verifies signatures. */
function ofCloud(v: Vendor): Served {
  const transport = transportTo(v.fake(fakeRegion(v, { clock })))
  const endpoint = 'https://cloud.example.org'
  return {
    start: async () => v.provider({ clock: quickClock, endpoint, transport, limits: OPEN_LIMITS }),
    params: v.params,
  }
}

const SERVED: Readonly<Record<string, Served>> = {
  memory: { start: async () => new MemoryProvider({ clock, hosts: memoryHosts }) },
  process: {
    start: () =>
      createProcessProvider({
        dir: join(base, 'nodes'),
        agent: () => ['/bin/sh', join(base, 'agent.sh')],
        clock,
        log,
      }),
  },
  static: {
    start: async () => new StaticProvider({ notes: await notesIn(join(base, 'static')), clock }),
    cases: conformanceFor({ isHostKept: true }),
  },
  hollow: {
    start: () =>
      createHollowProvider({
        dir: join(base, 'hollow'),
        agents: () => ['/bin/sh', join(base, 'agent.sh')],
        clock,
        log,
      }),
  },
  nspawn: {
    start: () => createNspawnProvider({ dir: machines, tree: treePath(tree), clock, log }),
    cases: conformanceFor({ isHostKept: false }),
    lacks: machinesLack,
  },
  ...Object.fromEntries(VENDORS.map((v) => [v.name, ofCloud(v)])),
}

describe.each(Object.entries(SERVED))(
  'the provider %s through a socket',
  (_, { start, cases = CONFORMANCE, params, lacks }) => {
    test.for(cases)('$name', async (c, context) => {
      const lack = await lacks?.()
      if (lack !== undefined) context.skip(lack)
      const first = await start()
      const ending = new AbortController()
      const running = first.run?.(ending.signal)
      const over = await overSocket(first)
      const restarted = async () => {
        await over.replacedBy(await start())
        return over.provider
      }
      try {
        await c.run({ provider: over.provider, until, restarted, ...defined({ params }) })
      } finally {
        ending.abort()
        await running
        await over.close()
      }
    })
  },
)
