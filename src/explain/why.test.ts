import { describe, expect, test } from 'vitest'
import { ANNOTATIONS } from '#api/names.ts'
import { release } from '#api/kinds/release.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { clusterStory } from './cluster-story.ts'
import { allOf, storyLines } from './finding.ts'
import { firstStep } from './first-step.ts'
import { findingInContext } from './unblock.ts'
import { whyLines, whyStory } from './why.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')

const slice = (number: number, since: string, seen: string) => ({
  component: 'beacon',
  version: '1.2.0',
  step: 4,
  number,
  phase: 'Requested',
  machines: [`m-${number}`],
  waitingFor: { predicate: 'PermitPending', seen, since, unblock: 'the permit is granted' },
})

test('a machine says which slice or batch ordered what it is doing', () => {
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm-1' },
    spec: { components: [{ name: 'beacon', version: '1.2.0', attempt: 2, part: 'set/base step 2 slice 1' }] },
    status: {
      components: [
        { name: 'beacon', version: '1.1.0', desired: '1.2.0', state: 'Staged', since: '2026-01-31T11:59:00Z' },
      ],
    },
  } as unknown as KubeObject
  expect(whyLines(object, NOW)).toEqual([
    'machine/m-1',
    'Component beacon 1.1.0 → 1.2.0 is Staged for 1m',
    '  ordered by set/base step 2 slice 1',
  ])
})

test('a set whose latest spec its controller has not observed is not up to date', () => {
  const set = (observedGeneration: number) =>
    ({
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'MachineComponentSet',
      metadata: { name: 'base', generation: 2 },
      status: { phase: 'Complete', observedGeneration },
    }) as unknown as KubeObject
  expect(whyLines(set(1), NOW).slice(0, 2)).toEqual([
    'set/base is Complete',
    'Its controller has not observed the latest spec yet: this state is of generation 1, its spec of generation 2',
  ])
  expect(whyLines(set(2), NOW)).toEqual(['set/base is Complete', 'Up to date; nothing pending.'])
})

test('a refused write is the reason for an old status, and no log needs to be read', () => {
  const waitingFor = { predicate: 'ActionRefused', seen: 'cannot request a permit: no', unblock: 'kubenode check' }
  const set = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineComponentSet',
    metadata: { name: 'base', generation: 2 },
    status: { phase: 'Progressing', observedGeneration: 1, waitingFor },
  }
  const lines = whyLines(set, NOW).join('\n')
  expect(lines).toContain('cannot request a permit: no')
  expect(lines).not.toContain('the log')
})

test('a component that fails at the version it should have is named with that version once', () => {
  const component = { name: 'scribe', version: '1.0.0', desired: '1.0.0', state: 'Degraded', reason: 'CrashLooping' }
  const object = { kind: 'Machine', metadata: { name: 'm-1' }, status: { components: [component] } }
  expect(whyLines(object as unknown as KubeObject, NOW)).toContain('Component scribe 1.0.0 is Degraded: CrashLooping')
})

test('a healthy component that cannot begin the version it should have says why', () => {
  const healthy = { name: 'scribe', version: '1.0.0', state: 'Healthy' }
  const stuck = { ...healthy, desired: '1.1.0', reason: 'HostUnsuitable', message: 'the disk is full' }
  const lines = (component: object) =>
    whyLines(
      { kind: 'Machine', metadata: { name: 'm-1' }, status: { components: [component] } } as unknown as KubeObject,
      NOW,
    )
  expect(lines(stuck)).toContain('Component scribe 1.0.0 → 1.1.0 is Healthy: HostUnsuitable: the disk is full')
  expect(lines(healthy).join('\n')).not.toContain('Component')
})

describe('what a program printed is shown line by line', () => {
  const output = '--after-repair\nbad page at 0x42\n\nexited with 3'
  const printed = ['  | --after-repair', '  | bad page at 0x42', '  | exited with 3']
  const lines = (kind: string, status: object) =>
    whyLines({ kind, metadata: { name: 'm-1' }, status } as unknown as KubeObject, NOW)

  test('by a step of a repair', () => {
    const step = (text: string) => ({
      index: 1,
      operation: 'runScript',
      executor: 'agent',
      outcome: 'Failed',
      output: text,
    })
    expect(lines('Machine', { steps: [step(output)] })).toEqual([
      'machine/m-1',
      'Step 1 runScript by agent: Failed',
      ...printed,
    ])
    expect(lines('Machine', { steps: [step('timed out\n')] })).toContain('Step 1 runScript by agent: Failed: timed out')
  })

  test('by the acceptance of a node', () => {
    const acceptance = { phase: 'Failed', wanted: 'script check-memory', attempt: 2, output }
    expect(lines('Machine', { acceptance })).toEqual([
      'machine/m-1',
      'Attempt 2 of script check-memory did not pass',
      ...printed,
    ])
    expect(lines('Machine', { acceptance: { ...acceptance, phase: 'Passed' } })).not.toContain(printed[0])
  })
})

