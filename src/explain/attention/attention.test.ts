// The five states of Home as the model finds them, and false all-clears: everything that is not known to be healthy is reported, each cause once.
import { describe, expect, test } from 'vitest'
import { attentionOf, summaryOfAttention } from './attention.ts'
import { type FleetFinding, MOST_FINDINGS, worstFirst } from './finding.ts'
import { observedNode, type ObservedCluster, type ObservedKinds } from './observed.ts'
import { attentionReport } from './attention-report.ts'

const NOW = Date.parse('2026-01-05T02:03:10Z')
const SINCE = '2026-01-05T01:59:00Z'

type Lists = { readonly [K in keyof ObservedKinds]?: readonly object[] }

function cluster(name: string, lists: Lists = {}, more: Partial<ObservedCluster> = {}): ObservedCluster {
  return {
    name,
    state: 'Connected',
    stopped: [],
    gap: undefined,
    list: <K extends keyof ObservedKinds>(kind: K) => (lists[kind] ?? []) as readonly ObservedKinds[K][],
    ...more,
  }
}

const machine = (name: string, state: object = {}, node = '') => ({
  metadata: { name },
  node,
  since: Date.parse(SINCE) / 1_000,
  state: { phase: 'Ready', reason: '', silent: 'No', isFrozen: false, ...state },
})
const problem = (type: string, message = '') => ({ type, reason: 'Found', message, since: SINCE })
const node = (name: string, ...problems: readonly object[]) => ({ metadata: { name }, problems, isCordoned: false })
const release = (name: string, phase: string, status: object = {}) => ({
  metadata: { name, namespace: 'kubenode-system' },
  spec: { source: 'fleet', commit: 'c0ffee' },
  status: { phase, ...status },
})
const guarded = (prune: object) =>
  release('r', 'Progressing', {
    clusters: [{ name: 'test', prune }],
    waitingFor: {
      predicate: 'PruneGuard',
      seen: '5 machines would be deleted',
      since: new Date(NOW).toISOString(),
      unblock: 'digest d is approved',
    },
  })
const set = (phase: string, status: object = {}) => ({
  metadata: { name: 'base' },
  spec: {},
  status: { phase, counts: { total: 7, updated: 3, failed: 0 }, ...status },
})
const when = { all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }] }
const rule = (matching: readonly object[], conditions: readonly object[] = []) => ({
  metadata: { name: 'kernel-deadlock' },
  spec: { when },
  status: { matching, conditions },
})
const matches = (node: string, reason: string, waitingFor = 'because') => ({ node, since: SINCE, reason, waitingFor })
const publish = (since: string) => ({ predicate: 'FetchFailed', seen: '404', since, unblock: 'a person publishes it' })
const hold = (effect: string, target: object, until = '2026-01-05T03:00:00Z') => ({
  metadata: { name: 'h' },
  spec: { effect, target, author: 'eve', reason: 'a look at the graphs', until },
})

const found = (...clusters: readonly ObservedCluster[]): readonly FleetFinding[] => attentionOf(clusters, NOW)
const summary = (...clusters: readonly ObservedCluster[]) => summaryOfAttention(found(...clusters), clusters)
const firstOf = ({ command, ends }: FleetFinding) => command?.line ?? ends
const told = (findings: readonly FleetFinding[]) => findings.map(({ weight, text }) => `${weight}: ${text}`)

const well = cluster('prod', {
  machines: [machine('m-1'), machine('m-2')],
  nodes: [node('m-1'), node('m-2')],
  sets: [set('Complete')],
  machineSets: [{ metadata: { name: 'workers' }, spec: {}, status: { phase: 'Complete' } }],
  rules: [rule([])],
})
const hub = (...releases: readonly object[]) => cluster('hub', { releases })

test('clusters whose hub is not read are known only in part, and that is said', () => {
  const annotations = { 'kubenode.io/commit': 'c0ffee' }
  const ofGit = { ...set('Complete'), metadata: { name: 'base', annotations } }
  const told = (...clusters: readonly ObservedCluster[]) =>
    attentionReport(clusters, NOW).lines.some((line) => line.startsWith('their hub is not among them'))
  expect(told(cluster('prod', { sets: [ofGit] }))).toBe(true)
  expect(told(cluster('prod', { sets: [ofGit] }), hub(release('r', 'Succeeded')))).toBe(false)
  expect(told(cluster('alone', { sets: [set('Complete')] }))).toBe(false)
})

