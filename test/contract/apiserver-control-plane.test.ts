// What a kube-controller-manager, a kube-scheduler and a kubelet 1.36 ask for when they start and while they work, replayed in their
// names with their content type (JSON). Written from what these programs are known to list, watch and write.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiServers, startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests, type SendOptions } from '#test/support/servers/api-requests.ts'
import { fresh } from '#test/support/tools/kubectl.ts'

const CORE = '/api/v1'
const group = (name: string, version = 'v1') => `/apis/${name}/${version}`

/** A kind that is not served keeps an informer, and with it the whole scheduler, waiting for ever. */
const SCHEDULER = [
  ...[
    'nodes',
    'pods',
    'namespaces',
    'services',
    'replicationcontrollers',
    'persistentvolumes',
    'persistentvolumeclaims',
  ].map((k) => `${CORE}/${k}`),
  `${group('apps')}/replicasets`,
  `${group('apps')}/statefulsets`,
  `${group('policy')}/poddisruptionbudgets`,
  ...['storageclasses', 'csinodes', 'csidrivers', 'csistoragecapacities', 'volumeattachments'].map(
    (k) => `${group('storage.k8s.io')}/${k}`,
  ),
  ...['resourceclaims', 'resourceslices', 'deviceclasses'].map((k) => `${group('resource.k8s.io')}/${k}`),
]
const CONTROLLER_MANAGER = [
  ...SCHEDULER,
  ...[
    'serviceaccounts',
    'secrets',
    'configmaps',
    'endpoints',
    'events',
    'limitranges',
    'podtemplates',
    'resourcequotas',
  ].map((k) => `${CORE}/${k}`),
  ...['deployments', 'daemonsets', 'controllerrevisions'].map((k) => `${group('apps')}/${k}`),
  ...['jobs', 'cronjobs'].map((k) => `${group('batch')}/${k}`),
  `${group('autoscaling', 'v2')}/horizontalpodautoscalers`,
  `${group('discovery.k8s.io')}/endpointslices`,
  `${group('certificates.k8s.io')}/certificatesigningrequests`,
  `${group('coordination.k8s.io')}/leases`,
  `${group('scheduling.k8s.io')}/priorityclasses`,
  `${group('node.k8s.io')}/runtimeclasses`,
  `${group('storage.k8s.io')}/volumeattributesclasses`,
  `${group('resource.k8s.io')}/resourceclaimtemplates`,
  ...['ingresses', 'ingressclasses', 'networkpolicies', 'ipaddresses', 'servicecidrs'].map(
    (k) => `${group('networking.k8s.io')}/${k}`,
  ),
  ...['flowschemas', 'prioritylevelconfigurations'].map((k) => `${group('flowcontrol.apiserver.k8s.io')}/${k}`),
  ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].map(
    (k) => `${group('rbac.authorization.k8s.io')}/${k}`,
  ),
  ...[
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
    'validatingwebhookconfigurations',
    'mutatingwebhookconfigurations',
  ].map((k) => `${group('admissionregistration.k8s.io')}/${k}`),
  `${group('apiextensions.k8s.io')}/customresourcedefinitions`,
]
const KUBELET = [`${CORE}/services`, `${group('node.k8s.io')}/runtimeclasses`, `${group('storage.k8s.io')}/csidrivers`]

