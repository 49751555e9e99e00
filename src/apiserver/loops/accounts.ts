// The objects of every namespace in a cluster with a controller manager: the default service account of pods, and the
// certificate by which they know the server. Both are created again when deleted; the certificate is restored when changed.
import { timestamp } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { trustedBy } from '#lib/x509/server-keys.ts'
import type { ServerParts } from '../handlers/context.ts'
import { encodedAt, storeObject } from '../storage/internal-write.ts'
import type { Place } from '../storage/store.ts'

const DEFAULT = 'default'
const ROOT_CA = 'kube-root-ca.crt'
const ABOUT_ROOT_CA =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.'

export async function furnishNamespaces(parts: ServerParts): Promise<void> {
  const { store, credentials } = parts
  const data = { 'ca.crt': trustedBy(credentials) }
  for (const s of store.collection('/namespaces').snapshot()) {
    const account: Place = { resource: '/serviceaccounts', namespace: s.name, name: DEFAULT }
    const bundle: Place = { resource: '/configmaps', namespace: s.name, name: ROOT_CA }
    // the namespace is being deleted, or was deleted while this loop handled the others
    const isStaying = store.latest(s) !== undefined && store.latest(s)?.value.metadata.deletionTimestamp === undefined
    if (!isStaying) continue
    await make(parts, account, { kind: 'ServiceAccount', apiVersion: 'v1', metadata: {} })
    const annotations = { 'kubernetes.io/description': ABOUT_ROOT_CA }
    await make(parts, bundle, { kind: 'ConfigMap', apiVersion: 'v1', metadata: { annotations }, data })
    await storeObject(store, bundle, (o) => (hasCertificate(o, data['ca.crt']) ? o : { ...o, data }))
  }
}

const hasCertificate = (o: KubeObject, certificate: string): boolean =>
  isObject(o['data']) && o['data']['ca.crt'] === certificate

async function make({ store, clock, uid }: ServerParts, at: Place, object: KubeObject): Promise<void> {
  if (store.latest(at) !== undefined) return
  const { name, namespace } = at
  const metadata = { name, namespace, uid: uid(), creationTimestamp: timestamp(clock.now()), ...object.metadata }
  await store.put(at, undefined, encodedAt({ ...object, metadata }))
}
