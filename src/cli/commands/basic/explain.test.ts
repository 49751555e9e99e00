import { expect, test } from 'vitest'
import { ERROR_PARTS, entriesOf } from '../../error-parts.ts'
import { run } from '../../program.ts'

async function runCli(argv: readonly string[]) {
  let [out, err] = ['', '']
  const io = { out: (t: string) => (out += t), err: (t: string) => (err += t), cwd: '/', env: {}, isTerminal: false }
  const code = await run([...argv], io)
  return { code, out, err }
}

test('every error can be explained, by its number alone or as it was printed', async () => {
  expect(ERROR_PARTS.flatMap(entriesOf).length).toBeGreaterThan(600)
  for (const word of ['KN1121', '1121', 'kn1121:']) {
    const { out, code } = await runCli(['explain', word])
    expect(code).toBe(0)
    expect(out).toContain('What to do: run npm run image:lock')
  }
})

test('a word that is no number, and a number that is none, are answered with what to type', async () => {
  expect((await runCli(['explain', 'machine'])).err).toContain('kubectl explain machines')
  expect((await runCli(['explain', '1999'])).err).toContain('docs/reference/errors.md')
})
