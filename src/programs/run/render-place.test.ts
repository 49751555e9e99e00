import { expect, test } from 'vitest'
import { renderImageOf, renderPlacementOf } from './render-place.ts'
import { defined } from '#lib/defined.ts'

const POD = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' }
const renderImage = `registry.example.org/kubenode@sha256:${'a'.repeat(64)}`

test.each([
  ['outside of a pod in a process', { env: {} }, undefined],
  ['in a pod in Jobs', { env: POD, renderImage }, renderImage],
  ['in a pod in a process when that is said', { env: POD, renderImage, render: 'process' }, undefined],
  ['outside of a pod in Jobs when that is said', { env: {}, renderImage, render: 'job' }, renderImage],
] as const)('sync renders %s', (_, wish, image) => {
  expect(renderImageOf(wish)).toBe(image)
})

test.each([
  ['none', undefined],
  ['one that is no reference', 'x y'],
  ['an option in its place', '--privileged'],
])('an image for Jobs is asked for: %s', (_, given) => {
  const wish = { env: POD, ...defined({ renderImage: given }) }
  expect(() => renderImageOf(wish)).toThrow(/KN1002/)
})

test('Jobs are placed as the settings of an installation say', () => {
  const placement = { nodeSelector: { pool: 'system' }, tolerations: [{ key: 'pool', effect: 'NoSchedule' }] }
  expect(renderPlacementOf(JSON.stringify(placement))).toEqual(placement)
  expect(renderPlacementOf('{}')).toEqual({ nodeSelector: {}, tolerations: [] })
  expect(renderPlacementOf(undefined)).toBeUndefined()
})

test.each([
  '',
  '[]',
  'null',
  '{"nodeSelector":{"a":1}}',
  '{"tolerations":[{}]}',
  '{"tolerations":[{"key":"a","effect":"Never"}]}',
  '{"affinity":{}}',
])('a placement that is none is refused: %s', (text) => expect(() => renderPlacementOf(text)).toThrow(/KN1002/))
