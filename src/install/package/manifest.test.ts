import { expect, test } from 'vitest'
import { bundledManifest, lockEntries } from './manifest.ts'

const manifest = { name: 'kubenode', version: '1.0.0', engines: { node: '>=20' }, dependencies: { young: '2.0.0' } }
const young = { version: '2.0.0', engines: { node: '>=22' }, optionalDependencies: { native: '1.0.0' } }

test('npm on an older Node than the one in the package warns of nothing, and fetches nothing optional', () => {
  const entries = lockEntries({ manifest, locked: { '': manifest, 'node_modules/young': young } })
  expect(entries).toMatchObject({
    'node_modules/kubenode': { engines: { node: '>=20' } },
    'node_modules/kubenode/node_modules/young': { version: '2.0.0', inBundle: true },
  })
  const inside = entries['node_modules/kubenode/node_modules/young']
  expect(Object.keys(inside ?? {})).toEqual(['version', 'inBundle'])
  expect(bundledManifest({ name: 'young', ...young })).toEqual({ name: 'young', version: '2.0.0' })
})
