// Programs of a Cluster between the hub and the cluster: each step of a move, what stops it, and moves in which everything is killed at any write.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { programPlace, runsOnHub } from '#api/cluster-programs.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS, HOSTED_PROGRAMS, type HostedProgram } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import { plan } from '../plan.ts'
import type { KubeconfigSeen, PodsSeen, ProgramsSeen, Seen } from '../seen.ts'
import { statusOf } from '../status.ts'
import { type Place, placeActions, placeAfter, waitOfMove } from './place.ts'

const NOW = Date.UTC(2030, 0, 1)
const at = (ms: number): string => new Date(NOW + ms).toISOString().replace('.000', '')
const MINUTE = 60_000
const LED: ProgramsSeen['leaders'] = { kind: 'Read', without: [] }
const UNLED: ProgramsSeen['leaders'] = { kind: 'Read', without: ['approver'] }
const READY: PodsSeen = { kind: 'Read', waiting: [] }
const NO_PODS: PodsSeen = {
  kind: 'Read',
  waiting: [{ program: 'approver', available: 0, why: '0 of 2 replicas are available' }],
}
const PULL = 'image i cannot be pulled: denied'
const unpulled = (...missingSecrets: readonly string[]): PodsSeen => ({
  kind: 'Read',
  waiting: [{ program: 'approver', available: 0, why: PULL, pull: { why: PULL, missingSecrets } }],
})
const ALL = new Set(HOSTED_PROGRAMS)
const { endpoint, ca } = runningPlane('fleet.one')
const kubeconfig: KubeconfigSeen = {
  owner: 'u-1',
  endpoint,
  ca,
  authorities: [],
  signedBy: undefined,
  from: NOW - 1,
  until: NOW + 86_400_000,
}

interface Given {
  readonly wants?: Cluster['spec']['programs']
  readonly place?: Place | undefined
  readonly programs?: Partial<ProgramsSeen> | 'NotServed'
  readonly state?: 'Running' | 'Stopped'
  readonly deleted?: boolean
}

const seenOf = ({ wants = 'Cluster', place, programs = {}, state = 'Running', deleted = false }: Given): Seen => ({
  ...QUIET,
  addons: 'v',
  cluster: {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: {
      namespace: 'fleet',
      name: 'one',
      uid: 'u-1',
      finalizers: [FINALIZERS.cluster],
      ...(deleted && { deletionTimestamp: at(0) }),
    },
    spec: {
      version: '1.36.0',
      controlPlane: { flavor: 'embedded' },
      deletionPolicy: 'Orphan',
      ...defined({ programs: wants }),
    },
    status: {
      phase: 'Ready',
      addons: [{ name: 'kubenode', version: 'v', healthy: 'True' }],
      ...defined({ programs: place }),
    },
  } as unknown as Cluster,
  plane: { ...runningPlane('fleet.one'), owner: 'u-1', state },
  host: {
    name: 'embedded',
    capabilities: { isHighlyAvailable: false, keepsCredentials: false, minors: ['1.36'], most: 9 },
  },
  kubeconfig,
  programs:
    programs === 'NotServed'
      ? undefined
      : {
          kubeconfigs: Object.fromEntries(HOSTED_PROGRAMS.map((p) => [p, kubeconfig])),
          leaders: LED,
          isOffered: true,
          ...programs,
        },
})

const onHub: Place = { place: 'Hub', since: at(-MINUTE) }
const inside: Place = { place: 'Cluster', since: at(-MINUTE) }