test('slices that wait for the same are shown once, with their number and the longest wait', () => {
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MachineComponentSet',
    metadata: { name: 'base' },
    status: {
      slices: [
        slice(0, '2026-01-31T11:59:00Z', 'rate limit'),
        slice(1, '2026-01-31T11:58:00Z', 'rate limit'),
        slice(2, '2026-01-31T11:59:00Z', 'no window'),
      ],
    },
  } as unknown as KubeObject
  expect(whyLines(object, NOW)).toEqual([
    'set/base',
    'beacon 1.2.0 step 5, 2 slices (Requested): waiting for 2m: PermitPending',
    '  observed: rate limit',
    '  unblocks when: the permit is granted',
    'beacon 1.2.0 step 5 slice 3 (Requested): waiting for 1m: PermitPending',
    '  observed: no window',
    '  unblocks when: the permit is granted',
  ])
})

test.each([
  [
    '2026-01-31T11:59:58Z',
    '2026-01-31T11:50:00Z',
    ['source/fleet', 'sync was asked 2s ago to read it, and has not yet'],
  ],
  ['2026-01-31T11:50:00Z', '2026-01-31T11:50:00Z', ['source/fleet', 'Up to date; nothing pending.']],
  ['nonsense', undefined, ['source/fleet', 'Up to date; nothing pending.']],
])('a source that sync was asked to read at %s, and that it read for the request of %s', (asked, handled, want) => {
  const annotations = { [ANNOTATIONS.reconcile]: asked }
  const object = {
    apiVersion: 'a/v1',
    kind: 'FleetSource',
    metadata: { name: 'fleet', annotations },
    status: { lastHandledReconcileAt: handled },
  }
  expect(whyLines(object as unknown as KubeObject, NOW)).toEqual(want)
})

test('a source says what takes a commit back that does not render, and never sends back to itself', () => {
  const [Rendered, Ready] = ['Rendered', 'Ready'].map((type) => ({
    type,
    status: 'False',
    reason: 'RenderFailed',
    message: 'main.ts:3',
  }))
  const status = { commit: 'c'.repeat(40), revert: 'Commit', conditions: [Rendered, Ready] }
  const source = { kind: 'FleetSource', metadata: { name: 'fleet' }, status } as unknown as KubeObject
  const way = 'a commit corrects it, or takes it back: git revert --no-edit cccccccccccc && git push'
  const lines = whyLines(source, NOW)
  expect(lines.filter((line) => line.includes(way))).toEqual([`  unblocks when: ${way}`])
  expect(lines.join()).not.toContain('why source/fleet')
})

test('what a condition and a wait have in common is shown once', () => {
  const waitingFor = { predicate: 'RevisionFailed', seen: 'beacon: HTTP 503', since: '2026-01-31T11:59:00Z' }
  const ready = { type: 'Ready', status: 'False', reason: 'RevisionFailed', message: 'beacon: HTTP 503' }
  const object = {
    kind: 'MachineComponentSet',
    metadata: { name: 'base' },
    status: { waitingFor, conditions: [ready] },
  }
  const lines = whyLines(object as unknown as KubeObject, NOW)
  expect(lines.filter((line) => line.includes('HTTP 503'))).toEqual(['  observed: beacon: HTTP 503'])
  expect(lines).toContain('Ready is False: RevisionFailed')
})

