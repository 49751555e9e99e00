// The attacker writes a commit that is rendered and applied: its declarations are checked before a server receives them, and a fleet gets no rights.
import { AGENT_CONFIG_MAP, agentConfigData } from '#api/agent-config/agent-config-map.ts'
import { createValidator } from '#api/validate.ts'
import { messageOf } from '#lib/errors.ts'
import { declaredProblems } from '#declared/declared-problems.ts'
import { answered } from '#sync/render/answered.ts'
import { CAGE_LEVELS, findCage } from '#sync/render/cage.ts'
import { runCaged } from '#sync/render/run-caged.ts'
import { differenceOf } from '#sync/difference.ts'
import { placesOf } from '#sync/render/places.ts'
import { planText } from '#forecast/plan/text.ts'
import { problemsIn, problemText } from '#sync/render/problems.ts'
import { checkRendered } from '#sync/render/rendered.ts'
import { shownAnswer } from '#test/support/faults/caged-code.ts'
import {
  type Answer,
  type Attempt,
  type AttackWorld,
  tryHere,
  tryOnServers,
} from '#test/support/worlds/attack-world.ts'

const shellMonitor = {
  plugin: 'custom',
  source: 'evil',
  conditions: [],
  rules: [{ type: 'temporary', reason: 'Evil', path: '/bin/sh', args: ['-c', 'id >> /tmp/PWNED'] }],
}
const configMap = (metadata: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata })

/** What a commit gets to read when its fleet renders these objects. */
const render =
  (...objects: readonly unknown[]) =>
  async (): Promise<Answer> => {
    try {
      const targets = checkRendered({ prod: objects }, createValidator())
      const problems = [...targets.values()].flatMap((t) => t.rejected.map((r) => r.problem))
      return { status: 0, text: problems.join('\n') || 'accepted' }
    } catch (e) {
      return { status: 0, text: messageOf(e) }
    }
  }

/** What a commit with this fleet/machines/agent.json gets to read from lint, plan and sync. */
const agentConfig = (config: object) => async (): Promise<Answer> => {
  const object = { ...configMap({ ...AGENT_CONFIG_MAP }), data: agentConfigData(config) }
  const problems = declaredProblems([object]).map((p) => `${p.code}: ${p.message}`)
  return { status: 0, text: problems.join('\n') || 'accepted' }
}

const AGENTS: readonly Attempt<void>[] = [
  ['runs a shell on every node', { monitors: [{ config: shellMonitor }] }],
  ['runs what a pod wrote', { monitors: ['/var/lib/kubelet/pods/1/volumes/kubernetes.io~empty-dir/a/m.json'] }],
  ['takes trust from elsewhere', { trustUrl: 'https://evil.example/trust.json' }],
  ['takes artifacts from elsewhere', { allowedOrigins: ['https://evil.example'] }],
  ['takes the port of a kubelet', { metrics: { port: 10_248 } }],
  [
    'shows the key of an agent as a condition',
    {
      logs: [
        {
          path: '/var/lib/kubenode/state/identity/agent.pem',
          rules: [{ condition: 'Key', reason: 'Key', pattern: '.+' }],
        },
      ],
    },
  ],
].map(([what, config]) => ({
  name: `its agent.json ${String(what)}`,
  attempt: agentConfig(config as object),
  refused: /KN3074: git may not declare this/,
}))

const nested = (depth: number): unknown => (depth === 0 ? 'x' : { a: nested(depth - 1) })

const RENDERED: readonly Attempt<void>[] = [
  {
    name: 'a name with a newline forges a line of the plan',
    attempt: render(configMap({ name: 'a\n+ everything is fine' })),
    refused: /KN7107.*name/,
  },
  {
    name: 'a key __proto__ reaches code that copies objects',
    attempt: render(JSON.parse('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"__proto__":{"x":1}}')),
    refused: /KN7107.*__proto__/,
  },
  {
    name: 'an object that is too deep for the stack',
    attempt: render({ ...configMap({ name: 'a' }), data: nested(100) }),
    refused: /KN7107.*nested deeper/,
  },
  {
    name: 'the same object twice, the second one as the reviewer does not expect it',
    attempt: render(configMap({ name: 'a', namespace: 'b' }), configMap({ name: 'a', namespace: 'b' })),
    refused: /KN7109.*declared twice/,
  },
  {
    name: 'a kind of our group that does not exist',
    attempt: render({ apiVersion: 'kubenode.io/v1alpha1', kind: 'Root', metadata: { name: 'a' } }),
    refused: /has no kind Root/,
  },
]

/** What the fleet's own code gets, in the weakest cage: nothing but lists and Node's limits are in its way. */
const code = (text: string) => async (): Promise<Answer> => {
  const weakest = await findCage('allow', CAGE_LEVELS.slice(-1))
  const files = { 'fleet/main.ts': text }
  const request = { files, entry: 'fleet/main.ts', release: '', now: 0, seed: 1 }
  const { answer } = answered(await runCaged(weakest, request), 'render')
  return { status: 0, text: shownAnswer(answer) }
}

