// The attacker has the key of sync on the hub, or writes a commit: what can be run in the namespace where commits are rendered.
import { RENDER_NAMESPACE, sourceUser } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { jobOf, partsOfInput } from '#sync/render/job/job-spec.ts'
import {
  type Attempt,
  type AttackWorld,
  type Identities,
  tryOnServers,
  type Who,
} from '#test/support/worlds/attack-world.ts'
import { asHub } from '#test/support/worlds/hub-world.ts'

const [JOBS, PODS, CONFIG_MAPS] = [
  `/apis/batch/v1/namespaces/${RENDER_NAMESPACE}/jobs`,
  `/api/v1/namespaces/${RENDER_NAMESPACE}/pods`,
  `/api/v1/namespaces/${RENDER_NAMESPACE}/configmaps`,
]
const IMAGE = `registry.example.org/kubenode@sha256:${'a'.repeat(64)}`

const by =
  (who: (ids: Identities) => Who, method: string, path: string, body?: unknown) => async (world: AttackWorld) => {
    await asHub(world)
    return world.ask(who(world.who), method, path, body === undefined ? {} : { body })
  }
const sync = (ids: Identities): Who => ids.sync
const source = (): Who => ({ user: sourceUser('shop', 'shop'), groups: ['system:authenticated'] })

let runs = 0
const job = (): KubeObject => jobOf({ run: `r${runs++}`, image: IMAGE, parts: 2, deadlineMs: 30_000 })
type Fields = Record<string, unknown>
const at = (object: unknown, ...path: readonly (string | number)[]): Fields =>
  path.reduce<unknown>((o, key) => (o as Fields)[key], object) as Fields
const POD = ['spec', 'template', 'spec'] as const
const CONTAINER = [...POD, 'containers', 0] as const

/** The Job of a render with one change. */
function changed(change: (job: KubeObject) => void): KubeObject {
  const object = structuredClone(job())
  change(object)
  return object
}
const posting = (object: KubeObject) => by(sync, 'POST', JOBS, object)
const ordinary = by(sync, 'POST', JOBS, job())

const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'u' }
const CHANGES: readonly (readonly [string, (job: KubeObject) => void])[] = [
  ['the token of its account', (j) => (at(j, ...POD)['automountServiceAccountToken'] = true)],
  ['a token by a volume', (j) => addVolume(j, { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } })],
  ['another account', (j) => (at(j, ...POD)['serviceAccountName'] = 'default')],
  ['the network of the node', (j) => (at(j, ...POD)['hostNetwork'] = true)],
  ['the processes of the node', (j) => (at(j, ...POD)['hostPID'] = true)],
  ['a node of its choice', (j) => (at(j, ...POD)['nodeName'] = 'n-a')],
  ['a folder of the node', (j) => addVolume(j, { hostPath: { path: '/' } })],
  ['a Secret', (j) => addVolume(j, { secret: { secretName: 'x' } })],
  [
    'a ConfigMap of others',
    (j) => addVolume(j, { projected: { sources: [{ configMap: { name: 'kube-root-ca.crt' } }] } }),
  ],
  ['a resolver', (j) => (at(j, ...POD)['dnsPolicy'] = 'ClusterFirst')],
  ['root', (j) => (at(j, ...POD, 'securityContext')['runAsUser'] = 0)],
  ['no seccomp', (j) => (at(j, ...POD, 'securityContext')['seccompProfile'] = { type: 'Unconfined' })],
  [
    'a second container',
    (j) => (at(j, ...POD)['containers'] = [at(j, ...CONTAINER), { ...at(j, ...CONTAINER), name: 'b' }]),
  ],
  ['a container before it', (j) => (at(j, ...POD)['initContainers'] = [{ ...at(j, ...CONTAINER), name: 'b' }])],
  ['another program', (j) => (at(j, ...CONTAINER)['command'] = ['sh'])],
  ['another command', (j) => (at(j, ...CONTAINER)['args'] = ['run', '--roles=sync'])],
  ['an environment', (j) => (at(j, ...CONTAINER)['env'] = [{ name: 'NODE_OPTIONS', value: '--inspect' }])],
  ['privileges', (j) => (at(j, ...CONTAINER, 'securityContext')['allowPrivilegeEscalation'] = true)],
  ['a writable root', (j) => (at(j, ...CONTAINER, 'securityContext')['readOnlyRootFilesystem'] = false)],
  [
    'a capability',
    (j) => (at(j, ...CONTAINER, 'securityContext')['capabilities'] = { drop: ['ALL'], add: ['NET_BIND_SERVICE'] }),
  ],
  ['no limit of memory', (j) => (at(j, ...CONTAINER, 'resources')['limits'] = { cpu: '1' })],
  ['no end', (j) => delete at(j, 'spec')['activeDeadlineSeconds']],
  ['no time to live', (j) => delete at(j, 'spec')['ttlSecondsAfterFinished']],
  ['an owner', (j) => (at(j, 'metadata')['ownerReferences'] = [OWNER])],
  [
    'the taint of a node that we drain',
    (j) => (at(j, ...POD)['tolerations'] = [{ key: 'kubenode.io/cordon', operator: 'Exists' }]),
  ],
  ['all taints', (j) => (at(j, ...POD)['tolerations'] = [{ operator: 'Exists' }])],
  ['a priority', (j) => (at(j, ...POD)['priorityClassName'] = 'system-node-critical')],
  ['a place beside others', (j) => (at(j, ...POD)['affinity'] = {})],
  ['many pods', (j) => (at(j, 'spec')['parallelism'] = 100)],
  ['many attempts', (j) => (at(j, 'spec')['backoffLimit'] = 100)],
  ['pods of others', (j) => (at(j, 'spec')['manualSelector'] = true)],
]

