// All groups, versions and resources in one document, with an ETag so that a client with the current one gets a 304.
import { createHash } from 'node:crypto'
import { encodeJson } from '../codec/json.ts'
import type { Answer } from '../handlers/context.ts'
import type { Registry } from '../registry/registry.ts'
import type { Served } from '../registry/served.ts'
import { resourceEntries, servedIn, sortedGroups } from './documents.ts'

const TYPE = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

interface Kept {
  readonly generation: number
  readonly body: Buffer
  readonly tag: string
}

/** The documents of a registry, for /api and /apis, until it changes. */
const kept = new WeakMap<Registry, Map<boolean, Kept>>()

function documentOf(registry: Registry, core: boolean): Kept {
  const documents = kept.get(registry) ?? new Map<boolean, Kept>()
  kept.set(registry, documents)
  const known = documents.get(core)
  if (known?.generation === registry.generation) return known
  const body = encodeJson(aggregated(registry, core))
  const tag = `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"`
  const made: Kept = { generation: registry.generation, body, tag }
  documents.set(core, made)
  return made
}

/** `known` is the client's ETag. As on a kube-apiserver, only an exact match counts: no list, no star. */
export function aggregatedDiscovery(registry: Registry, core: boolean, known: string | undefined): Answer {
  const { body, tag } = documentOf(registry, core)
  const headers = { etag: tag, vary: 'Accept', 'cache-control': 'public' }
  return known === tag ? { code: 304, body: undefined, headers } : { code: 200, body, type: TYPE, headers }
}

/** /api or /apis in one document. */
function aggregated(registry: Registry, core: boolean): unknown {
  const groups = core ? [''] : sortedGroups(registry)
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups.map((g) => ({
      metadata: { ...(g === '' ? {} : { name: g }), creationTimestamp: null },
      versions: registry.versions(g).map((version) => ({
        version,
        resources: servedIn(registry, g, version).map(aggregatedResource),
        freshness: 'Current',
      })),
    })),
  }
}

function aggregatedResource(s: Served): unknown {
  const { group, version, kind, plural, namespaced } = s.type
  const [main, ...subs] = resourceEntries(s)
  return {
    resource: plural,
    responseKind: { group, version, kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: s.singular,
    verbs: main?.verbs,
    ...(s.shortNames.length === 0 ? {} : { shortNames: s.shortNames }),
    ...(s.categories.length === 0 ? {} : { categories: s.categories }),
    ...(subs.length === 0
      ? {}
      : {
          subresources: subs.map((e) => ({
            subresource: e.name.slice(plural.length + 1),
            responseKind: { group: e['group'] ?? group, version: e['version'] ?? version, kind: e.kind },
            verbs: e.verbs,
          })),
        }),
  }
}
