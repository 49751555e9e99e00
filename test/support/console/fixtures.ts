// A small fleet as the server of the console sends it: one snapshot of each topic, with something to see in every view.
import type { ApprovingAnswer } from '#console/approving.ts'
import type { LoadAnswer } from '#console/load.ts'
import { MACHINE_COLUMNS } from '#console/machine-columns.ts'
import type {
  BudgetsTopic,
  ClustersTopic,
  CommitsTopic,
  HomeTopic,
  MachinesTopic,
  MaintenanceTopic,
  NodeTopic,
  PipelineTopic,
  RepairsTopic,
  Session,
  SetTopic,
  SetsTopic,
  Snapshot,
  LifeAnswer,
  WhyAnswer,
} from '#console/protocol.ts'
import type { SetRow } from '#console/set-topics.ts'
import type { RepairRow } from '#console/topics.ts'

export const NOW = Date.parse('2026-01-31T12:00:00Z')
const minutes = (n: number): number => NOW + n * 60_000
const revision = '1a2b-42'
const base = { revision, at: NOW }

const COMMIT = '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'
/** Another track's commit, which failed. */
export const FAILED_COMMIT = '9d04c1b7e6aa5f3e1c2b4d6f8a0e9c7b5d3f1a2e'
const DIGEST = 'e8a1f3a29b2f1f6f3b1c8e9b1b2f0d6ad0bcbe6ff4b9e3c1a9a5d6ce9a1c4b77'

const ALL = [
  'home',
  'pipeline',
  'clusters',
  'commits',
  'machines',
  'sets',
  'set',
  'budgets',
  'repairs',
  'maintenance',
  'node',
] as const

export const session: Session = {
  version: '0.1.0',
  person: { name: 'ada@example.org', groups: ['sre'], how: 'Link' },
  canPrepare: true,
  isRecorded: true,
  digest: '5e55',
  clusters: [
    {
      name: 'hub',
      isHub: true,
      state: 'Connected',
      topics: ALL,
      holds: ['Release', 'FleetSource'],
      canLift: true,
      canApprove: true,
    },
    {
      name: 'test',
      isHub: false,
      state: 'Connected',
      topics: ALL,
      holds: ['Machine', 'Node', 'MachineComponentSet'],
      canLift: true,
      canApprove: true,
    },
    {
      name: 'prod',
      isHub: false,
      state: 'Connected',
      topics: ['machines', 'sets', 'set', 'node'],
      holds: [],
      canLift: false,
      canApprove: false,
    },
    {
      name: 'edge',
      isHub: false,
      state: 'Unreachable',
      message: 'connection refused since 11:40',
      topics: [],
      holds: [],
      canLift: false,
      canApprove: false,
    },
  ],
}

const release = { cluster: 'hub', kind: 'Release', namespace: 'fleet', name: 'machines-3f1c9e0a7b5d' }

