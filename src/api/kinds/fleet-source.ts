// FleetSource: the git repository that the fleet follows, with its tracks.
import { AGE, READY, date, text, wide } from '../columns.ts'
import {
  bool,
  choice,
  fallback,
  intOrPercent,
  list,
  mapList,
  obj,
  optional,
  rule,
  setOf,
  str,
  time,
  union,
  unserved,
} from '../build.ts'
import {
  commitId,
  conditions,
  count,
  dnsLabel,
  duration,
  objectName,
  observedGeneration,
  secretRef,
  selector,
  sentence,
  waitingFor,
} from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { heldPrune } from './release.ts'

const MAX_TRACKS = 32

const refName = (doc: string) =>
  str(doc, { min: 1, max: 253, pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]*$', says: 'the name of a branch or tag' })

const ref = union(
  obj('The branch, tag or commit to follow.', {
    branch: optional(refName('The newest commit of this branch.')),
    tag: optional(refName('This tag.')),
    commit: optional(commitId('This commit.')),
  }),
  ['branch', 'tag', 'commit'],
)

const track = obj('A part of the fleet with its own pipeline.', {
  name: dnsLabel('Name of the track.'),
  match: fallback(
    obj('Selects the rendered objects of the track; an object belongs to the first track that matches.', {
      kinds: optional(setOf('Kinds.', str('A kind.', { min: 1, max: 63 }), { max: 32 })),
      selector: optional(selector('Labels of the objects.')),
      components: optional(
        setOf(
          'MachineComponents of these components, and sets that contain them.',
          str('A component.', { min: 1, max: 63 }),
          { max: 64 },
        ),
      ),
    }),
    {},
  ),
  pipelineRef: obj('The pipeline.', { name: objectName('Name of a ReleasePipeline in the same namespace.') }),
})

const verify = rule(
  obj('Verification of commits.', {
    mode: fallback(
      unserved(
        choice('Accept signed commits only, signed tags too, or any commit.', ['Commit', 'CommitOrTag', 'None']),
        'signatures of commits are not verified',
        ['Commit', 'CommitOrTag'],
      ),
      'Commit',
    ),
    allowedSigners: optional(
      unserved(
        secretRef('Secret and key with the allowed signers, in the format of git.'),
        'signatures of commits are not verified',
      ),
    ),
  }),
  {
    cel: "self.mode == 'None' || has(self.allowedSigners)",
    message: 'allowedSigners is required unless mode is None',
    fieldPath: '.allowedSigners',
    holds: (v) => v.mode === 'None' || v.allowedSigners !== undefined,
  },
)

const MAX_WRITTEN = 64
const MAX_REPLACED = 8

const writes = obj(
  'What the source may write. Required as soon as there is a second source. With it, sync acts as the user kubenode:source:<namespace>:<name>, who needs the rights for it in each cluster.',
  {
    kinds: setOf(
      'Kinds, as Kind.group; Kind alone for the core group.',
      str('A kind.', {
        min: 1,
        max: 317,
        pattern: '^[A-Za-z][-A-Za-z0-9]*(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
        says: 'a kind such as ConfigMap or MachineSet.kubenode.io',
      }),
      { min: 1, max: MAX_WRITTEN },
    ),
    namespaces: fallback(
      setOf('Namespaces of namespaced objects. If empty, only cluster-scoped objects.', dnsLabel('A namespace.'), {
        max: MAX_WRITTEN,
      }),
      [],
    ),
  },
)

const spec = obj('The repository to follow, and how.', {
  url: str('URL of the repository, without credentials.', {
    min: 1,
    max: 2048,
    pattern: '^(https|ssh|file)://[^\\s\\x00-\\x1f]+$',
    says: 'a URL with https, ssh or file',
  }),
  ref: fallback(ref, { branch: 'main' }),
  path: fallback(
    str('Directory of the fleet in the repository.', {
      min: 1,
      max: 512,
      pattern: '^[A-Za-z0-9._][A-Za-z0-9._/-]*$',
      says: 'a relative path',
    }),
    '.',
  ),
  interval: fallback(duration('Interval between fetches.'), '1m'),
  verify: optional(verify),
  secretRef: optional(
    secretRef(
      'Secret with the credentials of the repository: in the same namespace, or in kubenode-clusters for a FleetSource in kubenode-system.',
    ),
  ),
  decryption: optional(
    unserved(
      obj('Decryption of encrypted files.', {
        provider: choice('The format.', ['sops', 'age']),
        secretRef: secretRef('Secret with the keys.'),
      }),
      'encrypted files are not decrypted',
    ),
  ),
  tracks: mapList(
    'The parts of the fleet. Objects of a track that is removed are deleted like objects that are removed from git, unless another track matches them.',
    track,
    { keys: ['name'], min: 1, max: MAX_TRACKS },
  ),
  writes: optional(writes),
  replaces: optional(
    setOf(
      'Deleted sources, as namespace/name, whose objects this source takes over; after a rename.',
      str('A source.', {
        min: 3,
        max: 317,
        pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$',
        says: 'namespace/name',
      }),
      { max: MAX_REPLACED },
    ),
  ),
  prune: fallback(
    obj('What happens to objects that were removed from git.', {
      enabled: fallback(bool('Whether they are deleted.'), true),
      guard: fallback(
        intOrPercent('Deletions in one cluster that exceed this limit need an Approval of their digest.', {
          min: 0,
          max: 10_000,
        }),
        '10%',
      ),
    }),
    {},
  ),
  drift: fallback(
    choice('What happens to objects that were modified by others.', ['Detect', 'Correct', 'Off']),
    'Correct',
  ),
})

const status = obj('The observed state of the repository.', {
  observedGeneration: optional(observedGeneration()),
  commit: optional(commitId('The newest commit that was fetched and verified.')),
  fetchedAt: optional(time('When it was fetched.')),
  signer: optional(sentence('The signer of the commit.')),
  tracks: optional(
    mapList(
      'The tracks.',
      obj('One track.', {
        name: dnsLabel('Name of the track.'),
        commit: optional(commitId('The commit of the last Release.')),
        release: optional(objectName('The last Release.')),
        appliedCommit: optional(commitId('The last commit whose release succeeded.')),
        objects: optional(count('Number of objects of the track in all clusters.')),
      }),
      { keys: ['name'], max: MAX_TRACKS },
    ),
  ),
  prunes: optional(
    mapList(
      'Deletions on the hub that wait for an Approval of their digest, by track.',
      obj('One track.', { name: dnsLabel('Name of the track.'), held: heldPrune() }),
      { keys: ['name'], max: MAX_TRACKS },
    ),
  ),
  renderErrors: optional(list('Render errors; truncated.', sentence('One error.', 1_024), { max: 10 })),
  waitingFor: optional(waitingFor()),
  conditions: optional(conditions()),
})

export const fleetSource = defineKind({
  kind: 'FleetSource',
  plural: 'fleetsources',
  shortNames: ['kfs'],
  namespaced: true,
  doc: 'The git repository that the fleet follows, with its tracks.',
  spec,
  status,
  columns: [
    text('URL', '.spec.url'),
    READY,
    text('Commit', '.status.commit'),
    date('Fetched', '.status.fetchedAt'),
    wide(text('Drift', '.spec.drift')),
    AGE,
  ],
  conditions: [
    'Ready',
    'Reconciling',
    'Stalled',
    'Fetched',
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
