// What a user reads about settings: names and flags instead of pointers, what was found, what is allowed, and how to get an image by digest.
import { expect, test } from 'vitest'
import { settingName } from './setting-problems.ts'
import { mergedValues, releaseOf, type SettingFlags, type Values } from './load.ts'

const image = `registry.example.org/kubenode@sha256:${'a'.repeat(64)}`
const hub = { cluster: 'hub', roles: ['hub'], image }
const said = (values: Values, flags: SettingFlags = {}): Promise<string> =>
  releaseOf(mergedValues(values, flags)).then(
    () => 'accepted',
    (error: unknown) => (error as Error).message,
  )

test('a setting is called as in the file', () => expect(settingName('/tolerations/0/key')).toBe('tolerations[0].key'))

test.each<[string, Values, SettingFlags, RegExp]>([
  [
    'nothing',
    {},
    {},
    /^KN1433: cannot use these settings: cluster is missing \[give --cluster NAME\]; image is missing \[give --image NAME@sha256:….*kubenode image push prints.*; example: kubenode install --cluster/,
  ],
  [
    'a tag',
    hub,
    { image: 'ghcr.io/x/kubenode:latest' },
    /image has the wrong format \(found "ghcr\.io\/x\/kubenode:latest"\) \[allowed: a reference with a digest.*skopeo inspect --format "\{\{\.Digest\}\}"/,
  ],
  [
    'a role that is none',
    hub,
    { roles: 'master' },
    /roles\[0\] is not an allowed value \(found "master"\) \[allowed: hub, business\]/,
  ],
  ['roles as text', { ...hub, roles: 'hub' }, {}, /roles has the wrong type \(found "hub"\) \[allowed: a list\]/],
  ['no number', hub, { replicas: 'two' }, /replicas has the wrong type \(found "two"\) \[allowed: a whole number\]/],
  ['too many', hub, { replicas: '9' }, /replicas is out of range \(found 9\) \[allowed: 1 to 5\]/],
  ['a misspelled setting', { ...hub, replica: 3 }, {}, /replica is not a setting \[did you mean replicas\?\]/],
  [
    'no address for hosts',
    { ...hub, roles: ['business'] },
    {},
    /apiServer is required .*\[write apiServer: \{ url: https:\/\/HOST:6443 \}.*; artifacts is required/,
  ],
])('%s', async (_, values, flags, expected) => expect(await said(values, flags)).toMatch(expected))

test('no sentence has a JSON pointer', async () => {
  const all = await said({ image: 'a', replica: 1, replicas: 'x', roles: ['y'], tolerations: [{ key: 7 }] })
  expect(all).not.toMatch(/ \/[a-z]/)
})