test.each([
  ['2026-01-05T02:03:00Z', 'it may end by itself within two minutes'],
  [SINCE, 'a person publishes it: kubectl get machinecomponents.kubenode.io -o wide'],
])('what an artifact needs that could not be fetched since %s: %s', (since, first) => {
  const seen = found(cluster('prod', { sets: [set('Progressing', { waitingFor: publish(since) })] }))
  expect(seen.map(firstOf)).toEqual([first])
})

describe('an edited object', () => {
  const edited = (reason: string) => [
    {
      type: 'UncommittedChange',
      status: 'True',
      reason,
      message: 'edited: content d differs from git (c)',
      lastTransitionTime: SINCE,
    },
  ]
  const minutes = (n: number) => Date.parse(SINCE) + n * 60_000

  test('is named, and needs a person only if it is not reverted', () => {
    const seen = [cluster('prod', { rules: [rule([], edited('UncommittedChange'))] })]
    const at = (n: number) => attentionOf(seen, minutes(n)).map((f) => [f.weight, f.text, firstOf(f)])
    const text = 'rule/kernel-deadlock was edited: content d differs from git (c)'
    expect(at(1)).toEqual([['Wait', text, 'sync reverts the edit, usually within a minute']])
    expect(at(6)).toEqual([['Act', text, 'kubenode put-back rule/kernel-deadlock']])
  })

  test('can be a policy of the Defender', () => {
    const policies = [
      { metadata: { name: 'production' }, spec: {}, status: { conditions: edited('UncommittedChange') } },
    ]
    expect(told(found(cluster('prod', { policies })))).toEqual([
      'Wait: policy/production was edited: content d differs from git (c)',
    ])
  })

  test('that a hold allows is not', () => {
    expect(found(cluster('prod', { rules: [rule([], edited('HoldAllowEdit'))] }))).toEqual([])
  })

  test('is one finding with the wait of its set', () => {
    const waitingFor = {
      predicate: 'UncommittedChange',
      seen: 'edited',
      since: SINCE,
      unblock: 'kubenode put-back set/base',
    }
    const sets = [set('Progressing', { waitingFor, conditions: edited('UncommittedChange') })]
    expect(found(cluster('prod', { sets }))).toHaveLength(1)
  })
})

