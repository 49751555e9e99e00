import { expect, test } from 'vitest'
import { parseVersion } from '#lib/semver.ts'
import { servedVersion } from './served-version.ts'

test.each<[string, unknown, string | undefined]>([
  ['a server as it is', { gitVersion: 'v1.36.2' }, 'v1.36.2'],
  [
    'one that says what it emulates, itself',
    { gitVersion: 'v1.36.2', emulationMajor: '1', emulationMinor: '36' },
    'v1.36.2',
  ],
  [
    'a new program with the behavior of the minor before',
    { gitVersion: 'v1.36.2', emulationMajor: '1', emulationMinor: '35' },
    'v1.35.0+by.1.36.2',
  ],
  [
    'one of a provider',
    { gitVersion: 'v1.36.2-eks-1', emulationMajor: '1', emulationMinor: '35+' },
    'v1.35.0+by.1.36.2',
  ],
  ['a field that says nothing', { gitVersion: 'v1.36.2', emulationMajor: '1', emulationMinor: 'x' }, 'v1.36.2'],
  ['no version', { major: '1' }, undefined],
  ['no object', 'v1.36.2', undefined],
])('%s', (_, answer, version) => {
  expect(servedVersion(answer)).toBe(version)
  if (version !== undefined) expect(parseVersion(version, { suffix: 'vendor' })?.numbers[0]).toBe(1)
})

test('what compares versions reads the behavior, not the program', () => {
  const version = servedVersion({ gitVersion: 'v1.36.2', emulationMajor: '1', emulationMinor: '35' }) ?? ''
  expect(parseVersion(version, { suffix: 'vendor' })?.numbers).toEqual([1, 35, 0])
})
