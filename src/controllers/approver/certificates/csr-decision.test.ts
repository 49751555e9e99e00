import type { Machine } from '#api/kinds/machine.ts'
import {
  AGENTS_GROUP,
  AGENT_SIGNER,
  ANNOTATIONS,
  BOOTSTRAP_GROUP,
  JOIN_ACCOUNTS_GROUP,
  TOKEN_SIGNER,
  agentKeyGroup,
  agentNodeGroup,
  agentUser,
  joinAccountName,
  joinAccountUser,
  machineUidGroup,
  tokenKeyGroup,
} from '#api/names.ts'
import { describe, expect, test } from 'vitest'
import type { CertificateRequest } from '#identity/certificate-request.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ContentRead } from '#identity/request-content.ts'
import { type CsrSeen, decide, machineToRead } from './csr-decision.ts'
import { tokenFor, tokenId } from '../join-tokens/token.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.UTC(2026, 0, 5)

const machine = (name: string, uid: string, extra: object = {}): Machine => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name, uid, ...extra },
  spec: { channel: 'Agent' },
})
const own = machine('m-1', 'uid-1')
const known = (key: string): Machine =>
  machine('m-1', 'uid-1', { annotations: { [ANNOTATIONS.agentKey]: JSON.stringify({ uid: 'uid-1', key }) } })
const tokenOf = (m: Machine, at = NOW, replaces = '') =>
  tokenFor(m, tokenId(m.metadata.uid ?? '', 0), 'sixteen-letters!', at, replaces)

const content = (c: Partial<Extract<ContentRead, { kind: 'Content' }>['content']> = {}): ContentRead => ({
  kind: 'Content',
  content: {
    commonNames: [agentUser('m-1')],
    organizations: [AGENTS_GROUP, agentNodeGroup('m-1'), machineUidGroup('uid-1')],
    extras: [],
    key: 'key-1',
    ...c,
  },
})
const request = (
  spec: Partial<CertificateRequest['spec']> = {},
  status?: CertificateRequest['status'],
): CertificateRequest => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'r' },
  spec: {
    request: '',
    signerName: AGENT_SIGNER,
    usages: ['client auth'],
    expirationSeconds: 7 * 86_400,
    username: `system:bootstrap:${tokenId('uid-1', 0)}`,
    groups: ['system:bootstrappers', BOOTSTRAP_GROUP],
    ...spec,
  },
  ...defined({ status }),
})
const seen = (s: Partial<CsrSeen> = {}): CsrSeen => ({
  request: request(),
  content: content(),
  machine: own,
  token: tokenOf(own),
  competing: [],
  ...s,
})
const renewal = { username: agentUser('m-1'), groups: [AGENTS_GROUP, agentNodeGroup('m-1'), machineUidGroup('uid-1')] }
const person = { username: 'somebody', groups: ['system:authenticated'] }

const ofUid = (uid: string) => ({
  ...renewal,
  groups: [AGENTS_GROUP, agentNodeGroup('m-1'), machineUidGroup(uid)],
})
const readmitted = (uid: string, forMs: number): Machine => {
  const said = JSON.stringify({ uid, until: new Date(NOW + forMs).toISOString(), replaces: '' })
  return machine('m-1', 'uid-1', { annotations: { [ANNOTATIONS.readmit]: said } })
}

/** Key 1 was revoked. Afterwards key 2 was recorded, or none. */
const hex = (digit: string): string => digit.repeat(64)
const revoked = (recorded = '1'): Machine => {
  const annotations = {
    [ANNOTATIONS.revoked]: JSON.stringify({ uid: 'uid-1', keys: [hex('1')] }),
    [ANNOTATIONS.agentKey]: JSON.stringify({ uid: 'uid-1', key: hex(recorded) }),
  }
  return machine('m-1', 'uid-1', { annotations })
}
const renewalWith = (...digits: readonly string[]): Partial<CsrSeen> => ({
  request: request({ ...renewal, groups: [...renewal.groups, ...digits.map((d) => agentKeyGroup(hex(d)))] }),
  content: keyed('3'),
  token: undefined,
})
const keyed = (digit: string): ContentRead =>
  content({ key: hex(digit), organizations: [...renewal.groups, agentKeyGroup(hex(digit))] })

/** A host joins with an account. The answer is a token sealed to the key in its request. */
const TOKEN_KEY = 'k'.repeat(43)
const joiner = (uid = 'uid-1') => ({
  signerName: TOKEN_SIGNER,
  username: joinAccountUser(uid),
  groups: ['system:serviceaccounts', JOIN_ACCOUNTS_GROUP],
})
const forToken = (digit = '3', tokenKeys: readonly string[] = [TOKEN_KEY]): ContentRead =>
  content({
    key: hex(digit),
    organizations: [...renewal.groups, agentKeyGroup(hex(digit)), ...tokenKeys.map(tokenKeyGroup)],
  })
