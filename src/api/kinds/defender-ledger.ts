// DefenderLedger: the Defender's authoritative state, one bounded object. A grant is a compare-and-swap on it, before the permit shows Granted.
import { whole } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { DOMAINS, RATE_WINDOWS } from './defender-policy.ts'
import { DISRUPTIONS } from './operation-permit.ts'

/** Swapping a small object is cheap, a large one is not; beyond this the answer is Denied, LedgerFull. */
export const MAX_GRANTS = 1_000
export const MAX_LEDGER_BYTES = 256 * 1024
/** Sets that rolled a component back within an hour; beyond this a rollback is an ordinary rollout. */
export const MAX_WAYS_BACK = 128
/** Counted deletions that have not happened yet; beyond this, one that never happens counts until it leaves its windows. */
export const MAX_RESERVED = 100
/** Machines that are or soon will be unavailable for host maintenance; further ones count but are not listed. */
export const MAX_RESERVATIONS = 200
/** Admission policies that differ from the release, which has fewer than this. */
export const MAX_ALTERED = 100
/** Its only name. */
export const LEDGER_NAME = 'cluster'

const grant = s.obj('One target that may be disrupted now, or whose result is unknown.', {
  permit: f.objectName('The OperationPermit.'),
  permitUid: f.uid('UID of the permit; the grant remains if the permit is deleted.'),
  target: f.uid('UID of the target.'),
  kind: s.fallback(s.choice('Kind of the target.', ['Machine', 'Node', 'Cluster']), 'Machine'),
  namespace: s.optional(s.str('Namespace of the target, where its kind has one.', { max: 63 })),
  name: f.objectName('Name of the target.'),
  operations: s.setOf('The granted operations.', s.choice('An operation.', DISRUPTIONS), { min: 1, max: 8 }),
  state: s.optional(
    s.choice('Held (the default) until a result is reported; Orphaned if the lease ended first.', ['Held', 'Orphaned']),
  ),
  grantedAt: s.time('When it was granted.'),
  zone: s.optional(f.labelValue('Zone at the time of the grant.')),
  rack: s.optional(f.labelValue('Rack at the time of the grant.')),
  pool: s.optional(f.labelValue('Pool at the time of the grant.')),
  stage: s.optional(f.labelValue('Stage of the Cluster at the time of the grant.')),
  region: s.optional(f.labelValue('Region of the Cluster at the time of the grant.')),
  component: s.optional(f.componentName('The affected component.')),
  exempt: s.optional(
    s.choice('Recorded only; it counts against no budget or rate, because nothing is disrupted.', ['NoDisruption']),
  ),
})

const bucket = s.obj('Number of grants in one time slot.', {
  policy: s.str('The policy and its rate, such as production/1h.zone.', { min: 1, max: 280 }),
  domain: s.fallback(s.str('Value of the domain; empty for the cluster.', { max: 63 }), ''),
  slot: s.int('Number of the time slot since 1970; the window determines its length.', {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  }),
  window: s.choice('Window of the rate.', RATE_WINDOWS),
  per: s.fallback(s.choice('Domain of the rate.', DOMAINS), 'cluster'),
  count: f.count('Grants.'),
})

