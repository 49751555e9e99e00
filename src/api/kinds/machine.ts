// Machine: one node as we want it and as it is. The agent watches exactly this object.
import { bool, choice, fallback, int, list, map, mapList, obj, optional, rule, setOf, str, time } from '../build.ts'
import { MAX_HEALTHY_BEFORE } from '../protocol/healthy-before.ts'
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

/** More components than this on one node is a mistake. */
export const MAX_COMPONENTS = 64
const MAX_JOBS = 16

const provider = obj('Which infrastructure provider makes the machine, and with what parameters.', {
  name: dnsLabel('Name of the provider, such as process, nspawn or static.'),
  params: optional(
    map('What the provider needs to know; it documents the keys.', str('A value.', { max: 1024 }), { max: 32 }),
  ),
})

const ssh = obj('How to reach the host over SSH.', {
  host: str('Host name or address.', { min: 1, max: 253 }),
  port: fallback(port('Port of the SSH server.'), 22),
  user: fallback(str('User to log in as.', { min: 1, max: 64 }), 'root'),
  secretRef: secretRef('Secret that holds the private key.'),
  hostKey: str('The public host key that the server must show, as in known_hosts.', { min: 16, max: 1024 }),
})

/** What a MachineSet's template may say; the rest of a Machine belongs to controllers. */
export const machineTemplateProps = {
  provider: optional(provider),
  channel: fallback(
    choice('How the machine is managed: by its agent, over SSH, or only observed.', ['Agent', 'SSH', 'Observe']),
    'Agent',
  ),
  ssh: optional(ssh),
  pool: optional(labelValue('Pool that the machine belongs to; a domain of budgets.')),
  zone: optional(labelValue('Zone; a domain of budgets and of spreading.')),
  rack: optional(labelValue('Rack; a domain of budgets and of spreading.')),
  class: optional(labelValue('Hardware class; new versions are tried on each class before the bulk.')),
  labels: optional(labels('Labels that the Node shall carry.')),
  annotations: optional(annotations('Annotations that the Node shall carry.')),
  taints: optional(taints('Taints that the Node shall carry.')),
}

const componentOrder = obj('One component at one version on this machine.', {
  name: componentName('The component.'),
  version: componentVersion('The version to run.'),
  config: optional(objectName('The ComponentConfig to render files from.')),
  setRef: optional(objectName('The MachineComponentSet that this came from.')),
  canaryRef: optional(objectName('The ComponentCanary that this came from.')),
  wave: optional(time('When the slice began that this attempt is for; a slice tries a machine once.')),
  fresh: optional(
    int('So many attempts in a row only brought a fresh copy of what had been changed on the node.', {
      min: 1,
      max: 1_000,
    }),
  ),
  workload: optional(
    bool('It runs as pods of a DaemonSet: the machine controller switches it and reports it; agents leave it alone.'),
  ),
  attempt: fallback(
    int('Counts tries; an agent that went back does not try the same again within one attempt.', {
      min: 1,
      max: 1_000_000,
    }),
    1,
  ),
  switch: optional(
    obj('Tells the agent to switch now.', {
      attempt: int('The attempt that may switch; another one is ignored.', { min: 1, max: 1_000_000 }),
      permit: objectName('The OperationPermit that covers it; the agent reads its phase right before.'),
    }),
  ),
})

