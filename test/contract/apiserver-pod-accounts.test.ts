// The service accounts of pods on the embedded server: who a pod is when it says nothing, what it gets for it, and how long the
// tokens that it is given are good.
import { createPublicKey, sign, verify, type webcrypto } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newCredentials } from '#lib/x509/server-keys.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

let server: RunningServer
let api: Requests
let tokenKey = ''
beforeAll(async () => {
  const credentials = newCredentials(Date.now(), ['127.0.0.1'])
  ;({ tokenKey } = credentials)
  server = await startEmbedded({ loops: ['accounts'], credentials })
  api = new Requests(server)
})
afterAll(async () => {
  api.close()
  await server.stop()
})

interface Spec {
  readonly serviceAccountName?: string
  readonly serviceAccount?: string
  readonly imagePullSecrets?: unknown
  readonly volumes?: readonly { readonly name: string }[]
  readonly containers: readonly { readonly volumeMounts?: readonly { readonly name: string }[] }[]
  readonly initContainers?: readonly { readonly volumeMounts?: readonly unknown[] }[]
}
const space = async (): Promise<string> => {
  return `/api/v1/namespaces/${await api.namespace('accounts')}`
}
const container = { name: 'main', image: 'i' }
const podWith = (spec: object = {}, metadata: object = {}) => ({
  metadata: { name: 'p', ...metadata },
  spec: { containers: [container], ...spec },
})
const specOf = (o: KubeObject) => o['spec'] as Spec
const MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

