// A small cluster as reports see it: two pools, a machine without the component of its set, one outside of every set, repairs, releases, and a fault of a deleted node.
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { NodeRemedier } from '#api/kinds/node-remedier.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { ReportFacts } from '#explain/report/facts.ts'
import { NO_SECONDS } from '#measure/service-level.ts'
import type { Node } from '#nodes/objects.ts'
import { aMachine, condition } from './defender-objects.ts'

export const FROM = Date.parse('2026-11-21T00:00:00Z')
const TO = Date.parse('2026-11-28T00:00:00Z')

const machineOf = (name: string, more: Parameters<typeof aMachine>[0]): Machine => {
  const made = aMachine({ ...more, name })
  return {
    ...made,
    status: {
      ...made.status,
      nodeRef: { name, uid: `node-${name}` },
      inServiceSince: '2026-01-01T00:00:00Z',
      conditions: [...(made.status?.conditions ?? []), condition('NodeReady', 'True')],
    },
  }
}

const nodeOf = (name: string, kernelVersion: string, created = '2026-01-01T00:00:00Z'): Node =>
  ({
    metadata: { name, creationTimestamp: created },
    status: {
      allocatable: { cpu: '10', memory: '64Gi' },
      nodeInfo: { kernelVersion },
      conditions: [{ type: 'Ready', status: 'True' }],
    },
  }) as unknown as Node

const job = (name: string, more: { readonly spec?: object; readonly status: object }) =>
  ({
    apiVersion: API_GROUP_VERSION,
    kind: 'RemedyOperationJob',
    metadata: { name, uid: name, creationTimestamp: '2026-11-25T10:00:00Z' },
    spec: {
      remedierRef: { name: 'hung', generation: 1 },
      node: { name: 'a', uid: 'node-a' },
      incident: name,
      operations: [{ cordon: {} }, { reboot: {} }],
      ...more.spec,
    },
    status: more.status,
  }) as unknown as RemedyOperationJob

export const aRelease = (name: string, created: string, status: object) =>
  ({
    metadata: { name, creationTimestamp: created },
    spec: { track: 'web', source: 'fleet', commit: 'abcdef0123456789', subject: '=SUM(A1)' },
    status,
  }) as unknown as Release

export const facts: ReportFacts = {
  cluster: 'prod',
  from: FROM,
  to: TO,
  machines: [
    machineOf('a', { name: 'a', pool: 'web', zone: 'z1', labels: { role: 'web' }, runs: { beacon: '1.0.0' } }),
    machineOf('b', { name: 'b', pool: 'web', zone: 'z1', labels: { role: 'web' } }),
    machineOf('c', { name: 'c', pool: 'db', zone: 'z2', runs: { beacon: '1.1.0' } }),
  ],
  nodes: [
    nodeOf('a', '6.1'),
    nodeOf('b', '6.1'),
    nodeOf('c', '6.12', '2026-11-27T00:00:00Z'),
    nodeOf('foreign', '6.1'),
  ],
  sets: [
    {
      metadata: { name: 'base' },
      spec: { selector: { matchLabels: { role: 'web' } }, components: [{ name: 'beacon' }] },
    },
  ] as unknown as readonly MachineComponentSet[],
  jobs: [
    job('x', {
      status: {
        phase: 'Done',
        outcome: 'Succeeded',
        permitRef: 'p',
        startedAt: '2026-11-25T10:01:00Z',
        steps: [{ finishedAt: '2026-11-25T10:04:00Z' }],
        finishedAt: '2026-11-25T10:09:00Z',
      },
    }),
    job('y', { status: { phase: 'Done', outcome: 'Permanent', startedAt: '2026-11-25T10:01:00Z' } }),
    job('z', { status: { phase: 'Done', outcome: 'Superseded' } }),
  ],
  rules: [
    {
      metadata: { name: 'hung' },
      spec: { when: { all: [{ fact: 'conditions', path: '/TasksHung/status', operator: 'equal', value: 'True' }] } },
    },
  ] as unknown as readonly NodeRemedier[],
  permits: [
    { metadata: { name: 'p' }, status: { decidedAt: '2026-11-25T10:00:30Z' } },
  ] as unknown as readonly OperationPermit[],
  faults: [
    { kind: 'TasksHung', node: 'a', at: Date.parse('2026-11-25T09:59:45Z'), ended: Date.parse('2026-11-25T10:04:00Z') },
    { kind: 'TasksHung', node: 'gone', at: FROM + 1, ended: undefined },
  ],
  hasHistory: true,
  releases: [
    aRelease('r1', '2026-11-24T00:00:00Z', { phase: 'Succeeded', finishedAt: '2026-11-24T02:00:00Z' }),
    aRelease('r2', '2026-11-25T00:00:00Z', { phase: 'Failed', finishedAt: '2026-11-25T01:00:00Z' }),
    aRelease('r3', '2026-11-25T02:00:00Z', { phase: 'Succeeded', finishedAt: '2026-11-25T03:00:00Z' }),
  ],
  levels: {
    days: [
      { day: '2026-11-20', pools: new Map([['web', { ...NO_SECONDS, fault: 5_000 }]]) },
      { day: '2026-11-26', pools: new Map([['web', { ...NO_SECONDS, good: 999, fault: 1, planned: 60 }]]) },
    ],
    nodes: new Map([['web', 2]]),
    at: '2026-11-28T00:00:00Z',
  },
  requested: [{ pool: 'web', class: 'none', resource: 'cpu', value: 5 }],
  used: undefined,
  unknown: ['use of nodes: the cluster does not serve metrics.k8s.io'],
}
