// FleetSource: the git repository that the fleet follows, with its tracks.
import { READY, date, text, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { signersFields } from './commit-signers.ts'
import { notified, notifyTargets } from './notify.ts'
import { heldPrune, MAX_RECORDED_APPROVERS } from './release.ts'
import { MAX_AUTHOR, MAX_SUBJECT } from '../commit-limits.ts'

const MAX_TRACKS = 32

const refName = (doc: string) =>
  s.str(doc, { min: 1, max: 253, pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]*$', expects: 'the name of a branch or tag' })

const ref = s.union(
  s.obj('The branch, tag or commit to follow.', {
    branch: s.optional(refName('The newest commit of this branch.')),
    tag: s.optional(refName('This tag.')),
    commit: s.optional(f.commitId('This commit.')),
  }),
  ['branch', 'tag', 'commit'],
)

const track = s.obj('A part of the fleet with its own pipeline.', {
  name: f.dnsLabel('Name of the track.'),
  match: s.fallback(
    s.obj('Selects the rendered objects of the track; an object belongs to the first track that matches.', {
      kinds: s.optional(s.setOf('Kinds.', s.str('A kind.', { min: 1, max: 63 }), { max: 32 })),
      selector: s.optional(f.selector('Labels of the objects.')),
      components: s.optional(
        s.setOf(
          'MachineComponents of these components, and sets that contain them.',
          s.str('A component.', { min: 1, max: 63 }),
          { max: 64 },
        ),
      ),
    }),
    {},
  ),
  pipelineRef: s.obj('The pipeline.', { name: f.objectName('Name of a ReleasePipeline in the same namespace.') }),
})

/** Observed heads that are not followed yet; further ones count from when they are observed again. */
export const MAX_SEEN = 16

const verify = s.rule(
  s.obj('Verification of commits. Without it any commit is followed.', {
    mode: s.fallback(
      s.choice(
        'Which commits need a signature: none, the newest, each on the line of first parents, or every commit since the last one that was verified. None is the former name of Off.',
        ['Off', 'Head', 'FirstParent', 'All', 'None'],
      ),
      'FirstParent',
    ),
    anchor: s.optional(
      f.commitId(
        'The commit that is believed without a signature; what follows it is verified. Another anchor starts again there.',
      ),
    ),
    ...signersFields,
    signersFile: s.optional(
      s.obj(
        'A file of the repository with further signers, revoked keys and thresholds; as of the last verified commit.',
        {
          path: s.str('The file, as YAML or JSON.', {
            min: 1,
            max: 256,
            pattern: '^[A-Za-z0-9_][A-Za-z0-9._/-]*\\.(ya?ml|json)$',
            expects: 'the path of a YAML or JSON file',
          }),
          count: s.fallback(s.int('People who must agree to a change of the file.', { min: 1, max: 8 }), 2),
        },
      ),
    ),
  }),
  {
    cel: "self.mode == 'Off' || self.mode == 'None' || (has(self.anchor) && has(self.signers) && size(self.signers) > 0)",
    message: 'anchor and signers are required unless mode is Off',
    fieldPath: '.anchor',
    holds: (v) => v.mode === 'Off' || v.mode === 'None' || (v.anchor !== undefined && (v.signers ?? []).length > 0),
  },
)

const MAX_WRITTEN = 64
const MAX_REPLACED = 8

const writes = s.obj(
  'What the source may write. Required as soon as there is a second source. With it, sync acts as the user kubenode:source:<namespace>:<name>, who needs the rights for it in each cluster.',
  {
    kinds: s.setOf(
      'Kinds, as Kind.group; Kind alone for the core group.',
      s.str('A kind.', {
        min: 1,
        max: 317,
        pattern: '^[A-Za-z][-A-Za-z0-9]*(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
        expects: 'a kind such as ConfigMap or MachineSet.kubenode.io',
      }),
      { min: 1, max: MAX_WRITTEN },
    ),
    namespaces: s.fallback(
      s.setOf('Namespaces of namespaced objects. If empty, only cluster-scoped objects.', f.dnsLabel('A namespace.'), {
        max: MAX_WRITTEN,
      }),
      [],
    ),
  },
)

/** Branches with a preview, and those that wait or have ended, as listed in the status. */
export const MAX_PREVIEWS_SHOWN = 32

const previews = s.obj(
  'Clusters of their own for branches of the repository. Objects that a branch declares for the template are applied to its cluster alone; what it declares for the hub or for other clusters is not used.',
  {
    branches: s.str('Branches that get a cluster, as a folder of branches: preview/*.', {
      min: 3,
      max: 100,
      pattern: '^[A-Za-z0-9][A-Za-z0-9_-]*(/[A-Za-z0-9][A-Za-z0-9_-]*)*/\\*$',
      expects: 'a folder of branches such as preview/*',
    }),
    template: f.objectName(
      'Name of a Cluster that the followed commit declares in the same namespace, with a control plane on the hub: previews are made like it.',
    ),
    mode: s.fallback(
      s.choice(
        'Branch applies each commit of a branch to the same cluster. Commit gives each newest commit a new cluster, and deletes that of the commit before.',
        ['Branch', 'Commit'],
      ),
      'Branch',
    ),
    ttl: s.fallback(f.duration('Time after which a preview is deleted, although its branch is still there.'), '4h'),
    max: s.fallback(s.int('Previews at once; further branches wait.', { min: 1, max: 20 }), 5),
  },
)

const repositoryFields = s.obj('The repository to follow, and how.', {
  url: s.str('URL of the repository, without credentials.', {
    min: 1,
    max: 2048,
    pattern: '^(https|ssh|file)://[^\\s\\x00-\\x1f]+$',
    expects: 'a URL with https, ssh or file',
  }),
  ref: s.fallback(ref, { branch: 'main' }),
  path: s.fallback(
    s.str('Directory of the fleet in the repository.', {
      min: 1,
      max: 512,
      pattern: '^[A-Za-z0-9._][A-Za-z0-9._/-]*$',
      expects: 'a relative path',
    }),
    '.',
  ),
  interval: s.fallback(f.duration('Interval between fetches.'), '1m'),
  verify: s.optional(verify),
  secretRef: s.optional(
    f.secretRef(
      'Secret with the credentials of the repository: username and password, or bearerToken, and ca.crt for https; ssh-privatekey and known_hosts for ssh. In the same namespace, or in kubenode-clusters for a FleetSource in kubenode-system.',
    ),
  ),
  proxy: s.optional(
    s.str(
      'HTTP proxy through which an https repository is reached, without credentials; proxyUsername and proxyPassword are read from the Secret of secretRef. The proxy variables of the program do not count.',
      {
        min: 1,
        max: 512,
        pattern: '^https?://[A-Za-z0-9.\\-\\[\\]:]+(:[0-9]{1,5})?/?$',
        expects: 'a URL of a proxy, such as http://proxy.example.org:3128',
      },
    ),
  ),
  requirePlan: s.optional(
    s.bool(
      'Every commit that changes objects must name the digest of its plan in a trailer Kubenode-Plan. A commit that names one is refused when it renders anything else, also without this.',
    ),
  ),
  webhook: s.optional(
    s.obj(
      'A webhook of the git server, at /hooks/NAMESPACE/NAME of the address that sync listens on: an authentic request makes sync read the repository at once. Between them it is read at each interval.',
      {
        secretRef: f.secretRef(
          'Secret with token, of at least 16 characters: the secret of a webhook of GitHub, Gitea or Forgejo, or the secret token of GitLab. In the same namespace, or in kubenode-clusters for a FleetSource in kubenode-system.',
        ),
      },
    ),
  ),
  push: s.optional(
    s.obj('How sync writes to the repository: reverts, only where a pipeline asks for them, and notes.', {
      secretRef: f.secretRef(
        'Secret with signing-key (an Ed25519 key of OpenSSH without a passphrase; its public half is a signer with sync: true), and credentials that may push, in the form of spec.secretRef. In the same namespace, or in kubenode-clusters for a FleetSource in kubenode-system.',
      ),
      notes: s.fallback(
        s.bool(
          'Whether the record of each release that ended is written as a note of its commit, in refs/notes/kubenode: git log --notes=kubenode. Notes are never read.',
        ),
        true,
      ),
    }),
  ),
  notify: s.optional(notifyTargets()),
  decryption: s.optional(
    s.obj(
      'Decryption of Secrets that the repository has only encrypted by sops: after the render, which never has the key.',
      {
        provider: s.choice('The format: files of sops, encrypted with age.', ['sops']),
        requirePlaces: s.optional(
          s.bool(
            'Only files with an encrypted entry kubenode.for, with lines CLUSTER/NAMESPACE/NAME, are applied: a commit cannot bring a Secret to another cluster, namespace or name than the entry lists.',
          ),
        ),
        secretRef: f.secretRef(
          'Secret with the keys of age: lines of age-keygen in entries that end in .agekey. In the same namespace, or in kubenode-clusters for a FleetSource in kubenode-system.',
        ),
      },
    ),
  ),
  tracks: s.mapList(
    'The parts of the fleet. Objects of a track that is removed are deleted like objects that are removed from git, unless another track matches them.',
    track,
    { keys: ['name'], min: 1, max: MAX_TRACKS },
  ),
  previews: s.optional(previews),
  writes: s.optional(writes),
  replaces: s.optional(
    s.setOf(
      'Deleted sources, as namespace/name, whose objects this source takes over; after a rename.',
      s.str('A source.', {
        min: 3,
        max: 317,
        pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
        expects: 'namespace/name',
      }),
      { max: MAX_REPLACED },
    ),
  ),
  prune: s.fallback(
    s.obj('What happens to objects that were removed from git.', {
      enabled: s.fallback(s.bool('Whether they are deleted.'), true),
      guard: s.fallback(
        s.intOrPercent('Deletions in one cluster that exceed this limit need an Approval of their digest.', {
          min: 0,
          max: 10_000,
        }),
        '10%',
      ),
    }),
    {},
  ),
  drift: s.fallback(
    s.choice('What happens to objects that were modified by others.', ['Detect', 'Correct', 'Off']),
    'Correct',
  ),
})

// A branch that forked before a key was revoked would be checked against its own, older file.
const spec = s.rule(repositoryFields, {
  cel: 'has(self.previews) ? !(has(self.verify) && has(self.verify.signersFile)) : true',
  message: 'previews are not served with verify.signersFile: list the signers in verify.signers',
  fieldPath: '.previews',
  holds: (v) => v.previews === undefined || v.verify?.signersFile === undefined,
})

/** Beyond the newest of each track, of which there are fewer. */
export const MAX_HUB_RECORDS = 60
/** More are counted, not named. */
export const MAX_DELETED_CLUSTERS = 50

const hubRecord = s.obj('The hub stage of one commit in one track: it comes before all stages with clusters.', {
  commit: f.commitId('The commit.'),
  subject: s.optional(f.sentence('The first line of its message, shortened.', MAX_SUBJECT)),
  author: s.optional(f.sentence('Its author.', MAX_AUTHOR)),
  track: f.dnsLabel('The track.'),
  digest: f.sha256('The digest of what the commit declares for the hub.'),
  phase: f.phase('Stage', 'Waiting: for an Approval of deletions. Failed: objects are refused; sync keeps trying.'),
  startedAt: s.time('When sync first applied it.'),
  finishedAt: s.optional(s.time('When all of it was applied, or another commit took its place.')),
  applied: f.count('Objects that were written; a restart of sync in the middle may lose some.'),
  deleted: f.count('Objects that were deleted.'),
  deletedClusters: s.optional(
    s.setOf('Clusters whose deletion this began.', f.objectName('A Cluster.'), { max: MAX_DELETED_CLUSTERS }),
  ),
  approvedBy: s.optional(
    s.setOf('Who approved deletions above the prune guard.', s.str('A user.', { min: 1, max: 253 }), {
      max: MAX_RECORDED_APPROVERS,
    }),
  ),
  supersededBy: s.optional(f.commitId('The commit that took its place before all of it was applied.')),
  message: s.optional(f.sentence('What it waits for, or what was refused.', 512)),
})

const status = f.status('The observed state of the repository.', {
  commit: s.optional(f.commitId('The newest commit that was fetched and verified.')),
  subject: s.optional(f.sentence('The first line of the message of that commit, shortened.', MAX_SUBJECT)),
  author: s.optional(f.sentence('The author of that commit.', MAX_AUTHOR)),
  rendered: s.optional(f.commitId('The last commit that was rendered and followed: what the next one changes.')),
  renderedBefore: s.optional(f.commitId('The commit that was followed before that one: its gates bind the change.')),
  revert: s.optional(
    s.choice(
      'Whether git revert of the newest commit alone goes back to the one that is followed: as a plain Commit, or as a Merge with -m 1. Absent if it does not, or if the newest commit is followed.',
      ['Commit', 'Merge'],
    ),
  ),
  onHub: s.optional(f.commitId('The last commit of which the hub has everything that comes before the clusters.')),
  onHubBefore: s.optional(f.commitId('The commit of which it had everything before that one.')),
  fetchedAt: s.optional(s.time('When it was fetched.')),
  lastHandledReconcileAt: s.optional(
    f.sentence('The last request to read the repository now that was handled: the value of its annotation.', 64),
  ),
  signer: s.optional(f.sentence('Who signed it, with the fingerprint of the key.', 512)),
  verified: s.optional(
    s.obj('The last verified commit: the next ones are verified from here.', {
      commit: f.commitId('The commit.'),
      anchor: f.commitId('The anchor that it was verified from.'),
      from: s.optional(f.commitId('The verified commit before.')),
      commits: s.optional(f.count('Commits between the two that were verified.')),
      principal: s.optional(s.str('The signer; absent when the commit is the anchor.', { max: 253 })),
      key: s.optional(s.str('Fingerprint of the key.', { max: 128 })),
      firstSeen: s.time('When the hub first saw the commit; the time at which the key had to be valid.'),
    }),
  ),
  seen: s.optional(
    s.mapList(
      'Newest commits of the branch that were seen and are not verified, with the time.',
      s.obj('One commit.', {
        commit: f.commitId('The commit.'),
        at: s.time('When it was first seen.'),
      }),
      { keys: ['commit'], max: MAX_SEEN },
    ),
  ),
  rewritten: s.optional(
    s.obj('The history was rewritten: the commit does not contain the one that was followed before.', {
      from: f.commitId('The commit that was followed before.'),
      to: f.commitId('The commit that is followed.'),
    }),
  ),
  refused: s.optional(
    s.obj('Why the newest commit is not followed. What was followed before stays in force.', {
      commit: f.commitId('The newest commit.'),
      reason: f.reasonWord('The rule.'),
      message: f.sentence('Which commit and key, the rule, and what to do.', 1_024),
      digest: s.optional(f.sha256('Approvals of this digest by other signers let the commit pass.')),
    }),
  ),
  tracks: s.optional(
    s.mapList(
      'The tracks.',
      s.obj('One track.', {
        name: f.dnsLabel('Name of the track.'),
        commit: s.optional(f.commitId('The commit of the last Release.')),
        release: s.optional(f.objectName('The last Release.')),
        appliedCommit: s.optional(f.commitId('The last commit whose release succeeded.')),
        objects: s.optional(f.count('Number of objects of the track in all clusters.')),
      }),
      { keys: ['name'], max: MAX_TRACKS },
    ),
  ),
  hub: s.optional(
    s.list('What commits changed on the hub before their clusters, the newest first.', hubRecord, {
      max: MAX_HUB_RECORDS,
    }),
  ),
  prunes: s.optional(
    s.mapList(
      'Deletions on the hub that wait for an Approval of their digest, by track.',
      s.obj('One track.', { name: f.dnsLabel('Name of the track.'), held: heldPrune() }),
      { keys: ['name'], max: MAX_TRACKS },
    ),
  ),
  previews: s.optional(
    s.mapList(
      'The branches that may have a preview.',
      s.obj('One branch.', {
        branch: s.str('The branch.', { min: 1, max: 253 }),
        commit: s.optional(f.commitId('Its newest commit.')),
        cluster: s.optional(f.objectName('The Cluster that was made for it; absent before.')),
        phase: s.choice('How far its preview is.', [
          'Waiting',
          'Creating',
          'Applying',
          'Ready',
          'Refused',
          'Expired',
          'Deleting',
        ]),
        message: f.sentence('Why, or what it waits for.', 512),
        ignored: s.optional(
          s.list(
            'What the branch declares elsewhere than for its own cluster, and differently from the followed commit; truncated.',
            f.sentence('One object, with its target.', 256),
            { max: 5 },
          ),
        ),
      }),
      { keys: ['branch'], max: MAX_PREVIEWS_SHOWN },
    ),
  ),
  notified: s.optional(notified()),
  renderErrors: s.optional(s.list('Render errors; truncated.', f.sentence('One error.', 1_024), { max: 10 })),
})

export const fleetSource = defineKind('FleetSource', 'kfs', {
  namespaced: true,
  doc: 'The git repository that the fleet follows, with its tracks.',
  spec,
  status,
  columns: [
    text('URL', '.spec.url'),
    READY,
    text('Reason', '.status.conditions[?(@.type=="Ready")].reason'),
    text('Commit', '.status.commit'),
    text('Subject', '.status.subject'),
    date('Fetched', '.status.fetchedAt'),
    wide(text('Signer', '.status.signer')),
    wide(text('Drift', '.spec.drift')),
  ],
  conditions: [
    'Ready',
    'Reconciling',
    'Stalled',
    'Fetched',
    'SourceVerified',
    'Rendered',
    'Applied',
    'Drifted',
    'PruneBlocked',
    'Paused',
  ],
  example: {
    metadata: { name: 'fleet', namespace: 'fleet' },
    spec: {
      url: 'https://git.example.org/platform/fleet.git',
      ref: { branch: 'main' },
      path: '.',
      interval: '1m',
      secretRef: { name: 'fleet-git' },
      tracks: [
        {
          name: 'machines',
          match: { kinds: ['MachineSet', 'MachineComponentSet'] },
          pipelineRef: { name: 'standard' },
        },
        { name: 'rest', pipelineRef: { name: 'standard' } },
      ],
      prune: { guard: 20 },
      drift: 'Correct',
    },
  },
})

export type FleetSource = ObjectOf<typeof fleetSource>
export type FleetSourceInput = InputOf<typeof fleetSource>
export type FleetSourceSpec = SpecOf<typeof fleetSource>