export const home: HomeTopic = {
  ...base,
  topic: 'home',
  head: {
    sentence: '2 things need attention, the first: node n-3: ladder of rule kernel-deadlock exhausted (prod)',
    needsAttention: 2,
    waits: 1,
    unknown: 0,
    clusters: { total: 4, connected: 3 },
    machines: { total: 12, ready: 10 },
  },
  rows: [
    {
      id: 'prod/Node/n-3/LadderExhausted',
      cause: 'rules/kernel-deadlock/LadderExhausted',
      object: { cluster: 'prod', kind: 'Node', name: 'n-3' },
      weight: 'Act',
      rank: 1,
      text: 'node n-3: ladder of rule kernel-deadlock exhausted',
      since: minutes(-40),
      lift: { text: 'kubenode repair node/n-3 --reason "checked by hand"', isCommand: true },
    },
    {
      id: 'hub/Release/machines-3f1c9e0a7b5d',
      cause: 'hub/release/machines-3f1c9e0a7b5d/MinSuccessTime',
      object: release,
      weight: 'Wait',
      rank: 4,
      text: 'release machines-3f1c9e0a7b5d waits: test soaks until 12:06',
      since: minutes(-9),
    },
    {
      id: 'test/MachineComponentSet//agents',
      cause: 'test/set/agents/RevisionFailed',
      object: { cluster: 'test', kind: 'MachineComponentSet', name: 'agents' },
      weight: 'Act',
      rank: 1,
      text: 'set agents is Blocked: 0 of 3 machines updated; scribe: step 1 of 2: 1 machine failed (0 allowed); n-7: ProbeFailed: probe answers: HTTP 503 from /healthz',
      since: minutes(-5),
      title: 'scribe 2.0.0 fails its probe on n-7 (HTTP 503)',
      commit: { commit: FAILED_COMMIT, subject: 'scribe 2.0.0', author: 'Eve' },
      stops: ['set agents in test', 'release agents-9d04c1b7e6aa', 'stage prod'],
      lift: {
        text: 'git revert --no-edit 9d04c1b7e6aa; to retry, kubenode rollout retry agents --reason WHY',
        isCommand: true,
      },
      holdsUp: ['release agents-9d04c1b7e6aa stopped (hub)'],
    },
    {
      id: 'hub/Release/agents-9d04c1b7e6aa/gate',
      cause: 'hub/release/agents-9d04c1b7e6aa/GateFailed',
      object: { cluster: 'hub', kind: 'Release', namespace: 'fleet', name: 'agents-9d04c1b7e6aa' },
      weight: 'Act',
      rank: 1,
      text: 'release agents-9d04c1b7e6aa stopped: stage test failed',
      since: minutes(-4),
      commit: { commit: FAILED_COMMIT, subject: 'scribe 2.0.0', author: 'Eve' },
    },
  ],
}

export const pipeline: PipelineTopic = {
  ...base,
  topic: 'pipeline',
  head: {},
  rows: [
    {
      id: 'hub/fleet/machines-3f1c9e0a7b5d',
      row: 'Release',
      object: release,
      source: 'fleet',
      track: 'machines',
      pipeline: 'standard',
      commit: COMMIT,
      subject: 'beacon 1.1.0',
      author: 'Ada',
      phase: 'Progressing',
      isNewest: true,
      startedAt: minutes(-20),
      holds: [],
      approvals: [],
      approvedBy: ['bo@example.org'],
    },
    {
      id: 'hub/fleet/machines-3f1c9e0a7b5d/test',
      row: 'Stage',
      release: 'hub/fleet/machines-3f1c9e0a7b5d',
      name: 'test',
      order: 0,
      phase: 'Soaking',
      startedAt: minutes(-20),
      soakFrom: minutes(-9),
      soakUntil: minutes(6),
      healthy: 1,
      failed: 0,
      offline: 0,
      total: 1,
      gates: [
        {
          name: 'ready',
          when: 'During',
          phase: 'Passed',
          since: minutes(-18),
          seen: '5 of 5 machines are Ready, 98% are needed',
          figure: { have: 5, of: 5, needed: 98 },
        },
      ],
      wait: {
        predicate: 'MinSuccessTime',
        since: minutes(-9),
        seen: 'all clusters have been healthy for 9m of 15m',
        lift: { text: 'kubenode release promote machines-3f1c9e0a7b5d --reason WHY', isCommand: true },
      },
    },
    {
      id: 'hub/fleet/machines-3f1c9e0a7b5d/prod',
      row: 'Stage',
      release: 'hub/fleet/machines-3f1c9e0a7b5d',
      name: 'prod',
      order: 1,
      phase: 'Waiting',
      healthy: 0,
      failed: 0,
      offline: 1,
      total: 2,
      gates: [
        {
          name: 'release-board',
          when: 'Before',
          phase: 'Waiting',
          since: minutes(-9),
          seen: 'approved by 0 of 1 (group release-board)',
          figure: { have: 0, of: 1 },
        },
      ],
      wait: { predicate: 'EarlierStage', since: minutes(-20), seen: 'stage test must succeed first' },
    },
    {
      id: 'hub/fleet/machines-3f1c9e0a7b5d/test/test',
      row: 'Place',
      release: 'hub/fleet/machines-3f1c9e0a7b5d',
      stage: 'test',
      cluster: 'test',
      phase: 'Healthy',
      since: minutes(-9),
      oldFailures: 0,
      newFailures: 0,
    },
    {
      id: 'hub/fleet/machines-3f1c9e0a7b5d/prod/prod',
      row: 'Place',
      release: 'hub/fleet/machines-3f1c9e0a7b5d',
      stage: 'prod',
      cluster: 'prod',
      phase: 'Waiting',
      since: minutes(-20),
      oldFailures: 1,
      newFailures: 0,
    },
    {
      id: 'hub/fleet/machines-3f1c9e0a7b5d/prod/edge',
      row: 'Place',
      release: 'hub/fleet/machines-3f1c9e0a7b5d',
      stage: 'prod',
      cluster: 'edge',
      phase: 'Offline',
      since: minutes(-20),
      message: 'connection refused',
      oldFailures: 0,
      newFailures: 0,
    },
  ],
}