const componentStatus = obj('One component as the agent sees it.', {
  name: componentName('The component.'),
  version: optional(componentVersion('The version that is in use now.')),
  desired: optional(componentVersion('The version that the agent was last told.')),
  state: phase('Component', 'What the agent is doing with it.'),
  since: time('Since when it is in this state.'),
  message: optional(sentence('Why, for people.')),
  reason: optional(reasonWord('Why, in one word: a reason of the catalogue.')),
  output: optional(
    str('The last lines of its log, when it ended by itself or a probe failed. Secrets are masked.', { max: 1024 }),
  ),
  drifted: optional(
    sentence('What is not as it was installed and is not put right by itself: it waits for an order to switch.'),
  ),
  digest: optional(sha256('SHA-256 over what is installed, so that equal nodes are seen to be equal.')),
  attempt: optional(int('The attempt that this state belongs to.', { min: 1, max: 1_000_000 })),
  healthyBefore: optional(
    list(
      'Versions that passed their settle window on this machine, the newest last.',
      obj('One version.', {
        version: componentVersion('The version.'),
        digest: sha256('SHA-256 over the statement of its MachineComponent.'),
        config: optional(objectName('The ComponentConfig that it ran with.')),
      }),
      { max: MAX_HEALTHY_BEFORE },
    ),
  ),
})

const spec = rule(
  rule(
    obj('The machine as it should be.', {
      providerID: optional(str('The name of the machine at its provider.', { min: 1, max: 253 })),
      address: optional(str('Address by which the machine is reached.', { min: 1, max: 253 })),
      ...machineTemplateProps,
      components: optional(
        mapList('Versions that this machine shall run. Written whole by the machine controller.', componentOrder, {
          keys: ['name'],
          max: MAX_COMPONENTS,
        }),
      ),
      jobs: optional(
        setOf(
          'RemedyOperationJobs that the agent shall watch. Written by the job controller.',
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
    message: 'an observed machine has no components to manage',
    fieldPath: '.components',
    holds: (s) => s.channel !== 'Observe' || (s.components ?? []).length === 0,
  },
)

const status = obj('The machine as it is.', {
  observedGeneration: optional(observedGeneration()),
  phase: optional(phase('Machine')),
  nodeRef: optional(
    obj('The Node that this machine became.', {
      name: objectName('Name of the Node.'),
      uid: uid('UID of the Node; another one is another node.'),
    }),
  ),
  inServiceSince: optional(
    time('When the machine first took work: its Node was there without the startup taint. Absent if it never did.'),
  ),
  bootID: optional(str('Changes with every boot of the kernel.', { max: 64 })),
  agent: optional(
    obj('The agent on the machine.', {
      version: componentVersion('Version of the agent.'),
      publicKey: optional(str('Key to which secret values are sealed, in base64.', { max: 512 })),
    }),
  ),
  platform: optional(
    obj('What the machine is, as the agent found it.', {
      os: optional(str('Operating system and its release.', { max: 128 })),
      arch: optional(str('Processor architecture.', { max: 32 })),
      kernel: optional(str('Release of the kernel.', { max: 128 })),
    }),
  ),
  components: optional(
    mapList('What the agent reports about each component.', componentStatus, { keys: ['name'], max: MAX_COMPONENTS }),
  ),
  commit: optional(commitId('The commit that the current spec came from.')),
  waitingFor: optional(waitingFor()),
  foreignFiles: optional(
    list(
      'Files in the way of a component that somebody else put there; at most the first ones.',
      absolutePath('A path.'),
      { max: 20 },
    ),
  ),
  conditions: optional(conditions()),
})

export const machine = defineKind({
  kind: 'Machine',
  plural: 'machines',
  shortNames: ['km'],
  namespaced: false,
  doc: 'One node as we want it and as it is.',
  spec,
  status,
  selectable: ['.spec.pool', '.status.phase'],
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: 'Node', type: 'string', jsonPath: '.status.nodeRef.name' },
    { name: 'Pool', type: 'string', jsonPath: '.spec.pool' },
    { name: 'Zone', type: 'string', jsonPath: '.spec.zone', priority: 1 },
    { name: 'Class', type: 'string', jsonPath: '.spec.class', priority: 1 },
    { name: 'Agent', type: 'string', jsonPath: '.status.agent.version', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  conditions: [
    'Ready',
    'Reconciling',
    'Stalled',
    'AgentReachable',
    'NodeReady',
    'ComponentsHealthy',
    'ComponentsConsistent',
    'InfrastructureReady',
    'Joined',
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
