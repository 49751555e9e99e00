// Who may ask for logs: a right of its own for each machine, since a person who may read Machines must not thereby read logs.
import { API_GROUP } from '#api/kind.ts'
import { quoted, type AdmissionPolicy } from './policy.ts'

const requests: AdmissionPolicy = {
  name: 'kubenode-logs',
  rules: [{ apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE'], resources: ['logrequests'] }],
  matchConditions: [],
  variables: [],
  validations: [
    { expression: 'object.spec.by == request.userInfo.username', message: 'spec.by must be the user that asks' },
    {
      expression: `authorizer.group(${quoted(API_GROUP)}).resource('machines').subresource('log').name(object.spec.machine).check('get').allowed()`,
      message: 'to ask for a log needs the right to get machines/log of the machine',
    },
  ],
}

export const logPolicies: readonly AdmissionPolicy[] = [requests]
