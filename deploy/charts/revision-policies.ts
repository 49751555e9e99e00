// Restricts who writes the records of sets and remediers: which version was healthy, which failed, which rule was the last good one. A planted record would let
// a rollout skip rates and steps as a way back, or make a rule of the attacker the active one. Readers check that a record is named by its content and owned by
// their object.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { WORKLOAD_CONTROLLERS } from './account-policies.ts'
import { any, isInstaller, isProgram, quoted, type AdmissionPolicy } from './policy.ts'

/** Delete what lost its owner or its namespace, and take the names of owners off what stays. */
const COLLECTORS = [
  'system:serviceaccount:kube-system:generic-garbage-collector',
  'system:serviceaccount:kube-system:namespace-controller',
]

const revisions: AdmissionPolicy = {
  name: 'kubenode-revisions',
  rules: [
    {
      apiGroups: ['apps'],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      resources: ['controllerrevisions'],
    },
  ],
  namespaces: [SYSTEM_NAMESPACE],
  matchConditions: [],
  variables: [],
  validations: [
    {
      expression: any(
        isProgram('controllers'),
        `request.userInfo.username in [${[...WORKLOAD_CONTROLLERS, ...COLLECTORS].map(quoted).join(', ')}]`,
        isInstaller,
      ),
      message: `ControllerRevisions of namespace ${SYSTEM_NAMESPACE} are what sets and remediers remember: only the controllers write them`,
    },
  ],
}

export const revisionPolicies: readonly AdmissionPolicy[] = [revisions]
