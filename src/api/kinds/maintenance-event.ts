// MaintenanceEvent: a provider's planned or unplanned event about a host.
import { choice, fallback, obj, optional, rule, str, time } from '../build.ts'
import { conditions, objectName, observedGeneration, phase, sentence } from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'

const spec = rule(
  obj('What the provider announced.', {
    machine: objectName('The Machine whose host it is about.'),
    kind: choice('What will happen to the host.', ['Reboot', 'Redeploy', 'Freeze', 'Terminate', 'Degraded', 'Other']),
    planned: fallback(choice('Whether it was announced before.', ['Planned', 'Unplanned']), 'Planned'),
    notBefore: optional(time('It will not begin before this.')),
    notAfter: optional(time('It will have begun by this.')),
    source: str('The provider, and its name for the event.', { min: 1, max: 253 }),
    description: optional(sentence('What the provider says.', 1_024)),
    state: fallback(phase('Maintenance', 'What the provider last said.'), 'Scheduled'),
  }),
  {
    cel: '!has(self.notBefore) || !has(self.notAfter) || self.notBefore <= self.notAfter',
    message: 'notBefore must not be after notAfter',
    fieldPath: '.notAfter',
    holds: (s) =>
      s.notBefore === undefined || s.notAfter === undefined || Date.parse(s.notBefore) <= Date.parse(s.notAfter),
  },
)

const status = obj('What is done about it.', {
  observedGeneration: optional(observedGeneration()),
  job: optional(objectName('The RemedyOperationJob that was made.')),
  acknowledgedAt: optional(time('When the provider was told to go ahead.')),
  conditions: optional(conditions()),
})

export const maintenanceEvent = defineKind({
  kind: 'MaintenanceEvent',
  plural: 'maintenanceevents',
  shortNames: ['kme'],
  namespaced: false,
  doc: "A provider's planned or unplanned event about a host.",
  spec,
  status,
  selectable: ['.spec.machine', '.spec.state'],
  columns: [
    { name: 'Machine', type: 'string', jsonPath: '.spec.machine' },
    { name: 'Kind', type: 'string', jsonPath: '.spec.kind' },
    { name: 'State', type: 'string', jsonPath: '.spec.state' },
    { name: 'Not before', type: 'string', jsonPath: '.spec.notBefore' },
    { name: 'Job', type: 'string', jsonPath: '.status.job', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  conditions: ['Ready', 'Reconciling'],
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