const noMachines = { total: 0, ready: 0, silent: 0, repairing: 0 }

const clusters: ClustersTopic = {
  ...base,
  topic: 'clusters',
  head: {},
  rows: [
    {
      id: 'hub',
      name: 'hub',
      state: 'Connected',
      isHub: true,
      version: '1.36.2',
      versions: [],
      history: [],
      rotations: [],
      machines: noMachines,
      attention: { act: 0, wait: 1, unknown: 0 },
    },
    {
      id: 'test',
      name: 'test',
      object: { cluster: 'hub', kind: 'Cluster', namespace: 'fleet', name: 'test' },
      state: 'Connected',
      isHub: false,
      stage: 'test',
      phase: 'Ready',
      endpoint: 'https://127.0.0.1:6443',
      version: '1.36.2',
      versions: [{ part: 'kube-apiserver', version: '1.36.2' }],
      history: [
        { version: '1.35.4', startedAt: minutes(-40_000), completedAt: minutes(-39_990), snapshot: 'before-1.36.2' },
      ],
      credentialsEnd: minutes(200_000),
      rotations: [
        {
          name: 'CertificateAuthority',
          phase: 'Distributing',
          message: '3 of 5 agents trust the new one; waits for worker-4',
        },
      ],
      snapshots: { last: minutes(-600), next: minutes(840) },
      machines: { total: 5, ready: 5, silent: 0, repairing: 0 },
      attention: { act: 0, wait: 0, unknown: 0 },
      lastSeen: minutes(-1),
    },
    {
      id: 'prod',
      name: 'prod',
      state: 'Connected',
      isHub: false,
      stage: 'prod',
      versions: [],
      history: [],
      rotations: [],
      machines: { total: 7, ready: 5, silent: 1, repairing: 1 },
      attention: { act: 1, wait: 0, unknown: 0 },
    },
    {
      id: 'edge',
      name: 'edge',
      state: 'Unreachable',
      message: 'connection refused since 11:40',
      isHub: false,
      stage: 'prod',
      versions: [],
      history: [],
      rotations: [],
      machines: noMachines,
      attention: { act: 1, wait: 0, unknown: 0 },
    },
  ],
}

const commits: CommitsTopic = {
  ...base,
  topic: 'commits',
  head: {},
  rows: [
    {
      id: COMMIT,
      commit: COMMIT,
      subject: 'beacon 1.1.0',
      author: 'Ada',
      source: 'fleet',
      firstSeen: minutes(-21),
      signer: 'ada@example.org SHA256:abc',
      releases: [
        { object: release, track: 'machines', phase: 'Progressing', clusters: { Healthy: 1, Waiting: 1, Offline: 1 } },
      ],
    },
  ],
}

