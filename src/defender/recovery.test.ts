import { describe, expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { revisionNameOf } from '#api/protocol/set-revision.ts'
import { definitionDigest } from '#api/trust/statement.ts'
import { silentLogger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { aMachine, aPermit, uidOf } from '#test/support/fleets/defender-objects.ts'
import { component, componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type KnownObjects, RecoveryWatch, recoveringTargets } from './recovery.ts'

const COMPONENTS = [{ name: 'beacon', version: '1.0.0' }]
const RECORD = revisionNameOf('base', COMPONENTS)
const set = { ...componentSet({ beacon: '1.0.0' }), status: { revisions: { current: RECORD, update: 'base-new' } } }
const definition = component('beacon', '1.0.0')
const digest = definitionDigest(definition)
const at = '2026-01-05T10:00:00Z'
const later = '2026-01-05T11:00:00Z'

const revision = (completed: object | undefined, owner = set.metadata.uid ?? '', name = RECORD) => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: {
    name,
    ownerReferences: [{ apiVersion: set.apiVersion, kind: set.kind, name: 'base', uid: owner }],
    ...(completed !== undefined && { annotations: { [ANNOTATIONS.completed]: JSON.stringify({ beacon: completed }) } }),
  },
  data: { components: COMPONENTS },
})
const good = { version: '1.0.0', digest, at }

const claim = (more: Partial<OperationPermit['spec']> = {}): OperationPermit => {
  const { targets: _, ...rest } = more
  return aPermit({
    name: 'p',
    targets: ['m-0', 'm-1'],
    operations: ['SwitchComponent'],
    requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base', uid: 'set-base' },
    component: { name: 'beacon', version: '1.0.0' },
    recovery: true,
    ...rest,
  })
}

const machineWith = (name: string, healthyBefore: readonly object[]) => {
  const made = aMachine({ name, runs: { beacon: '1.1.0' } })
  const components = (made.status?.components ?? []).map((c) => ({ ...c, healthyBefore }))
  return { ...made, status: { ...made.status, components } } as unknown as ReturnType<typeof aMachine>
}

const known = (more: Partial<KnownObjects> = {}): KnownObjects => ({
  setNamed: (name) => (name === 'base' ? set : undefined),
  machineNamed: (name) => machineWith(name, name === 'm-0' ? [{ version: '1.0.0', digest }] : []),
  definitions: (_, version) => (version === '1.0.0' ? [definition] : []),
  ...more,
})

const BOTH = [uidOf('m-0'), uidOf('m-1')]
const targets = (permit: OperationPermit, revisions: readonly object[], more: Partial<KnownObjects> = {}) => [
  ...recoveringTargets(permit, revisions as never, known(more)),
]

