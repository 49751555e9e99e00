import { expect, test } from 'vitest'
import { dependencyIn } from './written-for.ts'

test.each<[unknown, string | undefined]>([
  [{ devDependencies: { kubenode: 'file:vendor/kubenode-0.1.0.tgz' } }, '0.1.0'],
  [{ dependencies: { kubenode: '1.2.3' } }, '1.2.3'],
  [{ dependencies: { kubenode: '^1.2.3' } }, undefined],
  [{ dependencies: { kubenode: 'file:vendor/kubenode-\u001b[31m.tgz' } }, undefined],
  [{ dependencies: ['kubenode'] }, undefined],
  [{ name: 'kubenode', version: '1.0.0' }, undefined],
  [[], undefined],
])('%j depends on %s', (manifest, version) => {
  expect(dependencyIn(JSON.stringify(manifest))).toBe(version)
})

test('a file that is no JSON depends on nothing', () => {
  expect(dependencyIn('{')).toBeUndefined()
})
