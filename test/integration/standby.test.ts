// Two replicas of each role: the standby is ready, takes over when the leader ends, and a leader is not ready before it can work.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import { type Role, runRole } from '#programs/run/role.ts'
import { ROLE_NAMES } from '#programs/all.ts'
import type { Health } from '#runtime/health.ts'
import { install } from '#programs/local/install.ts'
import { systemClock } from '#lib/system-clock.ts'
import { join } from 'node:path'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { until } from '#test/support/tools/processes.ts'

const WITHIN_MS = 200_000
let server: RunningServer
beforeEach(async () => {
  server = await startEmbedded()
  const { config } = await connectionOf(server.kubeconfig)
  await install(clientOf(config, 'test'), join(import.meta.dirname, '../../deploy'), systemClock)
})
afterEach(() => server.stop())

/** A replica whose work begins when it is let. */
async function replica(name: string) {
  const { config } = await connectionOf(server.kubeconfig)
  const stop = new AbortController()
  const gate = Promise.withResolvers<void>()
  let health: Health | undefined
  let works = false
  const part = { name: 'works', start: async () => void (await gate.promise, (works = true)), stop: () => undefined }
  const role: Role = { name, setup: () => [part] }
  const client = clientOf(config, 'test')
  const listeners = (served: { readonly health: Health }) => {
    health = served.health
    return []
  }
  const ended = runRole(role, { client, leaseClient: client, log: silentLogger, listeners, signal: stop.signal })
  return {
    begin: () => gate.resolve(),
    works: () => works,
    isReady: () => health?.ready().ok === true,
    stop: async () => {
      stop.abort()
      const { reason } = await ended
      return { reason, isReady: health?.ready().ok }
    },
  }
}

test('F49 of each role one replica works, the other is ready and takes over', async () => {
  await Promise.all(
    ROLE_NAMES.map(async (name) => {
      const leader = await replica(name)
      leader.begin()
      await until(`${name} works`, () => leader.works() || undefined, WITHIN_MS)
      const standby = await replica(name)
      await until(`the standby of ${name} is ready`, () => standby.isReady() || undefined, WITHIN_MS)
      expect([leader.isReady(), standby.works()]).toEqual([true, false])
      expect(await leader.stop()).toEqual({ reason: 'Stopped', isReady: false })
      await until(
        `the standby of ${name} leads, and is not ready before it works`,
        () => !standby.isReady() || undefined,
        WITHIN_MS,
      )
      standby.begin()
      await until(`the standby of ${name} works`, () => (standby.works() && standby.isReady()) || undefined, WITHIN_MS)
      await standby.stop()
    }),
  )
})

test('a role that is stopped while it starts leaves nothing running', async () => {
  const { config } = await connectionOf(server.kubeconfig)
  const client = clientOf(config, 'test')
  const stop = new AbortController()
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const calls: string[] = []
  const part = (name: string, start: () => Promise<void>) => ({
    name,
    start: async () => (calls.push(`start ${name}`), start()),
    stop: () => void calls.push(`stop ${name}`),
  })
  const parts = [
    part('quick', async () => undefined),
    part('slow', async () => (begun.resolve(), gate.promise)),
    part('late', async () => undefined),
  ]
  const role: Role = { name: 'defender', setup: () => parts }
  const ended = runRole(role, {
    client,
    leaseClient: client,
    log: silentLogger,
    listeners: () => [],
    signal: stop.signal,
  })
  await begun.promise
  stop.abort()
  expect((await ended).reason).toBe('Stopped')
  gate.resolve()
  await until('the slow part is stopped', () => calls.includes('stop slow') || undefined, WITHIN_MS)
  expect(calls).toEqual(['start quick', 'start slow', 'stop quick', 'stop slow'])
})
