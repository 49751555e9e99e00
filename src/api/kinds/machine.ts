// Machine: one node's desired and actual state. The agent watches exactly this object.
import { canonicalJson } from '#lib/json.ts'
import { PHASE, READY, text, wide } from '../columns.ts'
import * as s from '../build.ts'
import { check } from '../extras.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type StatusOf } from '../kind.ts'
import { MAINTENANCE_KINDS, MAINTENANCE_STATES } from './maintenance-event.ts'
import { acceptanceReport, acceptanceStatus, machineAcceptance } from './machine-acceptance.ts'
import { join, setSsh, ssh, visit } from './machine-ssh.ts'
import { LOG_REQUESTS_OF_MACHINE } from '../protocol/log-bounds.ts'
import { MOST_TICKET } from './log-request.ts'

/** Versions that a machine remembers per component. */
export const MAX_HEALTHY_BEFORE = 3

/** More components on one node is a mistake. */
export const MAX_COMPONENTS = 64
const MAX_JOBS = 16

/** Offerings are tried one after the other; in a longer list the order no longer means a preference. */
export const MAX_OFFERINGS = 16

const offeringProps = {
  zone: s.optional(s.str('Zone of the provider.', { min: 1, max: 63 })),
  type: s.optional(s.str('Instance type of the provider.', { min: 1, max: 63 })),
  market: s.optional(
    s.choice(
      'OnDemand hosts stay until they are deleted. Spot hosts cost less, and the provider may take them back at short notice. If absent: OnDemand.',
      ['OnDemand', 'Spot'],
    ),
  ),
}

const offering = s.rule(s.obj('One way to get the host.', offeringProps), {
  cel: 'has(self.zone) || has(self.type) || has(self.market)',
  message: 'an offering must name a zone, a type or a market',
  holds: (o) => o.zone !== undefined || o.type !== undefined || o.market !== undefined,
})

function twiceProblem(list: unknown): string | undefined {
  if (!Array.isArray(list)) return undefined
  const texts = list.map((o: unknown) => canonicalJson({ market: 'OnDemand', ...(o as object) }))
  const at = texts.findIndex((text, i) => texts.indexOf(text) < i)
  return at < 0 ? undefined : `lists offering ${at} twice; remove one of the two`
}

const provider = s.obj('The infrastructure provider that creates the machine, and its parameters.', {
  name: f.dnsLabel('Name of the provider, such as process, nspawn or static.'),
  params: s.optional(
    s.map('Parameters for the provider, which documents the keys.', s.str('A value.', { max: 1024 }), { max: 32 }),
  ),
  offerings: s.optional(
    s.refine(
      s.list(
        'Ways to get the host, best first. The next one is tried when the provider has none left of the one before. If absent: as the parameters specify.',
        offering,
        { max: MAX_OFFERINGS },
      ),
      {},
      { checks: [check('no offering twice', twiceProblem)] },
    ),
  ),
})

/** Clouds whose metadata service agents can read. */
export const NOTICE_CLOUDS = ['Alicloud', 'AWS'] as const

/** A host has one notice of each kind, rarely two. */
export const MAX_NOTICES = 8

/** Their hosts run on another host, and its metadata service describes that one. */
const HOSTS_OF_HOSTS: ReadonlySet<string> = new Set(['process', 'nspawn', 'hollow'])

/** For Machines and templates: refuses a field that nothing would act on. */
export const noticesRule = {
  cel: "!has(self.notices) || (self.channel == 'Agent' && !(has(self.provider) && self.provider.name in ['process', 'nspawn', 'hollow']))",
  message: 'notices needs channel Agent and a host of a cloud',
  fieldPath: '.notices',
  holds: (s: {
    readonly notices?: string
    readonly channel?: string
    readonly provider?: { readonly name: string }
  }): boolean =>
    s.notices === undefined || ((s.channel ?? 'Agent') === 'Agent' && !HOSTS_OF_HOSTS.has(s.provider?.name ?? '')),
}

const channel = s.choice(
  'How the machine is managed. Agent: by the agent on its host. SSH: by the controllers, who log in once a minute; this is slower, and detects and repairs less. Observe: it is only observed.',
  ['Agent', 'SSH', 'Observe'],
)