describe('the five states of a fleet', () => {
  test('calm: nothing is found, and that is said', () => {
    expect(summary(hub(release('r', 'Succeeded')), well)).toEqual({
      sentence: 'Nothing needs attention.',
      needsPerson: 0,
      waits: 0,
      unknown: 0,
    })
  })

  test('in the middle of a rollout: changes are in progress, and no person is needed', () => {
    const rolling = cluster('prod', {
      machines: [machine('m-1', { phase: 'Updating' }), machine('m-2')],
      nodes: [node('m-1', problem('ComponentUnhealthy')), node('m-2')],
      sets: [set('Progressing')],
    })
    const clusters = [hub(release('r', 'Progressing')), rolling]
    expect(summary(...clusters)).toMatchObject({
      sentence: 'Nothing needs attention; 3 changes in progress.',
      needsPerson: 0,
    })
    expect(told(found(...clusters))).toEqual([
      'Wait: release/r is Progressing',
      'Wait: set/base is Progressing: 3 of 7 machines updated',
      'Wait: ComponentUnhealthy on node/m-1: Found',
    ])
  })

  test('failed: the blocked set is the one thing to do, and names the release that it holds up', () => {
    const waitingFor = { predicate: 'RevisionFailed', seen: 'beacon 1.2.0: 1 failed', since: SINCE }
    const paused = release('r', 'Paused', { clusters: [{ name: 'prod', phase: 'Failed' }] })
    const findings = found(hub(paused), cluster('prod', { sets: [set('Blocked', { waitingFor })] }))
    expect(findings).toHaveLength(1)
    expect(findings[0]).toMatchObject({
      weight: 'Act',
      text: 'set/base is Blocked: 3 of 7 machines updated; beacon 1.2.0: 1 failed',
      since: Date.parse(SINCE),
      holdsUp: ['release/r is Paused (hub)'],
    })
  })

  test('failed: the cause has a title, the commit that brought it, and what it stops in order', () => {
    const slice = {
      component: 'beacon',
      version: '1.2.0',
      step: 0,
      number: 0,
      machines: ['m-1'],
      phase: 'Failed',
      failed: 1,
    }
    const seen = 'beacon: step 1 of 2: 1 machine failed (0 allowed); m-1: ProbeFailed: probe answers: HTTP 503 from /'
    const stages = [
      { name: 'test', phase: 'Failed', total: 1 },
      { name: 'pre', phase: 'Waiting', total: 0 },
      { name: 'prod', phase: 'Waiting', total: 3 },
    ]
    const paused = release('r', 'Paused', { stages, clusters: [{ name: 'test', phase: 'Failed' }] })
    const waitingFor = { predicate: 'RevisionFailed', seen, since: SINCE }
    const clusters = [hub(paused), cluster('test', { sets: [set('Blocked', { waitingFor, slices: [slice] })] })]
    expect(found(...clusters)).toMatchObject([
      {
        title: 'beacon 1.2.0 fails its probe on m-1 (HTTP 503)',
        commit: { commit: 'c0ffee' },
        stops: ['set base in test', 'release r', 'stage prod'],
      },
    ])
    expect(summary(...clusters).sentence).toBe(
      '1 thing needs attention: beacon 1.2.0 fails its probe on m-1 (HTTP 503) (test)',
    )
  })

  test('a set whose cluster works on a release has its commit, and with two releases none', () => {
    const working = (name: string) => release(name, 'Progressing', { clusters: [{ name: 'prod', phase: 'Verifying' }] })
    const rolling = cluster('prod', { sets: [set('Progressing')] })
    expect(found(hub(working('r')), rolling)[1]).toMatchObject({
      object: { kind: 'MachineComponentSet' },
      commit: { commit: 'c0ffee' },
    })
    const two = [hub(working('r')), cluster('hub2', { releases: [working('s')] }), rolling]
    expect(found(...two).find(({ object }) => object.kind === 'MachineComponentSet')).not.toHaveProperty('commit')
  })

  test('waiting for people: each approval is named with its command', () => {
    const permit = {
      metadata: { name: 'p-1', creationTimestamp: SINCE },
      spec: { reason: 'step 2 of kubelet 1.34.2' },
      status: { phase: 'Requested', gates: [{ gate: 'Approval', verdict: 'Waiting', seen: '0 of 1' }] },
    }
    const job = {
      metadata: { name: 'p-1' },
      spec: { node: { name: 'm-1' }, remedierRef: { name: 'r' } },
      status: { phase: 'AwaitingPermit', waitingFor: { predicate: 'PermitRequested', since: SINCE } },
    }
    const [only, ...others] = found(cluster('prod', { permits: [permit], jobs: [job] }))
    expect(only).toMatchObject({
      weight: 'Act',
      text: 'the permit for step 2 of kubelet 1.34.2 needs an approval: 0 of 1',
      command: { line: 'kubenode approve operationpermit/p-1 --reason WHY' },
    })
    expect(others, 'the repair that waits for it is not a second thing').toEqual([])
  })

  test('disaster: what does not answer and what stands still comes first, then what is broken', () => {
    const clusters = [
      cluster(
        'prod',
        { nodes: [node('n', problem('DiskSpaceLow'))] },
        { stopped: [{ program: 'defender', since: NOW }] },
      ),
      cluster('edge', {}, { state: 'Unreachable', message: 'connection refused' }),
      cluster('lab', {}, { gap: 'cluster/lab is known in part: cannot be read now: machines' }),
    ]
    expect(told(worstFirst(found(...clusters)))).toEqual([
      'Act: the Defender is away: no permit is granted, so disruptions do not begin',
      'Act: cluster/edge does not answer: connection refused',
      'Act: DiskSpaceLow on node/n: Found',
      'Unknown: cluster/lab is known in part: cannot be read now: machines',
    ])
    expect(summary(...clusters)).toMatchObject({ needsPerson: 3, unknown: 1 })
  })
})

