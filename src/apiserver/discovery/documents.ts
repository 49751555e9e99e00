// Discovery for clients: the groups, versions and resources of the server, a document for each.
import { apiVersionOf } from '#api/schema/resource.ts'
import type { Registry } from '../registry/registry.ts'
import type { Served } from '../registry/served.ts'

interface ResourceEntry {
  readonly name: string
  readonly singularName: string
  readonly namespaced: boolean
  readonly kind: string
  readonly verbs: readonly string[]
  readonly [field: string]: unknown
}

/** The kind and group that a subresource speaks, where it is not that of its parent. */
const SPOKEN: Readonly<
  Record<string, { readonly group?: string; readonly version?: string; readonly kind: string } | undefined>
> = {
  scale: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
  eviction: { group: 'policy', version: 'v1', kind: 'Eviction' },
  binding: { kind: 'Binding' },
  token: { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
}
const SUB_VERBS: Readonly<Record<string, readonly string[] | undefined>> = {
  eviction: ['create'],
  binding: ['create'],
  token: ['create'],
  log: ['get'],
  finalize: ['update'],
  approval: ['get', 'patch', 'update'],
}
const SUB_DEFAULT: readonly string[] = ['get', 'patch', 'update']

/** A real server lists them in this order, and the subresources of custom resources as they are declared: status, then scale. */
const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']
/** While their definition is being deleted. */
const TERMINATING_VERBS = ['delete', 'deletecollection', 'get', 'list', 'watch']
const byName = (a: string, b: string): number => (a < b ? -1 : 1)

export function resourceEntries(s: Served): readonly ResourceEntry[] {
  const { plural, kind, namespaced } = s.type
  const main: ResourceEntry = {
    name: plural,
    singularName: s.singular,
    namespaced,
    kind,
    verbs: s.terminating ? TERMINATING_VERBS : s.custom ? CUSTOM_VERBS : [...s.verbs].sort(),
    ...(s.shortNames.length === 0 ? {} : { shortNames: s.shortNames }),
    ...(s.categories.length === 0 ? {} : { categories: s.categories }),
  }
  const subs = [...s.subresources].sort(s.custom ? () => 0 : byName).map((sub): ResourceEntry => {
    const spoken = SPOKEN[sub]
    return {
      name: `${plural}/${sub}`,
      singularName: '',
      namespaced,
      ...(spoken?.group === undefined ? {} : { group: spoken.group, version: spoken.version }),
      kind: spoken?.kind ?? kind,
      verbs: SUB_VERBS[sub] ?? SUB_DEFAULT,
    }
  })
  return [main, ...subs]
}

export const servedIn = (registry: Registry, group: string, version: string): readonly Served[] =>
  registry
    .all()
    .filter((s) => s.type.group === group && s.type.version === version)
    .sort((a, b) => (a.type.plural < b.type.plural ? -1 : 1))

/** /api/v1, /apis/apps/v1; undefined when there is no such version. */
export function resourceList(registry: Registry, group: string, version: string): unknown {
  const served = servedIn(registry, group, version)
  const [first] = served
  if (first === undefined) return undefined
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: apiVersionOf(first.type),
    resources: served.flatMap(resourceEntries),
  }
}

function groupDocument(registry: Registry, group: string) {
  const versions = registry.versions(group).map((version) => ({ groupVersion: `${group}/${version}`, version }))
  return { name: group, versions, preferredVersion: versions[0] }
}

/** /apis/apps; undefined when there is no such group. */
export const apiGroup = (registry: Registry, group: string): unknown =>
  registry.hasGroup(group) ? { kind: 'APIGroup', apiVersion: 'v1', ...groupDocument(registry, group) } : undefined

/** Groups of Kubernetes first, in the familiar order, then the others. */
const KNOWN = [
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
]

export function sortedGroups(registry: Registry): readonly string[] {
  const rank = (g: string) => {
    const i = KNOWN.indexOf(g)
    return i < 0 ? KNOWN.length : i
  }
  return registry
    .groups()
    .filter((g) => g !== '')
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
}

export const groupList = (registry: Registry): unknown => ({
  kind: 'APIGroupList',
  apiVersion: 'v1',
  groups: sortedGroups(registry).map((g) => groupDocument(registry, g)),
})

export const coreVersions = (host: string): unknown => ({
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: host }],
})

/** What this server is: the API of this version, with the parts that KubeNode and its tests use. */
export const OWN_VERSION = '1.36.0'

/** `version` may be an older one: what depends on the version of a server is then judged as at a server of that version, and the API is the same. */
export function versionDocument(version: string) {
  const [major = '1', minor = '0'] = version.split('.')
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: `v${version}+kubenode`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: 'none',
    compiler: 'none',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  }
}
