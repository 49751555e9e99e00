import { expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { KubeObject } from '#schema/object.ts'
import { accessOf, parseLocalRepositories } from './access.ts'

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
const SSH = { url: 'ssh://git@git.example/shop' }
const OWN = { secretRef: { name: 'git' } }

test.each<[string, object, Readonly<Record<string, string>> | undefined, object]>([
  ['the only source of a fleet has those of the program', {}, undefined, { kind: 'Program' }],
  ['a source beside others has none', { writes: WRITES }, undefined, { kind: 'Anonymous' }],
  [
    'a source has those of its Secret, also beside others',
    { writes: WRITES, ...OWN },
    { username: 'a', password: 'b' },
    { kind: 'Header', authorization: `Basic ${Buffer.from('a:b').toString('base64')}` },
  ],
  [
    'a source has the key of its Secret',
    { ...SSH, ...OWN },
    { 'ssh-privatekey': 'k', known_hosts: 'h' },
    { kind: 'SshKey', identity: 'k', knownHosts: 'h' },
  ],
])('S27 credentials: %s', (_, spec, data, wanted) => {
  expect(accessOf(source(spec), data && secret(data))).toEqual(wanted)
})

test.each<[string, object, Readonly<Record<string, string>> | undefined, RegExp]>([
  ['ssh without a key of its own', { ...SSH, writes: WRITES }, undefined, /KN7021/],
  ['a Secret that does not exist', OWN, undefined, /KN7022.*fleet\/git of spec.secretRef does not exist/],
  ['a Secret without a password', OWN, { username: 'a' }, /KN7022.*no password/],
  [
    'a password that would become another header',
    OWN,
    { username: 'a', password: 'b\r\nX: y' },
    /KN7022.*several lines/,
  ],
  ['a key without hosts', { ...SSH, ...OWN }, { 'ssh-privatekey': 'k' }, /KN7022.*no known_hosts/],
])('S27 a source is refused with %s', (_, spec, data, wanted) => {
  expect(() => accessOf(source(spec), data && secret(data))).toThrow(wanted)
})

test('a folder of the command line is for all sources, or for one', () => {
  expect(parseLocalRepositories('/srv/git')).toEqual({ folder: '/srv/git' })
  expect(parseLocalRepositories('fleet/shop=/srv/git')).toEqual({ source: 'fleet/shop', folder: '/srv/git' })
  expect(parseLocalRepositories('/srv/a=b')).toEqual({ folder: '/srv/a=b' })
})
