import { createPrivateKey, X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createValidator } from '#api/validate.ts'
import { KINDS } from '#api/kinds.ts'
import { type MachineComponentInput, machineComponent } from '#api/kinds/machine-component.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { type ApiKind } from '#api/kind.ts'
import { silentLogger } from '#lib/log.ts'
import { isUsable } from '#runtime/tls/serving-certificate.ts'
import { newCertificate, type WebhookCertificate } from './certificate.ts'
import { webhookConfiguration } from './registration.ts'
import { parseReview } from './review.ts'
import { pathOf, SecretPaths } from './secret-paths.ts'
import { WebhookServer } from './server.ts'

const paths = new SecretPaths(['token'])
const WEBHOOK_PATH = pathOf('token', 'kinds')
const GUARD_PATH = pathOf('token', 'deletions')

const NOW = Date.now()
/** a needs b, b needs a, and c needs nothing. */
const REQUIREMENTS: Readonly<Record<string, string | undefined>> = { a: 'b', b: 'a', c: '' }
const findComponent = (component: string, version: string): MachineComponentInput['spec'] | undefined => {
  const needed = REQUIREMENTS[component]
  const requires = needed === '' || needed === undefined ? [] : [{ component: needed, range: '^1' }]
  return needed === undefined ? undefined : { ...machineComponent.example.spec, component, version, requires }
}
let certificate: WebhookCertificate
let server: WebhookServer
let port: number

beforeAll(async () => {
  certificate = newCertificate('127.0.0.1', NOW)
  server = new WebhookServer({
    certificate,
    paths,
    judge: { validator: createValidator(), findComponent, findMachine: () => undefined },
    guard: async ({ kind, name, isDryRun }) =>
      kind === 'Machine' && name === 'm-1' && !isDryRun
        ? { kind: 'Held', why: 'too many', retryAfterMs: 1_500 }
        : { kind: 'Passes', ledger: undefined },
    log: silentLogger,
    host: '127.0.0.1',
    port: 0,
  })
  port = await server.start()
})
afterAll(() => server.stop())

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly ca?: string
}

/** Over TLS, like an API server that trusts the registered bundle. */
const send = (body: string, { method = 'POST', path = WEBHOOK_PATH, ca = certificate.ca }: Sent = {}) =>
  new Promise<{ readonly status: number; readonly json: unknown }>((resolve, reject) => {
    const asked = request(
      { host: '127.0.0.1', port, path, method, ca, headers: { 'content-type': 'application/json' } },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => (text += chunk))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, json: JSON.parse(text) }))
      },
    )
    asked.on('error', reject)
    asked.end(body)
  })

const reviewOf = (kind: { readonly kind: string }, object: unknown, rest: object = {}) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: 'r-1',
    kind: { group: 'kubenode.io', version: 'v1alpha1', kind: kind.kind },
    operation: 'CREATE',
    object,
    ...rest,
  },
})

async function answerTo(review: unknown): Promise<{ readonly allowed: boolean; readonly message: string }> {
  const { status, json } = await send(JSON.stringify(review))
  const { response } = json as { response: { uid: string; allowed: boolean; status?: { message: string } } }
  expect([status, response.uid]).toEqual([200, 'r-1'])
  return { allowed: response.allowed, message: response.status?.message ?? '' }
}

describe('reviews over HTTPS', () => {
  test.each(KINDS.map((k) => [k.kind, k] as const))('the example of %s is admitted', async (_, kind: ApiKind) => {
    expect(await answerTo(reviewOf(kind, kind.example))).toEqual({ allowed: true, message: '' })
  })

  test('what no CRD can say is refused with the place and what to do', async () => {
    const spec = { ...operationPermit.example.spec, results: { nobody: 'Succeeded' } }
    const { allowed, message } = await answerTo(reviewOf(operationPermit, { ...operationPermit.example, spec }))
    expect(allowed).toBe(false)
    expect(message).toContain('/spec/results/nobody')
  })

  test('a rule that names an unreported condition is refused', async () => {
    const wrong = { all: [{ fact: 'conditons', path: '/Ready/status', operator: 'equal', value: 'True' }] }
    const remedier = { ...nodeRemedier.example, spec: { ...nodeRemedier.example.spec, when: wrong } }
    const { allowed, message } = await answerTo(reviewOf(nodeRemedier, remedier))
    expect([allowed, message.startsWith('KN4')]).toEqual([false, true])
    expect(message).toContain('/spec/when/all/0')
    expect(message).toContain('did you mean conditions?')
  })

  test('a rule of a policy is held against the facts of the cluster', async () => {
    const rules = [{ name: 'x', when: { all: [{ fact: 'weather', operator: 'equal', value: 1 }] }, reason: 'Rain' }]
    const policy = { ...defenderPolicy.example, spec: { ...defenderPolicy.example.spec, rules } }
    expect(await answerTo(reviewOf(defenderPolicy, policy))).toMatchObject({ allowed: false })
  })

  test.each([
    ['two that require each other are refused', ['c', 'a', 'b'], 'KN5007: /spec/components/1: circular requirement b'],
    ['half of a circle is admitted: another set may declare the other half otherwise', ['a', 'c'], ''],
    ['a version that is not there yet is admitted', ['a', 'later'], ''],
  ])('of a set, %s', async (_, names, problem) => {
    const components = names.map((name) => ({ name, version: '1.0.0' }))
    const set = { ...machineComponentSet.example, spec: { ...machineComponentSet.example.spec, components } }
    const { allowed, message } = await answerTo(reviewOf(machineComponentSet, set))
    expect([allowed, message.slice(0, problem.length)]).toEqual([problem === '', problem])
    if (problem !== '') expect(message).toContain('a → b → a')
  })

  test('a field that never changes is held on updates', async () => {
    const before = operationPermit.example
    const after = { ...before, spec: { ...before.spec, operations: ['Reboot'] } }
    expect(await answerTo(reviewOf(operationPermit, after, { operation: 'UPDATE', oldObject: before }))).toMatchObject({
      allowed: false,
    })
  })

  test.each([
    ['a deletion', reviewOf(operationPermit, null, { operation: 'DELETE' })],
    ['a status', reviewOf(operationPermit, { nonsense: 1 }, { subResource: 'status', operation: 'UPDATE' })],
    [
      'an object on its way out',
      reviewOf(operationPermit, { metadata: { deletionTimestamp: 'now' } }, { operation: 'UPDATE' }),
    ],
    [
      'a kind of others',
      {
        ...reviewOf(operationPermit, {}),
        request: { uid: 'r-1', kind: { group: 'apps', version: 'v1', kind: 'Deployment' }, operation: 'CREATE' },
      },
    ],
  ])('%s is admitted', async (_, review) => {
    expect(await answerTo(review)).toMatchObject({ allowed: true })
  })
})

