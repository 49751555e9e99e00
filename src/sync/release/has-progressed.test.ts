import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Release } from '#api/kinds/release.ts'
import { hasProgressed } from './has-progressed.ts'
import { defined } from '#lib/defined.ts'

const SINCE = '2026-01-01T00:00:00Z'
const LATER = '2026-01-01T00:00:05Z'

type Status = NonNullable<Release['status']>
type ClusterStatus = NonNullable<Status['clusters']>[number]

const cluster = (more: Partial<ClusterStatus> = {}): ClusterStatus => ({
  name: 'prod',
  stage: 'prod',
  phase: 'Verifying',
  since: SINCE,
  failures: { before: 0, new: 2 },
  ...more,
})

const release = (status: Status, annotations?: Record<string, string>): Release => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Release',
  metadata: { name: 'one', ...defined({ annotations }) },
  spec: { source: 'fleet', track: 'fleet', commit: 'a'.repeat(40), pipeline: 'standard', digests: {} },
  status,
})

const waitingFor = (seen: string) => ({ predicate: 'GateClosed', since: SINCE, seen, unblock: 'it opens' }) as const
const recorded = (evidence: string, at = SINCE): NonNullable<Status['record']>[number] => ({
  commit: 'a'.repeat(40),
  cluster: 'prod',
  stage: 'prod',
  digest: 'd'.repeat(64),
  phase: 'Verifying',
  startedAt: SINCE,
  gates: [{ name: 'ready', kind: 'machinesReady', when: 'Before', result: 'Waiting', at, evidence }],
})
const before = release({
  phase: 'Progressing',
  clusters: [cluster({ waitingFor: waitingFor('0 of 3 are Ready') })],
  record: [recorded('0 of 3 are Ready')],
})

test('what a pass says and counts is no progress', () => {
  const now = release({
    phase: 'Progressing',
    clusters: [cluster({ failures: { before: 0, new: 1 }, waitingFor: waitingFor('2 of 3 are Ready') })],
    record: [recorded('2 of 3 are Ready', LATER)],
  })
  expect(hasProgressed(before, now)).toBe(false)
})

test('a phase, and a wish of a person, are progress', () => {
  const status = before.status ?? {}
  const healthy = [cluster({ phase: 'Healthy', since: LATER })]
  expect(hasProgressed(before, release({ ...status, clusters: healthy }))).toBe(true)
  expect(hasProgressed(before, release({ ...status, phase: 'Succeeded' }))).toBe(true)
  expect(hasProgressed(before, release(status, { 'kubenode.io/reconcile': 'now' }))).toBe(true)
})
