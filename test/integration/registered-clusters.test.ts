// Registered clusters that cannot be reached, through the loop of sync that asks them: an ended client certificate, the authority of another cluster, an endpoint where
// nothing listens, a server whose own certificate has expired. Each says why and what has to change, and is Ready again once it is mended.
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { run } from '#cli/program.ts'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { createEventRecorder } from '#kube/events.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { kubeconfigText } from '#lib/kubeconfig-text.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { issueCertificate, newAuthority, type KeyAndCertificate } from '#lib/x509/certificates.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { newsReader } from '#explain/release/news.ts'
import { syncModule, type SyncContext } from '#sync/role.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'

const DAY_MS = 86_400_000
const SECRET = coreKind('Secret')
const DECLARED = { fieldManager: FIELD_MANAGERS.cli, force: true } as const

let hub: RunningServer
let member: ApiServer
let admin: HttpKubeClient
let folder: string
let stop: (() => Promise<void>) | undefined

const connection = () => ({
  server: hub.url,
  ca: { data: hub.ca },
  clientCertificate: { cert: { data: hub.cert }, key: { data: hub.key } },
})

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-registered-'))
  hub = await startEmbedded()
  member = await createApiServer()
  await member.listen()
  admin = new HttpKubeClient(connection())
  await installAll(admin)
})
afterEach(async () => {
  await stop?.()
  stop = undefined
  admin.close()
  await member.close()
  await hub.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The loop as sync runs it, as its own user. Each start opens its own connections. */
async function startSync(): Promise<void> {
  const client = new HttpKubeClient({ ...connection(), impersonate: { user: programUser('sync') } })
  const own = { client, clock: systemClock, random: systemRandom, log: silentLogger }
  const informers = createInformers({ ...own, startSpreadMs: 0 })
  const { controllers, parts = [] } = syncModule.setup({
    ...own,
    informers,
    metrics: createMetrics(),
    events: createEventRecorder({ client, clock: systemClock, controller: 'kubenode.io/sync', instance: 't' }),
    connect: (config: ConstructorParameters<typeof HttpKubeClient>[0]) => new HttpKubeClient(config),
    hubAs: () => client,
    news: newsReader,
    config: { cacheDir: join(folder, 'cache') },
  } as unknown as SyncContext)
  informers.start()
  await informers.synced()
  const health = controllers.find((c) => c.name === 'cluster-health')
  if (health === undefined) throw new Error('the loop that asks clusters has another name')
  health.start()
  stop = async () => {
    await health.stop(0)
    for (const part of parts) await part.stop(0)
    await informers.stop()
    client.close()
  }
}

/** Members take it for what it says until it ends. */
function adminOf(server: ApiServer, days: number, now = Date.now()): KeyAndCertificate {
  return issueCertificate(server.credentials.authority, {
    subject: { commonName: 'sync', organizations: ['system:masters'] },
    validity: { now, days },
    usage: 'client',
  })
}

/** For a server of the member, from so many days ago. */
const serving = (fromDays: number): KeyAndCertificate =>
  issueCertificate(member.credentials.authority, {
    subject: { commonName: 'kube-apiserver' },
    validity: { now: Date.now() + fromDays * DAY_MS, days: 1 },
    usage: 'server',
    hosts: ['127.0.0.1'],
  })

async function register(name: string, kubeconfig: string): Promise<void> {
  const secret = { name: `cluster-${name}`, namespace: CLUSTERS_NAMESPACE }
  const data = { kubeconfig: Buffer.from(kubeconfig).toString('base64') }
  await admin.apply(SECRET, { apiVersion: 'v1', kind: 'Secret', metadata: secret, data }, DECLARED)
  await admin.apply(
    clusterKind,
    {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Cluster',
      metadata: { name, namespace: SYSTEM_NAMESPACE },
      spec: { kubeconfigSecretRef: { name: secret.name } },
    },
    DECLARED,
  )
}

async function untilPhase(name: string, phase: string): Promise<NonNullable<Cluster['status']>> {
  const end = performance.now() + 60_000
  for (;;) {
    const { status } = (await admin.get(clusterKind, { name, namespace: SYSTEM_NAMESPACE })) ?? {}
    if (status?.phase === phase) return status
    if (performance.now() > end) throw new Error(`${name} is not ${phase}: ${JSON.stringify(status)}`)
    await systemClock.sleep(20)
  }
}

async function kubenode(...argv: readonly string[]): Promise<string> {
  const file = join(folder, 'admin.kubeconfig')
  const client = { certificate: hub.cert, key: hub.key }
  writeFileSync(file, kubeconfigText({ url: hub.url, authority: hub.ca, client, user: 'admin' }), { mode: 0o600 })
  const said: string[] = []
  const say = (text: string) => void said.push(text)
  await run([...argv, '--kubeconfig', file], { out: say, err: say, cwd: folder, env: {}, isTerminal: false })
  return said.join('')
}

test('each says why it is not reached and what has to change, and is Ready again with a kubeconfig that fits', async () => {
  const good = adminOf(member, 30)
  const ended = adminOf(member, 1, Date.now() - 3 * DAY_MS)
  const other = newAuthority('another cluster', { now: Date.now(), days: 30 })
  const closed = await createApiServer()
  await closed.listen()
  const nowhere = closed.url
  await closed.close()
  const text = (client: KeyAndCertificate, authority = member.ca, url = member.url) =>
    kubeconfigText({ url, authority, client, user: 'sync' })
  await register('good', text(good))
  await register('ended', text(ended))
  await register('wrong-ca', text(good, other.certificate))
  await register('closed', text(good, member.ca, nowhere))
  const old = serving(-3)
  const https = createServer({ key: old.key, cert: old.certificate }, (_, response) => response.writeHead(404).end())
  await new Promise<void>((listening) => https.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void https.close())
  const oldUrl = `https://127.0.0.1:${(https.address() as AddressInfo).port}`
  await register('old-server', text(good, member.ca, oldUrl))
  await startSync()

  const well = await untilPhase('good', 'Ready')
  expect(well.waitingFor).toBeUndefined()
  expect(well.reachableSince).toBeDefined()
  expect(Date.parse(well.credentialsEnd ?? '')).toBeGreaterThan(Date.now() + 29 * DAY_MS)

  const over = await untilPhase('ended', 'Unreachable')
  expect(over.credentialsEnd).toBeDefined()
  expect(over.waitingFor).toMatchObject({
    predicate: 'CredentialsInvalid',
    seen: expect.stringContaining(`the client certificate of the kubeconfig ended at ${over.credentialsEnd}`),
    unblock: expect.stringContaining(`Secret ${CLUSTERS_NAMESPACE}/cluster-ended`),
  })
  const foreign = await untilPhase('wrong-ca', 'Unreachable')
  expect(foreign.waitingFor).toMatchObject({
    predicate: 'CredentialsInvalid',
    seen: expect.stringMatching(/^KN2004: .*not signed by the configured certificate authority/),
    unblock: expect.stringContaining(`Secret ${CLUSTERS_NAMESPACE}/cluster-wrong-ca`),
  })
  const away = await untilPhase('closed', 'Unreachable')
  expect(away.waitingFor).toMatchObject({ predicate: 'ApiServerDown', seen: expect.stringContaining('ECONNREFUSED') })
  const expired = await untilPhase('old-server', 'Unreachable')
  expect(expired.waitingFor).toMatchObject({
    predicate: 'ServerCertificateExpired',
    seen: expect.stringMatching(/^KN2003: .*the server's certificate has expired/),
    unblock: expect.stringContaining('the serving certificate of its API server is renewed'),
  })
  expect(`${expired.waitingFor?.seen} ${expired.waitingFor?.unblock}`).not.toMatch(/client certificate|Secret/)
  expect(Date.parse(expired.credentialsEnd ?? '')).toBeGreaterThan(Date.now())
  for (const { reachableSince } of [over, foreign, away, expired]) expect(reachableSince).toBeUndefined()

  const table = await kubenode('get', 'clusters', '--namespace', SYSTEM_NAMESPACE)
  expect(table).toMatch(/^NAME +PHASE +READY /)
  expect(table).toMatch(/^good +Ready .* Yes \(/m)
  expect(table).toMatch(/^ended +Unreachable .* No \(.*CredentialsInvalid: the client certificate/m)
  expect(table).toMatch(/^wrong-ca +Unreachable .* No \(.*CredentialsInvalid: KN2004/m)
  expect(table).toMatch(/^old-server +Unreachable .* No \(.*ServerCertificateExpired: KN2003/m)
  expect(table).toMatch(/^closed +Unreachable .* No \(.*ApiServerDown: /m)
  const [head = ''] = (await kubenode('get', 'clusters', '-o', 'wide', '--namespace', SYSTEM_NAMESPACE)).split('\n')
  expect(head.match(/REACHABLE/g)).toEqual(['REACHABLE'])
  expect(head).toMatch(/ AGENTS +CREDENTIALS END /)
  const why = await kubenode('why', 'cluster/ended', '--namespace', SYSTEM_NAMESPACE)
  expect(why).toContain('CredentialsInvalid')
  expect(why).toContain(`Secret ${CLUSTERS_NAMESPACE}/cluster-ended`)

  await stop?.()
  await register('ended', text(good))
  await register('wrong-ca', text(good))
  // Its kubeconfig stays.
  const renewed = serving(0)
  https.setSecureContext({ key: renewed.key, cert: renewed.certificate })
  await startSync()
  for (const name of ['ended', 'wrong-ca', 'old-server']) {
    const mended = await untilPhase(name, 'Ready')
    expect(mended.waitingFor).toBeUndefined()
    expect(mended.reachableSince).toBeDefined()
  }
})
