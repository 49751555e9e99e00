// Who writes about work on hosts: the life cycle and what providers say belong to the host doctor; people plan, end and cancel their own. A forged event would
// keep repairs away from a machine, and a forged end would give a node back that is being worked on.
import { API_GROUP } from '#api/kind.ts'
import { PEOPLE } from '#api/kinds/maintenance-event.ts'
import { all, any, isInstaller, isProgram, operations, quoted, type AdmissionPolicy } from './policy.ts'

const isOfPeople = (object: 'object' | 'oldObject'): string => `${object}.spec.source == ${quoted(PEOPLE)}`

const isCaller = (value: string): string => `${value} == request.userInfo.username`
const fieldOf = (object: 'object' | 'oldObject', field: string): string => `${object}.spec.?${field}.orValue('')`
const isKept = (field: string): string => `${fieldOf('object', field)} == ${fieldOf('oldObject', field)}`

/** The users who plan and end work are named in events and on drained nodes, so the names must be theirs. */
const SIGNED = [
  {
    expression: any(
      `!(${operations('CREATE')})`,
      all(isCaller(fieldOf('object', 'plannedBy')), `${fieldOf('object', 'endedBy')} == ''`),
    ),
    message: 'spec.plannedBy must be who plans the work; to plan it, run kubenode maintenance plan',
  },
  {
    expression: any(`!(${operations('UPDATE')})`, isKept('plannedBy')),
    message: 'spec.plannedBy is who planned the work, and does not change',
  },
  {
    expression: any(
      `!(${operations('UPDATE')})`,
      all('object.spec.state == oldObject.spec.state', isKept('endedBy')),
      all(`object.spec.state != ${quoted('Scheduled')}`, isCaller(fieldOf('object', 'endedBy'))),
    ),
    message: 'spec.endedBy must be who ends the work; to end it, run kubenode maintenance done or cancel',
  },
] as const

const events: AdmissionPolicy = {
  name: 'kubenode-maintenance',
  rules: [
    {
      apiGroups: [API_GROUP],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      resources: ['maintenanceevents'],
    },
  ],
  matchConditions: [{ name: 'not-the-host-doctor', expression: `!(${isProgram('controllers')})` }],
  variables: [],
  validations: [
    {
      expression: any(
        all(operations('CREATE'), isOfPeople('object')),
        all(operations('UPDATE'), isOfPeople('oldObject'), isOfPeople('object')),
        all(operations('DELETE'), any(isOfPeople('oldObject'), isInstaller)),
      ),
      message: 'people write events with source People only; to plan one, run kubenode maintenance plan',
    },
    ...SIGNED,
  ],
}

const lifeCycle: AdmissionPolicy = {
  name: 'kubenode-maintenance-status',
  rules: [
    { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['UPDATE'], resources: ['maintenanceevents/status'] },
  ],
  matchConditions: [],
  variables: [],
  validations: [
    {
      expression: isProgram('controllers'),
      message:
        'the life cycle of a MaintenanceEvent belongs to the host doctor; run kubenode maintenance done or cancel',
    },
  ],
}

export const maintenancePolicies: readonly AdmissionPolicy[] = [events, lifeCycle]
