// A clock that was far ahead for a while leaves certificates of the future: the programs of a local fleet get others as soon as it is right again.
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import { type Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import { provideIdentity } from '#programs/local/identities.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'

const YEAR_MS = 365 * 86_400_000

let aheadMs = 0
const clock: Clock = {
  now: () => systemClock.now() + aheadMs,
  monotonic: () => systemClock.monotonic(),
  sleep: (ms, signal) => systemClock.sleep(ms, signal),
  after: (ms, act) => systemClock.after(ms, act),
}

let server: RunningServer
let client: HttpKubeClient
let folder = ''
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-clock-'))
  server = await startEmbedded({ clock })
  client = clientOf((await connectionOf(server.kubeconfig)).config, 'test')
})
afterAll(async () => {
  client.close()
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const validFrom = (path: string): number => {
  const cert = parseSafeKubeconfig(readFileSync(path, 'utf8'), path).config.clientCertificate?.cert
  if (cert === undefined || !('data' in cert)) throw new Error('no certificate')
  return new X509Certificate(cert.data).validFromDate.getTime()
}

test('F16 an identity of the future is replaced, and one that is good stays', async () => {
  const path = join(folder, 'sync.kubeconfig')
  const provide = () => provideIdentity(client, { name: 'hub', server: server.url, ca: server.ca }, 'sync', path, clock)
  aheadMs = YEAR_MS
  await provide()
  expect(validFrom(path)).toBeGreaterThan(systemClock.now())
  aheadMs = 0
  await provide()
  expect(validFrom(path)).toBeLessThanOrEqual(systemClock.now())
  const good = readFileSync(path, 'utf8')
  await provide()
  expect(readFileSync(path, 'utf8')).toBe(good)
}, 120_000)
