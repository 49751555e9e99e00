// A FleetSource makes sync act: read a Secret, write as itself, take over what another source wrote. Who writes one gets none of it that they could not do
// themselves, or were given by name.
import { API_GROUP } from '#api/kind.ts'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { all, any, isProgram, quoted, type AdmissionPolicy } from './policy.ts'

const secretOf = (object: 'object' | 'oldObject'): string => `${object}.spec.?secretRef.?name.orValue('')`
const isSame = (field: string): string => `object.spec.?${field} == oldObject.spec.?${field}`

/** As syncSecretsNamespace of src/api/names.ts says. */
const secretsNamespace = `(request.namespace == ${quoted(SYSTEM_NAMESPACE)} ? ${quoted(CLUSTERS_NAMESPACE)} : request.namespace)`
const mayReadSecret = `authorizer.group('').resource('secrets').namespace(${secretsNamespace}).name(${secretOf('object')}).check('get').allowed()`

/** Asked for the whole cluster: all rights in one namespace do not hold it. */
const mayGoBeyond = `authorizer.group(${quoted(API_GROUP)}).resource('fleetsources').subresource('unlimited').check('create').allowed()`

const sources: AdmissionPolicy = {
  name: 'kubenode-sources',
  rules: [
    { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['fleetsources'] },
  ],
  matchConditions: [],
  variables: [],
  validations: [
    {
      // Sync shows it to whatever address the source names.
      expression: any(
        `${secretOf('object')} == ''`,
        all('oldObject != null', isSame('secretRef'), isSame('url')),
        mayReadSecret,
      ),
      message: 'who names the Secret of a FleetSource, or its url beside one, needs the right to read that Secret',
    },
    {
      // Without it sync acts with its own rights.
      expression: any(
        'has(object.spec.writes)',
        all('oldObject != null', '!has(oldObject.spec.writes)'),
        isProgram('sync'),
        mayGoBeyond,
      ),
      message:
        'a FleetSource without spec.writes needs the right to create fleetsources/unlimited in the whole cluster',
    },
    {
      expression: any(
        'object.spec.?replaces.orValue([]).size() == 0',
        all('oldObject != null', isSame('replaces')),
        isProgram('sync'),
        mayGoBeyond,
      ),
      message: 'spec.replaces of a FleetSource needs the right to create fleetsources/unlimited in the whole cluster',
    },
  ],
}

export const sourcePolicies: readonly AdmissionPolicy[] = [sources]
