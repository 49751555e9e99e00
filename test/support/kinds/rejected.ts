// One object for each rule that must be refused, made from the kind's example by a few changes. Our validator and every server
// are held to the same list.
import { cloneJson, isObject, setOwn, type Json, type JsonObject } from '#lib/json.ts'
import type { ApiKind, InputOf } from '#api/kind.ts'
import { approval } from '#api/kinds/approval.ts'
import { cluster } from '#api/kinds/cluster.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { componentConfig } from '#api/kinds/component-config.ts'
import { defenderLedger } from '#api/kinds/defender-ledger.ts'
import { defenderPolicy } from '#api/kinds/defender-policy.ts'
import { fleetBrake } from '#api/kinds/fleet-brake.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { logRequest } from '#api/kinds/log-request.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { nodeRemedier } from '#api/kinds/node-remedier.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import { operationalHold } from '#api/kinds/operational-hold.ts'
import { GATE_KINDS, releasePipeline } from '#api/kinds/release-pipeline.ts'
import { release } from '#api/kinds/release.ts'
import { OPERATIONS } from '#api/kinds/operations.ts'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'

/** JSON pointer → new value; undefined takes the field away. */
type Changes = Readonly<Record<string, unknown>>

export interface Rejected {
  readonly kind: ApiKind
  readonly changes: Changes
  /** What is changed, where the example does not have the fields of the rule: they are declared, and not served yet. */
  readonly base?: ApiKind['example']
  /** The message of the rule. */
  readonly message: string
  /** The mistake is in the status: a server sees it only when the status is written. */
  readonly inStatus?: true
}

const BARE_JUMP = { host: 'a', secretRef: { name: 'key' }, jump: { host: 'b' } }
const SET_SSH = { secretRef: { name: 'key' }, hosts: [{ name: 'a', host: 'a', hostKey: 'ssh-ed25519 AAAAC3Nz' }] }
const OF_STATIC = { '/spec/template/spec/provider/name': 'static' }
const NO_KEYS =
  'channel SSH needs ssh with hosts, and ssh needs provider static: other providers do not tell which key a host of theirs has'
const BAD_REQUIREMENT = { matchExpressions: [{ key: 'a', operator: 'In' }] }
const REQUIREMENT = 'values are required for In and NotIn, and not allowed otherwise'
const ONE_OPERATION = `exactly one of ${OPERATIONS.join(', ')} must be set`
const GATES = `exactly one of ${GATE_KINDS.join(', ')} must be set`

const rejected = (kind: ApiKind, changes: Changes, message: string): Rejected => ({ kind, changes, message })

/** A cluster with a control plane of flavor kubernetes. */
const HOSTED_CLUSTER: InputOf<typeof cluster> = {
  ...cluster.example,
  metadata: { name: 'hosted', namespace: 'fleet' },
  spec: {
    version: '1.34.2',
    controlPlane: {
      replicas: 3,
      etcd: { replicas: 3, storage: '20Gi' },
      endpoint: { type: 'LoadBalancer', host: 'hosted.example.org' },
      resources: { cpu: '2', memory: '4Gi' },
    },
    network: { podCIDR: '10.244.0.0/16', serviceCIDR: '10.96.0.0/12' },
  },
}

const hosted = (changes: Changes, message: string): Rejected => ({
  kind: cluster,
  changes,
  message,
  base: HOSTED_CLUSTER,
})

/** A control plane of flavor embedded with one field that is for the other flavor. */
const ofEmbedded = (path: string, value: Json): Rejected => {
  const [field = '', below] = path.split('.')
  return hosted(
    { '/spec/controlPlane': { flavor: 'embedded', [field]: below === undefined ? value : { [below]: value } } },
    `${path} is only for flavor kubernetes; leave it out`,
  )
}

/** A kernel. */
const { install: _install, service: _service, ...SIGNED } = machineComponent.example.spec
const KERNEL: InputOf<typeof machineComponent> = {
  ...machineComponent.example,
  metadata: { name: 'kernel' },
  spec: {
    ...SIGNED,
    type: 'OS',
    disruption: 'Reboot',
    os: { kernel: '6.1.0-28-amd64', packages: ['linux-image.deb'] },
  },
}