describe('a pod', () => {
  test('that names no account runs as default, also in a namespace that was made a moment ago, with its token', async () => {
    const path = await space()
    const spec = specOf(await api.made(`${path}/pods`, podWith({ initContainers: [{ name: 'i', image: 'i' }] })))
    const [volume] = spec.volumes ?? []
    const mount = { name: volume?.name, readOnly: true, mountPath: MOUNT }
    expect([spec.serviceAccountName, spec.serviceAccount, volume?.name]).toEqual([
      'default',
      'default',
      expect.stringMatching(/^kube-api-access-[a-z0-9]{5}$/),
    ])
    expect(volume).toEqual({
      name: volume?.name,
      projected: {
        defaultMode: 420,
        sources: [
          { serviceAccountToken: { expirationSeconds: 3607, path: 'token' } },
          { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
          {
            downwardAPI: {
              items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
            },
          },
        ],
      },
    })
    expect([spec.containers[0]?.volumeMounts, spec.initContainers?.[0]?.volumeMounts]).toEqual([[mount], [mount]])
  })

  test('whose account is not there is refused', async () => {
    const path = await space()
    const { code, body } = await api.post(`${path}/pods`, podWith({ serviceAccountName: 'nobody' }))
    expect([code, body.reason, body.message]).toEqual([
      403,
      'Forbidden',
      `pods "p" is forbidden: error looking up service account ${path.split('/').at(-1)}/nobody: serviceaccount "nobody" not found`,
    ])
  })

  test.each([
    ['that wants no token', { automountServiceAccountToken: false }, {}],
    ['of an account that mounts none', {}, { automountServiceAccountToken: false }],
    [
      'whose containers mount something else there',
      {
        volumes: [{ name: 'own', emptyDir: {} }],
        containers: [{ ...container, volumeMounts: [{ name: 'own', mountPath: MOUNT }] }],
      },
      {},
    ],
  ])('%s gets none', async (_, spec, account) => {
    const path = await space()
    await api.made(`${path}/serviceaccounts`, { metadata: { name: 'runner' }, ...account })
    const made = specOf(await api.made(`${path}/pods`, podWith({ serviceAccountName: 'runner', ...spec })))
    expect((made.volumes ?? []).filter((v) => v.name.startsWith('kube-api-access-'))).toEqual([])
  })

  test('says yes to a token over an account that says no', async () => {
    const path = await space()
    await api.made(`${path}/serviceaccounts`, { metadata: { name: 'runner' }, automountServiceAccountToken: false })
    const asks = podWith({ serviceAccountName: 'runner', automountServiceAccountToken: true })
    expect(specOf(await api.made(`${path}/pods`, asks)).volumes).toHaveLength(1)
  })

  test('gets the pull secrets of its account unless it has its own', async () => {
    const path = await space()
    await api.made(`${path}/serviceaccounts`, { metadata: { name: 'runner' }, imagePullSecrets: [{ name: 'theirs' }] })
    const pull = async (name: string, more: object) =>
      specOf(await api.made(`${path}/pods`, podWith({ serviceAccountName: 'runner', ...more }, { name })))
        .imagePullSecrets
    expect([await pull('a', {}), await pull('b', { imagePullSecrets: [{ name: 'own' }] })]).toEqual([
      [{ name: 'theirs' }],
      [{ name: 'own' }],
    ])
  })

  test.each([
    ['an account', { serviceAccountName: 'default' }, 'a mirror pod may not reference service accounts'],
    ['a secret', { volumes: [{ name: 's', secret: { secretName: 's' } }] }, 'a mirror pod may not reference secrets'],
    [
      'a secret in its environment',
      {
        containers: [{ ...container, env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }],
      },
      'a mirror pod may not reference secrets',
    ],
    [
      'a token',
      { volumes: [{ name: 's', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }] },
      'a mirror pod may not use ServiceAccountToken volume projections',
    ],
  ])('of a kubelet’s own files is refused %s', async (_, spec, why) => {
    const path = await space()
    const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' } }
    const { code, body } = await api.post(`${path}/pods`, podWith({ nodeName: 'n', ...spec }, mirror))
    expect([code, body.message]).toEqual([403, `pods "p" is forbidden: ${why}`])
  })

  test('of a kubelet’s own files has no account and no token', async () => {
    const path = await space()
    const mirror = podWith({ nodeName: 'n' }, { annotations: { 'kubernetes.io/config.mirror': 'x' } })
    const spec = specOf(await api.made(`${path}/pods`, mirror))
    expect([spec.serviceAccountName, spec.volumes]).toEqual([undefined, undefined])
  })
})

describe('the token of a pod', () => {
  const review = async (token: string) => {
    const { body } = await api.post('/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } })
    return body['status'] as { readonly authenticated?: boolean; readonly user: { readonly extra?: object } }
  }
  const claims = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')) as {
      readonly exp: number
      readonly iat: number
      readonly 'kubernetes.io': { readonly warnafter?: number; readonly node?: object }
    }
  const ask = (path: string, account: string, pod: string, spec: object = {}) =>
    api.post(`${path}/serviceaccounts/${account}/token`, {
      spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: pod }, ...spec },
    })
  const tokenOf = (body: KubeObject) => (body['status'] as { readonly token: string }).token

  test('says which pod on which node, and ends with the pod', async () => {
    const path = await space()
    const node = await api.made('/api/v1/nodes', { metadata: { name: fresh('node') } })
    const pod = await api.made(`${path}/pods`, podWith({ nodeName: node.metadata.name }))
    const { code, body } = await ask(path, 'default', 'p')
    const token = tokenOf(body)
    const { authenticated, user } = await review(token)
    expect([code, authenticated, user.extra]).toEqual([
      201,
      true,
      {
        'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)],
        'authentication.kubernetes.io/node-name': [node.metadata.name],
        'authentication.kubernetes.io/node-uid': [node.metadata.uid],
        'authentication.kubernetes.io/pod-name': ['p'],
        'authentication.kubernetes.io/pod-uid': [pod.metadata.uid],
      },
    ])
    await api.delete(`${path}/pods/p?gracePeriodSeconds=0`)
    expect((await review(token)).authenticated).toBeUndefined()
    expect((await api.get(`${path}/pods`, { token })).code).toBe(401)
  })

  test('is no longer good for a pod that is recreated under the same name', async () => {
    const path = await space()
    await api.made(`${path}/pods`, podWith())
    const token = tokenOf((await ask(path, 'default', 'p')).body)
    await api.delete(`${path}/pods/p`)
    await api.made(`${path}/pods`, podWith())
    expect((await review(token)).authenticated).toBeUndefined()
  })

  test('is not given for a pod of another account', async () => {
    const path = await space()
    await api.made(`${path}/serviceaccounts`, { metadata: { name: 'other' } })
    await api.made(`${path}/pods`, podWith())
    const { code, body } = await ask(path, 'other', 'p')
    expect([code, body.message]).toEqual([
      400,
      'cannot bind token for serviceaccount "other" to pod running with different serviceaccount name.',
    ])
  })

  test('as its volume asks for it outlasts the time that it is said to have, for programs that read it once', async () => {
    const path = await space()
    await api.made(`${path}/pods`, podWith())
    const { body } = await ask(path, 'default', 'p', { expirationSeconds: 3607 })
    const { exp, iat, 'kubernetes.io': ours } = claims(tokenOf(body))
    const { expirationTimestamp } = body['status'] as { readonly expirationTimestamp: string }
    expect([exp - iat, (ours.warnafter ?? 0) - iat, Date.parse(expirationTimestamp) / 1000 - iat]).toEqual([
      365 * 24 * 3600,
      3607,
      3607,
    ])
  })

  test('for another audience lives as long as it says', async () => {
    const path = await space()
    await api.made(`${path}/pods`, podWith())
    const { body } = await ask(path, 'default', 'p', { expirationSeconds: 3607, audiences: ['vault'] })
    const { exp, iat, 'kubernetes.io': ours } = claims(tokenOf(body))
    expect([exp - iat, ours.warnafter]).toEqual([3607, undefined])
    expect((await review(tokenOf(body))).authenticated).toBeUndefined()
  })
})

