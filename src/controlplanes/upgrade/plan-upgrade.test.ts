import { describe, expect, test } from 'vitest'
import type { Part } from '#api/constructs/control-plane/settings.ts'
import { planUpgrade, READY_WITHIN_MS, SNAPSHOT_FRESH_MS, wayBack } from './plan-upgrade.ts'
import type { Form, Readiness, UpgradeRecord, UpgradeSeen, UpgradeRequest } from './seen.ts'
import type { VersionTable } from './versions.ts'
import { defined } from '#lib/defined.ts'

const TABLE: VersionTable = [
  { version: '1.34.4', etcd: '3.6.4', emulatesFrom: 31 },
  { version: '1.35.1', etcd: '3.6.5', emulatesFrom: 32 },
  { version: '1.35.2', etcd: '3.6.5', emulatesFrom: 32 },
  { version: '1.36.2', etcd: '3.6.6', emulatesFrom: 33 },
  { version: '1.36.3', etcd: '3.6.6', emulatesFrom: 33 },
  { version: '1.37.0', etcd: '3.7.0', emulatesFrom: 34 },
]
const NOW = 10_000_000_000
const SOAK_MS = 3_600_000

const known = <T>(value: T) => ({ known: true, value }) as const
const READY: Readiness = {
  kubelets: known({ oldest: '1.34.1', newest: '1.35.1' }),
  unreadyNodes: known({ total: 0, names: [] }),
  blockingBudgets: known([]),
  removedApisInUse: known([]),
  deafWebhooks: known([]),
  unfitAddons: known([]),
  etcd: known({ isHealthy: true, usedOfQuota: 0.2 }),
  surgeTrouble: known(undefined),
}

const old: Form = { version: '1.35.1', emulates: 35 }
const etcd = (version: string): Form => ({ version, emulates: 306 })
const seenWith = (
  forms: Partial<Record<Part, Form>> = {},
  rest: Partial<Omit<UpgradeSeen, 'parts'>> = {},
  unready: Partial<Record<Part, number>> = {},
): UpgradeSeen => {
  const part = (name: Part, form: Form) => ({
    wanted: form,
    running: [form],
    isReady: unready[name] === undefined,
    ...defined({ unreadySince: unready[name] }),
  })
  return {
    parts: {
      etcd: part('etcd', forms.etcd ?? etcd('3.6.5')),
      apiserver: part('apiserver', forms.apiserver ?? old),
      'controller-manager': part('controller-manager', forms['controller-manager'] ?? old),
      scheduler: part('scheduler', forms.scheduler ?? old),
    },
    record: undefined,
    readiness: READY,
    snapshots: [],
    approvedRestore: undefined,
    busyWith: undefined,
    blocked: [],
    ...rest,
  }
}
const request = (version: string, walksMinors = false): UpgradeRequest => ({ version, walksMinors, soakMs: SOAK_MS })
const planned = (seen: UpgradeSeen, version: string) => planUpgrade(seen, request(version), TABLE, NOW)

const record: UpgradeRecord = { from: '1.35.1', to: '1.36.2', begunAt: NOW - 7_200_000 }
const emulating: Form = { version: '1.36.2', emulates: 35 }
const lifted: Form = { version: '1.36.2', emulates: 36 }
const all = (form: Form): Partial<Record<Part, Form>> => ({
  etcd: etcd('3.6.6'),
  apiserver: form,
  'controller-manager': form,
  scheduler: form,
})
const soaked = { ...record, soakSince: NOW - SOAK_MS - 60_000 }
const snapshot = { name: 's1', takenAt: NOW - 30_000, version: '1.35.1', isOpened: true }

