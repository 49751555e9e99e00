// Pushes a prepared commit with the user's credentials. They exist only in this call's variables: no state, log or error contains them.
import { commitText } from '#api/protocol/commit-title.ts'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { PreparedCommit, PushedCommit, PushRequest } from '../prepared.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { GitAccess } from '#sync/git/access.ts'
import { httpsAccess } from '#sync/git/https-access.ts'
import { isLocal } from '#sync/git/local-url.ts'
import { locateGit } from '#sync/git/locate.ts'
import type { LocalRepository } from '#sync/git/local-repository.ts'
import { push, type PushPlace } from '#sync/git/push.ts'
import type { NewCommit } from './new-commit.ts'
import { consoleRepositoryErrors } from './repository-errors.ts'

export type PushGit = Pick<PushPlace, 'env' | 'reach'>

interface Pushing {
  readonly commit: NewCommit
  readonly answer: PreparedCommit
  readonly source: FleetSource
  readonly asked: PushRequest
  readonly repository: LocalRepository
  readonly git: PushGit | undefined
}

/** As git allows, excluding anything that could be an option or lead out of refs/heads. */
const BRANCH = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/
const MOST_BRANCH = 200

export async function pushPrepared({ commit, answer, source, asked, repository, git }: Pushing): Promise<PushedCommit> {
  const { branch } = asked
  const { url } = source.spec
  const refuse = (why: string) =>
    new KubeNodeError(consoleRepositoryErrors.KN1726({ branch: JSON.stringify(branch), why }))
  if (branch.length > MOST_BRANCH || !BRANCH.test(branch) || /\.\.|\.lock(\/|$)|\.$/.test(branch))
    throw refuse('this is not the name of a branch')
  const isFollowed = branch === answer.follows
  if (isFollowed && answer.refused !== undefined) throw refuse(answer.refused)
  const access = accessWith(url, asked)
  const cacheDir = mkdtempSync(join(tmpdir(), 'kubenode-push-'))
  try {
    await push(
      {
        url,
        branch,
        commit: commit.id,
        expected: isFollowed ? answer.base : undefined,
        objects: commit.objects.all,
        repository,
        access,
        movesWorkTree: isLocal(url) && isCheckedOut(url, branch),
        refused: (why) => notPushed({ commit: commit.id, subject: answer.message, branch, url, why, isFollowed }),
      },
      { ...git, cacheDir },
    )
  } finally {
    rmSync(cacheDir, { recursive: true, force: true })
  }
  return { commit: commit.id, branch }
}

interface NotPushed {
  readonly commit: string
  readonly subject: string
  readonly branch: string
  readonly url: string
  readonly why: string
  readonly isFollowed: boolean
}

function notPushed({ commit: id, subject, branch, url, why, isFollowed }: NotPushed): KubeNodeError {
  const commit = commitText(id, { subject })
  if (!why.includes(MOVED))
    return new KubeNodeError(consoleRepositoryErrors.KN1726_refused({ commit, branch, url, why }))
  return new KubeNodeError(consoleRepositoryErrors[isFollowed ? 'KN1725_moved' : 'KN1726_exists']({ commit, branch }))
}

/** Git's message if a branch is not at the expected commit. */
const MOVED = '(stale info)'

function accessWith(url: string, { username = 'git', token }: PushRequest): GitAccess {
  if (isLocal(url)) return { kind: 'Anonymous' }
  const refuse = (why: string) => new KubeNodeError(consoleRepositoryErrors.KN7051_pushed({ why }))
  if (!url.startsWith('https:')) throw refuse('only repositories over https are pushed to from here')
  if (token === undefined || token === '') throw refuse('no token was given')
  const fields: Readonly<Record<string, string>> = { username, password: token }
  const access = httpsAccess((name) => fields[name], systemClock.now())
  if (access.kind === 'Unusable') throw refuse(`the entry ${access.why}`)
  return access
}

function isCheckedOut(url: string, branch: string): boolean {
  const { headDir, workTree } = locateGit(url)
  return workTree !== undefined && readFileSync(join(headDir, 'HEAD'), 'utf8').trim() === `ref: refs/heads/${branch}`
}
