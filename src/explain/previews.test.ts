import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { ANNOTATIONS } from '#api/names.ts'
import {
  judgePreview,
  leftOfPreview,
  PREVIEW_HEAD,
  previewRow,
  previewsIn,
  stillNot,
  type SeenPreview,
} from './previews.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const [OLD, NEW] = ['a'.repeat(40), 'b'.repeat(40)]

const seen = (more: Partial<SeenPreview>): SeenPreview => ({
  branch: 'preview/x',
  source: 'fleet',
  namespace: 'kubenode-system',
  phase: 'Ready',
  message: 'its objects are applied',
  commit: NEW,
  cluster: 'pv-x',
  expiresAt: undefined,
  ...more,
})

test('previews have the end of their Cluster in the namespace of their source', () => {
  const named = (namespace: string, name: string, more: object) => ({ metadata: { namespace, name }, ...more })
  const previews = [
    { branch: 'preview/x', phase: 'Ready', message: 'm', commit: NEW, cluster: 'pv-x' },
    { branch: 'preview/y', phase: 'Waiting', message: '2 previews at most' },
  ]
  const source = named('a', 'fleet', { spec: {}, status: { previews } }) as unknown as FleetSource
  const clusters = [
    named('b', 'pv-x', { status: { expiresAt: '2026-01-31T12:30:00Z' } }),
    named('a', 'pv-x', { status: { expiresAt: '2026-01-31T15:00:00Z' } }),
  ] as unknown as readonly Cluster[]
  const rows = previewsIn([source], clusters).map((p) => previewRow(p, NOW))
  expect(rows).toEqual([
    ['preview/x', 'fleet', 'Ready', NEW.slice(0, 12), 'pv-x', 'in 3h', 'm'],
    ['preview/y', 'fleet', 'Waiting', '<none>', '<none>', '<none>', '2 previews at most'],
  ])
  expect(rows[0]).toHaveLength(PREVIEW_HEAD.length)
})

describe('a wait for a preview', () => {
  const kindOf = (found: readonly SeenPreview[], commit?: string) => judgePreview('preview/x', found, commit).kind
  test.each<[string, string, readonly SeenPreview[], string | undefined]>([
    ['ends when it is Ready', 'Ready', [seen({})], undefined],
    ['ends when it is Ready with the commit', 'Ready', [seen({})], NEW.slice(0, 7)],
    ['continues at an earlier commit', 'Waiting', [seen({})], OLD],
    ['continues where an earlier commit was refused', 'Waiting', [seen({ phase: 'Refused' })], OLD],
    ['fails where the commit was refused', 'Failed', [seen({ phase: 'Refused' })], NEW],
    ['fails where the newest was refused', 'Failed', [seen({ phase: 'Refused' })], undefined],
    ['fails once it has expired, whatever is pushed', 'Failed', [seen({ phase: 'Expired' })], OLD],
    ['fails while it is deleted', 'Failed', [seen({ phase: 'Deleting' })], undefined],
    ['continues while it is made', 'Waiting', [seen({ phase: 'Creating' })], NEW],
    ['continues while there is no room', 'Waiting', [seen({ phase: 'Waiting' })], undefined],
    ['continues until sync has seen the branch', 'Waiting', [], NEW],
  ])('%s', (_, kind, found, commit) => {
    expect(kindOf(found, commit)).toBe(kind)
  })
})

test('a wait that is over says what it waited for', () => {
  expect(stillNot([])).toBe('sync has not seen the branch yet')
  expect(stillNot([seen({ phase: 'Creating' })])).toBe('it is still being made')
  expect(stillNot([seen({ phase: 'Waiting', message: '2 previews at most' })])).toBe(
    'it still waits: 2 previews at most',
  )
})

describe('an earlier preview of a branch', () => {
  const source = (previews: readonly object[]) =>
    ({ metadata: { namespace: 'a', name: 'fleet' }, spec: {}, status: { previews } }) as unknown as FleetSource
  const of = (branch: string, key: string) =>
    ({
      metadata: {
        namespace: 'a',
        name: 'pv-x',
        annotations: { [ANNOTATIONS.previewOf]: key, [ANNOTATIONS.previewBranch]: branch },
      },
    }) as unknown as Cluster
  test.each<[string, FleetSource, readonly Cluster[], RegExp | undefined]>([
    ['is there while its cluster is', source([]), [of('preview/x', 'a/fleet')], /^cluster\/pv-x of its earlier/],
    ['is there while sync lists it', source([{ branch: 'preview/x' }]), [], /^sync has not forgotten/],
    ['is gone with both', source([{ branch: 'preview/y' }]), [of('preview/y', 'a/fleet')], undefined],
    ['is none of another source', source([]), [of('preview/x', 'a/other')], undefined],
  ])('%s', (_, of, clusters, left) => {
    const found = leftOfPreview('preview/x', [of], clusters)
    if (left === undefined) expect(found).toBeUndefined()
    else expect(found).toMatch(left)
  })
})
