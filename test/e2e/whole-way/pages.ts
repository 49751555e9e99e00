// The pages that are typed on the fleet, in an order in which none waits for what another began, and the situations of three in the morning among them.
import { Typist, chapterOf } from '#test/support/tools/page.ts'
import type { TestFleet } from './fleet.ts'

const INDEX = 'docs/tasks/README.md'
const NIGHT = 'docs/operations/three-in-the-morning.md'

/** Of docs/tasks. Those that leave no change behind come first. */
export const PAGES = [
  'freeze',
  'backup-and-restore',
  'maintenance',
  'report',
  'own-monitor',
  'own-rule',
  'own-provider',
  'enforce',
  'canary',
  'new-pool',
  'window',
  'approval',
  'budget',
  'going-back',
] as const
/**
 * One needs a second cluster that KubeNode is installed in (third-cluster.full.test.ts); others a hub and a git server (test/integration/source-pages.test.ts), or
 * a folder of their own: test/integration/own-component-page.test.ts, test/e2e/real, and chapters typed from the checkout.
 */
export const TYPED_ELSEWHERE = [
  'first-node',
  'new-cluster',
  'own-component',
  'own-fleet',
  'private-repository',
  'signed-commits',
  'signing-keys',
  'sync-reverts',
]
/** They explain, or need a server, a machine or a program of others. */
export const NOT_TYPED = [
  'acceptance',
  'join-over-ssh',
  'kernel',
  'without-agent',
  'command-line',
  'notifications',
  'one-gpu',
  'previews',
  'prometheus',
]

/** A shell in the folder of the checkout. */
const typistAt = (fleet: TestFleet, patienceMs: number): Typist =>
  new Typist({ cwd: fleet.checkout, scratch: fleet.checkout, env: { ...process.env, ...AUTHOR }, patienceMs })

/** A shell in the folder and with the variables that the index of the pages gives to a reader. */
async function reader(fleet: TestFleet, patienceMs: number): Promise<Typist> {
  const typist = typistAt(fleet, patienceMs)
  await typist.page(INDEX)
  return typist
}

const AUTHOR = {
  GIT_AUTHOR_NAME: 'a reader',
  GIT_AUTHOR_EMAIL: 'reader@localhost',
  GIT_COMMITTER_NAME: 'a reader',
  GIT_COMMITTER_EMAIL: 'reader@localhost',
}

export async function typePage(fleet: TestFleet, name: string, patienceMs: number): Promise<void> {
  await (await reader(fleet, patienceMs)).page(`docs/tasks/${name}.md`)
}

/** A chapter of a page that begins in the folder of the checkout. */
export async function typeChapter(fleet: TestFleet, path: string, title: string, patienceMs: number): Promise<void> {
  await typistAt(fleet, patienceMs).page(`${path}, ${title}`, chapterOf(path, title))
}

interface Situation {
  /** The real name of each example name of the page. */
  readonly names?: Readonly<Record<string, string>>
  /** How its last command ends: one that finds the cause says so with its exit code. */
  readonly code?: number
}

export async function typeSituation(
  fleet: TestFleet,
  title: string,
  patienceMs: number,
  { names = {}, code = 0 }: Situation = {},
): Promise<void> {
  const typist = await reader(fleet, patienceMs)
  const named = (text: string): string =>
    Object.entries(names).reduce((t, [example, real]) => t.replaceAll(example, real), text)
  const blocks = chapterOf(NIGHT, title).map((b) => ({
    ...b,
    commands: named(b.commands),
    code,
    ...(b.shows !== undefined && { shows: named(b.shows) }),
  }))
  await typist.page(`${NIGHT}, ${title}`, blocks)
}