const WORDS = [
  '',
  'Ready',
  'NotReady',
  'Updating',
  'Repairing',
  'zone-a',
  'zone-b',
  'rack-1',
  'rack-2',
  'workers',
  'x86-64-large',
  'beacon=1.1.0',
  'beacon=1.2.0',
  'Healthy',
  'Degraded',
  'Running',
  'Yes',
  'No',
  'Unknown',
  'Component beacon 1.2.0',
  'AgentSilent',
  'NodeUnwell',
  '6.1.0-41',
  'team=blue',
  'team=green',
]
const word = (text: string): number => WORDS.indexOf(text)

/** Seven machines of prod: one is updated, one is repaired, one is silent. */
const MACHINES = [
  ['n-1', 'Ready', 'zone-a', 'rack-1', 'beacon=1.2.0', 'Healthy', '', 'No', '', ''],
  ['n-2', 'Updating', 'zone-a', 'rack-1', 'beacon=1.1.0', 'Healthy', '', 'No', '', ''],
  [
    'n-3',
    'Repairing',
    'zone-a',
    'rack-2',
    'beacon=1.2.0',
    'Degraded',
    'Running',
    'No',
    'Component beacon 1.2.0',
    'NodeUnwell',
  ],
  ['n-4', 'NotReady', 'zone-b', 'rack-2', 'beacon=1.1.0', 'Healthy', '', 'Yes', '', 'AgentSilent'],
  ['n-5', 'Ready', 'zone-b', 'rack-2', 'beacon=1.1.0', 'Healthy', '', 'No', '', ''],
  ['n-6', 'Ready', 'zone-b', 'rack-1', 'beacon=1.1.0', 'Healthy', '', 'No', '', ''],
  ['n-7', 'Ready', 'zone-b', 'rack-1', 'beacon=1.1.0', 'Healthy', '', 'Unknown', '', ''],
] as const

const cells = MACHINES.map(([, phase, zone, rack, versions, health, repair, silent, blame, reason, condition = '']) => [
  0,
  ...[phase, zone, rack, 'workers', 'x86-64-large', versions, health, repair, silent, blame, reason, condition].map(
    word,
  ),
  word('6.1.0-41'),
  word(zone === 'zone-a' ? 'team=blue' : 'team=green'),
  minutes(-30) / 1_000,
])

export const machines: MachinesTopic = {
  ...base,
  topic: 'machines/prod',
  words: WORDS,
  names: MACHINES.map(([name]) => name),
  columns: Object.fromEntries(
    MACHINE_COLUMNS.map((column, c) => [column, cells.map((row) => row[c] ?? 0)]),
  ) as unknown as MachinesTopic['columns'],
}

const setRow: SetRow = {
  id: 'base',
  object: { cluster: 'prod', kind: 'MachineComponentSet', name: 'base' },
  phase: 'Progressing',
  components: [{ name: 'beacon', version: '1.2.0' }],
  total: 7,
  updated: 2,
  healthy: 1,
  failed: 1,
  skipped: 1,
  isHeld: false,
  wait: {
    predicate: 'PermitRequested',
    since: minutes(-3),
    seen: 'rate limit: 20 in 10m used, next grant at 12:03:10',
  },
}

const sets: SetsTopic = {
  ...base,
  topic: 'sets/prod',
  head: {},
  rows: [
    {
      ...setRow,
      rungs: [
        { step: 0, machines: 1, state: 'Passed' },
        { step: 1, machines: 5, state: 'Open' },
        { step: 2, machines: 7, state: 'Waiting' },
      ],
    },
  ],
}
const { wait: _wait, ...calm } = setRow
const setsOfTest: SetsTopic = {
  ...base,
  topic: 'sets/test',
  head: {},
  rows: [
    {
      ...calm,
      object: { ...setRow.object, cluster: 'test' },
      phase: 'Complete',
      components: [{ name: 'beacon', version: '1.1.0' }],
      total: 5,
      updated: 5,
      healthy: 5,
      failed: 0,
      skipped: 0,
    },
  ],
}

