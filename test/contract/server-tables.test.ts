// The columns in which each kind is shown, as `kubectl get` prints them; those with a star with `-o wide` alone.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiServers, type RunningServer } from '#test/support/servers/api-servers.ts'
import { Requests } from '#test/support/servers/api-requests.ts'

const TABLE = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } }

interface Column {
  readonly name: string
  readonly type: string
  readonly priority: number
}

const COLUMNS: readonly (readonly [path: string, columns: string])[] = [
  ['/api/v1/configmaps', 'Name, Data, Age'],
  ['/api/v1/endpoints', 'Name, Endpoints, Age'],
  ['/api/v1/events', 'Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, Name*'],
  ['/api/v1/limitranges', 'Name, Created At:date'],
  ['/api/v1/namespaces', 'Name, Status, Age'],
  [
    '/api/v1/nodes',
    'Name, Status, Roles, Age, Version, Internal-IP*, External-IP*, OS-Image*, Kernel-Version*, Container-Runtime*',
  ],
  [
    '/api/v1/persistentvolumeclaims',
    'Name, Status, Volume, Capacity, Access Modes, StorageClass, VolumeAttributesClass, Age, VolumeMode*',
  ],
  [
    '/api/v1/persistentvolumes',
    'Name, Capacity, Access Modes, Reclaim Policy, Status, Claim, StorageClass, VolumeAttributesClass, Reason, Age, VolumeMode*',
  ],
  ['/api/v1/pods', 'Name, Ready, Status, Restarts, Age, IP*, Node*, Nominated Node*, Readiness Gates*'],
  ['/api/v1/podtemplates', 'Name, Containers, Images, Pod Labels'],
  [
    '/api/v1/replicationcontrollers',
    'Name, Desired:integer, Current:integer, Ready:integer, Age, Containers*, Images*, Selector*',
  ],
  ['/api/v1/resourcequotas', 'Name, Request, Limit, Age'],
  ['/api/v1/secrets', 'Name, Type, Data, Age'],
  ['/api/v1/serviceaccounts', 'Name, Age'],
  ['/api/v1/services', 'Name, Type, Cluster-IP, External-IP, Port(s), Age, Selector*'],
  ['/apis/apps/v1/controllerrevisions', 'Name, Controller, Revision, Age'],
  [
    '/apis/apps/v1/daemonsets',
    'Name, Desired:integer, Current:integer, Ready:integer, Up-to-date:integer, Available:integer, Node Selector, Age, Containers*, Images*, Selector*',
  ],
  ['/apis/apps/v1/deployments', 'Name, Ready, Up-to-date, Available, Age, Containers*, Images*, Selector*'],
  [
    '/apis/apps/v1/replicasets',
    'Name, Desired:integer, Current:integer, Ready:integer, Age, Containers*, Images*, Selector*',
  ],
  ['/apis/apps/v1/statefulsets', 'Name, Ready, Age, Containers*, Images*'],
  [
    '/apis/events.k8s.io/v1/events',
    'Last Seen, Type, Reason, Object, Subobject*, Source*, Message, First Seen*, Count*, Name*',
  ],
  ['/apis/autoscaling/v2/horizontalpodautoscalers', 'Name, Reference, Targets, MinPods, MaxPods, Replicas, Age'],
  [
    '/apis/batch/v1/cronjobs',
    'Name, Schedule, Timezone, Suspend:boolean, Active:integer, Last Schedule, Age, Containers*, Images*, Selector*',
  ],
  ['/apis/batch/v1/jobs', 'Name, Status, Completions, Duration, Age, Containers*, Images*, Selector*'],
  [
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    'Name, Age, SignerName, Requestor, RequestedDuration, Condition',
  ],
  ['/apis/networking.k8s.io/v1/ingressclasses', 'Name, Controller, Parameters, Age'],
  ['/apis/networking.k8s.io/v1/ingresses', 'Name, Class, Hosts, Address, Ports, Age'],
  ['/apis/networking.k8s.io/v1/ipaddresses', 'Name, ParentRef'],
  ['/apis/networking.k8s.io/v1/networkpolicies', 'Name, Pod-Selector, Age'],
  ['/apis/networking.k8s.io/v1/servicecidrs', 'Name, CIDRs, Age'],
  ['/apis/policy/v1/poddisruptionbudgets', 'Name, Min Available, Max Unavailable, Allowed Disruptions:integer, Age'],
  ['/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', 'Name, Role, Age, Users*, Groups*, ServiceAccounts*'],
  ['/apis/rbac.authorization.k8s.io/v1/clusterroles', 'Name, Created At:date'],
  ['/apis/rbac.authorization.k8s.io/v1/rolebindings', 'Name, Role, Age, Users*, Groups*, ServiceAccounts*'],
  ['/apis/rbac.authorization.k8s.io/v1/roles', 'Name, Created At:date'],
  [
    '/apis/storage.k8s.io/v1/csidrivers',
    'Name, AttachRequired:boolean, PodInfoOnMount:boolean, StorageCapacity:boolean, TokenRequests, RequiresRepublish:boolean, Modes, Age',
  ],
  ['/apis/storage.k8s.io/v1/csinodes', 'Name, Drivers:integer, Age'],
  ['/apis/storage.k8s.io/v1/csistoragecapacities', 'Name, Created At:date'],
  [
    '/apis/storage.k8s.io/v1/storageclasses',
    'Name, Provisioner, ReclaimPolicy, VolumeBindingMode, AllowVolumeExpansion, Age',
  ],
  ['/apis/storage.k8s.io/v1/volumeattachments', 'Name, Attacher, PV, Node, Attached:boolean, Age'],
  ['/apis/storage.k8s.io/v1/volumeattributesclasses', 'Name, DriverName, Age'],
  ['/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', 'Name, Webhooks:integer, Age'],
  ['/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies', 'Name, Validations:integer, ParamKind, Age'],
  ['/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings', 'Name, PolicyName, ParamRef, Age'],
  ['/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', 'Name, Webhooks:integer, Age'],
  ['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 'Name, Created At:date'],
  ['/apis/scheduling.k8s.io/v1/priorityclasses', 'Name, Value:integer, Global-Default:boolean, Age, PreemptionPolicy'],
  ['/apis/coordination.k8s.io/v1/leases', 'Name, Holder, Age'],
  ['/apis/node.k8s.io/v1/runtimeclasses', 'Name, Handler, Age'],
  ['/apis/discovery.k8s.io/v1/endpointslices', 'Name, AddressType, Ports, Endpoints, Age'],
  ['/apis/resource.k8s.io/v1/deviceclasses', 'Name, Age'],
  ['/apis/resource.k8s.io/v1/resourceclaimtemplates', 'Name, Age'],
  ['/apis/resource.k8s.io/v1/resourceslices', 'Name, Node, Driver, Pool, Age'],
]

describe.each(apiServers)('tables of $name', ({ start }) => {
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

  test.concurrent.each(COLUMNS)('%s', async (path, columns) => {
    const definitions = (await api.get(path, TABLE)).body['columnDefinitions'] as readonly Column[]
    const shown = definitions.map(
      ({ name, type, priority }) => `${name}${type === 'string' ? '' : `:${type}`}${priority === 0 ? '' : '*'}`,
    )
    expect(shown.join(', ')).toBe(columns)
  })
})
