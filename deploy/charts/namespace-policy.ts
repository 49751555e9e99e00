// Keeps the namespaces without which a cluster does not work and our definitions, also while the Defender cannot be reached: its webhook then lets namespaces pass, and a policy
// needs no network. Everything that the deletion guard counts stays with the guard.
import { API_GROUP } from '#api/kind.ts'
import { ANNOTATIONS, KEPT_NAMESPACES } from '#api/names.ts'
import { any, part, quoted, valueOf, type AdmissionPolicy } from './policy.ts'

export const keptNamespaces: AdmissionPolicy = {
  name: 'kubenode-namespaces',
  rules: [{ apiGroups: [''], apiVersions: ['*'], operations: ['DELETE'], resources: ['namespaces'] }],
  matchConditions: [],
  // By the object: a deletion of a collection names none.
  variables: [{ name: 'name', expression: `oldObject == null ? ${part('name')} : oldObject.metadata.name` }],
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

/** A file that is deleted as a whole would otherwise delete objects whose finalizers no program removes any more: such a deletion never ends. */
export const keptDefinitions: AdmissionPolicy = {
  name: 'kubenode-definitions',
  rules: [
    {
      apiGroups: ['apiextensions.k8s.io'],
      apiVersions: ['*'],
      operations: ['DELETE'],
      resources: ['customresourcedefinitions'],
    },
  ],
  matchConditions: [
    { name: 'of-kubenode', expression: `oldObject != null && oldObject.spec.group == ${quoted(API_GROUP)}` },
  ],
  variables: [],
  validations: [
    {
      expression: any(
        'has(oldObject.metadata.deletionTimestamp)',
        `${valueOf('oldObject', 'annotations', ANNOTATIONS.uninstalling)} == 'true'`,
      ),
      message: `with a definition all its objects are deleted; use kubenode uninstall --delete-crds, or first annotate it with ${ANNOTATIONS.uninstalling}=true`,
    },
  ],
}