describe('a token that a controller manager keeps in a Secret', () => {
  const part = (v: unknown) => Buffer.from(JSON.stringify(v)).toString('base64url')
  function signed(claims: object): string {
    const text = `${part({ alg: 'ES256' })}.${part(claims)}`
    const signature = sign('sha256', Buffer.from(text), { key: tokenKey, dsaEncoding: 'ieee-p1363' })
    return `${text}.${signature.toString('base64url')}`
  }
  async function kept(path: string, uid?: string): Promise<string> {
    const account = await api.made(`${path}/serviceaccounts`, { metadata: { name: fresh('keeper') } })
    const namespace = path.split('/').at(-1) ?? ''
    const at = 'kubernetes.io/serviceaccount'
    const token = signed({
      iss: 'kubernetes/serviceaccount',
      [`${at}/namespace`]: namespace,
      [`${at}/secret.name`]: 'kept',
      [`${at}/service-account.name`]: account.metadata.name,
      [`${at}/service-account.uid`]: uid ?? account.metadata.uid,
      sub: `system:serviceaccount:${namespace}:${account.metadata.name}`,
    })
    const annotations = { [`${at.replace('serviceaccount', 'service-account')}.name`]: account.metadata.name }
    const type = 'kubernetes.io/service-account-token'
    await api.made(`${path}/secrets`, { metadata: { name: 'kept', annotations }, type, stringData: { token } })
    return token
  }

  test('is good as long as the Secret holds it', async () => {
    const path = await space()
    const token = await kept(path)
    // known, and without rights
    expect((await api.get(`${path}/pods`, { token })).code).toBe(403)
    await api.patch('merge', `${path}/secrets/kept`, { stringData: { token: 'another' } })
    expect((await api.get(`${path}/pods`, { token })).code).toBe(401)
  })

  test('is of no account once the account was created again, or under another key', async () => {
    const path = await space()
    const token = await kept(path, 'another')
    const forged = `${token.slice(0, -6)}AAAAAA`
    expect([
      (await api.get(`${path}/pods`, { token })).code,
      (await api.get(`${path}/pods`, { token: forged })).code,
    ]).toEqual([401, 401])
  })
})

test('who is shown a token finds the key that signed it', async () => {
  const path = await space()
  await api.made(`${path}/serviceaccounts`, { metadata: { name: 'runner' } })
  const { body } = await api.post(`${path}/serviceaccounts/runner/token`, { spec: { audiences: ['vault'] } })
  const { token } = body['status'] as { readonly token: string }
  const reader = await api.post(`${path}/serviceaccounts/runner/token`, { spec: {} })
  const ours = { token: (reader.body['status'] as { readonly token: string }).token }
  const { jwks_uri: uri, issuer } = (await api.get('/.well-known/openid-configuration', ours)).body as unknown as {
    readonly jwks_uri: string
    readonly issuer: string
  }
  const { keys } = (await api.get(new URL(uri).pathname, ours)).body as unknown as {
    readonly keys: readonly webcrypto.JsonWebKey[]
  }
  const [head = '', claims = '', signature = ''] = token.split('.')
  const key = createPublicKey({ key: keys[0] ?? {}, format: 'jwk' })
  expect([
    verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    ),
    JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')),
    (await api.get('/openid/v1/jwks', { token: '', as: 'system:anonymous' })).code,
  ]).toEqual([true, expect.objectContaining({ iss: issuer, aud: ['vault'] }), 403])
})
