// The attacker has every approval that a certificate needs but the signer's: certificates that the embedded server refuses to sign, whatever their approver.
import 'reflect-metadata'
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AGENTS_GROUP, agentNodeGroup, agentUser, BOOTSTRAP_GROUP, machineUidGroup } from '#api/names.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { noBootstrappers } from '#apiserver/auth/judge-subject.ts'
import { joinersAreAgents } from '#identity/agent-request.ts'
import { type RunningServer, startEmbedded } from '#test/support/servers/api-servers.ts'
import { eventually } from '#test/support/benches/sync-bench.ts'

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const GROUPS = [AGENTS_GROUP, agentNodeGroup('n-a'), machineUidGroup('u')]
const TOKEN = { user: 'system:bootstrap:abcdef', groups: ['system:bootstrappers', BOOTSTRAP_GROUP] }
const AGENT = { user: agentUser('m-a'), groups: GROUPS }
const ADMIN = { user: 'installer', groups: ['system:masters'] }
const AS_AGENT = { commonName: agentUser('m-a'), organizations: GROUPS }
const AS_DEFENDER = { commonName: 'kubenode:defender' }
const AS_ADMINS = { commonName: agentUser('m-a'), organizations: [...GROUPS, 'kubeadm:cluster-admins'] }

interface Signed {
  readonly certificate?: string
  readonly conditions?: readonly { readonly type: string; readonly message?: string }[]
}

describe.each([
  ['that knows agents', { judgeSubject: joinersAreAgents }, 'Signed'],
  ['that knows no user', { judgeSubject: noBootstrappers }, 'Failed'],
])('S25 a signer %s', (_, options, ofToken) => {
  let server: RunningServer
  let made = 0
  beforeAll(async () => void (server = await startEmbedded(options)))
  afterAll(() => server?.stop())

  /** Asked by one, approved by an administrator. */
  async function outcomeOf(
    who: typeof TOKEN,
    subject: { readonly commonName: string; readonly organizations?: readonly string[] },
  ): Promise<string> {
    const status = await statusAfter(who, await signingRequest(await newPrivateKey(), subject))
    return status.certificate === undefined ? 'Failed' : 'Signed'
  }

  async function statusAfter(who: typeof TOKEN, pem: string): Promise<Signed> {
    const connection = {
      server: server.url,
      ca: { data: server.ca },
      clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
    }
    const admin = new HttpKubeClient(connection)
    // The right to ask is not what is tried here.
    const asker = new HttpKubeClient({
      ...connection,
      impersonate: { ...who, groups: [...who.groups, 'system:masters'] },
    })
    try {
      const request = {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name: `r-${++made}` },
        spec: {
          request: Buffer.from(pem).toString('base64'),
          signerName: 'kubernetes.io/kube-apiserver-client',
          usages: ['client auth'],
          expirationSeconds: 3_600,
        },
      }
      expect((await asker.raw({ method: 'POST', path: REQUESTS, body: request })).status).toBe(201)
      const path = `${REQUESTS}/${request.metadata.name}`
      const status = { conditions: [{ type: 'Approved', status: 'True', reason: 'Mine', message: 'mine' }] }
      expect((await admin.raw({ method: 'PUT', path: `${path}/approval`, body: { ...request, status } })).status).toBe(
        200,
      )
      return await eventually(
        async () => (JSON.parse((await admin.raw({ method: 'GET', path })).text) as { readonly status: Signed }).status,
        (s) => s.certificate !== undefined || s.conditions?.some((c) => c.type === 'Failed') === true,
      )
    } finally {
      admin.close()
      asker.close()
    }
  }

  test('gives a token no name of a program and no group of administrators', async () => {
    expect(await outcomeOf(TOKEN, AS_DEFENDER)).toBe('Failed')
    expect(await outcomeOf(TOKEN, AS_ADMINS)).toBe('Failed')
    expect(await outcomeOf(TOKEN, AS_AGENT)).toBe(ofToken)
  })

  test('signs what an administrator asked for and approved', async () => {
    expect(await outcomeOf(ADMIN, AS_DEFENDER)).toBe('Signed')
  })

  test('signs no weak key, not even for an administrator, and its condition says which keys it signs', async () => {
    const weak = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 1_024 }
    const algorithm = { ...weak, publicExponent: new Uint8Array([1, 0, 1]) }
    const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
    const made = await Pkcs10CertificateRequestGenerator.create({ name: 'CN=x', keys, signingAlgorithm: weak })
    const { certificate, conditions = [] } = await statusAfter(ADMIN, made.toString('pem'))
    expect(certificate).toBeUndefined()
    expect(conditions.find((c) => c.type === 'Failed')?.message).toBe(
      'an RSA key of 1024 bits is not accepted; use P-256, P-384, P-521, Ed25519, or RSA of 2048 to 8192 bits',
    )
  })

  if (ofToken === 'Signed')
    test('gives an agent no other name than one of an agent', async () => {
      expect(await outcomeOf(AGENT, AS_DEFENDER)).toBe('Failed')
      expect(await outcomeOf(AGENT, AS_AGENT)).toBe('Signed')
    })
})