const CAGED: readonly Attempt<void>[] = [
  ...['_kill(1, 0)', '_debugProcess(1)', 'setegid(0)', "initgroups('root', 0)", 'reallyExit(0)', "binding('fs')"].map(
    (call) => ({
      name: `S28 its code calls process.${call}`,
      attempt: code(`(process as any).${call}`),
      refused: /is not a function/,
    }),
  ),
  ...["_linkedBinding('fs')", "dlopen({}, 'x.node')", '_startProfilerIdleNotifier()', '_debugEnd()'].map((call) => ({
    name: `S28 its code calls process.${call}`,
    attempt: code(`(process as any).${call}`),
    refused: /is not a function/,
  })),
  {
    name: 'S7 its code makes code from text that imports files',
    attempt: code(`await new Function('return import("node:fs")')()`),
    refused: /may not be imported by a fleet/,
  },
  {
    name: 'S28 its code reaches the sockets of Node by the streams that it prints to',
    attempt: code(`new (process.stdout as any).constructor().connect(1)`),
    refused: /is not a function/,
  },
  {
    name: 'S15 its code reads a file by cdk8s',
    attempt: code(`import { Yaml } from 'cdk8s'\nthrow new Error(JSON.stringify(Yaml.load('/etc/passwd')))`),
    refused: /"ok":false(?!.*root:)/,
  },
]

/** What `kubenode plan` says of it. */
const planned =
  (...objects: readonly unknown[]) =>
  async (): Promise<Answer> => {
    const files = { 'fleet/main.ts': objects.map((o) => JSON.stringify(o)).join('\n') }
    const places = placesOf(files, new Map(objects.map((o) => [o, 'fleet/main.ts:1'])))
    const targets = checkRendered({ prod: objects }, createValidator(), places)
    const text = planText('c0ffee', undefined, differenceOf(new Map(), targets), { isColored: false, isCut: true })
    return { status: 0, text: [text, ...problemsIn(targets, files, places).problems.map(problemText)].join('\n') }
  }
const workload = (pod: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'a', namespace: 'shop' },
  spec: { template: { spec: { containers: [{ name: 'a', image: 'a' }], ...pod } } },
})

/** What `kubenode plan` says of a ConfigMap whose text changes. */
const replanned = (before: object, after: object) => async (): Promise<Answer> => {
  const [olds, news] = [before, after].map((o) => checkRendered({ prod: [o] }, createValidator()))
  return {
    status: 0,
    text: planText('c0ffee', 'before', differenceOf(olds ?? new Map(), news ?? new Map()), {
      isColored: false,
      isCut: true,
    }),
  }
}
const text = (value: string) => ({ ...configMap({ name: 'a', namespace: 'b' }), data: { x: value } })
const steps = (...names: readonly string[]) => ({
  ...workload({ initContainers: names.map((name) => ({ name, image: 'a' })) }),
})

const HIDDEN: readonly Attempt<void>[] = [
  {
    name: 'S33 a plan shows a change of JSON text without the key that stands in it twice',
    attempt: replanned(text('{"image":"good","n":1}'), text('{"image":"evil","image":"good","n":2}')),
    refused: /evil/,
  },
  {
    name: 'S33 a plan shows a change of JSON text without the last digits of a number',
    attempt: replanned(text('{"id":9007199254740992,"n":1}'), text('{"id":9007199254740993,"n":2}')),
    refused: /9007199254740992.*9007199254740993/,
  },
  {
    name: 'S33 a plan cuts two long texts before they differ',
    attempt: replanned(text(`${'x'.repeat(500)}good`), text(`${'x'.repeat(500)}evil`)),
    refused: /…x+good" → …x+evil"/,
  },
  {
    name: 'S33 a plan shows the first of two differences and leaves the other out',
    attempt: replanned(text(`1${'x'.repeat(500)}good`), text(`2${'x'.repeat(500)}evil`)),
    refused: /the change continues for \d+ characters/,
  },
  {
    name: 'S33 a plan says nothing of steps that change places',
    attempt: replanned(steps('verify', 'install'), steps('install', 'verify')),
    refused: /initContainers \(order\): \["verify","install"\] → \["install","verify"\]/,
  },
  ...['\u200d', '\u3164', '\u034f', '\ufe0f', '\u{e0100}', '\u180e', '\u2800'].map((mark): Attempt<void> => ({
    name: `S33 a plan shows a text with U+${mark.codePointAt(0)?.toString(16)} like the one without`,
    attempt: replanned(text('admin'), text(`ad${mark}min`)),
    refused: /"admin" → "ad\ufffdmin"/,
  })),
]

