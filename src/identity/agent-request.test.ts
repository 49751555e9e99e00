import { describe, expect, test } from 'vitest'
import {
  AGENTS_GROUP,
  AGENT_SIGNER,
  BOOTSTRAP_GROUP,
  JOIN_ACCOUNTS_GROUP,
  TOKEN_SIGNER,
  agentKeyGroup,
  agentNodeGroup,
  agentUser,
  joinAccountUser,
  machineUidGroup,
  tokenKeyGroup,
} from '#api/names.ts'
import { agentRequestProblem, joinersAreAgents } from './agent-request.ts'
import { LONGEST_LIFE_SECONDS } from './certificate-life.ts'
import type { CertificateRequest } from './certificate-request.ts'
import type { RequestContent } from './request-content.ts'

const GROUPS = [AGENTS_GROUP, agentNodeGroup('n-1'), machineUidGroup('uid-1')]
const AGENT: RequestContent = { commonNames: [agentUser('m-1')], organizations: GROUPS, extras: [], key: 'k' }
const JOIN: CertificateRequest['spec'] = {
  request: '',
  signerName: AGENT_SIGNER,
  usages: ['client auth', 'digital signature'],
  expirationSeconds: LONGEST_LIFE_SECONDS,
  username: 'system:bootstrap:abcdef',
  groups: ['system:bootstrappers', BOOTSTRAP_GROUP],
}

const problemOf = (spec: CertificateRequest['spec'], content: RequestContent) =>
  agentRequestProblem({ metadata: {}, spec }, content)

describe('S25 a request that the approver approves', () => {
  test.each<[string, Partial<CertificateRequest['spec']>]>([
    ['with a join token', {}],
    ['with the certificate of the same agent', { username: agentUser('m-1'), groups: GROUPS }],
  ])('%s is an agent', (_, spec) => {
    expect(problemOf({ ...JOIN, ...spec }, AGENT)).toBeUndefined()
  })

  test('for a token names the account of its Machine and one key for tokens', () => {
    const key = 'k'.repeat(43)
    const spec = {
      ...JOIN,
      signerName: TOKEN_SIGNER,
      username: joinAccountUser('uid-1'),
      groups: [JOIN_ACCOUNTS_GROUP],
    }
    const naming = (...keys: readonly string[]) => ({
      ...AGENT,
      organizations: [...GROUPS, agentKeyGroup('k'), ...keys.map(tokenKeyGroup)],
    })
    expect(problemOf(spec, naming(key))).toBeUndefined()
    expect(problemOf(spec, naming())).toMatch(/no key for tokens/)
    expect(problemOf(spec, naming(key, 'j'.repeat(43)))).toMatch(/no key for tokens/)
    expect(problemOf({ ...spec, username: joinAccountUser('uid-2') }, naming(key))).toMatch(/may not ask/)
    expect(problemOf({ ...spec, signerName: AGENT_SIGNER }, naming(key))).toMatch(/no other signer/)
    expect(problemOf({ ...JOIN, signerName: TOKEN_SIGNER }, naming(key))).toMatch(/no other signer/)
    // A certificate never names such a key.
    expect(problemOf(JOIN, naming(key))).toMatch(/organizations/)
  })

  test('may name its own key, and no other', () => {
    const naming = (key: string) => ({ ...AGENT, organizations: [...GROUPS, agentKeyGroup(key)] })
    expect(problemOf(JOIN, naming('k'))).toBeUndefined()
    expect(problemOf(JOIN, naming('x'))).toMatch(/organizations/)
  })

  test.each<[string, Partial<CertificateRequest['spec']>, Partial<RequestContent>, RegExp]>([
    ['in the name of a program', {}, { commonNames: ['kubenode:defender'] }, /common name/],
    ['in the name of no object', {}, { commonNames: [agentUser('M/1')] }, /common name/],
    ['in two names', {}, { commonNames: [agentUser('m-1'), 'kubenode:defender'] }, /common name/],
    ['of administrators', {}, { organizations: ['kubeadm:cluster-admins'] }, /organizations/],
    ['of administrators beside', {}, { organizations: [...GROUPS, 'kubeadm:cluster-admins'] }, /organizations/],
    ['of two Nodes', {}, { organizations: [...GROUPS.slice(0, 2), agentNodeGroup('n-2')] }, /organizations/],
    ['of no uid', {}, { organizations: [...GROUPS.slice(0, 2), machineUidGroup('')] }, /organizations/],
    ['with other fields', {}, { extras: ['extension 2.5.29.17'] }, /unsupported fields/],
    ['for a server', { usages: ['client auth', 'server auth'] }, {}, /usage server auth/],
    ['for nothing', { usages: [] }, {}, /client auth is missing/],
    ['for longer', { expirationSeconds: LONGEST_LIFE_SECONDS + 1 }, {}, /valid for at most/],
    ['from another signer', { signerName: 'kubernetes.io/kube-apiserver-client-kubelet' }, {}, /no other signer/],
    ['by another agent', { username: agentUser('m-2'), groups: GROUPS }, {}, /may not ask/],
    ['by a person', { username: 'somebody', groups: ['system:authenticated'] }, {}, /may not ask/],
    ['with a token of others', { groups: ['system:bootstrappers'] }, {}, /may not ask/],
  ])('%s is none', (_, spec, content, why) => {
    expect(problemOf({ ...JOIN, ...spec }, { ...AGENT, ...content })).toMatch(why)
  })

  test('without an end is none', () => {
    const { expirationSeconds: _, ...endless } = JOIN
    expect(problemOf(endless, AGENT)).toMatch(/not set/)
  })
})

test('S25 the signer gives joiners and agents the name of an agent, and decides on no other request', () => {
  const own = { commonName: agentUser('m-1'), organizations: GROUPS }
  const stolen = { commonName: 'kubenode:defender', organizations: [] }
  for (const groups of [['system:bootstrappers', BOOTSTRAP_GROUP], GROUPS])
    expect([joinersAreAgents({ groups }, own), joinersAreAgents({ groups }, stolen)]).toEqual([
      undefined,
      expect.stringContaining('common name'),
    ])
  expect(joinersAreAgents({ groups: ['system:masters'] }, stolen)).toBeUndefined()
})