describe('the way forward, one step after the other', () => {
  test.each<[string, UpgradeSeen, unknown]>([
    [
      'a minor begins with its record',
      seenWith(),
      { do: 'record', record: { from: '1.35.1', to: '1.36.2', begunAt: NOW } },
    ],
    ['etcd is first', seenWith({}, { record }), { do: 'roll', part: 'etcd', to: etcd('3.6.6') }],
    [
      'then API servers that keep the old behavior',
      seenWith({ etcd: etcd('3.6.6') }, { record }),
      { do: 'roll', part: 'apiserver', to: emulating },
    ],
    [
      'then the controller manager',
      seenWith({ etcd: etcd('3.6.6'), apiserver: emulating }, { record }),
      { do: 'roll', part: 'controller-manager', to: emulating },
    ],
    [
      'the soak begins when all run',
      seenWith(all(emulating), { record }),
      { do: 'record', record: { ...record, soakSince: NOW } },
    ],
    [
      'a snapshot is taken after the soak',
      seenWith(all(emulating), { record: soaked }),
      { do: 'take-snapshot', version: '1.35.1' },
    ],
    [
      'and opened',
      seenWith(all(emulating), { record: soaked, snapshots: [{ ...snapshot, isOpened: false }] }),
      { do: 'open-snapshot', name: 's1' },
    ],
    [
      'the edge is written before it is passed',
      seenWith(all(emulating), { record: soaked, snapshots: [snapshot] }),
      { do: 'record', record: { ...soaked, edge: { at: NOW, snapshot: 's1' } } },
    ],
    [
      'a snapshot that grew old is taken again',
      seenWith(all(emulating), {
        record: { ...soaked, soakSince: NOW - 9 * SOAK_MS },
        snapshots: [{ ...snapshot, takenAt: NOW - SNAPSHOT_FRESH_MS - 1 }],
      }),
      { do: 'take-snapshot', version: '1.35.1' },
    ],
    [
      'a snapshot of the future, under a clock that was set back since, may be old too',
      seenWith(all(emulating), { record: soaked, snapshots: [{ ...snapshot, takenAt: NOW + 3_600_000 }] }),
      { do: 'take-snapshot', version: '1.35.1' },
    ],
    [
      'the new behavior comes last',
      seenWith(all(emulating), { record: { ...soaked, edge: { at: NOW, snapshot: 's1' } } }),
      { do: 'roll', part: 'apiserver', to: lifted },
    ],
    [
      'the record goes when all is done',
      seenWith(all(lifted), { record: { ...soaked, edge: { at: NOW, snapshot: 's1' } } }),
      { do: 'finish', version: '1.36.2' },
    ],
  ])('%s', (_, seen, step) => expect(planned(seen, '1.36.2')).toMatchObject({ is: 'step', step }))

  test('a patch has no edge and takes no snapshot', () => {
    const patch = { from: '1.35.1', to: '1.35.2', begunAt: NOW, soakSince: NOW - SOAK_MS }
    const seen = seenWith({ ...all({ version: '1.35.2', emulates: 35 }), etcd: etcd('3.6.5') }, { record: patch })
    expect(planned(seen, '1.35.2')).toMatchObject({ is: 'step', step: { do: 'finish', version: '1.35.2' } })
  })

  test('the soak says how long it still takes', () => {
    const seen = seenWith(all(emulating), { record: { ...record, soakSince: NOW - 60_000 } })
    expect(planned(seen, '1.36.2')).toEqual({
      is: 'waits',
      waitingFor: 'the soak of 1.36.2: 59m left',
      until: NOW - 60_000 + SOAK_MS,
    })
  })

  test('a fixed patch of the same minor takes the place of the one under way, and soaks from the start', () => {
    const seen = seenWith(all(emulating), { record: soaked })
    expect(planned(seen, '1.36.3')).toMatchObject({
      step: { do: 'record', record: { from: '1.35.1', to: '1.36.3', begunAt: record.begunAt } },
    })
  })
})

