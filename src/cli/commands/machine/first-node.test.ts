// The page docs/tasks/first-node.md names only options that the command has, and its settings are whole.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { releaseOf } from '#install/load.ts'
import { nextSteps } from '#install/next-steps.ts'
import { run } from '../../program.ts'

const page = readFileSync(join(import.meta.dirname, '../../../../docs/tasks/first-node.md'), 'utf8')

test('every option on the page is one of its commands', async () => {
  let help = ''
  const io = { out: (t: string) => void (help += t), err: () => undefined, cwd: '/', env: {}, isTerminal: false }
  for (const command of [['machine', 'join-command'], ['agent', 'bundle'], ['check'], ['install']])
    await run([...command, '--help'], io)
  const named = [...new Set([...page.matchAll(/--[a-z][a-z-]+/g)].map(([option]) => option))]
  expect(named.length).toBeGreaterThan(8)
  expect(named.filter((option) => !help.includes(`${option} `) && !help.includes(`${option}\n`))).toEqual([])
})

test('the settings on the page are all that an installation with nodes needs', async () => {
  const [, text = ''] = /```yaml\n# values\.yaml\n([^`]*)```/.exec(page) ?? []
  const settings = parse(text) as Readonly<Record<string, unknown>>
  const release = await releaseOf(settings)
  expect(nextSteps(release, { isReady: true }).join('\n')).toContain('https://artifacts.prod-1.example.org:30844/')
})
