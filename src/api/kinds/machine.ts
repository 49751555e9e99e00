// Machine: one node as we want it and as it is. The agent watches exactly this object.
import { AGE, PHASE, READY, text, wide } from '../columns.ts'
import {
  bool,
  choice,
  fallback,
  int,
  list,
  map,
  mapList,
  obj,
  optional,
  rule,
  setOf,
  str,
  time,
  unserved,
} from '../build.ts'
import {
  absolutePath,
  annotations,
  commitId,
  componentName,
  componentVersion,
  conditions,
  dnsLabel,
  labels,
  labelValue,
  objectName,
  observedGeneration,
  phase,
  port,
  secretRef,
  reasonWord,
  sentence,
  sha256,
  taints,
  uid,
  waitingFor,
} from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type StatusOf } from '../kind.ts'

/** A machine remembers so many versions of a component. */
export const MAX_HEALTHY_BEFORE = 3

/** More components than this on one node is a mistake. */
export const MAX_COMPONENTS = 64
const MAX_JOBS = 16

const NO_SSH = 'machines are not managed over SSH'

const provider = obj('The infrastructure provider that creates the machine, and its parameters.', {
  name: dnsLabel('Name of the provider, such as process, nspawn or static.'),
  params: optional(
    map('Parameters for the provider, which documents the keys.', str('A value.', { max: 1024 }), { max: 32 }),
  ),
})

const ssh = obj('How to reach the host over SSH.', {
  host: str('Host name or address.', { min: 1, max: 253 }),
  port: fallback(port('Port of the SSH server.'), 22),
  user: fallback(str('User to log in as.', { min: 1, max: 64 }), 'root'),
  secretRef: secretRef('Secret that holds the private key.'),
  hostKey: str('The public host key that the server must present, as in known_hosts.', { min: 16, max: 1024 }),
})

/** What a MachineSet's template may say; the rest of a Machine belongs to controllers. */
export const machineTemplateProps = {
  provider: optional(provider),
  channel: fallback(
    unserved(
      choice('How the machine is managed: by its agent, over SSH, or only observed.', ['Agent', 'SSH', 'Observe']),
      NO_SSH,
      ['SSH'],
    ),
    'Agent',
  ),
  ssh: optional(unserved(ssh, NO_SSH)),
  pool: optional(labelValue('Pool of the machine; a domain for budgets.')),
  zone: optional(labelValue('Zone of the machine; a domain for budgets and spreading.')),
  rack: optional(labelValue('Rack of the machine; a domain for budgets and spreading.')),
  class: optional(labelValue('Hardware class; a new version is tried on each class before it reaches most machines.')),
  labels: optional(labels('Labels of the Node.')),
  annotations: optional(annotations('Annotations of the Node.')),
  taints: optional(taints('Taints of the Node.')),
}

const componentOrder = obj('One component at one version on this machine.', {
  name: componentName('The component.'),
  version: componentVersion('The version to run.'),
  config: optional(objectName('The ComponentConfig from which files are rendered.')),
  setRef: optional(objectName('The MachineComponentSet that declares this version.')),
  canaryRef: optional(objectName('The ComponentCanary that declares this version.')),
  slice: optional(time('When the slice of this attempt started; a slice tries a machine once.')),
  fresh: optional(
    int('Number of consecutive attempts that only restored files that had been modified on the node.', {
      min: 1,
      max: 1_000,
    }),
  ),
  workload: optional(
    bool('It runs as pods of a DaemonSet: the machine controller switches and reports it, and agents ignore it.'),
  ),
  attempt: fallback(
    int(
      'Attempt number; after a rollback, an agent does not retry the same version and configuration within one attempt.',
      {
        min: 1,
        max: 1_000_000,
      },
    ),
    1,
  ),
  switch: optional(
    obj('The order to switch now.', {
      attempt: int('The attempt to switch; the agent ignores any other.', { min: 1, max: 1_000_000 }),
      permit: objectName('The OperationPermit for the switch; the agent reads its phase immediately before switching.'),
    }),
  ),
})

const componentStatus = obj('One component as reported by the agent.', {
  name: componentName('The component.'),
  version: optional(componentVersion('The version in use.')),
  desired: optional(componentVersion('The desired version that the agent last received.')),
  state: phase('Component', 'What the agent is doing with it.'),
  since: time('Since when the component has been in this state.'),
  message: optional(sentence('Why, for people.')),
  reason: optional(reasonWord('The cause, as a reason of the catalogue.')),
  output: optional(
    str('The last lines of its log, if it exited or a probe failed. Secrets are masked.', { max: 1024 }),
  ),
  drifted: optional(
    sentence(
      'Modified files or units that the agent does not restore by itself, because that needs an order to switch.',
    ),
  ),
  digest: optional(sha256('SHA-256 of the installed content; equal nodes have equal digests.')),
  attempt: optional(int('The attempt of this state.', { min: 1, max: 1_000_000 })),
  healthyBefore: optional(
    list(
      'Versions that passed their settle window on this machine, newest last.',
      obj('One version.', {
        version: componentVersion('The version.'),
        digest: sha256('SHA-256 of the statement of its MachineComponent.'),
        config: optional(objectName('The ComponentConfig in use at that time.')),
      }),
      { max: MAX_HEALTHY_BEFORE },
    ),
  ),
})

