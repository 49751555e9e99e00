// Pods that accept nodes run on every new node: who decides what they are, and what a thief of the key that makes them can make.
import { ACCEPTANCE_NAMESPACE } from '#api/names.ts'
import { type Attempt, type AttackWorld, tryOnServers } from '#test/support/worlds/attack-world.ts'

const at = (namespace: string, resource: string): string => `/api/v1/namespaces/${namespace}/${resource}`
const PODS = at(ACCEPTANCE_NAMESPACE, 'pods')

type By = keyof AttackWorld['who']
const by =
  (who: By, method: string, path: string, body?: unknown) =>
  ({ ask, who: known }: AttackWorld) =>
    ask(known[who], method, path, body === undefined ? {} : { body })

const container = { name: 'test', image: 'a' }
const owner = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', name: 'm', uid: 'm-uid', controller: true }

let made = 0
const pod = (spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `accept-${made++}`, ownerReferences: [owner], ...metadata },
  spec: {
    nodeName: 'n-a',
    restartPolicy: 'Never',
    activeDeadlineSeconds: 600,
    automountServiceAccountToken: false,
    tolerations: [{ operator: 'Exists' }],
    containers: [container],
    ...spec,
  },
})
const template = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name },
  template: { metadata: { labels: { app: name } }, spec: { containers: [container], ...spec } },
})

const makes = (what: string, body: object, refused: RegExp): Attempt => ({
  name: `S25 the key of controllers makes a pod in ${ACCEPTANCE_NAMESPACE} ${what}`,
  attempt: by('controllers', 'POST', PODS, body),
  control: by('controllers', 'POST', PODS, pod()),
  refused,
})

const ONCE = /pods that accept one node, once, and end/
const OWNED = /goes with its Machine or its repair/

const ATTEMPTS: readonly Attempt[] = [
  makes('for no node', pod({ nodeName: undefined }), ONCE),
  makes('that starts again', pod({ restartPolicy: 'Always' }), ONCE),
  makes('without an end', pod({ activeDeadlineSeconds: undefined }), ONCE),
  makes('that nothing owns', pod({}, { ownerReferences: [] }), OWNED),
  makes('that nobody can delete', pod({}, { finalizers: ['example.org/keep'] }), OWNED),
  makes(
    'of the priority of Kubernetes',
    pod({ priorityClassName: 'system-node-critical' }),
    /evicts no part of Kubernetes|priority/i,
  ),
  makes('with the network of its node', pod({ hostNetwork: true }), /violates PodSecurity "baseline/),
  makes(
    'with privileges',
    pod({ containers: [{ ...container, securityContext: { privileged: true } }] }),
    /violates PodSecurity "baseline/,
  ),
  makes(
    'with the files of its node',
    pod({ volumes: [{ name: 'host', hostPath: { path: '/' } }] }),
    /violates PodSecurity "baseline/,
  ),
  {
    name: `S25 the key of controllers writes a template of ${ACCEPTANCE_NAMESPACE}`,
    attempt: by('controllers', 'POST', at(ACCEPTANCE_NAMESPACE, 'podtemplates'), template('mine')),
    refused: 403,
  },
  {
    name: 'a tenant who may write templates elsewhere writes one that accepts nodes',
    attempt: by('tenant', 'POST', at(ACCEPTANCE_NAMESPACE, 'podtemplates'), template('burn-in')),
    control: by('tenant', 'POST', at('shop', 'podtemplates'), template('burn-in')),
    refused: 403,
  },
  {
    name: 'a commit declares a template that accepts nodes, and the installer did not list it',
    attempt: by('sync', 'POST', at(ACCEPTANCE_NAMESPACE, 'podtemplates'), template('burn-in')),
    refused: /is not on the list of the installer/,
  },
  {
    name: 'a commit declares a template with the power of its node, and the installer did not list that',
    attempt: by('sync', 'POST', at(ACCEPTANCE_NAMESPACE, 'podtemplates'), template('host', { hostPID: true })),
    refused: /has the power of its node|is not on the list of the installer/,
  },
]

tryOnServers('pods that accept nodes', ATTEMPTS)