const PLANNED: readonly Attempt<void>[] = [
  {
    name: 'S25 a workload that mounts a Secret of a tenant is planned like any other',
    attempt: planned(workload({ volumes: [{ name: 'v', secret: { secretName: 'tls' } }] })),
    refused:
      /^0 [^]*! Deployment\.apps\/shop\/a \(added; KN3094[^]*KN3094: Deployment\.apps\/shop\/a in prod.*Secret tls.*declare on secrets.*fleet\/main\.ts:1/,
  },
  {
    name: 'S25 a workload with a field of the node that this version does not know is planned like any other',
    attempt: planned(workload({ hostEverything: true })),
    refused: /KN3094.*hostEverything.*declare-host on deployments/,
  },
  {
    name: 'S25 the Service of the API server is planned like any other',
    attempt: planned({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'kubernetes', namespace: 'default' } }),
    refused: /KN3094.*address of the API server/,
  },
  ...['default', 'kube-public'].map((name): Attempt<void> => ({
    name: `S25 namespace ${name} is planned like any other`,
    attempt: planned({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
    refused: /KN3090: cannot apply Namespace/,
  })),
  {
    name: 'S25 a ConfigMap where sync renders commits is planned like any other',
    attempt: planned({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'kubenode-render' } }),
    refused: /KN3090: cannot apply ConfigMap\/kubenode-render\/a/,
  },
]

const owned = (kind: string, metadata: object = { name: 'forged' }) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind,
  metadata,
})

const FORGED: readonly Attempt<void>[] = [
  ...['Inventory', 'Release', 'OperationPermit', 'DefenderLedger', 'RemedyOperationJob', 'ComponentConfig'].map(
    (kind): Attempt<void> => ({
      name: `S27 a commit declares a ${kind}, which programs believe`,
      attempt: render(owned(kind)),
      refused: /KN3090/,
    }),
  ),
  ...['Approval', 'OperationalHold'].map((kind): Attempt<void> => ({
    name: `S27 a commit declares a ${kind} in the name of a person`,
    attempt: render(owned(kind)),
    refused: /KN3090/,
  })),
  {
    name: 'S27 a commit declares the status of a Machine',
    attempt: render({ ...owned('Machine'), status: { phase: 'Ready' } }),
    refused: /KN3090.*status/,
  },
  {
    name: 'S27 a commit names the owner of an object',
    attempt: render(configMap({ name: 'a', annotations: { 'kubenode.io/source': 'kubenode-system/fleet' } })),
    refused: /KN3090.*kubenode\.io\/source/,
  },
  {
    name: 'S27 a finalizer that no program removes',
    attempt: render(configMap({ name: 'a', finalizers: ['evil.example/never'] })),
    refused: /KN3090/,
  },
  {
    name: 'S27 an owner reference that deletes with another object',
    attempt: render(configMap({ name: 'a', ownerReferences: [{ kind: 'Machine', name: 'm-a', uid: 'x' }] })),
    refused: /KN3090/,
  },
  {
    name: 'S33 an apiVersion that climbs out of its path',
    attempt: render({ ...configMap({ name: 'a' }), apiVersion: '../api/v1' }),
    refused: /KN7107.*invalid apiVersion/,
  },
  {
    name: 'S33 a kind that is a command of a CI runner',
    attempt: render({ ...configMap({ name: 'a' }), kind: 'ConfigMap\n::add-path::/tmp' }),
    refused: /KN7107.*invalid kind "ConfigMap\\n::add-path::\/tmp"/,
  },
  {
    name: 'S33 a namespace that climbs out of its path',
    attempt: render(configMap({ name: 'a', namespace: '../secrets' })),
    refused: /KN7107.*invalid metadata\.namespace/,
  },
]

const apply =
  (path: string, body: object) =>
  ({ ask, who }: AttackWorld) =>
    ask(who.sync, 'PATCH', `${path}?fieldManager=kubenode-sync`, { body, type: 'application/apply-patch+yaml' })

const RBAC = { apiVersion: 'rbac.authorization.k8s.io/v1' }

const APPLIED: readonly Attempt[] = [
  {
    name: 'S25 a commit declares a role',
    attempt: apply('/apis/rbac.authorization.k8s.io/v1/clusterroles/mine', {
      ...RBAC,
      kind: 'ClusterRole',
      metadata: { name: 'mine' },
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    }),
    refused: 403,
  },
  {
    name: 'S25 a commit declares a Secret',
    attempt: apply('/api/v1/namespaces/shop/secrets/mine', {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'mine' },
      stringData: { a: 'b' },
    }),
    refused: 403,
  },
  {
    name: 'S25 a commit declares a webhook that sees every Secret',
    attempt: apply('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/mine', {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name: 'mine' },
      webhooks: [],
    }),
    refused: 403,
  },
]

tryHere('the author of a commit, at the render', [...RENDERED, ...FORGED, ...AGENTS, ...PLANNED, ...HIDDEN])
tryHere('the author of a commit, by the code of the fleet', CAGED)
tryOnServers('the author of a commit, at the cluster', APPLIED)
