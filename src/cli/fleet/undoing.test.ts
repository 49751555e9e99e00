import { expect, test } from 'vitest'
import { undoing } from './undoing.ts'

test('what takes a command back names its cluster, if the command did', () => {
  expect(undoing('kubenode thaw', {})).toBe('kubenode thaw')
  expect(undoing('kubenode thaw machine/m-1', { context: 'test' })).toBe('kubenode thaw machine/m-1 --context test')
  expect(undoing('kubenode resume set/base', { context: 'my test' })).toBe(
    "kubenode resume set/base --context 'my test'",
  )
  expect(undoing('kubenode thaw', { kubeconfig: 'a b.yaml', context: 'test' })).toBe(
    "kubenode thaw --context test --kubeconfig 'a b.yaml'",
  )
})