const accountOf = (m: Machine, replaces = ''): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: {
    name: joinAccountName(m.metadata.uid ?? ''),
    annotations: { [ANNOTATIONS.machine]: m.metadata.name ?? '', [ANNOTATIONS.replacesKey]: replaces },
    ownerReferences: [{ apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', name: 'm-1', uid: m.metadata.uid ?? '' }],
  },
})
const joins = (s: Partial<CsrSeen> = {}): CsrSeen =>
  seen({ request: request(joiner()), content: forToken(), token: accountOf(own), ...s })

describe('S26 a request for a token', () => {
  test.each<[string, CsrSeen, ReturnType<typeof decide>['kind'], RegExp]>([
    ['by the join account of its own machine is approved', joins(), 'Approve', /join token/],
    ['of a machine that was deleted is denied', joins({ machine: undefined, token: undefined }), 'Deny', /not found/],
    ['after the account was deleted is denied', joins({ token: undefined }), 'Deny', /was deleted/],
    [
      'by the account of another machine is denied',
      joins({ token: accountOf(machine('m-1', 'uid-0')) }),
      'Deny',
      /another machine/,
    ],
    ['by a second key is denied', joins({ machine: known(hex('1')) }), 'Deny', /used already/],
    ['by the same key after a crash is approved', joins({ machine: known(hex('3')) }), 'Approve', /join token/],
    [
      'by a host that a person lets back is approved',
      joins({ machine: known(hex('1')), token: accountOf(own, hex('1')) }),
      'Approve',
      /join token/,
    ],
    ['with a revoked key is denied', joins({ machine: revoked('3'), content: forToken('1') }), 'Deny', /revoked/],
    ['without a key for tokens is denied', joins({ content: forToken('3', []) }), 'Deny', /no key for tokens/],
    [
      'with two keys for tokens is denied',
      joins({ content: forToken('3', [TOKEN_KEY, 'j'.repeat(43)]) }),
      'Deny',
      /no key for tokens/,
    ],
    [
      'with a key for tokens that is none is denied',
      joins({ content: forToken('3', ['short']) }),
      'Deny',
      /no key for tokens/,
    ],
    ['for a Node that another Machine has is denied', joins({ competing: ['m-2'] }), 'Deny', /belongs to machine m-2/],
    [
      'by a bootstrap token is denied',
      joins({ request: request({ signerName: TOKEN_SIGNER }), token: tokenOf(own) }),
      'Deny',
      /may not ask/,
    ],
    [
      'by the certificate of the agent is denied',
      joins({ request: request({ ...renewal, signerName: TOKEN_SIGNER }) }),
      'Deny',
      /may not ask/,
    ],
    [
      'by a join account from the signer of certificates is denied',
      joins({ request: request({ ...joiner(), signerName: AGENT_SIGNER }), content: keyed('3') }),
      'Deny',
      /may not ask/,
    ],
    ['by a person is denied', joins({ request: request({ ...person, signerName: TOKEN_SIGNER }) }), 'Deny', /may not/],
  ])('%s', (_, all, kind, why) => {
    const decision = decide(all, NOW)
    expect(decision).toMatchObject({ kind })
    expect('message' in decision ? decision.message : '').toMatch(why)
  })

  test('records the key to which tokens are sealed', () => {
    expect(decide(joins(), NOW)).toMatchObject({ key: hex('3'), tokenKey: TOKEN_KEY })
  })
})