describe('what was called well', () => {
  test('three nodes whose repair is refused, eight without complete detection, one frozen: three findings', () => {
    const sick = ['a', 'b', 'c']
    const deaf = Array.from({ length: 8 }, (_, i) => `d-${i}`)
    const lists = {
      machines: [...sick, ...deaf].map((name) => machine(name)),
      nodes: [
        ...sick.map((name) => node(name, problem('KernelDeadlock', 'task blocked'))),
        ...deaf.map((name) => node(name, problem('DetectionIncomplete', 'ENOENT'))),
      ],
      rules: [rule(sick.map((name) => matches(name, 'CohortBlamed', 'true for 3 of 9 nodes at once')))],
      holds: [hold('Freeze', { kind: 'Machine', name: 'd-1' })],
    }
    expect(told(found(cluster('prod', lists)))).toEqual([
      'Wait: machine/d-1 is frozen by eve until 2026-01-05T03:00:00Z: a look at the graphs',
      'Act: 3 nodes (a, b, c) not repaired by rule kernel-deadlock (mass fault): true for 3 of 9 nodes at once',
      'Act: DetectionIncomplete on 8 nodes (d-0, d-1, d-2 and 5 more): ENOENT',
    ])
    expect(summary(cluster('prod', lists)).needsPerson).toBe(2)
  })

  const one = (lists: Lists) => told(found(cluster('prod', lists)))
  test.each<readonly [string, Lists, string]>([
    ['a silent agent', { machines: [machine('m', { silent: 'Yes' })] }, 'Act: machine/m is silent'],
    [
      'a machine that is not Ready',
      { machines: [machine('m', { phase: 'NotReady', reason: 'NodeNotReady' })] },
      'Act: machine/m is NotReady: NodeNotReady',
    ],
    [
      'a machine that waits for its join command',
      { machines: [machine('m', { phase: 'Joining', reason: 'JoinCommandMissing' })] },
      'Act: machine/m is Joining: JoinCommandMissing',
    ],
    [
      'a freeze by a file on a host',
      { machines: [machine('m', { isFrozen: true })] },
      'Act: machine/m is frozen: a file on its host',
    ],
    [
      'a Node that KubeNode does not manage',
      { nodes: [node('n', problem('Ready', 'kubelet stopped'))] },
      'Act: NotReady on node/n: kubelet stopped',
    ],
    [
      'an exhausted ladder',
      { rules: [rule([matches('n', 'LadderExhausted')])], nodes: [node('n', problem('KernelDeadlock'))] },
      'Act: node/n not repaired by rule kernel-deadlock (ladder exhausted): because',
    ],
    [
      'a rule that only looks',
      { rules: [rule([matches('n', 'DryRunOnly')])] },
      'Act: node/n not repaired by rule kernel-deadlock (mode DryRun): because',
    ],
    [
      'a limit of repairs',
      { rules: [rule([matches('n', 'HourlyLimit', '10 of 10')])] },
      'Wait: repair of node/n by rule kernel-deadlock waits (HourlyLimit): 10 of 10',
    ],
    [
      'a rule that is not active',
      { rules: [rule([], [{ type: 'RuleActive', status: 'False', reason: 'RuleInvalid', message: 'no such fact' }])] },
      'Act: rule/kernel-deadlock is not active as declared: no such fact',
    ],
    [
      'a set of machines that is stuck',
      {
        machineSets: [
          {
            metadata: { name: 'w' },
            status: { phase: 'Complete', conditions: [{ type: 'ScalingFrozen', status: 'True', message: 'too many' }] },
          },
        ],
      },
      'Act: machineset/w is ScalingFrozen: too many',
    ],
    [
      'an artifact that cannot be fetched for minutes',
      { sets: [set('Progressing', { waitingFor: publish(SINCE) })] },
      'Act: set/base is Progressing: 3 of 7 machines updated; 404',
    ],
    [
      'one that could not be fetched a moment ago',
      { sets: [set('Progressing', { waitingFor: publish('2026-01-05T02:03:00Z') })] },
      'Wait: set/base is Progressing: 3 of 7 machines updated; 404',
    ],
    [
      'a lost machine',
      { machines: [machine('m-1', { phase: 'Lost', reason: 'LeaseExpired' })] },
      'Act: machine/m-1 is Lost: LeaseExpired',
    ],
    [
      'a release that waits for a commit',
      {
        releases: [release('r', 'Progressing', { waitingFor: { ...publish(SINCE), unblock: 'a commit corrects it' } })],
      },
      'Act: release/r waits: 404',
    ],
    [
      'a release of content that failed before, however short it waits',
      {
        releases: [
          release('r', 'Progressing', {
            waitingFor: {
              predicate: 'RevertedBefore',
              seen: 'the same objects failed',
              since: new Date(NOW).toISOString(),
              unblock: 'kubenode release retry r --reason WHY',
            },
          }),
        ],
      },
      'Act: release/r waits: the same objects failed',
    ],
    [
      'a release whose deletions the guard holds, however short it waits',
      { releases: [guarded({})] },
      'Act: release/r waits: 5 machines would be deleted',
    ],
    [
      'a release whose deletions are approved and wait for their permit',
      { releases: [guarded({ permit: 'prune-1' })] },
      'Wait: release/r is Progressing: 5 machines would be deleted',
    ],
    [
      'a release that waits for time',
      { releases: [release('r', 'Progressing', { waitingFor: { ...publish(SINCE), unblock: 'its window opens' } })] },
      'Wait: release/r is Progressing: 404',
    ],
    [
      'work on a host whose provider has to be asked',
      {
        events: [
          {
            metadata: { name: 'e' },
            spec: { machine: 'm-1' },
            status: { phase: 'UnderWay', waitingFor: publish(SINCE) },
          },
        ],
      },
      'Act: work on the host of machine/m-1: 404',
    ],
    [
      'a provider that nobody serves',
      { machineSets: [{ metadata: { name: 'w' }, status: { phase: 'Progressing', waitingFor: publish(SINCE) } }] },
      'Act: machineset/w is Progressing: 404',
    ],
    [
      'a canary whose selector matches nothing',
      { canaries: [{ metadata: { name: 'c' }, status: { phase: 'Pending', waitingFor: publish(SINCE) } }] },
      'Act: canary/c is Pending: 404',
    ],
    [
      'a canary that passed',
      { canaries: [{ metadata: { name: 'c' }, status: { phase: 'Passed', waitingFor: publish(SINCE) } }] },
      'Act: canary/c is Passed: 404',
    ],
    [
      'a canary that failed',
      { canaries: [{ metadata: { name: 'c' }, status: { phase: 'Failed' } }] },
      'Act: canary/c is Failed',
    ],
    [
      'a user who cordoned a node',
      { nodes: [{ ...node('n'), isCordoned: true }] },
      'Act: node/n cordoned by a user: no new pods',
    ],
    [
      'a commit that does not render',
      {
        sources: [
          {
            metadata: { name: 'fleet' },
            status: {
              conditions: [
                { type: 'Ready', status: 'False', reason: 'RenderFailed', message: 'cut' },
                { type: 'Rendered', status: 'False', reason: 'RenderFailed', message: 'cut' },
              ],
              renderErrors: ['fleet.ts: no such pool'],
              commit: 'c'.repeat(40),
              subject: 'one pool more',
              author: 'Ada',
            },
          },
        ],
      },
      'Act: source/fleet refuses the newest commit cccccccccccc "one pool more" by Ada: fleet.ts: no such pool',
    ],
    [
      'a commit that its error names, once',
      {
        sources: [
          {
            metadata: { name: 'fleet' },
            status: {
              conditions: [{ type: 'Rendered', status: 'False', reason: 'RenderFailed', message: 'cut' }],
              renderErrors: ['KN7102: cannot render commit cccccccccccc "one pool more" by Ada: it does not parse'],
              commit: 'c'.repeat(40),
              subject: 'one pool more',
              author: 'Ada',
            },
          },
        ],
      },
      'Act: source/fleet refuses the newest commit: KN7102: cannot render commit cccccccccccc "one pool more" by Ada: it does not parse',
    ],
    [
      'a commit that is refused for its signature, which has no title',
      {
        sources: [
          {
            metadata: { name: 'fleet' },
            status: {
              conditions: [{ type: 'SourceVerified', status: 'False', reason: 'UnverifiedCommit', message: 'cut' }],
              refused: {
                commit: 'd'.repeat(40),
                reason: 'UnverifiedCommit',
                message: 'commit dddddddddddd: it has no signature',
              },
              commit: 'c'.repeat(40),
              subject: 'the one before',
            },
          },
        ],
      },
      'Act: source/fleet refuses the newest commit: commit dddddddddddd: it has no signature',
    ],
    [
      'a repository that cannot be fetched',
      {
        sources: [
          {
            metadata: { name: 'fleet' },
            status: { conditions: [{ type: 'Fetched', status: 'False', reason: 'GitFailed', message: 'refused' }] },
          },
        ],
      },
      'Act: source/fleet cannot be fetched: refused',
    ],
  ])('%s is told', (_, lists, text) => expect(one(lists)).toEqual([text]))

  const COMMIT = 'c'.repeat(40)
  test.each([
    [
      'one revert takes it back',
      'RenderFailed',
      { revert: 'Commit' },
      'a commit corrects it, or takes it back: git revert --no-edit cccccccccccc && git push',
    ],
    [
      'the revert of a merge takes it back',
      'ApplyFailed',
      { revert: 'Merge' },
      'a commit corrects it, or takes it back: git revert --no-edit -m 1 cccccccccccc && git push',
    ],
    [
      'another commit of its push may be the cause',
      'RenderFailed',
      { rendered: 'a'.repeat(40) },
      'a commit corrects it, or reverts what broke it (git log aaaaaaaaaaaa..cccccccccccc)',
    ],
    ['it is the first', 'RenderFailed', {}, 'a commit corrects the fleet: kubenode plan'],
    [
      'it could not be rendered here, which no revert changes',
      'RenderUnavailable',
      { revert: 'Commit' },
      'a person removes what keeps the fleet code from running: kubenode why source/fleet',
    ],
    [
      'its signer is not trusted, which no revert changes',
      'UnverifiedCommit',
      { revert: 'Commit' },
      'a commit of a trusted signer follows: kubenode why source/fleet',
    ],
  ])('who ends the refusal of a commit is said at once: %s', (_, reason, status, ends) => {
    const bad = { type: 'Rendered', status: 'False', reason, message: 'no' }
    const source = { metadata: { name: 'fleet' }, status: { commit: COMMIT, conditions: [bad], ...status } }
    expect(found(cluster('hub', { sources: [source] }))).toMatchObject([{ ends }])
  })

  test('a freeze is told once: not again for each set of machines that it stops', () => {
    const conditions = [{ type: 'ScalingFrozen', status: 'True', reason: 'HoldFreeze', message: 'eve until …' }]
    const machineSets = [{ metadata: { name: 'w' }, status: { phase: 'Complete', conditions } }]
    expect(one({ machineSets })).toEqual([])
    expect(one({ machineSets, holds: [hold('Freeze', { kind: 'Cluster' })] })).toHaveLength(1)
  })

  test.each<readonly [string, string, string]>([
    ['Lost', 'LeaseExpired', 'a person starts the host or mends its network: kubenode why machine/m-1'],
    [
      'Provisioning',
      'ProviderError',
      'a person corrects what the provider refuses, such as quota, credentials or image: kubenode why machine/m-1',
    ],
    ['Joining', 'JoinCommandMissing', 'a person runs the join command on the host: kubenode machine join-command m-1'],
    [
      'Joining',
      'JoinExpired',
      'a person deletes the Machine, so that its set makes another one: kubenode why machine/m-1',
    ],
    ['Installing', 'Progressing', 'kubenode why machine/m-1'],
  ])('of a machine that is %s because of %s, who acts and what is typed is told', (phase, reason, step) =>
    expect(found(cluster('prod', { machines: [machine('m-1', { phase, reason })] })).map(firstOf)).toEqual([step]),
  )

  test('the command of a person names its cluster where there are several', () => {
    const lost = cluster('prod', { machines: [machine('m-1', { phase: 'Lost', reason: 'LeaseExpired' })] })
    expect(attentionReport([lost, cluster('test')], NOW).lines.at(-1)).toBe(
      'what to do first: a person starts the host or mends its network: kubenode why machine/m-1 --context prod',
    )
  })

  test.each<readonly [string, string]>([
    ['/home/ada/fleet', 'git revert --no-edit c0ffee12'],
    ['https://git.example.org/fleet.git', 'git revert --no-edit c0ffee12 && git push'],
  ])('what is reverted in %s has the command that works there', (url, line) => {
    const waitingFor = {
      predicate: 'StageFailed',
      seen: 'x',
      since: SINCE,
      unblock: `run ${line.split(' &&')[0]} && git push`,
    }
    const sources = [{ metadata: { name: 'fleet' }, spec: { url }, status: { conditions: [] } }]
    const findings = found(cluster('hub', { sources, releases: [release('r', 'Paused', { waitingFor })] }))
    expect(findings.map(({ command }) => command?.line)).toEqual([line])
  })

  test('a part of the installation that is known to be absent needs a person', () => {
    const altered = (kind: string, name: string, how: string) => ({ kind, name, how, since: SINCE })
    const alteredPolicies = [
      altered('ValidatingAdmissionPolicy', 'kubenode-holds', 'Missing'),
      altered('ValidatingAdmissionPolicyBinding', 'kubenode-holds', 'Missing'),
      altered('ValidatingAdmissionPolicy', 'kubenode-leaders', 'Missing'),
      altered('ValidatingAdmissionPolicyBinding', 'kubenode-ledger', 'Changed'),
    ]
    const lists = { ledgers: [{ metadata: { name: 'cluster' }, spec: { sequence: 1, alteredPolicies } }] }
    const findings = found(cluster('hub', lists))
    expect(told(findings)).toEqual([
      'Act: 2 admission policies are missing (kubenode-holds, kubenode-leaders): what they refuse is permitted',
      'Act: 1 admission policy is changed since the installation (kubenode-ledger): what it refuses is permitted',
    ])
    expect(findings.map(firstOf)).toEqual(['kubenode check', 'kubenode check'])
  })

  test('agents that miss heartbeats are told before they count as silent, and those that do are not told twice', () => {
    const renewed = new Map([
      ['m-1', NOW - 30_000],
      ['m-2', NOW - 26_000],
      ['m-3', NOW - 5_000],
      ['m-4', NOW - 60_000],
    ])
    const heartbeats = { renewed, readAt: NOW }
    const machines = [machine('m-1'), machine('m-2'), machine('m-3'), machine('m-4', { silent: 'Yes' }), machine('m-5')]
    const findings = found(cluster('prod', { machines }, { heartbeats }))
    expect(told(findings)).toEqual([
      'Act: machine/m-4 is silent',
      'Wait: no heartbeat from 2 machines (m-1, m-2): this state may be out of date',
    ])
    expect(findings.at(-1)).toMatchObject({ since: NOW - 30_000, cause: 'machines/late' })
    const calm = cluster('prod', { machines: [machine('m-1')] }, { heartbeats })
    expect(summary(calm).sentence).toBe('Nothing needs attention; no heartbeat from 1 machine.')
  })

  test('agents that were in time when they were read are not late because another cluster made the reader wait', () => {
    const heartbeats = { renewed: new Map([['m-1', NOW - 40_000]]), readAt: NOW - 31_000 }
    expect(found(cluster('prod', { machines: [machine('m-1')] }, { heartbeats }))).toEqual([])
  })

  test('a repair that a hold stops is told by the hold alone', () => {
    const lists = { rules: [rule([matches('n', 'HoldPause')])], holds: [hold('Pause', { kind: 'Node', name: 'n' })] }
    expect(one(lists)).toEqual(['Wait: node/n is paused by eve until 2026-01-05T03:00:00Z: a look at the graphs'])
  })
})

