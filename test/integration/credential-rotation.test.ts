// Each credential of a cluster rotated alone, on a server that keeps serving: reads, a watch, service account tokens and joining hosts keep working.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApiServer, type ApiServer } from '#apiserver/api-server.ts'
import { serverCredentials } from '#controlplanes/credentials/server-credentials.ts'
import { credentials, type CredentialInputs } from '#controlplanes/credentials/graph.ts'
import { rootIn, type Held } from '#controlplanes/credentials/held.ts'
import { carryOut } from '#controlplanes/credentials/make.ts'
import {
  ADMIN_LEAF,
  CLUSTER_AUTHORITY,
  EMBEDDED_RECIPE,
  HUB_LEAF,
  kubeconfigName,
  SERVER_LEAF,
  SYNC_LEAF,
  TOKEN_KEYS,
} from '#controlplanes/credentials/recipe.ts'
import { credentialSecret, heldIn } from '#controlplanes/credentials/secrets.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { systemClock } from '#lib/system-clock.ts'
import { isObject } from '#lib/json.ts'
import { certificatesIn } from '#lib/x509/pem-list.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { atOnce } from '#test/support/fleets/at-once-recipe.ts'
import { freePort } from '#test/support/servers/free-port.ts'

const configMaps = coreKind('ConfigMap')
const requests = coreKind('CertificateSigningRequest')
const TOKEN = 'abcdef.0123456789abcdef'
const NAMESPACE = 'default'

let server: ApiServer
let held: Held = {}
let inputs: CredentialInputs
const clients: HttpKubeClient[] = []
const stopWatch = new AbortController()

const given = () => {
  const found = serverCredentials(held, credentials(inputs, Date.now(), held).serverDigest ?? '')
  if (found === undefined) throw new Error('incomplete')
  return found
}

/** As the controller keeps them: every item makes its way through a Secret. */
const stored = (items: Held): Held =>
  heldIn(Object.entries(items).map(([name, item]) => credentialSecret('kc-test', name, item))).held

/** One write, and the server follows at once. */
async function step(): Promise<boolean> {
  const now = Date.now()
  const [order] = credentials(inputs, now, held).orders
  if (order === undefined) return false
  const item = carryOut(order, now, held)
  if (item === undefined) throw new Error('nothing is dropped here')
  held = stored({ ...held, [order.name]: item })
  const { serverDigest } = credentials(inputs, now, held)
  if (serverDigest === undefined) return true
  await server?.replaceCredentials(given())
  inputs = { ...inputs, servers: { total: 1, running: [serverDigest] } }
  return true
}

function clientOf(leaf: string): KubeClient {
  const config = held[kubeconfigName(leaf)]
  if (config?.kind !== 'Kubeconfig') throw new Error(`no kubeconfig ${leaf}`)
  const client = new HttpKubeClient(parseSafeKubeconfig(config.text, leaf).config)
  clients.push(client)
  return client
}

const seen: string[] = []

/** As reflectors do: a watch that ends continues where it was, with the kubeconfig of then. */
async function keepWatching(): Promise<void> {
  let from = (await clientOf(HUB_LEAF).list(configMaps, { namespace: NAMESPACE })).resourceVersion
  while (!stopWatch.signal.aborted) {
    try {
      const events = clientOf(HUB_LEAF).watch(configMaps, {
        namespace: NAMESPACE,
        resourceVersion: from,
        signal: stopWatch.signal,
      })
      for await (const event of events) {
        from = event.type === 'BOOKMARK' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? from)
        if (event.type === 'ADDED') seen.push(event.object.metadata.name ?? '')
      }
    } catch {
      await systemClock.sleep(20)
    }
  }
}

beforeAll(async () => {
  const port = await freePort()
  inputs = {
    recipe: atOnce(EMBEDDED_RECIPE),
    endpoint: `https://127.0.0.1:${port}`,
    hosts: [],
    declared: {},
    servers: { total: 0, running: [] },
    agents: [],
  }
  while (await step());
  server = await createApiServer({ port, credentials: given() })
  await server.listen()
  inputs = { ...inputs, servers: { total: 1, running: [credentials(inputs, Date.now(), held).serverDigest ?? ''] } }
  const [id = '', secret = ''] = TOKEN.split('.')
  const data = { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-authentication': 'true' }
  await clientOf(ADMIN_LEAF).create(coreKind('Secret'), {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'bootstrap.kubernetes.io/token',
    metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
    data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
  })
  void keepWatching()
})
afterAll(async () => {
  stopWatch.abort()
  for (const client of clients) client.close()
  await server?.close()
})

let made = 0

async function whoIs(client: KubeClient): Promise<string> {
  const { text } = await client.raw({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  })
  const { status } = JSON.parse(text) as { readonly status: { readonly userInfo: { readonly username: string } } }
  return status.userInfo.username
}

/** As kubelets do: a token of the cluster and its authorities, as they are given to hosts now. */
async function joins(): Promise<string> {
  const name = `joiner-${++made}`
  const admin = clientOf(ADMIN_LEAF)
  const key = await newPrivateKey()
  const request = await signingRequest(key, { commonName: `system:node:${name}`, organizations: ['system:nodes'] })
  const place = { server: inputs.endpoint, ca: { data: server.ca } }
  const stranger = new HttpKubeClient({ ...place, token: { data: TOKEN } })
  clients.push(stranger)
  expect(await whoIs(stranger)).toBe('system:bootstrap:abcdef')
  await admin.create(requests, {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['client auth', 'digital signature'],
    },
  })
  const issued = async (): Promise<string> => {
    const status = (await admin.get(requests, { name }))?.['status']
    return isObject(status) ? Buffer.from(status['certificate'] ?? '', 'base64').toString() : ''
  }
  // The server approves it: the requester may ask for kubelets.
  await expect.poll(issued).not.toBe('')
  const certificate = await issued()
  const node = new HttpKubeClient({ ...place, clientCertificate: { cert: { data: certificate }, key: { data: key } } })
  clients.push(node)
  return whoIs(node)
}