const spec = rule(
  rule(
    obj('The desired state of the machine.', {
      providerID: optional(str('The name of the machine at its provider.', { min: 1, max: 253 })),
      address: optional(str('Address of the machine.', { min: 1, max: 253 })),
      ...machineTemplateProps,
      components: optional(
        mapList('Component versions to run on this machine. Written by the machine controller.', componentOrder, {
          keys: ['name'],
          max: MAX_COMPONENTS,
        }),
      ),
      jobs: optional(
        setOf(
          'RemedyOperationJobs that the agent watches. Written by the job controller.',
          objectName('Name of a job.'),
          {
            max: MAX_JOBS,
          },
        ),
      ),
    }),
    {
      cel: "self.channel == 'SSH' ? has(self.ssh) : true",
      message: 'channel SSH needs ssh',
      fieldPath: '.ssh',
      holds: (s) => s.channel !== 'SSH' || s.ssh !== undefined,
    },
  ),
  {
    cel: "self.channel == 'Observe' ? !has(self.components) || self.components.size() == 0 : true",
    message: 'an observed machine cannot have components',
    fieldPath: '.components',
    holds: (s) => s.channel !== 'Observe' || (s.components ?? []).length === 0,
  },
)

const status = obj('The observed state of the machine.', {
  observedGeneration: optional(observedGeneration()),
  phase: optional(phase('Machine')),
  nodeRef: optional(
    obj('The Node of this machine.', {
      name: objectName('Name of the Node.'),
      uid: uid('UID of the Node.'),
    }),
  ),
  inServiceSince: optional(
    time('When the machine first went into service: its Node existed without the startup taint. Absent before that.'),
  ),
  bootID: optional(str('Changes with every boot of the kernel.', { max: 64 })),
  agent: optional(
    obj('The agent on the machine.', {
      version: componentVersion('Version of the agent.'),
      folder: optional(absolutePath('Data folder of the agent on its host.')),
      publicKey: optional(str('Public key that secret values are encrypted with, in base64.', { max: 512 })),
      certificate: optional(
        obj('The certificate that the agent acts with.', {
          issued: time('Start of its validity.'),
          expires: time('End of its validity; renewed before two thirds are over.'),
        }),
      ),
    }),
  ),
  platform: optional(
    obj('The platform, as detected by the agent.', {
      os: optional(str('Operating system and its release.', { max: 128 })),
      arch: optional(str('Processor architecture.', { max: 32 })),
      kernel: optional(str('Release of the kernel.', { max: 128 })),
    }),
  ),
  components: optional(
    mapList('Components as reported by the agent.', componentStatus, { keys: ['name'], max: MAX_COMPONENTS }),
  ),
  commit: optional(commitId('The commit of the current spec.')),
  waitingFor: optional(waitingFor()),
  foreignFiles: optional(
    list('Files of other owners where a component needs to write its own; truncated.', absolutePath('A path.'), {
      max: 20,
    }),
  ),
  conditions: optional(conditions()),
})

export const machine = defineKind({
  kind: 'Machine',
  plural: 'machines',
  shortNames: ['km'],
  namespaced: false,
  doc: 'One node: its desired state and its observed state.',
  spec,
  status,
  selectable: ['.spec.pool', '.status.phase'],
  columns: [
    PHASE,
    READY,
    text('Reason', '.status.conditions[?(@.type=="Ready")].reason'),
    text('Node', '.status.nodeRef.name'),
    text('Pool', '.spec.pool'),
    wide(text('Zone', '.spec.zone')),
    wide(text('Class', '.spec.class')),
    wide(text('Agent', '.status.agent.version')),
    AGE,
  ],
  conditions: [
    'Ready',
    'Reconciling',
    'Stalled',
    'AgentReachable',
    'NodeReady',
    'ComponentsConsistent',
    'InfrastructureReady',
    'Joined',
    'CertificateExpiring',
    'Cordoned',
    'Drained',
    'Paused',
    'Frozen',
    'TrustRefused',
  ],
  example: {
    metadata: { name: 'prod-1-worker-0007', labels: { 'kubenode.io/pool': 'workers' } },
    spec: {
      providerID: 'static://rack-12/host-0007',
      provider: { name: 'static', params: { host: 'host-0007' } },
      address: '10.1.4.7',
      pool: 'workers',
      zone: 'zone-a',
      rack: 'rack-12',
      class: 'x86-64-large',
      labels: { 'node.example.org/disk': 'nvme' },
      taints: [{ key: 'node.example.org/dedicated', value: 'batch', effect: 'NoSchedule' }],
      components: [
        { name: 'containerd', version: '2.1.4', setRef: 'base', attempt: 1 },
        {
          name: 'kubelet',
          version: '1.34.2+k3s1',
          config: 'kubelet.0d1f',
          setRef: 'base',
          attempt: 2,
          switch: { attempt: 2, permit: 'base-kubelet-s2-0' },
        },
      ],
    },
  },
})

export type Machine = ObjectOf<typeof machine>
export type MachineInput = InputOf<typeof machine>
export type MachineStatus = StatusOf<typeof machine>

/** What the Machine says of one component, and what its agent reports of it. */
export type ComponentEntry = NonNullable<Machine['spec']['components']>[number]
export type ComponentStatus = NonNullable<MachineStatus['components']>[number]