describe('the record', () => {
  test.each<[string, Given, Place | undefined]>([
    ['is none of a Cluster whose programs run on the hub', { wants: 'Hub' }, undefined],
    ['is none of a Cluster that wants none', { wants: 'None' }, undefined],
    ['comes first', {}, { place: 'Hub', since: at(0), message: 'they are being deployed into the cluster' }],
    ['is not begun by a hub that has no objects for it', { programs: { isOffered: false } }, undefined],
    [
      'stays with the hub while pods are missing',
      { place: onHub, programs: { pods: NO_PODS } },
      { ...onHub, message: 'in the cluster kubenode-approver: 0 of 2 replicas are available' },
    ],
    [
      'stays with the hub while the cluster does not answer',
      { place: onHub, programs: { pods: READY, leaders: { kind: 'Unread', why: 'timeout' } } },
      { ...onHub, message: 'timeout' },
    ],
    [
      'goes to the cluster once all pods are ready',
      { place: onHub, programs: { pods: READY } },
      { place: 'Cluster', since: at(0) },
    ],
    ['stays in the cluster', { place: inside, programs: { pods: READY } }, inside],
    [
      'stays in the cluster when the hub no longer offers them and they lead',
      { place: inside, programs: { pods: READY, isOffered: false } },
      inside,
    ],
    [
      'returns to the hub also when the hub no longer offers them',
      { place: { ...inside, unledSince: at(-2 * MINUTE) }, programs: { pods: NO_PODS, isOffered: false } },
      { place: 'Hub', since: at(0), returned: true, message: 'approver: 0 of 2 replicas are available' },
    ],
    [
      'then stays there, and its message promises nothing',
      { place: { ...onHub, returned: true, message: 'approver has no leader' }, programs: { isOffered: false } },
      { ...onHub, returned: true },
    ],
    [
      'notes since when a program has no leader',
      { place: inside, programs: { pods: READY, leaders: UNLED } },
      { ...inside, unledSince: at(0), message: 'approver has no leader' },
    ],
    [
      // A user who can write Leases in the cluster could hold them without running anything.
      'notes a program without any pod, although its Lease is held',
      { place: inside, programs: { pods: NO_PODS } },
      { ...inside, unledSince: at(0), message: 'approver: 0 of 2 replicas are available' },
    ],
    [
      'forgets that once it leads',
      { place: { ...inside, unledSince: at(-MINUTE) }, programs: { pods: READY } },
      inside,
    ],
    [
      'returns to the hub after two minutes without a leader',
      { place: { ...inside, unledSince: at(-2 * MINUTE) }, programs: { pods: READY, leaders: UNLED } },
      { place: 'Hub', since: at(0), returned: true, message: 'approver has no leader' },
    ],
    [
      'stays in a cluster that does not answer, however long',
      {
        place: { ...inside, unledSince: at(-60 * MINUTE) },
        programs: { pods: { kind: 'Unread', why: 'timeout' }, leaders: { kind: 'Unread', why: 'timeout' } },
      },
      { ...inside, unledSince: at(-60 * MINUTE) },
    ],
    [
      'stays in a cluster that does not run',
      { place: inside, state: 'Stopped', programs: { pods: undefined } },
      inside,
    ],
    [
      'does not go back at once after a return',
      { place: { ...onHub, returned: true }, programs: { pods: READY } },
      { ...onHub, returned: true, message: `the next move is not before ${at(9 * MINUTE)}` },
    ],
    [
      'goes back ten minutes after a return',
      { place: { place: 'Hub', since: at(-10 * MINUTE), returned: true }, programs: { pods: READY } },
      { place: 'Cluster', since: at(0) },
    ],
    ['is handed to the hub when a commit says so', { wants: 'Hub', place: inside }, { place: 'Hub', since: at(0) }],
    [
      'notes since when all run on the hub again',
      { wants: 'Hub', place: onHub, programs: { hosted: ALL } },
      { ...onHub, hostedSince: at(0) },
    ],
    [
      'forgets that when one of them does not',
      {
        wants: 'Hub',
        place: { ...onHub, hostedSince: at(-MINUTE) },
        programs: { hosted: new Set<HostedProgram>(['approver']) },
      },
      onHub,
    ],
    [
      'is handed to the hub when the Cluster is deleted',
      { place: inside, deleted: true },
      { place: 'Hub', since: at(0) },
    ],
    [
      'is written again when it was lost and the cluster still has them',
      { wants: 'Hub', programs: { isLeft: true } },
      { place: 'Hub', since: at(0) },
    ],
    [
      'is written again for a Cluster that wants none',
      { wants: 'None', programs: { isLeft: true } },
      { place: 'Hub', since: at(0) },
    ],
    ['is not written while nobody knows', { wants: 'Hub', programs: { isLeft: undefined } }, undefined],
    ['is kept by a hub that runs no programs', { place: inside, programs: 'NotServed' }, inside],
  ])('%s', (_, given, wanted) => expect(placeAfter(seenOf(given), NOW)).toEqual(wanted))
})

