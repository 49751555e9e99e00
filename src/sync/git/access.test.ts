import { expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { accessOf, parseLocalRepositories } from './access.ts'

const NOW = Date.parse('2026-11-21T12:00:00Z')
const WRITES = { kinds: ['ConfigMap'], namespaces: ['shop'] }
const source = (spec: object) =>
  ({
    metadata: { namespace: 'fleet', name: 'shop' },
    spec: { url: 'https://git.example/shop', ...spec },
  }) as FleetSource
const secret = (data: Readonly<Record<string, string>>): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'git' },
  data: Object.fromEntries(Object.entries(data).map(([k, v]) => [k, Buffer.from(v).toString('base64')])),
})
const BASIC = Buffer.from('a:b').toString('base64')
const SSH = { url: 'ssh://git@git.example/shop' }
const OWN = { secretRef: { name: 'git' } }

const PEM = '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n'
const LOCKED = '-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n'
const HOSTS = 'git.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA\n'

test.each<[string, object, Readonly<Record<string, string>> | undefined, object]>([
  ['the only source of a fleet has none of the program', {}, undefined, { kind: 'Anonymous' }],
  ['a source beside others has none', { writes: WRITES }, undefined, { kind: 'Anonymous' }],
  [
    'a source has those of its Secret, also beside others',
    { writes: WRITES, ...OWN },
    { username: 'a', password: 'b' },
    { kind: 'Https', authorization: `Basic ${BASIC}`, secrets: [BASIC, 'b'] },
  ],
  [
    'a source has the key of its Secret',
    { ...SSH, ...OWN },
    { 'ssh-privatekey': PEM, known_hosts: HOSTS },
    { kind: 'SshKey', identity: PEM, knownHosts: HOSTS },
  ],
])('S27 credentials: %s', (_, spec, data, wanted) => {
  expect(accessOf(source(spec), data && secret(data), NOW)).toEqual(wanted)
})

test.each<[string, object, Readonly<Record<string, string>> | undefined, RegExp]>([
  ['ssh without a key of its own', { ...SSH, writes: WRITES }, undefined, /KN7021/],
  ['ssh without a key of its own, also alone', SSH, undefined, /KN7021/],
  ['a password in an address of ssh', { url: 'ssh://git:b@git.example/shop', ...OWN }, {}, /KN7026/],
  ['a Secret that does not exist', OWN, undefined, /KN7021.*fleet\/git of spec.secretRef does not exist/],
  ['a Secret without a password', OWN, { username: 'a' }, /KN7021.*no password/],
  [
    'a password that would become another header',
    OWN,
    { username: 'a', password: 'b\r\nX: y' },
    /KN7021.*a password of several lines/,
  ],
  [
    'a token with the newline of an editor',
    OWN,
    { bearerToken: 't\n' },
    /KN7021.*bearerToken that ends with a newline; write/,
  ],
  ['a token with a space', OWN, { token: 'Bearer t' }, /KN7021.*a token with spaces/],
  ['a username that would end in the password', OWN, { username: 'a:b', password: 'c' }, /KN7021.*colon/],
  ['a token of any length', OWN, { bearerToken: 't'.repeat(9_000) }, /KN7021.*more than 8192/],
  [
    'two kinds of credentials',
    OWN,
    { username: 'a', password: 'b', token: 't' },
    /KN7021.*has username, password, token: keep/,
  ],
  ['two tokens', OWN, { bearerToken: 't', token: 't' }, /KN7021.*has bearerToken, token: keep/],
  ['an empty Secret', OWN, {}, /KN7021.*neither username and password, nor bearerToken, nor ca.crt/],
  ['an authority that is none', OWN, { 'ca.crt': 'x' }, /KN7021.*not a certificate in PEM/],
  ['a user in the URL beside a Secret', { url: 'https://a@git.example/shop', ...OWN }, { token: 't' }, /KN7026/],
  ['a password in the URL', { url: 'https://a:b@git.example/shop' }, undefined, /KN7026/],
  ['a key without hosts', { ...SSH, ...OWN }, { 'ssh-privatekey': PEM }, /KN7021.*no known_hosts/],
  ['hosts without a key', { ...SSH, ...OWN }, { known_hosts: HOSTS }, /KN7021.*no ssh-privatekey/],
  ['a locked key', { ...SSH, ...OWN }, { 'ssh-privatekey': LOCKED, known_hosts: HOSTS }, /KN7021.*with a passphrase/],
  [
    'a key that is none',
    { ...SSH, ...OWN },
    { 'ssh-privatekey': 'k', known_hosts: HOSTS },
    /KN7021.*not a private key/,
  ],
  [
    'hosts of any size',
    { ...SSH, ...OWN },
    { 'ssh-privatekey': PEM, known_hosts: HOSTS.repeat(2_000) },
    /KN7021.*more than 65536/,
  ],
])('S27 a source is refused with %s', (_, spec, data, wanted) => {
  expect(() => accessOf(source(spec), data && secret(data), NOW)).toThrow(wanted)
})

test('a folder of the command line is for all sources, or for one', () => {
  expect(parseLocalRepositories('/srv/git')).toEqual({ folder: '/srv/git' })
  expect(parseLocalRepositories('fleet/shop=/srv/git')).toEqual({ source: 'fleet/shop', folder: '/srv/git' })
  expect(parseLocalRepositories('/srv/a=b')).toEqual({ folder: '/srv/a=b' })
})

test('the token of a service account is not sent to a git server', () => {
  const given = { ...secret({ token: 't', 'ca.crt': 'c' }), type: 'kubernetes.io/service-account-token' }
  expect(() => accessOf(source(OWN), given, NOW)).toThrow(/KN7021.*service-account-token, which is not for git/)
})
