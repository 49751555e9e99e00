// A neighbor in the network, who reaches every port and has no key.
import { type OutgoingHttpHeaders } from 'node:http'
import { once } from 'node:events'
import { request } from 'node:https'
import { type Socket, connect } from 'node:net'
import { expect, test } from 'vitest'
import { ANNOTATIONS } from '#api/names.ts'
import { createValidator } from '#api/validate.ts'
import { createApiServer } from '#apiserver/api-server.ts'
import { DEFAULT_LIMITS, withConnections } from '#apiserver/flow/limits.ts'
import { newCertificate } from '#defender/webhook/certificate.ts'
import { SecretPaths } from '#defender/webhook/secret-paths.ts'
import { WebhookServer } from '#defender/webhook/server.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { Requests } from '#test/support/servers/api-requests.ts'
import {
  type Answer,
  type Attempt,
  type AttackWorld,
  tryHere,
  tryOnServers,
} from '#test/support/worlds/attack-world.ts'
import { newAuthority } from '#test/support/servers/tls.ts'

interface Sent {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly cert?: string
  readonly key?: string
}

const MASTERS = ['system:masters']

/** Over TLS with a stranger's means: nothing, or self-made keys. */
const send = ({ server }: AttackWorld, path: string, { method = 'GET', headers = {}, ...keys }: Sent = {}) =>
  new Promise<Answer>((resolve, reject) => {
    const asked = request(`${server.url}${path}`, { method, headers, ca: server.ca, ...keys }, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => (text += chunk))
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    asked.on('error', reject)
    asked.end()
  })

const SECRETS = '/api/v1/secrets'

const MASTER = { user: 'installer', groups: [...MASTERS, 'system:authenticated'] }
/** As a user with all rights: only a policy could refuse it, as no webhook is registered here. */
const deleteNamespace = ({ ask }: AttackWorld, name: string) =>
  ask(MASTER, 'DELETE', `/api/v1/namespaces/${name}?dryRun=All`)
const mark = ({ ask }: AttackWorld, name: string, value: 'true' | null) =>
  ask(MASTER, 'PATCH', `/api/v1/namespaces/${name}`, {
    body: { metadata: { annotations: { [ANNOTATIONS.uninstalling]: value } } },
  })