test('a cluster in which a release failed is not up to date', () => {
  const failed = { name: 'test', phase: 'Failed', since: '2026-01-31T11:58:00Z', message: 'set/base is Blocked' }
  const healthy = { name: 'prod', phase: 'Healthy', since: '2026-01-31T11:58:00Z' }
  const newest = { ...release.example, metadata: { name: 'fleet-2' }, status: { clusters: [failed, healthy] } }
  const object = (name: string) => ({ kind: 'Cluster', metadata: { name } }) as unknown as KubeObject
  const why = (name: string) => whyLines(object(name), NOW, { more: clusterStory(name, [newest as never], NOW) })
  expect(why('test')).toEqual([
    'cluster/test',
    'Blocked for 2m: Failed in release/fleet-2',
    '  observed: set/base is Blocked',
    '  to see more: kubenode why release/fleet-2',
  ])
  expect(why('prod')).toEqual(['cluster/prod', 'Up to date; nothing pending.'])
})

test('a permit that waits for people names the command, and one that ended does not', () => {
  const verdicts = [{ gate: 'Approval', verdict: 'Waiting', seen: '0 approvals', limit: '1 of group:ops' }]
  const why = (phase: string) =>
    whyLines(
      { kind: 'OperationPermit', metadata: { name: 'base-0' }, status: { phase, verdicts } } as unknown as KubeObject,
      NOW,
    )
  expect(why('Requested')).toEqual([
    'permit/base-0 is Requested',
    'Gate Approval: Waiting: 0 approvals, limit 1 of group:ops',
    '  to unblock: kubenode approve permit/base-0 --reason WHY',
  ])
  expect(why('Expired').join()).not.toContain('approve permit')
})

test('a release that a newer one replaced asks for nothing', () => {
  const conditions = [{ type: 'Ready', status: 'False', reason: 'NewerRelease', message: 'superseded by fleet-2' }]
  const object = { kind: 'Release', metadata: { name: 'fleet-1' }, status: { phase: 'Superseded', conditions } }
  const story = whyStory(object as unknown as KubeObject, NOW)
  expect(storyLines(story)).toEqual([
    'release/fleet-1 is Superseded',
    'Ready is False: NewerRelease: superseded by fleet-2',
    '  A newer commit replaced this release.',
  ])
  expect(allOf(story).filter((t) => t.urgency !== undefined || t.runbook !== undefined)).toEqual([])
})

test('a node that a user cordoned is called so, with the command that ends it; other nodes are not', () => {
  const node = (spec: object) =>
    ({ kind: 'Node', metadata: { name: 'n-1' }, spec, status: {} }) as unknown as KubeObject
  expect(whyLines(node({ unschedulable: true }), NOW)).toEqual([
    'node/n-1',
    'cordoned by a user: it takes no new pods',
    '  to let it take pods again: kubectl uncordon n-1',
  ])
  expect(firstStep([whyStory(node({ unschedulable: true }), NOW)])).toBe(
    'what to do first: kubectl uncordon n-1 (node/n-1)',
  )
  const ours = { taints: [{ key: 'kubenode.io/cordon', effect: 'NoSchedule' }] }
  expect(whyLines(node(ours), NOW)).toEqual(['node/n-1', 'Up to date; nothing pending.'])
})

test.each([
  ['its agent reports its folder', { agent: { folder: '/srv/node a' } }, "'/srv/node a'"],
  ['its agent reports none', {}, '/var/lib/kubenode'],
])('a machine that a file freezes is thawed on the node itself, when %s', (_, status, folder) => {
  const frozen = { type: 'Frozen', status: 'True', reason: 'HoldFreeze', message: 'by /srv/frozen on the node: why' }
  const machine = { kind: 'Machine', metadata: { name: 'm' }, status: { ...status, conditions: [frozen] } }
  const ends = `a person lifts the freeze, on the node itself: kubenode thaw --node-folder ${folder}`
  const story = whyStory(machine as unknown as KubeObject, NOW)
  expect(storyLines(story).at(-1)).toBe(`  unblocks when: ${ends}`)
  // The file is no hold of the cluster, so no context belongs to its command.
  expect(storyLines(findingInContext(story, 'prod')).at(-1)).toBe(`  unblocks when: ${ends}`)
})

test('of a node whose repair runs nothing is asked that blocks it', () => {
  const conditions = [{ type: 'KernelDeadlock', status: 'True', reason: 'Hung', message: 'task blocked' }]
  const node = { kind: 'Node', metadata: { name: 'n-1' }, status: { conditions } } as unknown as KubeObject
  const job = (status: object) => ({
    label: 'Being repaired by',
    object: {
      kind: 'RemedyOperationJob',
      metadata: { name: 'j' },
      spec: { node: { name: 'n-1' }, remedierRef: { name: 'r' }, operations: [] },
      status,
    } as unknown as KubeObject,
  })
  const why = (...related: readonly ReturnType<typeof job>[]) => whyLines(node, NOW, { related }).join('\n')
  const waitingFor = { predicate: 'PermitRequested', seen: 'no verdict', since: '2026-01-31T11:59:00Z' }
  expect(why()).toContain('kubenode why-not node/n-1')
  expect(why(job({ phase: 'Running' }))).not.toContain('why-not')
  expect(why(job({ phase: 'AwaitingPermit', waitingFor }))).toContain('kubenode why-not node/n-1')
})

