// Which objects of a commit only a cluster's installer can allow, and what must be listed for each: objects in system namespaces, workloads that use a
// service account or Secrets, and anything with a node's power. Pure; admission policy kubenode-declared enforces the same.
import { API_GROUP } from '#api/kind.ts'
import { NOTIFY_KINDS } from '#api/kinds/notify.ts'
import { DECLARE_HOST_VERB, DECLARE_VERB, DEFAULT_NAMESPACE, isInTrustZone, syncSecretsNamespace } from '#api/names.ts'
import { POD_PATHS } from '#api/ordinary-pods.ts'
import { pluralOf } from '#lib/plural.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { groupOf } from '#api/schema/resource.ts'
import { fieldAt, listOf } from '#lib/fields.ts'
import { accountsOf, claimPowers, powerFields, secretsOf, texts } from './pod-powers.ts'

/** What the installer must list, as a right in KubeNode's API group. */
export interface Listing {
  readonly verb: string
  /** `daemonsets`, or `daemonsets/<account>`. */
  readonly resource: string
  readonly namespace: string
  readonly name: string
  /** Why it needs a listing. */
  readonly why: string
}

const PLURALS: Readonly<Record<string, string>> = {
  'apps/Deployment': 'deployments',
  'apps/StatefulSet': 'statefulsets',
  'apps/DaemonSet': 'daemonsets',
  'apps/ReplicaSet': 'replicasets',
  'batch/Job': 'jobs',
  'batch/CronJob': 'cronjobs',
  'discovery.k8s.io/EndpointSlice': 'endpointslices',
  '/ReplicationController': 'replicationcontrollers',
  '/Pod': 'pods',
  '/PodTemplate': 'podtemplates',
  '/ConfigMap': 'configmaps',
  '/Endpoints': 'endpoints',
  '/Service': 'services',
  '/ServiceAccount': 'serviceaccounts',
}

/** Not even the installer may list such a namespace. */
export const isNamespaceNeverDeclared = (name: string): boolean => name === DEFAULT_NAMESPACE || isInTrustZone(name)

/** Objects that decide where traffic is routed and which servers clients trust, in any namespace. */
function whyReserved(plural: string, namespace: string, name: string): string | undefined {
  if (isInTrustZone(namespace)) return `${namespace} is a system namespace`
  if (plural === 'services' && namespace === DEFAULT_NAMESPACE && name === 'kubernetes')
    return 'it is the address of the API server'
  if (plural === 'configmaps' && name === 'kube-root-ca.crt') return 'pods trust the authority in it'
  if (plural === 'endpoints' || plural === 'endpointslices') return 'it decides where the traffic of a Service goes'
  return undefined
}

/** Other programs' annotations give an account an identity outside the cluster. */
const isForeign = (annotation: string): boolean => !annotation.startsWith(`${API_GROUP}/`)

function whyOfTheHost(object: KubeObject, plural: string, namespace: string): string | undefined {
  if (plural === 'services') {
    if (listOf(fieldAt(object, 'spec', 'externalIPs')).length > 0) return 'externalIPs take over the traffic of others'
    const [type = 'ClusterIP'] = texts([fieldAt(object, 'spec', 'type')])
    const isOpen = isInTrustZone(namespace) && type !== 'ClusterIP'
    return isOpen ? `it opens ${namespace} to the outside (${type})` : undefined
  }
  const path = POD_PATHS[plural]
  if (path === undefined) return undefined
  const claims = listOf(fieldAt(object, 'spec', 'volumeClaimTemplates')).flatMap(claimPowers)
  const [field] = [...powerFields(fieldAt(object, ...path)), ...claims]
  return field === undefined ? undefined : `its pods use ${field}, which gives them power over their node`
}

/** In such a namespace every kind counts, except KubeNode objects, which have their own rights. */
const reservedPlural = ({ apiVersion, kind, metadata: { namespace = '' } }: KubeObject): string | undefined =>
  isInTrustZone(namespace) && groupOf(apiVersion) !== API_GROUP ? pluralOf(kind.toLowerCase()) : undefined

/** Empty for objects that a commit may declare without a listing. */
export function listingsOf(object: KubeObject): readonly Listing[] {
  const { namespace = '', name = '' } = object.metadata
  const plural = PLURALS[`${groupOf(object.apiVersion)}/${object.kind}`] ?? reservedPlural(object)
  if (plural === undefined) return []
  const path = POD_PATHS[plural]
  const pod = path === undefined ? undefined : fieldAt(object, ...path, 'spec')
  const listing = (resource: string, why: string, verb = DECLARE_VERB, of = name): Listing => ({
    verb,
    resource,
    namespace,
    name: of,
    why,
  })
  const isAccount = plural === 'serviceaccounts'
  const foreign = isAccount ? Object.keys(object.metadata.annotations ?? {}).find(isForeign) : undefined
  const base =
    whyReserved(plural, namespace, name) ??
    (foreign === undefined ? undefined : `annotation ${foreign} may be an identity outside of the cluster`)
  const accounts = accountsOf(pod)
  const host = whyOfTheHost(object, plural, namespace)
  const ofAccount = isAccount ? ['secrets', 'imagePullSecrets'].flatMap((f) => listOf(fieldAt(object, f))) : []
  const secrets = [...secretsOf(pod), ...texts(ofAccount.map((s) => fieldAt(s, 'name')))]
  return [
    ...accounts.map((account) => listing(`${plural}/${account}`, `it names service account ${account}`)),
    ...(base === undefined || accounts.length > 0 ? [] : [listing(plural, base)]),
    ...(host === undefined ? [] : [listing(plural, host, DECLARE_HOST_VERB)]),
    ...secrets.map((secret) => listing('secrets', `it uses Secret ${secret}`, DECLARE_VERB, secret)),
  ]
}

/**
 * sync would send the Secret to the address next to it. Policy kubenode-sources checks only when the Secret or the address is new: one that a user set
 * stays.
 */
export function listingsOfSource(object: KubeObject): readonly Listing[] {
  if (object.kind !== 'FleetSource' || groupOf(object.apiVersion) !== API_GROUP) return []
  const { namespace = '' } = object.metadata
  const named = [
    ...['', 'webhook', 'push', 'decryption'].map((field) => fieldAt(object, 'spec', ...(field === '' ? [] : [field]))),
    ...listOf(fieldAt(object, 'spec', 'notify')).flatMap((target) => NOTIFY_KINDS.map((kind) => fieldAt(target, kind))),
  ]
  return [...new Set(texts(named.map((each) => fieldAt(each, 'secretRef', 'name'))))].map((name) => ({
    verb: DECLARE_VERB,
    resource: 'secrets',
    namespace: syncSecretsNamespace(namespace),
    name,
    why: `it names Secret ${name}`,
  }))
}