const inStatus = (kind: ApiKind, changes: Changes, message: string): Rejected => ({
  kind,
  changes,
  message,
  inStatus: true,
})

/** A permit that also asks about the machine that would be next. */
const PERMIT_WITH_ALTERNATES: InputOf<typeof operationPermit> = {
  ...operationPermit.example,
  metadata: { name: 'base-kubelet-s2-1' },
  spec: {
    ...operationPermit.example.spec,
    alternates: [{ kind: 'Machine', name: 'prod-1-worker-0008', uid: '0d0f5f3e-1c2b-4f5a-8e6d-7a9b0c1d2e3f' }],
  },
}

const FIXED_PERMIT = 'a permit is immutable but for its lease and its results; request another permit'

/** A set with a slice that switches. */
const SET_WITH_SLICE: InputOf<typeof machineComponentSet> & Pick<MachineComponentSet, 'status'> = {
  ...machineComponentSet.example,
  metadata: { name: 'switching' },
  status: {
    slices: [
      {
        component: 'kubelet',
        version: '1.34.2',
        config: 'kubelet-1',
        step: 0,
        number: 0,
        machines: ['m-1', 'm-2'],
        phase: 'Switching',
        permit: 'base-kubelet-s0-0',
      },
    ],
  },
}

const decided = (changes: Changes): Rejected => ({
  ...inStatus(
    machineComponentSet,
    changes,
    'a slice is immutable under its permit: it gets no other target and no other machine',
  ),
  base: SET_WITH_SLICE,
})

