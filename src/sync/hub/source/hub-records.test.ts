// What the status keeps of the hub stage of each commit: one record for each change, also over restarts, refusals and commits that come in the middle.
import { expect, test } from 'vitest'
import { MAX_HUB_RECORDS } from '#api/kinds/fleet-source.ts'
import type { ApplyReport } from '../../cluster/apply.ts'
import { DIGEST_OF_NOTHING } from '../../release/tracks.ts'
import { type HubPass, hubRecords } from './hub-records.ts'

const AT = Date.parse('2026-01-31T12:00:00Z')
const after = (seconds: number) => AT + seconds * 1_000
const at = (seconds: number) => `2026-01-31T12:00:${String(seconds).padStart(2, '0')}Z`
const commit = (letter: string) => ({ id: letter.repeat(40), title: { subject: `commit ${letter}`, author: 'Ada' } })

const report = (applied: number, pruned: number, plan: object = {}): ApplyReport =>
  ({ result: { applied, pruned, failures: [] }, plan: { operations: [], ...plan } }) as unknown as ApplyReport
const done = (digest: string, more: Partial<HubPass> = {}): HubPass => ({
  track: 'base',
  digest,
  report: report(2, 1),
  trouble: undefined,
  ...more,
})
const refused = { type: 'Applied', message: 'hub: ConfigMap/x/a: forbidden' }
const none = new Map<string, ReadonlySet<string>>()
type Records = ReturnType<typeof hubRecords>

const pass = (before: Records, letter: string, passes: readonly HubPass[], seconds = 0, approved = none): Records =>
  hubRecords({ before, commit: commit(letter), passes, approved }, after(seconds))

test('a commit that changes the hub has a record of what it did, and how it ended', () => {
  expect(pass([], 'a', [done('d1')])).toEqual([
    {
      commit: 'a'.repeat(40),
      subject: 'commit a',
      author: 'Ada',
      track: 'base',
      digest: 'd1',
      phase: 'Succeeded',
      startedAt: at(0),
      finishedAt: at(0),
      applied: 2,
      deleted: 1,
    },
  ])
})

test('a comparison of the same content later, and a commit that changes only clusters, make no record', () => {
  const first = pass([], 'a', [done('d1')])
  expect(pass(first, 'a', [done('d1')], 9)).toEqual(first)
  expect(pass(first, 'b', [done('d1')], 9)).toEqual(first)
})

test('a track that has nothing on the hub has none, and one whose last object goes has one', () => {
  expect(pass([], 'a', [done(DIGEST_OF_NOTHING, { report: report(0, 0) })])).toEqual([])
  const first = pass([], 'a', [done('d1')])
  const [last] = pass(first, 'b', [done(DIGEST_OF_NOTHING, { report: report(0, 3) })])
  expect(last).toMatchObject({ commit: 'b'.repeat(40), phase: 'Succeeded', deleted: 3 })
})

test('what is refused stays open with its reason until a pass applies it, and adds up', () => {
  const first = pass([], 'a', [done('d1', { trouble: refused })])
  expect(first[0]).toMatchObject({ phase: 'Failed', message: 'hub: ConfigMap/x/a: forbidden' })
  expect(first[0]?.finishedAt).toBeUndefined()
  const [last, ...rest] = pass(first, 'b', [done('d1')], 5)
  expect(rest).toEqual([])
  expect(last).toMatchObject({ commit: 'a'.repeat(40), phase: 'Succeeded', finishedAt: at(5), applied: 4, deleted: 2 })
  expect(last?.message).toBeUndefined()
})

test('a commit that mends it takes its place', () => {
  const first = pass([], 'a', [done('d1', { trouble: refused })])
  expect(pass(first, 'b', [done('d2')], 7)).toMatchObject([
    { commit: 'b'.repeat(40), phase: 'Succeeded' },
    { commit: 'a'.repeat(40), phase: 'Failed', finishedAt: at(7), supersededBy: 'b'.repeat(40) },
  ])
})

test('deletions that wait for an approval are named, with who approved them and which Clusters went', () => {
  const waits = { type: 'PruneBlocked', message: 'hub: 30 objects would be deleted (limit 20)' }
  const first = pass([], 'a', [done('d1', { trouble: waits })])
  expect(first[0]).toMatchObject({ phase: 'Waiting', message: waits.message })
  const ref = { group: 'kubenode.io', kind: 'Cluster', namespace: 'fleet', name: 'old' }
  const plan = { operations: [{ kind: 'Delete', ref }], approved: { digest: 'p', count: 30 } }
  const approved = new Map([['p', new Set(['cem', 'ada'])]])
  const [last] = pass(first, 'a', [done('d1', { report: report(0, 30, plan) })], 3, approved)
  expect(last).toMatchObject({ phase: 'Succeeded', deletedClusters: ['old'], approvedBy: ['ada', 'cem'], deleted: 31 })
})

test('only so many are kept, the newest of each track among them', () => {
  let all = pass([], 'a', [done('rare', { track: 'rare' })])
  for (let n = 0; n < 2 * MAX_HUB_RECORDS; n++) all = pass(all, 'b', [done(`d${n}`)], 1)
  expect(all).toHaveLength(MAX_HUB_RECORDS)
  expect(all[0]?.digest).toBe(`d${2 * MAX_HUB_RECORDS - 1}`)
  expect(pass(all, 'c', [done('rare', { track: 'rare' })])).toEqual(all)
})