test('an object is not called up to date above another that blocks', () => {
  const node = { kind: 'Node', metadata: { name: 'n-1' }, status: { conditions: [] } } as unknown as KubeObject
  const waitingFor = { predicate: 'RevisionFailed', seen: '1 machine failed', since: '2026-01-31T11:59:00Z' }
  const set = { kind: 'MachineComponentSet', metadata: { name: 'base' }, status: { phase: 'Blocked', waitingFor } }
  const machine = { kind: 'Machine', metadata: { name: 'n-1' }, status: { phase: 'Ready' } }
  const related = (object: object, label: string) => ({ label, object: object as unknown as KubeObject })
  expect(whyLines(node, NOW, { related: [related(machine, 'Machine:'), related(set, 'In a slice of')] })).toEqual([
    'node/n-1',
    'Nothing of its own is pending.',
    'Machine: machine/n-1 (Ready)',
    'In a slice of set/base (Blocked)',
    '  Blocked for 1m: RevisionFailed',
    '    observed: 1 machine failed',
  ])
  expect(whyLines(node, NOW, { related: [related(machine, 'Machine:')] })[1]).toBe('Up to date; nothing pending.')
})

describe('a Release', () => {
  const since = '2026-01-31T11:56:00Z'
  const now = Date.parse('2026-01-31T12:00:00Z')
  const held = 'MachineComponentSet/base: it is Paused by hold h'
  const lift = 'the hold ends'
  const earlier = {
    predicate: 'StageWaiting',
    seen: 'an earlier stage has not finished',
    since,
    unblock: 'the earlier stage succeeds',
  }
  const of = (cluster: object) => ({
    kind: 'Release',
    apiVersion: 'kubenode.io/v1alpha1',
    metadata: { name: 'fleet-1' },
    status: {
      phase: 'Progressing',
      waitingFor: { predicate: 'HoldPause', seen: `a: ${held}`, since, unblock: lift },
      conditions: [
        {
          type: 'Ready',
          status: 'False',
          reason: 'HoldPause',
          message: `waiting for a: ${held}`,
          lastTransitionTime: since,
        },
      ],
      stages: [
        { name: 'test', waitingFor: { predicate: 'HoldPause', seen: `a: ${held}`, since, unblock: lift } },
        { name: 'pre', waitingFor: earlier },
        { name: 'prod', waitingFor: earlier },
      ],
      clusters: [
        { name: 'a', waitingFor: { predicate: 'HoldPause', seen: held, since, unblock: lift }, ...cluster },
        { name: 'p', waitingFor: earlier },
      ],
    },
  })

  test('says which change it is', () => {
    const titled = { ...of({}), spec: { commit: 'c'.repeat(40), subject: 'beacon 1.1.0', author: 'Ada' } }
    expect(whyLines(titled, now)[0]).toBe('release/fleet-1 is Progressing: commit cccccccccccc "beacon 1.1.0" by Ada')
  })

  test('tells what it waits for once, though its stage and its cluster repeat it', () => {
    expect(whyLines(of({}), now)).toEqual([
      'release/fleet-1 is Progressing',
      'Waiting for 4m: HoldPause',
      `  observed: a: ${held}`,
      '  unblocks when: the hold ends',
      'Ready is False for 4m: HoldPause',
      expect.stringMatching(/^ {2}A Pause hold/),
      'Stages pre, prod: waiting for 4m: StageWaiting',
      '  observed: an earlier stage has not finished',
      '  unblocks when: the earlier stage succeeds',
    ])
  })

  test('tells which deletions are to be approved, also where the wait was told before', () => {
    const lines = whyLines(of({ prune: { digest: 'd'.repeat(64) } }), now)
    expect(lines.slice(-2)).toEqual([
      `digest to approve: ${'d'.repeat(64)}`,
      '  to unblock: kubenode approve release/fleet-1 --reason WHY',
    ])
  })
})