/** Refused when they are created. */
export const REJECTED: readonly Rejected[] = [
  ofEmbedded('replicas', 2),
  ofEmbedded('etcd', { replicas: 1 }),
  ofEmbedded('resources', { cpu: '1' }),
  ofEmbedded('extraArgs', { 'apiserver.goaway-chance': '0.1' }),
  ofEmbedded('upgrade', { chain: true }),
  ofEmbedded('rotation.etcdAuthority', 2),
  ofEmbedded('rotation.encryptionKey', 2),
  ofEmbedded('rotation.frontProxyAuthority', 2),
  rejected(machine, { '/spec/channel': 'SSH' }, 'channel SSH needs ssh'),
  rejected(machine, { '/spec/ssh': BARE_JUMP }, 'a jump host needs either hostKey or hostCA'),
  rejected(
    machineSet,
    { ...OF_STATIC, '/spec/template/spec/ssh': { ...SET_SSH, jump: { host: 'b' } } },
    'a jump host needs either hostKey or hostCA',
  ),
  rejected(
    machineSet,
    { ...OF_STATIC, '/spec/template/spec/ssh': { ...SET_SSH, hosts: [{ name: 'a', host: 'a' }] } },
    'each host needs a hostKey, or the set a hostCA: the hosts of a set are never trusted on first use',
  ),
  rejected(machineSet, { '/spec/template/spec/channel': 'SSH' }, NO_KEYS),
  rejected(machineSet, { '/spec/template/spec/ssh': SET_SSH }, NO_KEYS),
  rejected(machine, { '/spec/acceptance': {} }, 'exactly one of script, pod must be set'),
  rejected(machineSet, { '/spec/template/spec/acceptance': {} }, 'exactly one of script, pod must be set'),
  rejected(
    machine,
    { '/spec/provider/name': 'nspawn', '/spec/notices': 'AWS' },
    'notices needs channel Agent and a host of a cloud',
  ),
  rejected(
    machineSet,
    { '/spec/template/spec/channel': 'Observe', '/spec/template/spec/notices': 'Alicloud' },
    'notices needs channel Agent and a host of a cloud',
  ),
  rejected(machine, { '/spec/provider/offerings': [{}] }, 'an offering must name a zone, a type or a market'),
  rejected(
    machineSet,
    { '/spec/template/spec/provider/offerings': [{}] },
    'an offering must name a zone, a type or a market',
  ),
  rejected(machineSet, { '/spec/selector': BAD_REQUIREMENT }, REQUIREMENT),
  rejected(machineComponent, { '/spec/install': undefined }, 'types Package and Script require install'),
  rejected(machineComponent, { '/spec/artifacts': undefined }, 'install requires artifacts'),
  rejected(
    machineComponent,
    { '/spec/daemonSet': { namespace: 'kube-system', name: 'cni' } },
    'daemonSet is required for type DaemonSet, and not allowed for others',
  ),
  rejected(
    machineComponent,
    { '/spec/script': { command: ['x'] } },
    'script is required for type Script, and not allowed for others',
  ),
  ...(
    [
      [{ '/spec/os': undefined }, 'os is required for type OS, and not allowed for others'],
      [{ '/spec/disruption': 'Drain' }, 'type OS requires disruption Reboot'],
      [
        { '/spec/probes': undefined },
        'type OS requires a probe: without one a kernel becomes the default as soon as it has booted',
      ],
      [
        { '/spec/install': { unpack: { path: '/opt/x', strip: 0 } } },
        'type OS has neither install nor service: what its archive holds is in os.packages',
      ],
      [{ '/spec/artifacts': undefined }, 'os.packages requires artifacts'],
      [
        { '/spec/os/images': [{ arch: 'amd64', image: `registry.example.com/os@sha256:${'a'.repeat(64)}` }] },
        'images have their own packages and boot arguments (/usr/lib/bootc/kargs.d)',
      ],
      [{ '/spec/os/packages': ['a.deb', 'b.rpm'] }, 'the packages must be all .deb or all .rpm'],
    ] as const
  ).map(([changes, message]): Rejected => ({ kind: machineComponent, changes, message, base: KERNEL })),
  rejected(
    machineComponent,
    { '/spec/install/unpack': { path: '/opt/x' } },
    'exactly one of binaries, unpack must be set',
  ),
  rejected(
    machineComponent,
    { '/spec/service': { args: ['x'] } },
    'a service needs exec, or a unit that the component installs',
  ),
  rejected(
    machineComponent,
    { '/spec/files': [{ path: '/etc/x', format: 'plain', template: '', existing: 'Leave' }] },
    'existing is only for units in /etc/systemd/system/',
  ),
  rejected(
    machineComponent,
    { '/spec/probes/0/tcp': { port: 80 } },
    'exactly one of exec, http, tcp, file, unit, cri, nodeLease must be set',
  ),
  rejected(machineComponentSet, { '/spec/selector': BAD_REQUIREMENT }, REQUIREMENT),
  rejected(
    machineComponentSet,
    { '/spec/rollout/inspections/0/nodeReady': undefined },
    'exactly one of nodeReady, componentsHealthy, conditionAbsent, http, prometheus, podProbe must be set',
  ),
  rejected(
    machineComponentSet,
    {
      '/spec/rollout/inspections/0/nodeReady': undefined,
      '/spec/rollout/inspections/0/prometheus': { query: 'up', min: '100', max: '20' },
    },
    'min must not be above max: no value passes',
  ),
  inStatus(
    machineComponentSet,
    { '/status': { slices: [{ component: 'kubelet', step: 0, number: 0, phase: 'Switching', machines: [] }] } },
    'a slice in phase Switching must have a permit',
  ),
  rejected(componentCanary, { '/spec/selector': BAD_REQUIREMENT }, REQUIREMENT),
  rejected(componentCanary, { '/spec/pick/percent': 5 }, 'exactly one of count, percent, machines must be set'),
  rejected(nodeRemedier, { '/spec/nodeSelector': BAD_REQUIREMENT }, REQUIREMENT),
  rejected(nodeRemedier, { '/spec/ladder/0/operations/0': {} }, ONE_OPERATION),
  rejected(
    nodeRemedier,
    {
      '/spec/ladder/0/verify': {
        stableFor: '1m',
        script: { component: 'memtest', version: '1.0.0' },
        pod: { template: 'memtest' },
      },
    },
    'only one of script, pod may be set',
  ),
  rejected(remedyOperationJob, { '/spec/operations/0': { cordon: {}, uncordon: {} } }, ONE_OPERATION),
  rejected(defenderPolicy, { '/spec/selector': BAD_REQUIREMENT }, REQUIREMENT),
  rejected(defenderPolicy, { '/spec/protect/0/name': 'x' }, 'exactly one of name, selector must be set'),
  rejected(
    defenderPolicy,
    { '/spec/blackouts/0/from': '2026-01-31T12:00:00Z' },
    'exactly one of cron, from must be set',
  ),
  rejected(defenderPolicy, { '/spec/breaker/failures': 11 }, 'failures must not exceed of'),
  rejected(defenderLedger, { '/metadata/name': 'other' }, 'the only DefenderLedger is named cluster'),
  rejected(fleetBrake, { '/metadata/name': 'other' }, 'the only FleetBrake is named fleet'),
  rejected(operationalHold, { '/spec/target': { kind: 'Node', selector: BAD_REQUIREMENT } }, REQUIREMENT),
  rejected(operationalHold, { '/spec/target/name': undefined }, 'exactly one of name, selector must be set'),
  rejected(operationalHold, { '/spec/effect': 'Pin' }, 'effects Pin, AllowEdit and Promote require to'),
  rejected(operationalHold, { '/spec/effect': 'Extend' }, 'effect Extend is for a Cluster'),
  rejected(maintenanceEvent, { '/spec/notAfter': '2026-02-01T01:59:59Z' }, 'notBefore must not be after notAfter'),
  hosted(
    { '/spec/kubeconfigSecretRef': { name: 'x' } },
    'exactly one of controlPlane, kubeconfigSecretRef must be set',
  ),
  hosted({ '/spec/version': undefined }, 'a control plane requires version'),
  hosted({ '/spec/ttl': '1h' }, 'ttl requires deletionPolicy Delete'),
  rejected(cluster, { '/spec/ttl': '1h', '/spec/deletionPolicy': 'Delete' }, 'ttl is for a control plane on the hub'),
  rejected(
    cluster,
    { '/spec/addons': [{ name: 'coredns', version: '1.12.1' }] },
    'addons are for a control plane on the hub',
  ),
  hosted({ '/spec/controlPlane/etcd/replicas': 2 }, 'etcd must have 1, 3 or 5 members'),
  rejected(fleetSource, { '/spec/ref/tag': 'v1' }, 'exactly one of branch, tag, commit must be set'),
  rejected(
    fleetSource,
    { '/spec/notify': [{ name: 'chat' }] },
    'exactly one of webhook, slack, commitStatus must be set',
  ),
  rejected(
    fleetSource,
    {
      '/spec/previews': { branches: 'preview/*', template: 'dev' },
      '/spec/verify': { mode: 'Off', signersFile: { path: 'signers.yaml' } },
    },
    'previews are not served with verify.signersFile: list the signers in verify.signers',
  ),
  rejected(fleetSource, { '/spec/verify': { mode: 'All' } }, 'anchor and signers are required unless mode is Off'),
  rejected(fleetSource, { '/spec/tracks/0/match/selector': BAD_REQUIREMENT }, REQUIREMENT),
  rejected(releasePipeline, { '/spec/stages/0/clusters/selector': BAD_REQUIREMENT }, REQUIREMENT),
  rejected(
    releasePipeline,
    { '/spec/stages/0/clusters/names': ['a'] },
    'exactly one of selector, names, hub must be set',
  ),
  rejected(releasePipeline, { '/spec/stages/1/gates/0/machinesReady': undefined }, GATES),
  rejected(
    releasePipeline,
    {
      '/spec/stages/1/gates/0/machinesReady': undefined,
      '/spec/stages/1/gates/0/prometheus': { query: 'up', min: '9.5', max: '-10' },
    },
    'min must not be above max: no value passes',
  ),
]

