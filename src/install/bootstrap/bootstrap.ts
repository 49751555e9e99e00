// Points a cluster at a fleet repository. Finds all detectable problems before the first write; running it again changes nothing.
import { fleetSource } from '#api/kinds/fleet-source.ts'
import { API_GROUP } from '#api/kind.ts'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { anchorOf, judgeTrust, parseSignedTrust, type SignedTrust } from '#api/trust/trust-document.ts'
import { sourceProgress } from '#explain/progress/source-progress.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { listAll } from '#kube/list-all.ts'
import { ifServed, until, type InstallContext } from '../context.ts'
import { askText, may, type Ask } from '../checks/rights.ts'
import { initErrors } from '../init/init-errors.ts'
import { existingOf, GIT_SECRET, secretOf, SOURCE, sourceOf, type Followed, type GitCredentials } from './objects.ts'

const secretType = coreKind('Secret')
const HOW = { fieldManager: FIELD_MANAGERS.cli, force: true } as const

/** https, ssh or file. */
export function requireUsable(url: string): void {
  const refuse = (why: string) => new KubeNodeError(initErrors.KN1520({ url: shownUrl(url), why }))
  const [, user, host, path] = /^([\w.-]+@)?([\w.-]+):(?!\/\/)(.+)$/.exec(url) ?? []
  if (user !== undefined && path !== undefined)
    throw refuse(`it is the short form of ssh; write ssh://${user}${host ?? ''}/${path.replace(/^\//, '')}`)
  if (!/^(https|ssh|file):\/\/./.test(url) || !URL.canParse(url))
    throw refuse('the address must start with https://, ssh:// or file://')
  const { protocol, username, password } = new URL(url)
  // The ssh user is the server's account, mostly git, and not a secret.
  if (password !== '' || (username !== '' && protocol !== 'ssh:'))
    throw refuse('it contains a user or a password; pass them with --token-file or KUBENODE_GIT_TOKEN')
}

/** A refused address may contain a password. */
const shownUrl = (url: string): string => url.replace(/\/\/[^/]*@/, '//…@')

/** Runs before anything is written. A cluster without KubeNode's definitions has no source. */
export async function refuseOtherSource({ client }: InstallContext, wanted: Followed): Promise<void> {
  const sources = (await ifServed(() => listAll(client, fleetSource))) ?? []
  const { url } = wanted
  const existing = existingOf(sources, wanted)
  if (existing.kind === 'Other')
    throw new KubeNodeError(initErrors.KN1524({ url, source: existing.source, other: existing.url }))
  if (existing.kind === 'Elsewhere')
    throw new KubeNodeError(
      initErrors.KN1524_same({ url, source: `${SOURCE.namespace}/${SOURCE.name}`, seen: existing.seen }),
    )
}

const WRITES: readonly Ask[] = [
  ...['get', 'patch', 'create'].map((verb) => ({
    verb,
    group: '',
    resource: 'secrets',
    namespace: CLUSTERS_NAMESPACE,
  })),
  ...['get', 'patch', 'create'].map((verb) => ({
    verb,
    group: API_GROUP,
    resource: 'fleetsources',
    namespace: SYSTEM_NAMESPACE,
  })),
  { verb: 'list', group: API_GROUP, resource: 'fleetsources' },
  { verb: 'create', group: API_GROUP, resource: 'fleetsources', subresource: 'unlimited' },
]

export async function requireRights({ client }: InstallContext, url: string): Promise<void> {
  const missing: string[] = []
  for (const ask of WRITES) if (!(await may(client, ask))) missing.push(askText(ask))
  if (missing.length > 0) throw new KubeNodeError(initErrors.KN2403_follow({ url, missing: missing.join(', ') }))
}

/** Credentials of an earlier run. */
export async function storedCredentials({ client }: InstallContext): Promise<GitCredentials> {
  const found = await ifServed(() => client.get(secretType, GIT_SECRET))
  const data = isObject(found?.['data']) ? found['data'] : {}
  const field = (name: string) => {
    const value = data[name]
    return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : undefined
  }
  const [username, password, ca] = [field('username'), field('password'), field('ca.crt')]
  const [sshKey, knownHosts] = [field('ssh-privatekey'), field('known_hosts')]
  return defined({ username, password, ca, sshKey, knownHosts })
}

/** Hosts keep the keys they started with, so they would all refuse a document that those keys did not sign. */
export function refuseForeignTrust(
  commit: string,
  installed: unknown,
  declared: SignedTrust | undefined,
  now: number,
): void {
  const before = parseSignedTrust(installed)
  if (before === undefined || declared === undefined) return
  const verdict = judgeTrust(anchorOf(before.document), declared, now)
  if (verdict.kind === 'Refused') throw new KubeNodeError(initErrors.KN1523({ commit, why: verdict.reason }))
}

export async function follow(context: InstallContext, wanted: Followed, credentials: GitCredentials): Promise<void> {
  const { client } = context
  const secret = secretOf(credentials)
  if (secret !== undefined) await client.apply(secretType, secret, HOW)
  await client.apply(fleetSource, sourceOf(wanted, secret !== undefined), HOW)
}

export const untilApplied = (
  context: InstallContext,
  { commit, called }: { readonly commit: string; readonly called: string },
): Promise<void> =>
  until(context, `commit ${called}`, async () => {
    const progress = sourceProgress(await context.client.get(fleetSource, SOURCE), commit)
    return progress.kind === 'Applied' ? { done: undefined } : { waitsFor: progress.why }
  })
