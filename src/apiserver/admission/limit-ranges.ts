// Sets default requests and limits of containers from the LimitRanges of their namespace. The bounds of a LimitRange are not enforced.
import type { KubeObject } from '#api/schema/object.ts'
import { fields, listAt, specOf, text, type Fields } from '../builtin/fields.ts'
import type { Store } from '../storage/store.ts'
import type { AdmissionLink } from './chain.ts'

const ANNOTATION = 'kubernetes.io/limit-ranger'

export function limitRanges(store: Store): AdmissionLink {
  return {
    // containers are never added to an existing pod
    mutate: ({ served, subresource, operation, namespace, object }) => {
      if (served.resource !== '/pods' || subresource !== '' || operation !== 'CREATE' || object === undefined)
        return object
      const ranges = store.collection('/limitranges')
      if (ranges.size === 0) return object
      return Array.from(ranges.list(namespace), (s) => s.value).reduce(withDefaults, object)
    },
  }
}

const LISTS = [
  ['containers', 'container'],
  ['initContainers', 'init container'],
] as const

function withDefaults(pod: KubeObject, range: KubeObject): KubeObject {
  const items = listAt(specOf(range), 'limits').filter((item) => item['type'] === 'Container')
  const limits: Fields = Object.assign({}, ...items.map((item) => fields(item['default'])))
  const requests: Fields = Object.assign({}, ...items.map((item) => fields(item['defaultRequest'])))
  const said: string[] = []
  const spec: Record<string, unknown> = { ...specOf(pod) }
  for (const [list, kind] of LISTS) {
    if (spec[list] === undefined) continue
    spec[list] = listAt(specOf(pod), list).map((container) => {
      const resources = fields(container['resources'])
      const name = `${kind} ${text(container['name'])}`
      const all = {
        ...resources,
        ...filled(resources, 'requests', {
          defaults: requests,
          say: (keys) => said.push(`${keys} request for ${name}`),
        }),
        ...filled(resources, 'limits', { defaults: limits, say: (keys) => said.push(`${keys} limit for ${name}`) }),
      }
      return { ...container, resources: all }
    })
  }
  if (said.length === 0) return pod
  const annotations = { ...pod.metadata.annotations, [ANNOTATION]: `LimitRanger plugin set: ${said.join('; ')}` }
  return { ...pod, metadata: { ...pod.metadata, annotations }, spec }
}

interface Filling {
  readonly defaults: Fields
  readonly say: (names: string) => void
}

function filled(resources: Fields, part: 'requests' | 'limits', { defaults, say }: Filling): Fields {
  const own = fields(resources[part])
  const missing = Object.keys(defaults)
    .filter((name) => !Object.hasOwn(own, name))
    .toSorted()
  if (missing.length === 0) return {}
  say(missing.join(', '))
  return { [part]: { ...own, ...Object.fromEntries(missing.map((name) => [name, defaults[name]])) } }
}
