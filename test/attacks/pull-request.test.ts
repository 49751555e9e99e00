// The attacker opens a pull request: commands that check it read its files beside the cage, on a laptop and in CI.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '#cli/program.ts'
import { type Answer, type Attempt, tryHere } from '#test/support/worlds/attack-world.ts'

type Make = (folder: string) => void

/** What `kubenode rules lint` says of a branch with these files. */
const linted = (make: Make) => async (): Promise<Answer> => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-pull-request-'))
  try {
    for (const name of ['rules', 'fleet']) mkdirSync(join(folder, name))
    writeFileSync(join(folder, 'rules/good.cases.ts'), 'export const rule = {}; export const cases = []')
    writeFileSync(join(folder, 'outside.ts'), '')
    writeFileSync(join(folder, 'outside.txt'), 'ladder: a line of a file of this machine')
    make(folder)
    let text = ''
    const add = (part: string) => void (text += part)
    const io = { out: add, err: add, cwd: folder, env: {}, isTerminal: false }
    await run(['rules', 'lint', '--weak-cage', 'allow'], io)
    return { status: 0, text }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const rule = (name: string, text: string): Make => {
  return (folder) => writeFileSync(join(folder, 'rules', name), text)
}
const link = (to: string, at = 'rules/link.ts'): Make => {
  return (folder) => symlinkSync(to === 'outside' ? join(folder, 'outside.txt') : to, join(folder, at))
}

/** An error that says it was thrown in another file. */
const thrownIn = (place: string): Make =>
  rule('bad.cases.ts', `const e = new Error('no'); e.stack = 'fleet:///${place}:7:1'; throw e`)
const NOT_TOLD = /^(?!.*outside)(?!.*link).*bad\.cases\.ts: KN1014(?!.*:7\))/s

/** Checked like any other, and the rest of the folder, too. */
const NOT_READ = /^(?!.*link\.ts).*good\.cases\.ts/s

const ATTEMPTS: readonly Attempt<void>[] = [
  { name: 'S28 a rule that is a link out of the folder', attempt: linted(link('outside')), refused: NOT_READ },
  { name: 'S28 a rule that is a link to nothing', attempt: linted(link('nowhere')), refused: NOT_READ },
  { name: 'S28 a rule that is a link to a folder', attempt: linted(link('/')), refused: NOT_READ },
  {
    name: 'S28 a fleet that is a link to all files of the machine',
    attempt: linted(link('/', 'fleet/link')),
    refused: NOT_READ,
  },
  ...['rules/../outside.ts', '../outside.ts', 'outside.ts', 'rules/link.ts'].map((place): Attempt<void> => ({
    name: `S28 a rule that asks by the place of its error whether ${place} is there`,
    attempt: linted((folder) => {
      link('outside')(folder)
      thrownIn(place)(folder)
    }),
    refused: NOT_TOLD,
  })),
  {
    name: 'S28 a case that asks by a link of the name of its rule whether a file is there',
    attempt: linted((folder) => symlinkSync(join(folder, 'outside.ts'), join(folder, 'rules/good.ts'))),
    refused: /^(?!.*good\.ts).*good\.cases\.ts/s,
  },
  {
    name: 'S28 a rule that is no data, to hide what is wrong with the others',
    attempt: linted(
      rule('deep.cases.ts', 'const a: any = {}; a.a = a; export const rule = a; export const cases = []'),
    ),
    refused: /deep\.cases\.ts: KN1014.*circular.*good\.cases\.ts: (?!KN1014)/s,
  },
]

tryHere('the author of a pull request, at the rules', ATTEMPTS)