test.each<[string, PodsSeen, string]>([
  [
    'a Secret for it is missing',
    unpulled('pull'),
    'an administrator of the cluster creates Secret pull in its kubenode-system',
  ],
  [
    'no Secret is missing',
    unpulled(),
    'the nodes of the cluster can pull the image: they reach its registry, and its Secrets for pulling are valid',
  ],
])('an image that cannot be pulled has a reason of its own, also when %s', (_, pods, unblock) => {
  const seen = seenOf({ place: onHub, programs: { pods } })
  expect(waitOfMove(seen, placeAfter(seen, NOW))).toEqual({
    predicate: 'ImageNotPulled',
    seen: `the programs run on the hub: in the cluster kubenode-approver: ${PULL}`,
    unblock,
  })
})

describe('actions', () => {
  const of = (given: Given): readonly string[] => placeActions(seenOf(given), NOW).map(({ kind }) => kind)

  test.each<[string, Given, readonly string[]]>([
    ['nothing is deployed before it is recorded', {}, []],
    ['what is recorded is deployed', { place: onHub }, ['DeployPrograms']],
    ['and kept as declared', { place: inside }, ['DeployPrograms']],
    ['of a control plane that does not run, nothing', { place: inside, state: 'Stopped' }, []],
    [
      'nothing is removed before the hand-over is recorded',
      { wants: 'Hub', place: inside, programs: { hosted: ALL } },
      [],
    ],
    [
      'nothing is removed before the hub runs all',
      { wants: 'Hub', place: onHub, programs: { hosted: new Set<HostedProgram>(['approver']) } },
      [],
    ],
    [
      'then it is',
      { wants: 'Hub', place: { ...onHub, hostedSince: at(-15_000) }, programs: { hosted: ALL } },
      ['RemovePrograms'],
    ],
    [
      'nor before their processes have started',
      { wants: 'Hub', place: { ...onHub, hostedSince: at(-14_000) }, programs: { hosted: ALL } },
      [],
    ],
    ['nor is anything removed that is not recorded', { wants: 'Hub', programs: { hosted: ALL } }, []],
    ['None removes it', { wants: 'None', place: inside }, ['RemovePrograms']],
  ])('%s', (_, given, wanted) => expect(of(given)).toEqual(wanted))
})

test('the status says which, and what a move waits for', () => {
  const of = (given: Given) => {
    const seen = seenOf(given)
    const status = statusOf(seen, plan(seen, NOW), [], NOW)
    const { status: is, message } = status.conditions?.find((c) => c.type === 'ProgramsReady') ?? {}
    return [is, message, status.waitingFor?.predicate]
  }
  const lead = 'controllers, approver and Defender lead in the cluster'
  expect(of({ place: inside, programs: { pods: READY } })).toEqual(['True', `${lead}, from pods in it`, undefined])
  expect(of({ place: onHub, programs: { pods: NO_PODS } })).toEqual([
    'True',
    `${lead}; they run on the hub: in the cluster kubenode-approver: 0 of 2 replicas are available`,
    'ProgramsMoving',
  ])
  expect(of({ wants: 'Hub', place: inside })[2]).toBe('ProgramsMoving')
  expect(of({ programs: { isOffered: false } })[2]).toBe('ProgramsMoving')
  expect(of({ wants: 'Hub' })).toEqual(['True', lead, undefined])
})