function addVolume(of: KubeObject, volume: object): void {
  const spec = at(of, ...POD)
  spec['volumes'] = [...(spec['volumes'] as unknown[]), { name: 'more', ...volume }]
}

const part = (): KubeObject => {
  const owner = job()
  const [made] = partsOfInput('r', { ...owner, metadata: { ...owner.metadata, uid: 'u' } }, Buffer.from('x'))
  if (made === undefined) throw new Error('no part')
  return { ...made, metadata: { ...made.metadata, name: `render-p${runs++}` } }
}

const ATTEMPTS: readonly Attempt[] = [
  ...CHANGES.map(([what, change]): Attempt => ({
    name: `S25 the key of sync gives a render Job ${what}`,
    attempt: posting(changed(change)),
    control: posting(job()),
    refused: /^4(03|22) .*(sync makes Jobs that render|kubenode-accounts)|`selector` does not match|not auto-generated/,
  })),
  {
    name: 'S25 the key of sync sends a render Job where the installer lets it, and also to the control plane of Kubernetes by name',
    attempt: posting(changed((j) => (at(j, ...POD)['nodeName'] = 'n-a'))),
    control: posting(
      jobOf({
        run: 'placed',
        image: IMAGE,
        parts: 1,
        deadlineMs: 30_000,
        placement: {
          nodeSelector: { pool: 'own' },
          tolerations: [{ key: 'pool', value: 'own', effect: 'NoSchedule' }],
        },
      }),
    ),
    refused: /differs in: fields of the pod/,
  },
  {
    name: 'S25 the key of sync makes a pod where commits are rendered',
    attempt: by(sync, 'POST', PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: at(job(), ...POD),
    }),
    control: ordinary,
    refused: 403,
  },
  {
    name: 'S25 the key of the controllers makes a render Job',
    attempt: by((ids) => ids.controllers, 'POST', JOBS, job()),
    control: posting(job()),
    refused: 403,
  },
  {
    name: 'S25 a Job that a commit declares where commits are rendered',
    attempt: posting(changed((j) => (at(j, 'metadata')['annotations'] = { 'kubenode.io/source': 'fleet/shop' }))),
    control: posting(job()),
    refused: /no commit declares anything there/,
  },
  {
    name: 'S25 a ConfigMap that a commit declares where commits are rendered',
    attempt: by(sync, 'POST', CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } }),
    control: by(sync, 'POST', CONFIG_MAPS, part()),
    refused: /no commit declares anything there/,
  },
  {
    name: 'S25 input of a render that may change',
    attempt: by(sync, 'POST', CONFIG_MAPS, { ...part(), immutable: false }),
    control: by(sync, 'POST', CONFIG_MAPS, part()),
    refused: /never changes/,
  },
  {
    name: 'S25 the source of a tenant with every right declares a render Job',
    attempt: async (world) => {
      await asHub(world)
      const apiVersion = 'rbac.authorization.k8s.io/v1'
      const body = {
        apiVersion,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'all-of-shop' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
        subjects: [{ kind: 'User', name: source().user, apiGroup: 'rbac.authorization.k8s.io' }],
      }
      await world.admin.raw({ method: 'POST', path: `/apis/${apiVersion}/clusterrolebindings`, body })
      return by(source, 'POST', JOBS, job())(world)
    },
    refused: 403,
  },
]

tryOnServers('who has the key of sync', ATTEMPTS)