const managedBy = { provider: s.optional(provider), channel: s.fallback(channel, 'Agent') }

const placeAndNode = {
  pool: s.optional(f.labelValue('Pool of the machine; a domain for budgets.')),
  zone: s.optional(f.labelValue('Zone of the machine; a domain for budgets and spreading.')),
  rack: s.optional(f.labelValue('Rack of the machine; a domain for budgets and spreading.')),
  notices: s.optional(
    s.choice(
      'The cloud whose metadata service the agent asks for notices about its host: reclaimed spot hosts, planned maintenance, rebalance recommendations. If absent, it asks none.',
      NOTICE_CLOUDS,
    ),
  ),
  class: s.optional(
    f.labelValue('Hardware class; a new version is tried on each class before it reaches most machines.'),
  ),
  labels: s.optional(f.labels('Labels of the Node.')),
  annotations: s.optional(f.annotations('Annotations of the Node.')),
  taints: s.optional(f.taints('Taints of the Node.')),
  acceptance: machineAcceptance,
}

/** What a MachineSet's template may set; the rest of a Machine belongs to controllers. */
export const machineTemplateProps = { ...managedBy, ssh: s.optional(setSsh), ...placeAndNode }

/** How a component leaves a machine; shared by sets and Machines. */
export const onRemoval = s.choice(
  'What happens when the component leaves the machine. Restore: what was there before it was adopted is put back. Keep: what runs stays, as files and a unit that work without KubeNode. Uninstall: it is stopped and removed, except for what makes a node a node (kubelet, container runtime, CNI plugins), which is kept. If absent: Restore for what was adopted, Uninstall for the rest.',
  ['Restore', 'Keep', 'Uninstall'],
)

const MAX_ADOPTED = 32
const adopted = (doc: string) =>
  s.optional(s.list(doc, s.str('A path, or a unit with its state.', { min: 1, max: 512 }), { max: MAX_ADOPTED }))

const adoption = s.obj('What adopting the files of others for this component would do, or did.', {
  equal: adopted('Paths whose content equals that of the component; truncated.'),
  differs: adopted('Paths with other content than that of the component, and what differs; truncated.'),
  kept: adopted('Files and units whose originals are kept and can be restored; truncated.'),
  replaced: adopted('Paths whose content changes; truncated.'),
  stays: adopted('Units and drop-ins of the host that stay in force; truncated.'),
  alsoStarted: adopted('Enabled units of the host that start the same program under another name; truncated.'),
  blocked: adopted('Paths that cannot be adopted, and why; truncated.'),
  restarts: s.bool('Whether the running program is restarted.'),
})

const removal = s.obj('What would happen if the component left the machine now.', {
  how: s.choice('What is done.', ['Restore', 'Keep', 'Uninstall']),
  restarts: s.bool('Whether a running program is stopped or restarted.'),
  message: s.optional(f.sentence('Why, if that is not what the set declares.')),
})

const componentOrder = s.obj('One component at one version on this machine.', {
  name: f.componentName('The component.'),
  version: f.componentVersion('The version to run.'),
  config: s.optional(f.objectName('The ComponentConfig from which files are rendered.')),
  setRef: s.optional(f.objectName('The MachineComponentSet that declares this version.')),
  canaryRef: s.optional(f.objectName('The ComponentCanary that declares this version.')),
  slice: s.optional(s.time('When the slice of this attempt started; a slice tries a machine once.')),
  part: s.optional(
    s.str(
      'The slice or batch that wanted this attempt, such as set/base step 2 slice 1 or canary/try batch 1. Absent for a first installation.',
      { min: 1, max: 300 },
    ),
  ),
  fresh: s.optional(
    s.int('Number of consecutive attempts that only restored files that had been modified on the node.', {
      min: 1,
      max: 1_000,
    }),
  ),
  workload: s.optional(
    s.bool('It runs as pods of a DaemonSet: the machine controller switches and reports it, and agents ignore it.'),
  ),
  attempt: s.fallback(
    s.int(
      'Attempt number; after a rollback, an agent does not retry the same version and configuration within one attempt.',
      {
        min: 1,
        max: 1_000_000,
      },
    ),
    1,
  ),
  onRemoval: s.optional(onRemoval),
  switch: s.optional(
    s.obj('The order to switch now.', {
      attempt: s.int('The attempt to switch; the agent ignores any other.', { min: 1, max: 1_000_000 }),
      permit: f.objectName(
        'The OperationPermit for the switch; the agent reads its phase immediately before switching.',
      ),
    }),
  ),
})

