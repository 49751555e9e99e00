import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { desiredOf } from '#delivery/desired.ts'
import { predictedSides } from './make-plan.ts'

test('an object that a commit gets wrong is predicted as it stays, not as deleted', () => {
  const made = (name: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'd' },
  })
  const [valid, wrong, gone] = ['valid', 'wrong', 'gone'].map((name) => desiredOf(made(name))) as [
    ReturnType<typeof desiredOf>,
    ReturnType<typeof desiredOf>,
    ReturnType<typeof desiredOf>,
  ]
  const sides = predictedSides(
    { objects: [valid, wrong, gone], rejected: [] },
    { objects: [valid], rejected: [{ ref: wrong.ref, problem: 'is wrong' }] },
  )
  expect(sides.before.map((o) => o.metadata.name)).toEqual(['valid', 'wrong', 'gone'])
  expect(sides.after.map((o) => o.metadata.name)).toEqual(['valid', 'wrong'])
})
