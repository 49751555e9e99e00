import { expect, test } from 'vitest'
import { AGENTS_GROUP, AGENT_SIGNER, BOOTSTRAP_GROUP, agentNodeGroup, agentUser, machineUidGroup } from '#api/names.ts'
import { newPrivateKey, signingRequest } from '#lib/x509/signing-request.ts'
import { reviewApproval } from './approved-request.ts'

const AGENT = {
  commonName: agentUser('m-1'),
  organizations: [AGENTS_GROUP, agentNodeGroup('n-1'), machineUidGroup('uid-1')],
}
const THIEF = { commonName: 'kubenode:defender', organizations: ['kubeadm:cluster-admins'] }
const condition = (type: string) => ({ type, status: 'True' })

async function answerTo(subject: typeof AGENT, conditions: unknown, spec: object = {}) {
  const pem = await signingRequest(await newPrivateKey(), subject)
  const object = {
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: AGENT_SIGNER,
      usages: ['client auth'],
      expirationSeconds: 3_600,
      username: 'system:bootstrap:abcdef',
      groups: ['system:bootstrappers', BOOTSTRAP_GROUP],
      ...spec,
    },
    status: { conditions },
  }
  return saidTo(object)
}

async function saidTo(object: unknown) {
  const kind = { group: 'certificates.k8s.io', version: 'v1', kind: 'CertificateSigningRequest' }
  const { response } = await reviewApproval({ uid: 'u', kind, operation: 'UPDATE', subResource: 'approval', object })
  return response.allowed ? 'allowed' : response.status?.message
}

test('S25 the approval of an agent passes, that of any other name does not', async () => {
  expect(await answerTo(AGENT, [condition('Approved')])).toBe('allowed')
  expect(await answerTo(THIEF, [condition('Approved')])).toMatch(/not approved: the common name must be/)
})

test('S25 a denial passes whatever was asked, unless it approves at the same time', async () => {
  expect(await answerTo(THIEF, [condition('Denied')])).toBe('allowed')
  expect(await answerTo(THIEF, [condition('Denied'), condition('Approved')])).toMatch(/common name/)
})

test.each<[string, unknown, object]>([
  ['conditions that are none', 'Approved', {}],
  ['a request that is no text', [condition('Approved')], { request: 1 }],
  ['a request that is no request', [condition('Approved')], { request: 'AAAA' }],
  ['groups that are no list', [condition('Approved')], { groups: BOOTSTRAP_GROUP }],
  ['a life that is no number', [condition('Approved')], { expirationSeconds: '1' }],
])('S25 %s do not pass', async (_, conditions, spec) => {
  expect(await answerTo(THIEF, conditions, spec)).toMatch(/^not approved: /)
  if (Object.keys(spec).length > 0) expect(await answerTo(AGENT, conditions, spec)).toMatch(/^not approved: /)
})

test.each([undefined, null, 'x', {}, { spec: 1 }])('S25 a review of %j does not pass', async (object) => {
  expect(await saidTo(object)).toMatch(/^not approved: /)
})