describe('a move that waits says where the programs run, why, and what ends it', () => {
  const REFUSED = 'webhook refuses'
  const offer = { isOffered: false }
  const settings = 'kubenode install or upgrade of the hub, with clusterPrograms in its settings'
  test.each<[string, Given, string | undefined, string, string]>([
    [
      'the hub has none, and they run there',
      { programs: offer },
      undefined,
      'this hub has no programs for clusters; the programs run on the hub',
      settings,
    ],
    [
      'the hub has none, and they run in the cluster',
      { place: inside, programs: { ...offer, pods: READY } },
      undefined,
      'this hub has no programs for clusters; the programs run in the cluster and are not kept as declared',
      settings,
    ],
    [
      'the hub has none, and one in the cluster has no leader',
      { place: inside, programs: { ...offer, pods: READY, leaders: UNLED } },
      undefined,
      'this hub has no programs for clusters; the programs run in the cluster and are not kept as declared: approver has no leader',
      settings,
    ],
    [
      'the hub cannot read them',
      { place: onHub, programs: { ...offer, unreadable: 'KN1002: cannot deploy' } },
      undefined,
      'KN1002: cannot deploy; the programs run on the hub',
      settings,
    ],
    [
      'pods are missing',
      { place: onHub, programs: { pods: NO_PODS } },
      undefined,
      'the programs run on the hub: in the cluster kubenode-approver: 0 of 2 replicas are available',
      'their pods in the cluster are ready: it has nodes with room for them that can pull the image',
    ],
    [
      'the cluster does not answer',
      { place: onHub, programs: { pods: READY, leaders: { kind: 'Unread', why: 'timeout' } } },
      undefined,
      'the programs run on the hub: timeout',
      'the API server of the cluster answers',
    ],
    [
      'they returned a minute ago',
      { place: { ...onHub, returned: true }, programs: { pods: READY } },
      undefined,
      `the programs run on the hub: the next move is not before ${at(9 * MINUTE)}`,
      'that time comes; they move by themselves',
    ],
    [
      'one has no leader',
      { place: inside, programs: { pods: READY, leaders: UNLED } },
      undefined,
      'the programs run in the cluster: approver has no leader',
      'they lead again; after two minutes without, they return to the hub',
    ],
    [
      'the cluster refuses a change of what leads in it',
      { place: inside, programs: { pods: READY } },
      REFUSED,
      `the programs run in the cluster: ${REFUSED}`,
      'the cluster takes their objects: a person removes what refuses them there',
    ],
    [
      'the cluster refuses a change, and one has no leader',
      { place: inside, programs: { pods: READY, leaders: UNLED } },
      REFUSED,
      `the programs run in the cluster: approver has no leader; ${REFUSED}`,
      'they lead again; after two minutes without, they return to the hub',
    ],
    [
      'the cluster refuses their objects',
      { place: onHub, programs: { pods: NO_PODS } },
      REFUSED,
      `the programs run on the hub: ${REFUSED}`,
      'the cluster takes their objects: a person removes what refuses them there',
    ],
  ])('%s', (_, given, problem, wanted, unblock) => {
    const seen = seenOf(given)
    const planned = plan(seen, NOW)
    const results = planned.actions.map((action) => ({
      action,
      outcome: { kind: 'Applied' as const, object: action.kind === 'DeployPrograms' ? { problem } : undefined },
    }))
    const place = statusOf(seen, planned, results, NOW).programs
    expect(waitOfMove(seen, place, problem)).toEqual({ predicate: 'ProgramsMoving', seen: wanted, unblock })
  })
})

/** A hub and a cluster in which every write may be the last one of its process, in any order. */
class World {
  wants: NonNullable<Cluster['spec']['programs']> = 'Hub'
  record: Place | undefined
  /** Deployed objects exist; their pods may be ready. */
  isDeployed = false
  podsReady = false
  /** Of the hub: its processes run, as leaders or waiting for the Leases. */
  hosted = true
  holder: 'Hub' | 'Cluster' | undefined = 'Hub'
  now = NOW

  #cluster = (): Pick<Cluster, 'spec' | 'status'> =>
    ({ spec: { controlPlane: {}, programs: this.wants }, status: { programs: this.record } }) as never