describe('a certificate request', () => {
  test.each<[string, Partial<CsrSeen>, ReturnType<typeof decide>['kind']]>([
    ['with the token of its own machine is approved', {}, 'Approve'],
    ["with its own machine's certificate is approved", { request: request(renewal), token: undefined }, 'Approve'],
    ['for a Node that another Machine has is denied to every requester', { competing: ['m-2'] }, 'Deny'],
    [
      'with a certificate of another Node is denied the Node that another Machine has',
      { request: request({ ...renewal, groups: [AGENTS_GROUP, agentNodeGroup('m-3')] }), competing: ['m-2'] },
      'Deny',
    ],
    [
      'with a certificate of that very Node is renewed, whatever another Machine claims',
      { request: request(renewal), token: undefined, competing: ['m-2'] },
      'Approve',
    ],
    [
      'for another signer is left alone',
      { request: request({ signerName: 'kubernetes.io/kubelet-serving' }) },
      'Ignore',
    ],
    [
      'that is decided is left alone',
      { request: request({}, { conditions: [{ type: 'Denied', status: 'True' }] }) },
      'Ignore',
    ],
    [
      'of a person for a person is left alone',
      { request: request(person), content: content({ commonNames: ['somebody'] }) },
      'Ignore',
    ],
    [
      'of a person that cannot be read is left alone',
      { request: request(person), content: { kind: 'Unreadable', why: 'x' } },
      'Ignore',
    ],
    ['of a person for an agent is denied', { request: request(person), token: undefined }, 'Deny'],
    ['of a token for a person is denied', { content: content({ commonNames: ['admin'] }) }, 'Deny'],
    ['of a token for the masters is denied', { content: content({ organizations: ['system:masters'] }) }, 'Deny'],
    [
      'with one group more is denied',
      {
        content: content({
          organizations: [AGENTS_GROUP, agentNodeGroup('m-1'), machineUidGroup('uid-1'), 'system:masters'],
        }),
      },
      'Deny',
    ],
    ['with one group less is denied', { content: content({ organizations: [AGENTS_GROUP] }) }, 'Deny'],
    ['with one group twice is denied', { content: content({ organizations: [AGENTS_GROUP, AGENTS_GROUP] }) }, 'Deny'],
    [
      "with another node's group is denied",
      { content: content({ organizations: [AGENTS_GROUP, agentNodeGroup('m-2'), machineUidGroup('uid-1')] }) },
      'Deny',
    ],
    ['with two common names is denied', { content: content({ commonNames: [agentUser('m-1'), 'admin'] }) }, 'Deny'],
    ['that asks for other names is denied', { content: content({ extras: ['extension 2.5.29.17'] }) }, 'Deny'],
    ['for a server is denied', { request: request({ usages: ['client auth', 'server auth'] }) }, 'Deny'],
    ['without a usage for clients is denied', { request: request({ usages: ['digital signature'] }) }, 'Deny'],
    [
      'that cannot be read is denied',
      { content: { kind: 'Unreadable', why: 'the signature does not match the key' } },
      'Deny',
    ],
    ['for a machine that there is not is denied', { machine: undefined }, 'Deny'],
    ['for a machine that goes is denied', { machine: machine('m-1', 'uid-1', { deletionTimestamp: 'x' }) }, 'Deny'],
    [
      'for a machine that goes is approved for the key on record: its agent comes in order to leave',
      { machine: { ...known('key-1'), metadata: { ...known('key-1').metadata, deletionTimestamp: 'x' } } },
      'Approve',
    ],
    [
      'of the agent of a machine that goes is renewed: its hand-back may wait longer than a certificate lives',
      { request: request(renewal), machine: machine('m-1', 'uid-1', { deletionTimestamp: 'x' }), token: undefined },
      'Approve',
    ],
    [
      'with the certificate of an earlier machine is denied for one that is being deleted, also after a readmission',
      {
        request: request(ofUid('uid-0')),
        machine: {
          ...readmitted('uid-1', 60_000),
          metadata: { ...readmitted('uid-1', 60_000).metadata, deletionTimestamp: 'x' },
        },
        token: undefined,
      },
      'Deny',
    ],
    [
      'for a machine that goes is denied to any other key, whatever its token replaces',
      {
        machine: { ...known('key-0'), metadata: { ...known('key-0').metadata, deletionTimestamp: 'x' } },
        token: tokenOf(own, NOW, 'key-0'),
      },
      'Deny',
    ],
    [
      'for a machine that is only observed by now is approved for the key on record',
      { machine: { ...known('key-1'), spec: { channel: 'Observe' } } },
      'Approve',
    ],
    [
      'for a machine that is only observed is denied, whatever token was handed out before',
      { machine: { ...own, spec: { channel: 'Observe' } } },
      'Deny',
    ],
    ["with another machine's token is denied", { token: tokenOf(machine('m-2', 'uid-2')) }, 'Deny'],
    ['with the token of an earlier machine of the name is denied', { token: tokenOf(machine('m-1', 'uid-0')) }, 'Deny'],
    ['with a token that ran out is denied', { token: tokenOf(own, NOW - 16 * 60_000) }, 'Deny'],
    [
      'with a token that another key has joined with is denied',
      { machine: known('key-0'), token: tokenOf(own) },
      'Deny',
    ],
    ['with its token once more, for the same key, is approved', { machine: known('key-1') }, 'Approve'],
    [
      'with a token that was made to replace the key that is known is approved',
      { machine: known('key-0'), token: tokenOf(own, NOW, 'key-0') },
      'Approve',
    ],
    [
      'S26 without a uid is denied',
      { content: content({ organizations: [AGENTS_GROUP, agentNodeGroup('m-1')] }) },
      'Deny',
    ],
    [
      'S26 for the uid of an earlier machine of the name is denied, also with the certificate of that one',
      {
        request: request(ofUid('uid-0')),
        content: content({ organizations: [AGENTS_GROUP, agentNodeGroup('m-1'), machineUidGroup('uid-0')] }),
        token: undefined,
      },
      'Deny',
    ],
    [
      'S26 with the certificate of an earlier machine of the name waits for a person',
      { request: request(ofUid('uid-0')), token: undefined },
      'Wait',
    ],
    [
      'S26 with a certificate that names no uid waits for a person',
      { request: request({ ...renewal, groups: [AGENTS_GROUP, agentNodeGroup('m-1')] }), token: undefined },
      'Wait',
    ],
    [
      'S26 with the certificate of an earlier machine is approved once a person readmits it',
      { request: request(ofUid('uid-0')), machine: readmitted('uid-1', 60_000), token: undefined },
      'Approve',
    ],
    [
      'S26 is not readmitted for longer than was said',
      { request: request(ofUid('uid-0')), machine: readmitted('uid-1', -1), token: undefined },
      'Wait',
    ],
    [
      'S26 is not readmitted by what was said of an earlier machine',
      { request: request(ofUid('uid-0')), machine: readmitted('uid-0', 60_000), token: undefined },
      'Wait',
    ],
    [
      'S26 with a certificate of another Node is denied',
      {
        request: request({ ...renewal, groups: [AGENTS_GROUP, agentNodeGroup('m-9'), machineUidGroup('uid-1')] }),
        token: undefined,
      },
      'Deny',
    ],
    ['S26 for longer than seven days is denied', { request: request({ expirationSeconds: 7 * 86_400 + 1 }) }, 'Deny'],
    ['S26 that names its own key is approved', { content: keyed('3') }, 'Approve'],
    [
      'S26 that names another key than its own is denied',
      { content: content({ key: hex('3'), organizations: [...renewal.groups, agentKeyGroup(hex('2'))] }) },
      'Deny',
    ],
    ['S26 with a key that was revoked is not renewed', { ...renewalWith('1'), machine: revoked() }, 'Deny'],
    [
      'S26 with a certificate that names no key is not renewed after a revocation',
      { ...renewalWith(), machine: revoked('2') },
      'Deny',
    ],
    [
      'S26 with a key that was revoked is not renewed after its host joined again',
      { ...renewalWith('1'), machine: revoked('2') },
      'Deny',
    ],
    [
      'S26 with the key that its host joined again with is renewed',
      { ...renewalWith('2'), machine: revoked('2') },
      'Approve',
    ],
    [
      'S26 for a key that was revoked is denied whatever token it has',
      { content: keyed('1'), machine: revoked('2'), token: tokenOf(own, NOW, hex('2')) },
      'Deny',
    ],
    [
      'S26 with a token that replaces the revoked key is approved',
      { content: keyed('3'), machine: revoked(), token: tokenOf(own, NOW, hex('1')) },
      'Approve',
    ],
    ['with a token that is gone is denied', { token: undefined }, 'Deny'],
    [
      "with another machine's certificate is denied",
      { request: request({ ...renewal, username: agentUser('m-2') }), token: undefined },
      'Deny',
    ],
    [
      'of an agent that lost its group is denied',
      { request: request({ ...renewal, groups: [] }), token: undefined },
      'Deny',
    ],
  ])('%s', (_, s, kind) => {
    expect(decide(seen(s), NOW).kind).toBe(kind)
  })
})

describe('S2 a claim that no Machine can be named by', () => {
  test.each(['', '.', '..', 'a/b', 'm-1%2f', 'M-1', 'm 1', 'm-1\n', 'm-1\u0000', '-', 'm'.repeat(300), 'ｍ-1'])(
    'is denied and never looked up: %j',
    (name) => {
      const named = content({ commonNames: [agentUser(name)] })
      expect(machineToRead(named)).toBeUndefined()
      for (const asked of [request(), request(renewal), request(person)])
        expect(decide(seen({ request: asked, content: named, machine: undefined }), NOW)).toEqual({
          kind: 'Deny',
          message: 'the common name must be kubenode:agent:<machine>',
        })
    },
  )

  test('leaves an ordinary one to be read', () => expect(machineToRead(content())).toBe('m-1'))
})
