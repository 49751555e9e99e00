// Reads the repository as sync will: fetches the branch, renders its newest commit in the cage, and finds its trust document.
import { titledIn } from '#sync/git/titled-in.ts'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { placedText } from '#delivery/desired.ts'
import { parseSignedTrust, type SignedTrust } from '#api/trust/trust-document.ts'
import type { GitAccess } from '#sync/git/access.ts'
import { httpsAccess } from '#sync/git/https-access.ts'
import { isLocal } from '#sync/git/local-url.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { fetchMirror } from '#sync/git/mirror.ts'
import { sshAccess } from '#sync/git/ssh-access.ts'
import type { GitRepository } from '#sync/git/repository.ts'
import { findCage, type WeakCage } from '#sync/render/cage.ts'
import { refuseImpossible } from '#sync/render/problems.ts'
import { renderCommit } from '#sync/render/render.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { initErrors } from '../init/init-errors.ts'
import { fieldsOf, type Followed, type GitCredentials } from './objects.ts'

export interface FleetAt {
  readonly commit: string
  /** With its title, for messages. */
  readonly called: string
  readonly objects: number
  readonly trust?: SignedTrust
}

export interface ReadOptions {
  readonly credentials: GitCredentials
  readonly weakCage: WeakCage
  readonly env: Readonly<Record<string, string | undefined>>
  readonly now: number
}

/** For a copy fetched for one run. */
const LONGEST_MS = 3_600_000

export async function readFleet(followed: Followed, options: ReadOptions): Promise<FleetAt> {
  const folders = { parent: tmpdir(), prefix: 'kubenode-bootstrap-', maxAgeMs: LONGEST_MS }
  sweepOwnedFolders(folders)
  const cacheDir = makeOwnedFolder(folders)
  try {
    const { repository, commit } = await fetched(followed, cacheDir, options)
    const cage = await findCage(options.weakCage)
    const { path } = followed
    const rendered = await renderCommit(commit, { repository, renderer: processRenderer(cage), path })
    refuseImpossible(await titledIn(repository, commit), rendered)
    const rejected = [...rendered.targets].flatMap(([target, t]) => t.rejected.map((r) => ({ target, ...r })))
    const [first] = rejected
    if (first !== undefined)
      throw new KubeNodeError(
        initErrors.KN1522({
          commit: await titledIn(repository, commit),
          count: rejected.length,
          first: `${placedText(first)} in ${first.target}: ${first.problem}`,
        }),
      )
    const trust = await trustIn(repository, commit, path)
    const objects = [...rendered.targets.values()].reduce((n, t) => n + t.objects.length, 0)
    return { commit, called: await titledIn(repository, commit), objects, ...defined({ trust }) }
  } finally {
    rmSync(cacheDir, { recursive: true, force: true })
  }
}

async function fetched(
  { url, branch }: Followed,
  cacheDir: string,
  { credentials, env, now }: ReadOptions,
): Promise<{ readonly repository: GitRepository; readonly commit: string }> {
  const { PATH = '' } = env
  try {
    const repository = isLocal(url)
      ? openLocalRepository(url)
      : await fetchMirror(
          url,
          { branch },
          {
            cacheDir,
            access: accessWith(url, credentials, now),
            env: { PATH },
            // A user typed the address.
            reach: { trusted: 'Any' },
          },
        )
    return { repository, commit: await repository.resolve(`refs/heads/${branch}`) }
  } catch (cause) {
    const hasNone = /^KN7049:|there is no such branch|has none yet/i.test(messageOf(cause))
    throw hasNone ? new KubeNodeError(initErrors.KN7049_empty({ url, branch }), { cause }) : cause
  }
}

function accessWith(url: string, credentials: GitCredentials, now: number): GitAccess {
  const fields = fieldsOf(credentials)
  const field = (name: string) => fields[name]
  const isSsh = url.startsWith('ssh:')
  if (!isSsh && Object.values(fields).every((v) => v === undefined)) return { kind: 'Anonymous' }
  const access = isSsh ? sshAccess(field) : httpsAccess(field, now)
  if (access.kind === 'Unusable')
    throw new KubeNodeError(
      initErrors.KN7023_first({
        url,
        why: `the Secret made of them ${access.why}`,
        todo: isSsh ? 'name files with --ssh-key and --known-hosts' : 'name files with --token-file and --ca',
      }),
    )
  return access
}

const TRUST = 'fleet/components/trust/trust.json'

async function trustIn(repository: GitRepository, commit: string, path: string): Promise<SignedTrust | undefined> {
  const folder = path === '.' ? '' : `${path}/`
  const bytes = (await repository.readTree(commit, [`${folder}fleet/components/trust`])).get(`${folder}${TRUST}`)
  try {
    return bytes === undefined ? undefined : parseSignedTrust(JSON.parse(Buffer.from(bytes).toString('utf8')))
  } catch {
    // The render already refused anything that is not JSON.
    return undefined
  }
}
