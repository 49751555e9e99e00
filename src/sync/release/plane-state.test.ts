import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Release } from '#api/kinds/release.ts'
import { areNodesFirst, isNewToStage, planeTrouble } from './plane-state.ts'

const NOW = Date.parse('2026-01-05T12:00:00Z')
const REFUSED = { seen: 'a kubelet is too old', unblock: 'mend it' }
const SPEC = { version: '1.36.0', controlPlane: { flavor: 'embedded' } }
const RUNS = { observedGeneration: 2, phase: 'Ready', versions: [{ part: 'apiserver', version: '1.36.0' }] }
const clusterOf = (status: object | undefined, spec: object = SPEC): Cluster =>
  ({ metadata: { name: 'a', namespace: 'fleet', generation: 2 }, spec, status }) as unknown as Cluster
const found = (status: object | undefined, isNew = true, spec?: object) => {
  const trouble = planeTrouble({ cluster: clusterOf(status, spec), isNew, now: NOW })
  return trouble && [trouble.state, trouble.outside === undefined ? 'counts' : 'outside', trouble.message]
}
const notServed = {
  predicate: 'VersionNotServed',
  seen: 'the host serves 1.35',
  unblock: 'x',
  since: '2026-01-05T11:59:59Z',
}

describe('a control plane', () => {
  test.each<[string, object | undefined, readonly [string, string, string] | undefined]>([
    ['that runs what is declared', RUNS, undefined],
    ['nobody has observed', undefined, ['InProgress', 'counts', 'its controller has not observed the latest spec yet']],
    [
      'whose new spec nobody has observed',
      { ...RUNS, observedGeneration: 1 },
      ['InProgress', 'counts', 'its controller has not observed the latest spec yet'],
    ],
    [
      'that runs another version',
      { ...RUNS, versions: [{ part: 'apiserver', version: '1.35.1' }] },
      ['InProgress', 'counts', 'it is Ready with version 1.35.1; 1.36.0 is declared'],
    ],
    ['that is being upgraded', { ...RUNS, phase: 'Upgrading' }, ['InProgress', 'outside', 'it is Upgrading']],
    [
      'that soaks',
      { ...RUNS, change: { from: '1.35.1', to: '1.36.0', message: 'the soak: 59m left', wayBack: 'Programs' } },
      ['InProgress', 'outside', 'from 1.35.1 to 1.36.0: the soak: 59m left'],
    ],
    ['whose version nobody serves', { ...RUNS, waitingFor: notServed }, ['Failed', 'counts', 'the host serves 1.35']],
    [
      'whose upgrade is refused for a moment',
      {
        ...RUNS,
        phase: 'Upgrading',
        waitingFor: { ...REFUSED, predicate: 'UpgradeRefused', since: '2026-01-05T11:59:30Z' },
      },
      ['InProgress', 'outside', 'it is Upgrading: a kubelet is too old'],
    ],
    [
      'whose upgrade is refused for a minute',
      {
        ...RUNS,
        phase: 'Upgrading',
        waitingFor: { ...REFUSED, predicate: 'UpgradeRefused', since: '2026-01-05T11:59:00Z' },
      },
      ['Failed', 'counts', 'a kubelet is too old'],
    ],
    [
      'whose addon fails',
      { ...RUNS, addons: [{ name: 'coredns', version: '1', healthy: 'False', message: 'no pod' }] },
      ['InProgress', 'counts', 'addon coredns 1 is not healthy: no pod'],
    ],
    ['that does not run', { ...RUNS, phase: 'Failed' }, ['InProgress', 'counts', 'it is Failed']],
    ['whose time to live is over', { ...RUNS, phase: 'Expired' }, undefined],
  ])('%s', (_, status, trouble) => expect(found(status)).toEqual(trouble))

  test('waits for an addon that is declared and not applied', () => {
    const spec = { ...SPEC, addons: [{ name: 'coredns', version: '2' }] }
    const old = { ...RUNS, addons: [{ name: 'coredns', version: '1', healthy: 'True' }] }
    expect(found(old, true, spec)?.[2]).toBe('addon coredns 2 is not applied yet')
  })

  test('that was broken before stops nothing, and one in the middle of a change is waited for', () => {
    for (const status of [undefined, { ...RUNS, phase: 'Failed' }, { ...RUNS, waitingFor: notServed }])
      expect(found(status, false)).toBeUndefined()
    expect(found({ ...RUNS, phase: 'Restoring' }, false)?.slice(0, 2)).toEqual(['InProgress', 'outside'])
  })

  test('of a registered cluster is none of ours', () => {
    expect(found(undefined, true, { kubeconfigSecretRef: {} })).toBeUndefined()
  })
})

test.each([
  ['1.35.1', '1.36.0', true],
  ['1.36.0', '1.35.1', false],
  ['1.36.0', '1.36.0', false],
  ['what', '1.36.0', false],
])('nodes go first on the way to %s from %s: %s', (wanted, live, areFirst) => {
  const versions = [{ part: 'apiserver', version: live }]
  // A declared version that was never reached does not count.
  expect(areNodesFirst({ version: wanted }, clusterOf({ ...RUNS, versions }, { version: '1.37.0' }))).toBe(areFirst)
  expect(areNodesFirst({ version: wanted }, clusterOf(undefined, { version: live }))).toBe(areFirst)
})

describe('what a Cluster declares is new to its stage', () => {
  const release = (name: string, commit: string, hasPassed: boolean): Release =>
    ({
      metadata: { name },
      spec: { commit },
      status: {
        stages: [{ name: 'test', phase: hasPassed ? 'Succeeded' : 'Failed' }],
        clusters: [{ name: 'a', stage: 'test', phase: hasPassed ? 'Healthy' : 'Failed' }],
      },
    }) as unknown as Release
  const at = (commit: string): Cluster =>
    ({ metadata: { name: 'a', annotations: { 'kubenode.io/commit': commit } }, spec: SPEC }) as unknown as Cluster
  const own = release('r3', 'c3', false)

  test.each<[string, readonly Release[], string, boolean]>([
    ['by this commit', [own], 'c3', true],
    ['by one before, which passed', [release('r2', 'c2', true), own], 'c2', false],
    ['by one before, which failed', [release('r2', 'c2', false), own], 'c2', true],
    [
      'by one that failed, and the next one passed with it',
      [release('r1', 'c1', false), release('r2', 'c2', true), own],
      'c1',
      false,
    ],
    ['by one that is forgotten', [own], 'c0', false],
  ])('%s', (_, chain, commit, isNew) => expect(isNewToStage(chain, own, at(commit))).toBe(isNew))
})
