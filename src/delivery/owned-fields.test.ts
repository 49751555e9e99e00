import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { dropsFields, isOwnLabel } from './owned-fields.ts'

const FIELDS = {
  'f:metadata': { 'f:labels': { 'f:stage': {} }, 'f:annotations': { 'f:commit': {} } },
  'f:spec': {
    'f:version': {},
    'f:controlPlane': { '.': {}, 'f:flavor': {} },
    'f:addons': { 'k:{"name":"coredns"}': { '.': {}, 'f:name': {}, 'f:version': {} } },
    'f:features': { 'v:"a"': {} },
  },
}
const SPEC = {
  version: '1.35.1',
  controlPlane: { flavor: 'embedded' },
  addons: [{ name: 'coredns', version: '1' }],
  features: ['a'],
}
const live = (manager: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Cluster',
  metadata: { managedFields: [{ manager, operation: 'Apply', fieldsV1: FIELDS, ...more }] },
})
const declared = (spec: object, labels: Readonly<Record<string, string>> = { stage: 'test' }): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Cluster',
  metadata: { labels },
  spec,
})

test.each<[string, KubeObject, boolean]>([
  ['nothing', declared(SPEC), false],
  ['nothing, and adds a field', declared({ ...SPEC, stage: 'prod' }), false],
  ['a label', declared(SPEC, {}), true],
  ['a field', declared({ ...SPEC, version: undefined }), true],
  ['a field within a field', declared({ ...SPEC, controlPlane: {} }), true],
  ['an entry of a list', declared({ ...SPEC, addons: [{ name: 'dashboard', version: '1' }] }), true],
  ['a value of a list', declared({ ...SPEC, features: ['b'] }), true],
])('a declaration drops %s', (_, wanted, drops) => {
  expect(dropsFields(wanted, live('kubenode-sync.fleet.main'))).toBe(drops)
  expect(dropsFields(wanted, live('kubectl'))).toBe(false)
  expect(dropsFields(wanted, live('kubenode-sync.fleet.main', { subresource: 'status' }))).toBe(false)
})

test('a label is of sync where sync applied it, or where nobody recorded who did', () => {
  expect(isOwnLabel(live('kubenode-sync.fleet.main'), 'stage')).toBe(true)
  expect(isOwnLabel(live('kubenode-sync.fleet.main'), 'zone')).toBe(false)
  expect(isOwnLabel(live('kubectl'), 'stage')).toBe(false)
  expect(isOwnLabel(declared(SPEC), 'stage')).toBe(true)
})
