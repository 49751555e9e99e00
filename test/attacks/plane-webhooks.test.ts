// The attacker administers a hosted control plane: its API server calls webhooks where they say, but no address of the host that it runs on.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { EmbeddedHost } from '#controlplanes/embedded/embedded-host.ts'
import { ProcessEngine } from '#controlplanes/embedded/processes/process-engine.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { systemClock } from '#lib/system-clock.ts'
import { EMBEDDED_DATA } from '#programs/planes/plane-snapshots.ts'
import { spawnPlanes } from '#programs/planes/child.ts'
import { programFile } from '#test/support/tools/own-build.ts'
import { startWebhookEndpoint, type WebhookEndpoint } from '#test/support/servers/webhook-endpoint.ts'

const PROGRAM = [process.execPath, programFile('main')]
const ADMIN = { user: 'tenant', groups: ['system:masters'], lifeMs: 3_600_000 } as const
const REGISTRATION = '/apis/admissionregistration.k8s.io/v1'
const CONFIGURATION = `${REGISTRATION}/validatingwebhookconfigurations`
const REFUSED = /may not connect to/

let root: string
let folder: string
let host: EmbeddedHost
let inside: WebhookEndpoint
let tenant: HttpKubeClient
let port: number

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-calls-'))
  folder = join(root, 'webhooks')
  mkdirSync(folder)
  inside = await startWebhookEndpoint()
  port = Number(new URL(inside.url).port)
  inside.on('/', () => ({ allowed: true }))
  const engine = new ProcessEngine({
    clock: systemClock,
    data: EMBEDDED_DATA,
    perProcess: 1,
    spawn: () => spawnPlanes(PROGRAM, ['--webhook-allow-in', folder]),
  })
  host = new EmbeddedHost({ root: join(root, 'planes'), clock: systemClock, engine })
  await host.open()
  await host.put({ id: 'fleet.a', owner: 'uid-a', version: '1.36.0' })
  tenant = new HttpKubeClient(parseSafeKubeconfig((await host.kubeconfig('fleet.a', ADMIN)) ?? '', 'test').config)
})
afterAll(async () => {
  tenant?.close()
  await host?.close()
  await inside?.stop()
  rmSync(root, { recursive: true, force: true })
})
beforeEach(() => {
  rmSync(join(folder, 'cluster'), { force: true })
})

const send = async (method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object): Promise<string> => {
  try {
    const { text } = await tenant.raw({ method, path, ...defined({ body }) })
    return text
  } catch (e) {
    return messageOf(e)
  }
}

let count = 0
const written = () => {
  const metadata = { name: `written-${++count}`, namespace: 'default' }
  return send('POST', '/api/v1/namespaces/default/configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata })
}

/** What a write of the tenant is answered while this webhook is registered. */
async function answerWith(clientConfig: object): Promise<string> {
  const rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['CREATE'] }
  const webhook = {
    name: 'calls.example.org',
    clientConfig: { ...clientConfig, caBundle: inside.caBundle },
    rules: [rule],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    timeoutSeconds: 5,
  }
  const metadata = { name: 'calls' }
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata,
    webhooks: [webhook],
  }
  const made = await send('POST', CONFIGURATION, configuration)
  expect(made).toContain('"calls"')
  try {
    return await written()
  } finally {
    await send('DELETE', `${CONFIGURATION}/calls`)
  }
}

const ownAddress = Object.values(networkInterfaces())
  .flatMap((of) => of ?? [])
  .find((a) => !a.internal && a.family === 'IPv4')?.address

const URLS = [
  'https://127.0.0.1:PORT/',
  'https://localhost:PORT/',
  'https://[::1]:PORT/',
  'https://[::ffff:127.0.0.1]:PORT/',
  'https://2130706433:PORT/',
  'https://0.0.0.0:PORT/',
  'https://169.254.169.254/',
  ...(ownAddress === undefined ? [] : [`https://${ownAddress}:PORT/`]),
]

test.each(URLS)('S13 a webhook at %s is not called by a hosted control plane', async (url) => {
  expect(await answerWith({ url: url.replace('PORT', String(port)) })).toMatch(REFUSED)
  expect(inside.connections()).toBe(0)
})

test('S13 a Service whose endpoints are addresses of the host leads nowhere', async () => {
  const metadata = { name: 'inside', namespace: 'default' }
  const ports = [{ name: 'https', port: 443 }]
  await send('POST', '/api/v1/namespaces/default/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { ports, clusterIP: 'None' },
  })
  await send('POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'inside' } },
    addressType: 'FQDN',
    endpoints: [{ addresses: ['localhost'] }],
    ports: [{ name: 'https', port }],
  })
  expect(await answerWith({ service: { name: 'inside', namespace: 'default', port: 443 } })).toMatch(REFUSED)
  expect(inside.connections()).toBe(0)
})

test('S13 a definition that is converted at an address of the host is answered without a call', async () => {
  const version = (name: string, storage: boolean) => ({
    name,
    storage,
    served: true,
    schema: { openAPIV3Schema: { type: 'object' } },
  })
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await send('POST', definitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.calls.example.org' },
    spec: {
      group: 'calls.example.org',
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      versions: [version('v1', true), version('v2', false)],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle: inside.caBundle },
        },
      },
    },
  })
  const things = '/apis/calls.example.org/v2/namespaces/default/things'
  const thing = { apiVersion: 'calls.example.org/v2', kind: 'Thing', metadata: { name: 'a', namespace: 'default' } }
  const answers: string[] = []
  await expect
    .poll(async () => {
      answers.push(await send('POST', things, thing))
      return answers.at(-1)
    })
    .toMatch(REFUSED)
  expect(inside.connections()).toBe(0)
})

test('an address that a Defender of this host announced is called, and no other port of it', async () => {
  writeFileSync(join(folder, 'cluster'), `127.0.0.1:${port + 1}\n`)
  expect(await answerWith({ url: `https://127.0.0.1:${port}/` })).toMatch(REFUSED)
  expect(inside.connections()).toBe(0)
  writeFileSync(join(folder, 'cluster'), `127.0.0.1:${port}\n`)
  expect(await answerWith({ url: `https://127.0.0.1:${port}/` })).toContain('"kind":"ConfigMap"')
  expect(inside.connections()).toBe(1)
})
