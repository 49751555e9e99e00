// kubectl reads: every output form, descriptions, explanations, discovery, rights, events, watches.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Kubectl } from '#test/support/tools/kubectl.ts'

const labels = { app: 'web', tier: 'front' }
const POD = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-0', labels, annotations: { note: 'two words' } },
  spec: {
    containers: [
      {
        name: 'main',
        image: 'registry.example/web:1',
        ports: [{ containerPort: 80 }],
        env: [{ name: 'MODE', value: 'fast' }],
        resources: { requests: { cpu: '100m', memory: '64Mi' } },
      },
    ],
    nodeSelector: { disk: 'ssd' },
  },
}
const DEPLOYMENT = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', labels },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'registry.example/web:1' }] } },
  },
}
const CONFIG = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', labels: { app: 'web' } },
  data: { mode: 'fast', 'file.txt': 'line one\nline two\n' },
}
const SECRET = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'key' },
  type: 'Opaque',
  stringData: { token: 'very secret' },
}
const SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
}
const NODE = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'reader-node', labels: { 'node-role.kubernetes.io/worker': '' } },
}
/** Not one of Kubernetes' own: "view" is empty until the controller manager has gathered its rules. */
const ROLE = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'config-reader' },
  rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
}
const EVENT = {
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name: 'web-0.1' },
  involvedObject: { apiVersion: 'v1', kind: 'Pod', name: 'web-0', namespace: 'reading' },
  reason: 'Pulled',
  message: 'the image is here',
  type: 'Normal',
  source: { component: 'tests' },
  firstTimestamp: new Date().toISOString().slice(0, 19) + 'Z',
  lastTimestamp: new Date().toISOString().slice(0, 19) + 'Z',
  count: 3,
}

/** A command and what its output has in it. */
type Case = readonly [name: string, words: string, ...patterns: (RegExp | string)[]]