const componentStatus = s.obj('One component as reported by the agent.', {
  name: f.componentName('The component.'),
  version: s.optional(f.componentVersion('The version in use.')),
  desired: s.optional(f.componentVersion('The desired version that the agent last received.')),
  state: f.phase('Component', 'What the agent is doing with it.'),
  since: s.time('Since when the component has been in this state.'),
  message: s.optional(f.sentence('Why, for people.')),
  reason: s.optional(f.reasonWord('The cause, as a reason of the catalogue.')),
  output: s.optional(
    s.str('The last lines of its log, if it exited or a probe failed. Secrets are masked.', { max: 1024 }),
  ),
  rebootingSince: s.optional(
    s.time('Since when the component waits for its machine to reboot. Absent once the machine is up again.'),
  ),
  drifted: s.optional(
    f.sentence(
      'Modified files or units that the agent does not restore by itself, because that needs an order to switch.',
    ),
  ),
  digest: s.optional(f.sha256('SHA-256 of the installed content; equal nodes have equal digests.')),
  attempt: s.optional(s.int('The attempt of this state.', { min: 1, max: 1_000_000 })),
  adoption: s.optional(adoption),
  removal: s.optional(removal),
  healthyBefore: s.optional(
    s.list(
      'Versions that passed their settle window on this machine, newest last.',
      s.obj('One version.', {
        version: f.componentVersion('The version.'),
        digest: f.sha256('SHA-256 of the statement of its MachineComponent.'),
        config: s.optional(f.objectName('The ComponentConfig in use at that time.')),
      }),
      { max: MAX_HEALTHY_BEFORE },
    ),
  ),
})

const desired = s.rule(
  s.obj('The desired state of the machine.', {
    providerID: s.optional(s.str('The name of the machine at its provider.', { min: 1, max: 253 })),
    address: s.optional(s.str('Address of the machine.', { min: 1, max: 253 })),
    ...managedBy,
    ssh: s.optional(ssh),
    ...placeAndNode,
    adoption: s.optional(
      s.choice(
        'What the agent does with files of others where a component needs to write its own. Refuse: it leaves them, and the component waits. Preview: components are staged and compared, nothing is changed and no switch is ordered. Adopt: the originals are kept, then replaced in an ordinary switch. If absent: Refuse.',
        ['Refuse', 'Preview', 'Adopt'],
      ),
    ),
    leaving: s.optional(
      s.bool('The order to the agent to hand the host back and to leave it. Only the machine controller writes it.'),
    ),
    components: s.optional(
      s.mapList('Component versions to run on this machine. Written by the machine controller.', componentOrder, {
        keys: ['name'],
        max: MAX_COMPONENTS,
      }),
    ),
    jobs: s.optional(
      s.setOf(
        'RemedyOperationJobs that the agent watches. Written by the job controller.',
        f.objectName('Name of a job.'),
        {
          max: MAX_JOBS,
        },
      ),
    ),
    logs: s.optional(
      s.setOf(
        'Names of LogRequests, encrypted for the agent of this machine. Written by the log controller.',
        s.str('The name of a request, encrypted.', { min: 1, max: MOST_TICKET }),
        { max: LOG_REQUESTS_OF_MACHINE },
      ),
    ),
  }),
  {
    cel: "self.channel == 'SSH' ? has(self.ssh) : true",
    message: 'channel SSH needs ssh',
    fieldPath: '.ssh',
    holds: (s) => s.channel !== 'SSH' || s.ssh !== undefined,
  },
)

const spec = s.rule(desired, noticesRule)

const notice = s.obj('One notice of the metadata service.', {
  id: s.str('Identifies it; the same notice always has the same ID.', { min: 1, max: 128 }),
  kind: s.choice('The effect on the host. A Notice is for people: nothing is done.', MAINTENANCE_KINDS),
  state: s.choice('The state that the cloud reports.', MAINTENANCE_STATES),
  unplanned: s.optional(s.bool('Whether it happened without an announcement.')),
  dataLoss: s.optional(s.bool("Whether data on the host's own disks is lost.")),
  bill: s.optional(s.bool('Whether a bill that is not paid, or the end of what was paid for, is the cause.')),
  notBefore: s.optional(s.time('Earliest start.')),
  notAfter: s.optional(s.time('Latest start.')),
  description: s.optional(f.sentence('The words of the cloud.', 200)),
})

