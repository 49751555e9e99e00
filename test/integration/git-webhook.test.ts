// A webhook of a git server makes sync read at once, on a listener of its own; a client without its token learns nothing and causes nothing.
import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { ANNOTATIONS, CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { issueCertificate, newAuthority } from '#lib/x509/certificates.ts'
import { createInformers, type Informers } from '#runtime/informers.ts'
import { HooksServer } from '#sync/hooks/server.ts'
import { eventually, SECRET, syncBench, type SyncBench } from '#test/support/benches/sync-bench.ts'
import { startGitServer, type GitServer } from '#test/support/servers/git-server.ts'

const TOKEN = 'a token of the webhook'
const NAME = { namespace: SYSTEM_NAMESPACE, name: 'fleet' }
const cli = { fieldManager: 'kubenode-cli', force: true }
let bench: SyncBench
let git: GitServer
let informers: Informers
let hooks: HooksServer
let secretsRead = 0

beforeAll(async () => {
  const now = Date.now()
  const authority = newAuthority('git', { now, days: 2 })
  const given = {
    subject: { commonName: 'git' },
    validity: { now, days: 1 },
    usage: 'server',
    hosts: ['localhost'],
  } as const
  bench = await syncBench([], { interval: '10h' })
  const { repository, hub } = bench
  git = await startGitServer(repository.dir, issueCertificate(authority, given))
  const secret = (name: string, data: Readonly<Record<string, string>>) =>
    hub.client.apply(
      SECRET,
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: CLUSTERS_NAMESPACE },
        data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
      },
      cli,
    )
  await secret('git', { 'ca.crt': authority.certificate })
  await secret('hook', { token: TOKEN })
  const url = `https://localhost:${git.port}/${repository.dir.split('/').at(-1) ?? ''}/.git`
  const value = { spec: { url, secretRef: { name: 'git' }, webhook: { secretRef: { name: 'hook' } } } }
  await hub.client.patch(fleetSource, NAME, { type: 'merge', value })
  informers = createInformers({
    client: hub.client,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
    startSpreadMs: 0,
  })
  const client: Pick<KubeClient, 'get' | 'patch'> = {
    get: (...args) => {
      secretsRead += 1
      return hub.client.get(...args)
    },
    patch: (...args) => hub.client.patch(...args),
  }
  const sources = informers.of(fleetSource)
  informers.start()
  await informers.synced()
  hooks = new HooksServer({ host: '127.0.0.1', port: 0, client, sources, clock: systemClock, log: silentLogger })
  await hooks.start()
})
afterAll(async () => {
  await hooks.stop()
  await informers.stop()
  await git.close()
  await bench.close()
})

const marks = async () => (await bench.hub.client.get(fleetSource, NAME))?.metadata.annotations?.[ANNOTATIONS.reconcile]
const sign = (body: string, token = TOKEN) => `sha256=${createHmac('sha256', token).update(body).digest('hex')}`

interface Sent {
  readonly path?: string
  readonly method?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}
const PATH = `/hooks/${NAME.namespace}/${NAME.name}`
async function send({ path = PATH, method = 'POST', body = '{}', headers = {} }: Sent): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${hooks.port}${path}`, {
    method,
    headers,
    ...(method === 'POST' && { body }),
  })
  return `${response.status} ${(await response.text()).trim()}`
}

test('S19 without the token nothing is learned and nothing is caused: not which sources there are, nor by many requests', async () => {
  const forged = { 'x-hub-signature-256': sign('{}', 'some other token') }
  const answers = new Set([
    await send({}),
    await send({ headers: forged }),
    await send({ headers: { 'x-gitlab-token': 'nothing of the kind' } }),
    await send({ path: '/hooks/kubenode-system/nope', headers: forged }),
    await send({ path: '/hooks/other/fleet', headers: { 'x-hub-signature-256': sign('{}') } }),
    // The signature is of the body as it was sent, not of its meaning.
    await send({ body: '{ }', headers: { 'x-hub-signature-256': sign('{}') } }),
    ...(await Promise.all(Array.from({ length: 40 }, () => send({ headers: forged })))),
  ])
  expect([...answers]).toEqual(['401 not authentic: check the secret of the webhook'])
  expect(await send({ method: 'GET' })).toMatch(/^405 /)
  expect(await send({ path: '/hooks' })).toMatch(/^404 /)
  expect(await send({ path: '/hooks/a/b/c' })).toMatch(/^404 /)
  expect(await send({ body: 'x'.repeat(300_000), headers: forged })).toMatch(/^413 /)
  expect(secretsRead).toBeLessThan(5)
  expect(await marks()).toBeUndefined()
})

test('a body without length is cut off at the bound', async () => {
  const socket = connect(hooks.port, '127.0.0.1')
  const closed = new Promise<string>((resolve) => {
    let text = ''
    socket.on('data', (more: Buffer) => (text += more.toString()))
    socket.on('error', () => resolve(text))
    socket.on('close', () => resolve(text))
  })
  socket.write(`POST ${PATH} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`)
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  for (let n = 0; n < 8; n++) socket.write(chunk)
  expect(await closed).toMatch(/^(HTTP\/1\.1 413|$)/)
})

test('a push is followed at once, by the signature of GitHub and by the token of GitLab; the same request counts once', async () => {
  const { repository, hub } = bench
  const first = repository.commit({ 'fleet/main.ts': '1' })
  await bench.start()
  const commit = async () => (await hub.client.get(fleetSource, NAME))?.status?.commit
  await eventually(commit, (c) => c === first)

  const second = repository.commit({ 'fleet/main.ts': '2' })
  const body = JSON.stringify({ ref: 'refs/heads/main', after: second })
  const headers = { 'x-hub-signature-256': sign(body), 'x-github-event': 'push' }
  expect(await send({ body, headers })).toBe('202 the repository is read now')
  expect(await send({ body, headers })).toBe('202 this request came before')
  await eventually(commit, (c) => c === second)

  const third = repository.commit({ 'fleet/main.ts': '3' })
  const gitlab = { body: `{"after":"${third}"}`, headers: { 'x-gitlab-token': TOKEN, 'x-gitlab-event': 'Push Hook' } }
  expect(await send(gitlab)).toMatch(/^202 the repository is read (now|within seconds)/)
  await eventually(commit, (c) => c === third)
})
