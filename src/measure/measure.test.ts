import { describe, expect, test } from 'vitest'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Node, Pod } from '#nodes/objects.ts'
import { aMachine } from '#test/support/fleets/defender-objects.ts'
import { nodeResources, placesOfNodes, PodRequests, requestsOf, sumsByPlace, usageByNode } from './capacity.ts'
import { isFailed, leadSeconds, restoreSeconds, stageWaits } from './releases.ts'
import { isNeedless, operationOf, relapseOf, waitOf } from './repairs.ts'

describe('capacity', () => {
  const node = (name: string, cpu: string, extra: object = {}): Node =>
    ({
      metadata: { name },
      status: { capacity: { cpu, memory: '1Ki', 'hugepages-2Mi': '0', ...extra }, allocatable: { cpu } },
    }) as unknown as Node
  const nodes = [node('a', '4', { 'nvidia.com/gpu': '2' }), node('b', '500m'), node('c', '1')]
  const machines = ['a', 'b'].map((name) => {
    const made = aMachine({ name, pool: 'web' })
    return { ...made, status: { ...made.status, nodeRef: { name, uid: name } } }
  })
  const places = placesOfNodes(machines, nodes)

  test('nodes are summed by pool, and what hardware adds is shown', () => {
    expect(nodeResources(nodes, places, 'capacity').map((s) => `${s.pool} ${s.resource} ${s.value}`)).toEqual([
      'web cpu 4.5',
      'web memory 2048',
      'web nvidia.com/gpu 2',
      'none cpu 1',
      'none memory 1024',
    ])
  })

  const pod = (nodeName: string | undefined, cpu: string, phase = 'Running', more: object = {}): Pod =>
    ({
      spec: { nodeName, containers: [{ resources: { requests: { cpu } } }, {}], ...more },
      status: { phase },
    }) as unknown as Pod

  test('requests are those of pods that hold a node', () => {
    const requests = new PodRequests()
    for (const one of [pod('a', '1'), pod('b', '250m'), pod('a', '9', 'Succeeded'), pod(undefined, '9')])
      requests.add(one)
    expect(requests.sums(places).map((s) => `${s.pool} ${s.resource} ${s.value}`)).toEqual([
      'web pods 2',
      'web cpu 1.25',
    ])
  })

  test('a large init container counts instead of the containers, a sidecar beside them', () => {
    const init = (cpu: string, restartPolicy?: string) => ({ resources: { requests: { cpu } }, restartPolicy })
    const cpuOf = (more: object) => requestsOf(pod('a', '1', 'Running', more)).get('cpu')
    expect(cpuOf({ initContainers: [init('3')] })).toBe(3)
    expect(cpuOf({ initContainers: [init('500m')] })).toBe(1)
    expect(cpuOf({ initContainers: [init('500m', 'Always')] })).toBe(1.5)
    expect(cpuOf({ overhead: { cpu: '100m' } })).toBeCloseTo(1.1)
  })

  test('use comes from metrics.k8s.io', () => {
    const used = usageByNode([{ metadata: { name: 'a' }, usage: { cpu: '1500m', memory: '1Ki' } }])
    expect(sumsByPlace(used, places).map((s) => `${s.resource} ${s.value}`)).toEqual(['cpu 1.5', 'memory 1024'])
  })
})

