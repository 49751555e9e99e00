// Which pods run on which node, and what those pods refer to: the graph by which a kubelet may read. Built when the first kubelet asks,
// then kept up to date by the changes of pods.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Store } from '../storage/store.ts'
import type { Stored } from '../storage/stored.ts'

const PODS = '/pods'
const EVERYTHING = { namespace: undefined, name: undefined }

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const list = (v: unknown): readonly Fields[] => (Array.isArray(v) ? v.filter(isObject) : [])
const word = (v: unknown): string => (typeof v === 'string' ? v : '')
const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }) => `${namespace}/${name}`

export const nodeNameOf = (pod: KubeObject | undefined): string => word(fields(pod?.['spec'])['nodeName'])

export class NodePods {
  readonly #store: Store
  #byNode: Map<string, Map<string, Stored>> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  has(node: string, namespace: string, name: string): boolean {
    return this.#podsOf(node)?.has(keyOf({ namespace, name })) === true
  }

  /** Whether a pod of the node refers to this object. */
  refer(node: string, resource: string, namespace: string, name: string): boolean {
    const wanted = `${resource}/${name}`
    for (const pod of this.#podsOf(node)?.values() ?? [])
      if (pod.namespace === namespace && referencesOf(pod.value).has(wanted)) return true
    return false
  }

  /** Whether a pod of the node uses the claim of this volume. */
  referToVolume(node: string, volume: string): boolean {
    const claim = fields(
      fields(this.#store.get({ resource: '/persistentvolumes', namespace: '', name: volume })?.value['spec'])[
        'claimRef'
      ],
    )
    const [namespace, name] = [word(claim['namespace']), word(claim['name'])]
    const bound = this.#store.get({ resource: '/persistentvolumeclaims', namespace, name })?.value
    return (
      word(fields(bound?.['spec'])['volumeName']) === volume &&
      this.refer(node, 'persistentvolumeclaims', namespace, name)
    )
  }

  #podsOf(node: string): ReadonlyMap<string, Stored> | undefined {
    this.#byNode ??= this.#build()
    return this.#byNode.get(node)
  }

  #build(): Map<string, Map<string, Stored>> {
    const byNode = new Map<string, Map<string, Stored>>()
    const add = (pod: Stored) => {
      const node = nodeNameOf(pod.value)
      if (node === '') return
      const pods = byNode.get(node) ?? new Map<string, Stored>()
      byNode.set(node, pods.set(keyOf(pod), pod))
    }
    const remove = (pod: Stored) => {
      const node = nodeNameOf(pod.value)
      const pods = byNode.get(node)
      if (pods?.delete(keyOf(pod)) === true && pods.size === 0) byNode.delete(node)
    }
    const pods = this.#store.collection(PODS)
    for (const pod of pods.list(undefined)) add(pod)
    pods.watch(EVERYTHING, ({ type, object, previous }) => {
      if (previous !== undefined) remove(previous)
      if (type !== 'DELETED') add(object)
    })
    return byNode
  }
}

/** `secrets/x`, `configmaps/y` …: everything that a kubelet reads in order to run the pod. */
export function referencesOf(pod: KubeObject): ReadonlySet<string> {
  const out = new Set<string>()
  const add = (resource: string, name: unknown) => {
    if (word(name) !== '') out.add(`${resource}/${word(name)}`)
  }
  const spec = fields(pod['spec'])
  add('serviceaccounts', spec['serviceAccountName'])
  for (const secret of list(spec['imagePullSecrets'])) add('secrets', secret['name'])
  for (const kind of ['containers', 'initContainers', 'ephemeralContainers'])
    for (const container of list(spec[kind])) addEnvironment(container, add)
  for (const volume of list(spec['volumes'])) addVolume(pod, volume, add)
  return out
}

type Add = (resource: string, name: unknown) => void

function addEnvironment(container: Fields, add: Add): void {
  for (const from of list(container['envFrom'])) {
    add('secrets', fields(from['secretRef'])['name'])
    add('configmaps', fields(from['configMapRef'])['name'])
  }
  for (const variable of list(container['env'])) {
    const from = fields(variable['valueFrom'])
    add('secrets', fields(from['secretKeyRef'])['name'])
    add('configmaps', fields(from['configMapKeyRef'])['name'])
  }
}

function addVolume(pod: KubeObject, volume: Fields, add: Add): void {
  add('configmaps', fields(volume['configMap'])['name'])
  add('persistentvolumeclaims', fields(volume['persistentVolumeClaim'])['claimName'])
  if (isObject(volume['ephemeral'])) add('persistentvolumeclaims', `${pod.metadata.name}-${word(volume['name'])}`)
  for (const source of list(fields(volume['projected'])['sources'])) {
    add('secrets', fields(source['secret'])['name'])
    add('configmaps', fields(source['configMap'])['name'])
  }
  // secret, azureFile, and the kinds of network storage that log in with a Secret of the pod's namespace
  for (const source of Object.values(volume).filter(isObject)) {
    add('secrets', source['secretName'])
    add('secrets', fields(source['secretRef'])['name'])
    add('secrets', fields(source['nodePublishSecretRef'])['name'])
  }
}