describe('a large fleet', () => {
  const many = 10_000
  const names = Array.from({ length: many }, (_, i) => `m-${i}`)
  const lists = {
    machines: names.map((name, i) =>
      machine(name, { phase: i % 2 === 0 ? 'NotReady' : 'Failed', reason: `R${i % 50}` }),
    ),
    nodes: names.map((name, i) => node(name, problem(`Type${i % 40}`))),
    permits: names.map((name) => ({
      metadata: { name },
      status: { phase: 'Requested', gates: [{ gate: 'Approval', verdict: 'Waiting' }] },
    })),
  }

  test('ten thousand unwell machines are a bounded list that counts all of them', () => {
    const findings = found(cluster('prod', lists))
    expect(findings.length).toBeLessThanOrEqual(3 * (MOST_FINDINGS + 1))
    const countOf = (kind: string) =>
      findings.filter(({ object }) => object.kind === kind).reduce((sum, { count }) => sum + count, 0)
    expect(['Machine', 'Node', 'OperationPermit'].map(countOf)).toEqual([many, many, many])
    expect(findings.map(({ text }) => text)).toContain('and 9980 more like these: permits that need an approval')
  })
})

test('a new machine that was not accepted needs a person', () => {
  const [one] = found(
    cluster('prod', { machines: [machine('m', { phase: 'Installing', reason: 'AcceptanceFailed' })] }),
  )
  expect([one?.weight, one?.text, one && firstOf(one)]).toEqual([
    'Act',
    'machine/m is Installing: AcceptanceFailed',
    'a person repairs or replaces the machine: kubenode describe machine/m',
  ])
})

