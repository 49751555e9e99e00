// Keeps the namespaces without which a cluster does not work, also while the Defender cannot be reached: its webhook then lets namespaces pass, and a policy
// needs no network. Everything that the deletion guard counts stays with the guard.
import { ANNOTATIONS, KEPT_NAMESPACES } from '#api/names.ts'
import { any, quoted, valueOf, type AdmissionPolicy } from './policy.ts'

export const keptNamespaces: AdmissionPolicy = {
  name: 'kubenode-namespaces',
  rules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['DELETE'], resources: ['namespaces'] }],
  matchConditions: [],
  // By the object: a deletion of a collection names none.
  variables: [{ name: 'name', expression: 'oldObject == null ? request.name : oldObject.metadata.name' }],
  validations: [
    {
      expression: any(
        `!(variables.name in [${KEPT_NAMESPACES.map(quoted).join(', ')}])`,
        // Asking again deletes nothing more.
        'oldObject != null && has(oldObject.metadata.deletionTimestamp)',
        `${valueOf('oldObject', 'annotations', ANNOTATIONS.uninstalling)} == 'true'`,
      ),
      message: `the cluster does not live without this namespace; to delete it nevertheless, first annotate it with ${ANNOTATIONS.uninstalling}=true`,
    },
  ],
}