const breaker = s.obj('The breaker of one policy.', {
  policy: s.str('The policy.', { min: 1, max: 253 }),
  state: s.choice('Whether operations are granted.', ['Closed', 'Open', 'HalfOpen']),
  since: s.time('Since when.'),
  failures: f.count('Failures in the window.', 1_000),
  results: s.str('The last results, newest last: s for success, f for failure.', {
    max: 1_000,
    pattern: '^[sf]*$',
    expects: 's and f',
  }),
  times: s.optional(
    s.list(
      'Time of each of the last results: seconds since 1970 on the clock of the Defender.',
      s.int('A time.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
      { max: 1_000 },
    ),
  ),
  trial: s.fallback(f.count('Number of operations that may run at once in state HalfOpen.', 1_000), 0),
})

const blame = s.obj(
  'A group of machines that share a property and fail together; their repairs and the rollout wait.',
  {
    kind: s.choice('The shared property.', [
      'Component',
      'Config',
      'Kernel',
      'Host',
      'Switch',
      'Rack',
      'Zone',
      'Class',
    ]),
    component: s.fallback(s.str('The component, if kind is Component or Config.', { max: 63 }), ''),
    value: s.str('The version, configuration or location.', { min: 1, max: 253 }),
    since: s.time('Since when it has been blamed.'),
    seenAt: s.time('When the failures were last counted.'),
    failing: f.count('Failing machines of the group.', 100_000),
    members: f.count('All machines of the group.', 100_000),
    failingElsewhere: f.count('Failing machines outside the group.', 100_000),
    elsewhere: f.count('All machines outside the group.', 100_000),
    machines: s.optional(
      s.list('The first failing machines of a place, by name.', f.objectName('A Machine or Node.'), { max: 20 }),
    ),
  },
)

const wayBack = s.obj('A rollback of a component in a set.', {
  set: f.objectName('The MachineComponentSet.'),
  component: f.componentName('The component.'),
  to: s.str('Identifies the version and its configuration.', {
    min: 12,
    max: 12,
    pattern: '^[0-9a-f]+$',
    expects: 'a hash',
  }),
  since: s.time('When the first machine was granted.'),
  isOver: s.optional(s.bool('Whether machines were granted a different version since then.')),
})

const reserved = s.obj('A deletion that was admitted and counted; if it does not follow, it is no longer counted.', {
  kind: s.choice('Kind of the object.', ['Machine', 'Node', 'Namespace', 'CustomResourceDefinition', 'StatefulSet']),
  name: s.str('Name of the object.', { min: 1, max: 253 }),
  uid: f.uid('UID of the object.'),
  at: s.microTime('When it was counted, on the clock of the Defender.'),
})

const reservation = s.obj('A machine that counts as away, whether or not its drain was granted.', {
  event: f.objectName('The MaintenanceEvent.'),
  target: f.uid('UID of the Machine.'),
  name: f.objectName('Name of the Machine.'),
  from: s.time('Since when it counts.'),
  notBefore: s.optional(s.time('When the work on its host begins; absent if it has begun.')),
  dataLoss: s.fallback(s.bool('Whether its data is lost, so that an approval is needed.'), false),
})

const altered = s.obj('An admission policy, or its binding, that is not as the release of the Defender installs it.', {
  kind: s.choice('Its kind.', ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']),
  name: f.objectName('Its name.'),
  how: s.choice('Missing if it cannot be restored.', ['Missing', 'Changed']),
  since: s.time('Since when.'),
})

const spec = s.obj('The grants and the state of the Defender.', {
  sequence: s.int('Counts decisions; a paused leader that writes an older number loses the compare-and-swap.', {
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
  }),
  asOf: s.optional(
    s.microTime('The clock of the Defender. It is monotonic: changes of the wall clock do not affect it.'),
  ),
  leader: s.optional(s.str('The last leader.', { max: 253 })),
  // Written as a whole by one writer: a map by key would double its size with managed fields.
  grants: s.optional(s.list('Grants in flight, one per target of a permit.', grant, { max: MAX_GRANTS })),
  rates: s.optional(s.mapList('Grants per time slot.', bucket, { keys: ['policy', 'domain', 'slot'], max: 2_000 })),
  breakers: s.optional(s.mapList('The breakers.', breaker, { keys: ['policy'], max: 64 })),
  blames: s.optional(s.mapList('Blamed groups of machines.', blame, { keys: ['kind', 'component', 'value'], max: 16 })),
  waysBack: s.optional(
    s.mapList('Rollbacks of the last hour.', wayBack, { keys: ['set', 'component'], max: MAX_WAYS_BACK }),
  ),
  reserved: s.optional(
    s.mapList('Admitted deletions of the last seconds.', reserved, { keys: ['uid'], max: MAX_RESERVED }),
  ),
  reservations: s.optional(
    s.mapList('Machines that are or will be away for work on their hosts.', reservation, {
      keys: ['event'],
      max: MAX_RESERVATIONS,
    }),
  ),
  reservationCount: s.optional(
    s.int(`How many they are: all of them count, and the list names the first ${MAX_RESERVATIONS}.`, {
      min: 1,
      max: Number.MAX_SAFE_INTEGER,
    }),
  ),
  alteredPolicies: s.optional(
    s.mapList('Admission policies that do not protect as installed; none when absent.', altered, {
      keys: ['kind', 'name'],
      max: MAX_ALTERED,
    }),
  ),
  counts: s.optional(
    s.obj('Totals since the ledger was created.', {
      granted: s.int('Grants.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
      denied: s.int('Denials.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
      succeeded: s.int('Successful results.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
      failed: s.int('Failed results.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
    }),
  ),
})

export const defenderLedger = defineKind('DefenderLedger', 'kledger', {
  doc: 'The authoritative state of the Defender: grants in flight, rates, breakers. One object, named cluster.',
  spec,
  columns: [
    whole('Sequence', '.spec.sequence'),
    whole('Granted', '.spec.counts.granted'),
    whole('Denied', '.spec.counts.denied'),
    whole('Failed', '.spec.counts.failed'),
    whole('Booked', '.spec.reservationCount'),
  ],
  rootRules: [
    {
      cel: "self.metadata.name == 'cluster'",
      message: 'the only DefenderLedger is named cluster',
      holds: ({ metadata }) => metadata.name === LEDGER_NAME,
    },
  ],
  checks: [
    {
      name: 'the ledger stays small',
      findings: ({ spec: s }) => {
        const bytes = Buffer.byteLength(JSON.stringify(s))
        return bytes <= MAX_LEDGER_BYTES
          ? []
          : [{ pointer: 'spec', message: `is ${bytes} bytes of JSON`, allowed: `at most ${MAX_LEDGER_BYTES}` }]
      },
    },
  ],
  example: {
    metadata: { name: LEDGER_NAME },
    spec: {
      sequence: 42,
      grants: [
        {
          permit: 'base-kubelet-s2-0',
          permitUid: '7d1f0e53-8a35-4c8a-bf9e-6f8a0e5b9b11',
          target: '6a4f2c1e-70a1-4a36-9a5c-0b7c8d1e2f30',
          kind: 'Machine',
          name: 'prod-1-worker-0007',
          operations: ['SwitchComponent'],
          grantedAt: '2026-01-31T12:00:00Z',
          zone: 'zone-a',
        },
      ],
      rates: [{ policy: 'production/1h.cluster', slot: 492_540, window: '1h', count: 17 }],
      breakers: [
        { policy: 'production', state: 'Closed', since: '2026-01-31T09:00:00Z', failures: 0, results: 'sssss' },
      ],
    },
  },
})

export type DefenderLedger = ObjectOf<typeof defenderLedger>
export type DefenderLedgerInput = InputOf<typeof defenderLedger>
export type LedgerSpec = SpecOf<typeof defenderLedger>
