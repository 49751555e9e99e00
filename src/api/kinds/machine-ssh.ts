// Fields of a Machine about joining its host over SSH: how to reach it, and how far the join has got; and of a MachineSet about the hosts of its machines.
import { canonicalJson } from '#lib/json.ts'
import * as s from '../build.ts'
import { check } from '../extras.ts'
import * as f from '../fields.ts'

/** Why a session was not possible, or its host refused. */
const SSH_FAILURES = [
  'Unreachable',
  'AuthRefused',
  'HostKeyChanged',
  'HostKeyUnknown',
  'PreflightFailed',
  'Full',
  'Busy',
  'TimedOut',
] as const

const HOST_KEY = { min: 16, max: 8192 }

const host = s.str('Host name or address.', { min: 1, max: 253 })
const port = s.fallback(f.port('Port of the SSH server.'), 22)
const user = s.fallback(
  s.str('User to log in as. Any other than root runs sudo, which must not ask for a password.', { min: 1, max: 64 }),
  'root',
)
const hostKey = s.optional(
  s.str('The public host key that the server must present, such as ssh-ed25519 AAAA….', HOST_KEY),
)
const hostCA = s.optional(s.str('Public key of the authority whose host certificates are accepted.', HOST_KEY))
const server = { host, port, user, hostKey, hostCA }

const jump = s.rule(s.obj('The SSH server through which the host is reached.', server), {
  cel: 'has(self.hostKey) != has(self.hostCA)',
  message: 'a jump host needs either hostKey or hostCA',
  holds: (j) => (j.hostKey === undefined) !== (j.hostCA === undefined),
})

const secretRef = f.secretRef(
  'Secret in kubenode-system that holds the private key, labeled kubenode.io/for-ssh=true. If key is absent: ssh-privatekey.',
)

const rescue = s.obj(
  'A second key, for repairs of a node whose agent is silent. The join installs it; it can run four commands on the host, and nothing else: state, evidence, restart-agent, reboot.',
  {
    secretRef: f.secretRef(
      'Secret in kubenode-system that holds the private key and, as ssh-publickey, its public key; labeled kubenode.io/for-ssh=true. If key is absent: ssh-privatekey.',
    ),
  },
)

export const ssh = s.obj(
  'How to reach the host over SSH: to join it, after which only a rescue uses it, or for good with channel SSH. Exactly one of hostKey, hostCA and firstUse is needed; channel SSH needs hostKey or hostCA.',
  {
    ...server,
    firstUse: s.optional(
      s.bool(
        'Accepts the host key that the server presents first, records it in the status, and pins it until host, port or jump host change.',
      ),
    ),
    jump: s.optional(jump),
    rescue: s.optional(rescue),
    secretRef,
  },
)

/** A longer list belongs into several sets: it is one object, which is read and written as a whole. */
export const MAX_SET_HOSTS = 1_000

const hosts = s.refine(
  s.mapList(
    'The hosts, best first. A machine takes the first one that no Machine has, and its name.',
    s.obj('One host.', {
      name: f.dnsLabel('Name of its Machine, and so of its Node.'),
      host,
      port: s.optional(f.port('Port of the SSH server, if not that of the set.')),
      hostKey,
      zone: s.optional(f.labelValue('Zone of the host, if not that of the template.')),
      rack: s.optional(f.labelValue('Rack of the host, if not that of the template.')),
      class: s.optional(f.labelValue('Hardware class of the host, if not that of the template.')),
    }),
    { keys: ['name'], min: 1, max: MAX_SET_HOSTS },
  ),
  {},
  { checks: [check('no server twice', serverTwice)] },
)

function serverTwice(list: unknown): string | undefined {
  if (!Array.isArray(list)) return undefined
  const servers = (list as readonly { host?: unknown; port?: unknown }[]).map((h) => canonicalJson([h.host, h.port]))
  const at = servers.findIndex((server, i) => servers.indexOf(server) < i)
  return at < 0 ? undefined : `lists the server of entry ${at} twice; remove one of the two`
}

/** Without firstUse: no user confirms the hosts of a set one by one. */
export const setSsh = s.rule(
  s.obj('How to reach the hosts of the set over SSH, and which hosts these are. Needs provider static.', {
    port,
    user,
    hostCA,
    jump: s.optional(jump),
    rescue: s.optional(rescue),
    secretRef,
    hosts,
  }),
  {
    cel: 'has(self.hostCA) || self.hosts.all(h, has(h.hostKey))',
    message: 'each host needs a hostKey, or the set a hostCA: the hosts of a set are never trusted on first use',
    holds: (ssh) => ssh.hostCA !== undefined || ssh.hosts.every((h) => h.hostKey !== undefined),
  },
)

export const JOIN_STEPS = ['Reach', 'Preflight', 'Fetch', 'Start', 'Certified'] as const

export const join = s.obj('Progress of joining the host over SSH.', {
  step: s.choice(
    'Reach: log in. Preflight: check the host. Fetch: the host downloads the agent. Start: the agent is installed and started. Certified: wait for its certificate.',
    JOIN_STEPS,
  ),
  attempt: s.int('Attempt number of this step.', { min: 1, max: 1_000_000 }),
  began: s.time('Start of the join.'),
  since: s.time('Start of the attempt, or when it ended.'),
  request: s.str('Digest of spec.ssh and of the last request to join again.', { max: 64 }),
  reason: s.optional(s.choice('Why the last attempt failed.', SSH_FAILURES)),
  message: s.optional(f.sentence('The cause, for people.', 400)),
  retryAt: s.optional(
    s.time('Next attempt. Absent after a failure: not retried until spec.ssh changes or a retry is requested.'),
  ),
  hostKey: s.optional(s.str('The host key that was accepted on first use.', HOST_KEY)),
  server: s.optional(
    s.str('The server of this join and of hostKey: host and port, after those of a jump host.', { min: 1, max: 600 }),
  ),
  rescue: s.optional(s.bool('Whether the join wrote the rescue key of spec.ssh to the host.')),
  finished: s.optional(s.time('When the agent had its certificate.')),
})

export const visit = s.obj('Why the host of a machine with channel SSH cannot be worked on. Absent while it can.', {
  since: s.time('Since when.'),
  reason: s.choice(
    'Why the last session failed. HostKeyChanged and HostKeyUnknown wait for a change of spec.ssh.',
    SSH_FAILURES,
  ),
  message: f.sentence('The cause, for people.', 400),
  request: s.str('Digest of spec.ssh at that time.', { max: 64 }),
})