async function everythingWorks(): Promise<void> {
  expect(await whoIs(clientOf(ADMIN_LEAF))).toBe('kubernetes-admin')
  expect(await whoIs(clientOf(HUB_LEAF))).toBe('kubenode:cluster')
  expect(await whoIs(clientOf(SYNC_LEAF))).toBe('kubenode:sync')
  const name = `event-${++made}`
  await clientOf(HUB_LEAF).create(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: NAMESPACE },
  })
  await expect.poll(() => seen.filter((one) => one === name)).toEqual([name])
  expect(await joins()).toBe(`system:node:joiner-${made}`)
}

const tokenOfDefault = async (): Promise<string> => {
  const { text } = await clientOf(ADMIN_LEAF).raw({
    method: 'POST',
    path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default/token`,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  })
  return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token
}

async function isTokenGood(token: string): Promise<boolean> {
  const client = new HttpKubeClient({ server: inputs.endpoint, ca: { data: server.ca }, token: { data: token } })
  clients.push(client)
  return whoIs(client).then(
    (name) => name === `system:serviceaccount:${NAMESPACE}:default`,
    () => false,
  )
}

test.each([SERVER_LEAF, ADMIN_LEAF, HUB_LEAF, SYNC_LEAF, CLUSTER_AUTHORITY, TOKEN_KEYS])(
  'while %s is rotated, reads, the watch and joining hosts keep working at every step, and the old one is out at the end',
  async (name) => {
    await everythingWorks()
    const before = held[name]
    inputs = { ...inputs, declared: { ...inputs.declared, [name]: (inputs.declared[name] ?? 1) + 1 } }
    for (let steps = 0; await step(); steps++) {
      expect(steps).toBeLessThan(20)
      await everythingWorks()
    }
    expect(held[name]).not.toEqual(before)
    for (const { name: root } of [...inputs.recipe.authorities, ...inputs.recipe.keySets])
      expect(rootIn(held, root)?.generations).toHaveLength(1)
  },
)

test('a token of a service account is good while its key is on its way out, and no longer', async () => {
  const old = await tokenOfDefault()
  inputs = { ...inputs, declared: { ...inputs.declared, [TOKEN_KEYS]: (inputs.declared[TOKEN_KEYS] ?? 1) + 1 } }
  const good: boolean[] = []
  while (await step()) good.push(await isTokenGood(old))
  expect(good).toEqual([true, true, false])
  expect(await isTokenGood(await tokenOfDefault())).toBe(true)
})

test('namespaces and other programs of the control plane learn every authority that is trusted', async () => {
  inputs = { ...inputs, declared: { ...inputs.declared, [CLUSTER_AUTHORITY]: 9 } }
  await step()
  expect(certificatesIn(server.ca)).toHaveLength(2)
  const published = async (namespace: string, name: string, key: string): Promise<unknown> => {
    const data = (await clientOf(ADMIN_LEAF).get(configMaps, { namespace, name }))?.['data']
    return isObject(data) ? data[key] : undefined
  }
  await expect.poll(() => published(NAMESPACE, 'kube-root-ca.crt', 'ca.crt')).toBe(server.ca)
  expect(await published('kube-system', 'extension-apiserver-authentication', 'client-ca-file')).toBe(server.ca)
})

test('a Secret that cannot be read is named, and those of others are left out', () => {
  const good = credentialSecret('kc-test', ADMIN_LEAF, held[ADMIN_LEAF] ?? { kind: 'Kubeconfig', madeOf: '', text: '' })
  const bad = { ...good, metadata: { name: 'credentials-ca', namespace: 'kc-test' }, data: { 'item.json': 'e30=' } }
  const other = { ...good, type: 'Opaque', metadata: { name: 'credentials-other', namespace: 'kc-test' } }
  const read = heldIn([good, bad, other])
  expect([Object.keys(read.held), read.damaged]).toEqual([[ADMIN_LEAF], ['credentials-ca']])
})
