// MaintenanceEvent: what a cloud or a person announces for the host of one machine, and KubeNode's response. The spec comes from its source; the status is the
// life cycle, with one writer.
import { PHASE, text, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf, type StatusOf } from '../kind.ts'

export const MAINTENANCE_KINDS = [
  'Reboot',
  'Stop',
  'Redeploy',
  'Migrate',
  'DiskRepair',
  'Reclaim',
  'Delete',
  'Notice',
] as const
export const MAINTENANCE_STATES = [
  'Scheduled',
  'Inquiring',
  'Executing',
  'Executed',
  'Avoided',
  'Cancelled',
  'Failed',
] as const
export const MAINTENANCE_ANSWERS = ['Accept', 'Start', 'Postpone'] as const

/** The source of work planned by people. Provider names are lower case. */
export const PEOPLE = 'People'

/** The source of what agents read from their cloud's metadata service. */
export const METADATA = 'Metadata'

const spec = s.rule(
  s.obj('What its source reports.', {
    machine: s.immutable(
      f.objectName('The Machine on the affected host.'),
      'spec.machine of a MaintenanceEvent is immutable: its node may be drained; end it and plan another one',
    ),
    host: s.optional(
      s.obj('The host, as its provider names it.', {
        id: s.str('The providerID of the host.', { min: 1, max: 512 }),
        hostId: s.optional(s.str('The physical host; equal ones fail together.', { min: 1, max: 253 })),
        rack: s.optional(s.str('The rack.', { min: 1, max: 253 })),
        zone: s.optional(f.labelValue('The zone.')),
      }),
    ),
    source: s.str('Name of the provider; Metadata for what the agent read on the host; or People.', {
      min: 1,
      max: 63,
    }),
    eventId: s.str('The ID of the event at its source.', { min: 1, max: 253 }),
    kind: s.choice('The effect on the host. A Notice is for people: nothing is done.', MAINTENANCE_KINDS),
    state: s.fallback(s.choice('The state that the source reports.', MAINTENANCE_STATES), 'Scheduled'),
    unplanned: s.fallback(s.bool('Whether it happened without an announcement.'), false),
    dataLoss: s.fallback(s.bool("Whether data on the host's own disks is lost."), false),
    bill: s.optional(
      s.bool(
        'Whether it happens because a bill is not paid or what was paid for ends: until a day before, it is for people.',
      ),
    ),
    notBefore: s.optional(s.time('Earliest start.')),
    notAfter: s.optional(s.time('Latest start; of an event that people planned, its planned end.')),
    initialNotBefore: s.optional(s.time('The earliest start that was announced first.')),
    answers: s.optional(
      s.setOf('The answers that the source takes.', s.choice('An answer.', MAINTENANCE_ANSWERS), { min: 1, max: 3 }),
    ),
    description: s.optional(f.sentence('The description of the source.', 1_024)),
    plannedBy: s.optional(
      s.str('The user who planned it; must be the user that creates this object.', { min: 1, max: 253 }),
    ),
    endedBy: s.optional(
      s.str('The user who called it off or ended it; must be the user that writes that state.', { min: 1, max: 253 }),
    ),
  }),
  {
    cel: '!has(self.notBefore) || !has(self.notAfter) || self.notBefore <= self.notAfter',
    message: 'notBefore must not be after notAfter',
    fieldPath: '.notAfter',
    holds: (s) =>
      s.notBefore === undefined || s.notAfter === undefined || Date.parse(s.notBefore) <= Date.parse(s.notAfter),
  },
)

const status = f.status('The life cycle of the event.', {
  phase: s.optional(f.phase('Maintenance')),
  phaseSince: s.optional(s.time('Since when.')),
  lead: s.optional(f.duration('How long before notBefore the preparation starts at the latest.')),
  plannedFor: s.optional(s.time('The notBefore that startAt was computed from.')),
  startAt: s.optional(s.time('When the preparation starts.')),
  bootID: s.optional(s.str('The boot of the host when the preparation started.', { max: 64 })),
  permitRef: s.optional(f.objectName('The OperationPermit for the drain and what follows.')),
  drainStartedAt: s.optional(s.time('When the drain started.')),
  drainedAt: s.optional(s.time('When no pod that has to move was left.')),
  answer: s.optional(
    s.obj('What the source was answered.', {
      kind: s.choice('The answer; Reboot is a restart by way of the provider.', [...MAINTENANCE_ANSWERS, 'Reboot']),
      at: s.time('When.'),
      outcome: s.choice('What the source made of it.', ['Pending', 'Ordered', 'Refused']),
    }),
  ),
  approvedBy: s.optional(
    s.setOf('The users whose Approvals the permit rests on.', s.str('A user.', { min: 1, max: 253 }), { max: 8 }),
  ),
  missedAt: s.optional(s.time('When the event began before the node was drained.')),
  healthySince: s.optional(s.time('Since when the machine has been healthy again.')),
  endedAt: s.optional(s.time('When the event ended; the object is deleted 30 days later.')),
  message: s.optional(f.sentence('The cause of the current phase.')),
  waitingFor: s.optional(f.waitingFor()),
})

export const maintenanceEvent = defineKind('MaintenanceEvent', 'kme', {
  doc: 'A planned or unplanned event about the host of a machine, and how KubeNode prepares for it.',
  spec,
  status,
  selectable: ['.spec.machine', '.status.phase'],
  columns: [
    text('Machine', '.spec.machine'),
    text('Kind', '.spec.kind'),
    PHASE,
    text('Not before', '.spec.notBefore'),
    text('Starts', '.status.startAt'),
    text('Waiting', '.status.waitingFor.predicate'),
    wide(text('Source', '.spec.source')),
    wide(text('Planned by', '.spec.plannedBy')),
    wide(text('Approved by', '.status.approvedBy')),
    wide(text('State', '.spec.state')),
    wide(text('Permit', '.status.permitRef')),
    wide(text('Description', '.spec.description')),
  ],
  conditions: ['Ready', 'Reconciling', 'Stalled'],
  example: {
    metadata: { name: 'reboot-2f8a11c09d3e4b57' },
    spec: {
      machine: 'prod-1-worker-0007',
      host: { id: 'metal://host-0007', rack: 'r12', zone: 'zone-a' },
      source: 'metal',
      eventId: 'evt-88213',
      kind: 'Reboot',
      state: 'Scheduled',
      notBefore: '2026-02-01T02:00:00Z',
      notAfter: '2026-02-01T04:00:00Z',
      initialNotBefore: '2026-02-01T02:00:00Z',
      answers: ['Start'],
      description: 'the host needs new firmware',
    },
  },
})

export type MaintenanceEvent = ObjectOf<typeof maintenanceEvent>
export type MaintenanceEventInput = InputOf<typeof maintenanceEvent>
export type MaintenanceSpec = SpecOf<typeof maintenanceEvent>
export type MaintenanceStatus = StatusOf<typeof maintenanceEvent>