describe('the way back', () => {
  test('a revert before the edge brings the old programs back, all of them at once', () => {
    const goingBack = { why: '1.35.1 is wanted now', hasFailed: false }
    expect(planned(seenWith(all(emulating), { record: soaked }), '1.35.1')).toMatchObject({
      step: { do: 'record', record: { goingBack } },
    })
    const seen = seenWith(all(emulating), { record: { ...record, goingBack } }, { apiserver: NOW - 5 })
    expect(planned(seen, '1.35.1')).toMatchObject({ step: { do: 'roll', part: 'scheduler', to: old } })
    const half = seenWith(
      { ...all(emulating), scheduler: old, 'controller-manager': old },
      { record: { ...record, goingBack } },
      { scheduler: NOW - 5 },
    )
    expect(planned(half, '1.35.1')).toMatchObject({ step: { do: 'roll', part: 'apiserver', to: old } })
  })

  test('programs that are not ready in time go back, and the version is not tried again', () => {
    const late = seenWith(
      { etcd: etcd('3.6.6'), apiserver: emulating },
      { record },
      { apiserver: NOW - READY_WITHIN_MS - 1 },
    )
    const goingBack = { why: 'apiserver was not ready within 10m', hasFailed: true }
    expect(planned(late, '1.36.2')).toMatchObject({ step: { do: 'record', record: { goingBack } } })
    const back = seenWith({}, { record: { ...record, goingBack } })
    expect(planned(back, '1.36.2')).toMatchObject({
      step: { do: 'finish', version: '1.35.1', blocked: { version: '1.36.2', why: goingBack.why } },
    })
    const blocked = seenWith({}, { blocked: [{ version: '1.36.2', why: goingBack.why }] })
    expect(planned(blocked, '1.36.2')).toEqual({
      is: 'refused',
      problems: [
        '1.36.2 failed here: apiserver was not ready within 10m; ask for another version, or make a Retry hold',
      ],
    })
  })

  test('after the edge it waits for an Approval that names what is lost', () => {
    const edge = { at: NOW - 840_000, snapshot: 's1' }
    const seen = seenWith(all(lifted), { record: { ...soaked, edge } })
    expect(planned(seen, '1.35.1')).toEqual({
      is: 'waits',
      waitingFor:
        'an Approval of the restore of s1: the one-way step to 1.36.2 is done, and all that was written since 14m ago would be lost',
    })
    const wrong = planned({ ...seen, approvedRestore: 's0' }, '1.35.1')
    expect(wrong.is).toBe('waits')
    expect(planned({ ...seen, approvedRestore: 's1' }, '1.35.1')).toMatchObject({
      step: { do: 'record', record: { restoring: { snapshot: 's1', at: NOW } } },
    })
  })

  test('a revert long after the upgrade restores the snapshot that was taken before its edge', () => {
    const kept = { ...snapshot, takenAt: NOW - 90_000_000 }
    const seen = seenWith(all(lifted), { snapshots: [kept] })
    expect(planned(seen, '1.35.1')).toMatchObject({ is: 'waits', waitingFor: expect.stringContaining('s1') })
    expect(planned({ ...seen, approvedRestore: 's1' }, '1.35.1')).toMatchObject({
      step: { do: 'record', record: { from: '1.35.1', to: '1.36.2', restoring: { snapshot: 's1', at: NOW } } },
    })
    const restoring = { from: '1.35.1', to: '1.36.2', begunAt: NOW, edge: { at: NOW, snapshot: 's1' } }
    const now = seenWith(all(lifted), {
      record: { ...restoring, restoring: { snapshot: 's1', at: NOW } },
      approvedRestore: 's1',
    })
    expect(planned(now, '1.35.1')).toMatchObject({ step: { do: 'restore', snapshot: 's1', version: '1.35.1' } })
  })

  test('the plan of a commit says which of the two ways back it is', () => {
    expect(wayBack(record, '1.36.2', '1.35.1')).toBe('programs')
    expect(wayBack({ ...record, edge: { at: NOW, snapshot: 's1' } }, '1.36.2', '1.35.1')).toBe('restore')
    expect(wayBack(undefined, '1.36.2', '1.35.1')).toBe('restore')
    expect(wayBack(undefined, '1.35.2', '1.35.1')).toBeUndefined()
    expect(wayBack(undefined, '1.35.1', '1.36.2')).toBeUndefined()
  })
})

