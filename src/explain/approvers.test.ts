import { expect, test } from 'vitest'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { judgeGate } from '#sync/release/gates.ts'
import { riskGate } from '#sync/release/risk.ts'
import { aPermit } from '#test/support/fleets/defender-objects.ts'
import { askersOfCommit, askersOfPermit, askersOfRelease, countsOf } from './approvers.ts'

type Stage = NonNullable<ReleaseStatus['stages']>[number]

const BOARD = { name: 'board', approval: { from: ['group:release', 'ada'], count: 2 } }
const SRE = { name: 'sre', approval: { from: ['bob'], count: 1 } }
const since = '2026-01-05T00:00:00Z'

const pipeline = (before: readonly object[]) =>
  ({
    metadata: { name: 'p' },
    spec: { stages: [{ name: 'test' }, { name: 'prod', before }] },
  }) as unknown as ReleasePipeline
const releaseWith = (stages: readonly Stage[]) => ({ status: { stages } }) as unknown as Release
/** As sync writes it. */
const seenBy = (gate: typeof BOARD): string => judgeGate(gate, undefined, { now: 0, approvedBy: [] }).seen
const record = (seen: string, phase: 'Waiting' | 'Passed' = 'Waiting') => ({
  when: 'Before' as const,
  name: 'board',
  phase,
  since,
  seen,
})

const counts = (askers: Parameters<typeof countsOf>[0], name: string, groups: readonly string[] = []) =>
  countsOf(askers, { name, groups }, 'kubenode approve release/r')

test('an approval of another user counts for nothing, and who is asked is named with the command', () => {
  const askers = askersOfRelease(releaseWith([]), pipeline([BOARD]))
  expect(counts(askers, 'eve', ['dev'])).toEqual({
    isCounted: false,
    lines: [
      'this does not count for gate board of stage prod, which asks for 2 of: group release, ada; they run kubenode approve release/r',
    ],
  })
  expect(counts(askers, 'ada')).toEqual({ isCounted: true, lines: [] })
  expect(counts(askers, 'eve', ['release'])).toEqual({ isCounted: true, lines: [] })
})

test('with two gates the one that does not count it is named', () => {
  const { isCounted, lines } = counts(askersOfRelease(releaseWith([]), pipeline([BOARD, SRE])), 'bob')
  expect(isCounted).toBe(true)
  expect(lines).toEqual([expect.stringContaining('gate board of stage prod')])
})

test.each<[string, readonly Stage[]]>([
  ['the stage is done', [{ name: 'prod', phase: 'Succeeded' }]],
  ['the gate has passed', [{ name: 'prod', phase: 'Waiting', gates: [record(seenBy(BOARD), 'Passed')] }]],
])('nothing is asked once %s', (_, stages) => {
  expect(askersOfRelease(releaseWith(stages), pipeline([BOARD]))).toEqual([])
})

test('the gate for high-risk changes, which no pipeline declares, counts any user', () => {
  const stage = { name: 'prod', clusters: {}, before: [] } as unknown as Parameters<typeof riskGate>[0]
  const gate = riskGate(stage, [{ change: 'Versions', text: 'cluster prod-1 from 1.35.1 to 1.36.0' }])
  if (gate === undefined) throw new Error('no gate')
  const { seen } = judgeGate(gate, undefined, { now: 0, approvedBy: [] })
  expect(seen).toBe('cluster prod-1 from 1.35.1 to 1.36.0: approved by 0 of 1 (group system:authenticated)')
  const asked = { ...record(seen), name: gate.name }
  const askers = askersOfRelease(releaseWith([{ name: 'prod', phase: 'Waiting', gates: [asked] }]), pipeline([]))
  expect(askers.map((a) => a.name)).toEqual(['gate high-risk of stage prod'])
  expect(counts(askers, 'eve')).toEqual({ isCounted: true, lines: [] })
})

test('what sync judged counts, not the pipeline that the commit brings', () => {
  const stages: readonly Stage[] = [{ name: 'prod', phase: 'Waiting', gates: [record(seenBy(BOARD))] }]
  const changed = { ...BOARD, approval: { from: ['eve'], count: 1 } }
  for (const now of [pipeline([changed]), pipeline([]), undefined]) {
    const { isCounted, lines } = counts(askersOfRelease(releaseWith(stages), now), 'eve')
    expect(isCounted).toBe(true)
    expect(lines).toEqual([
      expect.stringMatching(/not known .* gate board .*approved by 0 of 2 \(group release, ada\)$/),
    ])
  }
  const cut = record(`${seenBy(BOARD).slice(0, 25)}…`)
  const askers = askersOfRelease(releaseWith([{ name: 'prod', phase: 'Waiting', gates: [cut] }]), pipeline([BOARD]))
  expect(counts(askers, 'eve').isCounted).toBe(false)
})

const policy = { metadata: { name: 'strict' }, spec: { approvals: [{ risk: 'Low', from: ['group:sre'], count: 1 }] } }
const waitingPermit = (limit: string) => ({
  ...aPermit({ name: 'p', targets: ['m-0'] }),
  status: { gates: [{ target: 'm-0', gate: 'Approval', policy: 'strict', verdict: 'Waiting' as const, limit }] },
})

test('a permit waits for the people of the policy that asks', () => {
  const policies = [policy, { ...policy, metadata: { name: 'other' } }] as unknown as readonly DefenderPolicy[]
  const askers = askersOfPermit(waitingPermit('1 of group:sre'), policies)
  expect(counts(askers, 'eve').lines).toEqual([
    expect.stringContaining('policy strict, which asks for 1 of: group sre'),
  ])
  expect(askersOfPermit(waitingPermit('1 of any user who may approve'), policies)).toEqual([])
})

test('a commit is agreed to by signers only; with a file of signers it is not known', () => {
  const signers = [{ principal: 'ada' }, { principal: 'ci', forge: true }, { principal: 'sync', sync: true }]
  const source = (more: object) => ({ spec: { verify: { signers, ...more } } }) as unknown as FleetSource
  expect(counts(askersOfCommit(source({})), 'ci').lines).toEqual([expect.stringContaining('1 of: ada;')])
  expect(counts(askersOfCommit(source({ signersFile: { path: 'signers.yaml', count: 2 } })), 'eve').isCounted).toBe(
    true,
  )
})
