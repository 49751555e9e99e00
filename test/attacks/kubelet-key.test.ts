// The attacker has the key of one kubelet, which may annotate its own Node. What KubeNode notes there about its taints, labels, cordons and fences decides what
// its programs take off the Node, so a kubelet does not write these notes.
import { ANNOTATIONS, TAINTS } from '#api/names.ts'
import { FENCE_ANNOTATION } from '#nodes/fence.ts'
import { type Attempt, type AttackWorld, tryOnServers, type Who } from '#test/support/worlds/attack-world.ts'

const NODE = '/api/v1/nodes/n-a'
const kubelet: Who = { user: 'system:node:n-a', groups: ['system:nodes', 'system:authenticated'] }
const annotated = (annotations: Readonly<Record<string, string | null>>) => ({ body: { metadata: { annotations } } })

/** As the machine controller notes them, and what they name. */
const owned = JSON.stringify({ labels: ['team'], annotations: [], taints: ['dedicated:NoSchedule'] })
const CORDON = JSON.stringify({ 'machine/delete': { reason: 'removal' } })

const MARKS: readonly (readonly [string, string, string])[] = [
  ['its taints were set by KubeNode, which then removes them', ANNOTATIONS.owned, owned],
  ['a fence of another program is ours', FENCE_ANNOTATION, 'machine/m-a'],
  ['it belongs to another Machine', ANNOTATIONS.machineUid, '00000000-0000-0000-0000-00000000dead'],
  ['nobody can read who cordoned it, so no repair can cordon or uncordon it', ANNOTATIONS.cordon, 'unreadable'],
]

const written = MARKS.flatMap(([what, annotation, value]): Attempt[] =>
  ['', '/status'].map((sub) => ({
    name: `S25 a kubelet notes on its Node${sub === '' ? '' : ', through its status,'} that ${what}`,
    attempt: ({ ask }) => ask(kubelet, 'PATCH', `${NODE}${sub}`, annotated({ [annotation]: value })),
    refused: /403 .*does not write the annotations of kubenode\.io/,
    control: ({ ask }) => ask(kubelet, 'PATCH', `${NODE}${sub}`, annotated({ 'example.org/rack': value.slice(0, 8) })),
  })),
)

const cordoned = ({ ask, who }: AttackWorld) =>
  ask(who.installer, 'PATCH', NODE, {
    body: {
      metadata: { annotations: { [ANNOTATIONS.cordon]: CORDON } },
      spec: { taints: [{ key: TAINTS.cordon, effect: 'NoSchedule' }] },
    },
  })

const NODE_REF = { apiVersion: 'v1', kind: 'Node', name: 'n-a' }
const MACHINE_REF = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', name: 'm-b' }
let events = 0
/** In both forms, which are one object. */
const newEvent = (reportingController: string, regarding: object, more: object = {}) => ({
  path: '/apis/events.k8s.io/v1/namespaces/default/events',
  body: {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `e-${events++}`, namespace: 'default' },
    eventTime: '2026-01-05T00:00:00.000000Z',
    type: 'Normal',
    reason: 'PermitGranted',
    action: 'Grant',
    note: 'granted',
    reportingController,
    reportingInstance: 'n-a',
    regarding,
    ...more,
  },
})
const oldEvent = (source: object, involvedObject: object) => ({
  path: '/api/v1/namespaces/default/events',
  body: {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `e-${events++}`, namespace: 'default' },
    type: 'Normal',
    reason: 'PermitGranted',
    message: 'granted',
    ...source,
    involvedObject,
  },
})
const reported = [
  ['as the Defender', newEvent('kubenode.io/defender', NODE_REF)],
  ['as an agent', newEvent('agent.kubenode.io/kernel', NODE_REF)],
  ['as the Defender, in the old form', oldEvent({ source: { component: 'kubenode.io/defender' } }, NODE_REF)],
  ['as the controllers, in the old form', oldEvent({ reportingComponent: 'kubenode.io/machine' }, NODE_REF)],
  ['about a Machine', newEvent('kubelet', MACHINE_REF)],
  ['about a Machine, in the old form', oldEvent({ source: { component: 'kubelet' } }, MACHINE_REF)],
  ['related to a Machine', newEvent('kubelet', NODE_REF, { related: MACHINE_REF })],
].map(([what, event]): Attempt => {
  const { path, body } = event as ReturnType<typeof newEvent>
  const own = path.startsWith('/api/')
    ? oldEvent({ source: { component: 'kubelet' } }, NODE_REF)
    : newEvent('kubelet', NODE_REF)
  return {
    name: `S25 a kubelet reports an event ${String(what)}`,
    attempt: ({ ask }) => ask(kubelet, 'POST', path, { body }),
    refused: /403 .*a kubelet writes no events/,
    control: ({ ask }) => ask(kubelet, 'POST', own.path, { body: own.body }),
  }
})

const ATTEMPTS: readonly Attempt[] = [
  ...written,
  ...reported,
  {
    name: 'S25 a kubelet wipes out who cordoned its Node',
    attempt: async (world) => {
      const { status, text } = await cordoned(world)
      if (status !== 200) throw new Error(`cannot cordon: ${text}`)
      return world.ask(kubelet, 'PATCH', NODE, annotated({ [ANNOTATIONS.cordon]: null }))
    },
    refused: /403 .*does not write the annotations of kubenode\.io/,
    control: ({ ask, who }) => ask(who.installer, 'PATCH', NODE, annotated({ [ANNOTATIONS.cordon]: null })),
  },
]

tryOnServers('who has the key of a kubelet', ATTEMPTS)