const N = '-n reading'
const CASES: readonly Case[] = [
  ['get prints the columns of a pod', `get pod web-0 ${N}`, /NAME +READY +STATUS +RESTARTS +AGE\nweb-0 +0\/1 +Pending/],
  ['wide adds the priority columns', `get pod web-0 ${N} -o wide`, /IP +NODE +NOMINATED NODE +READINESS GATES/],
  ['a deployment has its counts', `get deploy ${N}`, /NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0\/2/],
  ['wide shows containers and images', `get deploy ${N} -o wide`, /main +registry.example\/web:1 +app=web/],
  [
    'a service has its cluster address and ports',
    `get svc ${N}`,
    /web +ClusterIP +\d+\.\d+\.\d+\.\d+ +<none> +80\/TCP/,
  ],
  ['a node has its role', 'get node reader-node', /reader-node +\S+ +worker/],
  ['config maps are counted', `get cm settings ${N}`, /NAME +DATA +AGE\nsettings +2/],
  ['secrets have a type', `get secret key ${N}`, /key +Opaque +1/],
  ['several kinds at once', `get cm/settings secret/key ${N}`, /configmap\/settings/, /secret\/key/],
  ['the category all', `get all ${N}`, /pod\/web-0/, /service\/web/, /deployment.apps\/web/],
  ['all namespaces', 'get pods -A', /NAMESPACE +NAME/, /reading +web-0/],
  ['names alone', `get pod,cm ${N} -o name`, 'pod/web-0', 'configmap/settings'],
  ['json', `get cm settings ${N} -o json`, /"kind": "ConfigMap"/, /"line one\\nline two\\n"/],
  ['yaml', `get cm settings ${N} -o yaml`, /kind: ConfigMap/, /file.txt: \|\n {4}line one\n {4}line two/],
  ['yaml of a list', `get cm ${N} -o yaml`, /kind: List/, /name: settings/],
  ['managed fields are hidden', `get cm settings ${N} -o yaml`, /^(?![\s\S]*managedFields)/],
  ['and shown when asked for', `get cm settings ${N} -o yaml --show-managed-fields`, /managedFields:/, /f:mode/],
  ['jsonpath', `get pod web-0 ${N} -o jsonpath={.spec.containers[0].image}`, /^registry.example\/web:1$/],
  ['jsonpath over a list', `get pod,cm ${N} -o jsonpath={.items[*].metadata.name}`, /web-0.*settings/],
  ['go-template', `get cm settings ${N} -o go-template={{.data.mode}}`, /^fast$/],
  ['custom columns', `get pod ${N} -o custom-columns=N:.metadata.name,T:.metadata.labels.tier`, /N +T\nweb-0 +front/],
  ['labels as columns', `get pod ${N} -L tier --show-labels`, /TIER +LABELS\nweb-0 .* front +app=web,tier=front/],
  ['sorted', 'get ns --sort-by=.metadata.name -o name', /namespace\/default[\s\S]*namespace\/kube-system/],
  ['without headers', `get cm settings ${N} --no-headers`, /^settings +2/],
  ['by label', `get cm ${N} -l app=web -o name`, /^configmap\/settings\n$/],
  ['by the presence and absence of labels', `get pod ${N} -l tier,!gone -o name`, 'pod/web-0'],
  ['by field', `get pod ${N} --field-selector=status.phase=Pending -o name`, 'pod/web-0'],
  ['in chunks', 'get clusterroles --chunk-size=10 -o name', 'clusterrole.rbac.authorization.k8s.io/cluster-admin'],
  ['raw', 'get --raw /api/v1/namespaces/reading/configmaps/settings', /"mode":"fast"/],
  ['health', 'get --raw /readyz', /^ok$/],
  ['a missing name is passed over when told so', `get cm nothing ${N} --ignore-not-found`, /^$/],

  [
    'describe a pod',
    `describe pod web-0 ${N}`,
    /Image: +registry.example\/web:1/,
    /cpu: +100m/,
    /Node-Selectors: +disk=ssd/,
  ],
  ['describe a deployment', `describe deploy web ${N}`, /Replicas: +2 desired/, /StrategyType: +RollingUpdate/],
  ['describe a node', 'describe node reader-node', /Roles: +worker/, /Unschedulable: +false/],
  ['describe a service', `describe svc web ${N}`, /Selector: +app=web/, /TargetPort: +8080\/TCP/],
  ['describe hides what is secret', `describe secret key ${N}`, /token: +11 bytes/],
  ['describe a config map', `describe cm settings ${N}`, /line one\nline two/],
  ['describe a namespace', 'describe ns reading', /Status: +Active/],
  ['describe a role', 'describe clusterrole config-reader', /configmaps +\[\] +\[\] +\[get list watch\]/],

  ['explain a kind', 'explain pods', /KIND: +Pod/, /VERSION: +v1/, /spec\t<(PodSpec|Object)>/],
  ['explain a field', 'explain deployment.spec.replicas', /GROUP: +apps/, /FIELD: replicas <integer>/],
  [
    'explain recursively',
    'explain pods.spec --recursive',
    /containers\t<\[\](Container|Object)>/,
    /imagePullPolicy\t<string>/,
  ],
  ['explain a cluster kind', 'explain nodes.spec.taints', /FIELD: taints <\[\](Taint|Object)>/],
  ['explain of old form', 'explain lease.spec --output=plaintext-openapiv2', /holderIdentity/],

  ['resources', 'api-resources', /pods +po +v1 +true +Pod/, /nodes +no +v1 +false +Node/],
  [
    'resources with verbs',
    'api-resources -o wide',
    /leases .* create,delete,deletecollection,get,list,patch,update,watch/,
  ],
  ['resources by name', 'api-resources -o name --api-group=apps', 'deployments.apps', 'controllerrevisions.apps'],
  [
    'only namespaced ones',
    'api-resources --namespaced=false -o name',
    'nodes',
    'certificatesigningrequests.certificates.k8s.io',
  ],
  ['versions', 'api-versions', 'apps/v1', 'coordination.k8s.io/v1', 'v1'],
  ['where the cluster is', 'cluster-info', /control plane.* is running at .*https:\/\//],
  ['the version', 'version', /Server Version: .*v1\.\d+/],

  ['who am I', 'auth whoami', /Username +\S+/, /system:masters/],
  ['who am I for programs', 'auth whoami -o jsonpath={.status.userInfo.groups}', 'system:authenticated'],
  ['what may I', 'auth can-i --list', /\*\.\* +\[\] +\[\] +\[\*\]/],
  ['may I', 'auth can-i delete nodes', /^yes/],
  ['may I, of a subresource', 'auth can-i update pods/status', /^yes/],

  [
    'events of a namespace',
    `get events ${N}`,
    /LAST SEEN +TYPE +REASON +OBJECT +MESSAGE/,
    /Normal +Pulled +pod\/web-0 +the image is here/,
  ],
  ['events command', `events ${N}`, /\(x3.*Normal +Pulled +Pod\/web-0 +the image is here|Normal +Pulled +Pod\/web-0/],
  ['events for one object', `events ${N} --for pod/web-0`, /the image is here/],
  ['logs of a pod that no node has are empty', `logs web-0 ${N}`, /^$/],
]

/** A command that must fail, and how it says why. */
const REFUSALS: readonly Case[] = [
  ['an unknown kind', 'get unicorns', /the server doesn't have a resource type "unicorns"/],
  ['a missing object', `get cm nothing ${N}`, /Error from server \(NotFound\): configmaps "nothing" not found/],
  ['a missing namespace is found out on writing', 'create cm x -n nowhere', /namespaces "nowhere" not found/],
  ['a wrong selector', `get cm ${N} -l a=b=c`, /found '=', expected: ',' or 'end of string'/],
  [
    'an unknown field to select by',
    `get cm ${N} --field-selector=data.mode=fast`,
    /"data.mode" is not a known field selector/,
  ],
  ['explain a field that is not there', 'explain pods.spec.unicorn', /field "unicorn" does not exist/],
  ['no metrics', 'top nodes', /Metrics API not available/],
  [
    'a user without rights',
    `get cm ${N} --as=nobody`,
    /configmaps is forbidden: User "nobody" cannot list resource "configmaps" in API group "" in the namespace "reading"/,
  ],
  ['rights that are not there', 'auth can-i delete pods --as=nobody', /^$/],
]

const asked = ([name, words, ...patterns]: Case) => ({ name, words, patterns })

const matches = (text: string, pattern: RegExp | string): boolean =>
  typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text)

describe.each(apiServers)('kubectl reads from $name', ({ start }) => {
  let server: RunningServer
  let kubectl: Kubectl
  beforeAll(async () => {
    server = await start()
    kubectl = new Kubectl(server)
    await kubectl.namespace('reading')
    await kubectl.apply([POD, DEPLOYMENT, CONFIG, SECRET, SERVICE, NODE, ROLE, EVENT], N)
  })
  afterAll(() => server?.stop())

  test.concurrent.each(CASES.map(asked))('$name', async ({ words, patterns }) => {
    const out = await kubectl.ok(words)
    expect({ out, missing: patterns.filter((p) => !matches(out, p)) }).toEqual({ out, missing: [] })
  })

  test.concurrent.each(REFUSALS.map(asked))('refused: $name', async ({ words, patterns }) => {
    const err = await kubectl.refused(words)
    expect({ err, missing: patterns.filter((p) => !matches(err, p)) }).toEqual({ err, missing: [] })
  })

  test.concurrent('watching shows what is there, then each change', async () => {
    await kubectl.apply([{ ...CONFIG, metadata: { name: 'watched' } }], N)
    const watching = kubectl.follow(`get cm watched ${N} -w -o custom-columns=M:.data.mode`)
    try {
      await watching.until(/fast/)
      await kubectl.ok(`patch cm watched ${N} --type=merge -p`, ['{"data":{"mode":"slow"}}'])
      expect(await watching.until(/slow/)).toMatch(/M\nfast\nslow/)
    } finally {
      await watching.stop()
    }
  })

  test.concurrent('a description ends with the events of that very object', async () => {
    const { uid } = (await kubectl.json<{ metadata: { uid: string } }>(`get pod web-0 ${N}`)).metadata
    const involvedObject = { ...EVENT.involvedObject, uid }
    await kubectl.apply(
      [{ ...EVENT, metadata: { name: 'web-0.2' }, involvedObject, reason: 'Started', message: 'it runs' }],
      N,
    )
    expect(await kubectl.ok(`describe pod web-0 ${N}`)).toMatch(/Events:[\s\S]*Normal +Started .* it runs/)
  })

  test.concurrent('watching a table prints its head once', async () => {
    const watching = kubectl.follow(`get pods ${N} -l watched-as=table -w`)
    try {
      await kubectl.apply([{ ...POD, metadata: { name: 'seen', labels: { 'watched-as': 'table' } } }], N)
      await watching.until(/seen/)
      await kubectl.ok(`label pod seen ${N} more=labels`)
      expect(await watching.until(/seen[\s\S]*seen/)).toMatch(/^NAME[^\n]*\nseen[^\n]*\nseen[^\n]*\n$/)
    } finally {
      await watching.stop()
    }
  })
})