describe.each(apiServers)('the programs of a cluster against $name', ({ start }) => {
  let server: RunningServer
  let api: Requests
  beforeAll(async () => {
    server = await start()
    api = new Requests(server)
  })
  afterAll(async () => {
    api.close()
    await server.stop()
  })

  const MANAGER: SendOptions = { as: 'system:kube-controller-manager', groups: ['system:authenticated'] }
  const SCHEDULES: SendOptions = { as: 'system:kube-scheduler', groups: ['system:authenticated'] }
  const kubelet = (node: string): SendOptions => ({
    as: `system:node:${node}`,
    groups: ['system:nodes', 'system:authenticated'],
  })

  const informers = [
    ...SCHEDULER.map((path) => ['kube-scheduler', path, SCHEDULES] as const),
    ...CONTROLLER_MANAGER.map((path) => ['kube-controller-manager', path, MANAGER] as const),
    ...KUBELET.map((path) => ['kubelet', path, kubelet('n')] as const),
  ]
  test.each(informers)('%s fills its cache of %s and goes on watching', async (_, path, who) => {
    const list = await api.get(`${path}?limit=500&resourceVersion=0`, who)
    expect([list.code, list.body.kind.endsWith('List')]).toEqual([200, true])
    const version = list.body.metadata.resourceVersion ?? ''
    const rest = 'allowWatchBookmarks=true&timeoutSeconds=300&watch=true'
    const watch = await api.watch(`${path}?${rest}&resourceVersion=${version}`, who)
    watch.close()
    const streamed = await api.watch(`${path}?${rest}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`, who)
    const lines = await streamed.until((l) => l.some((x) => x.type === 'BOOKMARK'))
    streamed.close()
    // A real server adds one that daemon sets had in older versions.
    expect(lines.at(-1)?.object.metadata?.annotations).toMatchObject({ 'k8s.io/initial-events-end': 'true' })
  })

  describe('a leader', () => {
    test.each([
      ['kube-scheduler', SCHEDULES],
      ['kube-controller-manager', MANAGER],
    ])('%s learns whom to believe, takes its lease and renews it', async (name, who) => {
      const trust = `${CORE}/namespaces/kube-system/configmaps/extension-apiserver-authentication`
      expect((await api.get(trust, who)).code).toBe(200)
      const leases = `${group('coordination.k8s.io')}/namespaces/kube-system/leases`
      const at = fresh(name)
      const spec = (renewTime: string) => ({
        holderIdentity: 'host_1',
        leaseDurationSeconds: 15,
        acquireTime: '2030-01-01T00:00:00.000000Z',
        renewTime,
        leaseTransitions: 0,
      })
      expect((await api.get(`${leases}/${at}`, who)).code).toBe(404)
      const made = await api.made(
        leases,
        {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name: at, namespace: 'kube-system' },
          spec: spec('2030-01-01T00:00:00.000000Z'),
        },
        who,
      )
      const renewed = await api.put(`${leases}/${at}`, { ...made, spec: spec('2030-01-01T00:00:02.000000Z') }, who)
      expect([renewed.code, renewed.body['spec']]).toEqual([200, spec('2030-01-01T00:00:02.000000Z')])
      expect((await api.put(`${leases}/${at}`, { ...made, spec: spec('2030-01-01T00:00:04.000000Z') }, who)).code).toBe(
        409,
      )
    })
  })

  test('a kubelet registers its node, reports, beats, and tells what volumes it can attach', async () => {
    const node = fresh('node')
    const who = kubelet(node)
    expect((await api.get(`${CORE}/nodes/${node}?resourceVersion=0`, who)).code).toBe(404)
    const made = await api.made(
      `${CORE}/nodes`,
      {
        kind: 'Node',
        apiVersion: 'v1',
        metadata: {
          name: node,
          labels: { 'kubernetes.io/hostname': node, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
        },
        spec: {},
        status: {
          capacity: { cpu: '4', memory: '8Gi', pods: '110' },
          conditions: [{ type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'starting' }],
        },
      },
      who,
    )
    const status = {
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'posting ready status',
          lastHeartbeatTime: '2030-01-01T00:00:00Z',
          lastTransitionTime: '2030-01-01T00:00:00Z',
        },
      ],
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: node },
      ],
    }
    const reported = await api.patch('strategic', `${CORE}/nodes/${node}/status`, { status }, who)
    expect(reported.body['status']).toMatchObject({
      capacity: { cpu: '4' },
      conditions: [{ type: 'Ready', status: 'True' }],
    })
    const leases = `${group('coordination.k8s.io')}/namespaces/kube-node-lease/leases`
    if ((await api.get(`${CORE}/namespaces/kube-node-lease`)).code === 404)
      await api.made(`${CORE}/namespaces`, { metadata: { name: 'kube-node-lease' } })
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        name: node,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: node, uid: made.metadata.uid }],
      },
      spec: { holderIdentity: node, leaseDurationSeconds: 40, renewTime: '2030-01-01T00:00:00.000000Z' },
    }
    await api.made(leases, lease, who)
    const csi = await api.made(
      `${group('storage.k8s.io')}/csinodes`,
      { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name: node }, spec: { drivers: [] } },
      who,
    )
    expect(csi['spec']).toHaveProperty('drivers')
    const event = {
      metadata: { name: `${node}.17a`, namespace: 'default' },
      involvedObject: { kind: 'Node', name: node, uid: node },
      reason: 'Starting',
      message: 'Starting kubelet.',
      type: 'Normal',
      source: { component: 'kubelet', host: node },
      firstTimestamp: '2030-01-01T00:00:00Z',
      lastTimestamp: '2030-01-01T00:00:00Z',
      count: 1,
    }
    expect((await api.post(`${CORE}/namespaces/default/events`, event, who)).code).toBe(201)
  })

  test('a pod is bound by the scheduler, seen by its kubelet alone, and reported', async () => {
    const space = fresh('pods')
    await api.made(`${CORE}/namespaces`, { metadata: { name: space } })
    const pods = `${CORE}/namespaces/${space}/pods`
    await api.post(`${CORE}/namespaces/${space}/serviceaccounts`, { metadata: { name: 'default' } })
    const node = fresh('bound')
    await api.made(`${CORE}/nodes`, { metadata: { name: node } })
    const watch = await api.watch(`${CORE}/pods?watch=true&fieldSelector=spec.nodeName%3D${node}&resourceVersion=0`)
    const made = await api.made(pods, {
      metadata: { name: 'p' },
      spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'x' }] },
    })
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'p', namespace: space, uid: made.metadata.uid },
      target: { kind: 'Node', name: node },
    }
    expect((await api.post(`${pods}/p/binding`, binding, SCHEDULES)).code).toBe(201)
    const [line] = await watch.until((l) => l.length > 0)
    watch.close()
    expect([line?.type, line?.object.metadata?.name]).toEqual(['ADDED', 'p'])
    const status = {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      startTime: '2030-01-01T00:00:00Z',
    }
    const reported = await api.patch('strategic', `${pods}/p/status`, { metadata: { uid: made.metadata.uid }, status })
    expect(reported.body['status']).toMatchObject({ phase: 'Running' })
    expect(
      (await api.delete(`${pods}/p`, { gracePeriodSeconds: 0, preconditions: { uid: made.metadata.uid } })).code,
    ).toBe(200)
  })
})

describe('the namespaces of a server with its own loops', () => {
  test('have the account that pods use and the certificate of the server, again after they were deleted', async () => {
    const server = await startEmbedded({ loops: 'all' })
    const api = new Requests(server)
    try {
      const becomes = (path: string) => expect.poll(async () => (await api.get(path)).code).toBe(200)
      const name = fresh('furnished')
      await api.made(`${CORE}/namespaces`, { metadata: { name } })
      const account = `${CORE}/namespaces/${name}/serviceaccounts/default`
      const bundle = `${CORE}/namespaces/${name}/configmaps/kube-root-ca.crt`
      await becomes(account)
      await becomes(bundle)
      expect((await api.get(bundle)).body['data']).toEqual({ 'ca.crt': server.ca })
      await api.delete(account)
      await becomes(account)
      await api.patch('merge', bundle, { data: { 'ca.crt': 'forged' } })
      await expect.poll(async () => (await api.get(bundle)).body['data']).toEqual({ 'ca.crt': server.ca })
      await api.delete(`${CORE}/namespaces/${name}`)
      await expect.poll(async () => (await api.get(`${CORE}/namespaces/${name}`)).code).toBe(404)
    } finally {
      api.close()
      await server.stop()
    }
  })
})
