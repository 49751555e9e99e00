// The page docs/first-node.md names only options that the command has.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../program.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/first-node.md'), 'utf8')

test('every option on the page is one of its commands', async () => {
  let help = ''
  const io = { out: (t: string) => void (help += t), err: () => undefined, cwd: '/', env: {}, isTerminal: false }
  for (const command of [['machine', 'join-command'], ['agent', 'bundle'], ['check'], ['install']])
    await run([...command, '--help'], io)
  const named = [...new Set([...page.matchAll(/--[a-z][a-z-]+/g)].map(([option]) => option))]
  expect(named.length).toBeGreaterThan(8)
  expect(named.filter((option) => !help.includes(`${option} `) && !help.includes(`${option}\n`))).toEqual([])
})