const provisioning = s.obj(
  'The latest attempt to get a host. It is written before the provider is called, so that a crash or a lost reply never leads to a second host.',
  {
    attempt: s.int('Number of the attempt. The next one starts only after the provider refused this one.', {
      min: 1,
      max: 1_000_000,
    }),
    offering: s.optional(s.obj('The offering of this attempt.', offeringProps)),
    token: s.str('Identifies the attempt to the provider: the same token always means the same host.', {
      min: 60,
      max: 60,
      pattern: '^[0-9a-f]{60}$',
      expects: '60 lower-case hexadecimal digits',
    }),
    since: s.time('When the attempt started.'),
    answer: s.optional(
      s.choice(
        'What the provider answered last. Host: it created the host. Exhausted: it has none left of the offering. Refused: the request must change. Throttled and Unknown: the same request is repeated. Absent: no answer yet.',
        ['Host', 'Exhausted', 'Refused', 'Throttled', 'Unknown'],
      ),
    ),
    message: s.optional(f.sentence('The answer in the words of the provider.')),
    providerID: s.optional(s.str('The host that this attempt created.', { min: 1, max: 253 })),
    request: s.optional(s.str('Digest of the provider, its parameters and offerings that were refused.', { max: 64 })),
    failures: s.optional(s.int('Number of calls in a row that did not lead to a host.', { min: 1, max: 1_000_000 })),
    retryAt: s.optional(s.time('Not called again before this time.')),
    lost: s.optional(
      s.int('Number of hosts before this attempt that the provider created and no longer shows.', {
        min: 1,
        max: 1_000_000,
      }),
    ),
  },
)

