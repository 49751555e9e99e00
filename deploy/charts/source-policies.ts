// FleetSources, Releases and Clusters make sync act: read a Secret, write as itself, take over objects of another source. The author of one gains nothing that
// they could not do themselves, or were granted by name.
import { API_GROUP } from '#api/kind.ts'
import { MAX_NOTIFY_TARGETS, NOTIFY_KINDS } from '#api/kinds/notify.ts'
import { CLUSTERS_NAMESPACE, DECLARE_VERB, SYSTEM_NAMESPACE } from '#api/names.ts'
import { CLEANERS } from './lease-policies.ts'
import { REQUEST_NAMESPACE, all, any, isProgram, operations, quoted, type AdmissionPolicy } from './policy.ts'

const nameIn = (object: 'object' | 'oldObject', field: string): string => `${object}.?${field}.?name.orValue('')`
const isSame = (...fields: readonly string[]): string =>
  all('oldObject != null', ...fields.map((field) => `object.spec.?${field} == oldObject.spec.?${field}`))

/** As syncSecretsNamespace of src/api/names.ts says. */
const secretsNamespace = `(${REQUEST_NAMESPACE} == ${quoted(SYSTEM_NAMESPACE)} ? ${quoted(CLUSTERS_NAMESPACE)} : ${REQUEST_NAMESPACE})`
const asked = (group: string, secret: string, verb: string): string =>
  `authorizer.group(${quoted(group)}).resource('secrets').namespace(${secretsNamespace}).name(${secret}).check(${quoted(verb)}).allowed()`
const mayRead = (secret: string): string => asked('', secret, 'get')

/** Sync reads all that a FleetSource may name. So what it writes for a commit takes the list of the installer, as for the Secrets of workloads. */
const mayName = (secret: string): string =>
  `${isProgram('sync')} ? ${asked(API_GROUP, secret, DECLARE_VERB)} : ${mayRead(secret)}`

/** Checked for the whole cluster: all rights in one namespace are not enough. */
const mayGoBeyond = `authorizer.group(${quoted(API_GROUP)}).resource('fleetsources').subresource('unlimited').check('create').allowed()`

interface NamedSecret {
  /** Its name, or nothing. */
  readonly name: string
  /** Where it is used or shown. A change of one of these counts as naming the Secret. */
  readonly beside: readonly string[]
  readonly what: string
}

const inField = (field: string, ...beside: readonly string[]): NamedSecret => ({
  name: nameIn('object', `spec.?${field}.?secretRef`),
  beside: [field, ...beside],
  what: `who names the Secret of spec.${field} of a FleetSource`,
})

/** An expression asks the authorizer about one: each question costs a third of what it may cost. */
const ofTarget = (at: number): NamedSecret => {
  const targets = `object.spec.?notify.orValue([])`
  const kinds = NOTIFY_KINDS.map((kind) => `${targets}[${at}].?${kind}.?secretRef.?name.orValue('')`)
  return {
    name: `(${targets}.size() > ${at} ? ${kinds.join(' + ')} : '')`,
    beside: ['notify'],
    what: 'who names the Secret of spec.notify of a FleetSource',
  }
}

const SECRETS: readonly NamedSecret[] = [
  {
    name: nameIn('object', 'spec.?secretRef'),
    // Sync shows it to whatever address the source names, and a part of it to the proxy.
    beside: ['secretRef', 'url', 'proxy'],
    what: 'who names the Secret of a FleetSource, or its url or proxy beside one,',
  },
  inField('webhook'),
  inField('push', 'url', 'proxy'),
  inField('decryption', 'url'),
  ...Array.from({ length: MAX_NOTIFY_TARGETS }, (_, at) => ofTarget(at)),
]

const sources: AdmissionPolicy = {
  name: 'kubenode-sources',
  rules: [
    { apiGroups: [API_GROUP], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['fleetsources'] },
  ],
  matchConditions: [],
  variables: [],
  validations: [
    ...SECRETS.map(({ name, beside, what }) => ({
      expression: any(`${name} == ''`, isSame(...beside), mayName(name)),
      message: `${what} needs the right to read that Secret; a commit names no Secret that is not on the list of the installer, see docs/operations/security.md`,
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
        isSame('replaces'),
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