const set: SetTopic = {
  ...base,
  topic: 'set/prod/base',
  head: {
    ...setRow,
    steps: [1, 5, 10, 50, 100],
    ladders: [
      {
        component: 'beacon',
        version: '1.2.0',
        rungs: [
          { step: 0, machines: 1, state: 'Passed' },
          { step: 1, machines: 5, state: 'Open' },
          { step: 2, machines: 7, state: 'Waiting' },
        ],
        minutesLeft: 31,
      },
    ],
    inspections: ['ready', 'no-oom'],
    soakMs: 600_000,
    maxUnavailable: '10%',
    holds: [],
    blocked: [
      {
        component: 'beacon',
        revision: 'base-1.1.9',
        since: minutes(-4_000),
        reason: 'exited with code 1, 0.4s after the switch',
      },
    ],
    revision: 'base-6f1c',
    healthyRevision: 'base-5d0a',
    next: [
      {
        component: 'beacon',
        version: '1.2.0',
        step: 2,
        size: 1,
        machines: [{ machine: 'n-7', why: 'zone-b, rack-1' }],
      },
    ],
    versions: [
      {
        component: 'beacon',
        version: '1.2.0',
        isDeclared: true,
        machines: 2,
        ready: 1,
        failing: 1,
        wentBack: 0,
        silent: 0,
      },
      {
        component: 'beacon',
        version: '1.1.0',
        isDeclared: false,
        machines: 5,
        ready: 3,
        failing: 0,
        wentBack: 0,
        silent: 1,
      },
    ],
  },
  rows: [
    {
      id: 'beacon/0/0',
      row: 'Slice',
      name: 'beacon 1.2.0 step 1 slice 1',
      component: 'beacon',
      version: '1.2.0',
      step: 0,
      number: 0,
      phase: 'Passed',
      permit: 'base-beacon-s0-0',
      machines: ['n-1'],
      failed: 0,
      startedAt: minutes(-19),
      isRollback: false,
    },
    {
      id: 'beacon/1/0',
      row: 'Slice',
      name: 'beacon 1.2.0 step 2 slice 1',
      component: 'beacon',
      version: '1.2.0',
      step: 1,
      number: 0,
      phase: 'AwaitingPermit',
      machines: ['n-2', 'n-3', 'n-5', 'n-6'],
      failed: 1,
      startedAt: minutes(-3),
      isRollback: false,
      wait: {
        predicate: 'PermitRequested',
        since: minutes(-3),
        seen: 'rate limit: 20 in 10m used, next grant at 12:03:10',
      },
    },
    {
      id: 'Failed/n-3/beacon',
      row: 'Failed',
      machine: 'n-3',
      component: 'beacon',
      text: 'probe http://127.0.0.1:8080/healthz answered 500',
      since: minutes(-5),
    },
    { id: 'Skipped/n-4', row: 'Skipped', machine: 'n-4', text: 'no heartbeat from its agent since 11:30' },
  ],
}

