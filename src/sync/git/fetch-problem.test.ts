import { expect, test } from 'vitest'
import { fetchProblem } from './fetch-problem.ts'

const url = 'https://git.example.org/fleet'
const problem = async (output: string) =>
  (await fetchProblem({ url, access: { kind: 'Anonymous' }, reach: {}, output })).message

test.each([
  ['fatal: pack is corrupted (SHA1 mismatch)\nfatal: fetch-pack: invalid index-pack output\n', 'pack is corrupted'],
  ['fatal: early EOF\nfatal: fetch-pack: invalid index-pack output\n', 'early EOF'],
  ['error: Unable to find ab under https://git.example.org/fleet\nerror: fetch failed.\n', 'Unable to find ab'],
  ['fatal: fetch-pack: invalid index-pack output\n', 'invalid index-pack output'],
])('of %j the cause is shown', async (output, cause) => {
  expect(await problem(output)).toMatch(new RegExp(`^KN7009: cannot fetch ${url}: (fatal|error): .*${cause}`))
})

test('a history that git has no memory for is not a wrong address', async () => {
  const output =
    'fatal: Out of memory, malloc failed (tried to allocate 1048577 bytes)\nfatal: fetch-pack: invalid index-pack output\n'
  expect(await problem(output)).toMatch(/^KN7059: .* remove large files from its history/)
})
