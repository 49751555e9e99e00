// What git declares stays unchanged: the controllers carry out sets and remediers, put their finalizers on them, and change nothing else. Roles cannot express
// that, since a finalizer is part of the object.
import { API_GROUP } from '#api/kind.ts'
import { all, isProgram, quoted, type AdmissionPolicy } from './policy.ts'

const DECLARED = ['machinesets', 'machinecomponentsets', 'componentcanaries', 'noderemediers']

const kept = (field: 'labels' | 'annotations' | 'ownerReferences', otherwise: string): string =>
  `object.metadata.?${field}.orValue(${otherwise}) == oldObject.metadata.?${field}.orValue(${otherwise})`

const finalizersOf = (object: 'object' | 'oldObject'): string => `${object}.metadata.?finalizers.orValue([])`
/** Of others, each is where it was. */
const finalizersKept = all(
  `${finalizersOf('object')}.all(f, f.startsWith(${quoted(`${API_GROUP}/`)}) || f in ${finalizersOf('oldObject')})`,
  `${finalizersOf('oldObject')}.all(f, f.startsWith(${quoted(`${API_GROUP}/`)}) || f in ${finalizersOf('object')})`,
)

const declaredByGit: AdmissionPolicy = {
  name: 'kubenode-sets',
  rules: [{ apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['UPDATE'], resources: DECLARED }],
  matchConditions: [{ name: 'the-controllers', expression: isProgram('controllers') }],
  variables: [],
  validations: [
    {
      expression: all(
        'object.?spec == oldObject.?spec',
        kept('labels', '{}'),
        kept('annotations', '{}'),
        kept('ownerReferences', '[]'),
        finalizersKept,
      ),
      message: `the controllers change nothing of ${DECLARED.join(', ')} but their status and finalizers of ${API_GROUP}`,
    },
  ],
}

export const setPolicies: readonly AdmissionPolicy[] = [declaredByGit]
