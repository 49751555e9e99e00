// Only the machine controller orders an agent to leave its host, after a permit. A backup that is restored with the order in it is refused.
import { API_GROUP } from '#api/kind.ts'
import { isProgram, type AdmissionPolicy } from './policy.ts'

const orders: AdmissionPolicy = {
  name: 'kubenode-leaving',
  rules: [{ apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['machines'] }],
  matchConditions: [
    {
      name: 'the-order-changes',
      expression:
        'object.?spec.?leaving.orValue(false) != (oldObject == null ? false : oldObject.?spec.?leaving.orValue(false))',
    },
  ],
  variables: [],
  validations: [
    {
      expression: isProgram('controllers'),
      message: 'only the machine controller writes spec.leaving; delete the Machine, or set its channel to Observe',
    },
  ],
}

export const leavingPolicies: readonly AdmissionPolicy[] = [orders]