const ATTEMPTS: readonly Attempt[] = [
  {
    name: 'a request without an identity reads Secrets',
    attempt: (world) => send(world, SECRETS),
    control: ({ server, ...world }) => send({ server, ...world }, SECRETS, { cert: server.cert, key: server.key }),
    refused: /^40[13] /,
  },
  {
    name: 'a forged token',
    attempt: (world) => send(world, SECRETS, { headers: { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' } }),
    refused: 401,
  },
  {
    name: 'a certificate of an authority of their own, in system:masters',
    attempt: async (world) => send(world, SECRETS, await (await newAuthority()).client('admin', MASTERS)),
    refused: /^40[13] /,
  },
  {
    name: 'headers of a front proxy that does not exist',
    attempt: (world) =>
      send(world, SECRETS, { headers: { 'x-remote-user': 'admin', 'x-remote-group': 'system:masters' } }),
    refused: /^40[13] /,
  },
  {
    name: 'impersonation without an identity',
    attempt: (world) =>
      send(world, SECRETS, { headers: { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' } }),
    refused: /^40[13] /,
  },
  ...['kubenode-system', 'kube-node-lease'].map((name) => ({
    name: `an unreachable Defender lets namespace ${name} be deleted`,
    attempt: async (world: AttackWorld) => {
      const metadata = { name }
      // Not every server made it yet.
      await world.ask(MASTER, 'POST', '/api/v1/namespaces', { body: { apiVersion: 'v1', kind: 'Namespace', metadata } })
      return deleteNamespace(world, name)
    },
    control: async (world: AttackWorld) => {
      await mark(world, name, 'true')
      const answer = await deleteNamespace(world, name)
      await mark(world, name, null)
      return answer
    },
    refused: /^4(03|22) [^]*does not live without/,
  })),
]

const forged = JSON.stringify({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'forged',
    kind: { group: '', version: 'v1', kind: 'Node' },
    operation: 'DELETE',
    name: 'n-a',
    userInfo: { username: 'admin' },
    oldObject: { metadata: { name: 'n-a', uid: 'n-a' } },
  },
})

interface Client {
  readonly cert?: string
  readonly key?: string
}

/** What three forged reviews get from the webhook of the Defender, and how often its guard was asked. */
async function forge(path: string, client: Client = {}, clientCa?: string, silentConnections = 0) {
  let asked = 0
  const certificate = newCertificate('127.0.0.1', systemClock.now())
  const paths = new SecretPaths(['known'])
  const server = new WebhookServer({
    certificate,
    paths,
    judge: { validator: createValidator(), findComponent: () => undefined, findMachine: () => undefined },
    guard: async () => {
      asked++
      return { kind: 'Passes', ledger: undefined }
    },
    log: silentLogger,
    host: '127.0.0.1',
    port: 0,
    ...defined({ clientCa }),
  })
  const port = await server.start()
  const post = () =>
    new Promise<Answer>((resolve) => {
      const options = { host: '127.0.0.1', port, path, method: 'POST', ca: certificate.ca, ...client }
      const sent = request(options, (answer) => {
        answer.resume().on('end', () => resolve({ status: answer.statusCode ?? 0, text: `guard asked ${asked}` }))
      })
      sent.on('error', (e) => resolve({ status: 0, text: `${e.message}; guard asked ${asked}` }))
      sent.end(forged)
    })
  const silent = Array.from({ length: silentConnections }, () => connect({ host: '127.0.0.1', port }))
  for (const socket of silent) socket.on('error', () => undefined)
  try {
    await Promise.all(silent.map((socket) => once(socket, 'connect')))
    await post()
    await post()
    return await post()
  } finally {
    for (const socket of silent) socket.destroy()
    await server.stop()
  }
}

const FORGED: readonly Attempt<void>[] = [
  ...['/deletions', '/admit', '/', '/guessed/deletions'].map((path) => ({
    name: `S30 three forged reviews at ${path} use up the deletions of a day`,
    attempt: () => forge(path),
    control: () => forge('/known/deletions'),
    refused: /^404 guard asked 0$/,
  })),
  {
    name: 'S30 a forged review at the right path, where API servers have a certificate',
    attempt: async () => forge('/known/deletions', {}, (await newAuthority()).cert),
    control: async () => {
      const authority = await newAuthority()
      return forge('/known/deletions', await authority.client('apiserver'), authority.cert)
    },
    refused: /^0 [^]*guard asked 0$/,
  },
]

test.each([1, 64, 200])('%d silent connections do not keep API servers from asking the guard', async (silent) => {
  const { status, text } = await forge('/known/deletions', {}, undefined, silent)
  expect([status, text]).toEqual([200, 'guard asked 3'])
})

test('S24 silent connections to the API server cost each other their place, not who has a key', async () => {
  const PLACES = 20
  const server = await createApiServer({
    loops: 'none',
    limits: { held: withConnections(DEFAULT_LIMITS.held, PLACES) },
  })
  await server.listen()
  const { hostname, port } = new URL(server.url)
  const silent: Socket[] = []
  const { certificate: cert, key } = server.credentials.admin
  const api = () => new Requests({ url: server.url, ca: server.ca, cert, key })
  const [early, late] = [api(), api()]
  try {
    expect((await early.send('GET', '/api/v1/namespaces')).code).toBe(200)
    for (let i = 0; i < 3 * PLACES; i++) {
      const socket = connect({ host: hostname, port: Number(port) })
      socket.on('error', () => undefined)
      silent.push(socket)
      await once(socket, 'connect')
    }
    expect((await late.send('GET', '/api/v1/namespaces')).code).toBe(200)
    expect((await early.send('GET', '/api/v1/namespaces')).code).toBe(200)
    expect(silent.filter((s) => !s.closed).length).toBeLessThanOrEqual(PLACES / 2)
  } finally {
    for (const socket of silent) socket.destroy()
    for (const requests of [early, late]) requests.close()
    await server.close()
  }
})

tryHere('a neighbor in the network, at the webhook of the Defender', FORGED)
tryOnServers('a neighbor in the network', ATTEMPTS)