/** Refused as an update of the example. */
export const REJECTED_UPDATES: readonly Rejected[] = [
  hosted({ '/spec/controlPlane/etcd/storage': '40Gi' }, 'etcd is immutable; create another cluster'),
  hosted(
    { '/spec/controlPlane/endpoint/type': 'ClusterIP' },
    'the type of an endpoint is immutable; create another cluster',
  ),
  hosted(
    { '/spec/controlPlane/endpoint/host': 'other.example.org' },
    'the host of an endpoint is immutable; create another cluster',
  ),
  rejected(machineSet, { '/spec/selector': { matchLabels: {} } }, 'the selector of a MachineSet is immutable'),
  rejected(machineComponent, { '/spec/disruption': 'None' }, 'a MachineComponent is immutable; create another version'),
  rejected(
    componentConfig,
    { '/spec/digest': '0'.repeat(64) },
    'a ComponentConfig is immutable; create another object for other values',
  ),
  rejected(
    remedyOperationJob,
    { '/spec/rung': 1 },
    'a RemedyOperationJob is immutable; create another job for another repair',
  ),
  rejected(operationPermit, { '/spec/operations': ['Reboot'] }, FIXED_PERMIT),
  rejected(operationPermit, { '/spec/targets/0/name': 'other' }, FIXED_PERMIT),
  rejected(operationPermit, { '/spec/component/version': '9.9.9' }, FIXED_PERMIT),
  rejected(operationPermit, { '/spec/component': undefined }, FIXED_PERMIT),
  rejected(operationPermit, { '/spec/requester/part': 'step 9 slice 9' }, FIXED_PERMIT),
  rejected(operationPermit, { '/spec/recovery': true }, FIXED_PERMIT),
  { ...rejected(operationPermit, { '/spec/alternates/0/name': 'other' }, FIXED_PERMIT), base: PERMIT_WITH_ALTERNATES },
  decided({ '/status/slices/0/version': '9.9.9' }),
  decided({ '/status/slices/0/config': undefined }),
  decided({ '/status/slices/0/recovery': 'Rollback' }),
  decided({ '/status/slices/0/machines': ['m-1', 'm-2', 'm-3'] }),
  rejected(operationalHold, { '/spec/target/name': 'other' }, 'the target of a hold is immutable; create another hold'),
  rejected(operationalHold, { '/spec/effect': 'Freeze' }, 'the effect of a hold is immutable; create another hold'),
  rejected(logRequest, { '/spec/machine': 'm-2' }, 'a LogRequest is immutable; create another one'),
  rejected(
    maintenanceEvent,
    { '/spec/machine': 'm-2' },
    'spec.machine of a MaintenanceEvent is immutable: its node may be drained; end it and plan another one',
  ),
  rejected(approval, { '/spec/by': 'eve@example.org' }, 'an Approval is immutable; create another one'),
  hosted(
    { '/spec/controlPlane/flavor': 'embedded' },
    'the flavor of a control plane is immutable; create another cluster',
  ),
  hosted({ '/spec/network/podCIDR': '10.0.0.0/8' }, 'podCIDR is immutable'),
  hosted({ '/spec/network/serviceCIDR': '10.0.0.0/8' }, 'serviceCIDR is immutable'),
  hosted({ '/spec/network/dnsDomain': 'other.local' }, 'dnsDomain is immutable'),
  rejected(release, { '/spec/track': 'other' }, 'a Release is immutable; another commit creates another Release'),
]

/** The example with the changes made. */
/** Before the changes. */
export const rejectedBase = ({ kind, base }: Pick<Rejected, 'kind' | 'base'>): ApiKind['example'] =>
  base ?? kind.example

export function rejectedObject(r: Pick<Rejected, 'kind' | 'changes' | 'base'>): JsonObject {
  const object = cloneJson(rejectedBase(r)) as unknown as JsonObject
  for (const [pointer, value] of Object.entries(r.changes)) change(object, pointer.slice(1).split('/'), value)
  return object
}

function change(parent: unknown, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (!isObject(parent) && !Array.isArray(parent)) throw new Error(`nothing to change at ${key}`)
  const holder = parent as Record<string, unknown>
  if (rest.length > 0) return change(holder[key], rest, value)
  if (value === undefined) delete holder[key]
  else setOwn(holder, key, value)
}
