// The service account of a pod: a default when the pod names none, required to exist when the pod is created, its token and pull secrets
// in the pod. Pods that a kubelet made from files of its own may use none.
import { isObject, type JsonObject } from '#lib/json.ts'
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { generatedName } from '../meta/identity.ts'
import { forbidden } from '../status/refusal.ts'
import type { Store } from '../storage/store.ts'
import type { AdmissionLink, AdmissionRequest } from './chain.ts'
import { fields, listOfFields, word } from './compiled-policy.ts'

const DEFAULT_ACCOUNT = 'default'
const MIRROR = 'kubernetes.io/config.mirror'
const VOLUME_PREFIX = 'kube-api-access-'
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount'
/** An hour and seven seconds: by this lifetime such tokens are distinguished from tokens that a client requested. */
const TOKEN_SECONDS = 3607
const FILE_MODE = 0o644
/** The account of a new namespace appears shortly: retry as often, and at the same interval, as a real server. */
const LOOKS = 10
const LOOK_AGAIN_MS = 150

type Fields = Readonly<Record<string, unknown>>

export interface PodAccountParts {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
}

const isPod = ({ served, subresource, operation, object }: AdmissionRequest): boolean =>
  served.resource === '/pods' && subresource === '' && operation === 'CREATE' && object !== undefined

const isMirror = (pod: KubeObject): boolean => pod.metadata.annotations?.[MIRROR] !== undefined

export function podAccounts(parts: PodAccountParts): AdmissionLink {
  return {
    mutate: (request) => {
      const pod = request.object
      return pod === undefined || !isPod(request) || isMirror(pod) ? pod : withAccount(parts, request, pod)
    },
    validate: (request) => {
      if (!isPod(request) || request.object === undefined) return
      const why = isMirror(request.object) ? mirrorProblem(fields(request.object['spec'])) : undefined
      if (why !== undefined) throw refusal(request, why)
    },
  }
}

const refusal = ({ name }: AdmissionRequest, why: string) => forbidden({ group: '', plural: 'pods' }, name, why)

async function withAccount(parts: PodAccountParts, request: AdmissionRequest, pod: KubeObject): Promise<KubeObject> {
  const spec = fields(pod['spec'])
  const name = word(spec['serviceAccountName']) || DEFAULT_ACCOUNT
  const account = await findAccount(parts, request.namespace, name)
  if (account === undefined)
    throw refusal(
      request,
      `error looking up service account ${request.namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
    )
  const named = { ...spec, serviceAccountName: name, serviceAccount: name }
  const mounts = spec['automountServiceAccountToken'] ?? account['automountServiceAccountToken'] ?? true
  const mounted = mounts === true ? withToken(named, () => parts.random.next()) : named
  return { ...pod, spec: withPullSecrets(mounted, account) }
}

async function findAccount({ store, clock }: PodAccountParts, namespace: string, name: string) {
  const look = () => store.get({ resource: '/serviceaccounts', namespace, name })?.value
  const looks = name === DEFAULT_ACCOUNT ? LOOKS : 0
  for (let left = looks; left > 0 && look() === undefined; left--) await clock.sleep(LOOK_AGAIN_MS)
  return look()
}

function withPullSecrets(spec: Fields, account: KubeObject): Fields {
  const secrets = listOfFields(account['imagePullSecrets'])
  return secrets.length === 0 || listOfFields(spec['imagePullSecrets']).length > 0
    ? spec
    : { ...spec, imagePullSecrets: secrets }
}

const mountsToken = (container: Fields): boolean =>
  listOfFields(container['volumeMounts']).some((m) => m['mountPath'] === MOUNT_PATH)

/** When a container mounts a volume of its own at this path, the pod needs no token there. */
function withToken(spec: Fields, random: () => number): Fields {
  const volumes = listOfFields(spec['volumes'])
  const known = volumes.map((v) => word(v['name'])).find((name) => name.startsWith(VOLUME_PREFIX))
  const name = known ?? generatedName(VOLUME_PREFIX, random)
  const mount = { name, readOnly: true, mountPath: MOUNT_PATH }
  let isNeeded = false
  const mounted = (list: unknown): readonly Fields[] =>
    listOfFields(list).map((container) => {
      if (mountsToken(container)) return container
      isNeeded = true
      return { ...container, volumeMounts: [...listOfFields(container['volumeMounts']), mount] }
    })
  const containers = mounted(spec['containers'])
  const initContainers = spec['initContainers'] === undefined ? {} : { initContainers: mounted(spec['initContainers']) }
  const added = isNeeded && known === undefined ? { volumes: [...volumes, tokenVolume(name)] } : {}
  return { ...spec, ...initContainers, containers, ...added }
}

const tokenVolume = (name: string): JsonObject => ({
  name,
  projected: {
    sources: [
      { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
    defaultMode: FILE_MODE,
  },
})

/** A static pod on a kubelet may not refer to objects of the cluster. */
function mirrorProblem(spec: Fields): string | undefined {
  if (word(spec['serviceAccountName']) !== '') return 'a mirror pod may not reference service accounts'
  if (usesSecrets(spec)) return 'a mirror pod may not reference secrets'
  const projections = listOfFields(spec['volumes']).flatMap((v) => listOfFields(fields(v['projected'])['sources']))
  return projections.some((s) => s['serviceAccountToken'] !== undefined)
    ? 'a mirror pod may not use ServiceAccountToken volume projections'
    : undefined
}

function usesSecrets(spec: Fields): boolean {
  if (listOfFields(spec['imagePullSecrets']).length > 0) return true
  const volumes = listOfFields(spec['volumes'])
  const projections = volumes.flatMap((v) => listOfFields(fields(v['projected'])['sources']))
  const containers = [...listOfFields(spec['initContainers']), ...listOfFields(spec['containers'])]
  return (
    [...volumes, ...projections].some((v) => isObject(v['secret'])) ||
    containers.some(
      (c) =>
        listOfFields(c['envFrom']).some((e) => isObject(e['secretRef'])) ||
        listOfFields(c['env']).some((e) => isObject(fields(e['valueFrom'])['secretKeyRef'])),
    )
  )
}
