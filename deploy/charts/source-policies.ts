// FleetSources, Releases and Clusters make sync act: read a Secret, write as itself, take over objects of another source. The author of one gains nothing that
// they could not do themselves, or were granted by name.
import { API_GROUP } from '#api/kind.ts'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { CLEANERS } from './lease-policies.ts'
import { REQUEST_NAMESPACE, all, any, isProgram, operations, quoted, type AdmissionPolicy } from './policy.ts'

const nameIn = (object: 'object' | 'oldObject', field: string): string => `${object}.?${field}.?name.orValue('')`
const secretOf = (object: 'object' | 'oldObject'): string => nameIn(object, 'spec.?secretRef')
const isSame = (field: string): string => `object.spec.?${field} == oldObject.spec.?${field}`

/** As syncSecretsNamespace of src/api/names.ts says. */
const secretsNamespace = `(${REQUEST_NAMESPACE} == ${quoted(SYSTEM_NAMESPACE)} ? ${quoted(CLUSTERS_NAMESPACE)} : ${REQUEST_NAMESPACE})`
const mayRead = (secret: string): string =>
  `authorizer.group('').resource('secrets').namespace(${secretsNamespace}).name(${secret}).check('get').allowed()`

/** Checked for the whole cluster: all rights in one namespace are not enough. */
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
        mayRead(secretOf('object')),
      ),
      message: 'who names the Secret of a FleetSource, or its url beside one, needs the right to read that Secret',
    },
    ...(['webhook', 'push'] as const).map((field) => ({
      expression: any(
        `${nameIn('object', `spec.?${field}.?secretRef`)} == ''`,
        all('oldObject != null', isSame(field), ...(field === 'push' ? [isSame('url')] : [])),
        mayRead(nameIn('object', `spec.?${field}.?secretRef`)),
      ),
      message: `who names the Secret of spec.${field} of a FleetSource needs the right to read that Secret`,
    })),
    {
      // Without it sync acts with its own rights: who says which repository, branch and folder it follows, past which stages and limits, acts as sync.
      expression: any(
        'has(object.spec.writes)',
        all('oldObject != null', 'object.spec == oldObject.spec'),
        isProgram('sync'),
        mayGoBeyond,
      ),
      message:
        'a FleetSource without spec.writes, and each change of its spec, needs the right to create fleetsources/unlimited in the whole cluster',
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

/**
 * A Release says which commit of a source sync applies, and how far it came: sync alone writes it, for all sources. It also holds what the next one is judged by, so
 * who deletes one could have it pass other gates.
 */
const releases: AdmissionPolicy = {
  name: 'kubenode-releases',
  rules: [
    {
      apiGroups: [API_GROUP],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      resources: ['releases', 'releases/status'],
    },
  ],
  matchConditions: [],
  variables: [],
  validations: [
    {
      expression: any(
        isProgram('sync'),
        all(operations('UPDATE'), 'object.spec == oldObject.spec', 'object.?status == oldObject.?status'),
        all(operations('DELETE'), `request.userInfo.username in [${CLEANERS.map(quoted).join(', ')}]`),
        mayGoBeyond,
      ),
      message:
        'Releases are written and deleted by sync; another writer needs the right to create fleetsources/unlimited in the whole cluster',
    },
  ],
}

/** Sync sends what it applies, and the credentials of the Secret, to the server that the Secret names. */
const namesKubeconfig = (field: string): string =>
  any(
    `${nameIn('object', field)} == ''`,
    all('oldObject != null', `object.?${field} == oldObject.?${field}`),
    mayRead(nameIn('object', field)),
  )

const clusters: AdmissionPolicy = {
  name: 'kubenode-clusters',
  rules: [
    {
      apiGroups: [API_GROUP],
      apiVersions: ['*'],
      operations: ['CREATE', 'UPDATE'],
      resources: ['clusters', 'clusters/status'],
    },
  ],
  matchConditions: [],
  variables: [],
  validations: ['spec.?kubeconfigSecretRef', 'status.?kubeconfigSecret'].map((field) => ({
    expression: namesKubeconfig(field),
    message: 'who names the kubeconfig of a Cluster needs the right to read that Secret',
  })),
}

export const sourcePolicies: readonly AdmissionPolicy[] = [sources, releases, clusters]
