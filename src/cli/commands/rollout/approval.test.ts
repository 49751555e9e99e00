import { expect, test } from 'vitest'
import { approval } from '#api/kinds/approval.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import { createValidator } from '#api/validate.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { aPermit, START_MS } from '#test/support/fleets/defender-objects.ts'
import { approvalOf } from './approval.ts'
import { requestsOf } from '#explain/approval-requests.ts'

const object = aPermit({ name: 'reboot-rack-12', targets: ['m-0'] })
const permit = { object, digest: requestsOf(object)[0]?.digest ?? '' }
const ADA = { name: 'ada@example.org', groups: ['sre', 'dev'] }
const request = { reason: undefined, for: '1h' }

test('an approval names what is asked for word for word, who approves, and until when', () => {
  const made = approvalOf(permit, ADA, request, START_MS)
  expect(createValidator().problems(approval, made)).toEqual([])
  expect(made.metadata.name).toMatch(/^reboot-rack-12-[0-9a-f]{10}$/)
  expect(approvalOf(permit, { ...ADA, name: 'bob' }, request, START_MS).metadata.name).not.toBe(made.metadata.name)
  expect(made.spec).toEqual({
    digest: approvalDigest(object.spec),
    by: 'ada@example.org',
    groups: ['dev', 'sre'],
    of: { kind: operationPermit.kind, name: 'reboot-rack-12' },
    until: '2026-01-05T01:00:00Z',
  })
})

test.each(['system:serviceaccount:a:b', 'Ada Lovelace', 'x'.repeat(250), 'ü', '..'])(
  'the approval of %j has a name that is valid',
  (name) => {
    expect(createValidator().problems(approval, approvalOf(permit, { name, groups: [] }, request, START_MS))).toEqual(
      [],
    )
  },
)

test('of a person in more groups than an approval holds, those that count are kept', () => {
  const groups = Array.from({ length: 200 }, (_, i) => `a-${String(i).padStart(3, '0')}`)
  const made = approvalOf(
    { ...permit, asked: ['release', 'elsewhere'] },
    { name: 'ada', groups: [...groups, 'release'] },
    request,
    START_MS,
  )
  expect(createValidator().problems(approval, made)).toEqual([])
  expect(made.spec.groups).toContain('release')
  expect(made.spec.groups).toContain('a-000')
  expect(made.spec.groups).not.toContain('elsewhere')
  expect(made.spec.groups).toHaveLength(64)
})

test.each(['', '0s', 'soon', '8d'])('an approval for %j is refused by number', (length) => {
  expect(() => approvalOf(permit, ADA, { ...request, for: length }, START_MS)).toThrow(/^KN1002/)
})

const held = (digit: string, count: number) => ({
  digest: digit.repeat(64),
  count,
  allowed: 1,
  first: 'MachineSet.kubenode.io/workers',
})
const since = '2026-01-05T00:00:00Z'
const spec = { source: 's', track: 't', pipeline: 'p', commit: 'c'.repeat(40), digests: { a: 'a'.repeat(64) } }
const aRelease = (prunes: readonly ReturnType<typeof held>[]): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'fleet-1', namespace: 'kubenode-system' },
  spec,
  status: {
    clusters: prunes.map((prune, i) => ({ name: `c-${i}`, stage: 'test', phase: 'Verifying', since, prune })),
  },
})

test('a release that waits for deletions asks for these, cluster by cluster, and otherwise for all that it applies', () => {
  expect(requestsOf(aRelease([held('1', 12), held('2', 2)]))).toEqual([
    {
      digest: '1'.repeat(64),
      text: 'cluster c-0: 12 objects would be deleted (limit 1), the first is MachineSet.kubenode.io/workers',
    },
    {
      digest: '2'.repeat(64),
      text: 'cluster c-1: 2 objects would be deleted (limit 1), the first is MachineSet.kubenode.io/workers',
    },
  ])
  expect(requestsOf(aRelease([]))).toEqual([{ digest: targetsDigest({ spec }) }])
})

test('a source asks for the deletions on its hub, and for nothing when none wait', () => {
  const source = (prunes: readonly { name: string; held: ReturnType<typeof held> }[]) =>
    ({ kind: 'FleetSource', metadata: { name: 'fleet' }, status: { prunes } }) as unknown as FleetSource
  expect(requestsOf(source([{ name: 'fleet', held: held('3', 4) }]))).toMatchObject([{ digest: '3'.repeat(64) }])
  expect(requestsOf(source([]))).toEqual([])
})
