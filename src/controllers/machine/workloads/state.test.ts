import type { ComponentOrder } from '#api/kinds/machine.ts'
import type { BuiltIn } from '#kube/built-in.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { timestamp } from '#lib/clock.ts'
import type { Pod } from '#nodes/objects.ts'
import { describe, expect, test } from 'vitest'
import { newestHash } from './observe.ts'
import { type WorkloadInput, type WorkloadSeen, workloadReading } from './state.ts'

const NOW = Date.UTC(2026, 0, 5)

const daemonSet = (strategy = 'OnDelete', version?: string): BuiltIn['DaemonSet'] => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'cni', namespace: 'net', uid: 'ds' },
  spec: {
    selector: {},
    updateStrategy: { type: strategy },
    template: { metadata: { annotations: version === undefined ? {} : { [ANNOTATIONS.componentVersion]: version } } },
  },
})
const pod = (hash: string, isReady = true, metadata: object = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: `cni-${hash}`,
    namespace: 'net',
    uid: `pod-${hash}`,
    labels: { 'controller-revision-hash': hash },
    ...metadata,
  },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
})
const seen = (pods: readonly Pod[], extra: Partial<WorkloadSeen> = {}): WorkloadSeen => ({
  component: 'cni',
  daemonSet: daemonSet(),
  newestHash: 'new',
  pods,
  ...extra,
})
const order: ComponentOrder = { name: 'cni', version: '1.1.0', attempt: 2, workload: true }
const ordered: ComponentOrder = { ...order, switch: { attempt: 2, permit: 'p' } }
const ran = {
  name: 'cni',
  version: '1.0.0',
  desired: '1.0.0',
  attempt: 1,
  state: 'Healthy',
  since: timestamp(NOW - 9_000),
} as const

const look = (input: Partial<WorkloadInput>) => {
  const { kind, report, ...rest } = workloadReading({
    entry: order,
    before: ran,
    seen: seen([pod('old')]),
    isClosed: false,
    now: NOW,
    ...input,
  })
  const pods = 'pods' in rest ? rest.pods.map((p) => p.metadata.name) : []
  return [kind, report.state, report.version, ...pods]
}

const going = { deletionTimestamp: timestamp(NOW) }

const cases: Readonly<Record<string, readonly [Partial<WorkloadInput>, readonly unknown[]]>> = {
  'an old pod waits for the order': [{}, ['Report', 'Staged', '1.0.0']],
  'an order of another attempt is none': [
    { entry: { ...order, switch: { attempt: 1, permit: 'p' } } },
    ['Report', 'Staged', '1.0.0'],
  ],
  'an old pod is replaced when it is ordered': [{ entry: ordered }, ['Replace', 'Switching', '1.0.0', 'cni-old']],
  'a pod that goes already is not told again': [
    { entry: ordered, seen: seen([pod('old', true, going)]) },
    ['Report', 'Probing', '1.0.0'],
  ],
  'a new pod that is not Ready is waited for': [
    { entry: ordered, seen: seen([pod('new', false)]) },
    ['Report', 'Probing', '1.0.0'],
  ],
  'a new pod beside one that goes is waited for': [
    { entry: ordered, seen: seen([pod('new'), pod('old', true, going)]) },
    ['Report', 'Probing', '1.0.0'],
  ],
  'a new pod that is Ready is the version': [
    { entry: ordered, seen: seen([pod('new')]) },
    ['Report', 'Healthy', '1.1.0'],
  ],
  'a pod that is new already needs no order': [{ seen: seen([pod('new')]) }, ['Report', 'Healthy', '1.1.0']],
  'no pod is waited for without a word of switching': [{ seen: seen([]) }, ['Report', 'Fetching', '1.0.0']],
  'on a node that takes no pods yet an old one goes at once': [
    { isClosed: true, before: undefined },
    ['Replace', 'Switching', undefined, 'cni-old'],
  ],
  'a template of another version is waited for, also under an order': [
    { entry: ordered, seen: seen([pod('old')], { daemonSet: daemonSet('OnDelete', '1.0.0') }) },
    ['Report', 'Fetching', '1.0.0'],
  ],
  'a template of this version will do': [
    { entry: ordered, seen: seen([pod('old')], { daemonSet: daemonSet('OnDelete', '1.1.0') }) },
    ['Replace', 'Switching', '1.0.0', 'cni-old'],
  ],
  'a workload that would roll by itself is refused': [
    { entry: ordered, seen: seen([pod('old')], { daemonSet: daemonSet('RollingUpdate') }) },
    ['Report', 'Failed', '1.0.0'],
  ],
  'a workload that does not exist is waited for': [
    { entry: ordered, seen: seen([], { daemonSet: undefined }) },
    ['Report', 'Fetching', '1.0.0'],
  ],
  'F3 without knowing which template is the newest nothing is deleted': [
    { entry: ordered, seen: seen([pod('old')], { newestHash: undefined }) },
    ['Report', 'Fetching', '1.0.0'],
  ],
  'F3 what could not be read changes nothing': [{ entry: ordered, seen: undefined }, ['Report', 'Fetching', '1.0.0']],
}

describe('a component that is a DaemonSet', () => {
  test.each(Object.entries(cases))('%s', (_, [input, expected]) => {
    expect(look(input)).toEqual(expected)
  })

  test('keeps the moment for as long as it is in the same state', () => {
    const { report } = workloadReading({
      entry: order,
      before: ran,
      seen: seen([pod('old')]),
      isClosed: false,
      now: NOW,
    })
    const later = workloadReading({
      entry: order,
      before: report,
      seen: seen([pod('old')]),
      isClosed: false,
      now: NOW + 60_000,
    })
    expect(later.report).toEqual(report)
  })

  test('its newest template is that of its own highest revision', () => {
    const revision = (n: number, uid: string) => ({
      apiVersion: 'apps/v1',
      kind: 'ControllerRevision',
      metadata: {
        name: `r${n}`,
        labels: { 'controller-revision-hash': `h${n}` },
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'cni', uid, controller: true }],
      },
      revision: n,
    })
    expect(
      newestHash(daemonSet(), [revision(2, 'ds'), revision(10, 'ds'), revision(11, 'other'), revision(9, 'ds')]),
    ).toBe('h10')
    expect(newestHash(daemonSet(), [revision(11, 'other')])).toBeUndefined()
  })
})
