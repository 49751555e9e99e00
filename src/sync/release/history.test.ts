import { expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import { historyOf, isLeftUnderway } from './history.ts'

type Phase = 'Waiting' | 'Applying' | 'Verifying' | 'Healthy' | 'Failed' | 'Offline' | 'Unchanged'

/** A Release of one cluster: the cluster's phase with its digest, and how its stage ended. */
const release = (name: string, previous: string | undefined, phase: Phase, digest: string, stage: string): Release =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Release',
    metadata: { name, namespace: 'n' },
    spec: {
      source: 's',
      track: 't',
      pipeline: 'p',
      commit: 'c',
      digests: { x: digest },
      ...(previous && { previous }),
    },
    status: {
      stages: [{ name: 'test', phase: stage }],
      clusters: [{ name: 'x', stage: 'test', phase, digest, since: 's' }],
    },
  }) as Release

const of = (digest: string): Release => release('new', 'last', 'Waiting', digest, 'Waiting')
const history = (chain: readonly Release[], digest = 'new') => {
  const own = of(digest)
  return historyOf([...chain, own], own, 'x')
}

test.each<[string, readonly Release[], string | undefined, boolean]>([
  ['was healthy, and its stage succeeded', [release('a', undefined, 'Healthy', 'd1', 'Succeeded')], 'a', true],
  ['was healthy in a stage that did not succeed', [release('a', undefined, 'Healthy', 'd1', 'Failed')], 'a', false],
  ['failed', [release('a', undefined, 'Failed', 'd1', 'Failed')], 'a', false],
  ['failed in a stage that succeeded all the same', [release('a', undefined, 'Failed', 'd1', 'Succeeded')], 'a', false],
  [
    'was healthy, and its stage succeeded only with a later commit of equal content',
    [release('a', undefined, 'Healthy', 'd1', 'Failed'), release('b', 'a', 'Unchanged', 'd1', 'Succeeded')],
    'a',
    true,
  ],
  [
    'passed, and the one in between did not come to the cluster',
    [release('a', undefined, 'Healthy', 'd1', 'Succeeded'), release('b', 'a', 'Waiting', 'd2', 'Waiting')],
    'a',
    true,
  ],
  [
    'is forgotten, and its content passed with a later one',
    [release('b', undefined, 'Unchanged', 'd1', 'Succeeded')],
    'forgotten',
    true,
  ],
  [
    'is forgotten, and another one came after it',
    [release('b', undefined, 'Healthy', 'd2', 'Succeeded')],
    'gone',
    false,
  ],
])('a release %s', (_, chain, known, wanted) => {
  expect(history(chain).hasPassed(known)).toBe(wanted)
})

test('without a baseline the last release that touched the cluster tells', () => {
  const passed = release('a', undefined, 'Healthy', 'd1', 'Succeeded')
  expect(history([passed]).hasPassed(undefined)).toBe(true)
  expect(history([passed, release('b', 'a', 'Failed', 'd2', 'Failed')]).hasPassed(undefined)).toBe(false)
  expect(history([passed, release('b', 'a', 'Offline', 'd2', 'Succeeded')]).hasPassed(undefined)).toBe(true)
  expect(history([]).hasPassed(undefined)).toBe(false)
})

test('what passed last is known again', () => {
  const chain = [release('a', undefined, 'Healthy', 'd1', 'Succeeded'), release('b', 'a', 'Failed', 'd2', 'Failed')]
  expect([history(chain, 'd1').isReturn, history(chain, 'd2').isReturn]).toEqual([true, false])
  expect(history([release('b', undefined, 'Failed', 'd2', 'Failed')], 'd2').isReturn).toBe(false)
})

test.each<[string, readonly Release[], boolean]>([
  ['was rolled out when the next came', [release('b', 'a', 'Verifying', 'd2', 'Progressing')], true],
  ['was being applied', [release('b', 'a', 'Applying', 'd2', 'Progressing')], true],
  ['soaked', [release('b', 'a', 'Healthy', 'd2', 'Soaking')], false],
  ['failed there, in a stage that succeeded', [release('b', 'a', 'Failed', 'd2', 'Succeeded')], true],
  ['failed there', [release('b', 'a', 'Failed', 'd2', 'Failed')], true],
  ['passed there', [release('b', 'a', 'Healthy', 'd2', 'Succeeded')], false],
  ['never came there', [release('b', 'a', 'Waiting', 'd2', 'Waiting')], false],
  ['changed nothing there', [release('b', 'a', 'Unchanged', 'd1', 'Progressing')], false],
  [
    'was followed by one that changed nothing there',
    [release('b', 'a', 'Verifying', 'd2', 'Progressing'), release('c', 'b', 'Unchanged', 'd2', 'Progressing')],
    true,
  ],
  ['is what is wanted again', [release('b', 'a', 'Verifying', 'd1', 'Progressing')], false],
])('what %s: whether a return to what passed before cannot wait', (_, later, wanted) => {
  const own = of('d1')
  const passed = release('a', undefined, 'Healthy', 'd1', 'Succeeded')
  expect(isLeftUnderway([passed, ...later, own], own, 'x')).toBe(wanted)
  // Content that never passed there is not a return.
  expect(isLeftUnderway([...later, own], own, 'x')).toBe(false)
})