const budgets: BudgetsTopic = {
  ...base,
  topic: 'budgets/prod',
  head: {
    asOf: NOW,
    leader: 'defender-0',
    isBuiltIn: false,
    counts: { granted: 40, denied: 2, succeeded: 37, failed: 3 },
  },
  rows: [
    {
      id: 'production/budget/0/',
      row: 'Budget',
      policy: 'production',
      mode: 'Enforce',
      per: 'cluster',
      domain: '',
      of: 'unavailable',
      limit: 2,
      used: 2,
      left: 0,
      declared: '30%',
    },
    {
      id: 'production/budget/1/rack-1',
      row: 'Budget',
      policy: 'production',
      mode: 'Enforce',
      per: 'rack',
      domain: 'rack-1',
      of: 'concurrent',
      limit: 1,
      used: 0,
      left: 1,
      declared: 1,
    },
    {
      id: 'production/rate/10m/',
      row: 'Rate',
      policy: 'production',
      mode: 'Enforce',
      per: 'cluster',
      domain: '',
      of: '10m',
      limit: 20,
      used: 20,
      left: 0,
      declared: 20,
      nextAt: minutes(3),
    },
    {
      id: 'production/breaker',
      row: 'Breaker',
      policy: 'production',
      state: 'Closed',
      since: minutes(-600),
      failures: 1,
      results: 'sssfs',
    },
    {
      id: 'blame/Component/beacon/1.2.0',
      row: 'Blame',
      text: 'Component beacon 1.2.0',
      since: minutes(-5),
      failing: 1,
      members: 2,
      failingElsewhere: 0,
      elsewhere: 5,
    },
    {
      id: 'grant/n-3',
      row: 'Grant',
      permit: 'kernel-deadlock-4be0',
      purpose: 'rule kernel-deadlock',
      target: { cluster: 'prod', kind: 'Machine', name: 'n-3' },
      operations: ['Reboot'],
      state: 'Held',
      since: minutes(-4),
      zone: 'zone-a',
      rack: 'rack-2',
      pool: 'workers',
    },
    {
      id: 'waiting/base-beacon-s1-0',
      row: 'Waiting',
      object: { cluster: 'prod', kind: 'OperationPermit', name: 'base-beacon-s1-0' },
      operations: ['SwitchComponent'],
      targets: 4,
      since: minutes(-3),
      reason: 'step 2 of beacon 1.2.0',
      gates: [
        { gate: 'Rate', verdict: 'Waiting', policy: 'production', text: '20 in 10m, limit 20 (policy production)' },
      ],
      approvals: [{ digest: DIGEST, text: 'SwitchComponent of 4 machines' }],
    },
    {
      id: 'production/window/0',
      row: 'Window',
      policy: 'production',
      isOpen: true,
      changesAt: minutes(300),
      text: 'Mon to Thu at 09:00 for 8h (Europe/Berlin)',
    },
  ],
}

const repair: RepairRow = {
  id: 'kernel-deadlock-4be0643f1d98573b-0',
  object: { cluster: 'prod', kind: 'RemedyOperationJob', name: 'kernel-deadlock-4be0643f1d98573b-0' },
  incident: '4be0643f1d98573b97cdca98a65347dd',
  node: 'n-3',
  machine: 'n-3',
  rule: 'kernel-deadlock',
  rung: 0,
  attempt: 1,
  phase: 'Running',
  isDryRun: false,
  createdAt: minutes(-6),
  startedAt: minutes(-4),
  permit: 'kernel-deadlock-4be0',
  isRelapse: true,
  steps: [
    {
      operation: 'collectEvidence',
      executor: 'Agent',
      startedAt: minutes(-4),
      finishedAt: minutes(-3),
      outcome: 'Succeeded',
    },
    { operation: 'reboot', executor: 'Agent', startedAt: minutes(-3) },
  ],
}

const repairs: RepairsTopic = { ...base, topic: 'repairs/prod', head: {}, rows: [repair] }

const maintenance: MaintenanceTopic = {
  ...base,
  topic: 'maintenance/prod',
  head: {},
  rows: [
    {
      id: 'reboot-2f8a11c09d3e4b57',
      object: { cluster: 'prod', kind: 'MaintenanceEvent', name: 'reboot-2f8a11c09d3e4b57' },
      machine: 'n-5',
      kind: 'Reboot',
      phase: 'Announced',
      source: 'metal',
      description: 'the host needs new firmware',
      notBefore: minutes(120),
      notAfter: minutes(240),
      startAt: minutes(60),
    },
  ],
}