describe('repairs', () => {
  const job = (name: string, more: { readonly spec?: object; readonly status?: object; readonly at?: string } = {}) =>
    ({
      metadata: { name, creationTimestamp: more.at ?? '2026-01-01T12:00:00Z' },
      spec: {
        remedierRef: { name: 'rule' },
        node: { name: 'n', uid: 'n' },
        incident: name,
        operations: [],
        ...more.spec,
      },
      status: more.status ?? {},
    }) as unknown as RemedyOperationJob

  test.each([
    [[{ collectEvidence: {} }, { cordon: {} }, { drain: {} }, { reboot: {} }, { uncordon: {} }], 'reboot'],
    [[{ restartComponent: {} }], 'restartComponent'],
    [[{ collectEvidence: {} }, { cordon: {} }], 'cordon'],
    [[], 'none'],
  ])('%j is for %s', (operations, expected) => {
    expect(operationOf(job('a', { spec: { operations } }))).toBe(expected)
  })

  test('a repair is needless if its fault ended before the first step', () => {
    expect(isNeedless(job('a', { status: { phase: 'Done', outcome: 'Superseded' } }))).toBe(true)
    expect(isNeedless(job('a', { status: { phase: 'Done', outcome: 'Superseded', nextJob: 'b' } }))).toBe(false)
    expect(isNeedless(job('a', { status: { phase: 'Done', outcome: 'Superseded', startedAt: 'x' } }))).toBe(false)
    expect(isNeedless(job('a', { status: { phase: 'Done', outcome: 'Succeeded' } }))).toBe(false)
  })

  test('a fault that is back within a day was not repaired', () => {
    const good = job('first', {
      status: { phase: 'Done', outcome: 'Succeeded', finishedAt: '2026-01-01T12:00:00Z' },
      at: '2026-01-01T11:00:00Z',
    })
    const again = (at: string, spec: object = {}) => relapseOf(job('second', { at, spec }), [good])?.metadata.name
    expect(again('2026-01-01T18:00:00Z')).toBe('first')
    expect(again('2026-01-02T12:00:01Z')).toBeUndefined()
    expect(again('2026-01-01T18:00:00Z', { incident: 'first' })).toBeUndefined()
    expect(again('2026-01-01T18:00:00Z', { remedierRef: { name: 'other' } })).toBeUndefined()
    expect(again('2026-01-01T18:00:00Z', { node: { name: 'm', uid: 'm' } })).toBeUndefined()
  })

  test('what a repair waits for', () => {
    const waiting = (gate: string) => ({ status: { verdicts: [{ gate, verdict: 'Waiting' }] } }) as never
    const asks = job('a', { status: { phase: 'AwaitingPermit' } })
    expect([waitOf(asks, undefined), waitOf(asks, waiting('Window')), waitOf(asks, waiting('Approval'))]).toEqual([
      'permit',
      'window',
      'approval',
    ])
    const drains = { phase: 'Running', steps: [{ operation: 'drain', startedAt: 'x' }] }
    expect(waitOf(job('a', { status: drains }), undefined)).toBe('drain')
    expect(waitOf(job('a', { status: { phase: 'Running', steps: [] } }), undefined)).toBeUndefined()
  })
})

describe('releases', () => {
  const release = (name: string, status: object, at = '2026-01-01T12:00:00Z'): Release =>
    ({ metadata: { name, creationTimestamp: at }, spec: { track: 't', source: 's' }, status }) as unknown as Release

  test('the lead time ends when every stage has it', () => {
    expect(leadSeconds(release('a', { phase: 'Succeeded', finishedAt: '2026-01-01T13:00:00Z' }))).toBe(3_600)
    expect(leadSeconds(release('a', { phase: 'Failed', finishedAt: '2026-01-01T13:00:00Z' }))).toBeUndefined()
  })

  test('a change failed where a stage of it did, or a revert undid it', () => {
    expect(isFailed(release('a', { phase: 'Succeeded', stages: [{ phase: 'Succeeded' }] }))).toBe(false)
    expect(isFailed(release('a', { phase: 'Superseded', stages: [{ phase: 'Failed' }] }))).toBe(true)
    expect(isFailed(release('a', { phase: 'Reverted' }))).toBe(true)
  })

  test('service is restored by the next release that succeeded, counted from the first failure', () => {
    const bad = (at: string) => release(`bad-${at}`, { phase: 'Failed', finishedAt: `2026-01-01T${at}:00Z` })
    const good = (at: string) => release(`good-${at}`, { phase: 'Succeeded', finishedAt: `2026-01-01T${at}:00Z` })
    const fixed = good('15:00')
    expect(restoreSeconds(fixed, [good('10:00'), bad('12:00'), bad('13:00'), fixed])).toBe(3 * 3_600)
    expect(restoreSeconds(fixed, [bad('09:00'), good('10:00'), fixed])).toBeUndefined()
    // A release that is reverted ends only then, and its failed stage has no end.
    const reverted = release('reverted', {
      phase: 'Reverted',
      finishedAt: '2026-01-01T15:00:00Z',
      stages: [{ phase: 'Failed' }],
      clusters: [
        { phase: 'Failed', since: '2026-01-01T14:00:00Z' },
        { phase: 'Waiting', since: '2026-01-01T11:00:00Z' },
      ],
    })
    expect(restoreSeconds(fixed, [reverted, fixed])).toBe(3_600)
  })

  test('stages that wait say what for', () => {
    const stages = [
      { name: 'test', phase: 'Soaking' },
      { name: 'prod', phase: 'Waiting', waitingFor: { predicate: 'Approval' } },
      { name: 'last', phase: 'Waiting' },
    ]
    expect(stageWaits(release('a', { phase: 'Progressing', stages }))).toEqual([
      { stage: 'test', why: 'SoakTime' },
      { stage: 'prod', why: 'Approval' },
    ])
    expect(stageWaits(release('a', { phase: 'Succeeded', stages }))).toEqual([])
  })
})