describe('a node that no script accepted', () => {
  const operations = [{ cordon: {} }, { runScript: { component: 'memtest', version: '1.0.0' } }]
  const job = (name: string, outcome: string, startedAt: string, more: object = {}) => ({
    metadata: { name },
    spec: {
      remedierRef: { name: 'memory' },
      node: { name: 'n', uid: 'u' },
      incident: 'abcdefabcdefabcd',
      rung: 0,
      attempt: 1,
      operations,
      acceptance: 1,
      ...more,
    },
    status: { phase: 'Done', startedAt, finishedAt: SINCE, steps: [{ index: 1, operation: 'runScript', outcome }] },
  })
  const [early, late] = ['2026-01-05T01:50:00Z', '2026-01-05T01:55:00Z']
  const failed = job('j', 'Failed', early)
  const owners = JSON.stringify({ 'repair-abcdefabcdefabcd': { reason: 'r' }, 'machine/delete': { reason: 'r' } })
  const kept = observedNode({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'n', uid: 'u', annotations: { 'kubenode.io/cordon-owners': owners } },
    spec: { taints: [{ key: 'kubenode.io/cordon', effect: 'NoSchedule' }] },
  })
  const of = (...jobs: readonly object[]) => found(cluster('prod', { nodes: [kept], jobs }))

  test('is told, with the command that gives it back', () => {
    const [one, ...more] = of(failed)
    expect([one?.weight, one?.text, one && firstOf(one), more]).toEqual([
      'Act',
      'node/n not accepted by script memtest 1.0.0 of rule memory and cordoned until a user gives it back',
      'kubectl delete remedyoperationjob j --wait=false',
      [],
    ])
  })

  test.each([
    ['a later repair passed its script', [failed, job('k', 'Succeeded', late, { incident: 'new' })]],
    ['its record is deleted', [{ ...failed, metadata: { name: 'j', deletionTimestamp: SINCE } }]],
    ['another rung is open', [failed, open()]],
    ['it had the name of this one', [job('j', 'Failed', early, { node: { name: 'n', uid: 'old' } })]],
  ])('is not told when %s', (_, jobs) => expect(of(...jobs).filter(({ weight }) => weight === 'Act')).toEqual([]))

  test('is not told without the cordon', () =>
    expect(found(cluster('prod', { nodes: [node('n')], jobs: [failed] }))).toEqual([]))

  function open() {
    return { ...job('o', 'Failed', late, { rung: 1 }), status: { phase: 'Running' } }
  }
})