describe('what speaks against an upgrade is said at once, and nothing is begun', () => {
  const unknown = { known: false, why: 'no answer' } as const
  test.each<[string, string, UpgradeSeen, readonly string[]]>([
    [
      'a version that the table does not have',
      '1.36.9',
      seenWith(),
      ['version 1.36.9 is not in the version table; it has 1.37.0, 1.36.3, 1.36.2, 1.35.2, 1.35.1, 1.34.4'],
    ],
    [
      'a skipped minor',
      '1.37.0',
      seenWith(),
      ['1.35 to 1.37 skips 1 minor; set upgrade.chain to walk them one by one, or ask for 1.36 first'],
    ],
    [
      'an older minor without a record',
      '1.34.4',
      seenWith(),
      [
        '1.35 to 1.34 goes back over a one-way step: only a snapshot taken before it can be restored; make another cluster and restore it there',
        'a kubelet 1.35.1 is newer than 1.34.4',
      ],
    ],
    [
      'everything at once',
      '1.36.2',
      seenWith(
        {},
        {
          busyWith: 'a restore',
          readiness: {
            kubelets: known({ oldest: '1.32.0', newest: '1.37.0' }),
            unreadyNodes: known({ total: 19, names: ['n-1', 'n-2'] }),
            blockingBudgets: known(['shop/cart']),
            removedApisInUse: known(['flowschemas.v1beta3']),
            deafWebhooks: known(['policy.example.org']),
            unfitAddons: known(['coredns 1.9']),
            etcd: known({ isHealthy: false, usedOfQuota: 0.75 }),
            surgeTrouble: known('no node has it free'),
          },
          snapshotTrouble: 'no space left on device',
        },
        { scheduler: NOW },
      ),
      [
        'a restore is under way',
        'scheduler is not ready as it is',
        'the last snapshot failed, and so would the next: no space left on device',
        'a kubelet 1.32.0 would be 4 minors behind; at most 3 are allowed',
        'a kubelet 1.37.0 is newer than 1.36.2',
        '2 of 19 nodes are not Ready: n-1, n-2',
        'PodDisruptionBudgets let no pod go: shop/cart',
        'webhooks that fail closed do not answer: policy.example.org',
        'etcd is not healthy',
        'etcd uses 75 % of its quota; less than 75 % is needed',
        'the hub has no room for one API server more: no node has it free',
        'clients use APIs that 1.36.2 no longer serves: flowschemas.v1beta3',
        'addons are not tested with 1.36.2: coredns 1.9',
      ],
    ],
    [
      'what cannot be read',
      '1.36.2',
      seenWith(
        {},
        {
          readiness: {
            kubelets: unknown,
            unreadyNodes: unknown,
            blockingBudgets: unknown,
            removedApisInUse: unknown,
            deafWebhooks: unknown,
            unfitAddons: unknown,
            etcd: unknown,
            surgeTrouble: unknown,
          },
        },
      ),
      [
        'the versions of the kubelets cannot be read: no answer',
        'the nodes cannot be read: no answer',
        'the PodDisruptionBudgets cannot be read: no answer',
        'the webhooks cannot be read: no answer',
        'the state of etcd cannot be read: no answer',
        'the room on the hub cannot be read: no answer',
        'the use of deprecated APIs cannot be read: no answer',
        'the addons cannot be read: no answer',
      ],
    ],
  ])('%s', (_, version, seen, problems) => expect(planned(seen, version)).toEqual({ is: 'refused', problems }))

  test.each([
    [
      'programs that cannot keep the behavior of the minor that runs',
      { version: '1.36.2', etcd: '3.6.6', emulatesFrom: 36 },
      '1.36.2 can emulate 1.36 and later, not 1.35: there would be no way back',
    ],
    [
      'an etcd that skips a minor of its own',
      { version: '1.36.2', etcd: '3.8.0', emulatesFrom: 33 },
      'etcd 3.6.5 to 3.8.0 skips a minor of etcd',
    ],
    [
      'an etcd whose version cannot be read',
      { version: '1.36.2', etcd: 'v3', emulatesFrom: 33 },
      'the versions of etcd cannot be read: 3.6.5, v3',
    ],
  ])('%s', (_, row, problem) => {
    const table = [...TABLE.filter(({ version }) => version !== row.version), row]
    expect(planUpgrade(seenWith(), request(row.version), table, NOW)).toEqual({ is: 'refused', problems: [problem] })
  })

  describe('what a commit accepts', () => {
    const troubled: Readiness = {
      ...READY,
      unreadyNodes: known({ total: 3, names: ['n-1'] }),
      blockingBudgets: known(['shop/cart']),
      removedApisInUse: known(['flowschemas.v1beta3']),
    }
    const accepting = (readiness: Readiness) =>
      planUpgrade(
        seenWith({}, { readiness }),
        { ...request('1.36.2'), accepts: ['DisruptionBudgets', 'UnreadyNodes', 'DeprecatedApis'] },
        TABLE,
        NOW,
      )

    test('does not stop the upgrade', () => expect(accepting(troubled).is).toBe('step'))

    test('is never that nothing could be read', () =>
      expect(accepting({ ...troubled, blockingBudgets: unknown })).toEqual({
        is: 'refused',
        problems: ['the PodDisruptionBudgets cannot be read: no answer'],
      }))
  })

  test.each([
    [9, 1, 'refused'],
    [10, 1, 'step'],
    [19, 2, 'refused'],
    [20, 2, 'step'],
  ])('of %i nodes, %i not Ready: %s', (total, unready, is) => {
    const names = Array.from({ length: unready }, (_, n) => `n-${n}`)
    const readiness = { ...READY, unreadyNodes: known({ total, names }) }
    expect(planned(seenWith({}, { readiness }), '1.36.2').is).toBe(is)
  })

  test('skipped minors are walked when asked', () => {
    expect(planUpgrade(seenWith(), request('1.37.0', true), TABLE, NOW)).toMatchObject({
      step: { do: 'record', record: { from: '1.35.1', to: '1.36.3' } },
    })
  })

  test('a version that the table does not have, asked for during an upgrade, stops it where it is', () => {
    expect(planned(seenWith(all(emulating), { record: soaked, snapshots: [snapshot] }), '1.3.62')).toEqual({
      is: 'waits',
      waitingFor: 'a version that the version table has; 1.3.62 is not in it',
    })
  })
})