describe('S18: what strangers may send', () => {
  test.each([
    ['no JSON', '{', 400],
    ['no review', '{}', 400],
    ['a review without a request', JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }), 400],
    ['more than 4 MiB', 'x'.repeat(4 * 1024 * 1024 + 1), 413],
  ])('%s is refused', async (_, body, status) => {
    expect((await send(body)).status).toBe(status)
  })

  test('a review that nests deeper than any object does is not parsed', async () => {
    const review = JSON.stringify(reviewOf(operationPermit, {}))
    const deep = (levels: number) => `${review.slice(0, -1)},"more":${'['.repeat(levels)}${']'.repeat(levels)}}`
    expect((await send(deep(500))).status).toBe(200)
    expect((await send(deep(2_000))).status).toBe(400)
  })

  test.each(['/', '/admit', '/deletions', '/token', '/other/admit', '/token/admit/more'])(
    'S30 path %s is not found, and the answer does not name the real one',
    async (path) => {
      const { status, json } = await send('{}', { path })
      expect([status, json]).toEqual([404, { message: 'not found' }])
    },
  )

  test('there is one method', async () => {
    expect((await send('', { method: 'PUT' })).status).toBe(405)
  })

  test('a client that trusts another authority does not talk to it', async () => {
    const { ca } = newCertificate('127.0.0.1', NOW)
    await expect(send('{}', { ca })).rejects.toThrow(/certificate|signature/)
  })

  test('an answer names the uid that it was asked with, and a uid of any length is not echoed', () => {
    expect(parseReview(reviewOf(operationPermit, {}, { uid: 'x'.repeat(200) }))).toBe('the request has no uid')
  })
})

describe('the certificate', () => {
  /** Certificates have whole seconds. */
  const AT = Math.floor(NOW / 1_000) * 1_000

  test.each([
    ['an address', '127.0.0.1'],
    ['an address of version 6', 'fd00::1'],
    ['a name', 'webhook.example.org'],
    ['a name of numbers', '10.1'],
  ])('is for %s, from a day ago to a year ahead, by an authority of its own', (_, host) => {
    const made = newCertificate(host, AT)
    const [own, ca] = [new X509Certificate(made.cert), new X509Certificate(made.ca)]
    expect([own.subject, own.issuer, ca.issuer]).toEqual([
      'CN=kubenode-webhook',
      'CN=kubenode-webhook-ca',
      'CN=kubenode-webhook-ca',
    ])
    expect([own.verify(ca.publicKey), own.ca, ca.ca, own.keyUsage]).toEqual([true, false, true, ['1.3.6.1.5.5.7.3.1']])
    expect([own, ca].map((c) => [AT - c.validFromDate.getTime(), c.validToDate.getTime() - AT])).toEqual([
      [86_400_000, 365 * 86_400_000],
      [86_400_000, 365 * 86_400_000],
    ])
    expect(own.checkPrivateKey(createPrivateKey(made.key))).toBe(true)
    expect([isUsable(made, [host], AT), isUsable(made, ['elsewhere.example.org'], AT)]).toEqual([true, false])
  })
})

test('the registration fails open and asks for our kinds only', () => {
  const [hook] = webhookConfiguration('https://127.0.0.1', 'pem', 'token')['webhooks'] as readonly Record<
    string,
    unknown
  >[]
  expect(hook).toMatchObject({ failurePolicy: 'Ignore', sideEffects: 'None', admissionReviewVersions: ['v1'] })
  expect(JSON.stringify(hook?.['rules'])).not.toContain('defenderledgers')
})

describe('deletions', () => {
  const deletion = (rest: object) => ({
    ...reviewOf({ kind: 'Machine' }, undefined, { operation: 'DELETE', name: 'm-1', oldObject: {}, ...rest }),
  })
  test('that the guard holds for a moment are answered with 429, why, and when to come back', async () => {
    const { json } = await send(JSON.stringify(deletion({})), { path: GUARD_PATH })
    expect(json).toMatchObject({
      response: {
        allowed: false,
        status: { code: 429, message: 'denied by the deletion guard: too many', details: { retryAfterSeconds: 2 } },
      },
    })
  })
  test.each([
    ['another object', { name: 'm-2' }],
    ['a dry run', { dryRun: true }],
    ['a subresource', { subResource: 'status' }],
    ['something that is no deletion', { operation: 'UPDATE' }],
  ])('of %s pass', async (_, rest) => {
    const { json } = await send(JSON.stringify(deletion(rest)), { path: GUARD_PATH })
    expect(json).toMatchObject({ response: { allowed: true } })
  })
})