describe('a Cluster in phase Ready whose condition Ready is not True', () => {
  const hubWith = (reason: string, message: string, is = 'False') => {
    const ready = { type: 'Ready', status: is, reason, message, lastTransitionTime: SINCE }
    const status = { phase: 'Ready', conditions: [ready] }
    return cluster('hub', { clusters: [{ metadata: { name: 'edge', namespace: 'fleet' }, spec: {}, status }] })
  }

  test('needs attention, in the words of its condition', () => {
    const hubs = hubWith('ProgramsNotServed', 'this hub runs no programs for its Clusters')
    const [one] = found(hubs)
    expect(one).toMatchObject({
      weight: 'Act',
      text: 'cluster/edge is NotReady: this hub runs no programs for its Clusters',
      since: Date.parse(SINCE),
      ends: 'a commit sets spec.programs to None',
    })
    expect(summary(hubs)).toMatchObject({ needsPerson: 1 })
  })

  test('becomes Ready while its programs start, for a while', () => {
    const starting = hubWith('ProgramsMissing', 'no leader in the cluster: defender')
    const at = (ms: number) => attentionOf([starting], Date.parse(SINCE) + ms).map(({ weight }) => weight)
    expect([at(60_000), at(180_000)]).toEqual([['Wait'], ['Act']])
  })

  test('is Unknown while its host does not answer, which is left two minutes to restart', () => {
    const away = hubWith('HostUnreachable', 'no answer', 'Unknown')
    const at = (ms: number) => attentionOf([away], Date.parse(SINCE) + ms).map(({ weight, text }) => [weight, text])
    expect(at(60_000)).toEqual([['Wait', 'cluster/edge is Unknown: no answer']])
    expect(at(180_000)).toEqual([['Act', 'cluster/edge is Unknown: no answer']])
  })

  test('needs a commit at once where no host serves its flavor', () => {
    const unserved = hubWith('FlavorNotServed', 'flavor kubernetes', 'Unknown')
    expect(attentionOf([unserved], Date.parse(SINCE))).toMatchObject([
      { weight: 'Act', text: 'cluster/edge is Unknown: flavor kubernetes' },
    ])
  })
})
