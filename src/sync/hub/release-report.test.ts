// Tests what the conditions of a release say.
import { expect, test } from 'vitest'
import { conditionsOf, notRendered } from './release-report.ts'

const since = '2026-01-01T00:00:00Z'
const messageOf = (type: string, phase: 'Paused' | 'Progressing', predicate: string, seen: string) =>
  conditionsOf(
    { status: { phase, waitingFor: { predicate, seen, since } } } as unknown as Parameters<typeof conditionsOf>[0],
    { newer: undefined },
  ).find((c) => c.type === type)?.message

test('a failed stage is named as it is, and is nothing to wait for', () => {
  const seen = '1 of 1 cluster failed: test: set/base is Blocked'
  expect(messageOf('Ready', 'Paused', 'StageFailed', seen)).toBe(seen)
  expect(messageOf('Stalled', 'Paused', 'StageFailed', seen)).toBe(seen)
})

test('content that failed before and deletions above the guard are Stalled: they wait for people', () => {
  const stalled = (predicate: string) => messageOf('Stalled', 'Progressing', predicate, 'the same objects failed')
  expect(['RevertedBefore', 'PruneGuard', 'StageWaiting'].map(stalled)).toEqual([
    'the same objects failed',
    'the same objects failed',
    'no manual intervention needed',
  ])
})

test('what it waits for is named as such', () => {
  expect(messageOf('Ready', 'Progressing', 'StageWaiting', 'an earlier stage')).toBe('waiting for an earlier stage')
})

test('a commit that cannot be rendered at the moment is waited for; one that does not render needs a person', () => {
  const of = (reason: 'RenderUnavailable' | 'RenderFailed' | 'PlanExceeded') =>
    notRendered(reason, 'why').map((c) => `${c.type} ${c.status} ${c.reason}: ${c.message}`)
  expect(of('RenderUnavailable')).toEqual([
    'Ready False RenderUnavailable: why',
    'Reconciling True RenderUnavailable: why',
    'Stalled False RenderUnavailable: why',
  ])
  expect([...of('RenderFailed'), ...of('PlanExceeded')]).toEqual([
    'Stalled True RenderFailed: why',
    'Stalled True PlanExceeded: why',
  ])
})
