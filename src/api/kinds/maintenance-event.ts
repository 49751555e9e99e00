// MaintenanceEvent: a provider's planned or unplanned event about a host.
import { text } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'

const spec = s.unserved(
  s.rule(
    s.obj('What the provider announced.', {
      machine: f.objectName('The Machine on the affected host.'),
      kind: s.choice('The effect on the host.', ['Reboot', 'Redeploy', 'Freeze', 'Terminate', 'Degraded', 'Other']),
      planned: s.fallback(s.choice('Whether it was announced in advance.', ['Planned', 'Unplanned']), 'Planned'),
      notBefore: s.optional(s.time('Earliest start.')),
      notAfter: s.optional(s.time('Latest start.')),
      source: s.str('The provider and its ID of the event.', { min: 1, max: 253 }),
      description: s.optional(f.sentence('The description from the provider.', 1_024)),
      state: s.fallback(f.phase('Maintenance', 'The last reported state.'), 'Scheduled'),
    }),
    {
      cel: '!has(self.notBefore) || !has(self.notAfter) || self.notBefore <= self.notAfter',
      message: 'notBefore must not be after notAfter',
      fieldPath: '.notAfter',
      holds: (s) =>
        s.notBefore === undefined || s.notAfter === undefined || Date.parse(s.notBefore) <= Date.parse(s.notAfter),
    },
  ),
  'announcements of providers have no effect',
)

const status = f.status('The observed state of the event.', {
  job: s.optional(f.objectName('The RemedyOperationJob for the event.')),
  acknowledgedAt: s.optional(s.time('When the event was acknowledged to the provider.')),
})

export const maintenanceEvent = defineKind('MaintenanceEvent', 'kme', {
  doc: "A provider's planned or unplanned event about a host.",
  spec,
  status,
  selectable: ['.spec.machine', '.spec.state'],
  columns: [
    text('Machine', '.spec.machine'),
    text('Kind', '.spec.kind'),
    text('State', '.spec.state'),
    text('Not before', '.spec.notBefore'),
  ],
  example: {
    metadata: { name: 'host-0007-reboot' },
    spec: {
      machine: 'prod-1-worker-0007',
      kind: 'Reboot',
      notBefore: '2026-02-01T02:00:00Z',
      notAfter: '2026-02-01T04:00:00Z',
      source: 'metal/evt-88213',
      state: 'Scheduled',
    },
  },
})

export type MaintenanceEvent = ObjectOf<typeof maintenanceEvent>
export type MaintenanceEventInput = InputOf<typeof maintenanceEvent>