describe('a permit that says it is a recovery', () => {
  test('is one for all targets when the ladder of the version was completed on the set', () => {
    expect(targets(claim(), [revision(good)])).toEqual(BOTH)
  })

  test('is one for machines that ran the version healthily, and for no other', () => {
    expect(targets(claim(), [])).toEqual([uidOf('m-0')])
  })

  test.each<[string, OperationPermit, readonly object[], Partial<KnownObjects>?]>([
    ['the set went back from the version', claim(), [revision({ ...good, leftAt: later })]],
    [
      'the record is of another definition',
      claim(),
      [revision({ ...good, digest: 'b'.repeat(64) })],
      { machineNamed: () => undefined },
    ],
    [
      'it goes to another configuration',
      claim({ component: { name: 'beacon', version: '1.0.0', config: 'beacon.x' } }),
      [revision(good)],
    ],
    ['it goes to another version', claim({ component: { name: 'beacon', version: '2.0.0' } }), [revision(good)]],
    ['the record is of another set', claim(), [revision(good, 'other')], { machineNamed: () => undefined }],
    [
      'the set was made again',
      claim({ requester: { manager: 'm', kind: 'MachineComponentSet', name: 'base', uid: 'old' } }),
      [revision(good)],
    ],
    ['the set is unknown', claim(), [revision(good)], { setNamed: () => undefined }],
    ['a job asks', claim({ requester: { manager: 'm', kind: 'RemedyOperationJob', name: 'base' } }), [revision(good)]],
    ['the definition is gone', claim(), [revision(good)], { definitions: () => [] }],
    ['two definitions have the name', claim(), [revision(good)], { definitions: () => [definition, definition] }],
    ['it asks for more than the switch needs', claim({ operations: ['SwitchComponent', 'Reboot'] }), [revision(good)]],
    ['it asks for something else', claim({ operations: ['Drain'] }), [revision(good)]],
    [
      'the machine is another one of that name',
      claim(),
      [],
      { machineNamed: (n) => ({ ...machineWith(n, [{ version: '1.0.0', digest }]), metadata: { name: n, uid: 'x' } }) },
    ],
  ])('is none when %s', (_, permit, revisions, more = {}) => {
    expect(targets(permit, revisions, more)).toEqual([])
  })

  test('may drain and reboot where the version needs that', () => {
    const reboots = component('beacon', '1.0.0', { disruption: 'Reboot' })
    const record = { ...good, digest: definitionDigest(reboots) }
    const permit = claim({ operations: ['SwitchComponent', 'Drain', 'Reboot'] })
    expect(targets(permit, [revision(record)], { definitions: () => [reboots] })).toEqual(BOTH)
  })

  test('of a set that completed before records were kept is one when its last healthy revision has the version', () => {
    const without = { machineNamed: () => undefined }
    expect(targets(claim(), [revision(undefined, 'set-base')], without)).toEqual(BOTH)
    const other = { ...set, status: { revisions: { current: 'base-new', update: 'base-new' } } }
    expect(targets(claim(), [revision(undefined, 'set-base')], { ...without, setNamed: () => other })).toEqual([])
  })

  test.each<[string, object]>([
    ['not named by its content', revision(good, 'set-base', 'base-planted')],
    ['with the name of other content', { ...revision(good), data: { components: [{ name: 'beacon', version: '2' }] } }],
    [
      'that speaks of a version that it does not have',
      {
        ...revision(good, 'set-base', revisionNameOf('base', [{ name: 'beacon', version: '2' }])),
        data: { components: [{ name: 'beacon', version: '2' }] },
      },
    ],
    [
      'of an object of another kind with the uid of the set',
      {
        ...revision(good),
        metadata: {
          ...revision(good).metadata,
          ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'base', uid: 'set-base' }],
        },
      },
    ],
  ])('S25 is none by a planted record %s', (_, planted) => {
    const without = { machineNamed: () => undefined }
    expect(targets(claim(), [revision(good)], without)).toEqual(BOTH)
    expect(targets(claim(), [planted], without)).toEqual([])
  })
})

describe('who looks up recoveries', () => {
  const watching = (list: () => Promise<unknown>) => {
    const clock = new VirtualClock()
    const watch = new RecoveryWatch({ client: { list } as unknown as KubeClient, clock, log: silentLogger })
    return { clock, watch }
  }

  test('reads the records when a permit claims one, and at most every two seconds', async () => {
    let reads = 0
    const { clock, watch } = watching(() => Promise.resolve({ items: (reads++, [revision(good)]) }))
    await watch.observe([claim({ recovery: false })], known())
    expect([reads, watch.isRecovery(claim(), BOTH[1] ?? '')]).toEqual([0, false])
    await watch.observe([claim()], known())
    await watch.observe([claim()], known())
    expect([reads, watch.isRecovery(claim(), BOTH[1] ?? '')]).toEqual([1, true])
    await clock.advance(2_000)
    await watch.observe([claim()], known())
    expect(reads).toBe(2)
  })

  test('believes no claim while the records cannot be read', async () => {
    const { watch } = watching(() => Promise.reject(new Error('forbidden')))
    await watch.observe([claim()], known({ machineNamed: () => undefined }))
    expect(watch.isRecovery(claim(), BOTH[0] ?? '')).toBe(false)
  })
})