const status = f.status('The observed state of the machine.', {
  phase: s.optional(f.phase('Machine')),
  nodeRef: s.optional(
    s.obj('The Node of this machine.', {
      name: f.objectName('Name of the Node.'),
      uid: f.uid('UID of the Node.'),
    }),
  ),
  inServiceSince: s.optional(
    s.time('When the machine first went into service: its Node existed without the startup taint. Absent before that.'),
  ),
  bootID: s.optional(s.str('Changes with every boot of the kernel.', { max: 64 })),
  agent: s.optional(
    s.obj('The agent on the machine.', {
      version: f.componentVersion('Version of the agent.'),
      channel: s.optional(
        s.choice('SSH: there is no agent on the host, and the controllers report over SSH in its place.', ['SSH']),
      ),
      phase: s.optional(
        s.choice('Set while it hands its host back: Leaving, and Left with its last report.', ['Leaving', 'Left']),
      ),
      folder: s.optional(f.absolutePath('Data folder of the agent on its host.')),
      publicKey: s.optional(s.str('Public key that secret values are encrypted with, in base64.', { max: 512 })),
      authorities: s.optional(
        s.setOf(
          'SHA-256 of the certificate of each authority that the agent verifies the API server with. An authority is not removed before all agents trust the next one.',
          f.sha256('SHA-256 of a certificate.'),
          { max: 8 },
        ),
      ),
      certificate: s.optional(
        s.obj('The certificate that the agent acts with.', {
          issued: s.time('Start of its validity.'),
          expires: s.time('End of its validity; renewed before two thirds are over.'),
          authority: s.optional(f.sha256('SHA-256 of the certificate of the authority that signed it.')),
        }),
      ),
      kubelet: s.optional(
        s.obj(
          'Authorities of the kubelet of the host, read from its files. An authority is not removed before all kubelets that agents see can work without it.',
          {
            authorities: s.optional(
              s.setOf(
                'SHA-256 of the certificate of each authority that it verifies the API server with. Absent: unknown.',
                f.sha256('SHA-256 of a certificate.'),
                { max: 8 },
              ),
            ),
            certificate: s.optional(
              s.obj('The certificate that it acts with. Absent for a kubelet without one.', {
                authority: s.optional(
                  f.sha256('SHA-256 of the certificate of the authority that signed it. Absent: unknown.'),
                ),
              }),
            ),
          },
        ),
      ),
    }),
  ),
  platform: s.optional(
    s.obj('The platform, as detected by the agent.', {
      os: s.optional(s.str('Operating system and its release.', { max: 128 })),
      arch: s.optional(s.str('Processor architecture.', { max: 32 })),
      kernel: s.optional(s.str('Release of the kernel.', { max: 128 })),
      distribution: s.optional(
        s.obj('The distribution, as its os-release file names it.', {
          id: s.str('Its ID, such as debian or rhel.', { min: 1, max: 64 }),
          like: s.optional(
            s.list('IDs of distributions that it is made from, nearest first.', s.str('An ID.', { min: 1, max: 64 }), {
              max: 8,
            }),
          ),
          version: s.optional(s.str('Its version, such as 12 or 9.4.', { min: 1, max: 64 })),
        }),
      ),
      bootArguments: s.optional(
        s.list(
          'Arguments that the kernel was booted with. Only those of a fixed list, none of which takes a secret.',
          s.str('An argument.', { min: 1, max: 128 }),
          { max: 32 },
        ),
      ),
      bootDigest: s.optional(
        f.sha256('SHA-256 of these arguments and of the names of the others. Equal boots have equal digests.'),
      ),
    }),
  ),
  components: s.optional(
    s.mapList('Components as reported by the agent.', componentStatus, { keys: ['name'], max: MAX_COMPONENTS }),
  ),
  commit: s.optional(f.commitId('The commit of the current spec.')),
  powerCycle: s.optional(
    s.obj(
      'The last restart by the provider because the machine did not return from a reboot for a component. At most one for each reboot; absent once the agent reports again.',
      {
        component: f.componentName('The component that the machine reboots for.'),
        rebootingSince: s.time('The reboot: rebootingSince of the component.'),
        at: s.time(
          'When the provider got the order. It is recorded before: if the answer is lost, there is no second order.',
        ),
      },
    ),
  ),
  acceptance: acceptanceStatus,
  acceptanceReport,
  provisioning: s.optional(provisioning),
  join: s.optional(join),
  visit: s.optional(visit),
  waitingFor: s.optional(f.waitingFor()),
  notices: s.optional(
    s.obj('The notices of the metadata service of the cloud about the host. Absent until the agent has read it once.', {
      from: s.choice('The cloud.', NOTICE_CLOUDS),
      items: s.list('Its notices; empty when it has none.', notice, { max: MAX_NOTICES }),
      problem: s.optional(f.sentence('Why the list may be out of date.')),
    }),
  ),
  foreignFiles: s.optional(
    s.list('Files of other owners where a component needs to write its own; truncated.', f.absolutePath('A path.'), {
      max: 20,
    }),
  ),
})

/** Written by the machine controller; the agent writes the others. */
export const CONTROLLED_CONDITIONS = [
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
] as const

export const machine = defineKind('Machine', 'km', {
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
    wide(text('Rack', '.spec.rack')),
    wide(text('Class', '.spec.class')),
    wide(text('Agent', '.status.agent.version')),
  ],
  conditions: [...CONTROLLED_CONDITIONS, 'Frozen', 'TrustRefused', 'TokenExpiring'],
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

/** The Machine's order for one component, and the agent's report about it. */
export type ComponentOrder = NonNullable<Machine['spec']['components']>[number]
export type MachineNotices = NonNullable<MachineStatus['notices']>
export type Provisioning = NonNullable<MachineStatus['provisioning']>
export type MachineAcceptance = NonNullable<Machine['spec']['acceptance']>
export type AcceptanceStatus = NonNullable<MachineStatus['acceptance']>
export type AcceptanceReport = NonNullable<MachineStatus['acceptanceReport']>
export type SshJoin = NonNullable<MachineStatus['join']>
export type SshVisit = NonNullable<MachineStatus['visit']>
/** Certified needs no session: the agent reports to the API server. */
export type SshSessionStep = Exclude<SshJoin['step'], 'Certified'>
export type SshSpec = NonNullable<Machine['spec']['ssh']>
export type ComponentStatus = NonNullable<MachineStatus['components']>[number]