const node: NodeTopic = {
  ...base,
  topic: 'node/prod/n-3',
  head: {
    cluster: 'prod',
    name: 'n-3',
    machine: 'n-3',
    node: 'n-3',
    phase: 'Repairing',
    zone: 'zone-a',
    rack: 'rack-2',
    pool: 'workers',
    class: 'x86-64-large',
    os: 'Debian 12',
    arch: 'x64',
    kernel: '6.1.0-41',
    agent: '0.1.0',
    commit: COMMIT,
    canReadLogs: true,
    certificateExpires: minutes(9_000),
    kubernetes: {
      kubelet: 'v1.34.2',
      isCordoned: true,
      taints: ['node.kubernetes.io/unschedulable:NoSchedule'],
      cpu: '16',
      memory: '64Gi',
      mostPods: '110',
      pods: 23,
      podsNotReady: 1,
    },
    holds: [
      {
        name: 'incident-4711',
        effect: 'Pause',
        author: 'ada@example.org',
        reason: 'disk is being replaced',
        until: minutes(90),
      },
    ],
  },
  rows: [
    {
      id: 'Node/KernelDeadlock',
      row: 'Condition',
      of: 'Node',
      type: 'KernelDeadlock',
      status: 'True',
      isGood: false,
      since: minutes(-8),
      reason: 'TaskBlocked',
      message: 'task java:4711 blocked for more than 120 seconds',
    },
    {
      id: 'Machine/AgentReachable',
      row: 'Condition',
      of: 'Machine',
      type: 'AgentReachable',
      status: 'True',
      isGood: true,
      since: minutes(-800),
      reason: 'Reported',
      message: '',
    },
    {
      id: 'Component/beacon',
      row: 'Component',
      name: 'beacon',
      version: '1.2.0',
      desired: '1.2.0',
      state: 'Degraded',
      since: minutes(-5),
      set: 'base',
      message: 'probe http://127.0.0.1:8080/healthz answered 500',
    },
    {
      id: 'Pod/shop/cart-5d9c',
      row: 'Pod',
      namespace: 'shop',
      name: 'cart-5d9c',
      phase: 'Running',
      restarts: 4,
      since: minutes(-7),
      why: 'cart: CrashLoopBackOff',
    },
    {
      id: 'Permit/kernel-deadlock-4be0',
      row: 'Permit',
      name: 'kernel-deadlock-4be0',
      purpose: 'rule kernel-deadlock',
      operations: ['Reboot'],
      phase: 'Granted',
      since: minutes(-4),
      until: minutes(2),
      approvedBy: ['eve@example.org'],
    },
    {
      id: 'Permit/base-beacon-s1-0',
      row: 'Permit',
      name: 'base-beacon-s1-0',
      purpose: 'beacon 1.2.0 step 2 slice 1',
      operations: ['SwitchComponent'],
      phase: 'Requested',
      since: minutes(-3),
      wait: '20 in 10m, limit 20 (policy production)',
    },
    { id: 'Repair/kernel-deadlock-4be0643f1d98573b-0', row: 'Repair', repair },
  ],
}

const HOUR = 3_600_000

/** A node that broke, was repaired, and was out of sight of the recorder for an hour. */
export const life: LifeAnswer = {
  cluster: 'prod',
  kind: 'Machine',
  name: 'prod-1-worker-0007',
  from: NOW - 24 * HOUR,
  to: NOW,
  lanes: [
    {
      name: 'Ready',
      states: [
        { from: NOW - 30 * HOUR, state: 'Good', text: 'True KubeletReady' },
        { from: NOW - 9 * HOUR, state: 'Bad', text: 'False KubeletNotReady' },
        { from: NOW - 8 * HOUR, state: 'Unknown', text: 'Unknown NodeStatusUnknown' },
        { from: NOW - 7 * HOUR, state: 'Good', text: 'True KubeletReady' },
      ],
    },
    {
      name: 'repair',
      states: [
        { from: NOW - 8.5 * HOUR, state: 'Busy', text: 'Running' },
        { from: NOW - 7 * HOUR, state: 'Absent', text: 'Done' },
      ],
    },
    {
      name: 'TasksHung',
      states: [
        { from: NOW - 9 * HOUR, state: 'Bad', text: 'True BlockedTask' },
        { from: NOW - 7 * HOUR, state: 'Good', text: 'False NoBlockedTask' },
      ],
    },
  ],
  gaps: [{ cluster: 'prod', starts: NOW - 4 * HOUR, ends: NOW - 3 * HOUR, why: 'no recorder ran', kinds: [] }],
  marks: [NOW - 8.5 * HOUR, NOW - 2 * HOUR],
  lines: [
    { at: NOW - 9 * HOUR, text: 'TasksHung True (BlockedTask: task nginx:412 is blocked for 122 s)', tone: 'Bad' },
    {
      at: NOW - 8.5 * HOUR,
      text: 'rule tasks-hung repaired node prod-1-worker-0007: cordon, drain, reboot: Succeeded',
      tone: 'Strong',
    },
    { at: NOW - 7 * HOUR, text: 'Ready True (KubeletReady)', tone: 'Good' },
    { at: NOW - 4 * HOUR, text: 'not recorded for 1h: no recorder ran', tone: 'Dim' },
    {
      at: NOW - 2 * HOUR,
      text: 'ada@example.org created hold disk: Freeze machine prod-1-worker-0007',
      tone: 'Strong',
    },
  ],
  cut: 0,
  command: 'kubenode history machine/prod-1-worker-0007',
}

