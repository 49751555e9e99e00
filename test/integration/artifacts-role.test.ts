// Role artifacts with its own rights and under the shipped policies: two replicas share one authority without a leader, and agents that pin it get bytes.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFetcher } from '#agent/components/fetch.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { ARTIFACTS_SECRET, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import { ownAuthority } from '#artifacts/own-authority.ts'
import { ArtifactsPart, type ArtifactsConfig } from '#artifacts/role.ts'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import { runRole } from '#programs/run/role.ts'
import type { RolesConfig } from '#programs/roles/config.ts'
import { roleNamed } from '#programs/run/role-named.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { install } from '#programs/local/install.ts'
import type { Health } from '#runtime/health.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { until } from '#test/support/tools/processes.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
let server: RunningServer
let as: (program: string) => KubeClient
let folder: string
beforeAll(async () => {
  server = await startEmbedded()
  const { config } = await connectionOf(server.kubeconfig)
  await install(clientOf(config, 'test'), DEPLOY, systemClock)
  as = (program) => clientOf({ ...config, impersonate: { user: programUser(program) } }, 'test')
  folder = mkdtempSync(join(tmpdir(), 'kubenode-artifacts-'))
  writeFileSync(join(folder, 'x.tgz'), 'bytes')
})
afterAll(async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
})

const config = (): ArtifactsConfig => ({ folder, host: '127.0.0.1', port: 0, certificate: { hosts: ['127.0.0.1'] } })
const replica = () => new ArtifactsPart({ ...config(), client: as('artifacts'), clock: systemClock, log: silentLogger })

async function fetched(port: number | undefined, ca: string): Promise<string> {
  const fetcher = createFetcher({ base: `https://127.0.0.1:${port}/`, ca })
  const chunks: Buffer[] = []
  for await (const chunk of fetcher.open('x.tgz', 100, AbortSignal.timeout(10_000))) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

test('two replicas that start at once serve under one authority, which controllers hand to hosts', async () => {
  const both = [replica(), replica()]
  await Promise.all(both.map((r) => r.start()))
  try {
    const ca = (await ownAuthority(as('controllers'))) ?? ''
    expect(await Promise.all(both.map((r) => fetched(r.port, ca)))).toEqual(['bytes', 'bytes'])
    const other = replica()
    await other.start()
    expect(await fetched(other.port, ca)).toBe('bytes')
    await other.stop()
    await expect(fetched(both[0]?.port, server.ca)).rejects.toThrow(/KN8010/)
  } finally {
    await Promise.all(both.map((r) => r.stop()))
  }
})

test('hosts that pinned the authority are served after its Secret was deleted or emptied', async () => {
  const [one, admin] = [replica(), clientOf((await connectionOf(server.kubeconfig)).config, 'test')]
  await one.start()
  try {
    const key = { namespace: SYSTEM_NAMESPACE, name: ARTIFACTS_SECRET }
    const ca = (await ownAuthority(admin)) ?? ''
    const secret = coreKind('Secret')
    // A Secret of this type has a certificate and a key; the rest may be taken out.
    const value = { data: { 'ca.crt': null, 'ca.key': null } }
    const emptied = () => admin.patch(secret, key, { type: 'merge', value } as never)
    for (const lose of [() => admin.delete(secret, key), emptied] as const) {
      await lose()
      await one.reload()
      expect([await ownAuthority(admin), await fetched(one.port, ca)]).toEqual([ca, 'bytes'])
    }
  } finally {
    await one.stop()
  }
})

test('the role writes its Secret and no other, and reads no other', async () => {
  const client = as('artifacts')
  const secret = coreKind('Secret')
  const key = (name: string) => ({ namespace: SYSTEM_NAMESPACE, name })
  expect(await client.get(secret, key(ARTIFACTS_SECRET))).toBeDefined()
  await expect(client.get(secret, key('kubenode-hashes'))).rejects.toThrow(/KN2403/)
  await expect(client.list(secret, { namespace: SYSTEM_NAMESPACE })).rejects.toThrow(/KN2403/)
})

test('it runs without a lease, and is ready once it serves', async () => {
  const stop = new AbortController()
  let health: Health | undefined
  const role = await roleNamed('artifacts', { artifacts: config() } as RolesConfig, 'test')
  const running = runRole(role, {
    client: as('artifacts'),
    leaseClient: as('artifacts'),
    log: silentLogger,
    listeners: (served) => {
      health = served.health
      return []
    },
    signal: stop.signal,
  })
  await until('it is ready', () => (health?.ready().ok === true ? true : undefined), 10_000)
  stop.abort()
  expect((await running).reason).toBe('Stopped')
})

test('a folder that is not there stops the start with its number', async () => {
  const lost = new ArtifactsPart({
    ...config(),
    folder: join(folder, 'nowhere'),
    client: as('artifacts'),
    clock: systemClock,
    log: silentLogger,
  })
  await expect(lost.start()).rejects.toThrow(/KN14003/)
})
