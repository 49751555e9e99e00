// F13 the account of a pod against the embedded server: the token on the disk changes, the old one is revoked, and requests and watches continue.
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { chosenConnection, clientOf } from '#programs/run/connect.ts'
import { connectionsOf } from '#programs/run/role-connections.ts'
import { systemClock } from '#lib/system-clock.ts'
import { seededRandom } from '#lib/random.ts'
import { isUnauthorized } from '#kube/errors.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { createInformer } from '#kube/informer.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { type FaultProxy, startFaultProxy } from '#test/support/faults/fault-proxy.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { CONFIG_MAPS } from '#test/support/servers/kube-contract.ts'

const core = (kind: string, plural: string, namespaced = true): ResourceType => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
})
const SECRETS = core('Secret', 'secrets')
const ACCOUNTS = core('ServiceAccount', 'serviceaccounts')
const BINDINGS: ResourceType = {
  ...core('ClusterRoleBinding', 'clusterrolebindings', false),
  group: 'rbac.authorization.k8s.io',
}
const NAMESPACE = 'default'

let server: RunningServer
let proxy: FaultProxy
let admin: HttpKubeClient
let root: string
const ends: (() => unknown)[] = []
beforeEach(async () => {
  server = await startEmbedded()
  proxy = await startFaultProxy(Number(new URL(server.url).port))
  root = mkdtempSync(join(tmpdir(), 'kubenode-pod-'))
  admin = new HttpKubeClient({
    server: server.url,
    ca: { data: server.ca },
    clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
  })
  await admin.create(ACCOUNTS, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'pod', namespace: NAMESPACE },
  })
  await admin.create(BINDINGS, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'pod' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name: 'pod', namespace: NAMESPACE }],
  })
})
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
  admin.close()
  await proxy.close()
  await server.stop()
  rmSync(root, { recursive: true, force: true })
})

/** A token that ends when the Secret of this name is deleted. */
async function tokenBoundTo(name: string): Promise<string> {
  const { metadata } = await admin.create(SECRETS, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: NAMESPACE },
  })
  const { text } = await admin.raw({
    method: 'POST',
    path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/pod/token`,
    body: {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name, uid: metadata.uid } },
    },
  })
  return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token
}

/** As kubelet replaces a projected volume: a new folder, and one rename. */
let mounts = 0
function mount(token: string): void {
  const folder = join(root, 'var/run/secrets/kubernetes.io/serviceaccount')
  const data = `..${++mounts}`
  mkdirSync(join(folder, data), { recursive: true })
  const files = { token, 'ca.crt': server.ca, namespace: NAMESPACE }
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, data, name), text)
    if (mounts === 1) symlinkSync(`..data/${name}`, join(folder, name))
  }
  symlinkSync(data, join(folder, '..new'))
  renameSync(join(folder, '..new'), join(folder, '..data'))
}

const env = () => ({ KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(proxy.port) })

const config = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: NAMESPACE } })

beforeEach(() => {
  mounts = 0
})

test('a command and a role use the account of their pod when no kubeconfig is named', async () => {
  mount(await tokenBoundTo('one'))
  const { config: command } = await chosenConnection({ env: env(), root, cwd: root })
  expect(command.namespace).toBe(NAMESPACE)
  const client = clientOf(command, 'test')
  ends.push(() => client.close())
  expect((await client.create(CONFIG_MAPS, config('one'))).metadata.uid).toBeDefined()
  const roles = await connectionsOf({
    names: ['defender'],
    files: [],
    mayShare: false,
    env: env(),
    root,
    context: undefined,
  })
  expect(roles.get('defender')?.config).toEqual(command)
})

test('two roles do not share the account of a pod unless a user says so', async () => {
  mount(await tokenBoundTo('one'))
  const asked = { names: ['sync', 'defender'], files: [], env: env(), root, context: undefined } as const
  await expect(connectionsOf({ ...asked, mayShare: false })).rejects.toThrow(/^KN1320: .*the account of this pod/)
  expect((await connectionsOf({ ...asked, mayShare: true })).size).toBe(2)
})

test('F13 a token that was rotated and revoked is read again: requests and watches go on without a restart', async () => {
  mount(await tokenBoundTo('one'))
  const { config: connection } = await chosenConnection({ env: env(), root, cwd: root })
  const client = clientOf(connection, 'test')
  const stop = new AbortController()
  const informer = createInformer({ client, type: CONFIG_MAPS, clock: systemClock, random: seededRandom(1) })
  const running = informer.run(stop.signal)
  ends.push(
    () => client.close(),
    () => stop.abort(new Error('the test is over')),
  )
  await informer.synced()
  const before = await tokenBoundTo('two')
  await admin.delete(SECRETS, { namespace: NAMESPACE, name: 'one' })
  // Revoked, and not replaced yet.
  expect(isUnauthorized(await client.create(CONFIG_MAPS, config('early')).catch((e: unknown) => e))).toBe(true)
  mount(before)
  await Promise.all(Array.from({ length: 20 }, (_, i) => client.create(CONFIG_MAPS, config(`later-${i}`))))
  proxy.reset()
  await admin.create(CONFIG_MAPS, config('seen'))
  await vi.waitFor(() => expect(informer.store.get({ namespace: NAMESPACE, name: 'seen' })).toBeDefined(), 240_000)
  stop.abort(new Error('the test is over'))
  await running
})

test('F13 a login program is asked once more when the server refuses its answer, not at each request', async () => {
  const [good, bad] = [await tokenBoundTo('one'), await tokenBoundTo('two')]
  await admin.delete(SECRETS, { namespace: NAMESPACE, name: 'two' })
  const told: boolean[] = []
  const tokens = [bad, good]
  const client = new HttpKubeClient({
    server: server.url,
    ca: { data: server.ca },
    identity: async (isRefused) => {
      told.push(isRefused)
      return { token: tokens.shift() ?? bad }
    },
  })
  ends.push(() => client.close())
  await client.create(CONFIG_MAPS, config('one'))
  expect(told).toEqual([false, true])
  await admin.delete(SECRETS, { namespace: NAMESPACE, name: 'one' })
  for (let i = 0; i < 5; i++)
    expect(isUnauthorized(await client.create(CONFIG_MAPS, config('two')).catch((e: unknown) => e))).toBe(true)
  expect(told).toEqual([false, true])
})