  seen(): Seen {
    const isLed = this.holder !== undefined
    const asked = this.record !== undefined
    return seenOf({
      wants: this.wants,
      place: this.record,
      programs: {
        leaders: isLed ? LED : { kind: 'Read', without: [...HOSTED_PROGRAMS] },
        ...(!asked && this.wants !== 'Cluster' && { isLeft: this.isDeployed }),
        ...(asked && this.wants === 'Cluster' && { pods: this.isDeployed && this.podsReady ? READY : NO_PODS }),
        ...(asked && this.wants === 'Hub' && { hosted: this.hosted ? ALL : new Set<HostedProgram>() }),
      },
    })
  }

  /** One pass of the controller that ends after `writes` of its writes. */
  pass(writes: number): void {
    const seen = this.seen()
    const actions = placeActions(seen, this.now)
    let left = writes
    let isRemoved = false
    for (const { kind } of actions) {
      if (left-- <= 0) return
      if (kind === 'DeployPrograms') this.isDeployed = true
      if (kind === 'RemovePrograms') {
        isRemoved = true
        this.isDeployed = this.podsReady = false
        if (this.holder === 'Cluster') this.holder = undefined
      }
    }
    if (left-- <= 0) return
    this.record = isRemoved ? undefined : placeAfter(seen, this.now)
  }

  /** Replicas on the hub follow the Cluster. */
  follow(): void {
    this.hosted = runsOnHub(this.#cluster())
    if (!this.hosted && this.holder === 'Hub') this.holder = undefined
  }

  /** A candidate takes a free Lease. */
  elect(): void {
    if (this.holder === 'Cluster' && !(this.isDeployed && this.podsReady)) this.holder = undefined
    this.holder ??= this.hosted ? 'Hub' : this.isDeployed && this.podsReady ? 'Cluster' : undefined
  }

  get runners(): number {
    return Number(this.hosted) + Number(this.isDeployed && this.podsReady)
  }
}

type Step =
  | ['pass', number]
  | ['follow' | 'elect' | 'ready' | 'wait' | 'lose' | 'restore']
  | ['wants', 'Hub' | 'Cluster']
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('pass' as const), fc.nat({ max: 3 })) },
  { weight: 2, arbitrary: fc.constant<Step>(['follow']) },
  { weight: 2, arbitrary: fc.constant<Step>(['elect']) },
  fc.constant<Step>(['ready']),
  fc.constant<Step>(['wait']),
  fc.constant<Step>(['lose']),
  fc.constant<Step>(['restore']),
  fc.tuple(fc.constant('wants' as const), fc.constantFrom('Hub' as const, 'Cluster' as const)),
)

function take(world: World, [kind, what]: Step): void {
  if (kind === 'pass') world.pass(what)
  if (kind === 'wants') world.wants = what as 'Hub'
  if (kind === 'follow') world.follow()
  if (kind === 'elect') world.elect()
  if (kind === 'ready' && world.isDeployed) world.podsReady = true
  if (kind === 'wait') world.now += MINUTE
  // The status of the Cluster is wiped.
  if (kind === 'lose') world.record = undefined
  // Of an old backup of the cluster: their Deployments are in it.
  if (kind === 'restore') world.isDeployed = true
}

test('in every order of passes that are killed at any write, of lost records and old backups, one side that is ready runs the programs', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const world = new World()
      for (const s of steps) {
        take(world, s)
        expect(world.runners).toBeGreaterThan(0)
      }
      // Left alone, it comes to what is declared.
      for (let n = 0; n < 40; n++) {
        world.now += MINUTE
        world.podsReady = world.isDeployed
        world.follow()
        world.elect()
        world.pass(9)
      }
      expect(programPlace({ programs: world.wants })).toBe(world.wants)
      expect([world.hosted, world.isDeployed, world.holder]).toEqual(
        world.wants === 'Hub' ? [true, false, 'Hub'] : [false, true, 'Cluster'],
      )
    }),
    { numRuns: 500 },
  )
})
