// A page that prints something else than what comes is found; what differs from run to run is not.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Typist, blocksOf, differenceOf } from './page.ts'

const fence = (kind: string, text: string) => `\`\`\`${kind}\n${text}\`\`\`\n`

let scratch = ''
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'kubenode-page-'))
})
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const typist = (patienceMs = 10_000) => new Typist({ cwd: scratch, scratch, env: process.env, patienceMs })

test('a block of text directly below commands is their output, any other is not', () => {
  const page = `# x\n\n${fence('sh', 'a\n')}\n${fence('text', 'seen\n')}\nwords\n\n${fence('text', 'not typed\n')}${fence('sh', 'b\n')}words\n${fence('text', 'c\n')}`
  expect(blocksOf(page)).toEqual([
    { line: 3, commands: 'a\n', shows: 'seen\n' },
    { line: 16, commands: 'b\n' },
  ])
})

test.each([
  ['equal', 'a  b\n', 'a b\n'],
  ['days as kubenode why writes them', 'from Wed 25 Nov 02:00 UTC\n', 'from Thu 3 Dec 14:30 UTC\n'],
  [
    'names, hashes, times and ages',
    'workers-2xk9p 1a2b3c4d5e 3m20s since 02:03\n',
    'workers-zzzzz 99ffee00aa 4s since 12:59\n',
  ],
  ['the rest of a line', 'commit …: done\n', 'commit 12 of 40: done\n'],
  ['lines left out', 'first\n…\nlast\n', 'first\na\nb\nlast\n'],
  ['no line left out', 'first\n…\nlast\n', 'first\nlast\n'],
])('%s: no difference', (_, shows, output) => expect(differenceOf(shows, output)).toBeUndefined())

test.each([
  ['another word', 'Complete\n', 'Blocked\n'],
  ['a number with a meaning', '3 of 12 machines\n', '4 of 12 machines\n'],
  ['a line more', 'a\n', 'a\nb\n'],
  ['a line fewer', 'a\nb\n', 'a\n'],
  ['another order', 'a\nb\n', 'b\na\n'],
  ['nothing that could be wrong', '…\n', 'a\n'],
  ['a name that only looks like ours', 'workers-2xk9p\n', 'worker-2xk9p\n'],
  ['a dot is no wildcard', '1.1.0\n', '1x1x0\n'],
])('%s is a difference', (_, shows, output) => expect(differenceOf(shows, output)).toEqual(expect.any(String)))

test('folder and variables stay from block to block, and a failing command ends a page with its line', async () => {
  const page =
    fence('sh', 'mkdir -p d && cd d\nexport WHO=me\n') +
    fence('sh', 'echo $WHO $(basename $PWD)\n') +
    fence('text', 'me d\n')
  await typist().page('x.md', blocksOf(page))
  const failing = blocksOf(fence('sh', 'true\n') + fence('sh', 'false\necho never\n'))
  await expect(typist().page('x.md', failing)).rejects.toThrow(/x\.md:4: false\necho never\nexit code 1/)
})

test('a command that changes something is typed once, one that reads until it shows what the page prints', async () => {
  const changing = blocksOf(fence('sh', 'echo x >> count\nwc -l < count\n') + fence('text', '2\n'))
  await expect(typist().page('x.md', changing)).rejects.toThrow('this came\n1\n')
  await typist().type('printf no > seen; (sleep 0.3; printf yes > seen) > /dev/null 2>&1 &')
  await typist().page('x.md', blocksOf(fence('sh', 'cat seen\n') + fence('text', 'yes\n')))
})