export const why: WhyAnswer = {
  cluster: 'prod',
  kind: 'MachineComponentSet',
  name: 'base',
  command: 'kubenode why set/base --context prod',
  tree: {
    text: 'set base is Progressing',
    below: [
      {
        text: 'Waiting for 3m0s: PermitRequested',
        below: [{ text: 'observed: 1 of 4 machines has no permit', below: [] }],
      },
      {
        text: 'waits for the permit for beacon 1.2.0 step 2 slice 1 (Requested)',
        object: { cluster: 'prod', kind: 'OperationPermit', name: 'base-beacon-s1-0' },
        below: [
          {
            text: 'Gate Approval: Waiting: needs 1 more approval',
            lift: { text: 'kubenode approve operationpermit/base-beacon-s1-0', isCommand: true },
            below: [],
          },
        ],
      },
    ],
  },
}

export const approving: ApprovingAnswer = {
  commit: COMMIT,
  effects: [
    { text: 'Commit 3f1c9e0a7b5d of track machines', on: [], moreOn: 0 },
    {
      text: 'Stage prod (Waiting): 10 clusters to change, 1 at a time, then 15m of soak',
      on: ['prod-1, 1200 machines', ...[2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => `prod-${n}, 40 machines`)],
      moreOn: 0,
    },
  ],
  waits: ['gate ready of stage prod: 3 of 5 machines are Ready, 98% are needed'],
  risk: { level: 'High', why: ['cluster prod-1 from 1.35.1 to 1.36.0'] },
  given: [
    {
      name: 'machines-ada',
      by: 'bob@example.org',
      at: minutes(-20),
      until: minutes(100),
      reason: 'read the plan',
      state: 'Counts',
    },
    { name: 'machines-eve', by: 'eve@example.org', at: minutes(-90), until: minutes(-30), state: 'Expired' },
  ],
  moreGiven: 0,
  asks: [
    {
      name: 'gate board of stage prod',
      from: 'group release-board',
      needed: 2,
      missing: 1,
      isYours: true,
      until: minutes(600),
    },
  ],
  scope: 'Covers everything that this release applies, in all its stages.',
}

export const snapshots: readonly Snapshot[] = [
  home,
  pipeline,
  clusters,
  commits,
  machines,
  sets,
  setsOfTest,
  set,
  budgets,
  repairs,
  maintenance,
  node,
]

/** Of n-7 nothing was measured. */
export const load: LoadAnswer = {
  at: NOW,
  loads: [
    ['n-1', 42, 61],
    ['n-2', 38, 57],
    ['n-3', 8, 97],
    ['n-4', 88, 64],
    ['n-5', 35, 59],
    ['n-6', 51, 70],
  ].map(([machine, cpu, memory]) => ({ machine: String(machine), cpu: Number(cpu), memory: Number(memory) })),
}
