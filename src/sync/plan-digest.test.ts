import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Targets } from '#delivery/desired.ts'
import { isSameContent, planDigest, plansIn, planTrailer } from './plan-digest.ts'

type World = Readonly<Record<string, Readonly<Record<string, string>>>>

const targetsOf = (world: World): Targets =>
  new Map(
    Object.entries(world).map(([cluster, objects]) => [
      cluster,
      {
        objects: Object.entries(objects).map(([name, digest]) => ({
          ref: { group: '', kind: 'ConfigMap', namespace: 'default', name },
          digest,
          object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
        })),
        rejected: [],
      },
    ]),
  )

const words = fc.constantFrom('a', 'b', 'c')
const worlds: fc.Arbitrary<World> = fc.dictionary(words, fc.dictionary(words, words))

test('two plans have one digest when all objects are equal before and after, in whatever order', () => {
  fc.assert(
    fc.property(worlds, worlds, worlds, (a, b, c) => {
      const backwards = (w: World) => targetsOf(Object.fromEntries(Object.entries(w).toReversed()))
      const digest = planDigest(targetsOf(a), targetsOf(b))
      expect(planDigest(backwards(a), backwards(b))).toBe(digest)
      const isSame = isSameContent(targetsOf(b), targetsOf(c))
      expect(planDigest(targetsOf(a), targetsOf(c)) === digest).toBe(isSame)
      expect(planDigest(targetsOf(c), targetsOf(b)) === digest).toBe(isSameContent(targetsOf(a), targetsOf(c)))
    }),
  )
})

test('an object that is declared but invalid stays, so its plan is another than that of its deletion', () => {
  const ref = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'a' }
  const valid = targetsOf({ prod: { a: '1' } })
  const gone = targetsOf({ prod: {} })
  const invalid: Targets = new Map([['prod', { objects: [], rejected: [{ ref, problem: 'is wrong' }] }]])
  expect(new Set([valid, gone, invalid].map((to) => planDigest(valid, to))).size).toBe(3)
  expect(isSameContent(invalid, gone)).toBe(false)
  expect(isSameContent(invalid, invalid)).toBe(true)
})

test('the plans that a message names', () => {
  expect(plansIn(`a\n\n${planTrailer('sha256:1')}\nSigned-off-by: Ada`)).toEqual(['sha256:1'])
  expect(plansIn('kubenode-plan: sha256:1 \nKubenode-Plan: sha256:1')).toEqual(['sha256:1'])
  expect(plansIn('Kubenode-Plan: sha256:1\nKubenode-Plan: sha256:2')).toHaveLength(2)
  expect(plansIn('see Kubenode-Plan: sha256:1')).toEqual([])
  // Malformed but intended: none of these counts as a message without a plan.
  expect(plansIn('Kubenode-Plan:\nKubenode-Plan : a b')).toEqual(['', 'a b'])
})
