// Cluster: a control plane, either as workloads on the hub or an existing one registered by its kubeconfig.
import { date, PHASE, statusOf, text, whole, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf, type StatusOf } from '../kind.ts'

const MAX_ADDONS = 64
const MAX_ADDON_BYTES = 64 * 1024

const kubernetesVersion = (doc: string) =>
  s.str(doc, {
    min: 5,
    max: 64,
    pattern: '^[0-9]+\\.[0-9]+\\.[0-9]+([-+][0-9A-Za-z.+-]+)?$',
    expects: 'a version such as 1.34.2',
  })

const cidr = (doc: string) =>
  s.str(doc, { min: 4, max: 43, pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$', expects: 'a range such as 10.244.0.0/16' })

const resources = s.obj('Resources of each component of the control plane.', {
  cpu: s.optional(f.quantity('Processors.')),
  memory: s.optional(f.quantity('Memory.')),
})

/** Snapshots of a control plane are files next to it. */
const snapshotName = (doc: string) =>
  s.str(doc, {
    min: 1,
    max: 63,
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    expects: 'lowercase letters, digits and dashes',
  })

export const PROGRAM_PLACES = ['Hub', 'Cluster', 'None'] as const

/** Checks before an upgrade whose problems a commit may accept. */
export const ACCEPTABLE = ['DisruptionBudgets', 'UnreadyNodes', 'DeprecatedApis'] as const
export type Acceptable = (typeof ACCEPTABLE)[number]

const controlPlaneFields = s.obj('The control plane, on the hub.', {
  flavor: s.fallback(
    s.immutable(
      s.choice('The Kubernetes binaries, or the embedded API server.', ['kubernetes', 'embedded']),
      'the flavor of a control plane is immutable; create another cluster',
    ),
    'kubernetes',
  ),
  endpoint: s.optional(
    s.obj('Where the API server listens.', {
      port: s.optional(s.int('Its port; a free one, which it keeps, when left out.', { min: 1, max: 65_535 })),
      type: s.optional(
        s.immutable(
          s.choice('Of the Service of the API servers of flavor kubernetes; ClusterIP when left out. Immutable.', [
            'ClusterIP',
            'NodePort',
            'LoadBalancer',
          ]),
          'the type of an endpoint is immutable; create another cluster',
        ),
      ),
      host: s.optional(
        s.immutable(
          s.str(
            'Name or address under which clients reach it: required for NodePort, for LoadBalancer the one that it is given when left out. Certificates are made for it. Immutable.',
            { min: 1, max: 253, pattern: '^[0-9A-Za-z.:-]+$', expects: 'a name or an address' },
          ),
          'the host of an endpoint is immutable; create another cluster',
        ),
      ),
    }),
  ),
  accept: s.optional(
    s.setOf(
      'Checks before an upgrade whose problems do not stop it: budgets that let no pod go, more than a tenth of the nodes not Ready, APIs in use that the new version no longer serves. A check that cannot be read stops it in any case.',
      s.choice('A check.', ACCEPTABLE),
      { min: 1, max: ACCEPTABLE.length },
    ),
  ),
  snapshot: s.optional(
    snapshotName(
      'Name of a snapshot to take: it is taken once, and the last ten are kept, those of a schedule included. Another name takes another one.',
    ),
  ),
  snapshots: s.optional(
    s.obj(
      'Snapshots on a schedule. Each is opened before an older one is dropped; those that a user asked for are kept beside them.',
      {
        every: s.fallback(f.duration('Time from one to the next, at least 5m.'), '6h'),
        keep: s.fallback(s.int('How many of the schedule are kept.', { min: 1, max: 7 }), 4),
      },
    ),
  ),
  restore: s.optional(
    s.obj('A snapshot to go back to, once; what was written since is lost. Needs a permit of the Defender.', {
      snapshot: snapshotName('Name of the snapshot, as in status.snapshots.'),
      attempt: s.fallback(s.int('Another number restores the same snapshot once more.', { min: 1, max: 1_000_000 }), 1),
    }),
  ),
  rotation: s.optional(
    s.obj(
      'A higher number replaces keys once, in phases during which the cluster keeps working. status.rotations has the phase. A lower number changes nothing; the first keys have those that are declared when they are made, or 1.',
      {
        certificateAuthority: s.optional(
          s.int(
            'The certificate authority: its successor is trusted beside it, signs once all agents trust it, and stays alone once all have certificates of it.',
            { min: 1, max: 1_000_000 },
          ),
        ),
        serviceAccountKeys: s.optional(
          s.int(
            'The keys that sign tokens of service accounts: the old ones are accepted until their last token has ended.',
            { min: 1, max: 1_000_000 },
          ),
        ),
        etcdAuthority: s.optional(
          s.int('The authority of etcd, which its members and the API servers know.', { min: 1, max: 1_000_000 }),
        ),
        encryptionKey: s.optional(
          s.int(
            'The key that encrypts Secrets in etcd: all of them are encrypted again, and the old one is kept for the snapshots that need it.',
            { min: 1, max: 1_000_000 },
          ),
        ),
        frontProxyAuthority: s.optional(
          s.int('The authority of requests that API servers hand on to extension API servers.', {
            min: 1,
            max: 1_000_000,
          }),
        ),
      },
    ),
  ),
  replicas: s.optional(
    s.int('Number of API servers, controller managers and schedulers; one when left out.', { min: 1, max: 7 }),
  ),
  etcd: s.optional(
    s.immutable(
      s.obj('The etcd cluster. Immutable.', {
        // A rule on the number, not on the store: a server checks the store's default before the number is in it.
        replicas: s.fallback(
          s.rule(s.int('Number of members: 1, 3 or 5.', { min: 1, max: 5 }), {
            cel: 'self % 2 == 1',
            message: 'etcd must have 1, 3 or 5 members',
            holds: (replicas) => replicas % 2 === 1,
          }),
          1,
        ),
        storage: s.fallback(f.quantity('Size of the volume of each member.'), '8Gi'),
        storageClass: s.optional(f.objectName('Storage class of the volumes.')),
      }),
      'etcd is immutable; create another cluster',
    ),
  ),
  resources: s.optional(resources),
  extraArgs: s.optional(
    s.map(
      'Additional arguments of the components, as component.flag, such as apiserver.goaway-chance.',
      s.str('A value.', { max: 1_024 }),
      { max: 64 },
    ),
  ),
  upgrade: s.optional(
    s.obj('How another version is reached, of flavor kubernetes.', {
      soak: s.fallback(
        f.duration(
          'How long the new programs keep the behavior of the old version, which they can go back to in seconds.',
        ),
        '1h',
      ),
      chain: s.fallback(s.bool('Walk the minors in between one by one, instead of refusing to skip them.'), false),
    }),
  ),
})

/** Flavor embedded has one process: no etcd, no encryption, no extension API servers. */
const OF_KUBERNETES: Readonly<Record<string, (plane: s.Out<typeof controlPlaneFields>) => unknown>> = {
  replicas: (plane) => plane.replicas,
  etcd: (plane) => plane.etcd,
  resources: (plane) => plane.resources,
  extraArgs: (plane) => plane.extraArgs,
  upgrade: (plane) => plane.upgrade,
  'rotation.etcdAuthority': (plane) => plane.rotation?.etcdAuthority,
  'rotation.encryptionKey': (plane) => plane.rotation?.encryptionKey,
  'rotation.frontProxyAuthority': (plane) => plane.rotation?.frontProxyAuthority,
}

/** In CEL: `has` of a field fails when what it is in is missing. */
const isMissing = (path: string): string =>
  path
    .split('.')
    .map((_, i, names) => `!has(self.${names.slice(0, i + 1).join('.')})`)
    .join(' || ')

/** A rule for each field, so that a message names only those that are there. */
const controlPlane = Object.entries(OF_KUBERNETES).reduce(
  (plane, [path, valueOf]) =>
    s.rule(plane, {
      cel: `self.flavor == 'kubernetes' || ${isMissing(path)}`,
      message: `${path} is only for flavor kubernetes; leave it out`,
      fieldPath: `.${path}`,
      holds: (seen) => seen.flavor === 'kubernetes' || valueOf(seen) === undefined,
    }),
  controlPlaneFields,
)

const addon = s.obj('One addon that is applied before machines join.', {
  name: f.dnsLabel('Name of the addon.'),
  version: s.str('Its version.', { min: 1, max: 128 }),
  values: s.optional(
    s.freeform('Its image with a digest, and for some replicas, clusterIP and upstream.', {
      maxBytes: MAX_ADDON_BYTES,
    }),
  ),
  recipe: s.optional(
    f.sha256(
      'Digest of the recipe that an administrator of the hub keeps under this name and version; left out for coredns and dashboard.',
    ),
  ),
})

const spec = s.rule(
  s.union(
    s.obj('The desired state of the cluster.', {
      version: s.optional(
        kubernetesVersion(
          'Version of the control plane. The embedded API server reports it, with the API of its own version.',
        ),
      ),
      controlPlane: s.optional(controlPlane),
      kubeconfigSecretRef: s.optional(
        f.secretRef(
          'Secret with the kubeconfig of an existing cluster: in the same namespace, or in kubenode-clusters for a Cluster in kubenode-system. Its name is cluster- with the name of the Cluster, or its annotation kubenode.io/cluster is namespace/name of the Cluster.',
        ),
      ),
      network: s.optional(
        s.obj('Address ranges, of flavor kubernetes.', {
          podCIDR: s.optional(s.immutable(cidr('Pod IP range.'), 'podCIDR is immutable')),
          serviceCIDR: s.optional(s.immutable(cidr('Service IP range.'), 'serviceCIDR is immutable')),
          dnsDomain: s.fallback(
            s.immutable(f.objectName('DNS domain of the cluster.'), 'dnsDomain is immutable'),
            'cluster.local',
          ),
        }),
      ),
      addons: s.optional(
        s.mapList(
          'Addons that are applied to a control plane on the hub before machines join: coredns, dashboard, and those that an administrator of the hub keeps a recipe of.',
          addon,
          { keys: ['name'], max: MAX_ADDONS },
        ),
      ),
      programs: s.optional(
        s.choice(
          'Where controllers, approver and Defender of the cluster run: on the hub, in the cluster itself, or nowhere that the hub knows of. With Cluster the hub deploys them there and runs them until their pods are ready; for a registered cluster it means Hub. Hub when left out for a control plane on the hub, None for a registered cluster, which for Hub needs a Secret of its name in each of kubenode-hosted-controllers, kubenode-hosted-approver and kubenode-hosted-defender.',
          PROGRAM_PLACES,
        ),
      ),
      stage: s.optional(f.labelValue('Stage of the cluster; pipelines select by it.')),
      deletionPolicy: s.fallback(
        s.choice(
          'What happens to a control plane on the hub if this object is deleted: it is kept, or deleted after a final snapshot.',
          ['Orphan', 'Delete'],
        ),
        'Orphan',
      ),
      ttl: s.optional(
        f.duration(
          'Time after which a control plane on the hub expires, from the creation of this object; requires deletionPolicy Delete. While git declares the Cluster it is stopped and keeps its data, otherwise it is deleted. A longer time brings it back.',
        ),
      ),
    }),
    ['controlPlane', 'kubeconfigSecretRef'],
  ),
  {
    cel: 'has(self.controlPlane) ? has(self.version) : true',
    message: 'a control plane requires version',
    fieldPath: '.version',
    holds: (s) => s.controlPlane === undefined || s.version !== undefined,
  },
)

const specWithTtl = s.rule(spec, {
  cel: "has(self.ttl) ? self.deletionPolicy == 'Delete' : true",
  message: 'ttl requires deletionPolicy Delete',
  fieldPath: '.deletionPolicy',
  holds: (s) => s.ttl === undefined || s.deletionPolicy === 'Delete',
})

const specOfHosted = s.rule(specWithTtl, {
  cel: 'has(self.ttl) ? has(self.controlPlane) : true',
  message: 'ttl is for a control plane on the hub',
  fieldPath: '.ttl',
  holds: (s) => s.ttl === undefined || s.controlPlane !== undefined,
})

const specWithAddons = s.rule(specOfHosted, {
  cel: 'has(self.addons) ? has(self.controlPlane) : true',
  message: 'addons are for a control plane on the hub',
  fieldPath: '.addons',
  holds: (s) => s.addons === undefined || s.controlPlane !== undefined,
})

const status = f.waitingStatus('The observed state of the cluster.', {
  phase: s.optional(f.phase('Cluster')),
  highAvailability: s.optional(
    s.choice('Whether more than one API server serves a control plane on the hub.', ['Yes', 'No']),
  ),
  endpoint: s.optional(f.url('URL of its API server.')),
  kubeconfigSecret: s.optional(
    f.secretRef('Secret with the generated kubeconfig, in kubenode-clusters; of a preview, in kubenode-previews.'),
  ),
  uid: s.optional(s.str('UID of its kube-system namespace, to detect a different cluster.', { max: 64 })),
  served: s.optional(
    s.list('Minor versions that its host serves.', s.str('A minor version, such as 1.36.', { min: 1, max: 16 }), {
      max: 32,
    }),
  ),
  versions: s.optional(
    s.mapList(
      'The running versions.',
      s.obj('One component.', { part: f.dnsLabel('The component.'), version: s.str('Its version.', { max: 64 }) }),
      { keys: ['part'], max: 16 },
    ),
  ),
  history: s.optional(
    s.mapList(
      'The last ten versions.',
      s.obj('One version.', {
        version: s.str('The version.', { max: 64 }),
        startedAt: s.time('When the upgrade to this version started.'),
        completedAt: s.optional(s.time('When the upgrade was complete.')),
        snapshot: s.optional(s.str('Name of the snapshot that was taken before the upgrade.', { max: 253 })),
        message: s.optional(f.sentence('The result.')),
      }),
      { keys: ['version', 'startedAt'], max: 10 },
    ),
  ),
  snapshots: s.optional(
    s.mapList(
      'The snapshots of a control plane on the hub, oldest first. Each was opened and counted after it was taken.',
      s.obj('One snapshot.', {
        name: s.str('Its name.', { max: 63 }),
        takenAt: s.time('When it was taken.'),
        version: s.str('Version of the control plane then.', { max: 64 }),
        bytes: s.int('Its size.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
        sha256: s.optional(s.str('Digest of the file, in hex; of flavor embedded.', { max: 64 })),
        revision: s.optional(
          s.int('Revision of the store; of flavor kubernetes.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
        ),
        objects: s.int('Objects in it.', { min: 0, max: 1_000_000_000 }),
      }),
      { keys: ['name'], max: 10 },
    ),
  ),
  snapshotSchedule: s.optional(
    s.obj('What became of the schedule of snapshots.', {
      since: s.time('Since when the schedule is kept.'),
      last: s.optional(s.str('The newest snapshot that was opened, of the schedule or not.', { max: 63 })),
      lastAt: s.optional(s.time('When it was taken.')),
      nextAt: s.time('When the next one is due.'),
      message: s.optional(f.sentence('What the next one waits for, once it is due.')),
    }),
  ),
  change: s.optional(
    s.obj('The upgrade that is under way.', {
      from: s.str('Version before.', { max: 64 }),
      to: s.str('Version after.', { max: 64 }),
      message: f.sentence('The step, and what it waits for.'),
      wayBack: s.choice(
        'What a return to the version before means now: the old programs, in seconds, or the restore of a snapshot.',
        ['Programs', 'Restore'],
      ),
      snapshot: s.optional(s.str('The snapshot that a return restores.', { max: 63 })),
      since: s.optional(s.time('What was written since is lost by it.')),
      startedAt: s.optional(s.time('When it was first observed.')),
    }),
  ),
  rotations: s.optional(
    s.mapList(
      'The rotations that are under way, of a control plane whose host makes its credentials.',
      s.obj('One rotation.', {
        name: s.choice('What is replaced.', [
          'CertificateAuthority',
          'ServiceAccountKeys',
          'EtcdAuthority',
          'EncryptionKey',
          'FrontProxyAuthority',
        ]),
        phase: s.choice(
          'Distributing: the new one is only trusted. Reissuing: the new one signs, and the old one is still trusted.',
          ['Distributing', 'Reissuing'],
        ),
        since: s.time('Start of the phase.'),
        waitsFor: s.optional(
          s.obj('Who must follow first.', {
            what: s.choice('Who, or what is left that needs the old one.', [
              'Agents',
              'Servers',
              'Secrets',
              'Snapshots',
            ]),
            seen: s.optional(s.int('How many did; missing when they cannot be asked.', { min: 0, max: 1_000_000 })),
            of: s.optional(s.int('How many there are.', { min: 0, max: 1_000_000 })),
            missing: s.list('The first of the others.', s.str('A name.', { max: 253 }), { max: 3 }),
          }),
        ),
        until: s.optional(s.time('The phase lasts until then at least.')),
        message: f.sentence('The phase and what it waits for, for people.'),
      }),
      { keys: ['name'], max: 5 },
    ),
  ),
  restored: s.optional(s.str('The last restore that was done: snapshot/attempt.', { max: 100 })),
  credentialsEnd: s.optional(s.time('When the client certificate that sync has for the cluster expires.')),
  reachableSince: s.optional(s.time('Since when the cluster answers sync without a break.')),
  addons: s.optional(
    s.mapList(
      'The addons.',
      s.obj('One addon.', {
        name: f.dnsLabel('Name of the addon.'),
        version: s.str('The applied version.', { max: 128 }),
        healthy: s.choice('Whether it is healthy.', ['True', 'False', 'Unknown']),
        waitsFor: s.optional(
          s.choice('What its declared version waits for: nodes whose kubelets are as new as the API server.', [
            'Nodes',
          ]),
        ),
        message: s.optional(f.sentence('Why, for people.')),
      }),
      { keys: ['name'], max: MAX_ADDONS },
    ),
  ),
  programs: s.optional(
    s.obj('Where its programs run, of a Cluster whose programs are, or were, deployed into it.', {
      place: s.choice('Which side runs them now; the holder of the Lease in the cluster leads.', ['Hub', 'Cluster']),
      since: s.time('Since when.'),
      unledSince: s.optional(
        s.time('Since when one of them has no leader, or no pod, although they run in the cluster.'),
      ),
      hostedSince: s.optional(
        s.time('On the way back: since when processes on the hub wait for the Leases of all of them.'),
      ),
      returned: s.optional(s.bool('They came back to the hub because the cluster did not run them.')),
      message: s.optional(f.sentence('What a move waits for, for people.')),
    }),
  ),
  machines: s.optional(
    s.obj(
      'Its machines, counted while the cluster answers sync: every five minutes, every twenty in a cluster of 10,000, and every minute in one that has none.',
      {
        total: s.int('All machines.', { min: 0, max: 1_000_000 }),
        ready: s.int('Machines that are Ready.', { min: 0, max: 1_000_000 }),
        agents: s.int('Machines whose agent renews its Lease, as the controllers of the cluster report.', {
          min: 0,
          max: 1_000_000,
        }),
      },
    ),
  ),
  expiresAt: s.optional(s.time('When the time to live expires, extensions and limits included.')),
  lastSeen: s.optional(s.time('When the cluster last answered; updated at most once a minute.')),
})

export const cluster = defineKind('Cluster', 'kcl', {
  namespaced: true,
  doc: 'A control plane: workloads on the hub, or an existing cluster registered by its kubeconfig.',
  spec: specWithAddons,
  status,
  selectable: ['.spec.stage'],
  columns: [
    PHASE,
    // The phase is about the control plane, which may run without programs.
    text('Ready', statusOf('Ready')),
    text('Version', '.status.versions[0].version'),
    text('HA', '.status.highAvailability'),
    text('Stage', '.spec.stage'),
    text('Expires', '.status.expiresAt'),
    wide(text('Flavor', '.spec.controlPlane.flavor')),
    wide(whole('Machines', '.status.machines.total')),
    wide(whole('Agents', '.status.machines.agents')),
    wide(date('Reachable', '.status.reachableSince')),
    wide(text('Credentials End', '.status.credentialsEnd')),
    wide(text('Addons', '.status.addons[0].healthy')),
    wide(date('Snapshot', '.status.snapshotSchedule.lastAt')),
    wide(text('Endpoint', '.status.endpoint')),
  ],
  conditions: ['Ready', 'Expiring', 'SnapshotsCurrent', 'ProgramsReady'],
  example: {
    metadata: { name: 'prod-1', namespace: 'fleet' },
    spec: { kubeconfigSecretRef: { name: 'cluster-prod-1' }, stage: 'prod' },
  },
})

export type Cluster = ObjectOf<typeof cluster>
export type ClusterInput = InputOf<typeof cluster>
export type ClusterSpec = SpecOf<typeof cluster>
export type ClusterStatus = StatusOf<typeof cluster>
